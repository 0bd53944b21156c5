"""Matrices in compressed rows of d x d blocks, and their product with a vector.

Three components at a node make every entry of a stiffness a 3 x 3 block: one index serves nine values, and the
product reads each node's components once. Values are kept column by column for `vector_row`.
Only contraction of products and sums is allowed: all of `fastmath` made this product three times slower.

A compiler sees no vectors in a 3 x 3 block. Stored column by column, the block is three overlapping loads of
four values, the fourth lane being the next column's first value and thrown away at the end:

    y += B[:, 0] x_0 + B[:, 1] x_1 + B[:, 2] x_2

so a block costs three fused multiplications instead of nine. The last block reads one value past its end:
the array of values is one longer than its blocks.

Where the blocks of elements go is found once per mesh; assembling for other moduli is then one pass over the elements.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import bsr_matrix, csr_matrix

from rheotwin.arrays import Array, Flags, Indices, Integers, Reals
from rheotwin.errors import RheotwinError
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.lanes import Lanes

LANES = 4
_tools: Any = cgutils
_types: Any = types
_INDEX, _LANE = ir.IntType(64), ir.IntType(32)


def _generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit the loop over the blocks first..last-1 of a row; see `block_row_product`."""
    values_type, indices_type, x_type = (signature.args[k] for k in (0, 1, 2))
    data = [
        context.make_array(kind)(context, builder, argument).data
        for kind, argument in zip((values_type, indices_type, x_type), arguments[:3], strict=True)
    ]
    values, indices, x = data
    row = Lanes(builder, context.get_data_type(values_type.dtype), LANES)
    sums = [_tools.alloca_once_value(builder, row.constant(0.0)) for _ in range(3)]
    with _tools.for_range_slice(builder, arguments[3], arguments[4], ir.Constant(_INDEX, 1), intp=_INDEX) as (k, _):
        column = builder.sext(builder.load(builder.gep(indices, [k])), _INDEX)
        node = builder.gep(x, [builder.mul(column, ir.Constant(_INDEX, 3))])
        block = builder.gep(values, [builder.mul(k, ir.Constant(_INDEX, 9))])
        for c in range(3):
            factor = row.splat(builder.load(builder.gep(node, [ir.Constant(_INDEX, c)])))
            column_of_block = row.load(builder.gep(block, [ir.Constant(_INDEX, 3 * c)]))
            builder.store(row.multiply_add(column_of_block, factor, builder.load(sums[c])), sums[c])
    total = builder.fadd(builder.fadd(builder.load(sums[0]), builder.load(sums[1])), builder.load(sums[2]))
    parts = [builder.extract_element(total, ir.Constant(_LANE, c)) for c in range(3)]
    return context.make_tuple(builder, signature.return_type, parts)


def _typed_row_product(typing: Any, values: Any, indices: Any, x: Any, first: Any, last: Any) -> Any:
    """Return (y_0, y_1, y_2) = sum of B_k x_k over the blocks first <= k < last of one row.

    `values` holds the 3 x 3 blocks column by column and one value more; `indices` (int32) their block columns.
    All arrays are flat and contiguous, `values` and `x` of one precision.
    """
    result = _types.UniTuple(values.dtype, 3)
    return result(values, indices, x, _types.int64, _types.int64), _generate


block_row_product: Any = intrinsic(_typed_row_product)
"""`block_row_product(values, indices, x, first, last)` -> (y_0, y_1, y_2), for compiled code only."""


@dataclass(frozen=True)
class BlockRows:
    """A matrix of d x d blocks; `indptr` (N+1,) and `indices` (n,) as in scipy's block rows, int32.

    `values` (n d d + 1,) holds the blocks one after the other, each column by column, and one unused value.
    """

    dimension: int
    indptr: Integers
    indices: Integers
    values: Reals

    @classmethod
    def from_sparse(cls, matrix: Any, dimension: int, dtype: DTypeLike = np.float64) -> BlockRows:
        """Convert any scipy sparse matrix whose sizes are multiples of `dimension`; rows come out sorted."""
        blocked = bsr_matrix(csr_matrix(matrix), blocksize=(dimension, dimension))
        blocked.sort_indices()
        values = np.zeros(blocked.data.size + 1, dtype=dtype)
        values[:-1].reshape(blocked.data.shape)[...] = blocked.data.transpose(0, 2, 1)
        return cls(dimension, blocked.indptr.astype(np.int32), blocked.indices.astype(np.int32), values)

    @property
    def rows(self) -> int:
        """Number of block rows."""
        return len(self.indptr) - 1

    def without(self, held: Flags) -> BlockRows:
        """Return the matrix with held components (N d,) coupled to nothing, the mean of the diagonal on theirs."""
        indptr, indices, values = self.indptr.copy(), self.indices.copy(), self.values.copy()
        _hold(self.dimension, held, indptr, indices, values)
        kept = int(indptr[-1])
        return BlockRows(self.dimension, indptr, indices[:kept], values[: kept * self.dimension**2 + 1])

    @property
    def stored(self) -> int:
        """Numbers it keeps."""
        return int(self.values.size)

    @property
    def blocks(self) -> Reals:
        """The blocks (n, d, d) as a view, [block, row, column]."""
        d = self.dimension
        return self.values[:-1].reshape(-1, d, d).transpose(0, 2, 1)

    def to_sparse(self) -> bsr_matrix:
        """Return the same matrix, if it is square, as scipy block rows."""
        size = self.rows * self.dimension
        return bsr_matrix((np.ascontiguousarray(self.blocks), self.indices, self.indptr), shape=(size, size))

    def astype(self, dtype: DTypeLike) -> BlockRows:
        """Return the matrix with its values in another precision."""
        return BlockRows(self.dimension, self.indptr, self.indices, self.values.astype(dtype))

    def product(self, x: Reals, out: Reals | None = None) -> Reals:
        """Return K x for flat x (N d,) of the same precision, written to `out` if given."""
        y = np.empty_like(x) if out is None else out
        multiply_rows(self.dimension, self.indptr, self.indices, self.values, x, y, 0, self.rows)
        return y

    def __matmul__(self, x: Reals) -> Reals:
        """K x."""
        return self.product(np.ascontiguousarray(x, dtype=self.values.dtype))


@compiled(contract=True, nogil=True)
def multiply_rows(
    dimension: int, indptr: Integers, indices: Integers, values: Reals, x: Reals, y: Reals, first: int, last: int
) -> None:
    """Write y = K x for the block rows first <= i < last; every array flat."""
    zero = values.dtype.type(0)
    if dimension == 3:
        for i in range(first, last):
            y[3 * i], y[3 * i + 1], y[3 * i + 2] = block_row_product(values, indices, x, indptr[i], indptr[i + 1])
    elif dimension == 2:
        for i in range(first, last):
            y0, y1 = zero, zero
            for k in range(indptr[i], indptr[i + 1]):
                x0, x1 = x[2 * indices[k]], x[2 * indices[k] + 1]
                y0 += values[4 * k] * x0 + values[4 * k + 2] * x1
                y1 += values[4 * k + 1] * x0 + values[4 * k + 3] * x1
            y[2 * i], y[2 * i + 1] = y0, y1
    else:
        for i in range(first, last):
            y0 = zero
            for k in range(indptr[i], indptr[i + 1]):
                y0 += values[k] * x[indices[k]]
            y[i] = y0


@compiled(contract=True)
def _hold(d: int, held: Flags, indptr: Integers, indices: Integers, values: Reals) -> None:
    """Zero rows and columns of held components but for the mean of the free diagonal, and close the gaps."""
    rows, total, count = len(indptr) - 1, 0.0, 0
    for i in range(rows):
        for k in range(indptr[i], indptr[i + 1]):
            for c in range(d):
                if indices[k] == i and not held[d * i + c]:
                    total += values[d * d * k + (d + 1) * c]
                    count += 1
    scale = total / count if count else 1.0
    end, first = 0, indptr[0]
    for i in range(rows):
        last = indptr[i + 1]
        for k in range(first, last):
            j, coupled = indices[k], indices[k] == i
            for column in range(d):
                for row in range(d):
                    value = values[d * d * k + d * column + row]
                    if held[d * i + row] or held[d * j + column]:
                        value = scale if i == j and row == column else 0.0
                    values[d * d * end + d * column + row] = value
                    coupled = coupled or not (held[d * i + row] or held[d * j + column])
            indices[end] = j
            end += 1 if coupled else 0
        first, indptr[i + 1] = last, end


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
    corners = np.ascontiguousarray(corners, dtype=np.int32)
    first = np.concatenate([[0], np.cumsum(np.bincount(corners.ravel(), minlength=rows))])
    around = np.empty(corners.size, np.int64)
    _sort_corners(corners, first[:-1].copy(), around)
    indptr, indices = np.zeros(rows + 1, np.int32), np.empty(corners.size * corners.shape[1], np.int32)
    places = np.empty((*corners.shape, corners.shape[1]), np.int32)
    _find_places(corners, around, first, np.full(rows, -1, np.int32), indptr, indices, places)
    return BlockPattern(indptr, indices[: indptr[-1]].copy(), places)


@compiled
def _sort_corners(corners: Integers, free: Indices, around: Indices) -> None:
    """Write the places of every node among the corners, node by node; `free` counts up from where each begins."""
    count = corners.shape[1]
    for e in range(len(corners)):
        for a in range(count):
            around[free[corners[e, a]]] = e * count + a
            free[corners[e, a]] += 1


@compiled
def _find_places(
    corners: Integers,
    around: Indices,
    first: Indices,
    place: Integers,
    indptr: Integers,
    indices: Integers,
    places: Any,
) -> None:
    """List the neighbours of every node in order; `around`: the corners that are it, `place`: of each column."""
    count, end = corners.shape[1], 0
    for i in range(len(indptr) - 1):
        begin = end
        for n in range(first[i], first[i + 1]):
            e = around[n] // count
            for b in range(count):
                column = corners[e, b]
                if place[column] < begin:
                    k = end
                    while k > begin and indices[k - 1] > column:
                        indices[k] = indices[k - 1]
                        k -= 1
                    indices[k], place[column] = column, begin
                    end += 1
        for k in range(begin, end):
            place[indices[k]] = k
        for n in range(first[i], first[i + 1]):
            e, a = around[n] // count, around[n] % count
            for b in range(count):
                places[e, a, b] = place[corners[e, b]]
        indptr[i + 1] = end
