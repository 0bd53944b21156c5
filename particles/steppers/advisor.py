"""How far a body may step with each rule, and which bound says so (spec section 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags

from rheotwin.arrays import Array
from rheotwin.particles.network import Constants
from rheotwin.particles.stability import largest_eigenvalue
from rheotwin.particles.steppers.bounds import ExplicitRule, ModeLaw, StepBound, explicit_limit
from rheotwin.particles.steppers.choose import StepperName
from rheotwin.particles.steppers.families import Family
from rheotwin.particles.steppers.semi_implicit_bound import Others, semi_implicit_step
from rheotwin.problem import Problem

Mask = NDArray[np.bool_]

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
