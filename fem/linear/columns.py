"""Conjugate gradients on sixteen right-hand sides at once, each with its own coefficients: columns of an inverse.

The same iteration and the same cycle as in `conjugate_gradient`. Sixteen cost as much as four or five one after the
other: a product with one vector waits for the matrix to arrive from memory, sixteen share its arrival. The vectors lie
side by side, x[c, k] = component c of vector k, so that a value of the matrix multiplies sixteen neighbours:

    y[3 i + r, :] += B[r, c] x[3 j + c, :]

A column that has converged stands still.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from rheotwin.arrays import Array, Flags, Reals, Single
from rheotwin.fem.fast.block_rows import BlockRows
from rheotwin.fem.linear.conjugate_gradient import Level, Outcome, chebyshev_factors
from rheotwin.kernels.compiled import compiled

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


def solve_columns(
    matrix: BlockRows, levels: Sequence[Level], right: Array, guess: Array | None, tolerance: float, most: int
) -> Outcome:
    """Solve A X = B for B (n, m), m <= COLUMNS, until every column has |b - A x| <= tolerance |b|."""
    count = right.shape[1]
    r, x = (np.zeros((right.shape[0], COLUMNS)) for _ in range(2))
    r[:, :count] = right
    scale = np.sqrt(_dots(r, r))
    p, q = np.zeros_like(r), np.zeros_like(r)
    if guess is not None:
        x[:, :count] = guess * (scale[:count] > 0.0)
        multiply_columns(matrix, x, q)
        r -= q
        q[:] = 0.0
    size, step, old, iteration = np.sqrt(_dots(r, r)), np.zeros(COLUMNS), np.ones(COLUMNS), 0
    while np.any(open_ := size > tolerance * scale) and iteration < most:
        z = _cycle(levels, _scaled(r, _shares(np.ones(COLUMNS), size, open_)))
        inner, crossed = size * _dots(z, r), size * _dots(z, q)
        _extend(p, z, size, _shares(-step * crossed, old, open_))
        multiply_columns(matrix, p, q)
        old, step = inner, _shares(inner, _dots(p, q), open_)
        _move(x, r, p, q, step)
        size = np.sqrt(_dots(r, r))
        iteration += 1
    share = _shares(size, scale, scale > 0.0)
    return Outcome(x[:, :count].copy(), iteration, float(share.max()))


def _shares(above: Array, below: Array, where: Flags) -> Array:
    """Return above/below where asked, else zero."""
    return np.asarray(np.divide(above, below, out=np.zeros(COLUMNS), where=where))


def _cycle(levels: Sequence[Level], load: Single) -> Single:
    """Return the V-cycle's answer to sixteen loads."""
    level = levels[0]
    if level.prolong is None or level.restrict is None:
        return _product(level.matrix, load)
    solution = np.zeros_like(load)
    _smooth(level, load, solution, from_zero=True)
    residual = load - _product(level.matrix, solution)
    solution += _product(level.prolong, _cycle(levels[1:], _product(level.restrict, residual)))
    _smooth(level, load, solution, from_zero=False)
    return solution


def _product(matrix: BlockRows, x: Single) -> Single:
    out = np.empty((matrix.rows * matrix.dimension, COLUMNS), dtype=x.dtype)
    multiply_columns(matrix, x, out)
    return out


def _smooth(level: Level, load: Single, solution: Single, *, from_zero: bool) -> None:
    change, product = np.zeros_like(load), np.zeros_like(load)
    for number, (keep, gain) in enumerate(chebyshev_factors(level.largest)):
        if number or not from_zero:
            multiply_columns(level.matrix, solution, product)
        _advance(level.inverse_diagonal, load, product, change, solution, keep, gain)


@compiled(contract=True)
def _advance(
    inverse_diagonal: Single,
    load: Single,
    product: Single,
    change: Single,
    solution: Single,
    keep: float,
    gain: float,
) -> None:
    """Set d = keep d + gain D^-1 (b - A x) and x = x + d."""
    keep32 = np.float32(keep)
    for i in range(len(load)):
        scale = np.float32(gain) * inverse_diagonal[i]
        for k in range(COLUMNS):
            change[i, k] = keep32 * change[i, k] + scale * (load[i, k] - product[i, k])
            solution[i, k] += change[i, k]


@compiled(contract=True, allocates=True)
def _dots(a: Array | Single, b: Array) -> Array:
    """Return the products a_k . b_k of all columns."""
    sums = np.zeros(COLUMNS)
    for i in range(len(a)):
        for k in range(COLUMNS):
            sums[k] += a[i, k] * b[i, k]
    return sums


@compiled(contract=True, allocates=True)
def _scaled(r: Array, factors: Array) -> Single:
    """Return every column times its factor, in single precision."""
    out = np.empty(r.shape, dtype=np.float32)
    for i in range(len(r)):
        for k in range(COLUMNS):
            out[i, k] = r[i, k] * factors[k]
    return out


@compiled(contract=True)
def _extend(p: Array, z: Single, size: Array, share: Array) -> None:
    """Set p = size z + share p."""
    for i in range(len(p)):
        for k in range(COLUMNS):
            p[i, k] = size[k] * z[i, k] + share[k] * p[i, k]


@compiled(contract=True)
def _move(x: Array, r: Array, p: Array, q: Array, step: Array) -> None:
    """Set x += step p and r -= step q."""
    for i in range(len(p)):
        for k in range(COLUMNS):
            x[i, k] += step[k] * p[i, k]
            r[i, k] -= step[k] * q[i, k]
