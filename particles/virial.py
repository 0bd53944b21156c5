"""What a network of edges and volume springs does between steps: force, energy, and stress and strain at nodes.

The stress of an element is the virial f l0 (e (x) e) of its parts of the edges over its rest volume, plus the tension
of its volume spring: engineering stress in the directions the edges have now, so a bar reports force per section.
The stress at a node is the average over the elements around it, weighted with their volumes. So it is exact at every
node of a uniformly stressed body, and the same average the finite elements report.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_matrix

from rheotwin.arrays import Array, Indices, corner_parts
from rheotwin.meshing import cell_kind, element_measures
from rheotwin.particles.network import Constants, first_poisson
from rheotwin.problem import Problem, ProblemBody
from rheotwin.strain import vertex_strain
from rheotwin.tensors import INDEX_PAIRS


def edge_motion(x: Array, v: Array, edges: Indices) -> tuple[Array, Array, Array]:
    """Return vectors d (M, 3) [m] from start to end, lengths l = |d| [m] and rates d . d'/l [m/s] of edges (M, 2).

    Positions (N, 3) are in m, velocities in m/s.
    """
    start, end = edges.T
    vectors = x[end] - x[start]
    lengths = np.sqrt(np.einsum("ec,ec->e", vectors, vectors))
    return vectors, lengths, np.einsum("ec,ec->e", vectors, v[end] - v[start]) / lengths


def response(constants: Constants, arms: Array, strain: Array, rate: Array) -> tuple[Array, Array]:
    """Return the arms' share sum kappa z and all of it: k strain + sum kappa z + eta rate."""
    memory = np.sum(constants.arm_stiffness * arms, axis=0)
    return memory, constants.stiffness * strain + memory + constants.viscosity * rate


def stored_energy(constants: Constants, arms: Array, strain: Array, measure: Array | float) -> float:
    """Return the energy [J] in the springs: 1/2 (k strain^2 + sum kappa z^2) times the measure."""
    density = constants.stiffness * strain**2 + np.sum(constants.arm_stiffness * arms**2, axis=0)
    return float(0.5 * np.sum(density * measure))


def nodal_volumes(problem: Problem) -> Array:
    """Return each node's share of the rest volume [m^3] (thickness or section included)."""
    volumes = np.zeros(len(problem.points))
    for body in problem.bodies:
        cells = body.mesh.t
        share = corner_parts(cells, element_measures(body.mesh))
        volumes[body.nodes] = np.bincount(cells.ravel(), weights=share.ravel(), minlength=body.mesh.p.shape[1])
    return volumes * problem.thickness


def averaging(elements: Indices, weights: Array, volumes: Array) -> csr_matrix:
    """Return the matrix (N, elements) that gives each corner an equal part of `weights`, per nodal volume."""
    corners = elements.shape[1]
    rows, columns = elements.ravel(), np.repeat(np.arange(len(elements)), corners)
    values = np.repeat(weights / corners, corners) / volumes[rows]
    return csr_matrix((values, (rows, columns)), shape=(len(volumes), len(elements)))


def edge_virial(vectors: Array, rest_length: Array, tension: Array) -> Array:
    """Return f l0 (e (x) e) of each edge, (M, 6) [N m]; edge vectors are (M, 3) [m]."""
    scaled = (tension * rest_length / np.einsum("ec,ec->e", vectors, vectors))[:, None] * vectors
    return np.stack([scaled[:, a] * vectors[:, b] for a, b in INDEX_PAIRS], axis=1)


def isotropic(tension: Array, dimension: int) -> Array:
    """Return tension times the unit tensor of the plane or space, (nC, 6)."""
    stress = np.zeros((len(tension), 6))
    stress[:, :dimension] = tension[:, None]
    return stress


def out_of_plane_ratio(problem: Problem) -> Array:
    """Return s_zz/(s_xx + s_yy) at the nodes (N,): Poisson's ratio in plane strain, 0 elsewhere."""
    if problem.dimension != 2 or problem.plane == "stress":
        return np.zeros(len(problem.points))
    counts = [body.mesh.p.shape[1] for body in problem.bodies]
    return np.repeat([first_poisson(body) for body in problem.bodies], counts)


def _strain_ratio(body: ProblemBody, problem: Problem) -> float:
    """Return the strain ZZ per (XX + YY) of a body: -nu/(1 - nu) in plane stress, 0 elsewhere."""
    if problem.dimension != 2 or problem.plane != "stress":
        return 0.0
    poisson = first_poisson(body)
    return -poisson / (1.0 - poisson)


def nodal_strain(problem: Problem) -> Callable[[Array], Array]:
    """Return the map from displacements (N, d) [m] to the small strain of the mesh cells, averaged to nodes (N, 6)."""
    bodies = problem.bodies
    maps = [
        vertex_strain(body.mesh, cell_kind(body.mesh), out_of_plane=_strain_ratio(body, problem)) for body in bodies
    ]

    def strain(displacement: Array) -> Array:
        return np.concatenate([own.of(displacement[body.nodes]) for own, body in zip(maps, bodies, strict=True)])

    return strain
