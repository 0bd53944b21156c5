"""Conjugate gradients in double precision with a single-precision multigrid cycle as preconditioner.

    z = B r,  b = -a (z.q)/(r.z)_old,  p = z + b p,  q = A p,  a = (r.z)/(p.q),  x += a p,  r -= a q

b is the flexible (Polak-Ribiere) form z.(r - r_old)/(r.z)_old: rounding makes the cycle slightly different from one
symmetric matrix. The residual is scaled to unit size for the cycle, so that single precision cannot underflow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rheotwin.fem.fast.block_rows import BlockRows
from rheotwin.fem.linear.vcycle import Level, v_cycle
from rheotwin.fem.linear.vectors import dot
from rheotwin.kernels.compiled import compiled

Array = NDArray[np.float64]
Single = NDArray[np.float32]


@dataclass(frozen=True)
class Outcome:
    """What an iteration reached: solution, iterations taken, residual norm over that of the right-hand side."""

    solution: Array
    iterations: int
    residual: float


def conjugate_gradient(
    matrix: BlockRows, levels: Sequence[Level], right: Array, guess: Array | None, tolerance: float, most: int
) -> Outcome:
    """Solve A x = b until |b - A x| <= tolerance |b|, or `most` iterations are spent."""
    scale = _norm(right)
    if scale == 0.0:
        return Outcome(np.zeros_like(right), 0, 0.0)
    x = np.zeros_like(right) if guess is None else guess.copy()
    r = right.copy() if guess is None else right - matrix @ x
    p, q = np.zeros_like(right), np.zeros_like(right)
    size, step, old, iteration = _norm(r), 0.0, 1.0, 0
    load, z = levels[0].load, levels[0].solution
    while size > tolerance * scale and iteration < most:
        np.multiply(r, 1.0 / size, out=load, casting="same_kind")
        v_cycle(levels)
        inner, crossed = size * dot(z, r), size * dot(z, q)
        _extend(p, z, size, -step * crossed / old)
        matrix.product(p, q)
        old, step = inner, inner / dot(p, q)
        size = float(np.sqrt(_move(x, r, p, q, step)))
        iteration += 1
    return Outcome(x, iteration, size / scale)


def _norm(vector: Array) -> float:
    return float(np.sqrt(dot(vector, vector)))


@compiled(contract=True)
def _extend(p: Array, z: Single, size: float, share: float) -> None:
    """Set p = size z + share p."""
    for i in range(p.size):
        p[i] = size * z[i] + share * p[i]


@compiled(contract=True)
def _move(x: Array, r: Array, p: Array, q: Array, step: float) -> float:
    """Set x += step p and r -= step q; return r . r."""
    for i in range(p.size):
        x[i] += step * p[i]
        r[i] -= step * q[i]
    return dot(r, r)
