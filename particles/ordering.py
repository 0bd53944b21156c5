"""Orders of particles and edges that keep what a step reads and writes close together in memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import reverse_cuthill_mckee

Indices = NDArray[np.int64]

APART = 32
"""Particles whose edges are dealt in turns: edges that follow each other then write to different particles."""


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
    """Return the edges (M, 2), start < end, by first particle, dealt in turns within `APART` particles.

    A processor that adds to the same particle again and again waits for each sum; in turns it does not.
    """
    start, end = edges.T
    by_start = np.lexsort((end, start))
    sorted_start = start[by_start]
    turn = np.empty(len(edges), dtype=np.int64)
    turn[by_start] = np.arange(len(edges)) - np.searchsorted(sorted_start, sorted_start)
    return np.lexsort((end, start, turn, start // APART))
