"""Edges cut into parts that write to particles of their own, so that the sums are the same on any number of threads.

Particles in their new order are cut into ranges; a part has the edges that start in its range. What its edges add to
particles of the next range goes to rows of its own (the spill) and is added there by the next part afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rheotwin.particles.ordering import APART, edge_order
from rheotwin.particles.unstructured.transpose import BATCH

Indices = NDArray[np.int64]

MOST = 8
"""Parts of a large body."""
EDGES = 10_000
"""Least edges of a part: smaller bodies are one part."""
LOW, HIGH, FIRST, CROSSING, LAST, SPILL, REACH = range(7)
"""Columns of the table of parts: particles, edges up to those that cross, edges, first spill row, spill rows."""


@dataclass(frozen=True)
class Parts:
    """`edges` (lanes, 2) int32 in the order of the loop, lanes (M,) of the given edges, and the table (parts, 7).

    Lanes that are no edge join particles after the last, or one of them and the first of the next range: their
    constants are zero. `rows` of force: particles, two more, spills.
    """

    edges: NDArray[np.int32]
    edge_lanes: Indices
    table: Indices
    rows: int


def cut(edges: Indices, count: int) -> Parts:
    """Cut edges (M, 2) between `count` particles, already in a good order, into parts.

    >>> parts = cut(np.array([[1, 2], [1, 0]]), 3)
    >>> parts.edges[:3].tolist(), parts.edge_lanes.tolist(), parts.rows
    ([[0, 1], [1, 2], [3, 4]], [1, 0], 5)
    """
    ends = np.sort(edges, axis=1)
    order = edge_order(ends)
    ordered = ends[order]
    bounds = _ranges(ordered, count)
    lanes, table, lane, row = np.empty(len(edges), dtype=np.int64), [], 0, count + 2
    joined = []
    for low, high in pairwise(bounds):
        own = (ordered[:, 0] >= low) & (ordered[:, 0] < high)
        inside, crossing = (np.flatnonzero(own & (beyond == (ordered[:, 1] >= high))) for beyond in (False, True))
        middle, last = lane + _padded(len(inside)), lane + _padded(len(inside)) + _padded(len(crossing))
        lanes[order[inside]] = lane + np.arange(len(inside))
        lanes[order[crossing]] = middle + np.arange(len(crossing))
        reach = int(ordered[crossing, 1].max()) + 1 - high if len(crossing) else 0
        table.append((low, high, lane, middle, last, row, reach))
        joined += [np.tile([count, count + 1], (middle - lane, 1)), np.tile([count, high], (last - middle, 1))]
        lane, row = last, row + reach
    pairs = np.concatenate(joined).astype(np.int32)
    pairs[lanes] = ends
    return Parts(pairs, lanes, np.array(table, dtype=np.int64), row)


def batches_of(corners: Indices, count: int) -> tuple[NDArray[np.int32], Indices]:
    """Order tetrahedra (M, 4) by their lowest particles; return corners (lanes, 4) and the lane of each (M,).

    Lanes that are no tetrahedron have all their corners in the two particles after the last of `count`.
    """
    order = edge_order(np.sort(corners, axis=1)[:, :2])
    lanes: Indices = np.empty(len(corners), dtype=np.int64)
    lanes[order] = np.arange(len(corners))
    found = np.full((_padded(len(corners)), corners.shape[1]), count, dtype=np.int32)
    found[:, 1] = count + 1
    found[lanes] = corners
    return found, lanes


def _padded(edges: int) -> int:
    return -(-edges // BATCH) * BATCH


def _ranges(ordered: Indices, count: int) -> list[int]:
    """Cut particles where edges are shared equally; every range is at least as long as any edge reaches."""
    reach = int((ordered[:, 1] - ordered[:, 0]).max())
    for parts in range(min(MOST, max(1, len(ordered) // EDGES)), 1, -1):
        starts = np.sort(ordered[:, 0])[np.arange(1, parts) * len(ordered) // parts] // APART * APART
        bounds = [0, *starts.tolist(), count]
        if np.diff(bounds).min() > reach:
            return bounds
    return [0, count]
