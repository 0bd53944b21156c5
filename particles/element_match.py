"""Edge and volume constants from continuum moduli, so that a truss and a finite-element body claim one material.

The springs of one element of volume V, with directions n_a, lengths l_a and stiffness k_a, store
1/2 sum_a k_a l_a^2 (n_a . eps n_a)^2: they are a material with the stiffness tensor

    C_springs = (1/V) sum_a k_a l_a^2  m_a m_a^T  [+ K i i^T],     m_a = n_a (x) n_a in Mandel notation.

The k_a >= 0 minimise |C_springs - C|^2 (Frobenius) plus a small ridge that shares equally what the fit leaves
open. Central forces obey Cauchy's relation C_1122 = C_1212: Poisson's ratio is tied to 1/4 in 3D and in plane
strain (1/3 in plane stress). A volume spring K >= 0 per simplex (i: unit tensor) lifts that bond for larger
ratios; without it, a larger ratio is fitted at Cauchy's with the same Young's modulus, because stretching springs
until they match the pressure would stiffen everything else. What remains is a misfit, reported, not hidden.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from scipy.sparse import csr_matrix

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

RIDGE = 1e-10
"""Weight of the ridge relative to the fit: singles out one of equally good fits, softens by as much, no more."""

NEGLIGIBLE = 1e-8
"""A weight below this share of the largest is left over from the ridge and rounding: no spring is needed there."""


@dataclass(frozen=True)
class ElementMatch:
    """Unique edges (M, 2) and constants for a unit Young's modulus, and how well they match.

    `stiffness` (M,) sums l_a-weighted springs of all elements around an edge [m^(d-2)];
    `volume_modulus` (cells,) is K of each element [1].
    """

    edges: Indices
    stiffness: Array
    node_share: csr_matrix
    """Part (N, M) of an edge that belongs to a node: its elements' parts of the stiffness, shared by their corners."""
    volume_modulus: Array
    misfit: float
    """Volume-averaged |C_springs - C| / |C|, of the body as a whole (element errors may cancel)."""
    element_misfit: float
    """Mean over elements of the same ratio."""


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


def isotropic_stiffness(poisson: float, dimension: int, plane: str) -> Array:
    """Return C/E in Mandel notation: 1 in 1D, plane strain or plane stress in 2D, full in 3D."""
    if dimension == 1:
        return np.ones((1, 1))
    shear = 1.0 / (2.0 * (1.0 + poisson))
    lame = poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson))
    if dimension == 2 and plane == "stress":
        lame = 2.0 * lame * shear / (lame + 2.0 * shear)
    size = dimension * (dimension + 1) // 2
    trace = np.zeros(size)
    trace[:dimension] = 1.0
    return lame * np.outer(trace, trace) + 2.0 * shear * np.eye(size)


def _fit(vectors: Array, volume: float, target: Array, volume_term: bool) -> tuple[Array, float, Array]:
    """Fit one element; `vectors` (E, d) are its edges. Returns k and K for unit E and the stiffness reached."""
    lengths = np.linalg.norm(vectors, axis=1)
    modes = mandel(vectors / lengths[:, None])
    columns = [np.outer(mode, mode).ravel() for mode in modes]
    if volume_term:
        unit = mandel(np.eye(vectors.shape[1])).sum(axis=0)
        columns.append(np.outer(unit, unit).ravel())
    basis = np.stack(columns, axis=1)
    ridge = np.sqrt(RIDGE) * np.eye(basis.shape[1])
    weights, _ = nnls(np.vstack([basis, ridge]), np.concatenate([target.ravel(), np.zeros(len(ridge))]))
    weights[weights < NEGLIGIBLE * weights.max()] = 0.0
    modulus = float(weights[-1]) if volume_term else 0.0
    return weights[: len(lengths)] * volume / lengths**2, modulus, (basis @ weights).reshape(target.shape)


def _node_share(cells: Indices, owner: Indices, stiffness: Array, total: Array, nodes: int) -> csr_matrix:
    """Spread each element's part k_ce/k_e of its edges equally over its corners; `owner` (nC, pairs) names edges."""
    part = np.divide(stiffness, total[owner], out=np.zeros_like(stiffness), where=total[owner] > 0.0)
    corners, pairs = cells.shape[1], owner.shape[1]
    rows, columns = np.repeat(cells, pairs, axis=1), np.tile(owner, corners)
    values = np.tile(part / corners, corners)
    return csr_matrix((values.ravel(), (rows.ravel(), columns.ravel())), shape=(nodes, len(total)))


def match_elements(
    points: Array, cells: Indices, measures: Array, poisson: float, plane: str, *, volume_term: bool
) -> ElementMatch:
    """Fit all elements; `points` (N, d), `cells` (nC, corners), `measures` [m^d].

    All vertex pairs of an element are edges: the sides of a simplex, the full lattice of a box cell.
    Congruent elements (up to translation) are fitted once.
    """
    dimension = points.shape[1]
    pairs = np.array(list(combinations(range(cells.shape[1]), 2)))
    vectors = points[cells[:, pairs[:, 1]]] - points[cells[:, pairs[:, 0]]]
    size = measures.mean() ** (1.0 / dimension)
    keys = np.round(vectors.reshape(len(cells), -1) / size, 9) + 0.0
    _, first, kind = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    kind = kind.reshape(-1)
    target = isotropic_stiffness(poisson, dimension, plane)
    reachable = poisson if volume_term else min(poisson, cauchy_poisson(dimension, plane))
    fitted = isotropic_stiffness(reachable, dimension, plane)
    fits = [_fit(vectors[c], measures[c], fitted, volume_term) for c in first]
    stiffness = np.array([fit[0] for fit in fits])[kind]
    modulus = np.array([fit[1] for fit in fits])[kind]
    reached = np.array([fit[2] for fit in fits])[kind]
    norm = np.linalg.norm(target)
    mean = np.average(reached, axis=0, weights=measures)
    single = np.linalg.norm((reached - target).reshape(len(cells), -1), axis=1) / norm
    ends = np.sort(cells[:, pairs].reshape(-1, 2), axis=1)
    edges, owner = np.unique(ends, axis=0, return_inverse=True)
    owner = owner.reshape(cells.shape[0], -1)
    total: Array = np.zeros(len(edges))
    np.add.at(total, owner.ravel(), stiffness.ravel())
    return ElementMatch(
        edges=edges.astype(np.int64),
        stiffness=total,
        node_share=_node_share(cells, owner, stiffness, total, len(points)),
        volume_modulus=modulus,
        misfit=float(np.linalg.norm(mean - target) / norm),
        element_misfit=float(np.average(single, weights=measures)),
    )
