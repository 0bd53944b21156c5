"""Tetrahedra of order 1 and 2 without tables of shape functions: stiffness and strains (spec 2.1).

With barycentric coordinates l_i of constant gradients g_i, S_i = sum of the edges' displacements u_ij at corner i, and
at a point next to corner q, where l_q = a and the other three are b,

    grad u = sum_i c_i (x) g_i,     c_i = (4 b - 1) u_i + 4 b S_i + 4 (a - b) u_iq,     u_qq = u_q

so a cell of order 2 needs its four gradients only, and the product with its stiffness is cheaper than with the matrix.
Order 1 has one point, and c_i = u_i.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import DTypeLike
from scipy.sparse import csr_matrix

from rheotwin.arrays import Array, Flags, Integers, Reals
from rheotwin.fem.fast.block_rows import BlockRows, TetGeometry, block_pattern
from rheotwin.kernels.compiled import compiled

NEAR = np.array([1, 0, 3, 2])
"""Corner that each of scikit-fem's four points of order 2 is next to."""
EDGE = np.array([[0, 4, 6, 7], [4, 1, 5, 8], [6, 5, 2, 9], [7, 8, 9, 3]])
"""Node of a cell between two of its corners; between a corner and itself the corner."""
A, B = (5.0 + 3.0 * 5.0**0.5) / 20.0, (5.0 - 5.0**0.5) / 20.0
"""Barycentric coordinates of a point: of the corner it is next to, and of the others."""
SHARE = np.concatenate([np.full(4, 1.0 / 70.0), np.full(6, 8.0 / 105.0)])
"""int N_a^2 of the nodes of order 2, as a share of the volume."""


@dataclass(frozen=True)
class Tets:
    """Straight tetrahedra with their nodes (M, 4 or 10) in scikit-fem's order."""

    geometry: TetGeometry
    nodes: Integers

    @property
    def points(self) -> int:
        """Quadrature points of a cell."""
        return 1 if self.nodes.shape[1] == 4 else 4

    @property
    def weights(self) -> Array:
        """Volumes (M points,) [m3] of the quadrature points."""
        return np.repeat(self.geometry.volumes / self.points, self.points)

    @property
    def corner_shares(self) -> Array:
        """Linear functions (4, points) of the corners at the points."""
        return np.full((4, 1), 0.25) if self.points == 1 else np.where(np.arange(4)[:, None] == NEAR, A, B)

    def strains(self, u: Array, cells: Integers) -> Array:
        """Return the strains (cells points, 6) of u (size,) in some cells; the order is that of `rheotwin.strain`."""
        out = np.empty((len(cells) * self.points, 6))
        _strains(self.nodes, self.geometry.gradients, np.ascontiguousarray(u), np.asarray(cells), out)
        return out

    def of(self, cells: Integers) -> Tets:
        """Return some of the cells."""
        own = self.geometry
        return Tets(TetGeometry(own.gradients[cells], own.volumes[cells], own.corners[cells]), self.nodes[cells])

    def linear(self) -> Tets:
        """Return the same cells of order 1."""
        return replace(self, nodes=self.geometry.corners)


@dataclass(frozen=True)
class TetStiffness:
    """lambda J_lambda + mu J_mu [N/m] on `rows` nodes, of Lame's constants (M,) [Pa] of every cell, plus a diagonal.

    Components of `held` answer nothing. Order 1 multiplies by block rows, order 2 cell by cell.
    """

    tets: Tets
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
    def stored(self) -> int:
        """Numbers it keeps where it multiplies cell by cell."""
        return int(self.tets.geometry.gradients.size + 3 * len(self.lame))

    @cached_property
    def assembled(self) -> BlockRows:
        """The matrix in block rows; what is held keeps the mean of its diagonal, coupled to nothing."""
        pattern = block_pattern(self.tets.nodes, self.rows)
        values = np.zeros(9 * len(pattern.indices) + 1)
        geometry = self.tets.geometry
        _add_stiffness(pattern.places, geometry.gradients, geometry.volumes, self.lame, self.shear, values)
        whole = BlockRows(3, pattern.indptr, pattern.indices, values)
        on_diagonal = np.flatnonzero(whole.indices == np.repeat(np.arange(self.rows), np.diff(whole.indptr)))
        if self.diagonal is not None:
            own = whole.indices[on_diagonal]
            for k in range(3):
                whole.blocks[on_diagonal, k, k] += self.diagonal.reshape(-1, 3)[own, k]
        return whole if self.held is None else whole.without(self.held)

    def tocsr(self) -> csr_matrix:
        """Return the matrix in compressed rows."""
        return self.assembled.to_sparse().tocsr()

    def toarray(self) -> Array:
        """Return the matrix with all its zeros."""
        return np.asarray(self.tocsr().toarray())

    def astype(self, dtype: DTypeLike) -> TetStiffness:
        """Return the operator of order 2 in another precision."""
        own = self.tets.geometry
        geometry = TetGeometry(own.gradients.astype(dtype), own.volumes.astype(dtype), own.corners)
        diagonal = None if self.diagonal is None else self.diagonal.astype(dtype)
        tets, lame, shear = Tets(geometry, self.tets.nodes), self.lame.astype(dtype), self.shear.astype(dtype)
        return replace(self, tets=tets, lame=lame, shear=shear, diagonal=diagonal)

    def product(self, x: Reals, out: Reals | None = None) -> Reals:
        """Return K x for flat x of the operator's precision, written to `out` if given."""
        if self.tets.points == 1:
            return self.assembled.product(x, out)
        y = np.empty_like(x) if out is None else out
        y[:] = 0.0
        own = self.tets.geometry
        _add_product(self.tets.nodes, own.gradients, own.volumes, self.lame, self.shear, x, y)
        if self.diagonal is not None:
            y += self.diagonal * x
        if self.held is not None:
            y[self.held] = 0.0
        return y

    def __matmul__(self, x: Array) -> Array:
        """K x."""
        return self.product(np.ascontiguousarray(x))

    def inverse_diagonal(self) -> Reals:
        """Return 1 over the diagonal, zero where held."""
        found = np.zeros(3 * self.rows) if self.diagonal is None else self.diagonal.astype(np.float64)
        own = self.tets.geometry
        _add_diagonal(self.tets.nodes, own.gradients, own.volumes, self.lame, self.shear, found)
        found[found == 0.0] = np.inf
        return np.asarray(1.0 / found if self.held is None else np.where(self.held, 0.0, 1.0 / found))

    def to_vertices(self) -> csr_matrix:
        """Return the map (rows, rows) from vertices to the linear function through them: edges have the mean."""
        nodes, rows = self.tets.nodes, self.rows
        ends = np.zeros((rows, 2), dtype=np.int64)
        for a in range(4):
            ends[nodes[:, a]] = nodes[:, a, None]
            for b in range(a + 1, 4 if nodes.shape[1] == 10 else 0):
                ends[nodes[:, EDGE[a, b]]] = nodes[:, [a, b]]
        return csr_matrix((np.full(2 * rows, 0.5), ends.ravel(), 2 * np.arange(rows + 1)), shape=(rows, rows))


def joined(parts: Sequence[tuple[Tets, int, Array, Array]], rows: int) -> TetStiffness:
    """Return one operator of bodies (cells, first row, lambda, mu) one after the other."""
    if len(parts) == 1:
        return TetStiffness(parts[0][0], rows, parts[0][2], parts[0][3])
    tets = [part[0] for part in parts]
    geometry = TetGeometry(
        np.concatenate([item.geometry.gradients for item in tets]),
        np.concatenate([item.geometry.volumes for item in tets]),
        np.concatenate([part[0].geometry.corners + np.int32(part[1]) for part in parts]),
    )
    nodes = np.concatenate([part[0].nodes + np.int32(part[1]) for part in parts])
    lame, shear = (np.concatenate([part[k] for part in parts]) for k in (2, 3))
    return TetStiffness(Tets(geometry, nodes), rows, lame, shear)


@compiled(contract=True, spliced=True)
def _corner_rates(nodes: Integers, e: int, q: int, x: Array, c: Array) -> None:
    """Write c_i (4, 3) of the formula above at the point next to corner q of cell e."""
    for i in range(4):
        for k in range(3):
            own = x[3 * nodes[e, i] + k]
            if nodes.shape[1] == 10:
                around = 0.0
                for j in range(4):
                    around += x[3 * nodes[e, EDGE[i, j]] + k]
                own = 4.0 * (B * around + (A - B) * x[3 * nodes[e, EDGE[i, q]] + k]) - own
            c[i, k] = own


@compiled(contract=True, allocates=True)
def _strains(nodes: Integers, gradients: Array, u: Array, cells: Integers, out: Array) -> None:
    points = 1 if nodes.shape[1] == 4 else 4
    c, h = np.empty((4, 3)), np.empty((3, 3))
    for n in range(len(cells)):
        e = cells[n]
        g = gradients[e]
        for q in range(points):
            _corner_rates(nodes, e, NEAR[q], u, c)
            for k in range(3):
                for j in range(3):
                    h[k, j] = c[0, k] * g[0, j] + c[1, k] * g[1, j] + c[2, k] * g[2, j] + c[3, k] * g[3, j]
            at = n * points + q
            out[at, 0], out[at, 1], out[at, 2] = h[0, 0], h[1, 1], h[2, 2]
            out[at, 3] = 0.5 * (h[0, 1] + h[1, 0])
            out[at, 4] = 0.5 * (h[1, 2] + h[2, 1])
            out[at, 5] = 0.5 * (h[0, 2] + h[2, 0])


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


@compiled(contract=True, spliced=True)
def _shape_gradients(count: int, g: Reals, q: int, out: Reals) -> None:
    """Write grad N_a (count, 3) at the point next to corner q; the numbering of points does not matter here."""
    for i in range(4):
        scale = 1.0 if count == 4 else 4.0 * (A if i == q else B) - 1.0
        for k in range(3):
            out[i, k] = scale * g[i, k]
        for j in range(i + 1, 4 if count == 10 else 0):
            for k in range(3):
                own, other = (A if i == q else B), (A if j == q else B)
                out[EDGE[i, j], k] = 4.0 * (own * g[j, k] + other * g[i, k])


@compiled(contract=True, allocates=True)
def _add_diagonal(nodes: Integers, gradients: Reals, volumes: Reals, lame: Reals, shear: Reals, out: Array) -> None:
    count = nodes.shape[1]
    points, d = (1 if count == 4 else 4), np.empty((10, 3))
    for e in range(len(nodes)):
        for q in range(points):
            _shape_gradients(count, gradients[e], q, d)
            first, second = volumes[e] * lame[e] / points, volumes[e] * shear[e] / points
            for a in range(count):
                square = d[a, 0] ** 2 + d[a, 1] ** 2 + d[a, 2] ** 2
                for k in range(3):
                    out[3 * nodes[e, a] + k] += (first + second) * d[a, k] ** 2 + second * square


@compiled(contract=True, allocates=True)
def _add_stiffness(
    places: Integers, gradients: Array, volumes: Array, lame: Array, shear: Array, values: Array
) -> None:
    """Add K_ab = V [lambda g_a g_b' + mu (g_b g_a' + (g_a . g_b) I)] of every cell, point by point."""
    count = places.shape[1]
    points, g = (1 if count == 4 else 4), np.empty((10, 3))
    for e in range(len(places)):
        first, second = volumes[e] * lame[e] / points, volumes[e] * shear[e] / points
        for q in range(points):
            _shape_gradients(count, gradients[e], q, g)
            for b in range(count):
                for a in range(count):
                    place = places[e, a, b]
                    common = second * (g[a, 0] * g[b, 0] + g[a, 1] * g[b, 1] + g[a, 2] * g[b, 2])
                    for j in range(3):
                        for i in range(3):
                            values[9 * place + 3 * j + i] += first * g[a, i] * g[b, j] + second * g[b, i] * g[a, j]
                        values[9 * place + 4 * j] += common
