"""Coarse and fine cells in one mesh: bisected simplices, refinement of a region, and the hanging nodes that leaves.

A hanging node lies inside an edge of a cell it is not a corner of. Finite elements give it the motion of that point of
the edge, u = T u_kept, so that no crack opens; particles are tied to it (particles spec 7). Only sides of cells that no
other cell shares can carry hanging nodes. On the square sides of hexahedra the diagonals count as edges, as in their
lattice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.sparse import csr_matrix, diags

from rheotwin.arrays import Array, Flags, Indices
from rheotwin.errors import RheotwinError
from rheotwin.meshing.cells import CELL_DIMENSION, Mesh, build_mesh, cell_kind
from rheotwin.meshing.topology import boundary_faces, oriented

ON_LINE = 1e-8
"""A node this close to an edge, as a share of its length, lies on it: rounding of coordinates."""
INSIDE = 1e-6
"""A node closer to an end of an edge than this share of its length is a double of that end, not a hanging node."""


@dataclass(frozen=True)
class HangingNodes:
    """Nodes (n,) on edges from `start` to `end`, at (1 - ratio) x_start + ratio x_end.

    `share` (n,) is 1, or 1/2 for the two diagonals whose crossing a node is.
    """

    node: Indices
    start: Indices
    end: Indices
    ratio: Array
    share: Array

    def __len__(self) -> int:
        return len(self.node)

    def followed(self, count: int) -> tuple[csr_matrix, Indices]:
        """Return T (count, kept), u = T u_kept of all nodes, and those that are kept; ends of edges may hang, too."""
        keeps = np.ones(count)
        keeps[self.node] = 0.0
        shares = np.concatenate([self.share * (1.0 - self.ratio), self.share * self.ratio])
        places = np.tile(self.node, 2), np.concatenate([self.start, self.end])
        found = csr_matrix((shares, places), shape=(count, count)) + diags(keeps, format="csr")
        found.eliminate_zeros()
        while found[:, self.node].nnz:
            found = found @ found
        kept = np.flatnonzero(keeps)
        return found[:, kept].tocsr(), kept


_NONE, _NOTHING = np.zeros(0, np.int64), np.zeros(0)
NO_HANGING_NODES = HangingNodes(_NONE, _NONE, _NONE, _NOTHING, _NOTHING)
"""What a conforming mesh has."""


@dataclass(frozen=True)
class Refinement:
    """Cells whose centre lies within `ranges` (axis number -> smallest, largest [m]) are halved `levels` times."""

    ranges: Mapping[int, tuple[float, float]]
    levels: int = 1

    def chosen(self, centres: Array) -> Flags:
        """Return which of the centres (dimension, cells) [m] lie inside, borders included."""
        inside = np.ones(centres.shape[1], dtype=np.bool_)
        for axis, (low, high) in self.ranges.items():
            inside &= (centres[axis] >= low) & (centres[axis] <= high)
        return inside


def refined(mesh: Mesh, refinements: Sequence[Refinement]) -> Mesh:
    """Halve the cells within regions: in 2D each becomes four, in 3D eight; coarse cells come first.

    Hexahedra can be halved once: a second time leaves nodes in the middle of coarse sides, on no edge or diagonal.
    """
    if cell_kind(mesh) == "hex" and any(item.levels > 1 for item in refinements):
        raise RheotwinError("finer: hexahedra are halved once (levels = 1); use tets for finer regions")
    for level in range(max((item.levels for item in refinements), default=0)):
        centres = mesh.p[:, mesh.t].mean(axis=1)
        chosen = np.zeros(mesh.t.shape[1], dtype=np.bool_)
        for item in refinements:
            if level < item.levels:
                chosen |= item.chosen(centres)
        mesh = _with_halved(mesh, chosen)
    return mesh


def _with_halved(mesh: Mesh, chosen: Flags) -> Mesh:
    """Replace the chosen cells by their halves; nodes at the same place are the same node."""
    if not chosen.any():
        return mesh
    kind = cell_kind(mesh)
    used, compact = np.unique(mesh.t[:, chosen], return_inverse=True)
    part = build_mesh(kind, mesh.p[:, used], compact.reshape(mesh.t.shape[0], -1))
    fine = part.refined()
    points, numbers = _merged(mesh.p, fine.p)
    cells = np.concatenate([mesh.t[:, ~chosen], numbers[fine.t]], axis=1)
    whole, compact = np.unique(cells, return_inverse=True)
    return oriented(build_mesh(kind, points[:, whole], compact.reshape(cells.shape)))


def _merged(points: Array, added: Array) -> tuple[Array, Indices]:
    """Return all points (dimension, n) and the number of each added one; those already there keep theirs."""
    from scipy.spatial import cKDTree

    near = INSIDE * float(np.linalg.norm(np.ptp(added, axis=1))) / added.shape[1]
    distance, number = cKDTree(points.T).query(added.T, distance_upper_bound=near)
    new = ~np.isfinite(distance)
    number[new] = points.shape[1] + np.arange(new.sum())
    return np.concatenate([points, added[:, new]], axis=1), number.astype(np.int64)


def hanging_nodes(mesh: Mesh) -> HangingNodes:
    """Return the nodes of a mesh that lie inside an edge of a cell they are no corner of, each on the shortest one."""
    if CELL_DIMENSION[cell_kind(mesh)] == 1:
        return NO_HANGING_NODES
    faces = boundary_faces(mesh).astype(np.int64)
    pairs = np.concatenate([faces[:, list(pair)] for pair in combinations(range(faces.shape[1]), 2)])
    pairs = np.unique(np.sort(pairs, axis=1), axis=0)
    nodes, points = np.unique(faces), mesh.p.T
    middle = 0.5 * (points[pairs[:, 0]] + points[pairs[:, 1]])
    vectors = points[pairs[:, 1]] - points[pairs[:, 0]]
    lengths = np.linalg.norm(vectors, axis=1)
    from scipy.spatial import cKDTree

    found = cKDTree(points[nodes]).query_ball_point(middle, 0.5 * lengths)
    pair = np.repeat(np.arange(len(pairs)), [len(near) for near in found])
    node = nodes[np.concatenate([np.asarray(near, np.int64) for near in found])]
    offset = points[node] - points[pairs[pair, 0]]
    ratio = np.einsum("nk,nk->n", offset, vectors[pair]) / lengths[pair] ** 2
    away = np.linalg.norm(offset - ratio[:, None] * vectors[pair], axis=1)
    kept = (away <= ON_LINE * lengths[pair]) & (ratio > INSIDE) & (ratio < 1.0 - INSIDE)
    return _on_shortest(node[kept], pairs[pair[kept]], ratio[kept], lengths[pair[kept]])


def _on_shortest(node: Indices, ends: Indices, ratio: Array, length: Array) -> HangingNodes:
    """Keep for each node the shortest edge it lies on, or all that are equally short."""
    shortest = np.full(node.max(initial=-1) + 1, np.inf)
    np.minimum.at(shortest, node, length)
    kept = length <= (1.0 + ON_LINE) * shortest[node]
    count = np.bincount(node[kept], minlength=len(shortest))
    order = np.flatnonzero(kept)[np.argsort(node[kept], kind="stable")]
    return HangingNodes(node[order], ends[order, 0], ends[order, 1], ratio[order], 1.0 / count[node[order]])


@dataclass(frozen=True)
class Bisection:
    """A conforming mesh of halves, the cell each came from, and the two nodes that each new node lies between."""

    mesh: Mesh
    parents: Indices
    between: Indices
    """(new nodes, 2) in the order of the nodes: both ends stand before the node."""

    def carried(self, nodes: Indices) -> Indices:
        """Return a set of nodes with the new ones between two of it."""
        first = self.mesh.p.shape[1] - len(self.between)
        chosen = np.zeros(self.mesh.p.shape[1], dtype=np.bool_)
        chosen[nodes] = True
        for number, ends in enumerate(self.between, start=first):
            chosen[number] = chosen[ends].all()
        return np.flatnonzero(chosen)


def bisected(mesh: Mesh, marked: Indices) -> Bisection:
    """Halve the marked triangles or tetrahedra at their longest edges, and others as long as nodes would hang.

    Rivara's rule: a cell with a node on any edge is halved at its own longest one, so that angles stay bounded. Halves
    keep the orientation of the cell. Edges have one length whichever cell they are seen from, so ties cost nothing.
    """
    points, cells, parents = mesh.p.T, mesh.t.T.astype(np.int64), np.arange(mesh.t.shape[1])
    corners = np.array(list(combinations(range(cells.shape[1]), 2)))
    many = np.int64(8 * len(points) + 8 * len(cells))  # more than there will be nodes, for one number an edge
    split, middle = np.zeros(0, np.int64), np.zeros(0, np.int64)
    between, chosen = [np.zeros((0, 2), np.int64)], np.asarray(marked)
    while len(chosen):
        own = cells[chosen]
        ends = np.sort(own[:, corners], axis=2)
        length = np.linalg.norm(points[ends[..., 0]] - points[ends[..., 1]], axis=2)
        keys = ends[..., 0] * many + ends[..., 1]
        longest = np.where(length == length.max(axis=1)[:, None], keys, -1).argmax(axis=1)
        rows = np.arange(len(own))
        key = keys[rows, longest]
        new = np.setdiff1d(key, split)
        pairs = np.stack([new // many, new % many], axis=1)
        between.append(pairs)
        middle = np.concatenate([middle, len(points) + np.arange(len(new))])
        points = np.concatenate([points, points[pairs].mean(axis=1)])
        split = np.concatenate([split, new])
        order = np.argsort(split)
        split, middle = split[order], middle[order]
        node = middle[np.searchsorted(split, key)]
        halves = [own.copy(), own.copy()]
        for half, end in zip(halves, corners[longest].T, strict=True):
            half[rows, end] = node
        cells[chosen] = halves[0]
        cells, parents = np.concatenate([cells, halves[1]]), np.concatenate([parents, parents[chosen]])
        ends = np.sort(cells[:, corners], axis=2)
        chosen = np.flatnonzero(np.isin(ends[..., 0] * many + ends[..., 1], split).any(axis=1))
    return Bisection(build_mesh(cell_kind(mesh), points.T, cells.T), parents, np.concatenate(between))
