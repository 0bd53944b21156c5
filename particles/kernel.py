"""The compiled time loop of the particles: one pass per step, internal variables first.

One step, spec section 6, in the order that keeps the scheme conditionally stable at any series viscosity:

    (a)  internal variables advance with the current velocities, exact for constant rates
    (b)  forces of edges, cells and whatever keeps the shape, then those of constraints
    (c)  v += h F / m,   then held components and contact
    (d)  x += h v
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheotwin.kernels.compiled import compiled
from rheotwin.particles.boundary import Boundary, apply_loads, hold, room_for_contact, settle_contact, touches
from rheotwin.particles.constrained import add_constraint_forces, note_held_accelerations
from rheotwin.particles.exact_tools import Push
from rheotwin.particles.fastest import fastest
from rheotwin.particles.forces.all_forces import Forces, add_forces
from rheotwin.particles.node_loops import begin_forces, drift, kick
from rheotwin.particles.nodes import Nodes
from rheotwin.particles.state import State

Array = NDArray[np.float64]

CHECK_EVERY = 64
"""Steps between two looks at whether the numbers are still sensible."""


@compiled(inside=True)
def runs_away(nodes: Nodes, x: Array) -> bool:
    """Return whether a node is further from its rest position than any sensible motion takes it."""
    for node in range(x.shape[0]):
        for c in range(3):
            if not np.abs(x[node, c] - nodes.rest[node, c]) <= nodes.runaway:
                return True
    return False


@compiled(inside=True)
def move(push: Push, state: State, boundary: Boundary, end: float, h: float) -> None:
    """Close a step of `h` [s] at `end` [s] from the forces in `state`: velocities, supports and contact, positions."""
    nodes, x, v, force = boundary.nodes, state.positions, state.velocities, state.force
    kick(nodes.mass, force, h, v)
    hold(boundary.held, nodes, state, end, h)
    if touches(boundary):
        settle_contact(boundary, push, state, fastest(v), end, h)
    drift(v, h, x)


def advance(first: int, count: int, h: float, forces: Forces, state: State, boundary: Boundary) -> int:
    """Take `count` steps from step number `first`; stop early when a node runs away. Returns steps taken."""
    return int(_take_steps(first, count, h, forces, state, boundary, room_for_contact(boundary)))


@compiled(nogil=True)
def _take_steps(first: int, count: int, h: float, forces: Forces, state: State, boundary: Boundary, push: Push) -> int:
    nodes, force = boundary.nodes, state.force
    for step in range(first, first + count):
        begin_forces(nodes.weight, force)
        apply_loads(boundary.loads, step * h, force)
        add_forces(forces, state, h, force)
        note_held_accelerations(forces.constraints, boundary, state, (step + 1) * h, h)
        add_constraint_forces(forces.constraints, boundary, state, step * h, True, h, force)
        move(push, state, boundary, (step + 1) * h, h)
        if step % CHECK_EVERY == 0 and runs_away(nodes, state.positions):
            return step + 1 - first
    return count
