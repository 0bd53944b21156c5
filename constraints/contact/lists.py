"""Filling the lists of who may soon touch whom: walks down the trees, for several vertices or edges at a time.

Left out are, of the own body, faces that look the same way within 45 degrees (on a smooth surface all the neighbours),
edges that do so, and those flat within 1 degree or concave: they cannot be the first to touch.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.bounds import Tree, all_along, apart
from rheotwin.constraints.contact.search import (
    BUILT,
    CANDIDATES,
    EDGE_CANDIDATES,
    EDGE_GROUPS,
    FINE,
    GROUPS,
    LIST_REGION,
    NOW_MARGIN,
    REBUILDS,
    SAME_WAY,
    SEARCH_FULL,
    TOGETHER,
    Lists,
    Remembered,
)
from rheotwin.constraints.contact.surface import Edges, Faces, Vertices, face_normal
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
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]

NEVER = 2.0
WIDEST = 64.0
"""The margin grows to no more than this times the usual one: 16 mean sides, passed at 8 sides a step."""
FLAT = np.sin(np.pi / 180)


@compiled(inside=True)
def pass_if_lists_hold(
    node: Indices, x_begin: Array, x_end: Array, reference: Array, now: Array, counter: Indices, region: float,
    ahead: int,
) -> int:  # fmt: skip
    """Skip `ahead` stages if the lists are complete for a step from x_begin to x_end (N, 3) [m] and this `region`."""
    if counter[BUILT] == 0 or region > now[LIST_REGION]:
        return 0
    most = 0.25 * now[NOW_MARGIN] ** 2
    for v in range(node.shape[0]):
        end, begin = 0.0, 0.0
        for c in range(3):
            end += (x_end[node[v], c] - reference[v, c]) ** 2
            begin += (x_begin[node[v], c] - reference[v, c]) ** 2
        if not (end <= most and begin <= most):
            return 0
    return ahead


@compiled(inside=True)
def begin_lists(
    faces: Faces, across: Indices | None, node: Indices, x_begin: Array, x_end: Array, face_normals: Array,
    normals: Array, reference: Array, now: Array, counter: Indices, margin: float, region: float,
) -> None:  # fmt: skip
    """Note where lists are made and for which margin, and the unit normals of faces (F, 3) and vertices (V, 3)."""
    for face in range(faces.corner.shape[0]):
        n = unit(face_normal(faces, across, x_begin, face))
        face_normals[face, 0], face_normals[face, 1], face_normals[face, 2] = n
    fastest = 0.0
    for v in range(node.shape[0]):
        motion, mean = 0.0, (0.0, 0.0, 0.0)
        for c in range(3):
            reference[v, c] = x_begin[node[v], c]
            motion += (x_end[node[v], c] - x_begin[node[v], c]) ** 2
        fastest = max(fastest, motion)
        for k in range(faces.offset[v], faces.offset[v + 1]):
            mean = plus(mean, 1.0, row(face_normals, faces.around[k]))
        normals[v, 0], normals[v, 1], normals[v, 2] = unit(mean)
    now[NOW_MARGIN] = min(max(margin, 4.0 * np.sqrt(fastest)), WIDEST * margin)
    now[LIST_REGION] = region
    counter[BUILT] = 0


@compiled(inside=True)
def _radius(now: Array, itself: bool, reach: float) -> float:
    """Return how far away candidates may be [m]; nothing reaches into its own body unless it crossed a face."""
    return float(now[NOW_MARGIN] + (now[LIST_REGION] if itself else max(now[LIST_REGION], reach)))


@compiled(inside=True)
def list_faces(
    faces: Faces, vertices: Vertices, partner: Flags, tree: Tree, face_normals: Array, normals: Array, order: Indices,
    lists: Lists, history: Remembered, first_slot: int, reached: Indices, now: Array, reach: float, x: Array,
    full: Indices,
) -> None:  # fmt: skip
    """Fill the lists of vertices at positions x (N, 3) [m]; `full` (1,) tells when they are too short.

    Contacts that last are listed even where there are no candidates.
    """
    bodies, groups, count = partner.shape[0], 0, 0
    begin, end = 0, 0
    while begin < order.shape[0]:
        own = vertices.body[order[begin]]
        low = high = row(x, vertices.node[order[begin]])
        first = last = row(normals, order[begin])
        while end < min(begin + TOGETHER, order.shape[0]) and vertices.body[order[end]] == own:
            p, n = row(x, vertices.node[order[end]]), row(normals, order[end])
            low, high, first, last = lower(low, p), upper(high, p), lower(first, n), upper(last, n)
            end += 1
        for body in range(bodies):
            if not partner[own, body]:
                continue
            radius, same_way = _radius(now, own == body, reach), SAME_WAY if own == body else NEVER
            near_low, near_high = plus(low, -radius, ONES), plus(high, radius, ONES)
            found, node = 0, tree.root[body]
            while node < tree.root[body + 1]:
                if apart(tree.box, node, near_low, near_high) or all_along(tree.normals, node, first, last, same_way):
                    node = tree.skip[node]
                    continue
                if tree.skip[node] == node + 1:
                    for k in range(tree.first[node], tree.last[node]):
                        reached[found] = tree.order[k]
                        found += 1
                node += 1
            for at in range(begin, end):
                v = order[at]
                slot = first_slot + v * bodies + body
                if full[0] != FINE or groups + 1 >= lists.group.shape[0]:
                    full[0] = SEARCH_FULL
                    return
                lists.start[groups] = count
                p, n = row(x, vertices.node[v]), row(normals, v)
                for k in range(found):
                    if _may_touch(faces, face_normals, x, reached[k], v, p, n, radius, same_way):
                        count = _list(lists, count, reached[k], full)
                groups = _close(lists, history, slot, groups, count, v, body)
        begin = end
    lists.start[groups] = count
    lists.counter[GROUPS], lists.counter[CANDIDATES] = groups, count


@compiled(inside=True, merged=True)
def _list(lists: Lists, count: int, candidate: int, full: Indices) -> int:
    """Put a candidate behind `count` others if there is room; return how many there are."""
    if count >= lists.candidate.shape[0]:
        full[0] = SEARCH_FULL
        return count
    lists.candidate[count] = candidate
    return count + 1


@compiled(inside=True, merged=True)
def _close(lists: Lists, history: Remembered, slot: int, groups: int, count: int, which: int, body: int) -> int:
    """End the group of a vertex or edge at a body, kept if anything is near or its contact lasts; return how many."""
    if count == lists.start[groups] and not (history.active[slot] and history.feature[slot] >= 0):
        return groups
    lists.group[groups, 0], lists.group[groups, 1] = which, body
    return groups + 1


@compiled(inside=True, merged=True)
def _may_touch(
    faces: Faces, face_normals: Array, x: Array, face: int, vertex: int, p: Vector, n: Vector, radius: float,
    same_way: float,
) -> bool:  # fmt: skip
    """Tell whether a face that is not the vertex' own looks another way and its box lies within the radius."""
    normal, first = row(face_normals, face), row(x, faces.corner[face, 0])
    if dot(normal, n) > same_way or abs(dot(normal, minus(p, first))) > radius:
        return False
    low = high = first
    for corner in range(3):
        node = faces.corner[face, corner]
        if node < 0:
            continue
        if faces.vertex[face, corner] == vertex:
            return False
        low, high = lower(low, row(x, node)), upper(high, row(x, node))
    low, high = minus(low, p), minus(p, high)
    return max(low[0], low[1], low[2], high[0], high[1], high[2]) <= radius


@compiled(inside=True)
def find_sharp(
    edges: Edges, face_edge: Indices, tree: Tree, x: Array, sharp: Flags, means: Array, sharp_in: Flags
) -> None:
    """Mark edges whose faces fall away from each other, the means of their normals, and tree nodes that hold some."""
    for e in range(edges.ends.shape[0]):
        a, b = row(x, edges.ends[e, 0]), row(x, edges.ends[e, 1])
        along = minus(b, a)
        first, second = minus(row(x, edges.opposite[e, 0]), a), minus(row(x, edges.opposite[e, 1]), a)
        n, m = cross(along, first), cross(second, along)
        sharp[e] = dot(n, second) * length(along) < -FLAT * length(n) * length(m)
        means[e, 0], means[e, 1], means[e, 2] = unit(plus(unit(n), 1.0, unit(m)))
    for node in range(tree.skip.shape[0] - 1, -1, -1):
        left = node + 1
        sharp_in[node] = False
        if tree.skip[node] != left:
            sharp_in[node] = sharp_in[left] or sharp_in[tree.skip[left]]
            continue
        for k in range(tree.first[node], tree.last[node]):
            for side in range(3):
                edge = face_edge[tree.order[k], side]
                if edge >= 0 and sharp[edge]:
                    sharp_in[node] = True


@compiled(inside=True)
def list_edges(
    edges: Edges, face_edge: Indices, partner: Flags, tree: Tree, sharp: Flags, means: Array, sharp_in: Flags,
    order: Indices, lists: Lists, history: Remembered, first_slot: int, reached: Indices, now: Array, reach: float,
    x: Array, full: Indices,
) -> None:  # fmt: skip
    """Fill the lists of edges at positions x (N, 3) [m]; `full` (1,) tells when they are too short."""
    bodies, groups, count = partner.shape[0], 0, 0
    begin, end = 0, 0
    while begin < order.shape[0] and full[0] == FINE:
        own = edges.body[order[begin]]
        low, high = _edge_box(edges, x, order[begin])
        some = False
        while end < min(begin + TOGETHER, order.shape[0]) and edges.body[order[end]] == own:
            if sharp[order[end]]:
                a, b = _edge_box(edges, x, order[end])
                low, high, some = (lower(low, a), upper(high, b), True) if some else (a, b, True)
            end += 1
        for body in range(bodies):
            if not some or not (partner[own, body] or partner[body, own]):
                continue
            radius = _radius(now, own == body, reach)
            found = _reach_edges(
                face_edge, tree, sharp, sharp_in, body, plus(low, -radius, ONES), plus(high, radius, ONES), reached
            )
            for at in range(begin, end):
                e = order[at]
                slot = first_slot + e * bodies + body
                if not sharp[e]:
                    continue
                if full[0] != FINE or groups + 1 >= lists.group.shape[0]:
                    full[0] = SEARCH_FULL
                    return
                lists.start[groups] = count
                a, b = _edge_box(edges, x, e)
                a, b = plus(a, -radius, ONES), plus(b, radius, ONES)
                for k in range(found):
                    if _edges_may_touch(edges, means, x, e, reached[k], a, b):
                        count = _list(lists, count, reached[k], full)
                groups = _close(lists, history, slot, groups, count, e, body)
        begin = end
    lists.start[groups] = count
    lists.counter[EDGE_GROUPS], lists.counter[EDGE_CANDIDATES] = groups, count


@compiled(inside=True)
def _reach_edges(
    face_edge: Indices, tree: Tree, sharp: Flags, sharp_in: Flags, body: int, low: Vector, high: Vector,
    reached: Indices,
) -> int:  # fmt: skip
    """Collect the sharp edges of a body kept by faces in leaves near a box."""
    found, node = 0, tree.root[body]
    while node < tree.root[body + 1]:
        if not sharp_in[node] or apart(tree.box, node, low, high):
            node = tree.skip[node]
            continue
        if tree.skip[node] == node + 1:
            for k in range(tree.first[node], tree.last[node]):
                for side in range(3):
                    edge = face_edge[tree.order[k], side]
                    if edge >= 0 and sharp[edge]:
                        reached[found] = edge
                        found += 1
        node += 1
    return found


@compiled(inside=True)
def _edge_box(edges: Edges, x: Array, e: int) -> tuple[Vector, Vector]:
    a, b = row(x, edges.ends[e, 0]), row(x, edges.ends[e, 1])
    return lower(a, b), upper(a, b)


@compiled(inside=True)
def _edges_may_touch(edges: Edges, means: Array, x: Array, e: int, other: int, low: Vector, high: Vector) -> bool:
    """Tell whether two edges share no node, look different ways and lie near each other."""
    if dot(row(means, e), row(means, other)) > SAME_WAY:
        return False
    for i in range(2):
        for j in range(2):
            if edges.ends[e, i] == edges.ends[other, j]:
                return False
    a, b = _edge_box(edges, x, other)
    low, high = minus(a, high), minus(low, b)
    return max(low[0], low[1], low[2], high[0], high[1], high[2]) <= 0.0


@compiled(inside=True)
def lists_made(counter: Indices, full: Indices) -> None:
    """Note that all lists are made, or that they had no room."""
    counter[BUILT] = 1 if full[0] == FINE else 0
    counter[REBUILDS] += counter[BUILT]
