"""Signed volume of simplices and its gradient: what a pressure in a cell does to its corners.

A pressure p acts on corner a with p dV/dx_a. V is signed, so an inverted cell is pushed back through zero.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@njit(cache=True)
def volume_and_gradient(x: Array, cell: Indices, gradient: Array) -> float:
    """Return the signed area (3 corners, in the xy plane) or volume (4 corners) and its gradient (corners, 3).

    2D: A = (b - a) x (c - a) / 2.   3D: V = e1 . (e2 x e3) / 6 with e the edges leaving corner a.
    """
    a, b, c = x[cell[0]], x[cell[1]], x[cell[2]]
    gradient[0] = 0.0
    if cell.shape[0] == 3:
        for k in range(3):
            p, q = x[cell[(k + 1) % 3]], x[cell[(k + 2) % 3]]
            gradient[k, 0], gradient[k, 1], gradient[k, 2] = 0.5 * (p[1] - q[1]), 0.5 * (q[0] - p[0]), 0.0
        area: float = 0.5 * ((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))
        return area
    d = x[cell[3]]
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        gradient[1, k] = ((c[i] - a[i]) * (d[j] - a[j]) - (c[j] - a[j]) * (d[i] - a[i])) / 6.0
        gradient[2, k] = ((d[i] - a[i]) * (b[j] - a[j]) - (d[j] - a[j]) * (b[i] - a[i])) / 6.0
        gradient[3, k] = ((b[i] - a[i]) * (c[j] - a[j]) - (b[j] - a[j]) * (c[i] - a[i])) / 6.0
        gradient[0, k] = -gradient[1, k] - gradient[2, k] - gradient[3, k]
    volume = 0.0
    for k in range(3):
        volume += (b[k] - a[k]) * gradient[1, k]
    return volume


@njit(cache=True)
def all_volumes(x: Array, cells: Indices, volumes: Array, gradients: Array) -> None:
    """Fill signed volumes (nC,) and gradients (nC, corners, 3) of all cells at positions (N, 3)."""
    for cell in range(cells.shape[0]):
        volumes[cell] = volume_and_gradient(x, cells[cell], gradients[cell])


def cell_volumes(x: Array, cells: Indices) -> tuple[Array, Array]:
    """Return signed volumes (nC,) [m^d] and gradients (nC, corners, 3) [m^(d-1)]."""
    volumes, gradients = np.empty(len(cells)), np.zeros((*cells.shape, 3))
    all_volumes(x, cells, volumes, gradients)
    return volumes, gradients


def volume_matrix(x: Array, cells: Indices, constants: Array, dimension: int) -> csr_matrix:
    """Assemble sum_c c_c (dV/dx)(dV/dx)^T for constants [N m / m^(2d)] on the components (N*d)."""
    _, gradients = cell_volumes(x, cells)
    rows = np.repeat(np.arange(len(cells)), cells.shape[1] * dimension)
    columns = (cells[:, :, None] * dimension + np.arange(dimension)).ravel()
    operator = csr_matrix(
        (gradients[:, :, :dimension].ravel(), (rows, columns)), shape=(len(cells), len(x) * dimension)
    )
    return (operator.T @ diags(constants) @ operator).tocsr()
