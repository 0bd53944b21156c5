"""Pressures of a step: (A^T M^-1 A + eps) P = demand - A^T v, matrix-free, M^-1 without the motion that contacts take.

Conjugate gradients with the diagonal as preconditioner. They stop at residuals that leave volumes
right, not at those that leave pressures right to the last digit: what a step misses, the next one makes good.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.rows import Rows, accelerate, collect
from rheotwin.kernels.compiled import compiled
from rheotwin.particles.shear_volume.incompressible.touching import Touching, reduce_mobility, take_out

Array = NDArray[np.float64]

MOST = 500
"""Most iterations of one step; only constraints that contradict each other need them."""


@compiled
def _precondition(diagonal: Array, residual: Array, out: Array) -> float:
    """Divide the residual by the diagonal; return the product of both."""
    total = 0.0
    for i in range(residual.shape[0]):
        out[i] = residual[i] / diagonal[i] if diagonal[i] > 0.0 else 0.0
        total += residual[i] * out[i]
    return total


@compiled
def _enough(residual: Array, allowed: Array, diagonal: Array, h: float) -> bool:
    wrong = 0
    for i in range(residual.shape[0]):  # counted to the end: without a way out the loop runs in vectors
        wrong += 1 if diagonal[i] > 0.0 and abs(residual[i]) > h * allowed[i] else 0
    return wrong == 0


@compiled(allocates=True)
def solve_pressures(
    rows: Rows,
    touching: Touching,
    contacts: int,
    allowed: Array,
    diagonal: Array,
    scratch: Array,
    impulse: Array,
    h: float,
) -> int:
    """Put impulses (C,) into `impulse` that bring `rows.residual` to `h` times what is `allowed`; return iterations.

    The first `contacts` of `touching` hold; `diagonal` (C,) and `scratch` (C,) are room.
    """
    residual, direction, image = rows.residual, rows.direction, rows.image
    impulse[:] = 0.0
    reduce_mobility(touching, contacts, rows, diagonal)
    if _enough(residual, allowed, diagonal, h):
        return 0
    rho = _precondition(diagonal, residual, scratch)
    direction[:] = scratch
    for iteration in range(MOST):
        accelerate(rows, direction)
        take_out(touching, contacts, rows.inverse_mass, rows.push)
        collect(rows, direction, image)
        energy = 0.0
        for i in range(impulse.shape[0]):
            energy += direction[i] * image[i]
        if not energy > 0.0:
            return iteration
        step, before = rho / energy, rho
        for i in range(impulse.shape[0]):
            impulse[i] += step * direction[i]
            residual[i] -= step * image[i]
        if _enough(residual, allowed, diagonal, h):
            return iteration + 1
        rho = _precondition(diagonal, residual, scratch)
        for i in range(impulse.shape[0]):
            direction[i] = scratch[i] + rho / before * direction[i]
    return MOST
