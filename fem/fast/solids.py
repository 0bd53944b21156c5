"""Tetrahedra and hexahedra of order 1 and 2 without tables per cell: stiffness, its product, strains (spec 2.1).

With gradients g_a of the nodes' functions at a point of the volume V, the block of nodes a, b is

    K_ab = sum V [lambda g_a g_b' + mu (g_b g_a' + (g_a . g_b) I)]

Tetrahedra of order 2 need no matrix. With barycentric coordinates l_i of constant gradients g_i, S_i = sum of the
edges' displacements u_ij at corner i, and at a point next to corner q, where l_q = a and the other three are b,

    grad u = sum_i c_i (x) g_i,     c_i = (4 b - 1) u_i + 4 b S_i + 4 (a - b) u_iq,     u_qq = u_q

so that four gradients a cell are all that is read: less than the matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike
from scipy.sparse import csr_matrix

from rheotwin.arrays import Array, Flags, Indices, Integers, Reals
from rheotwin.fem.fast.block_rows import BlockRows, TetGeometry, block_pattern, tet_geometry
from rheotwin.kernels.compiled import compiled

EDGE = np.array([[0, 4, 6, 7], [4, 1, 5, 8], [6, 5, 2, 9], [7, 8, 9, 3]])
"""Node of a tetrahedron between two of its corners; between a corner and itself the corner."""
A, B = (5.0 + 3.0 * 5.0**0.5) / 20.0, (5.0 - 5.0**0.5) / 20.0
"""Barycentric coordinates of a point: of the corner it is next to, and of the others."""


class Rule(NamedTuple):
    """Points of a reference cell: weights (q,), gradients of corners (q, k, 3) and of nodes (q, c, 3)."""

    weights: Array
    corners: Array
    nodes: Array


def shapes(element: Any, places: Array) -> tuple[Array, Array]:
    """Return the functions (c, q) of a scikit-fem element at reference places (3, q) and their gradients (q, c, 3)."""
    count = len(element.doflocs)
    pairs = [element.lbasis(places, local) for local in range(count)]
    values = np.array([np.broadcast_to(value, places.shape[1]) for value, _ in pairs], dtype=np.float64)
    slopes = [np.broadcast_to(np.asarray(slope).reshape(3, -1), places.shape) for _, slope in pairs]
    return values, np.ascontiguousarray(np.array(slopes, dtype=np.float64).transpose(2, 0, 1))


@dataclass(frozen=True)
class Solids:
    """Straight cells: vertices (N, 3) [m], corners (M, k) and nodes (M, c) in scikit-fem's order, and their points."""

    places: Array
    corners: Integers
    nodes: Integers
    rule: Rule
    corner_shares: Array
    """Functions (k, q) of the corners at the points."""

    @property
    def linear(self) -> bool:
        """Whether its nodes are its corners."""
        return bool(self.nodes.shape[1] == self.corners.shape[1])

    @property
    def points(self) -> int:
        """Quadrature points of a cell."""
        return len(self.rule.weights)

    @property
    def weights(self) -> Array:
        """Volumes (M points,) [m3] of the quadrature points."""
        out = np.empty((len(self.nodes), self.points))
        _weigh(self.places, self.corners, self.rule, out)
        return out.ravel()

    @cached_property
    def tets(self) -> TetGeometry:
        """Constant gradients of tetrahedra."""
        return tet_geometry(self.places, self.corners)

    def strains(self, u: Array, cells: Indices) -> Array:
        """Return the strains (cells points, 6) of u (size,) in some cells; the order is that of `rheotwin.strain`."""
        out = np.empty((len(cells) * self.points, 6))
        _strains(self.places, self.corners, self.nodes, self.rule, np.ascontiguousarray(u), np.asarray(cells), out)
        return out

    def of(self, cells: Indices) -> Solids:
        """Return some of the cells."""
        return replace(self, corners=self.corners[cells], nodes=self.nodes[cells])


@dataclass(frozen=True)
class SolidStiffness:
    """lambda J_lambda + mu J_mu [N/m] on `rows` nodes, of Lame's constants (M,) [Pa] of every cell, plus a diagonal.

    Components of `held` answer nothing. Tetrahedra of order 2 multiply cell by cell, others by block rows.
    """

    cells: Solids
    rows: int
    lame: Reals
    shear: Reals
    diagonal: Reals | None = None
    held: Flags | None = None
    dimension: int = 3

    @property
    def shape(self) -> tuple[int, int]:
        """Size of the matrix."""
        return (3 * self.rows, 3 * self.rows)

    @property
    def matrix_free(self) -> bool:
        """Whether it multiplies cell by cell."""
        return bool(self.cells.nodes.shape[1] == 10)

    @property
    def stored(self) -> int:
        """Numbers it keeps where it multiplies cell by cell."""
        return 15 * len(self.lame)

    @cached_property
    def assembled(self) -> BlockRows:
        """The matrix in block rows; what is held keeps the mean of its diagonal, coupled to nothing."""
        pattern, own = block_pattern(self.cells.nodes, self.rows), self.cells
        values = np.zeros(9 * len(pattern.indices) + 1)
        _add_stiffness(own.places, own.corners, own.rule, pattern.places, self.lame, self.shear, values)
        whole = BlockRows(3, pattern.indptr, pattern.indices, values)
        if self.diagonal is not None:
            row = np.repeat(np.arange(self.rows), np.diff(whole.indptr))
            at = np.flatnonzero(whole.indices == row)
            for k in range(3):
                whole.blocks[at, k, k] += self.diagonal.reshape(-1, 3)[row[at], k]
        return whole if self.held is None else whole.without(self.held)

    def tocsr(self) -> csr_matrix:
        """Return the matrix in compressed rows."""
        return self.assembled.to_sparse().tocsr()

    def toarray(self) -> Array:
        """Return the matrix with all its zeros."""
        return np.asarray(self.tocsr().toarray())

    @cached_property
    def by_cells(self) -> CellProduct:
        """The product that needs no matrix."""
        own = self.cells.tets
        return CellProduct(
            self.rows, self.cells.nodes, own.gradients, own.volumes, self.lame, self.shear, self.diagonal, self.held
        )

    def product(self, x: Reals, out: Reals | None = None) -> Reals:
        """Return K x for flat x, written to `out` if given."""
        return self.by_cells.product(x, out) if self.matrix_free else self.assembled.product(x, out)

    def __matmul__(self, x: Array) -> Array:
        """K x."""
        return self.product(np.ascontiguousarray(x))

    def inverse_diagonal(self) -> Array:
        """Return 1 over the diagonal, zero where held or where there is nothing."""
        found = np.zeros(3 * self.rows) if self.diagonal is None else self.diagonal.copy()
        own = self.cells
        _add_diagonal(own.places, own.corners, own.nodes, own.rule, self.lame, self.shear, found)
        found[found == 0.0] = np.inf
        return np.asarray(1.0 / found if self.held is None else np.where(self.held, 0.0, 1.0 / found))


@dataclass(frozen=True)
class CellProduct:
    """The product of `SolidStiffness` cell by cell, in the precision of its numbers."""

    rows: int
    nodes: Integers
    gradients: Reals
    volumes: Reals
    lame: Reals
    shear: Reals
    diagonal: Reals | None
    held: Flags | None
    dimension: int = 3

    @property
    def stored(self) -> int:
        """Numbers it keeps."""
        return int(self.gradients.size + 3 * len(self.lame))

    def astype(self, dtype: DTypeLike) -> CellProduct:
        """Return the same in another precision."""
        names = ("gradients", "volumes", "lame", "shear")
        diagonal = None if self.diagonal is None else self.diagonal.astype(dtype)
        return replace(self, diagonal=diagonal, **{name: getattr(self, name).astype(dtype) for name in names})

    def product(self, x: Reals, out: Reals | None = None) -> Reals:
        """Return K x for flat x of the same precision, written to `out` if given."""
        y = np.empty_like(x) if out is None else out
        y[:] = 0.0
        _add_product(self.nodes, self.gradients, self.volumes, self.lame, self.shear, x, y)
        if self.diagonal is not None:
            y += self.diagonal * x
        if self.held is not None:
            y[self.held] = 0.0
        return y

    def __matmul__(self, x: Reals) -> Reals:
        """K x."""
        return self.product(np.ascontiguousarray(x))


def joined(parts: Sequence[tuple[Solids, int, Array, Array]], rows: int) -> SolidStiffness:
    """Return one operator of bodies (cells, first row, lambda, mu) one after the other."""
    cells, lame, shear = parts[0][0], parts[0][2], parts[0][3]
    if len(parts) > 1:
        lame, shear = (np.concatenate([part[k] for part in parts]) for k in (2, 3))
        firsts = np.cumsum([0, *(len(part[0].places) for part in parts)])
        cells = replace(
            cells,
            places=np.concatenate([part[0].places for part in parts]),
            corners=np.concatenate([part[0].corners + np.int32(k) for part, k in zip(parts, firsts, strict=False)]),
            nodes=np.concatenate([part[0].nodes + np.int32(part[1]) for part in parts]),
        )
    return SolidStiffness(cells, rows, lame, shear)


@compiled(contract=True, spliced=True)
def _gradients_at(places: Array, corners: Integers, e: int, rule: Rule, q: int, g: Array) -> float:
    """Write the gradients (c, 3) [1/m] of the nodes of cell e at point q; return the point's volume."""
    a0, a1, a2, b0, b1, b2, c0, c1, c2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(corners.shape[1]):
        x, y, z = places[corners[e, i], 0], places[corners[e, i], 1], places[corners[e, i], 2]
        r, s, t = rule.corners[q, i, 0], rule.corners[q, i, 1], rule.corners[q, i, 2]
        a0, a1, a2 = a0 + r * x, a1 + r * y, a2 + r * z
        b0, b1, b2 = b0 + s * x, b1 + s * y, b2 + s * z
        c0, c1, c2 = c0 + t * x, c1 + t * y, c2 + t * z
    x0, x1, x2 = b1 * c2 - b2 * c1, b2 * c0 - b0 * c2, b0 * c1 - b1 * c0
    y0, y1, y2 = c1 * a2 - c2 * a1, c2 * a0 - c0 * a2, c0 * a1 - c1 * a0
    z0, z1, z2 = a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0
    determinant = a0 * x0 + a1 * x1 + a2 * x2
    over = 1.0 / determinant
    for n in range(rule.nodes.shape[1]):
        r, s, t = over * rule.nodes[q, n, 0], over * rule.nodes[q, n, 1], over * rule.nodes[q, n, 2]
        g[n, 0], g[n, 1], g[n, 2] = r * x0 + s * y0 + t * z0, r * x1 + s * y1 + t * z1, r * x2 + s * y2 + t * z2
    return float(abs(determinant) * rule.weights[q])


@compiled(contract=True, allocates=True)
def _weigh(places: Array, corners: Integers, rule: Rule, out: Array) -> None:
    g = np.empty((rule.nodes.shape[1], 3))
    for e in range(len(corners)):
        for q in range(len(rule.weights)):
            out[e, q] = _gradients_at(places, corners, e, rule, q, g)


@compiled(contract=True, allocates=True)
def _strains(
    places: Array, corners: Integers, nodes: Integers, rule: Rule, u: Array, cells: Indices, out: Array
) -> None:
    g, points = np.empty((nodes.shape[1], 3)), len(rule.weights)
    for n in range(len(cells)):
        e = cells[n]
        for q in range(points):
            _gradients_at(places, corners, e, rule, q, g)
            own = out[n * points + q]
            own[:] = 0.0
            for a in range(nodes.shape[1]):
                x, y, z = u[3 * nodes[e, a]], u[3 * nodes[e, a] + 1], u[3 * nodes[e, a] + 2]
                own[0] += g[a, 0] * x
                own[1] += g[a, 1] * y
                own[2] += g[a, 2] * z
                own[3] += 0.5 * (g[a, 0] * y + g[a, 1] * x)
                own[4] += 0.5 * (g[a, 1] * z + g[a, 2] * y)
                own[5] += 0.5 * (g[a, 0] * z + g[a, 2] * x)


@compiled(contract=True, allocates=True)
def _add_product(
    nodes: Integers, gradients: Reals, volumes: Reals, lame: Reals, shear: Reals, x: Reals, y: Reals
) -> None:
    """Add the product of cells of order 2: u is gathered once, forces tau_i = sigma g_i scattered once a cell."""
    kind = x.dtype.type
    zero, quarter, rest, far, split = kind(0.0), kind(0.25), kind(4.0 * B - 1.0), kind(4.0 * B), kind(4.0 * (A - B))
    u, f = np.empty((10, 3), x.dtype), np.empty((10, 3), x.dtype)
    around, total = np.empty((4, 3), x.dtype), np.empty((4, 3), x.dtype)
    c, h, t = np.empty((4, 3), x.dtype), np.empty((3, 3), x.dtype), np.empty((4, 3), x.dtype)
    for e in range(len(nodes)):
        g, first, second = gradients[e], quarter * volumes[e] * lame[e], quarter * volumes[e] * shear[e]
        for a in range(10):
            node = 3 * nodes[e, a]
            for k in range(3):
                u[a, k], f[a, k] = x[node + k], zero
        for k in range(3):
            around[0, k] = far * (u[4, k] + u[6, k] + u[7, k])
            around[1, k] = far * (u[4, k] + u[5, k] + u[8, k])
            around[2, k] = far * (u[6, k] + u[5, k] + u[9, k])
            around[3, k] = far * (u[7, k] + u[8, k] + u[9, k])
            for i in range(4):
                around[i, k] += rest * u[i, k]
                total[i, k] = zero
        for q in range(4):
            for i in range(4):
                for k in range(3):
                    c[i, k] = around[i, k] + split * u[EDGE[i, q], k]
            for k in range(3):
                for j in range(3):
                    h[k, j] = c[0, k] * g[0, j] + c[1, k] * g[1, j] + c[2, k] * g[2, j] + c[3, k] * g[3, j]
            pressure = first * (h[0, 0] + h[1, 1] + h[2, 2])
            for i in range(4):
                for k in range(3):
                    t[i, k] = pressure * g[i, k] + second * (
                        (h[k, 0] + h[0, k]) * g[i, 0] + (h[k, 1] + h[1, k]) * g[i, 1] + (h[k, 2] + h[2, k]) * g[i, 2]
                    )
                    total[i, k] += t[i, k]
                    f[EDGE[i, q], k] += split * t[i, k]
        for k in range(3):
            for i in range(4):
                f[i, k] += rest * total[i, k]
            f[4, k] += far * (total[0, k] + total[1, k])
            f[5, k] += far * (total[1, k] + total[2, k])
            f[6, k] += far * (total[0, k] + total[2, k])
            f[7, k] += far * (total[0, k] + total[3, k])
            f[8, k] += far * (total[1, k] + total[3, k])
            f[9, k] += far * (total[2, k] + total[3, k])
        for a in range(10):
            node = 3 * nodes[e, a]
            for k in range(3):
                y[node + k] += f[a, k]


@compiled(contract=True, allocates=True)
def _add_diagonal(
    places: Array, corners: Integers, nodes: Integers, rule: Rule, lame: Reals, shear: Reals, out: Array
) -> None:
    g = np.empty((nodes.shape[1], 3))
    for e in range(len(nodes)):
        for q in range(len(rule.weights)):
            volume = _gradients_at(places, corners, e, rule, q, g)
            for a in range(nodes.shape[1]):
                square = g[a, 0] ** 2 + g[a, 1] ** 2 + g[a, 2] ** 2
                for k in range(3):
                    own = (lame[e] + shear[e]) * g[a, k] ** 2 + shear[e] * square
                    out[3 * nodes[e, a] + k] += volume * own


@compiled(contract=True, allocates=True)
def _add_stiffness(
    places: Array, corners: Integers, rule: Rule, into: Any, lame: Array, shear: Array, values: Array
) -> None:
    count = rule.nodes.shape[1]
    g = np.empty((count, 3))
    for e in range(len(corners)):
        for q in range(len(rule.weights)):
            volume = _gradients_at(places, corners, e, rule, q, g)
            first, second = volume * lame[e], volume * shear[e]
            for b in range(count):
                for a in range(count):
                    place = into[e, a, b]
                    common = second * (g[a, 0] * g[b, 0] + g[a, 1] * g[b, 1] + g[a, 2] * g[b, 2])
                    for j in range(3):
                        for i in range(3):
                            values[9 * place + 3 * j + i] += first * g[a, i] * g[b, j] + second * g[b, i] * g[a, j]
                        values[9 * place + 4 * j] += common
