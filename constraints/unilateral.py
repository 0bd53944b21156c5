"""Exact frictionless unilateral contact: the complementarity problem of one time step.

    gap + S lambda >= 0,   lambda >= 0,   lambda . (gap + S lambda) = 0

with S = N^T K^-1 N, the compliance of the contact normals. It is the optimality condition of
min 1/2 lambda^T S lambda + gap^T lambda over lambda >= 0, solved as non-negative least squares with the
Cholesky factor S = L L^T: min |L^T lambda + L^-1 gap|.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky, solve_triangular
from scipy.optimize import nnls

from rheotwin.errors import RheotwinError

Array = NDArray[np.float64]


def solve_contact(compliance: Array, gap: Array) -> Array:
    """Return the multipliers lambda [N] of the contact problem for compliance S [m/N] and free gaps [m]."""
    if gap.size == 0:
        return np.zeros(0)
    try:
        factor = cholesky(compliance, lower=True)
    except LinAlgError:
        raise RheotwinError(
            "tools: the contact constraints are dependent (the same node is pressed twice along one direction); "
            "move one of the tools or restrict it with `bodies`"
        ) from None
    try:
        multipliers, _ = nnls(factor.T, -solve_triangular(factor, gap, lower=True))
    except RuntimeError:  # scipy's word for too many iterations
        raise RheotwinError(
            f"tools: the contact of {gap.size} nodes could not be solved in one step; reduce the step"
        ) from None
    return np.asarray(multipliers)
