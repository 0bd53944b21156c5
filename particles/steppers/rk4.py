"""The classical Runge-Kutta rule, the papers' rule for accuracy; order 4 between changes of loads and contacts.

y <- y + h (s1 + 2 s2 + 2 s3 + s4)/6
s1 = y'(t, y),   s2 = y'(t + h/2, y + h/2 s1),   s3 = y'(t + h/2, y + h/2 s2),   s4 = y'(t + h, y + h s3)
"""

from __future__ import annotations

import numpy as np

from rheotwin.kernels.compiled import compiled
from rheotwin.particles.boundary import Boundary, hold, room_for_contact
from rheotwin.particles.constrained import note_reactions
from rheotwin.particles.kernel import CHECK_EVERY, runs_away
from rheotwin.particles.state import State
from rheotwin.particles.steppers.first_order import (
    System,
    accelerate,
    add_arms,
    add_slopes,
    clear,
    empty_slopes,
    evaluate,
    finish,
    keep_arms,
)

WHEN = (0.0, 0.5, 0.5, 1.0)
"""Where in the step each slope is taken."""
WEIGHT = (1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0)
"""What each slope counts."""


@compiled(nogil=True, allocates=True)
def advance_rk4(first: int, count: int, h: float, system: System, state: State, boundary: Boundary) -> int:
    """Take `count` steps of `h` [s] from step number `first`; stop early when a node runs away. Returns steps taken."""
    nodes, x, v = boundary.nodes, state.positions, state.velocities
    slopes, mean, start, push = (
        empty_slopes(state),
        empty_slopes(state),
        empty_slopes(state),
        room_for_contact(boundary),
    )
    speed, x0, v0 = np.zeros_like(v), np.zeros_like(x), np.zeros_like(v)
    multipliers = np.zeros_like(state.multipliers)
    for step in range(first, first + count):
        end = (step + 1) * h
        hold(boundary.held, nodes, state, end, h)
        x0[:], v0[:] = x, v
        keep_arms(state, start)
        clear(mean)
        speed[:] = 0.0
        multipliers[:] = 0.0
        for stage in range(4):
            evaluate(system, state, boundary, (step + WHEN[stage]) * h, h, slopes, stage < 3)
            speed += WEIGHT[stage] * v
            add_slopes(slopes, WEIGHT[stage], mean)
            multipliers += WEIGHT[stage] * state.multipliers
            if stage < 3:
                part = WHEN[stage + 1] * h
                x[:] = x0 + part * v
                accelerate(v, v0, slopes.force, nodes, part)
                add_arms(state, start, slopes, part)
        x[:] = x0 + h * speed
        accelerate(v, v0, mean.force, nodes, h)
        add_arms(state, start, mean, h)
        state.multipliers[:] = multipliers  # what supports and links exert over the step, as the mean force is
        note_reactions(system.forces.constraints, state)
        finish(boundary, push, state, mean.force, end, h)
        if step % CHECK_EVERY == 0 and runs_away(nodes, x):
            return step + 1 - first
    return count
