"""How far particles may step, from the spectrum of the body at rest, and how far they do.

Spec section 6, R10: with the internal variable advanced first, a mode of stiffness k, viscosity c and mass m is
stable while  (k/m) h^2 + 2 (c/m) h < 4.  The bound takes the largest eigenvalues of M^-1 K and M^-1 C separately.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import bsr_matrix, csr_matrix, diags
from scipy.sparse.linalg import ArpackError, eigsh

from rheotwin.arrays import Array, Indices
from rheotwin.constraints.contact.springs import contact_stiffness, has_contact_springs
from rheotwin.errors import RheotwinError
from rheotwin.particles.steppers.bounds import StepBound
from rheotwin.plausibility import divided_for_fast_tools
from rheotwin.problem import Problem
from rheotwin.schedule import require_reachable, step_dividing

Others = list[tuple[csr_matrix, float]]


def edge_matrix(points: Array, edges: Indices, constants: Array) -> csr_matrix:
    """Assemble sum_e c_e n n^T (x) [[1, -1], [-1, 1]] for node points (N, d)."""
    count, dimension = points.shape
    vectors = points[edges[:, 1]] - points[edges[:, 0]]
    directions = vectors / np.linalg.norm(vectors, axis=1)[:, None]
    blocks = constants[:, None, None] * directions[:, :, None] * directions[:, None, :]
    i, j = edges.T
    rows, columns = np.concatenate([i, j, i, j]), np.concatenate([i, j, j, i])
    data = np.concatenate([blocks, blocks, -blocks, -blocks])
    order = np.lexsort((columns, rows))
    pointers = np.searchsorted(rows[order], np.arange(count + 1))
    shape = (count * dimension, count * dimension)
    return bsr_matrix((data[order], columns[order], pointers), shape=shape).tocsr()


def largest_eigenvalue(matrix: csr_matrix, masses: Array, free: NDArray[np.bool_]) -> float:
    """Return the largest eigenvalue of M^-1 K over the free components; masses per component [kg]."""
    if matrix.nnz == 0 or not free.any() or np.all(matrix.data == 0.0):
        return 0.0
    scale = diags(1.0 / np.sqrt(masses[free]))
    reduced = (scale @ matrix[free][:, free] @ scale).tocsr()
    if reduced.shape[0] < 8:
        return float(np.linalg.eigvalsh(reduced.toarray())[-1])
    start = np.random.default_rng(0).standard_normal(reduced.shape[0])
    try:
        return float(eigsh(reduced, k=1, which="LM", tol=1e-4, v0=start, return_eigenvectors=False)[0])
    except ArpackError:
        raise RheotwinError(
            "solvers.truss: the stable step could not be computed; check masses "
            f"({masses.min():.3g} to {masses.max():.3g} kg a node) and moduli for a slip of units"
        ) from None


def stable_step(stiffness_rate: float, viscosity_rate: float) -> float:
    """Solve  a h^2 + 2 c h = 4  for h [s]; a = max eig M^-1 K [1/s^2], c = max eig M^-1 C [1/s].

    >>> round(stable_step(4.0, 0.0), 12)
    1.0
    """
    if stiffness_rate == 0.0 and viscosity_rate == 0.0:
        return np.inf
    return float(4.0 / (viscosity_rate + np.sqrt(viscosity_rate**2 + 4.0 * stiffness_rate)))


def with_contact(others: Others, problem: Problem) -> Others:
    """Add the springs of contact to the stiffness and viscosity beside the elements, each a matrix and a bound."""
    if not has_contact_springs(problem):
        return others
    stiffness = contact_stiffness(problem)
    (stiff, bound), viscous = others
    return [(csr_matrix(stiff + diags(np.repeat(stiffness, problem.dimension))), bound), viscous]


def with_contact_reason(bound: StepBound, problem: Problem) -> StepBound:
    """Say that the springs of contact are in a bound."""
    if not has_contact_springs(problem):
        return bound
    return StepBound(bound.step, f"{bound.reason}, with the contact stiffness (K h^2/m < 4) in it")


class StepOptions(Protocol):
    """Options of a solver that choose its step."""

    @property
    def step(self) -> float | None:
        """Step [s], if given."""

    @property
    def safety(self) -> float:
        """Share of the stable step."""

    @property
    def unstable(self) -> Literal["refuse", "substep"]:
        """What to do with a step above the stable one."""


def chosen_step(
    problem: Problem, options: StepOptions, bound: StepBound, place: str, default: Callable[[], float] | None = None
) -> Fraction:
    """Return the step [s]; one above the stable step is refused or made smaller, as the options at `place` say.

    By default it is `default()`, or `safety` times the stable step or the duration, and no tool passes a feature of a
    surface within it.
    """
    usual = options.safety * min(bound.step, problem.scene.duration) if default is None else default()
    wanted = options.step if options.step is not None else divided_for_fast_tools(problem, usual)
    if wanted > bound.step:
        if options.unstable == "refuse":
            raise RheotwinError(
                f"{place}.step: {wanted:.6g} s is above the stable step of {bound.step:.6g} s, which is set by "
                f"{bound.reason}; "
                f'choose at most {0.9 * bound.step:.3g}, leave it out, or set unstable = "substep"'
            )
        wanted = options.safety * bound.step
    require_reachable(wanted, problem.scene.duration, f"{place}.step")
    return step_dividing(problem.tick, wanted)
