"""The step of particles of every kind, internal variables first.

One step, spec section 6, in the order that keeps the scheme conditionally stable at any series viscosity:

    (a)  internal variables advance with the current velocities, exact for constant rates
    (b)  forces of edges, cells and whatever keeps the shape, then those of constraints
    (c)  v += h F / m,   then held components and contact
    (d)  x += h v
"""

from __future__ import annotations

from collections.abc import Callable

from rheotwin.kernels.blocks import STEP, TIME
from rheotwin.kernels.stage import Stage
from rheotwin.particles.constrained import add_constraint_forces, note_held_accelerations
from rheotwin.particles.forces.all_forces import Forces, force_stages
from rheotwin.particles.node_loops import drift
from rheotwin.particles.state import State
from rheotwin.particles.steps import Surroundings


def general_steps(forces: Forces, around: Surroundings, h: float) -> Callable[[int, int], int]:
    """Return take(first, count), which takes steps of `h` [s] and returns how many were taken."""
    state: State = around.state
    stages = [*around.begin_forces(), *force_stages(forces, state)]
    if len(state.multipliers):
        boundary = around.boundary
        held = (forces.constraints, boundary.held, boundary.nodes, state, around.clock.end, STEP)
        exerted = (forces.constraints, boundary.nodes, state, TIME, True, STEP, state.force)
        stages += [Stage(note_held_accelerations, held), Stage(add_constraint_forces, exerted)]
    moved = Stage(drift, (state.velocities, STEP, state.positions))
    return around.bind([*stages, *around.kick(), moved, *around.last_look()], h)
