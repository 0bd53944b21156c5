"""Constraint spaces of incompressibility: which elements share one area or volume constraint (spec 5).

Constraint m keeps the measure of a patch, R_m = sum_e w_me (S_e - S0_e), with S_e the area or volume of the
triangle or tet e. The choices differ in the shares w:

    node      1/(d+1) of every element around a node: converges, a few pressure modes stay free
    cell      all of the two triangles of a split square, or of the tets of a cube: full rank, best conditioned
    element   one constraint per element, as in the papers: locks; kept as the flagged seed mode
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, identity

from rheotwin.arrays import Array, Indices
from rheotwin.errors import RheotwinError

PatchKind = Literal["node", "cell", "element"]

SPLITS: dict[int, tuple[tuple[int, int], ...]] = {2: ((2, 4),), 3: ((6, 8), (5, 8))}
"""Elements and vertices of a split square (2D) or cube (3D)."""


@dataclass(frozen=True)
class Patches:
    """A constraint space: simplices (elements, d + 1) and the shares (constraints, elements) of their measures."""

    kind: PatchKind
    simplices: Indices
    shares: csr_matrix


def patches(kind: PatchKind, simplices: NDArray[np.integer], points: Array, groups: Indices | None = None) -> Patches:
    """Return the constraint space of one kind on simplices (elements, d + 1) with rest points (N, d) [m].

    `groups` (elements,) numbers the cell of each element for kind "cell"; without it they are found by `cell_groups`.
    """
    cells = np.ascontiguousarray(simplices, dtype=np.int64)
    elements, corners = cells.shape
    if corners != points.shape[1] + 1 or corners < 3:
        raise RheotwinError(
            "incompressible: constraints per patch need triangles (2D) or tets (3D): split the quads or hexahedra"
        )
    if kind == "element":
        return Patches(kind, cells, identity(elements, format="csr"))
    if kind == "node":
        columns = np.repeat(np.arange(elements), corners)
        # nodes that no simplex uses have no patch, hence no row
        _, rows = np.unique(cells.ravel(), return_inverse=True)
        return Patches(kind, cells, csr_matrix((np.full(cells.size, 1.0 / corners), (rows, columns))))
    found = cell_groups(cells, points) if groups is None else np.asarray(groups, dtype=np.int64)
    if found.shape != (elements,):
        raise RheotwinError(f"groups: {found.size} cell numbers for {elements} elements; give one per element")
    return Patches(kind, cells, csr_matrix((np.ones(elements), (found, np.arange(elements)))))


def cell_groups(simplices: NDArray[np.integer], points: Array) -> Indices:
    """Return the cell number (elements,) of each simplex: the squares or cubes that a mesh was split from.

    Elements of one square or cube that follow each other are recognised by the number of their vertices. Any
    other mesh is grouped around its longest edges (in a split square the diagonal, in a Kuhn cube the body
    diagonal); an element left over joins the group across its largest face.
    """
    cells = np.ascontiguousarray(simplices, dtype=np.int64)
    for size, vertices in SPLITS[cells.shape[1] - 1]:
        if _consecutive(cells, size, vertices):
            return np.arange(len(cells)) // size
    return _around_long_edges(cells, points)


def _consecutive(cells: Indices, size: int, vertices: int) -> bool:
    """Tell whether every `size` elements in a row have `vertices` vertices altogether."""
    if len(cells) % size:
        return False
    blocks = np.sort(cells.reshape(len(cells) // size, -1), axis=1)
    return bool(np.all(np.count_nonzero(np.diff(blocks, axis=1), axis=1) + 1 == vertices))


def _around_long_edges(cells: Indices, points: Array) -> Indices:
    """Group the elements around edges, longest edge first, each element once."""
    pairs = np.array(list(combinations(range(cells.shape[1]), 2)))
    ends = np.sort(cells[:, pairs], axis=2).reshape(-1, 2)
    edges, of_element = np.unique(ends, axis=0, return_inverse=True)
    element = np.repeat(np.arange(len(cells)), len(pairs))
    around = element[np.argsort(of_element, kind="stable")]
    starts = np.concatenate([[0], np.cumsum(np.bincount(of_element))])
    lengths = np.linalg.norm(points[edges[:, 1]] - points[edges[:, 0]], axis=1)
    # lengths that differ by rounding only must not decide, hence the rounding; ties go to the lower edge number
    order = np.argsort(-np.round(lengths / lengths.max(), 9), kind="stable")
    group = np.full(len(cells), -1, dtype=np.int64)
    count = 0
    for edge in order:
        ring = around[starts[edge] : starts[edge + 1]]
        if len(ring) > 1 and np.all(group[ring] < 0):
            group[ring] = count
            count += 1
    return _adopt(cells, points, group, count)


def _adopt(cells: Indices, points: Array, group: Indices, count: int) -> Indices:
    """Let elements without a group join the one across their largest face, or found their own."""
    members: dict[tuple[int, ...], list[int]] = {}
    for element, cell in enumerate(cells.tolist()):
        for face in combinations(sorted(cell), cells.shape[1] - 1):
            members.setdefault(face, []).append(element)
    for element in np.flatnonzero(group < 0).tolist():
        faces = combinations(sorted(cells[element].tolist()), cells.shape[1] - 1)
        across = [(_extent(points[list(f)]), int(group[other])) for f in faces for other in members[f]]
        known = [pair for pair in across if pair[1] >= 0]
        group[element] = max(known)[1] if known else count
        count += not known
    return group


def _extent(face: Array) -> float:
    """Return the squared measure of a face, up to a factor."""
    edges = face[1:] - face[0]
    return float(np.linalg.det(edges @ edges.T))
