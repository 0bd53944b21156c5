"""How far a body may step with each rule, and which bound says so (spec section 6).

The semi-implicit rule may step up to where some motion turns round in every step. In a motion v -> -v of step h the
positions at the start of a step are u = h v/2, the arms after it z = tanh(A h/2)/A v (from z -> exp(-A h) z + (1 -
exp(-A h))/A v), and m (-2 v) = -h F(u, z, v). So the rule is stable while

    h M^-1 L(h)  has no eigenvalue above 2,     L(h) = sum_e c_e(h) g_e g_e^T,
    c = k h/2 + sum kappa tanh(A h/2)/A + eta.

For slow arms this is the kappa lambda h^2/m + 2 eta lambda h/m < 4 of spec section 6 (R10); an arm that decays within
a step counts as the dashpot kappa/A that it then is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags

from rheotwin.arrays import Array
from rheotwin.particles.forces.cells import volume_matrix
from rheotwin.particles.forces.voxel_centre import half_matrix
from rheotwin.particles.network import Constants, TrussNetwork
from rheotwin.particles.shape_keeping import ShapeKeeping
from rheotwin.particles.stability import (
    ExplicitRule,
    ModeLaw,
    StepBound,
    edge_matrix,
    explicit_limit,
    largest_eigenvalue,
    stable_step,
)
from rheotwin.particles.steppers.choose import StepperName
from rheotwin.problem import Problem
from rheotwin.tensors import padded


@dataclass(frozen=True)
class Family:
    """Elements e with the rows g_e of their strains at rest: `matrix` (n,) -> sum_e c_e g_e g_e^T on components (N*d).

    Constants are those of the network: force per extension [N/m], or pressure per volume ratio [Pa m^(3-d)].
    """

    constants: Constants
    matrix: Callable[[Array], csr_matrix]

    def __len__(self) -> int:
        return len(self.constants.stiffness)


def network_families(problem: Problem, network: TrussNetwork) -> list[Family]:
    """Return the edges and the volume springs of a network."""
    rest, dimension = padded(problem.points), problem.dimension
    return [
        Family(network.edge_constants, lambda c: edge_matrix(problem.points, network.edges, c)),
        Family(
            network.cell_constants, lambda c: volume_matrix(rest, network.cells, c / network.rest_volume, dimension)
        ),
    ]


def half_family(problem: Problem, shape: ShapeKeeping) -> Family:
    """Return the half elements of voxels."""
    rest, dimension = padded(problem.points), problem.dimension
    halves = shape.halves
    return Family(halves.constants, lambda c: half_matrix(halves.cells, rest, c, dimension))


Mask = NDArray[np.bool_]
Others = Sequence[tuple[csr_matrix, float]]

PRECISION = 1e-4
"""Relative error of the step at which the search ends, that of the eigenvalues."""


ALIKE = 1e-9
"""Relative difference up to which constants count as proportional."""


def turning_constants(constants: Constants, h: float) -> Array:
    """Return c(h) of every element, in units of a viscosity."""
    rate = constants.arm_rate
    arms = np.sum(constants.arm_stiffness * np.tanh(0.5 * h * rate) / rate, axis=0)
    return np.asarray(0.5 * h * constants.stiffness + arms + constants.viscosity)


def semi_implicit_step(families: Sequence[Family], others: Others, masses: Array, free: Mask) -> float:
    """Return the stable step [s]; `masses` [kg] and `free` are those of the components (N*d).

    `others` are stiffness and viscosity beside the elements: a matrix and a bound of what no matrix holds, each.
    """
    (stiff, stiff_bound), (viscous, viscous_bound) = others
    families = [family for family in families if len(family)]

    known: list[tuple[list[Array], float]] = []

    def rate(matrix: csr_matrix, chosen: Callable[[Constants], Array]) -> float:
        """Return the largest eigenvalue of M^-1 (matrix + sum c g g^T); proportional constants need only one search."""
        constants = [chosen(family.constants) for family in families]
        alone = not np.any(matrix.data)
        for seen, value in known if alone else []:
            ratio = _ratio(constants, seen)
            if ratio is not None:
                return ratio * value
        for family, values in zip(families, constants, strict=True):
            matrix = matrix + family.matrix(values)
        found = largest_eigenvalue(matrix, masses, free)
        known.extend([(constants, found)] if alone and found > 0.0 else [])
        return found

    def growth(h: float) -> float:
        found = rate(0.5 * h * stiff + viscous, lambda constants: turning_constants(constants, h))
        return h * (found + 0.5 * h * stiff_bound + viscous_bound)

    stiffness = rate(stiff, lambda constants: constants.instantaneous) + stiff_bound
    viscosity = rate(viscous, lambda constants: constants.viscosity) + viscous_bound
    if stiffness == 0.0 and viscosity == 0.0:
        return np.inf
    start = stable_step(stiffness, viscosity)  # slow arms, and the two largest eigenvalues at once: never too far
    return _solve(growth, start)


def _ratio(constants: Sequence[Array], seen: Sequence[Array]) -> float | None:
    """Return the factor between two sets of constants, None where there is none."""
    ratio = max(values.max() for values in constants) / max(values.max() for values in seen)
    pairs = zip(constants, seen, strict=True)
    return float(ratio) if all(np.allclose(new, ratio * old, rtol=ALIKE, atol=0.0) for new, old in pairs) else None


def _solve(growth: Callable[[float], float], h: float) -> float:
    """Solve growth(h) = 2 from below; in logarithms growth rises with h by a slope between 1 and 2."""
    now, slope = np.log(0.5 * growth(h)), 2.0
    while abs(now) > PRECISION:
        longer = h * np.exp(-now / slope)
        then = np.log(0.5 * growth(longer))
        slope = float(np.clip((then - now) / np.log(longer / h), 1.0, 2.0))
        h, now = longer, then
    return h


FEW = 400
"""Free components up to which all modes are computed; beyond, modes are sampled below the largest."""
SAMPLES = 200
SLOWEST = 1e-6
"""Slowest mode sampled, as a share of the largest eigenvalue."""
SEMI_IMPLICIT = (
    "stiffness and viscosity (kappa lambda h^2/m + 2 eta lambda h/m < 4, what relaxes within a step counting to eta)"
)
DIGITS = 9
"""Digits to which laws of elements must agree to count as one."""


def step_bound(
    problem: Problem, network: Sequence[Family], halves: Family, stepper: StepperName, others: Others
) -> StepBound:
    """Return the stable step [s] of the bodies at rest and the bound that sets it.

    `others` are stiffness and viscosity of what is not made of elements: a matrix on the components (N*d) and a bound
    of what no matrix holds, each.
    """
    masses = np.repeat(problem.masses, problem.dimension)
    free = (problem.owners < 0).ravel()
    if stepper == "semi-implicit":
        step = semi_implicit_step([*network, halves], others, masses, free)
        return StepBound(step, SEMI_IMPLICIT)
    if stepper == "implicit":
        step = semi_implicit_step([halves], others, masses, free)
        return StepBound(step, "the forces that keep the shape, which this rule takes at the old time")
    return _explicit_bound([*network, halves], others, masses, free, stepper)


def _explicit_bound(
    families: Sequence[Family], others: Others, masses: Array, free: Mask, rule: ExplicitRule
) -> StepBound:
    """Take the smallest limit of all laws, each with all modes of the body.

    Exact where all elements share one law up to a factor; otherwise every law is held against the modes of all. What is
    not made of elements is taken to act where they are stiffest.
    """
    stiffness, viscosity = (largest_eigenvalue(matrix, masses, free) + bound for matrix, bound in others)
    bounds = [StepBound(np.inf, "no forces")]
    for viscous in (False, True):
        references = [_reference(family.constants, viscous=viscous) for family in families]
        used = sum(int(np.count_nonzero(reference)) for reference in references)
        mus = _modes(families, references, masses, free) if used else np.zeros(0)
        if not len(mus):
            continue
        for family, reference in zip(families, references, strict=True):
            for law in _laws(family.constants, reference):
                bounds.append(explicit_limit(rule, law, mus, self_stress=len(mus) < used))
                if stiffness > 0.0 or viscosity > 0.0:
                    stiffer = replace(
                        law, spring=law.spring + stiffness / mus[-1], viscosity=law.viscosity + viscosity / mus[-1]
                    )
                    bounds.append(explicit_limit(rule, stiffer, mus, self_stress=len(mus) < used))
    return min(bounds, key=lambda bound: bound.step)


def _reference(constants: Constants, *, viscous: bool) -> Array:
    """Return the instantaneous stiffness of elements, or the viscosity of those that have nothing else, else 0."""
    stiffness = constants.instantaneous
    return np.asarray(np.where(stiffness == 0.0, constants.viscosity, 0.0) if viscous else stiffness)


def _laws(constants: Constants, reference: Array) -> list[ModeLaw]:
    """Return the different laws among elements, divided by their reference constants."""
    used = reference > 0.0
    if not used.any():
        return []
    scale = reference[used]
    rows = np.vstack(
        [
            constants.stiffness[used] / scale,
            constants.viscosity[used] / scale,
            constants.arm_stiffness[:, used] / scale,
            constants.arm_rate[:, used],
        ]
    )
    size = 10.0 ** (DIGITS - 1 - np.floor(np.log10(np.where(rows > 0.0, rows, 1.0))))
    _, first = np.unique(np.round(rows * size) / size, axis=1, return_index=True)
    arms = constants.arm_rate.shape[0]
    laws = []
    for element in first:
        spring, viscosity, *rest = rows[:, element]
        stiffness, rate = np.array(rest[:arms]), np.array(rest[arms:])
        present = stiffness > 0.0
        laws.append(ModeLaw(float(spring), float(viscosity), stiffness[present], rate[present]))
    return laws


def _modes(families: Sequence[Family], references: Sequence[Array], masses: Array, free: Mask) -> Array:
    """Return eigenvalues of M^-1 L, L made of the reference constants: all of a small body, else a sample."""
    matrix = csr_matrix((len(masses),) * 2)
    for family, reference in zip(families, references, strict=True):
        if len(family):
            matrix = matrix + family.matrix(reference)
    if free.sum() <= FEW:
        return _all_modes(matrix, masses, free)
    return largest_eigenvalue(matrix, masses, free) * np.geomspace(SLOWEST, 1.0, SAMPLES)


def _all_modes(matrix: csr_matrix, masses: Array, free: Mask) -> Array:
    if not free.any():
        return np.zeros(0)
    scale = diags(1.0 / np.sqrt(masses[free]))
    values = np.linalg.eigvalsh((scale @ matrix[free][:, free] @ scale).toarray())
    return np.asarray(values[values > 1e-10 * max(values[-1], 0.0)])
