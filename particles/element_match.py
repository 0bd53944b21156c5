"""Edge and volume constants from continuum moduli, so that a truss and a finite-element body claim one material.

The springs of one element of volume V, with directions n_a, lengths l_a and stiffness k_a, store
1/2 sum_a k_a l_a^2 (n_a . eps n_a)^2: they are a material with the stiffness tensor

    C_springs = (1/V) sum_a k_a l_a^2  m_a m_a^T  [+ K i i^T],     m_a = n_a (x) n_a in Mandel notation.

Four ways to choose k_a >= 0, and K >= 0 of a volume spring (i: unit tensor) per simplex:

    element     least |C_springs - C|^2 (Frobenius), element by element
    stiffness   least |K_springs - K_fem|^2 of the element's stiffness matrices
    length      k = E A/l with one cross section A for the whole body: least |C_springs - C|^2 of the body's average
    edge        k = 1: the numbers of the law are those of every single edge, as in the papers' scenes

Fits carry a small ridge that shares equally what they leave open. Central forces obey Cauchy's relation
C_1122 = C_1212: Poisson's ratio is tied to 1/4 in 3D and in plane strain (1/3 in plane stress). A volume spring lifts
that bond for larger ratios; without it, a larger ratio is fitted at Cauchy's with the same Young's modulus, because
stretching springs until they match the pressure would stiffen everything else. What remains is a misfit, reported.

K_fem is the matrix of linear elasticity on the first-order element of the same corners (assembled by scikit-fem);
springs and the volume spring of a simplex have

    K_springs = sum_a k_a g_a g_a^T  [+ K/V  h h^T],     g_a = (.. -n_a .. n_a ..),   h = dV/dx,

and k_a, K >= 0 minimise |K_springs - K_fem|^2 (Frobenius). For simplices this weighs the same strains by their corner
forces; for quads and hexahedra it also sees the modes that bend an element, which its mean strain does not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from math import factorial
from typing import Literal

import numpy as np
from scipy.sparse import csr_matrix
from skfem import Basis, ElementVector
from skfem.models.elasticity import linear_elasticity

from rheotwin.arrays import Array, Indices
from rheotwin.meshing import build_mesh
from rheotwin.meshing.cells import HEX_LABELS

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
    corners: Array, volume: float, target: Array, fit_weights: Callable[[list[Array], Array], Array], volume_term: bool
) -> tuple[Array, float]:
    """Fit the stiffness matrix of one element with `corners` (n, d); returns k and K for unit E."""
    columns = spring_columns(corners)
    pairs = len(columns)
    if volume_term:
        gradient = volume_gradient(corners)
        columns.append(np.outer(gradient, gradient) / volume)
    weights = fit_weights(columns, target)
    return weights[:pairs], float(weights[-1]) if volume_term else 0.0


Method = Literal["element", "stiffness", "length", "edge"]

Springs = Literal["edges", "edges+face", "edges+face+body"]
"""Which pairs of corners of squares and cubes have a spring: those of edges, of faces, all (12, 24, 28 of a cube)."""

RIDGE = 1e-10
"""Weight of the ridge relative to the fit: singles out one of equally good fits, softens by as much, no more."""

NEGLIGIBLE = 1e-8
"""A weight below this share of the largest is left over from the ridge and rounding: no spring is needed there."""


@dataclass(frozen=True)
class ElementMatch:
    """Unique edges (M, 2) and constants for a unit Young's modulus, and how well they match.

    `stiffness` (M,) sums the springs of all elements around an edge [m^(d-2)] (`edge`: 1, of unit constants);
    `volume_modulus` (cells,) is K of each element [1].
    """

    edges: Indices
    stiffness: Array
    cell_share: csr_matrix
    """Part (nC, M) of an edge that belongs to a cell: its part of the edge's stiffness."""
    node_share: csr_matrix
    """Part (N, M) of an edge that belongs to a node: that of its cells, shared by their corners."""
    volume_modulus: Array
    average: Array
    """Volume average of C_springs over the body, in Mandel notation."""
    misfit: float
    """Volume-averaged |C_springs - C| / |C|, of the body as a whole (element errors may cancel)."""
    element_misfit: float
    """Mean over elements of the same ratio."""


@dataclass(frozen=True)
class CellEdges:
    """All vertex pairs of all cells: vectors (nC, pairs, d), which edge each is, measures (nC,); cells of size 1."""

    vectors: Array
    owner: Indices
    measures: Array

    @property
    def lengths(self) -> Array:
        """Lengths (nC, pairs) over the size of a cell."""
        return np.asarray(np.linalg.norm(self.vectors, axis=2))

    @property
    def sharing(self) -> Array:
        """Part (nC, pairs) of an edge that a cell owns when its cells own it equally."""
        return np.asarray(1.0 / np.bincount(self.owner.ravel())[self.owner])


def mandel(directions: Array) -> Array:
    """Return n (x) n of unit vectors (..., d) in Mandel notation: shear entries carry sqrt(2)."""
    dimension = directions.shape[-1]
    pairs = list(combinations(range(dimension), 2))
    diagonal = directions**2
    mixed = [np.sqrt(2.0) * directions[..., a] * directions[..., b] for a, b in pairs]
    return np.concatenate([diagonal, *(m[..., None] for m in mixed)], axis=-1) if mixed else diagonal


def cauchy_poisson(dimension: int, plane: str) -> float:
    """Return Poisson's ratio of a body of central forces: 1/4, in plane stress 1/3."""
    return 1.0 / 3.0 if dimension == 2 and plane == "stress" else 0.25


def plane_lame(poisson: float, dimension: int, plane: str) -> tuple[float, float]:
    """Return Lame's constants (lambda, mu) of a unit Young's modulus; lambda is that of the plane in plane stress."""
    shear = 1.0 / (2.0 * (1.0 + poisson))
    lame = poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson))
    if dimension == 2 and plane == "stress":
        lame = 2.0 * lame * shear / (lame + 2.0 * shear)
    return lame, shear


def isotropic_stiffness(poisson: float, dimension: int, plane: str) -> Array:
    """Return C/E in Mandel notation: 1 in 1D, plane strain or plane stress in 2D, full in 3D."""
    if dimension == 1:
        return np.ones((1, 1))
    lame, shear = plane_lame(poisson, dimension, plane)
    size = dimension * (dimension + 1) // 2
    trace = np.zeros(size)
    trace[:dimension] = 1.0
    return lame * np.outer(trace, trace) + 2.0 * shear * np.eye(size)


def fit_weights(columns: list[Array], target: Array) -> Array:
    """Return the weights w >= 0 of least |sum w_a column_a - target|^2; ridge leftovers are cut to zero."""
    basis = np.stack([column.ravel() for column in columns], axis=1)
    ridge = np.sqrt(RIDGE) * np.eye(basis.shape[1])
    from scipy.optimize import nnls

    weights, _ = nnls(np.vstack([basis, ridge]), np.concatenate([target.ravel(), np.zeros(len(ridge))]))
    weights[weights < NEGLIGIBLE * weights.max()] = 0.0
    return np.asarray(weights)


def _pressure(dimension: int) -> Array:
    """Return i i^T in Mandel notation."""
    unit = mandel(np.eye(dimension)).sum(axis=0)
    return np.outer(unit, unit)


def _fit_tensor(vectors: Array, volume: float, target: Array, volume_term: bool) -> tuple[Array, float]:
    """Fit the tensor of one element; `vectors` (E, d) are its edges. Returns k and K for unit E."""
    lengths = np.linalg.norm(vectors, axis=1)
    columns = [np.outer(mode, mode) for mode in mandel(vectors / lengths[:, None])]
    columns += [_pressure(vectors.shape[1])] if volume_term else []
    weights = fit_weights(columns, target)
    return weights[: len(lengths)] * volume / lengths**2, float(weights[-1]) if volume_term else 0.0


def _kinds(edges: CellEdges) -> tuple[Indices, Indices]:
    """Return one cell of every kind and the kind of each cell; congruent (up to translation) cells are one kind."""
    keys = np.round(edges.vectors.reshape(len(edges.vectors), -1), 9) + 0.0
    _, first, kind = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return first, kind.reshape(-1)


def _each_kind(edges: CellEdges, fit: Callable[[int], tuple[Array, float]]) -> tuple[Array, Array]:
    """Fit one cell of every kind; return k (nC, pairs) and K (nC,) of all cells."""
    first, kind = _kinds(edges)
    fits = [fit(int(cell)) for cell in first]
    return np.array([k for k, _ in fits])[kind], np.array([modulus for _, modulus in fits])[kind]


def _by_length(edges: CellEdges, target: Array, volume_term: bool) -> tuple[Array, Array]:
    """Give every edge k = A/l with the cross section A, and every cell K, that suit the body's average best."""
    shape = edges.sharing / edges.lengths
    columns = [tensors(edges, shape, np.zeros(len(shape)))]
    columns += [np.repeat(_pressure(edges.vectors.shape[2])[None], len(shape), axis=0)] if volume_term else []
    weights = fit_weights([np.average(column, axis=0, weights=edges.measures) for column in columns], target)
    return weights[0] * shape, np.full(len(shape), weights[1] if volume_term else 0.0)


def tensors(edges: CellEdges, stiffness: Array, modulus: Array) -> Array:
    """Return C_springs (nC, m, m) of every cell from k (nC, pairs) and K (nC,)."""
    modes = mandel(edges.vectors / edges.lengths[:, :, None])
    weights = stiffness * edges.lengths**2 / edges.measures[:, None]
    springs = np.einsum("cp,cpa,cpb->cab", weights, modes, modes, optimize=True)
    return np.asarray(springs + modulus[:, None, None] * _pressure(edges.vectors.shape[2]))


def _cell_share(owner: Indices, stiffness: Array, total: Array) -> csr_matrix:
    """Return each element's part k_ce/k_e of its edges; `owner` (nC, pairs) names edges."""
    part = np.divide(stiffness, total[owner], out=np.zeros_like(stiffness), where=total[owner] > 0.0)
    ends = np.arange(len(owner) + 1) * owner.shape[1]
    return csr_matrix((part.ravel(), owner.ravel(), ends), shape=(len(owner), len(total)))


def _node_share(cells: Indices, cell_share: csr_matrix, nodes: int) -> csr_matrix:
    """Spread each element's part of its edges equally over its corners."""
    count, corners = cells.shape
    ends = np.arange(count + 1) * corners
    shares = csr_matrix((np.full(cells.size, 1.0 / corners), cells.ravel(), ends), shape=(count, nodes))
    return csr_matrix(shares.T @ cell_share)


def _constants(
    points: Array, cells: Indices, edges: CellEdges, poisson: float, plane: str, volume_term: bool, method: Method
) -> tuple[Array, Array]:
    """Return k (nC, pairs) and K (nC,) of every cell for a unit Young's modulus."""
    dimension = points.shape[1]
    target = isotropic_stiffness(poisson, dimension, plane)
    if method == "edge":
        return edges.sharing, np.zeros(len(cells))
    if method == "length":
        return _by_length(edges, target, volume_term)
    if method == "element":
        return _each_kind(edges, lambda c: _fit_tensor(edges.vectors[c], edges.measures[c], target, volume_term))
    first, _ = _kinds(edges)
    matrices = dict(zip(first.tolist(), reference_matrices(points, cells[first], poisson, plane), strict=True))
    return _each_kind(
        edges, lambda c: fit_matrix(points[cells[c]], edges.measures[c], matrices[c], fit_weights, volume_term)
    )


def corner_pairs(corners: int, dimension: int, springs: Springs) -> Indices:
    """Return the pairs (pairs, 2) of corners of a cell that have a spring; of simplices all.

    >>> [len(corner_pairs(8, 3, springs)) for springs in ("edges", "edges+face", "edges+face+body")]
    [12, 24, 28]
    """
    pairs = np.array(list(combinations(range(corners), 2)))
    if corners != 2**dimension or dimension == 1:
        return pairs
    labels = HEX_LABELS if dimension == 3 else np.array([0, 1, 3, 2])
    steps = [int(labels[a] ^ labels[b]).bit_count() for a, b in pairs]
    return pairs[np.array(steps) <= 1 + springs.count("+")]


def match_elements(
    points: Array,
    cells: Indices,
    measures: Array,
    poisson: float,
    plane: str,
    *,
    volume_term: bool,
    method: Method = "element",
    springs: Springs = "edges+face+body",
) -> ElementMatch:
    """Choose the springs of all elements; `points` (N, d), `cells` (nC, corners), `measures` [m^d].

    All vertex pairs of an element are edges: the sides of a simplex, the full lattice of a box cell.
    """
    dimension = points.shape[1]
    size = float(measures.mean()) ** (1.0 / dimension)  # fits are made at unit size: the ridge has none
    pairs = corner_pairs(cells.shape[1], dimension, springs)
    unique, owner = np.unique(np.sort(cells[:, pairs].reshape(-1, 2), axis=1), axis=0, return_inverse=True)
    vectors = points[cells[:, pairs[:, 1]]] - points[cells[:, pairs[:, 0]]]
    edges = CellEdges(vectors / size, owner.reshape(len(cells), -1), measures / size**dimension)
    reachable = poisson if volume_term else min(poisson, cauchy_poisson(dimension, plane))
    stiffness, modulus = _constants(points / size, cells, edges, reachable, plane, volume_term, method)
    reached = tensors(edges, stiffness, modulus)
    target = isotropic_stiffness(poisson, dimension, plane)
    norm = np.linalg.norm(target)
    mean = np.average(reached, axis=0, weights=measures)
    single = np.linalg.norm((reached - target).reshape(len(cells), -1), axis=1) / norm
    total: Array = np.zeros(len(unique))
    np.add.at(total, edges.owner.ravel(), stiffness.ravel())
    scale = 1.0 if method == "edge" else size ** (dimension - 2)
    cell_share = _cell_share(edges.owner, stiffness, total)
    return ElementMatch(
        edges=unique.astype(np.int64),
        stiffness=scale * total,
        cell_share=cell_share,
        node_share=_node_share(cells, cell_share, len(points)),
        volume_modulus=modulus,
        average=mean,
        misfit=float(np.linalg.norm(mean - target) / norm),
        element_misfit=float(np.average(single, weights=measures)),
    )
