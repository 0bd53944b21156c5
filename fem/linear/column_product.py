"""The product of 3 x 3 block rows with sixteen vectors at once, side by side in vector registers.

A product with one vector waits for the matrix to arrive from memory; sixteen share its arrival. The vectors lie
side by side, x[c, k] = component c of vector k, so that a value of the matrix multiplies sixteen neighbours:

    y[3 i + r, :] += B[r, c] x[3 j + c, :]
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from rheotwin.fem.fast.block_rows import BlockRows
from rheotwin.kernels.compiled import compiled

Reals = NDArray[Any]

COLUMNS = 16
"""Vectors in one product: a 512-bit register of single precision, two of double."""
_tools: Any = cgutils
_INDEX, _LANE = ir.IntType(64), ir.IntType(32)


def _generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit the loop over the blocks first..last-1 of block row `row`; see `_typed_row_columns`."""
    values, indices, x, y = (
        context.make_array(kind)(context, builder, argument).data
        for kind, argument in zip(signature.args[:4], arguments[:4], strict=True)
    )
    row, first, last = arguments[4:]
    scalar, bits = context.get_data_type(signature.args[0].dtype), signature.args[0].dtype.bitwidth
    vector = ir.VectorType(scalar, COLUMNS)
    multiply_add = _tools.get_or_insert_function(
        builder.module, ir.FunctionType(vector, [vector] * 3), f"llvm.fmuladd.v{COLUMNS}f{bits}"
    )

    def at(array: Any, place: Any) -> Any:
        return builder.bitcast(builder.gep(array, [place]), vector.as_pointer())

    def index(value: int) -> Any:
        return ir.Constant(_INDEX, value)

    sums = [_tools.alloca_once_value(builder, ir.Constant(vector, [0.0] * COLUMNS)) for _ in range(3)]
    with _tools.for_range_slice(builder, first, last, index(1), intp=_INDEX) as (n, _):
        column = builder.sext(builder.load(builder.gep(indices, [n])), _INDEX)
        start, block = builder.mul(column, index(3 * COLUMNS)), builder.mul(n, index(9))
        for c in range(3):
            lanes = builder.load(at(x, builder.add(start, index(c * COLUMNS))))
            lanes.align = bits // 8
            for r in range(3):
                value = builder.load(builder.gep(values, [builder.add(block, index(3 * c + r))]))
                empty = ir.Constant(vector, ir.Undefined)
                single = builder.insert_element(empty, value, ir.Constant(_LANE, 0))
                spread = builder.shuffle_vector(
                    single, empty, ir.Constant(ir.VectorType(_LANE, COLUMNS), [0] * COLUMNS)
                )
                builder.store(builder.call(multiply_add, [lanes, spread, builder.load(sums[r])]), sums[r])
    out = builder.mul(row, index(3 * COLUMNS))
    for r in range(3):
        stored = builder.store(builder.load(sums[r]), at(y, builder.add(out, index(r * COLUMNS))))
        stored.align = bits // 8
    return context.get_dummy_value()


def _typed_row_columns(typing: Any, values: Any, indices: Any, x: Any, y: Any, row: Any, first: Any, last: Any) -> Any:
    """Write the three rows of y that belong to block row `row`, from its blocks first <= n < last.

    `values` holds the blocks column by column, `indices` (int32) their block columns; x and y are flat and of the
    precision of `values`.
    """
    return types.void(values, indices, x, y, types.int64, types.int64, types.int64), _generate


block_row_columns: Any = intrinsic(_typed_row_columns)


def multiply_columns(matrix: BlockRows, x: Reals, y: Reals) -> None:
    """Write y = K x for x (n, COLUMNS) of the matrix's precision, both contiguous."""
    if matrix.dimension == 3:
        _multiply_blocks(matrix.indptr, matrix.indices, matrix.values, x.reshape(-1), y.reshape(-1))
    else:
        d = matrix.dimension
        _multiply_any(d, matrix.indptr, matrix.indices, matrix.values, x, y)


@compiled(contract=True, nogil=True)
def _multiply_blocks(indptr: Reals, indices: Reals, values: Reals, x: Reals, y: Reals) -> None:
    for i in range(len(indptr) - 1):
        block_row_columns(values, indices, x, y, i, indptr[i], indptr[i + 1])


@compiled(contract=True, nogil=True)
def _multiply_any(d: int, indptr: Reals, indices: Reals, values: Reals, x: Reals, y: Reals) -> None:
    y[:] = 0.0
    for i in range(len(indptr) - 1):
        for n in range(indptr[i], indptr[i + 1]):
            for c in range(d):
                for r in range(d):
                    value = values[d * d * n + d * c + r]
                    for k in range(COLUMNS):
                        y[d * i + r, k] += value * x[d * indices[n] + c, k]
