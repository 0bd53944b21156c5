"""Springs of least distance from the stiffness matrix of a finite element.

K_fem is that of linear elasticity on the first-order element of the same corners (assembled by scikit-fem); springs
and the volume spring of a simplex have

    K_springs = sum_a k_a g_a g_a^T  [+ K/V  h h^T],     g_a = (.. -n_a .. n_a ..),   h = dV/dx,

and k_a, K >= 0 minimise |K_springs - K_fem|^2 (Frobenius). For simplices this weighs the same strains by their corner
forces; for quads and hexahedra it also sees the modes that bend an element, which its mean strain does not.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from math import factorial

import numpy as np
from skfem import Basis, ElementVector
from skfem.models.elasticity import linear_elasticity

from rheotwin.arrays import Array, Indices
from rheotwin.meshing import build_mesh

KIND_OF_CORNERS = {(1, 2): "line", (2, 3): "triangle", (2, 4): "quad", (3, 4): "tet", (3, 8): "hex"}
"""Cell kind of a dimension and a number of corners."""


def reference_matrices(points: Array, cells: Indices, poisson: float, plane: str) -> Array:
    """Return K_fem (nC, corners d, corners d) for a unit Young's modulus [m^(d-2)], corner by corner."""
    dimension, corners = points.shape[1], cells.shape[1]
    if dimension == 1:
        lengths = points[cells[:, 1], 0] - points[cells[:, 0], 0]
        return np.asarray(np.array([[1.0, -1.0], [-1.0, 1.0]]) / lengths[:, None, None])
    lame, shear = poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson)), 0.5 / (1.0 + poisson)
    if dimension == 2 and plane == "stress":
        lame = 2.0 * lame * shear / (lame + 2.0 * shear)
    # Cells side by side without common nodes: the library then assembles each matrix on its own.
    apart = np.arange(cells.size).reshape(cells.shape)
    mesh = build_mesh(KIND_OF_CORNERS[dimension, corners], points[cells].reshape(-1, dimension).T, apart.T)
    basis = Basis(mesh, ElementVector(mesh.elem()))
    # Basis functions of a vector element run over the components of one corner before the next corner.
    return np.asarray(linear_elasticity(lame, shear).coo_data(basis).tolocal())


def spring_columns(corners: Array) -> list[Array]:
    """Return g g^T of every vertex pair of an element with `corners` (n, d)."""
    count, dimension = corners.shape
    columns = []
    for i, j in combinations(range(count), 2):
        direction = (corners[j] - corners[i]) / np.linalg.norm(corners[j] - corners[i])
        mode = np.zeros((count, dimension))
        mode[i], mode[j] = -direction, direction
        columns.append(np.outer(mode, mode))
    return columns


def volume_gradient(corners: Array) -> Array:
    """Return dV/dx (d + 1, d) of a simplex with positive volume: rows of the inverse of its edges, times V."""
    edges = corners[1:] - corners[0]
    inner = np.linalg.inv(edges).T * np.linalg.det(edges) / factorial(corners.shape[1])
    return np.vstack([-inner.sum(axis=0), inner])


def fit_matrix(
    corners: Array,
    volume: float,
    target: Array,
    fit_weights: Callable[[list[Array], Array], Array],
    volume_term: bool,
) -> tuple[Array, float]:
    """Fit the stiffness matrix of one element with `corners` (n, d); returns k and K for unit E."""
    columns = spring_columns(corners)
    pairs = len(columns)
    if volume_term:
        gradient = volume_gradient(corners)
        columns.append(np.outer(gradient, gradient) / volume)
    weights = fit_weights(columns, target)
    return weights[:pairs], float(weights[-1]) if volume_term else 0.0
