"""Local (feed-forward) volume condition of box cells (calibration M2): half-length elements to the centre of the cell.

The body diagonals of a cell give way to elements from each corner to its centre c, the mean of the corners, which is
no particle: it moves with the mean velocity and passes the sum of its forces on to the corners in equal parts.

    f_a = k (|c - x_a| - l0) + sum_a kappa_a z_a + eta ldot   along  (c - x_a)/|c - x_a|
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix, diags

from rheotwin.arrays import Array, Indices
from rheotwin.kernels.compiled import compiled
from rheotwin.particles.forces.elements import Elements


@compiled
def add_centre_forces(halves: Elements, x: Array, v: Array, z: Array, force: Array) -> None:
    """Advance the arms with the current velocities and pull corners towards their centres: (a) and (b).

    Cells are (nC, 2^d); the half element of corner a of cell c has number 2^d c + a.
    """
    corners, arms = halves.corners.shape[1], z.shape[0]
    part = 1.0 / corners
    for cell in range(halves.corners.shape[0]):
        px, py, pz, ux, uy, uz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for corner in range(corners):
            i = halves.corners[cell, corner]
            px, py, pz = px + part * x[i, 0], py + part * x[i, 1], pz + part * x[i, 2]
            ux, uy, uz = ux + part * v[i, 0], uy + part * v[i, 1], uz + part * v[i, 2]
        sx, sy, sz = 0.0, 0.0, 0.0
        for corner in range(corners):
            half, i = cell * corners + corner, halves.corners[cell, corner]
            dx, dy, dz = px - x[i, 0], py - x[i, 1], pz - x[i, 2]
            length = np.sqrt(dx * dx + dy * dy + dz * dz)
            ex, ey, ez = dx / length, dy / length, dz / length
            rate = (ux - v[i, 0]) * ex + (uy - v[i, 1]) * ey + (uz - v[i, 2]) * ez
            f = halves.stiffness[half] * (length - halves.rest[half]) + halves.viscosity[half] * rate
            for arm in range(arms):
                state = halves.arm_decay[arm, half] * z[arm, half] + halves.arm_gain[arm, half] * rate
                z[arm, half] = state
                f += halves.arm_stiffness[arm, half] * state
            force[i, 0] += f * ex
            force[i, 1] += f * ey
            force[i, 2] += f * ez
            sx, sy, sz = sx + f * ex, sy + f * ey, sz + f * ez
        for corner in range(corners):
            i = halves.corners[cell, corner]
            force[i, 0] -= part * sx
            force[i, 1] -= part * sy
            force[i, 2] -= part * sz


def half_vectors(cells: Indices, x: Array) -> Array:
    """Return the vectors (nC * corners, 3) from each corner to its centre; x are positions or velocities (N, 3)."""
    values = x[cells]
    return np.asarray((values.mean(axis=1, keepdims=True) - values).reshape(-1, 3))


def half_matrix(cells: Indices, rest: Array, constants: Array, dimension: int) -> csr_matrix:
    """Assemble sum_h c_h g_h g_h^T on the components (N*d), g = d length/dx, at rest (N, 3) [m]."""
    vectors = half_vectors(cells, rest)[:, :dimension]
    directions = vectors / np.linalg.norm(vectors, axis=1)[:, None]
    count, corners = cells.shape
    share = 1.0 / corners - np.eye(corners)  # what each corner moves the length of each half element by
    values = np.einsum("ab,cak->cabk", share, directions.reshape(count, corners, dimension))
    columns = np.broadcast_to(cells[:, None, :, None] * dimension + np.arange(dimension), values.shape)
    rows = np.repeat(np.arange(count * corners), corners * dimension)
    operator = csr_matrix((values.ravel(), (rows, columns.ravel())), shape=(count * corners, len(rest) * dimension))
    return (operator.T @ diags(constants) @ operator).tocsr()


def diagonal_pairs(corners: int) -> Indices:
    """Return the local corner pairs that face each other through the centre of a quad (4) or hexahedron (8)."""
    return np.array([[0, 2], [1, 3]] if corners == 4 else [[0, 7], [1, 6], [2, 5], [3, 4]])


def diagonal_edges(cells: Indices, edges: Indices) -> Indices:
    """Return the edge (nC * corners,) of the diagonal that each corner of box cells (nC, corners) is an end of."""
    pairs = diagonal_pairs(cells.shape[1])
    partner = np.empty(cells.shape[1], np.int64)
    partner[pairs[:, 0]], partner[pairs[:, 1]] = pairs[:, 1], pairs[:, 0]
    ends = np.sort(np.stack([cells, cells[:, partner]], axis=-1).reshape(-1, 2), axis=1)
    size = int(max(edges.max(), cells.max())) + 1
    both = np.sort(edges, axis=1)
    keys = both[:, 0] * size + both[:, 1]
    order = np.argsort(keys)
    return np.asarray(order[np.searchsorted(keys[order], ends[:, 0] * size + ends[:, 1])])
