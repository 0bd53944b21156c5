"""Pressures and contact impulses of a step together: (A^T M^-1 A + eps) P = demand - A^T v, matrix-free.

Conjugate gradients with the diagonal as preconditioner. They stop at residuals that leave volumes
right, not at those that leave pressures right to the last digit: what a step misses, the next one makes good.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rheotwin.constraints.rows import Rows, multiply_rows

Array = NDArray[np.float64]

MOST = 500
"""Most iterations of one step; only constraints that contradict each other need them."""


@njit(cache=True)
def _precondition(rows: Rows, residual: Array, count: int, out: Array) -> None:
    diagonal = rows.diagonal
    for i in range(count):
        out[i] = residual[i] / diagonal[i] if diagonal[i] > 0.0 else 0.0


@njit(cache=True)
def _enough(residual: Array, allowed: Array, diagonal: Array, count: int) -> bool:
    wrong = 0
    for i in range(count):  # counted to the end: without a way out the loop runs in vectors
        wrong += 1 if diagonal[i] > 0.0 and abs(residual[i]) > allowed[i] else 0
    return wrong == 0


@njit(cache=True)
def solve_pressures(rows: Rows, count: int, allowed: Array, scratch: Array, impulse: Array) -> int:
    """Put impulses (count,) into `impulse` that bring `rows.residual` to what is `allowed`; return the iterations.

    `scratch` (count,) is room.
    """
    residual, direction, image, diagonal = rows.residual, rows.direction, rows.image, rows.diagonal
    impulse[:count] = 0.0
    if _enough(residual, allowed, diagonal, count):
        return 0
    _precondition(rows, residual, count, scratch)
    rho = 0.0
    for i in range(count):
        direction[i] = scratch[i]
        rho += residual[i] * scratch[i]
    for iteration in range(MOST):
        multiply_rows(rows, direction[:count], image)
        energy = 0.0
        for i in range(count):
            energy += direction[i] * image[i]
        if not energy > 0.0:
            return iteration
        step, before, rho = rho / energy, rho, 0.0
        for i in range(count):
            impulse[i] += step * direction[i]
            residual[i] -= step * image[i]
        if _enough(residual, allowed, diagonal, count):
            return iteration + 1
        _precondition(rows, residual, count, scratch)
        for i in range(count):
            rho += residual[i] * scratch[i]
        for i in range(count):
            direction[i] = scratch[i] + rho / before * direction[i]
    return MOST
