"""Explicit Euler, the papers' rule for speed: every slope is taken at the start of the step; order 1.

y <- y + h y'(t, y),      y = (x, v, z)
"""

from __future__ import annotations

from rheotwin.kernels.compiled import compiled
from rheotwin.particles.boundary import Boundary, hold, room_for_contact
from rheotwin.particles.kernel import CHECK_EVERY, runs_away
from rheotwin.particles.state import State
from rheotwin.particles.steppers.first_order import (
    System,
    accelerate,
    add_arms,
    empty_slopes,
    evaluate,
    finish,
    keep_arms,
)


@compiled(nogil=True, allocates=True)
def advance_euler(first: int, count: int, h: float, system: System, state: State, boundary: Boundary) -> int:
    """Take `count` steps of `h` [s] from step number `first`; stop early when a node runs away. Returns steps taken."""
    x, v = state.positions, state.velocities
    slopes, start, push = empty_slopes(state), empty_slopes(state), room_for_contact(boundary)
    for step in range(first, first + count):
        end = (step + 1) * h
        hold(boundary.held, boundary.nodes, state, end, h)
        evaluate(system, state, boundary, step * h, h, slopes, True)
        x += h * v
        keep_arms(state, start)
        add_arms(state, start, slopes, h)
        accelerate(v, v, slopes.force, boundary.nodes, h)
        finish(boundary, push, state, slopes.force, end, h)
        if step % CHECK_EVERY == 0 and runs_away(boundary.nodes, x):
            return step + 1 - first
    return count
