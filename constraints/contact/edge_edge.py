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
from rheotwin.constraints.contact.search import Search
from rheotwin.constraints.contact.surface import NO_FACE, ContactSurface
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
def crossing(surface: ContactSurface, x: Array, first: int, second: int, even: bool) -> Crossing:
    """Return how two edges without a common node cross; `even` leaves out those that vertices hold, see `flush`."""
    nothing = (False, np.inf, (0.0, 0.0, 0.0), 0.0, 0.0)
    i, k = row(x, surface.edge[first, 0]), row(x, surface.edge[second, 0])
    u, w = minus(row(x, surface.edge[first, 1]), i), minus(row(x, surface.edge[second, 1]), k)
    n = cross(u, w)
    size = length(n)
    if size <= PARALLEL * length(u) * length(w):
        return nothing
    apart = minus(k, i)
    a, b = dot(cross(apart, w), n) / (size * size), dot(cross(apart, u), n) / (size * size)
    if not (END < a < 1.0 - END and END < b < 1.0 - END):
        return nothing
    facing = dot(n, minus(_looks(surface, x, second), _looks(surface, x, first)))
    n = times((1.0 if facing > 0.0 else -1.0) / size, n)
    if not _outermost(surface, x, first, second, i, k, n):
        return nothing
    if even and vertices_hold(surface, x, first, second, n, a, b):
        return nothing
    return True, -dot(apart, n), n, a, b


@compiled(inside=True)
def _looks(surface: ContactSurface, x: Array, edge: int) -> Vector:
    """Return the sum of the unit normals of the two faces at an edge."""
    a = row(x, surface.edge[edge, 0])
    along = minus(row(x, surface.edge[edge, 1]), a)
    first = cross(along, minus(row(x, surface.edge_opposite[edge, 0]), a))
    second = cross(minus(row(x, surface.edge_opposite[edge, 1]), a), along)
    return plus(unit(first), 1.0, unit(second))


@compiled(inside=True)
def _outermost(surface: ContactSurface, x: Array, first: int, second: int, i: Vector, k: Vector, n: Vector) -> bool:
    """Tell whether the bodies lie on opposite sides of the edges, the first along n."""
    for side in range(2):
        above = minus(row(x, surface.edge_opposite[first, side]), i)
        below = minus(row(x, surface.edge_opposite[second, side]), k)
        if dot(above, n) < -OUTERMOST * length(above) or dot(below, n) > OUTERMOST * length(below):
            return False
    return True


@compiled(inside=True)
def touched_edge(
    surface: ContactSurface, search: Search, group: int, x_begin: Array, x_end: Array, region: float, held: int,
    even: bool,
) -> int:  # fmt: skip
    """Return the edge that the group's edge touches on its body, NO_FACE for none; `held` is that of a lasting contact.

    Without history it is the one of the smallest gap, and edges that overlap touch only if they were apart at the
    beginning of the step: what gets between the ends of an edge sideways, at some depth, would bring energy along.
    """
    edge = search.edge_group[group, 0]
    if held != NO_FACE and crossing(surface, x_end, edge, held, even)[0]:
        return held
    best, smallest = NO_FACE, np.inf
    for k in range(search.edge_start[group], search.edge_start[group + 1]):
        other = search.edge_candidate[k]
        touches, gap, normal, a, b = crossing(surface, x_end, edge, other, even)
        if not touches or gap > region or abs(gap) >= smallest:
            continue
        if gap < 0.0:
            before = _height(surface, x_begin, edge, other, normal, a, b)
            if before < -AT_SURFACE * search.reach:
                continue
        best, smallest = other, abs(gap)
    return best


@compiled(inside=True)
def _height(surface: ContactSurface, x: Array, first: int, second: int, n: Vector, a: float, b: float) -> float:
    """Return how far apart, along n, the points with the shares a and b of two edges are."""
    p = plus(times(1.0 - a, row(x, surface.edge[first, 0])), a, row(x, surface.edge[first, 1]))
    q = plus(times(1.0 - b, row(x, surface.edge[second, 0])), b, row(x, surface.edge[second, 1]))
    height: float = dot(minus(p, q), n)
    return height
