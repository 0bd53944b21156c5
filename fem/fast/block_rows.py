"""Matrices in compressed rows of d x d blocks, and their product with a vector.

Three components at a node make every entry of a stiffness a 3 x 3 block: one index serves nine values, and the
product reads each node's components once. Values are kept column by column for `vector_row`.
Only contraction of products and sums is allowed: all of `fastmath` made this product three times slower.

A compiler sees no vectors in a 3 x 3 block. Stored column by column, the block is three overlapping loads of
four values, the fourth lane being the next column's first value and thrown away at the end:

    y += B[:, 0] x_0 + B[:, 1] x_1 + B[:, 2] x_2

so a block costs three fused multiplications instead of nine. The last block reads one value past its end:
the array of values is one longer than its blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import DTypeLike
from scipy.sparse import bsr_matrix, csr_matrix

from rheotwin.arrays import Integers, Reals
from rheotwin.kernels.compiled import compiled

LANES = 4
_tools: Any = cgutils
_types: Any = types
_INDEX, _LANE = ir.IntType(64), ir.IntType(32)


def _splat(builder: Any, value: Any, vector: Any) -> Any:
    """Return a vector with `value` in every lane."""
    empty = ir.Constant(vector, ir.Undefined)
    single = builder.insert_element(empty, value, ir.Constant(_LANE, 0))
    return builder.shuffle_vector(single, empty, ir.Constant(ir.VectorType(_LANE, LANES), [0] * LANES))


def _generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit the loop over the blocks first..last-1 of a row; see `block_row_product`."""
    values_type, indices_type, x_type = (signature.args[k] for k in (0, 1, 2))
    data = [
        context.make_array(kind)(context, builder, argument).data
        for kind, argument in zip((values_type, indices_type, x_type), arguments[:3], strict=True)
    ]
    values, indices, x = data
    scalar = context.get_data_type(values_type.dtype)
    vector, bits = ir.VectorType(scalar, LANES), values_type.dtype.bitwidth
    multiply_add = _tools.get_or_insert_function(
        builder.module, ir.FunctionType(vector, [vector] * 3), f"llvm.fmuladd.v{LANES}f{bits}"
    )
    sums = [_tools.alloca_once_value(builder, ir.Constant(vector, [0.0] * LANES)) for _ in range(3)]
    with _tools.for_range_slice(builder, arguments[3], arguments[4], ir.Constant(_INDEX, 1), intp=_INDEX) as (k, _):
        column = builder.sext(builder.load(builder.gep(indices, [k])), _INDEX)
        node = builder.gep(x, [builder.mul(column, ir.Constant(_INDEX, 3))])
        block = builder.gep(values, [builder.mul(k, ir.Constant(_INDEX, 9))])
        for c in range(3):
            factor = _splat(builder, builder.load(builder.gep(node, [ir.Constant(_INDEX, c)])), vector)
            place = builder.gep(block, [ir.Constant(_INDEX, 3 * c)])
            lanes = builder.load(builder.bitcast(place, vector.as_pointer()))
            lanes.align = bits // 8  # columns start anywhere, not on a vector's boundary
            builder.store(builder.call(multiply_add, [lanes, factor, builder.load(sums[c])]), sums[c])
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
