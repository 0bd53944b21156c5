"""A vertex at a face (3D) or an edge (2D) of a body: signed distance, foot, and which face it talks to (spec 8).

A vertex talks to one face of each body. Which one: the face it came in through, as long as the contact lasts, and
the neighbour it slides to. It comes in through a face where the signed distance turns negative between the
beginning and the end of a step with the foot inside; of several the earliest. Without such history it is the
nearest face, for a vertex of another body no deeper inside than `reach`. What is on the surface of a body anyway, its
own vertices, is inside only by history or entry, and near a face only in front of it.

The gap is the distance to the nearest point of the face, negative inside; the sign at edges and corners is that of
the mean normal of the faces around them, weighted by their angles.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.flush import flush_touch
from rheotwin.constraints.contact.pairs import NO_NODE, NO_TOOL, Pairs
from rheotwin.constraints.contact.search import FINE, GROUPS, PAIRS_FULL, Lists, Remembered
from rheotwin.constraints.contact.surface import NO_FACE, Faces, Touch, Vertices, face_normal
from rheotwin.constraints.contact.vectors import (
    CORNER,
    INSIDE,
    SIDE,
    Foot,
    Vector,
    at_shares,
    cross,
    dot,
    foot_on_segment,
    foot_on_triangle,
    length,
    minus,
    plus,
    row,
    times,
    unit,
)
from rheotwin.kernels.compiled import compiled

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

AT_SURFACE = 1e-4
"""A vertex no deeper than this, by the size of the face, is still outside at the beginning of a step."""
FOOT_MARGIN = 1e-3
"""Shares of a foot that counts as inside when a vertex crosses a face are no less than minus this."""
ON_BORDER = 1e-10
"""A foot beyond the border of a face by less than this, by its size, is inside: nodes are often exactly aligned."""
TIE = 1e-6
"""Faces whose distances differ by less than this, by their size, are chosen by their direction."""
ALIKE = 1e-4
"""The same for faces of a vertex without history, by the reach of the search: where corner lies on corner both faces
are as near, and the one that does not oppose the vertex is the side with which it is flush."""
FACING = 0.5
"""A vertex outside of a face whose normal has more than this along its own looks away from it."""
ASKEW, END = -0.25, 0.1
"""A face that opposes the vertex' normal by less than this is entered only further from its ends than this share: what
a corner glides over meets its bottom there, not its side."""
SAME_SIDE = 0.25
"""Beyond an edge where less than this of a face's normal lies along its neighbour's is another side of the body: past
about 75 degrees, so that a right angle that leans is one."""
STEPS_ACROSS = 8
"""Most neighbours a contact slides over in one step."""


@compiled(inside=True)
def face_foot(faces: Faces, across: Indices | None, x: Array, face: int, p: Vector) -> Foot:
    """Return the shares of the point of a face nearest to p, and where on the face it lies."""
    a, b = row(x, faces.corner[face, 0]), row(x, faces.corner[face, 1])
    if across is None:
        return foot_on_segment(p, a, b)
    return foot_on_triangle(p, a, b, row(x, faces.corner[face, 2]))


@compiled(inside=True)
def on_face(faces: Faces, across: Indices | None, x: Array, face: int, shares: Vector) -> Vector:
    """Return the point of a face with the given shares."""
    last = faces.corner[face, 1 if across is None else 2]
    return at_shares(shares, row(x, faces.corner[face, 0]), row(x, faces.corner[face, 1]), row(x, last))


@compiled(inside=True)
def _outward(faces: Faces, across: Indices | None, x: Array, face: int, place: int) -> Vector:
    """Return the direction that tells outside from inside where the foot lies: face, side or corner."""
    own = unit(face_normal(faces, across, x, face))
    if place == INSIDE:
        return own
    if across is not None:  # noqa: SIM102
        if place < CORNER:
            beyond = across[face, place - SIDE]
            return own if beyond == NO_FACE else plus(own, 1.0, unit(face_normal(faces, across, x, beyond)))
    vertex, total = faces.vertex[face, place - CORNER], (0.0, 0.0, 0.0)
    for k in range(faces.offset[vertex], faces.offset[vertex + 1]):
        other = faces.around[k]
        angle = 1.0
        if across is not None:
            c = 0
            while faces.vertex[other, c] != vertex:
                c += 1
            apex = row(x, faces.corner[other, c])
            u = minus(row(x, faces.corner[other, (c + 1) % 3]), apex)
            w = minus(row(x, faces.corner[other, (c + 2) % 3]), apex)
            angle = np.arctan2(length(cross(u, w)), dot(u, w))
        total = plus(total, angle, unit(face_normal(faces, across, x, other)))
    return total


@compiled(inside=True)
def measure(faces: Faces, across: Indices | None, x: Array, face: int, p: Vector) -> tuple[Touch, int]:
    """Return the contact of a point p with one face, and where on the face the foot lies."""
    shares, place = face_foot(faces, across, x, face, p)
    normal = face_normal(faces, across, x, face)
    side = length(normal) if across is None else np.sqrt(length(normal))
    normal = unit(normal)
    away = minus(p, on_face(faces, across, x, face, shares))
    height = dot(away, normal)
    if place == INSIDE or length(plus(away, -height, normal)) <= ON_BORDER * side:
        return (face, height, normal, shares), INSIDE
    distance = length(away)
    sign = 1.0 if dot(away, _outward(faces, across, x, face, place)) >= 0.0 else -1.0
    return (face, sign * distance, times(sign / distance, away), shares), place


@compiled(inside=True)
def slide(faces: Faces, across: Indices | None, x: Array, face: int, p: Vector) -> Touch:
    """Return the contact of p with `face`, or with the neighbour over which its foot has slid."""
    touch, place = measure(faces, across, x, face, p)
    for _ in range(STEPS_ACROSS):
        if place == INSIDE:
            break
        here, best = touch[0], touch
        normal, found = face_normal(faces, across, x, here), place
        for corner in range(2 if across is None else 3):
            vertex = faces.vertex[here, corner]
            for k in range(faces.offset[vertex], faces.offset[vertex + 1]):
                other = faces.around[k]
                beyond = face_normal(faces, across, x, other)
                if other == here or dot(beyond, normal) <= SAME_SIDE * length(beyond) * length(normal):
                    continue
                candidate, where = measure(faces, across, x, other, p)
                if abs(candidate[1]) < abs(best[1]) * (1.0 - TIE):
                    best, found = candidate, where
        if best[0] == here:
            break
        touch, place = best, found
    return touch


@compiled(inside=True)
def _signed(
    faces: Faces, across: Indices | None, x_begin: Array, x_end: Array, face: int, node: int, t: float
) -> tuple[float, Foot]:
    """Return how far the node is outside of the face's plane at the fraction t of a step, and its unclipped shares."""
    p = _between(x_begin, x_end, node, t)
    a = _between(x_begin, x_end, faces.corner[face, 0], t)
    b = _between(x_begin, x_end, faces.corner[face, 1], t)
    u, y = minus(b, a), minus(p, a)
    if across is None:
        square = dot(u, u)
        r = dot(y, u) / square if square > 0.0 else 0.5
        return y[0] * u[1] - y[1] * u[0], ((1.0 - r, r, 0.0), INSIDE)
    w = minus(_between(x_begin, x_end, faces.corner[face, 2], t), a)
    n = cross(u, w)
    square = dot(n, n)
    if square == 0.0:
        return 0.0, ((0.0, 0.0, -1.0), INSIDE)
    r1, r2 = dot(cross(y, w), n) / square, dot(cross(u, y), n) / square
    return dot(y, n), ((1.0 - r1 - r2, r1, r2), INSIDE)


@compiled(inside=True)
def _between(x_begin: Array, x_end: Array, node: int, t: float) -> Vector:
    a, b = row(x_begin, node), row(x_end, node)
    return plus(times(1.0 - t, a), t, b)


@compiled(inside=True)
def entry_time(
    faces: Faces, across: Indices | None, x_begin: Array, x_end: Array, face: int, node: int, least: float
) -> float:
    """Return the fraction of the step at which a node crosses a face inwards, 2 if it does not.

    It crosses the face where no share of the foot is below `least`. The node is inside of the face's plane at the
    end. All positions move along straight lines in between; the crossing is found by regula falsi (Illinois).
    """
    f0, foot = _signed(faces, across, x_begin, x_end, face, node, 0.0)
    normal = length(face_normal(faces, across, x_begin, face))
    size = normal * (normal if across is None else np.sqrt(normal))
    if f0 < -AT_SURFACE * size:
        return 2.0
    t = 0.0
    if f0 > AT_SURFACE * size:
        low, high = 0.0, 1.0
        f1, foot = _signed(faces, across, x_begin, x_end, face, node, 1.0)
        side = 0
        for _ in range(20):
            t = (low * f1 - high * f0) / (f1 - f0)
            f, foot = _signed(faces, across, x_begin, x_end, face, node, t)
            if abs(f) <= TIE * size:
                break
            if f > 0.0:
                low, f0 = t, f
                f1 *= 0.5 if side == 1 else 1.0
                side = 1
            else:
                high, f1 = t, f
                f0 *= 0.5 if side == -1 else 1.0
                side = -1
    r = foot[0]
    least_third = 0.0 if across is None else least
    return t if min(r[0], r[1]) >= least and r[2] >= least_third else 2.0


@compiled(inside=True)
def _vertex_normal(faces: Faces, across: Indices | None, x: Array, vertex: int) -> Vector:
    """Return the unit normal of a vertex at positions x (N, 3), the mean of its faces' weighted by their size."""
    total = (0.0, 0.0, 0.0)
    for k in range(faces.offset[vertex], faces.offset[vertex + 1]):
        total = plus(total, 1.0, face_normal(faces, across, x, faces.around[k]))
    return unit(total)


@compiled(inside=True)
def _nearest_face(
    faces: Faces, across: Indices | None, node: int, vertex: int, itself: bool, candidates: Indices, first: int,
    last: int, x_begin: Array, x_end: Array, region: float, reach: float, held: int,
) -> Touch:  # fmt: skip
    """Return the contact of a vertex with its candidates first:last on a body, by the distance alone.

    The face is NO_FACE where there is none; `held` is that of a contact that lasts, NO_FACE without one.
    """
    p = row(x_end, node)
    nothing = (NO_FACE, np.inf, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    best, smallest, earliest, entered, known = nothing, np.inf, 2.0, held, False
    own, most, facing = (0.0, 0.0, 0.0), np.inf, 1.0
    furthest = region if itself else max(region, reach)
    for k in range(first, last if held == NO_FACE else first):
        face = candidates[k]
        normal = face_normal(faces, across, x_end, face)
        size = length(normal)
        height = dot(minus(p, row(x_end, faces.corner[face, 0])), normal)
        if height > furthest * size:
            continue
        if not known:
            own, known = _vertex_normal(faces, across, x_end, vertex), True
        opposed = dot(normal, own) / size if size > 0.0 else 1.0
        if height < 0.0:
            time = entry_time(faces, across, x_begin, x_end, face, node, END if opposed > ASKEW else -FOOT_MARGIN)
            if time == 0.0 and opposed > FACING:
                time = 2.0  # from the surface, looking away: corner on corner, it grazes the side it is flush with
            if time < earliest or (time == earliest and time < 2.0 and opposed < most):
                earliest, entered, most = time, face, opposed
        if entered != NO_FACE or height < -furthest * size or (itself and height < 0.0):
            continue
        touch, place = measure(faces, across, x_end, face, p)
        if itself and (place != INSIDE or opposed > FACING):
            continue
        order = abs(touch[1]) + ALIKE * reach * opposed
        if order < smallest:
            best, smallest, facing = touch, order, opposed
    if entered != NO_FACE:
        return slide(faces, across, x_end, entered, p)
    if best[1] < -reach or (best[1] > 0.0 and facing > FACING):
        return nothing
    return best


@compiled(inside=True)
def find_vertices(
    faces: Faces, across: Any, even: bool | None, vertices: Vertices, x_begin: Array, x_end: Array,
    lists: Lists, history: Remembered, first_slot: int, bodies: int, region: float, reach: float, pairs: Pairs,
    full: Indices,
) -> None:  # fmt: skip
    """Append the contacts of vertices with gap <= region [m] at x_end (N, 3) [m]; `full` (1,) tells what has no room.

    `even` asks for normals as in `flush`: True, or None for it to be left out.
    """
    if full[0] != FINE:
        return
    p = pairs.count[0]
    for group in range(lists.counter[GROUPS]):
        vertex, body = lists.group[group, 0], lists.group[group, 1]
        slot, node = first_slot + vertex * bodies + body, vertices.node[vertex]
        held = history.feature[slot] if history.active[slot] else NO_FACE
        touch = _nearest_face(
            faces, across, node, vertex, vertices.body[vertex] == body, lists.candidate, lists.start[group],
            lists.start[group + 1], x_begin, x_end, region, reach, held,
        )  # fmt: skip
        if even is not None and touch[0] != NO_FACE:
            touch = flush_touch(faces, across, x_end, node, vertex, touch, held != NO_FACE)
        face, gap, normal, shares = touch
        if face == NO_FACE or gap > region:
            continue
        if p >= pairs.gap.shape[0]:
            full[0] = PAIRS_FULL
            return
        point = on_face(faces, across, x_end, face, shares)
        pairs.node[p, 0], pairs.weight[p, 0] = node, 1.0
        for c in range(3):
            pairs.node[p, 1 + c] = faces.corner[face, c]
            pairs.weight[p, 1 + c] = -shares[c] if faces.corner[face, c] != NO_NODE else 0.0
            pairs.normal[p, c], pairs.point[p, c] = normal[c], point[c]
        pairs.gap[p], pairs.tool[p], pairs.slot[p] = gap, NO_TOOL, slot
        history.feature[slot] = face
        p += 1
    pairs.count[0] = p
