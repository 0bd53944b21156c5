"""How far particles may step, from the spectrum of the body at rest, and how far they do.

Spec section 6, R10: with the internal variable advanced first, a mode of stiffness k, viscosity c and mass m is
stable while  (k/m) h^2 + 2 (c/m) h < 4.  The bound takes the largest eigenvalues of M^-1 K and M^-1 C separately.

Under the explicit rules a mode at rest with mu = lambda/m moves like one particle on one element of the law,

    u' = v,   v' = -mu (k u + sum kappa z + eta v),   z' = v - A z

and is stable while h s lies in the rule's region for every eigenvalue s. The familiar bounds are its corners:
viscosity  eta mu h < 2 (Euler) or 2.785 (Runge-Kutta), relaxation  A h < the same, stiffness  h sqrt(kappa mu) < 2.83
(Runge-Kutta), and for Euler little damping, where h < eta/kappa = c1/(B k) whatever the mass.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import bsr_matrix, csr_matrix, diags
from scipy.sparse.linalg import ArpackError, eigsh

from rheotwin.arrays import Array, Indices
from rheotwin.constraints.contact.springs import contact_stiffness, has_contact_springs
from rheotwin.errors import RheotwinError
from rheotwin.plausibility import divided_for_fast_tools
from rheotwin.problem import Problem
from rheotwin.schedule import require_reachable, step_dividing

Roots = NDArray[np.complex128]

ExplicitRule = Literal["euler", "rk4"]

REAL_LIMIT = {"euler": 2.0, "rk4": 2.785293563405282}
"""End of each region on the negative real axis: |1 + s| = 1, and |1 + s + s^2/2 + s^3/6 + s^4/24| = 1."""
IMAGINARY_LIMIT = {"euler": 0.0, "rk4": np.sqrt(8.0)}
"""End of each region on the imaginary axis."""
UNDAMPED = 1e-9
"""Damping ratio below which a mode counts as undamped; rounding leaves less."""
NO_MOTION = 1e-10
"""Eigenvalues below this share of the largest belong to motions without forces."""


@dataclass(frozen=True)
class ModeLaw:
    """Law of one element, divided by its reference constant: k, eta, and kappa, A of its arms (n,)."""

    spring: float
    viscosity: float
    arm_stiffness: Array
    arm_rate: Array


@dataclass(frozen=True)
class StepBound:
    """Largest stable step [s] and the bound that sets it, in words."""

    step: float
    reason: str


def mode_roots(law: ModeLaw, mus: Array) -> Roots:
    """Return the eigenvalues s [1/s] of modes mu: (len(mus), 2 + arms).

    >>> law = ModeLaw(spring=1.0, viscosity=0.0, arm_stiffness=np.zeros(0), arm_rate=np.zeros(0))
    >>> sorted(mode_roots(law, np.array([4.0]))[0].imag)
    [-2.0, 2.0]
    """
    arms = len(law.arm_rate)
    matrices = np.zeros((len(mus), 2 + arms, 2 + arms))
    matrices[:, 0, 1] = 1.0
    matrices[:, 1, 0] = -mus * law.spring
    matrices[:, 1, 1] = -mus * law.viscosity
    matrices[:, 1, 2:] = -mus[:, None] * law.arm_stiffness
    matrices[:, 2:, 1] = 1.0
    matrices[:, 2 + np.arange(arms), 2 + np.arange(arms)] = -law.arm_rate
    return np.asarray(np.linalg.eigvals(matrices), dtype=np.complex128)


def _euler_limit(roots: Roots) -> Array:
    """Solve |1 + h s| = 1: h = -2 Re s/|s|^2; an undamped oscillation has no stable step."""
    size = np.abs(roots)
    damping = np.where(-roots.real > UNDAMPED * size, -roots.real, 0.0)
    return np.asarray(2.0 * damping / size**2)


def _rk4_limit(roots: Roots) -> Array:
    """Find where each ray h s leaves the region |1 + z + z^2/2 + z^3/6 + z^4/24| <= 1, by scan and bisection."""
    directions = np.minimum(roots.real, 0.0) / np.abs(roots) + 1j * roots.imag / np.abs(roots)

    def outside(length: Array, *, along_all: bool = False) -> NDArray[np.bool_]:
        z = length[:, None] * directions if along_all else length * directions
        return np.asarray(np.abs(1.0 + z * (1.0 + z / 2.0 * (1.0 + z / 3.0 * (1.0 + z / 4.0)))) > 1.0 + 1e-12)

    grid = np.linspace(0.0, 3.6, 361)[1:]
    first = np.argmax(outside(grid, along_all=True), axis=0)
    low, high = np.concatenate([[0.0], grid])[first], grid[first]
    for _ in range(40):
        middle = 0.5 * (low + high)
        beyond = outside(middle)
        low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
    return np.asarray(low / np.abs(roots))


_LIMITS: dict[str, Callable[[Roots], Array]] = {"euler": _euler_limit, "rk4": _rk4_limit}


def explicit_limit(rule: ExplicitRule, law: ModeLaw, mus: Array, *, self_stress: bool = True) -> StepBound:
    """Return the stable step [s] of modes mu [1/reference constant/kg] and what sets it.

    With `self_stress` elements can pull against each other without moving anything: their arms then decay with A alone.

    >>> damper = ModeLaw(spring=0.0, viscosity=1.0, arm_stiffness=np.zeros(0), arm_rate=np.zeros(0))
    >>> explicit_limit("euler", damper, np.array([4.0])).step
    0.5
    """
    alone = -law.arm_rate.astype(complex) if self_stress else np.zeros(0, complex)
    roots = np.concatenate([mode_roots(law, mus[mus > 0.0]).ravel(), alone])
    roots = roots[np.abs(roots) > NO_MOTION * np.abs(roots).max(initial=0.0)]
    if len(roots) == 0:
        return StepBound(np.inf, "no forces")
    limits = _LIMITS[rule](roots)
    worst = int(np.argmin(limits))
    return StepBound(float(limits[worst]), _reason(rule, roots[worst], law, limits[worst]))


def _reason(rule: ExplicitRule, root: complex, law: ModeLaw, limit: float) -> str:
    if limit == 0.0:
        return "springs without viscosity, whose oscillations it lets grow"
    if abs(root.imag) > 1e-6 * abs(root):
        if rule == "euler":
            return "little damping (h < c1/(B k), whatever the mass)"
        return f"stiffness (h sqrt(kappa lambda/m) < {IMAGINARY_LIMIT[rule]:.2f})"
    if len(law.arm_rate) and np.isclose(-root.real, law.arm_rate, rtol=1e-6).any():
        return f"relaxation (A h < {REAL_LIMIT[rule]:.4g})"
    return f"viscosity (eta lambda h/m < {REAL_LIMIT[rule]:.4g})"


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
