"""One block row times a vector in four-lane arithmetic: the inner loop of the 3 x 3 block product.

A compiler sees no vectors in a 3 x 3 block. Stored column by column, the block is three overlapping loads of
four values, the fourth lane being the next column's first value and thrown away at the end:

    y += B[:, 0] x_0 + B[:, 1] x_1 + B[:, 2] x_2

so a block costs three fused multiplications instead of nine. The last block reads one value past its end:
the array of values is one longer than its blocks.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

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
