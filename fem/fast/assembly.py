"""Stiffness of linear tetrahedra straight into 3 x 3 block rows (spec 2.1, 11).

With constant gradients g_a of the four shape functions and volume V, the block of corners a, b is

    K_ab = V [lambda g_a g_b' + mu (g_b g_a' + (g_a . g_b) I)].

Where every block goes is found once per mesh; assembling for other moduli is then one pass over the elements.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rheotwin.arrays import Array, Integers
from rheotwin.errors import RheotwinError
from rheotwin.fem.fast.block_rows import BlockRows
from rheotwin.kernels.compiled import compiled


@dataclass(frozen=True)
class TetGeometry:
    """Shape gradients (M, 4, 3) [1/m], volumes (M,) [m^3] and corners (M, 4) of linear tetrahedra."""

    gradients: Array
    volumes: Array
    corners: Integers


@dataclass(frozen=True)
class BlockPattern:
    """Rows and columns of a nodal block matrix, and the place (M, c, c) of every element block in it."""

    indptr: Integers
    indices: Integers
    places: Integers


def tet_geometry(points: Array, corners: NDArray[Any]) -> TetGeometry:
    """Return gradients and volumes of tetrahedra from points (N, 3) [m] and corners (M, 4).

    A flat tetrahedron is refused; one of negative orientation has the same stiffness as its mirror image.
    """
    corners = np.ascontiguousarray(corners, dtype=np.int32)
    gradients, volumes = np.empty((len(corners), 4, 3)), np.empty(len(corners))
    _gradients(np.ascontiguousarray(points), corners, gradients, volumes)
    flat = np.flatnonzero(~(volumes > 0.0))
    if len(flat):
        raise RheotwinError(f"mesh: tetrahedron {flat[0]} has no volume; repair or refine the mesh")
    return TetGeometry(gradients, volumes, corners)


@compiled(contract=True)
def _gradients(points: Array, corners: Integers, gradients: Array, volumes: Array) -> None:
    for e in range(len(corners)):
        o, p, q, r = corners[e, 0], corners[e, 1], corners[e, 2], corners[e, 3]
        a0, a1, a2 = points[p, 0] - points[o, 0], points[p, 1] - points[o, 1], points[p, 2] - points[o, 2]
        b0, b1, b2 = points[q, 0] - points[o, 0], points[q, 1] - points[o, 1], points[q, 2] - points[o, 2]
        c0, c1, c2 = points[r, 0] - points[o, 0], points[r, 1] - points[o, 1], points[r, 2] - points[o, 2]
        # Rows of the inverse of [a b c] are b x c, c x a and a x b over the determinant.
        x0, x1, x2 = b1 * c2 - b2 * c1, b2 * c0 - b0 * c2, b0 * c1 - b1 * c0
        y0, y1, y2 = c1 * a2 - c2 * a1, c2 * a0 - c0 * a2, c0 * a1 - c1 * a0
        z0, z1, z2 = a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0
        determinant = a0 * x0 + a1 * x1 + a2 * x2
        volumes[e] = abs(determinant) / 6.0
        scale = 1.0 / determinant if determinant != 0.0 else 0.0
        g = gradients[e]
        g[1, 0], g[1, 1], g[1, 2] = x0 * scale, x1 * scale, x2 * scale
        g[2, 0], g[2, 1], g[2, 2] = y0 * scale, y1 * scale, y2 * scale
        g[3, 0], g[3, 1], g[3, 2] = z0 * scale, z1 * scale, z2 * scale
        for k in range(3):
            g[0, k] = -(g[1, k] + g[2, k] + g[3, k])


def block_pattern(corners: NDArray[Any], rows: int) -> BlockPattern:
    """Return the pattern of a matrix of `rows` nodes that couples the corners (M, c) of every element, rows sorted."""
    corners = np.asarray(corners, dtype=np.int64)
    keys, places = np.unique(corners[:, :, None] * rows + corners[:, None, :], return_inverse=True)
    indptr = np.searchsorted(keys, np.arange(rows + 1) * rows)
    places = places.reshape(*corners.shape, -1)
    return BlockPattern(indptr.astype(np.int32), (keys % rows).astype(np.int32), places.astype(np.int32))


def stiffness(pattern: BlockPattern, tets: TetGeometry, lame: Array, shear: Array) -> BlockRows:
    """Assemble lambda J_lambda + mu J_mu [N/m] from Lame's constants (M,) [Pa] of every element."""
    values = np.zeros(9 * len(pattern.indices) + 1)
    _add_stiffness(pattern.places, tets.gradients, tets.volumes, lame, shear, values)
    return BlockRows(3, pattern.indptr, pattern.indices, values)


@compiled(contract=True)
def _add_stiffness(
    places: Integers, gradients: Array, volumes: Array, lame: Array, shear: Array, values: Array
) -> None:
    for e in range(len(places)):
        g, first, second = gradients[e], volumes[e] * lame[e], volumes[e] * shear[e]
        for b in range(4):
            for a in range(4):
                place = places[e, a, b]
                common = second * (g[a, 0] * g[b, 0] + g[a, 1] * g[b, 1] + g[a, 2] * g[b, 2])
                for j in range(3):
                    for i in range(3):
                        values[9 * place + 3 * j + i] += first * g[a, i] * g[b, j] + second * g[b, i] * g[a, j]
                    values[9 * place + 4 * j] += common
