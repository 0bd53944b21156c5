"""Exact frictionless unilateral contact: the complementarity problem of one time step.

    gap + S lambda >= 0,   lambda >= 0,   lambda . (gap + S lambda) = 0

with S = N^T K^-1 N, the compliance of the contact normals. It is the optimality condition of
min 1/2 lambda^T S lambda + gap^T lambda over lambda >= 0, solved as non-negative least squares with the
Cholesky factor S = L L^T: min |L^T lambda + L^-1 gap|.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from rheotwin.arrays import Array
from rheotwin.errors import NoRoom, Stopped

SOFT = 1e-10
"""Compliance that redundant contacts get on top, as a share of their own: they then share their force evenly."""
CLOSED = 1e-6
"""Share of the largest gap by which contacts that can be satisfied are closed at most."""


def softened(compliance: Array) -> Array:
    """Return S + SOFT diag(S) [m/N], positive definite however redundant its contacts are."""
    return np.asarray(compliance + SOFT * np.diag(np.diag(compliance)))


def solve_contact(compliance: Array, gap: Array) -> Array:
    """Return the multipliers lambda [N] of the contact problem for compliance S [m/N] and free gaps [m]."""
    if gap.size == 0:
        return np.zeros(0)
    from scipy.optimize import nnls  # loads much that most runs never need

    try:
        factor = cholesky(compliance, lower=True)
    except LinAlgError:
        factor = cholesky(softened(compliance), lower=True)
    try:
        multipliers, _ = nnls(factor.T, -solve_triangular(factor, gap, lower=True))
    except RuntimeError:  # scipy's word for too many iterations
        raise Stopped(f"contact: that of {gap.size} nodes could not be solved in one step; reduce the step") from None
    least = float((gap + compliance @ multipliers).min())
    if least < -CLOSED * float(np.abs(gap).max()):
        raise NoRoom(
            "contact: what is pressed from several sides has no room left; keep the tools further apart, or restrict "
            "one with `bodies`",
            -least,
        )
    return np.asarray(multipliers)
