"""Orders of edges that a pipelined accumulator can take: no start (or end) comes again before it is written back.

An adder that reads a sum, adds and writes it R cycles later would read the old sum if the same start index, or the
same end index (which has RAMs of its own), came again within R edges: a read-after-write hazard.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheotwin.errors import RheotwinError
from rheotwin.kernels.compiled import compiled

Indices = NDArray[np.int64]

LATENCY = 3
"""Cycles of an accumulator from reading a sum to having written it, as the timing model takes them."""
BUBBLE = -1
"""A slot without an edge, where none fits."""


def hazards(edges: Indices, latency: int) -> int:
    """Return how many pairs of slots at most `latency` apart share a start or an end; `edges` (M, 2), bubbles -1."""
    found = 0
    for apart in range(1, latency + 1):
        same = edges[apart:] == edges[:-apart]
        found += int(np.count_nonzero(same & (edges[apart:] != BUBBLE)))
    return found


def check_hazards(edges: Indices, latency: int) -> None:
    """Refuse an order of edges (M, 2) whose sums an accumulator of that latency would get wrong."""
    for apart in range(1, latency + 1):
        rows, columns = np.nonzero((edges[apart:] == edges[:-apart]) & (edges[apart:] != BUBBLE))
        if len(rows):
            first, side = int(rows[0]), ("start", "end")[columns[0]]
            raise RheotwinError(
                f"edges {first} and {first + apart} have the same {side} point, {int(edges[first, columns[0]])}, but "
                f"an accumulator that takes {latency} cycles needs more than {latency} edges between them; order the "
                "edges by direction class or with hazard_free_order"
            )


@compiled(allocates=True)
def _scheduled(edges: Indices, latency: int, points: int, slots: Indices) -> int:
    """Fill `slots` greedily: the first edge left, from where the last search ended, whose points are rested."""
    count = edges.shape[0]
    ready_start, ready_end = np.zeros(points, np.int64), np.zeros(points, np.int64)
    following = np.arange(1, count + 1)  # ring of the edges left
    following[count - 1] = 0
    before, left, slot = count - 1, count, 0
    while left:
        searched = 0
        while searched < left:
            edge = following[before]
            if ready_start[edges[edge, 0]] <= slot and ready_end[edges[edge, 1]] <= slot:
                break
            before = edge
            searched += 1
        if searched == left:
            slots[slot] = -1
        else:
            edge = following[before]
            slots[slot] = edge
            ready_start[edges[edge, 0]] = slot + latency + 1
            ready_end[edges[edge, 1]] = slot + latency + 1
            following[before] = following[edge]
            left -= 1
        slot += 1
    return slot


def hazard_free_order(edges: Indices, latency: int) -> Indices:
    """Return which edge stands in each slot, -1 for none, so that no hazard is left; `edges` (M, 2).

    The sums do not depend on the order, so results stay the same to the bit.
    """
    if len(edges) == 0:
        return np.zeros(0, dtype=np.int64)
    points = int(edges.max()) + 1
    slots = np.empty(len(edges) * (latency + 1), dtype=np.int64)
    used = _scheduled(np.ascontiguousarray(edges, dtype=np.int64), latency, points, slots)
    return slots[:used]


def in_slots(edges: Indices, order: Indices) -> Indices:
    """Return the ends (S, 2) of the edges in their slots, -1 in both where there is none."""
    return np.where(order[:, None] == BUBBLE, BUBBLE, edges[order])
