"""The compiled time loop of the particles: one pass per step, internal variables first.

One step, spec section 6, in the order that keeps the scheme conditionally stable at any series viscosity:

    (a)  internal variables advance with the current velocities, exact for constant rates
    (b)  forces of edges, cells and whatever keeps the shape
    (c)  v += h F / m,   then held components and contact
    (d)  x += h v
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rheotwin.particles.boundary import Boundary, Nodes, Push, apply_loads, hold, settle_contact
from rheotwin.particles.forces.all_forces import Forces, add_forces
from rheotwin.particles.state import State

Array = NDArray[np.float64]

CHECK_EVERY = 64
"""Steps between two looks at whether the numbers are still sensible."""


@njit(cache=True)
def runs_away(nodes: Nodes, x: Array) -> bool:
    """Return whether a node is further from its rest position than any sensible motion takes it."""
    for node in range(x.shape[0]):
        for c in range(3):
            if not np.abs(x[node, c] - nodes.rest[node, c]) <= nodes.runaway:
                return True
    return False


@njit(cache=True, nogil=True)
def advance(first: int, count: int, h: float, forces: Forces, state: State, boundary: Boundary) -> int:
    """Take `count` steps from step number `first`; stop early when a node runs away. Returns steps taken."""
    nodes, x, v, force = boundary.nodes, state.positions, state.velocities, state.force
    push = Push(
        np.empty((boundary.tools.shape.shape[0], 4)),
        np.empty(boundary.tools.candidate.shape[0]),
        np.empty(x.shape[0], np.bool_),
        np.empty(x.shape[0], np.bool_),
    )
    for step in range(first, first + count):
        end = (step + 1) * h
        force[:] = nodes.weight
        apply_loads(boundary.loads, step * h, force)
        add_forces(forces, state, h, force)
        for node in range(x.shape[0]):
            rate = h / nodes.mass[node]
            for c in range(3):
                v[node, c] += rate * force[node, c]
        hold(boundary.held, nodes, state, end, h)
        settle_contact(boundary.tools, push, nodes, state, end, h)
        for node in range(x.shape[0]):
            for c in range(3):
                x[node, c] += h * v[node, c]
        if step % CHECK_EVERY == 0 and runs_away(nodes, x):
            return step + 1 - first
    return count
