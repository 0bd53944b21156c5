"""Filling the lists of edges that may soon touch edges (3D), several going down the trees at a time.

Left out are edges that look the same way within 45 degrees, and those flat within 1 degree or concave where the lists
are made: they cannot be the first to touch.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.bounds import apart, bound_flags
from rheotwin.constraints.contact.search import (
    EDGE_CANDIDATES,
    EDGE_GROUPS,
    SAME_WAY,
    TOGETHER,
    Search,
    list_radius,
)
from rheotwin.constraints.contact.surface import ContactSurface
from rheotwin.constraints.contact.vectors import (
    ONES,
    Vector,
    cross,
    dot,
    length,
    lower,
    minus,
    plus,
    row,
    unit,
    upper,
)
from rheotwin.kernels.compiled import compiled

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

FLAT = np.sin(np.pi / 180)


@compiled(inside=True)
def _find_sharp(surface: ContactSurface, search: Search, x: Array) -> None:
    """Mark edges whose faces fall away from each other, and keep the mean of their normals."""
    for e in range(surface.edge.shape[0]):
        a, b = row(x, surface.edge[e, 0]), row(x, surface.edge[e, 1])
        along = minus(b, a)
        first, second = minus(row(x, surface.edge_opposite[e, 0]), a), minus(row(x, surface.edge_opposite[e, 1]), a)
        n, m = cross(along, first), cross(second, along)
        search.sharp[e] = dot(n, second) * length(along) < -FLAT * length(n) * length(m)
        mean = unit(plus(unit(n), 1.0, unit(m)))
        search.edge_normal[e, 0], search.edge_normal[e, 1], search.edge_normal[e, 2] = mean


@compiled(inside=True)
def list_edges(surface: ContactSurface, search: Search, x: Array, first_slot: int, held: Flags) -> bool:
    """Fill the lists of edges at positions x (N, 3) [m]; False when they are too short. Lasting ones are `held`."""
    bodies, groups, count = surface.partner.shape[0], 0, 0
    order, candidates = search.edge_order, search.edge_candidate
    _find_sharp(surface, search, x)
    bound_flags(search.tree, surface.face_edge, search.sharp, search.sharp_in)
    begin, end = 0, 0
    while begin < order.shape[0]:
        own = surface.edge_body[order[begin]]
        low, high = _edge_box(surface, x, order[begin])
        some = False
        while end < min(begin + TOGETHER, order.shape[0]) and surface.edge_body[order[end]] == own:
            if search.sharp[order[end]]:
                a, b = _edge_box(surface, x, order[end])
                low, high, some = (lower(low, a), upper(high, b), True) if some else (a, b, True)
            end += 1
        for body in range(bodies):
            if not some or not (surface.partner[own, body] or surface.partner[body, own]):
                continue
            radius = list_radius(search, own == body)
            reached = _reach_edges(surface, search, body, plus(low, -radius, ONES), plus(high, radius, ONES))
            for e in order[begin:end]:
                if not search.sharp[e]:
                    continue
                if groups + 1 >= search.edge_group.shape[0]:
                    return False
                search.edge_start[groups] = count
                a, b = _edge_box(surface, x, e)
                a, b = plus(a, -radius, ONES), plus(b, radius, ONES)
                for k in range(reached):
                    other = search.reached[k]
                    if _edges_may_touch(surface, search, x, e, other, a, b):
                        if count >= candidates.shape[0]:
                            return False
                        candidates[count] = other
                        count += 1
                if count > search.edge_start[groups] or held[first_slot + e * bodies + body]:
                    search.edge_group[groups, 0], search.edge_group[groups, 1] = e, body
                    groups += 1
        begin = end
    search.edge_start[groups] = count
    search.counter[EDGE_GROUPS], search.counter[EDGE_CANDIDATES] = groups, count
    return True


@compiled(inside=True)
def _reach_edges(surface: ContactSurface, search: Search, body: int, low: Vector, high: Vector) -> int:
    """Collect the sharp edges of a body kept by faces in leaves near a box."""
    tree, reached = search.tree, 0
    node, end = tree.root[body], tree.root[body + 1]
    while node < end:
        if not search.sharp_in[node] or apart(tree, node, low, high):
            node = tree.skip[node]
            continue
        if tree.skip[node] == node + 1:
            for k in range(tree.first[node], tree.last[node]):
                for side in range(3):
                    edge = surface.face_edge[tree.order[k], side]
                    if edge >= 0 and search.sharp[edge]:
                        search.reached[reached] = edge
                        reached += 1
        node += 1
    return reached


@compiled(inside=True)
def _edge_box(surface: ContactSurface, x: Array, e: int) -> tuple[Vector, Vector]:
    a, b = row(x, surface.edge[e, 0]), row(x, surface.edge[e, 1])
    return lower(a, b), upper(a, b)


@compiled(inside=True)
def _edges_may_touch(
    surface: ContactSurface, search: Search, x: Array, e: int, other: int, low: Vector, high: Vector
) -> bool:
    """Tell whether two edges share no node, look different ways and lie near each other."""
    if dot(row(search.edge_normal, e), row(search.edge_normal, other)) > SAME_WAY:
        return False
    for i in range(2):
        for j in range(2):
            if surface.edge[e, i] == surface.edge[other, j]:
                return False
    a, b = _edge_box(surface, x, other)
    low, high = minus(a, high), minus(low, b)
    return max(low[0], low[1], low[2], high[0], high[1], high[2]) <= 0.0
