"""Particles that fill boxes: x, y, z of positions, velocities and forces in rows, elements in runs without indices.

A box is numbered g = i + S j + T k with odd S and T; even and odd numbers go to two halves, each without gaps. The
parity of g is that of i + j + k: an edge of a given direction then joins place q of one half to place q + constant of
the same or the other half, for all q at once, across the ends of rows too. What such a run joins across the ends of
rows, and beyond the last edge, are lanes of no weight. Boxes are found from positions, however particles are numbered
and bodies are turned.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from rheotwin.arrays import Array, Indices, Reals
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.lanes import VECTOR_BYTES
from rheotwin.kernels.layouts import in_runs
from rheotwin.kernels.stage import Stage
from rheotwin.kernels.vectors import aligned
from rheotwin.particles.forces.elements import ElementGroup
from rheotwin.particles.state import Nodes, magnitude, speed

SAME_PLACE = 1e-7
"""Coordinates closer than this share of the body's extent belong to one row."""
DIRECTIONS = 13
"""Most edge directions that are tried as axes: a lattice has 13."""
LANES = 16
"""Particles and edges come in multiples of this: the widest vector, of 16 single-precision numbers."""
BLOCK_BYTES = 384
"""Bytes of one component of the particles whose runs of all directions follow each other: six vectors."""
MOST_BODIES = 64
"""Bodies that are looked at; runs are short anyway where there are more."""
LEAST_FILLING = 0.5
"""Least share of lanes that are edges; below, the unstructured kernel does less work."""


@dataclass(frozen=True)
class Runs:
    """Elements in runs (R, corners + 2): first place of every corner, first lane, number of lanes.

    `of_element` (M,) is the lane of every element among `lanes`.
    """

    table: Indices
    of_element: Indices
    lanes: int


@dataclass(frozen=True)
class Layout:
    """Places (N,) of particles among `size`, and the runs of edges in blocks of `block` particles."""

    places: Indices
    size: int
    block: int
    edges: Runs


def find_layout(
    points: Array, edges: Indices, dtype: DTypeLike = np.float64, filling: float = LEAST_FILLING
) -> Layout | None:
    """Lay out particles at points (N, 3) [m] and edges (M, 2); None unless every body is a box in long runs.

    `dtype` is what the loop will calculate with, `filling` the least share of lanes that are edges.
    """
    if not len(edges):
        return None
    owner = bodies(edges, len(points))
    if owner.max() >= MOST_BODIES:
        return None
    best = []
    for body in range(owner.max() + 1):
        members = np.flatnonzero(owner == body)
        own = edges[owner[edges[:, 0]] == body]
        box = box_places(points[members], points[own[:, 1]] - points[own[:, 0]])
        if box is None:
            return None
        best.append((members, box))
    places, size = np.empty(len(points), dtype=np.int64), 0
    for members, box in best:
        inside, length = _halves(box, np.searchsorted(members, edges[np.isin(edges[:, 0], members)]))
        places[members] = size + inside
        size += length
    block = BLOCK_BYTES // np.dtype(dtype).itemsize
    layout = Layout(places, size, block, _edge_runs(places, size, edges, block))
    return layout if len(edges) >= filling * layout.edges.lanes else None


def _halves(box: Indices, edges: Indices) -> tuple[Indices, int]:
    """Return the places of one body and how many there are, for the order of its axes with the fewest lanes."""
    found = [_numbered(box[:, axes]) for axes in permutations(range(3))]
    return min(found, key=lambda pair: (_edge_runs(pair[0], pair[1], edges, LANES).lanes, pair[1]))


def _numbered(box: Indices) -> tuple[Indices, int]:
    counts = box.max(axis=0) + 1
    row = counts[0] | 1
    layer = (row * counts[1]) | 1
    number = box @ np.array([1, row, layer])
    half = padded(int(number.max()) // 2 + 1)
    # A run may reach past the ends of a half by less than a vector.
    return LANES + number % 2 * (half + LANES) + number // 2, 2 * half + 3 * LANES


def padded(count: Any) -> Any:
    """Round up to whole vectors."""
    return -(-count // LANES) * LANES


def _edge_runs(places: Indices, size: int, edges: Indices, block: int) -> Runs:
    return runs_of(np.sort(places[edges], axis=1), size, block)


def runs_of(corners: Indices, size: int, block: int) -> Runs:
    """Sort elements, places of their corners (M, c), into runs: one of each kind in each block of first corners."""
    base, kind = corners[:, 0], corners[:, 0] // block
    for other in corners[:, 1:].T:
        # The block leads: runs of one block follow each other.
        _, kind = np.unique(kind * 2 * size + (other - base + size), return_inverse=True)
    count = int(kind.max(initial=-1)) + 1
    first, last, member = np.full(count, size), np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    np.minimum.at(first, kind, base)
    np.maximum.at(last, kind, base)
    member[kind] = np.arange(len(kind))
    first -= first % LANES
    length = padded(last + 1 - first)
    lane = np.concatenate([[0], np.cumsum(length)])
    starts = corners[member] - base[member, None] + first[:, None]
    table = np.column_stack([starts, lane[:-1], length])
    return Runs(np.ascontiguousarray(table), lane[kind] + base - first[kind], int(lane[-1]))


TURNS = {
    2: np.array([[0, 1], [1, 0]]),
    3: np.array([[0, 1, 2], [1, 2, 0], [2, 0, 1]]),
    4: np.array([p for p in permutations(range(4)) if np.linalg.det(np.eye(4)[list(p)]) > 0.0]),
}
"""Orders of the corners of an edge, and of a triangle or tetrahedron that keep its orientation."""


def element_runs(layout: Layout, corners: Indices) -> Runs:
    """Sort edges (M, 2), triangles (M, 3) or tetrahedra (M, 4) into runs, turned to begin with their lowest places."""
    turned = layout.places[corners][:, TURNS[corners.shape[1]]]
    best = np.argmin(turned[:, :, 0] * layout.size + turned[:, :, 1], axis=1)
    return runs_of(turned[np.arange(len(corners)), best], layout.size, layout.block)


def bodies(edges: Indices, count: int) -> Indices:
    """Return the number of the connected body that each of `count` particles belongs to."""
    ones = np.ones(len(edges), dtype=np.int8)
    return np.asarray(connected_components(csr_matrix((ones, edges.T), shape=(count, count)), directed=False)[1])


def box_places(points: Array, vectors: Array) -> Indices | None:
    """Return the places (N, 3) of points (N, 3) [m] in a box of rows, None if they do not fill one.

    `vectors` (M, 3) are the body's edges: their directions are tried as axes after those of the coordinates.

    >>> box_places(np.array([[0.0, 5.0, 0.0], [0.0, 2.0, 0.0]]), np.zeros((0, 3))).tolist()
    [[0, 1, 0], [0, 0, 0]]
    """
    for axes in _frames(vectors):
        places = _ranks(points @ axes.T)
        counts = (places.max(axis=0) + 1).tolist()
        if prod(counts) == len(points):
            numbers = np.ravel_multi_index(tuple(places.T), tuple(counts))
            if len(np.unique(numbers)) == len(points):
                return places
    return None


def _frames(vectors: Array) -> Iterator[Array]:
    """Yield frames of three orthogonal unit vectors, the commonest pairs of edge directions first."""
    yield np.eye(3)
    lengths = np.linalg.norm(vectors, axis=1)
    units = vectors[lengths > 0.0] / lengths[lengths > 0.0, None]
    if not len(units):
        return
    rounded = np.round(units, 6) + 0.0
    leading = rounded[np.arange(len(rounded)), np.argmax(rounded != 0.0, axis=1)]
    _, first, counts = np.unique(rounded * np.sign(leading)[:, None], axis=0, return_index=True, return_counts=True)
    common = units[first[np.argsort(-counts, kind="stable")[:DIRECTIONS]]]
    for k, one in enumerate(common):
        for other in common[k + 1 :]:
            if abs(one @ other) < 1e-6:
                second = other - (other @ one) * one
                second /= np.linalg.norm(second)
                yield np.stack([one, second, np.cross(one, second)])


def _ranks(coordinates: Array) -> Indices:
    """Number the distinct values of every column in increasing order."""
    apart = SAME_PLACE * max(np.ptp(coordinates, axis=0).max(), np.finfo(float).tiny)
    ranks = np.empty(coordinates.shape, dtype=np.int64)
    for axis in range(3):
        order = np.argsort(coordinates[:, axis], kind="stable")
        steps = np.diff(coordinates[order, axis], prepend=coordinates[order[0], axis]) > apart
        ranks[order, axis] = np.cumsum(steps)
    return ranks


@compiled(inside=True, vectors=True)
def begin_rows(weight: Reals, heavy: NDArray[np.bool_], force: Reals) -> None:
    """Put weights (3, size) [N] where forces are summed; zeros need not be read, which leaves the cache to edges."""
    for c in range(3):
        row, start = force[c], weight[c]
        if heavy[c]:
            for place in range(row.size):
                row[place] = start[place]
        else:
            for place in range(row.size):
                row[place] = 0.0


@compiled(contract=True)
def _kick_row(velocity: Reals, force: Reals, rate: Reals) -> Any:
    largest = magnitude(velocity[0])
    for place in range(velocity.size):
        kicked = velocity[place] + rate[place] * force[place]
        velocity[place] = kicked
        largest = max(largest, magnitude(kicked))
    return largest


@compiled(inside=True)
def kick_rows(velocities: Reals, force: Reals, rate: Reals) -> float:
    """v += h F/m of all particles; returns a bound of their speed [m/s] then, NaN if one is NaN."""
    largest = _kick_row(velocities[0], force[0], rate)
    for c in range(1, 3):
        largest = max(largest, _kick_row(velocities[c], force[c], rate))
    return float(speed(largest))


@compiled(inside=True, contract=True)
def drift_rows(positions: Reals, velocities: Reals, step: Reals) -> None:
    """x += h v of all particles."""
    for c in range(3):
        row, rate = positions[c], velocities[c]
        for q in range(row.size):
            row[q] += step[0] * rate[q]


@dataclass(frozen=True)
class InBoxes:
    """Particles at the places of a layout, in arrays of one precision.

    `motion` (9, size): x, y, z of positions [m], velocities [m/s] and forces [N]; `weight` (3, size) [N]; `rate`
    (size,): h/m [s/kg]; `step` (1,): h [s].
    """

    name: ClassVar[str] = "structured"
    layout: Layout
    motion: Reals
    weight: Reals
    rate: Reals
    step: Reals

    @classmethod
    def of(cls, layout: Layout, nodes: Nodes, h: float, dtype: DTypeLike) -> InBoxes:
        """Lay out nodes that are at their places already, for steps of `h` [s]."""
        size = layout.size
        motion, weight, rate = aligned((9, size), dtype), aligned((3, size), dtype), aligned(size, dtype)
        motion[:3], weight[:] = nodes.rest.T, nodes.weight.T
        rate[layout.places] = h / nodes.mass[layout.places]
        return cls(layout, motion, weight, rate, np.array([h], dtype))

    @property
    def vectors(self) -> tuple[Reals, Reals, Reals]:
        """Positions, velocities and forces as elements take them."""
        return self.motion[:3], self.motion[3:6], self.motion[6:]

    @property
    def views(self) -> tuple[Reals, Reals, Reals]:
        """The same as (N, 3) for everything else.

        Without the last place, which is nobody's, they have strides like those of rows: what acts on particles from
        outside is compiled once for both.
        """
        x, v, force = (rows[:, :-1].T for rows in self.vectors)
        return x, v, force

    def loop(self, group: ElementGroup) -> tuple[Any, Indices, Indices, int]:
        """Return the compiled loop over a group, its runs, the lane of every element and how many lanes there are."""
        runs = element_runs(self.layout, group.corners)
        width = VECTOR_BYTES // self.motion.itemsize
        rows = len(group.numbers), 0 if group.shared else len(group.constants), group.rows
        # Vectors of single precision take twice the work each, and memory keeps up without being asked.
        fetched = rows if self.motion.itemsize == 8 else (0, 0, 0)
        add = in_runs(group.element, group.corners.shape[1], width, group.shared, fetched)
        return add, runs.table, runs.of_element, runs.lanes

    def begin(self) -> Stage:
        """Return the stage that puts weights where forces are summed."""
        return Stage(begin_rows, (self.weight, self.weight.any(axis=1), self.motion[6:]))

    def kick(self, bound: Reals) -> Stage:
        """Return the stage that changes velocities by the forces; it leaves a bound of all speeds."""
        return Stage(kick_rows, (self.motion[3:6], self.motion[6:], self.rate), into=bound)

    def drift(self) -> Stage:
        """Return the stage that moves particles by their velocities."""
        return Stage(drift_rows, (self.motion[:3], self.motion[3:6], self.step))
