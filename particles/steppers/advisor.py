"""How far a body may step with each rule, and which bound says so (spec section 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags

from rheotwin.particles.cell_volume import volume_matrix
from rheotwin.particles.network import Constants, TrussNetwork, network_stable_step
from rheotwin.particles.stability import edge_matrix, largest_eigenvalue, stable_step
from rheotwin.particles.steppers.bounds import ExplicitRule, ModeLaw, StepBound, explicit_limit
from rheotwin.particles.steppers.choose import StepperName
from rheotwin.problem import Problem

Array = NDArray[np.float64]
Others = Sequence[tuple[csr_matrix, float]]

FEW = 400
"""Free components up to which all modes are computed; beyond, modes are sampled below the largest."""
SAMPLES = 200
SLOWEST = 1e-6
"""Slowest mode sampled, as a share of the largest eigenvalue."""
DIGITS = 9
"""Digits to which laws of elements must agree to count as one."""


def step_bound(
    problem: Problem, network: TrussNetwork, rest: Array, stepper: StepperName, others: Others = ()
) -> StepBound:
    """Return the stable step [s] of the bodies at rest (N, 3) and the bound that sets it.

    `others` are stiffness and viscosity of what is not in the network: a matrix on the components (N*d) and a bound of
    what no matrix holds, each (see `network_stable_step`, which also refuses nodes without mass).
    """
    if stepper == "semi-implicit":
        step = network_stable_step(problem, network, rest, others)
        return StepBound(step, "stiffness and viscosity (kappa lambda h^2/m + 2 eta lambda h/m < 4)")
    stiffness, viscosity = _rates_of(others, problem) if others else (0.0, 0.0)
    if stepper == "implicit":
        return StepBound(
            stable_step(stiffness, viscosity), "the forces that keep the shape, which this rule takes at the old time"
        )
    return _explicit_bound(problem, network, rest, stepper, stiffness, viscosity)


def _rates_of(others: Others, problem: Problem) -> tuple[float, float]:
    """Return the largest eigenvalues of M^-1 K [1/s^2] and M^-1 C [1/s] of what is not in the network."""
    masses, free = _components(problem)
    (stiff, stiff_bound), (viscous, viscous_bound) = others
    return (
        largest_eigenvalue(stiff, masses, free) + stiff_bound,
        largest_eigenvalue(viscous, masses, free) + viscous_bound,
    )


def _components(problem: Problem) -> tuple[Array, NDArray[np.bool_]]:
    """Return the mass of each component (N*d) [kg] and whether it is free."""
    return np.repeat(problem.masses, problem.dimension), (problem.owners < 0).ravel()


def _explicit_bound(
    problem: Problem, network: TrussNetwork, rest: Array, rule: ExplicitRule, stiffness: float, viscosity: float
) -> StepBound:
    """Take the smallest limit of all laws, each with all modes of the body.

    Exact where all elements share one law up to a factor; otherwise every law is held against the modes of all. What is
    not in the network, `stiffness` [1/s^2] and `viscosity` [1/s], is taken to act where the network is stiffest.
    """
    edges, cells = network.edge_constants, network.cell_constants
    bounds = [StepBound(np.inf, "no forces")]
    for viscous in (False, True):
        edge, cell = _reference(edges, viscous=viscous), _reference(cells, viscous=viscous)
        if not (edge.any() or cell.any()):
            continue
        mus = _modes(problem, network, rest, edge, cell)
        if not len(mus):
            continue
        self_stress = len(mus) < int(np.count_nonzero(edge) + np.count_nonzero(cell))
        for law in [*_laws(edges, edge), *_laws(cells, cell)]:
            bounds.append(explicit_limit(rule, law, mus, self_stress=self_stress))
            if stiffness > 0.0 or viscosity > 0.0:
                stiffer = replace(
                    law, spring=law.spring + stiffness / mus[-1], viscosity=law.viscosity + viscosity / mus[-1]
                )
                bounds.append(explicit_limit(rule, stiffer, mus, self_stress=self_stress))
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


def _modes(problem: Problem, network: TrussNetwork, rest: Array, edge: Array, cell: Array) -> Array:
    """Return eigenvalues of M^-1 L, L made of the reference constants: all of a small body, else a sample."""
    matrix = edge_matrix(problem.points, network.edges, edge)
    if len(network.cells):
        matrix = matrix + volume_matrix(rest, network.cells, cell / network.rest_volume, problem.dimension)
    masses, free = _components(problem)
    if free.sum() <= FEW:
        return _all_modes(matrix, masses, free)
    return largest_eigenvalue(matrix, masses, free) * np.geomspace(SLOWEST, 1.0, SAMPLES)


def _all_modes(matrix: csr_matrix, masses: Array, free: NDArray[np.bool_]) -> Array:
    if not free.any():
        return np.zeros(0)
    scale = diags(1.0 / np.sqrt(masses[free]))
    values = np.linalg.eigvalsh((scale @ matrix[free][:, free] @ scale).toarray())
    return np.asarray(values[values > 1e-10 * max(values[-1], 0.0)])
