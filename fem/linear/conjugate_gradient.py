"""Conjugate gradients in double precision with a single-precision multigrid V-cycle as preconditioner.

    z = B r,  b = -a (z.q)/(r.z)_old,  p = z + b p,  q = A p,  a = (r.z)/(p.q),  x += a p,  r -= a q

b is the flexible (Polak-Ribiere) form z.(r - r_old)/(r.z)_old: rounding makes the cycle slightly different from one
symmetric matrix. The residual is scaled to unit size for the cycle, so that single precision cannot underflow.
Each level smooths by Chebyshev polynomials in D^-1 A, tuned to the upper part [b/r, b] of its spectrum:

    x_1 = x_0 + D^-1 r_0 / t,    d_k = rho_k rho_(k-1) d_(k-1) + (2 rho_k/s) D^-1 r_k,    x_(k+1) = x_k + d_k

with t = (b + b/r)/2, s = (b - b/r)/2, rho_0 = s/t, rho_k = 1/(2 t/s - rho_(k-1)). Before and after the coarse
correction the polynomial is the same, so the cycle is symmetric, as conjugate gradients need.

A first guess from earlier solutions with the same matrix (Fischer 1998, projection on earlier solutions).

Of all combinations of the last solutions x_i take the one whose residual |b - sum c_i A x_i| is least. A smooth
history makes that residual small: it extrapolates in time, and follows a load that changes its rate as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rheotwin.arrays import Array, Reals, Single
from rheotwin.fem.fast.block_rows import BlockRows
from rheotwin.fem.fast.solids import CellProduct
from rheotwin.kernels.compiled import compiled

DEGREE = 2
"""Products with the matrix in a smoothing, less one where it starts at zero."""
SPECTRUM_RATIO = 5.0
"""Upper end over lower end of the interval that a smoothing damps."""


@compiled(contract=True)
def dot(a: Reals, b: Reals) -> float:
    """Return a . b in double precision, summed in four strands that a processor can add side by side."""
    s0 = s1 = s2 = s3 = 0.0
    whole = a.size - a.size % 4
    for i in range(0, whole, 4):
        s0 += a[i] * b[i]
        s1 += a[i + 1] * b[i + 1]
        s2 += a[i + 2] * b[i + 2]
        s3 += a[i + 3] * b[i + 3]
    for i in range(whole, a.size):
        s0 += a[i] * b[i]
    return (s0 + s1) + (s2 + s3)


@compiled(contract=True)
def add_scaled(y: Reals, factor: float, x: Reals) -> None:
    """Set y += factor x."""
    for i in range(y.size):
        y[i] += factor * x[i]


@dataclass(frozen=True)
class Level:
    """One level: matrix, inverse diagonal, upper end of the spectrum of D^-1 A, transfers to the next level.

    The last level has no transfers; its `matrix` is then the inverse of the coarsest matrix itself.
    """

    matrix: BlockRows | CellProduct
    inverse_diagonal: Single
    largest: float
    prolong: BlockRows | None = None
    restrict: BlockRows | None = None
    solution: Single = field(init=False)
    residual: Single = field(init=False)
    change: Single = field(init=False)
    load: Single = field(init=False)

    def __post_init__(self) -> None:
        for name in ("solution", "residual", "change", "load"):
            object.__setattr__(self, name, np.zeros(self.matrix.rows * self.matrix.dimension, dtype=np.float32))


def v_cycle(levels: Sequence[Level]) -> None:
    """Improve `levels[0].solution` from zero for `levels[0].load`, in place."""
    level = levels[0]
    if level.prolong is None or level.restrict is None:
        level.matrix.product(level.load, level.solution)
        return
    lower = levels[1]
    _smooth(level, from_zero=True)
    _subtract_product(level)
    level.restrict.product(level.residual, lower.load)
    v_cycle(levels[1:])
    level.prolong.product(lower.solution, level.change)
    np.add(level.solution, level.change, out=level.solution)
    _smooth(level, from_zero=False)


def chebyshev_factors(largest: float) -> tuple[tuple[float, float], ...]:
    """Return (keep, gain) of every change d = keep d + gain D^-1 r of a smoothing, for the upper end of a spectrum."""
    lowest = largest / SPECTRUM_RATIO
    middle, half = 0.5 * (largest + lowest), 0.5 * (largest - lowest)
    factors, old = [(0.0, 1.0 / middle)], half / middle
    for _ in range(DEGREE - 1):
        new = 1.0 / (2.0 * middle / half - old)
        factors.append((new * old, 2.0 * new / half))
        old = new
    return tuple(factors)


def _smooth(level: Level, *, from_zero: bool) -> None:
    """Apply the Chebyshev polynomial of `DEGREE` to the solution of a level."""
    for number, (keep, gain) in enumerate(chebyshev_factors(level.largest)):
        if number == 0 and from_zero:
            level.residual[:] = level.load
            level.solution[:] = 0.0
        else:
            _subtract_product(level)
        _advance(level.inverse_diagonal, level.residual, level.change, level.solution, keep, gain)


def _subtract_product(level: Level) -> None:
    """Set the residual r = b - A x."""
    level.matrix.product(level.solution, level.residual)
    np.subtract(level.load, level.residual, out=level.residual)


@compiled(contract=True)
def _advance(
    inverse_diagonal: Single, residual: Single, change: Single, solution: Single, keep: float, gain: float
) -> None:
    """Set d = keep d + gain D^-1 r and x = x + d."""
    keep32, gain32 = np.float32(keep), np.float32(gain)
    for i in range(solution.size):
        change[i] = keep32 * change[i] + gain32 * inverse_diagonal[i] * residual[i]
        solution[i] += change[i]


@dataclass(frozen=True)
class Outcome:
    """What an iteration reached: solution, iterations taken, residual norm over that of the right-hand side."""

    solution: Array
    iterations: int
    residual: float


def conjugate_gradient(
    matrix: BlockRows | CellProduct,
    levels: Sequence[Level],
    right: Array,
    guess: Array | None,
    tolerance: float,
    most: int,
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


DEPTH = 4
"""Solutions to keep. On scene F1 one, two, three and eight take 548, 274, 105 and 74 iterations in 50 steps: three
span a ramp with one relaxation time, a fourth is for richer histories, and each keeps two vectors in memory."""
PARALLEL = 1e-12
"""Share of its length below which a product adds no direction of its own."""


@dataclass
class WarmStart:
    """The last solutions with one matrix, newest first, and their products with it."""

    matrix: Any
    """Whatever multiplies a vector by `@`."""
    depth: int = DEPTH
    _solutions: list[Array] = field(default_factory=list)
    _products: list[Array] = field(default_factory=list)

    def guess(self, right: Array) -> Array | None:
        """Return the best combination of earlier solutions for a right-hand side; None before the first."""
        if not self._solutions:
            return None
        return np.asarray(_combine(np.array(self._solutions), np.array(self._products), right))

    def remember(self, solution: Array) -> None:
        """Keep a solution and forget the oldest."""
        self._solutions = [solution.copy(), *self._solutions[: self.depth - 1]]
        self._products = [self.matrix @ solution, *self._products[: self.depth - 1]]

    def save(self) -> Array:
        """Return the kept solutions (k, n): all that a continued run needs to repeat an uninterrupted one."""
        return np.array(self._solutions)

    def restore(self, solutions: Array) -> None:
        """Take over saved solutions."""
        self._solutions = [solution.copy() for solution in solutions]
        self._products = [self.matrix @ solution for solution in self._solutions]


@compiled(contract=True, allocates=True)
def _combine(solutions: Array, products: Array, right: Array) -> Array:
    """Orthonormalise the products one after the other, the solutions alongside, and project on them.

    Projecting what is left of the right-hand side and not all of it keeps this stable: a product that hardly has a
    direction of its own is not quite orthogonal to the others, and would bring their share in a second time.
    """
    guess, rest = np.zeros(right.size), right.copy()
    for k in range(len(solutions)):
        x, y = solutions[k], products[k]
        length = np.sqrt(dot(y, y))
        for earlier in range(k):
            share = -dot(products[earlier], y)
            add_scaled(x, share, solutions[earlier])
            add_scaled(y, share, products[earlier])
        own = np.sqrt(dot(y, y))
        scale = 1.0 / own if own > PARALLEL * length else 0.0
        for i in range(x.size):
            x[i] *= scale
            y[i] *= scale
        share = dot(y, rest)
        add_scaled(guess, share, x)
        add_scaled(rest, -share, y)
    return guess
