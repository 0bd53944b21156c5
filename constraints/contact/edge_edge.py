"""Two edges that cross (3D): normal along +-(u x w), feet at the shares a and b of the edges (spec 8).

    gap = n . ((1 - a) x_i + a x_j - (1 - b) x_k - b x_l),   u = x_j - x_i,  w = x_l - x_k

n points the way the second edge looks and the first does not, n . (N_second - N_first) > 0 with the sums N of the
normals of their faces. They touch only where n lies between the normals of the faces at the second edge and -n between
those at the first, so that the edges are the outermost parts of both bodies along n. Edges that are parallel within
1e-6 are skipped: vertices at faces do their work, as they do at the ends of an edge.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.flush import vertices_hold
from rheotwin.constraints.contact.pairs import NO_TOOL, Pairs
from rheotwin.constraints.contact.search import EDGE_GROUPS, FINE, PAIRS_FULL, Lists, Remembered
from rheotwin.constraints.contact.surface import NO_FACE, Edges
from rheotwin.constraints.contact.vectors import Vector, cross, dot, length, minus, plus, row, times, unit
from rheotwin.constraints.contact.vertex_face import AT_SURFACE
from rheotwin.kernels.compiled import compiled

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

PARALLEL = 1e-6
END = 1e-6
"""Feet closer to an end than this share of the edge belong to its vertex."""
OUTERMOST = 0.1
"""How far, as a sine, n may lie beyond the normals of the faces at an edge."""

Crossing: TypeAlias = tuple[bool, float, Vector, float, float]
"""Whether the edges touch, gap [m], unit normal from the second to the first, shares a and b."""


@compiled(inside=True)
def crossing(edges: Edges, x: Array, first: int, second: int, even: bool | None) -> Crossing:
    """Return how two edges without a common node cross; `even` leaves out those that vertices hold, see `flush`."""
    nothing = (False, np.inf, (0.0, 0.0, 0.0), 0.0, 0.0)
    i, k = row(x, edges.ends[first, 0]), row(x, edges.ends[second, 0])
    u, w = minus(row(x, edges.ends[first, 1]), i), minus(row(x, edges.ends[second, 1]), k)
    n = cross(u, w)
    size = length(n)
    if size <= PARALLEL * length(u) * length(w):
        return nothing
    apart = minus(k, i)
    a, b = dot(cross(apart, w), n) / (size * size), dot(cross(apart, u), n) / (size * size)
    if not (END < a < 1.0 - END and END < b < 1.0 - END):
        return nothing
    facing = dot(n, minus(_looks(edges, x, second), _looks(edges, x, first)))
    n = times((1.0 if facing > 0.0 else -1.0) / size, n)
    if not _outermost(edges, x, first, second, i, k, n):
        return nothing
    if even is not None and vertices_hold(edges, x, first, second, n, a, b):
        return nothing
    return True, -dot(apart, n), n, a, b


@compiled(inside=True)
def _looks(edges: Edges, x: Array, edge: int) -> Vector:
    """Return the sum of the unit normals of the two faces at an edge."""
    a = row(x, edges.ends[edge, 0])
    along = minus(row(x, edges.ends[edge, 1]), a)
    first = cross(along, minus(row(x, edges.opposite[edge, 0]), a))
    second = cross(minus(row(x, edges.opposite[edge, 1]), a), along)
    return plus(unit(first), 1.0, unit(second))


@compiled(inside=True)
def _outermost(edges: Edges, x: Array, first: int, second: int, i: Vector, k: Vector, n: Vector) -> bool:
    """Tell whether the bodies lie on opposite sides of the edges, the first along n."""
    for side in range(2):
        above = minus(row(x, edges.opposite[first, side]), i)
        below = minus(row(x, edges.opposite[second, side]), k)
        if dot(above, n) < -OUTERMOST * length(above) or dot(below, n) > OUTERMOST * length(below):
            return False
    return True


@compiled(inside=True)
def _height(edges: Edges, x: Array, first: int, second: int, n: Vector, a: float, b: float) -> float:
    """Return how far apart, along n, the points with the shares a and b of two edges are."""
    p = plus(times(1.0 - a, row(x, edges.ends[first, 0])), a, row(x, edges.ends[first, 1]))
    q = plus(times(1.0 - b, row(x, edges.ends[second, 0])), b, row(x, edges.ends[second, 1]))
    height: float = dot(minus(p, q), n)
    return height


@compiled(inside=True)
def choose_edges(
    edges: Edges, even: bool | None, x_begin: Array, x_end: Array, lists: Lists, history: Remembered, chosen: Indices,
    first_slot: int, bodies: int, region: float, reach: float, full: Indices,
) -> None:  # fmt: skip
    """Let each edge choose the one that it touches on each body, NO_FACE for none.

    Without history it is the one of the smallest gap, and edges that overlap touch only if they were apart at the
    beginning of the step: what gets between the ends of an edge sideways, at some depth, would bring energy along.
    """
    for group in range(lists.counter[EDGE_GROUPS] if full[0] == FINE else 0):
        edge, place = lists.group[group, 0], lists.group[group, 0] * bodies + lists.group[group, 1]
        held = history.feature[first_slot + place] if history.active[first_slot + place] else NO_FACE
        if held != NO_FACE and crossing(edges, x_end, edge, held, even)[0]:
            chosen[place] = held
            continue
        best, smallest = NO_FACE, np.inf
        for k in range(lists.start[group], lists.start[group + 1]):
            other = lists.candidate[k]
            touches, gap, normal, a, b = crossing(edges, x_end, edge, other, even)
            if not touches or gap > region or abs(gap) >= smallest:
                continue
            if gap < 0.0 and _height(edges, x_begin, edge, other, normal, a, b) < -AT_SURFACE * reach:
                continue
            best, smallest = other, abs(gap)
        chosen[place] = best


@compiled(inside=True)
def find_edges(
    edges: Edges, even: bool | None, x_end: Array, lists: Lists, history: Remembered, chosen: Indices,
    first_slot: int, bodies: int, region: float, pairs: Pairs, full: Indices,
) -> None:  # fmt: skip
    """Append the contacts of edges with gap <= region [m]; where two have chosen each other, one reports it.

    That is the one whose contact lasts, so that its history goes on, else the lower one.
    """
    if full[0] != FINE:
        return
    p, groups = pairs.count[0], lists.counter[EDGE_GROUPS]
    for group in range(groups):
        edge, place = lists.group[group, 0], lists.group[group, 0] * bodies + lists.group[group, 1]
        other, slot = chosen[place], first_slot + place
        if other == NO_FACE:
            continue
        back = other * bodies + edges.body[edge]
        lasts, lasts_there = history.active[slot], history.active[first_slot + back]
        if chosen[back] == edge and (lasts_there > lasts or (lasts_there == lasts and other < edge)):
            continue
        touches, gap, normal, a, b = crossing(edges, x_end, edge, other, even)
        if not touches or gap > region:
            continue
        if p >= pairs.gap.shape[0]:
            full[0] = PAIRS_FULL
            break
        k, m = row(x_end, edges.ends[other, 0]), row(x_end, edges.ends[other, 1])
        point = plus(times(1.0 - b, k), b, m)
        for end in range(2):
            pairs.node[p, end], pairs.node[p, 2 + end] = edges.ends[edge, end], edges.ends[other, end]
        pairs.weight[p, 0], pairs.weight[p, 1], pairs.weight[p, 2], pairs.weight[p, 3] = 1.0 - a, a, b - 1.0, -b
        for c in range(3):
            pairs.normal[p, c], pairs.point[p, c] = normal[c], point[c]
        pairs.gap[p], pairs.tool[p], pairs.slot[p] = gap, NO_TOOL, slot
        history.feature[slot] = other
        p += 1
    pairs.count[0] = p
    for group in range(groups):
        chosen[lists.group[group, 0] * bodies + lists.group[group, 1]] = NO_FACE
