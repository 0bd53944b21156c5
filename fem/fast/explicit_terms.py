"""The internal force of an explicit step, every term in one block matrix, and the largest stable step it has.

Terms stand side by side, [J_1 J_2 ...], and multiply the states stacked one below the other: one product for all terms
and all bodies, whatever their laws. A segment is one body's part of one term.

Under central differences with exponential memory and lagged dashpots, a mode of mass m, stiffness k and viscosity c of
which the viscous force uses the last half step's velocity is stable while

    (k/m) h^2 + 2 (c/m) h < 4.

An arm answers a short step with no more than its spring, so k counts g_inf + sum g. The bound takes the largest
eigenvalues of M^-1 K and M^-1 C separately, which is on the safe side. Both come from Lanczos iterations, which
approach them from below: they are raised by ESTIMATE_ERROR, a hundred times the tolerance asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import block_diag, csr_matrix, diags, hstack
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from rheotwin.arrays import Array, Indices
from rheotwin.errors import RheotwinError
from rheotwin.fem.body import relaxed
from rheotwin.fem.fast.block_rows import BlockRows
from rheotwin.materials import Channel

Terms = Sequence[tuple[Any, Channel]]
"""Matrices of one body with the channels that multiply them."""
TOLERANCE = 1e-4
ESTIMATE_ERROR = 1e-2


class Segments(NamedTuple):
    """Channel constants for a fixed step; segment k covers start[k] <= q < stop[k] of the stacked states.

    `shift` leads from a stacked state to the component it belongs to. Arms that a segment lacks have
    `decay` and `gain` zero.
    """

    start: Indices
    stop: Indices
    shift: Indices
    equilibrium: Array
    viscosity: Array
    decay: Array
    gain: Array
    arms: Indices


def join_bodies(bodies: Sequence[Terms], sizes: Sequence[int], dimension: int, h: float) -> tuple[BlockRows, Segments]:
    """Return the matrix of all terms side by side and the channel constants for the step `h` [s].

    `sizes` are the bodies' numbers of components N_b d.
    """
    count, total = max((len(terms) for terms in bodies), default=0), sum(sizes)
    columns = []
    for k in range(count):
        blocks = [
            terms[k][0] if k < len(terms) else csr_matrix((size, size))
            for terms, size in zip(bodies, sizes, strict=True)
        ]
        columns.append(block_diag(blocks, format="csr"))
    matrix = hstack(columns, format="csr") if columns else csr_matrix((total, total))
    first = np.concatenate([[0], np.cumsum(sizes)])
    parts = [
        (k, int(first[b]), int(first[b + 1]), channel)
        for b, terms in enumerate(bodies)
        for k, (_, channel) in enumerate(terms)
    ]
    return BlockRows.from_sparse(matrix, dimension), _segments(parts, total, h)


def _segments(parts: Sequence[tuple[int, int, int, Channel]], total: int, h: float) -> Segments:
    """Pack (term, first and last component, channel) of every segment; exp(-x) and g (1 - exp(-x))/x, x = h/tau."""
    count, arms = len(parts), max((len(channel.times) for *_, channel in parts), default=0)
    decay, gain = np.zeros((count, arms)), np.zeros((count, arms))
    for row, (*_, channel) in enumerate(parts):
        own = len(channel.times)
        decay[row, :own], gain[row, :own] = relaxed(channel, h)
    term, low, high = (np.array([part[k] for part in parts], dtype=np.int64) for k in range(3))
    return Segments(
        start=term * total + low,
        stop=term * total + high,
        shift=term * total,
        equilibrium=np.array([channel.equilibrium for *_, channel in parts]),
        viscosity=np.array([channel.viscosity for *_, channel in parts]),
        decay=decay,
        gain=gain,
        arms=np.array([len(channel.times) for *_, channel in parts], dtype=np.int64),
    )


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
