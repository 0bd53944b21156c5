"""The largest stable step of central differences with exponential memory and lagged dashpots.

A mode of mass m, stiffness k and viscosity c of which the viscous force uses the last half step's velocity is
stable while

    (k/m) h^2 + 2 (c/m) h < 4.

An arm answers a short step with no more than its spring, so k counts g_inf + sum g. The bound takes the largest
eigenvalues of M^-1 K and M^-1 C separately, which is on the safe side. Both come from Lanczos iterations, which
approach them from below: they are raised by ESTIMATE_ERROR, a hundred times the tolerance asked for.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from rheotwin.errors import RheotwinError
from rheotwin.fem.fast.block_rows import BlockRows
from rheotwin.fem.fast.explicit_terms import Terms

Array = NDArray[np.float64]

TOLERANCE = 1e-4
ESTIMATE_ERROR = 1e-2


def largest_eigenvalue(matrix: csr_matrix, masses: Array, dimension: int) -> float:
    """Return an upper estimate of the largest eigenvalue of M^-1 K; `masses` (N d,) [kg] per component.

    Held components are not taken out: holding only lowers the eigenvalues.
    """
    size = matrix.shape[0]
    if matrix.nnz == 0 or np.all(matrix.data == 0.0):
        return 0.0
    scale = 1.0 / np.sqrt(masses)
    if size < 32:
        dense = scale[:, None] * matrix.toarray() * scale
        return float(np.linalg.eigvalsh(dense)[-1])
    rows = BlockRows.from_sparse(matrix, dimension)
    operator = LinearOperator((size, size), matvec=lambda x: scale * (rows @ (scale * x.ravel())), dtype=np.float64)
    start = np.random.default_rng(0).standard_normal(size)
    try:
        value = eigsh(operator, k=1, which="LA", tol=TOLERANCE, v0=start, return_eigenvectors=False)[0]
    except ArpackError:
        raise RheotwinError(
            "solvers.fem: the stable step could not be computed; check masses "
            f"({masses.min():.3g} to {masses.max():.3g} kg a node) and moduli for a slip of units"
        ) from None
    return float(value) * (1.0 + ESTIMATE_ERROR)


def stable_step_of(stiffness_rate: float, viscosity_rate: float) -> float:
    """Solve  a h^2 + 2 c h = 4  for h [s]; a = max eig M^-1 K [1/s^2], c = max eig M^-1 C [1/s].

    >>> round(stable_step_of(4.0, 0.0), 12)
    1.0
    """
    if stiffness_rate <= 0.0 and viscosity_rate <= 0.0:
        return float("inf")
    return float(4.0 / (viscosity_rate + np.sqrt(viscosity_rate**2 + 4.0 * stiffness_rate)))


def stable_step(
    bodies: Sequence[Terms], masses: Sequence[Array], dimension: int, springs: Array | None = None
) -> float:
    """Return the largest stable step [s] of bodies with terms and masses (N_b d,) [kg] per component.

    `springs` (N d,) [N/m] hold components of all bodies to places outside, as springs of contact do.
    """
    shortest, first = float("inf"), 0
    for terms, mass in zip(bodies, masses, strict=True):
        stiffness, viscosity = csr_matrix((mass.size, mass.size)), csr_matrix((mass.size, mass.size))
        if springs is not None:
            stiffness = csr_matrix(diags(springs[first : first + mass.size]))
        first += mass.size
        for matrix, channel in terms:
            stiffness = stiffness + channel.instantaneous * matrix
            viscosity = viscosity + channel.viscosity * matrix
        rates = (largest_eigenvalue(csr_matrix(part), mass, dimension) for part in (stiffness, viscosity))
        shortest = min(shortest, stable_step_of(*rates))
    return shortest
