"""All internal forces of a body, in the order in which a step adds them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rheotwin.particles.forces.cells import add_tet_forces, add_triangle_forces
from rheotwin.particles.forces.edges import add_edge_forces
from rheotwin.particles.forces.elements import Elements
from rheotwin.particles.state import State

Array = NDArray[np.float64]


class Forces(NamedTuple):
    """Every kind of internal force; those a body does not have are empty and cost nothing."""

    edges: Elements
    cells: Elements


@njit(cache=True)
def add_forces(forces: Forces, state: State, h: float, force: Array) -> None:
    """Advance all internal variables by a step of `h` [s] with the current velocities, and add all forces [N]."""
    x, v = state.positions, state.velocities
    add_edge_forces(forces.edges, x, v, state.edge_arms, force)
    if forces.cells.corners.shape[1] == 3:
        add_triangle_forces(forces.cells, x, v, state.cell_arms, force)
    else:
        add_tet_forces(forces.cells, x, v, state.cell_arms, force)
