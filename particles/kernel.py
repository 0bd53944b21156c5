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
from rheotwin.particles.fastest import fastest
from rheotwin.particles.forces.all_forces import Forces, force_stages
from rheotwin.particles.node_loops import begin_forces, drift, kick
from rheotwin.particles.state import State
from rheotwin.particles.steps import Surroundings


def general_steps(forces: Forces, around: Surroundings, h: float) -> Callable[[int, int], int]:
    """Return take(first, count), which takes steps of `h` [s] and returns how many were taken."""
    state: State = around.state
    boundary, nodes, constraints = around.boundary, around.boundary.nodes, forces.constraints
    x, v, force = state.positions, state.velocities, state.force
    stages = [Stage(begin_forces, (nodes.weight, force)), *around.loads(), *force_stages(forces, state)]
    if len(state.multipliers):
        held = (constraints, boundary, state, around.clock.end, STEP)
        exerted = (constraints, nodes, state, TIME, True, STEP, force)
        stages += [Stage(note_held_accelerations, held), Stage(add_constraint_forces, exerted)]
    stages += [Stage(kick, (nodes.mass, force, STEP, v)), *around.hold()]
    if around.touches:
        stages += [Stage(fastest, (v,), into=around.bound)]
    stages += [*around.contact(), Stage(drift, (v, STEP, x)), *around.last_look()]
    return around.bind(stages, h)
