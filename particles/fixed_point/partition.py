"""Which points belong to which module of the circuit: slabs, columns, or a cut through the graph of edges.

Every edge between two groups is worked on twice, so a partition is good when it cuts few edges and when no group
has more edge slots (its own edges and those it shares) than the others.

Inside a module edges need an order that a pipelined accumulator can take. An adder that reads a sum, adds and writes it
R cycles later would read the old sum if the same start index, or the same end index (which has RAMs of its own), came
again within R edges: a read-after-write hazard.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix
from scipy.sparse.csgraph import connected_components, laplacian
from scipy.sparse.linalg import eigsh

from rheotwin.arrays import Array, Indices
from rheotwin.errors import RheotwinError
from rheotwin.kernels.compiled import compiled

Partition = Literal["slabs", "columns", "boxes", "graph"]

SHIFT = 1e-3
"""Shift of the Laplacian towards the eigenvalues looked for, per mean degree: keeps the factorised matrix regular."""


def _ranks(order: Indices, parts: int) -> Indices:
    """Return the part of every entry when `order` is cut into `parts` runs of equal length."""
    found = np.empty(len(order), dtype=np.int64)
    found[order] = (np.arange(len(order)) * parts) // len(order)
    return found


def slabs(points: Array, parts: int, axis: int) -> Indices:
    """Cut a body across one axis into parts of equally many points; `points` (N, d) [m]."""
    return _ranks(np.argsort(points[:, axis], kind="stable"), parts)


def columns(points: Array, parts: int) -> Indices:
    """Cut a body into a grid of columns, 2 x 2 for four parts: first along its longest axis, then along the next."""
    first = max(number for number in range(1, int(np.sqrt(parts)) + 1) if parts % number == 0)
    second = parts // first
    long, next_long = np.argsort(-np.ptp(points, axis=0), kind="stable")[:2]
    outer = slabs(points, second, int(long))
    group = np.empty(len(points), dtype=np.int64)
    for part in range(second):
        inside = outer == part
        group[inside] = part * first + slabs(points[inside], first, int(next_long))
    return group


def boxes(points: Array, parts: int) -> Indices:
    """Cut a body into boxes, 2 x 2 x 2 for eight parts: columns, cut along the axis that is left."""
    layers = max(number for number in range(1, round(parts ** (1.0 / 3.0)) + 1) if parts % number == 0)
    inside = columns(points, parts // layers)
    last = int(np.argsort(-np.ptp(points, axis=0), kind="stable")[2])
    group = np.empty(len(points), dtype=np.int64)
    for part in range(parts // layers):
        own = inside == part
        group[own] = part * layers + slabs(points[own], layers, last)
    return group


def _graph(edges: Indices, count: int) -> csr_matrix:
    ones = np.ones(len(edges))
    half = coo_matrix((ones, (edges[:, 0], edges[:, 1])), shape=(count, count)).tocsr()
    return half + half.T


def _slow_mode(graph: csr_matrix) -> Array:
    """Return a vector that varies slowly along edges: the second eigenvector of the graph's Laplacian (Fiedler)."""
    pieces, label = connected_components(graph, directed=False)
    if pieces > 1:
        return np.asarray(label, dtype=np.float64)
    if graph.shape[0] < 4:
        return np.arange(graph.shape[0], dtype=np.float64)
    matrix = laplacian(graph)
    start = np.arange(graph.shape[0]) + 1.0  # the same partition on every run
    _, modes = eigsh(matrix.tocsc(), k=2, sigma=-SHIFT * graph.nnz / graph.shape[0], v0=start)
    return np.asarray(modes[:, -1])


def _bisected(graph: csr_matrix, parts: int) -> Indices:
    """Split a graph into `parts` by halves (or as near as the number allows) along its slow mode, again and again."""
    if parts == 1:
        return np.zeros(graph.shape[0], dtype=np.int64)
    lower = parts // 2
    order = np.argsort(_slow_mode(graph), kind="stable")
    cut = round(len(order) * lower / parts)
    group = np.empty(len(order), dtype=np.int64)
    for half, first, count in ((order[:cut], 0, lower), (order[cut:], lower, parts - lower)):
        kept = np.sort(half)
        group[kept] = first + _bisected(graph[kept][:, kept], count)
    return group


def graph_parts(edges: Indices, count: int, parts: int) -> Indices:
    """Split `count` points joined by `edges` (M, 2) by recursive spectral bisection: any mesh, equally many points."""
    return _bisected(_graph(edges, count), parts)


def partition(points: Array, edges: Indices, parts: int, kind: Partition = "slabs") -> Indices:
    """Return the group (N,) of every point; `points` (N, d) [m], `edges` (M, 2).

    Slabs lie across the longest axis.
    """
    if kind not in get_args(Partition):
        raise RheotwinError(f"partition {kind!r} is unknown; choose from {', '.join(get_args(Partition))}")
    if not 1 <= parts <= len(points):
        raise RheotwinError(f"{parts} modules cannot share {len(points)} points; choose 1 to {len(points)}")
    if parts == 1:
        return np.zeros(len(points), dtype=np.int64)
    if kind == "graph":
        return graph_parts(edges, len(points), parts)
    if kind == "boxes" and points.shape[1] > 2:
        return boxes(points, parts)
    if kind in ("columns", "boxes") and points.shape[1] > 1:
        return columns(points, parts)
    return slabs(points, parts, int(np.argmax(np.ptp(points, axis=0))))


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
