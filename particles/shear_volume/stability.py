"""The stable step of shear and volume elements, from the spectrum of the body at rest.

Consistent elements have the matrices of linear finite elements. The papers' have no symmetric one: with K_e of one
element, taken from its own dashpot (force is linear in velocity), |K| = (K^T K)^(1/2),

    |v^T K_e w| <= v^T (|K_e| + |K_e^T|)/2 v  for w = v,

bounds what K_e can do by a symmetric matrix. Networks that soften count with the largest tangents they can show: df/dg
<= B along g, and f/g <= B across it, B = c_max/(c1 + c_max).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_matrix, diags

from rheotwin.arrays import Array, Indices
from rheotwin.particles.forces.cells import cell_volumes
from rheotwin.particles.network import Constants
from rheotwin.particles.shear_volume.elements import AllElements, Elements
from rheotwin.particles.stability import StepBound, with_contact, with_contact_reason
from rheotwin.particles.steppers.advisor import SEMI_IMPLICIT, Family, semi_implicit_step
from rheotwin.problem import Problem
from rheotwin.tensors import padded


def stable_step(problem: Problem, elements: AllElements, seed_matrices: dict[str, Array]) -> StepBound:
    """Return the stable step [s]; `seed_matrices` (E, kd, kd) [1/m2] are K_e per unit of mu size."""
    nothing = csr_matrix((problem.points.size,) * 2)
    families = []
    for name, kind in elements.kinds.items():
        if not len(kind):
            continue
        if name.startswith("seed"):
            families += _seed_families(problem, kind, seed_matrices[name])
        else:
            families += _families(problem, kind)
    masses = np.repeat(problem.masses, problem.dimension)
    others = with_contact([(nothing, 0.0), (nothing, 0.0)], problem)
    step = semi_implicit_step(families, others, masses, (problem.owners < 0).ravel())
    return with_contact_reason(StepBound(step, SEMI_IMPLICIT), problem)


def recovery_step(problem: Problem, elements: AllElements) -> float:
    """Return the stable step [s] of the dashpots of inverted bodies at rest alone, infinite without any."""
    families = []
    for kind in (elements.kinds["neo_hooke"], elements.kinds["tets"]):
        if kind.recovery is not None and kind.recovery.any():
            none = np.zeros((0, len(kind)))
            dashpots = Constants(np.zeros(len(kind)), kind.recovery, none, none)
            families += _families(
                problem, replace(kind, shear=dashpots, volume=dashpots, soft_shear=None, soft_volume=None)
            )
    if not families:
        return np.inf
    nothing = csr_matrix((problem.points.size,) * 2)
    masses, free = np.repeat(problem.masses, problem.dimension), (problem.owners < 0).ravel()
    return float(semi_implicit_step(families, [(nothing, 0.0), (nothing, 0.0)], masses, free))


def _families(problem: Problem, elements: Elements) -> list[Family]:
    """Return shear, 2 dev eps : dev eps, and volume, (div u)^2, of linear simplices per size."""
    gradients = _gradients(problem.points, elements)
    cells = elements.cells
    shear = _operator(cells, _shear_rows(gradients), problem)
    return [
        Family(elements.stiffest_shear, lambda c: _weighted(shear, c)),
        _volume_family(problem, elements, gradients),
    ]


def _volume_family(problem: Problem, elements: Elements, gradients: Array) -> Family:
    operator = _operator(elements.cells, gradients.reshape(len(gradients), 1, -1), problem)
    return Family(elements.stiffest_volume, lambda c: _weighted(operator, c))


def _seed_families(problem: Problem, elements: Elements, matrices: Array) -> list[Family]:
    left, sizes, right = np.linalg.svd(matrices)
    both = np.einsum("eij,ej,ekj->eik", left, sizes, left) + np.einsum("eji,ej,ejk->eik", right, sizes, right)
    values, vectors = np.linalg.eigh(0.5 * both)
    rows = (vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]).transpose(0, 2, 1)
    operator = _operator(elements.cells, rows, problem)
    return [
        Family(elements.stiffest_shear, lambda c: _weighted(operator, c)),
        _volume_family(problem, elements, _gradients(problem.points, elements)),
    ]


def _gradients(points: Array, elements: Elements) -> Array:
    """Return the gradients of volume ratios at the corners, (E, k, d) [1/m]: in simplices those of shape functions."""
    cells, dimension = elements.cells, points.shape[1]
    if dimension == 2 and cells.shape[1] == 4:
        a, b = points[cells[:, 2]] - points[cells[:, 0]], points[cells[:, 3]] - points[cells[:, 1]]
        at = 0.5 * np.stack([np.stack([-b[:, 1], b[:, 0]], 1), np.stack([a[:, 1], -a[:, 0]], 1)], 1)
        return np.concatenate([at, -at], axis=1) / elements.rest[:, None, None]
    _, gradients = cell_volumes(padded(points), cells)
    return np.asarray(gradients[:, :, :dimension] / elements.rest[:, None, None])


def _shear_rows(gradients: Array) -> Array:
    """Return rows (E, strains, k d) whose squares add up to 2 dev eps : dev eps."""
    count, corners, dimension = gradients.shape
    strain = np.zeros((count, dimension, dimension, corners, dimension))
    for i in range(dimension):
        for j in range(dimension):
            strain[:, i, j, :, j] += 0.5 * gradients[:, :, i]
            strain[:, i, j, :, i] += 0.5 * gradients[:, :, j]
    mean = np.einsum("eiikl->ekl", strain) / dimension
    for i in range(dimension):
        strain[:, i, i] -= mean
    return np.asarray(np.sqrt(2.0) * strain.reshape(count, dimension * dimension, -1))


def _operator(cells: Indices, rows: Array, problem: Problem) -> tuple[csr_matrix, int]:
    """Return the rows (E, n, k d) as a matrix on the components (N d), and n."""
    dimension, (count, each, _) = problem.dimension, rows.shape
    components = (cells[:, :, None] * dimension + np.arange(dimension)).reshape(count, -1)
    columns = np.repeat(components[:, None, :], each, axis=1).ravel()
    starts = np.arange(count * each + 1) * components.shape[1]
    return csr_matrix((rows.ravel(), columns, starts), shape=(count * each, problem.points.size)), each


def _weighted(operator: tuple[csr_matrix, int], constants: Array) -> csr_matrix:
    matrix, each = operator
    return (matrix.T @ diags(np.repeat(constants, each)) @ matrix).tocsr()
