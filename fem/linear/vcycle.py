"""One multigrid V-cycle in single precision: the preconditioner of a conjugate-gradient solve in double.

Each level smooths by Chebyshev polynomials in D^-1 A, tuned to the upper part [b/r, b] of its spectrum:

    x_1 = x_0 + D^-1 r_0 / t,    d_k = rho_k rho_(k-1) d_(k-1) + (2 rho_k/s) D^-1 r_k,    x_(k+1) = x_k + d_k

with t = (b + b/r)/2, s = (b - b/r)/2, rho_0 = s/t, rho_k = 1/(2 t/s - rho_(k-1)). Before and after the coarse
correction the polynomial is the same, so the cycle is symmetric, as conjugate gradients need.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rheotwin.fem.fast.block_rows import BlockRows, multiply_rows
from rheotwin.kernels.compiled import compiled

Single = NDArray[np.float32]

DEGREE = 2
"""Products with the matrix in a smoothing, less one where it starts at zero."""
SPECTRUM_RATIO = 5.0
"""Upper end over lower end of the interval that a smoothing damps."""


@dataclass(frozen=True)
class Level:
    """One level: matrix, inverse diagonal, upper end of the spectrum of D^-1 A, transfers to the next level.

    The last level has no transfers; its `matrix` is then the inverse of the coarsest matrix itself.
    """

    matrix: BlockRows
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
    matrix = level.matrix
    multiply_rows(
        matrix.dimension, matrix.indptr, matrix.indices, matrix.values, level.solution, level.residual, 0, matrix.rows
    )
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
