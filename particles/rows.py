"""Particles in rows (x, y, z, 0, u, v, w, 0), sorted so that elements lie close; elements in batches.

Particles are sorted by reverse Cuthill-McKee, elements by their lowest particles. Elements that follow each other are
dealt among `APART` particles: a processor that adds to the same particle again and again waits for each sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import reverse_cuthill_mckee

from rheotwin.arrays import Indices, Reals
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.layouts import BATCH, ROW, in_batches
from rheotwin.kernels.stage import Stage
from rheotwin.kernels.vectors import aligned, load, slots, store
from rheotwin.particles.forces.elements import ElementGroup
from rheotwin.particles.state import ROOT_3, Nodes, begin_forces

APART = 32
"""Particles whose elements are dealt in turns."""


def particle_order(edges: Indices, count: int) -> Indices:
    """Return the particles (count,) in reverse Cuthill-McKee order of the graph of edges (M, 2).

    >>> particle_order(np.array([[0, 2], [2, 1]]), 3).tolist()
    [1, 2, 0]
    """
    start, end = edges.T
    ones = np.ones(2 * len(edges), dtype=np.int8)
    graph = csr_matrix((ones, (np.concatenate([start, end]), np.concatenate([end, start]))), shape=(count, count))
    return np.asarray(reverse_cuthill_mckee(graph, symmetric_mode=True), dtype=np.int64)


def inverse_order(order: Indices) -> Indices:
    """Return where every particle went: inverse[order[k]] = k."""
    inverse = np.empty(len(order), dtype=np.int64)
    inverse[order] = np.arange(len(order))
    return inverse


def edge_order(edges: Indices) -> Indices:
    """Return the edges (M, 2), start < end, by first particle, dealt in turns within `APART` particles."""
    start, end = edges.T
    by_start = np.lexsort((end, start))
    sorted_start = start[by_start]
    turn = np.empty(len(edges), dtype=np.int64)
    turn[by_start] = np.arange(len(edges)) - np.searchsorted(sorted_start, sorted_start)
    return np.lexsort((end, start, turn, start // APART))


def batches_of(corners: Indices, count: int) -> tuple[NDArray[np.int32], Indices]:
    """Order elements (M, c) by their lowest particles; return corners (lanes, c) and the lane of each (M,).

    Lanes that are no element have all their corners in the two particles after the last of `count`.
    """
    order = edge_order(np.sort(corners, axis=1)[:, :2])
    lanes: Indices = np.empty(len(corners), dtype=np.int64)
    lanes[order] = np.arange(len(corners))
    found = np.full((-(-len(corners) // BATCH) * BATCH, corners.shape[1]), count, dtype=np.int32)
    found[:, 1] = count + 1
    found[lanes] = corners
    return found, lanes


SPARE = 2
"""Rows after the last particle, for the corners of lanes that are no elements."""
_row = slots(ROW)


def row_places(edges: Indices, count: int) -> Indices:
    """Return where each of `count` particles lies among the rows."""
    return inverse_order(particle_order(edges, count))


@compiled(inside=True, vectors=True)
def kick_batches(velocities: Reals, force: Reals, rate: Reals, room: Reals) -> float:
    """v += h F/m of all particles; returns a bound of their speed [m/s] then, NaN if one is NaN; `room` (1, 4)."""
    store(room, 0, _row(0), 0.0)
    largest = load(room, 0, _row(0))
    wrong = largest
    for node in range(rate.size):
        kicked = load(velocities, node, _row(0)) + rate[node] * load(force, node, _row(0))
        store(velocities, node, _row(0), kicked)
        largest = max(largest, abs(kicked))
        wrong = wrong + 0.0 * kicked  # what is no number, or infinite, shows here
    store(room, 0, _row(0), largest + wrong)
    found = room[0, 0] + room[0, 1] + room[0, 2]
    return ROOT_3 * float(max(room[0, 0], max(room[0, 1], room[0, 2]))) if found == found else np.nan


@compiled(inside=True, vectors=True)
def drift_batches(positions: Reals, velocities: Reals, step: Reals) -> None:
    """x += h v of all particles."""
    for node in range(positions.shape[0]):
        moved = load(positions, node, _row(0)) + step[0] * load(velocities, node, _row(0))
        store(positions, node, _row(0), moved)


@dataclass(frozen=True)
class InRows:
    """Particles at `places` (N,), in arrays of one precision.

    `motion` (N + 2, 8): positions [m] and velocities [m/s]; `force` and `weight` (N + 2, 4) [N]; `rate` (N + 2): h/m
    [s/kg]; `step` (1,): h [s].
    """

    name: ClassVar[str] = "unstructured"
    places: Indices
    motion: Reals
    force: Reals
    weight: Reals
    rate: Reals
    step: Reals

    @classmethod
    def of(cls, places: Indices, nodes: Nodes, h: float, dtype: DTypeLike) -> InRows:
        """Lay out nodes that are at their places already, for steps of `h` [s]."""
        size = len(places) + SPARE
        motion, force, weight = (aligned((size, numbers), dtype) for numbers in (2 * ROW, ROW, ROW))
        rate = aligned(size, dtype)
        motion[:, :3], weight[:, :3] = nodes.rest, nodes.weight
        rate[places] = h / nodes.mass[places]
        return cls(places, motion, force, weight, rate, np.array([h], dtype))

    @property
    def vectors(self) -> tuple[Reals, Reals, Reals]:
        """Positions, velocities and forces as elements take them."""
        return self.motion[:, :ROW], self.motion[:, ROW:], self.force

    @property
    def views(self) -> tuple[Reals, Reals, Reals]:
        """The same as (N, 3) for everything else."""
        x, v, force = (rows[:, :3] for rows in self.vectors)
        return x, v, force

    def loop(self, group: ElementGroup) -> tuple[Any, NDArray[np.int32], Indices, int]:
        """Return the compiled loop over a group, its corners, the lane of every element and the number of lanes."""
        corners, of_element = batches_of(self.places[group.corners], len(self.places))
        return in_batches(group.element, corners.shape[1], group.shared), corners, of_element, len(corners)

    def begin(self) -> Stage:
        """Return the stage that puts weights where forces are summed."""
        return Stage(begin_forces, (self.weight, self.force))

    def kick(self, bound: Reals) -> Stage:
        """Return the stage that changes velocities by the forces; it leaves a bound of all speeds."""
        room = np.zeros((1, ROW), self.motion.dtype)
        return Stage(kick_batches, (self.motion[:, ROW:], self.force, self.rate, room), into=bound)

    def drift(self) -> Stage:
        """Return the stage that moves particles by their velocities."""
        return Stage(drift_batches, (self.motion[:, :ROW], self.motion[:, ROW:], self.step))
