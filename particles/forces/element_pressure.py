"""A pressure for each triangle or tetrahedron (spec section 5): P = K (S0 - S) - C Sdot, S its area or volume.

Corner a feels P dS/dx_a, normal to the side it faces. The lines of action meet in the orthocentre of a triangle
(E10; not in its circumcentre), so force and moment vanish, and K (S - S0)^2/2 is the energy stored.

In the words of cells with networks: tension = K S0 (S/S0 - 1) + C S0 (Sdot/S0), without arms.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from rheotwin.arrays import Array, Indices
from rheotwin.particles.cell_volume import cell_volumes, volume_matrix
from rheotwin.particles.forces.elements import Elements


def make_element_pressure(rest: Array, cells: Indices, *, stiffness: float, damping: float) -> Elements:
    """Return simplices (nC, d+1) with K [Pa/m^d] and C [Pa s/m^d] (times the thickness [m] of plane bodies)."""
    volumes, _ = cell_volumes(rest, cells.astype(np.int64))
    none = np.zeros((0, len(cells)))
    return Elements(
        corners=np.ascontiguousarray(cells, dtype=np.int64),
        rest=volumes,
        stiffness=stiffness * volumes,
        viscosity=damping * volumes,
        arm_stiffness=none,
        arm_decay=none.copy(),
        arm_gain=none.copy(),
    )


def no_element_pressure(dimension: int) -> Elements:
    """Return pressures in no cells."""
    return make_element_pressure(
        np.zeros((0, 3)), np.zeros((0, max(dimension, 2) + 1), np.int64), stiffness=0.0, damping=0.0
    )


def element_tension(cells: Elements, x: Array, v: Array) -> Array:
    """Return -P (nC,) [Pa, times the thickness of plane bodies] at positions [m] and velocities [m/s] (N, 3)."""
    volumes, gradients = cell_volumes(x, cells.corners)
    flows = np.einsum("cak,cak->c", gradients, v[cells.corners])
    return np.asarray((cells.stiffness * (volumes - cells.rest) + cells.viscosity * flows) / cells.rest)


def element_pressure_energy(cells: Elements, x: Array) -> float:
    """Return the energy [J] stored at positions (N, 3) [m]: sum K (S - S0)^2/2."""
    volumes, _ = cell_volumes(x, cells.corners)
    return float(0.5 * np.sum(cells.stiffness / cells.rest * (volumes - cells.rest) ** 2))


def element_pressure_matrices(cells: Elements, rest: Array, dimension: int) -> tuple[csr_matrix, csr_matrix]:
    """Return sum_c K g g^T and sum_c C g g^T at rest (N, 3), g = dS/dx, on the components (N*d)."""
    return (
        volume_matrix(rest, cells.corners, cells.stiffness / cells.rest, dimension),
        volume_matrix(rest, cells.corners, cells.viscosity / cells.rest, dimension),
    )
