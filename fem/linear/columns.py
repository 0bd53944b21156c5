"""Conjugate gradients on sixteen right-hand sides at once, each with its own coefficients: columns of an inverse.

The same iteration as `conjugate_gradient` and the same cycle as `v_cycle`. Sixteen cost as much as four or five one
after the other, since all wait for the same matrix. A column that has converged stands still.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rheotwin.fem.fast.block_rows import BlockRows
from rheotwin.fem.linear.column_product import COLUMNS, multiply_columns
from rheotwin.fem.linear.conjugate_gradient import Outcome
from rheotwin.fem.linear.vcycle import Level, chebyshev_factors
from rheotwin.kernels.compiled import compiled

Array = NDArray[np.float64]
Single = NDArray[np.float32]


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


def _shares(above: Array, below: Array, where: NDArray[np.bool_]) -> Array:
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
