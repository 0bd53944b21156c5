"""Filling the lists of who may soon touch whom: walks down the trees, for several vertices at a time.

Left out are, of the own body, faces that look the same way within 45 degrees (on a smooth surface all the
neighbours): they cannot be the first to touch.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.bounds import all_along, apart, bound_normals, refit
from rheotwin.constraints.contact.broad_edges import list_edges
from rheotwin.constraints.contact.search import (
    BUILT,
    CANDIDATES,
    GROUPS,
    LIST_REGION,
    NOW_MARGIN,
    REBUILDS,
    SAME_WAY,
    TOGETHER,
    Look,
    Search,
    list_radius,
    vertex_normal,
)
from rheotwin.constraints.contact.surface import ContactSurface, face_normal, first_edge_slot
from rheotwin.constraints.contact.vectors import ONES, Vector, dot, lower, minus, plus, row, unit, upper
from rheotwin.kernels.compiled import compiled

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

NEVER = 2.0
WIDEST = 64.0
"""The margin grows to no more than this times the usual one: 16 mean sides, passed at 8 sides a step."""


@compiled(inside=True, allocates=True)
def make_lists(surface: ContactSurface, search: Search, look: Look) -> bool:
    """Fill the lists for the motions of a step; False when they are too short.

    Contacts that last are listed even where there are no candidates.
    """
    search.counter[BUILT] = 0
    for face in range(surface.face.shape[0]):
        n = unit(face_normal(surface, look.begin, face))
        search.face_normal[face, 0], search.face_normal[face, 1], search.face_normal[face, 2] = n
    fastest = 0.0
    for v in range(surface.vertex.shape[0]):
        node = surface.vertex[v]
        motion = 0.0
        for c in range(3):
            search.reference[v, c] = look.begin[node, c]
            motion += (look.end[node, c] - look.begin[node, c]) ** 2
        fastest = max(fastest, motion)
        n = vertex_normal(surface, search.face_normal, v)
        search.normal[v, 0], search.normal[v, 1], search.normal[v, 2] = n
    search.now[NOW_MARGIN] = min(max(search.margin, 4.0 * np.sqrt(fastest)), WIDEST * search.margin)
    search.now[LIST_REGION] = look.region
    refit(search.tree, surface.face, look.begin)
    bound_normals(search.tree, search.face_normal)
    held = look.active & (look.feature >= 0)
    if not _list_faces(surface, search, look.begin, look.first_slot, held):
        return False
    if surface.edge.shape[0] > 0 and not list_edges(
        surface, search, look.begin, first_edge_slot(surface, look.first_slot), held
    ):
        return False
    search.counter[BUILT] = 1
    search.counter[REBUILDS] += 1
    return True


@compiled(inside=True)
def _list_faces(surface: ContactSurface, search: Search, x: Array, first_slot: int, held: Flags) -> bool:
    bodies, groups, count = surface.partner.shape[0], 0, 0
    order, most = search.vertex_order, search.candidate.shape[0]
    begin, end = 0, 0
    while begin < order.shape[0]:
        own = surface.vertex_body[order[begin]]
        low = high = row(x, surface.vertex[order[begin]])
        first = last = row(search.normal, order[begin])
        while end < min(begin + TOGETHER, order.shape[0]) and surface.vertex_body[order[end]] == own:
            p, n = row(x, surface.vertex[order[end]]), row(search.normal, order[end])
            low, high, first, last = lower(low, p), upper(high, p), lower(first, n), upper(last, n)
            end += 1
        for body in range(bodies):
            if not surface.partner[own, body]:
                continue
            radius = list_radius(search, own == body)
            same_way = SAME_WAY if own == body else NEVER
            reached = _reach_faces(
                search, body, plus(low, -radius, ONES), plus(high, radius, ONES), first, last, same_way
            )
            for v in order[begin:end]:
                if groups + 1 >= search.group.shape[0]:
                    return False
                search.start[groups] = count
                p, n = row(x, surface.vertex[v]), row(search.normal, v)
                for k in range(reached):
                    face = search.reached[k]
                    if _may_touch(surface, search, x, face, v, p, n, radius, same_way):
                        if count >= most:
                            return False
                        search.candidate[count] = face
                        count += 1
                if count > search.start[groups] or held[first_slot + v * bodies + body]:
                    search.group[groups, 0], search.group[groups, 1] = v, body
                    groups += 1
        begin = end
    search.start[groups] = count
    search.counter[GROUPS], search.counter[CANDIDATES] = groups, count
    return True


@compiled(inside=True)
def _reach_faces(
    search: Search, body: int, low: Vector, high: Vector, first: Vector, last: Vector, same_way: float
) -> int:
    """Collect the faces of a body in leaves near a box that do not all look along the normals first to last."""
    tree, reached = search.tree, 0
    node, end = tree.root[body], tree.root[body + 1]
    while node < end:
        if apart(tree, node, low, high) or all_along(tree, node, first, last, same_way):
            node = tree.skip[node]
            continue
        if tree.skip[node] == node + 1:
            for k in range(tree.first[node], tree.last[node]):
                search.reached[reached] = tree.order[k]
                reached += 1
        node += 1
    return reached


@compiled(inside=True)
def _may_touch(
    surface: ContactSurface,
    search: Search,
    x: Array,
    face: int,
    vertex: int,
    p: Vector,
    n: Vector,
    radius: float,
    same_way: float,
) -> bool:
    """Tell whether a face that is not the vertex' own looks another way and its box lies within the radius."""
    normal = row(search.face_normal, face)
    if dot(normal, n) > same_way or abs(dot(normal, minus(p, row(x, surface.face[face, 0])))) > radius:
        return False
    low = high = row(x, surface.face[face, 0])
    for corner in range(surface.dimension):
        if surface.face_vertex[face, corner] == vertex:
            return False
        low = lower(low, row(x, surface.face[face, corner]))
        high = upper(high, row(x, surface.face[face, corner]))
    low, high = minus(low, p), minus(p, high)
    return max(low[0], low[1], low[2], high[0], high[1], high[2]) <= radius
