"""Orders of particles and elements that keep what a step reads and writes close together, and elements in batches.

Particles are sorted by reverse Cuthill-McKee, elements by their lowest particles. Elements that follow each other are
dealt among `APART` particles: a processor that adds to the same particle again and again waits for each sum.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import reverse_cuthill_mckee

from rheotwin.arrays import Indices
from rheotwin.kernels.layouts import BATCH

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
