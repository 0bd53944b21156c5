"""Signed volume of simplices and its gradient: what a pressure in a cell does to its corners.

A pressure p acts on corner a with p dV/dx_a. V is signed, so an inverted cell is pushed back through zero.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix, diags

from rheotwin.arrays import Array, Indices
from rheotwin.kernels.compiled import compiled


@compiled
def triangle_frame(x: Array, i: int, j: int, k: int) -> tuple[float, float, float, float, float]:
    """Return the signed area A = (b - a) x (c - a)/2 in the xy plane and its gradients at the corners j and k.

    The gradient at corner i is minus their sum.
    """
    bx, by, cx, cy = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[k, 0] - x[i, 0], x[k, 1] - x[i, 1]
    return 0.5 * (bx * cy - by * cx), 0.5 * cy, -0.5 * cx, -0.5 * by, 0.5 * bx


@compiled
def tet_frame(
    x: Array, i: int, j: int, k: int, m: int
) -> tuple[float, float, float, float, float, float, float, float, float, float]:
    """Return the signed volume V = a . (b x c)/6, a, b, c leaving corner i, and its gradients at j, k and m.

    The gradient at corner i is minus their sum.
    """
    ax, ay, az = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
    bx, by, bz = x[k, 0] - x[i, 0], x[k, 1] - x[i, 1], x[k, 2] - x[i, 2]
    cx, cy, cz = x[m, 0] - x[i, 0], x[m, 1] - x[i, 1], x[m, 2] - x[i, 2]
    jx, jy, jz = (by * cz - bz * cy) / 6.0, (bz * cx - bx * cz) / 6.0, (bx * cy - by * cx) / 6.0
    kx, ky, kz = (cy * az - cz * ay) / 6.0, (cz * ax - cx * az) / 6.0, (cx * ay - cy * ax) / 6.0
    mx, my, mz = (ay * bz - az * by) / 6.0, (az * bx - ax * bz) / 6.0, (ax * by - ay * bx) / 6.0
    return ax * jx + ay * jy + az * jz, jx, jy, jz, kx, ky, kz, mx, my, mz


@compiled
def fill_volumes(x: Array, cells: Indices, volumes: Array, gradients: Array) -> None:
    """Put signed volumes and gradients, zero on entry, into arrays that are there already as `cell_volumes` returns."""
    for cell in range(cells.shape[0]):
        c, g = cells[cell], gradients[cell]
        if cells.shape[1] == 3:
            volumes[cell], g[1, 0], g[1, 1], g[2, 0], g[2, 1] = triangle_frame(x, c[0], c[1], c[2])
        else:
            (
                volumes[cell],
                g[1, 0],
                g[1, 1],
                g[1, 2],
                g[2, 0],
                g[2, 1],
                g[2, 2],
                g[3, 0],
                g[3, 1],
                g[3, 2],
            ) = tet_frame(x, c[0], c[1], c[2], c[3])
        for corner in range(1, cells.shape[1]):
            for axis in range(3):
                g[0, axis] -= g[corner, axis]


def cell_volumes(x: Array, cells: Indices) -> tuple[Array, Array]:
    """Return signed areas or volumes (nC,) [m^d] and gradients (nC, corners, 3) [m^(d-1)] at positions (N, 3)."""
    gradients = np.zeros((*cells.shape, 3))
    if not len(cells):  # as in one dimension, whose cells have two corners
        return np.zeros(0), gradients
    corners = x.T[:, cells.T]
    sides = corners[:, 1:] - corners[:, :1]
    if cells.shape[1] == 3:
        (ax, bx), (ay, by) = sides[0], sides[1]
        gradients[:, 1, 0], gradients[:, 1, 1], gradients[:, 2, 0], gradients[:, 2, 1] = (
            by / 2,
            -bx / 2,
            -ay / 2,
            ax / 2,
        )
        gradients[:, 0] = -(gradients[:, 1] + gradients[:, 2])
        return ax * gradients[:, 1, 0] + ay * gradients[:, 1, 1], gradients
    for corner, (a, b) in enumerate(((1, 2), (2, 0), (0, 1)), start=1):
        for axis, (k, m) in enumerate(((1, 2), (2, 0), (0, 1))):
            gradients[:, corner, axis] = (sides[k, a] * sides[m, b] - sides[m, a] * sides[k, b]) / 6.0
    gradients[:, 0] = -(gradients[:, 1] + gradients[:, 2] + gradients[:, 3])
    return sum(sides[axis, 0] * gradients[:, 1, axis] for axis in range(3)), gradients


def volume_rates(gradients: Array, velocities: Array, cells: Indices) -> Array:
    """Return dV/dt (nC,) [m^d/s] of cells from their gradients (nC, corners, 3) and nodes' velocities (N, 3) [m/s]."""
    return np.asarray(np.einsum("cax,cax->c", gradients, velocities[cells]))


def volume_matrix(x: Array, cells: Indices, constants: Array, dimension: int) -> csr_matrix:
    """Assemble sum_c c_c (dV/dx)(dV/dx)^T for constants [N m / m^(2d)] on the components (N*d)."""
    _, gradients = cell_volumes(x, cells)
    rows = np.repeat(np.arange(len(cells)), cells.shape[1] * dimension)
    columns = (cells[:, :, None] * dimension + np.arange(dimension)).ravel()
    operator = csr_matrix(
        (gradients[:, :, :dimension].ravel(), (rows, columns)), shape=(len(cells), len(x) * dimension)
    )
    return (operator.T @ diags(constants) @ operator).tocsr()
