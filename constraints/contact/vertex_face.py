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

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.flush import flush_touch
from rheotwin.constraints.contact.nearest import (
    CORNER,
    INSIDE,
    SIDE,
    Foot,
    at_shares,
    foot_on_segment,
    foot_on_triangle,
)
from rheotwin.constraints.contact.search import Search
from rheotwin.constraints.contact.surface import NO_FACE, ContactSurface, face_normal
from rheotwin.constraints.contact.vectors import Vector, cross, dot, length, minus, plus, row, times, unit
from rheotwin.kernels.compiled import compiled

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

Touch: TypeAlias = tuple[int, float, Vector, Vector]
"""Face, gap [m], unit normal from the face to the vertex, shares of the face's corners."""

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
def face_foot(surface: ContactSurface, x: Array, face: int, p: Vector) -> Foot:
    """Return the shares of the point of a face nearest to p, and where on the face it lies."""
    a, b = row(x, surface.face[face, 0]), row(x, surface.face[face, 1])
    if surface.dimension == 2:
        return foot_on_segment(p, a, b)
    return foot_on_triangle(p, a, b, row(x, surface.face[face, 2]))


@compiled(inside=True)
def on_face(surface: ContactSurface, x: Array, face: int, shares: Vector) -> Vector:
    """Return the point of a face with the given shares."""
    last = surface.face[face, surface.dimension - 1]
    return at_shares(shares, row(x, surface.face[face, 0]), row(x, surface.face[face, 1]), row(x, last))


@compiled(inside=True)
def _outward(surface: ContactSurface, x: Array, face: int, place: int) -> Vector:
    """Return the direction that tells outside from inside where the foot lies: face, side or corner."""
    own = unit(face_normal(surface, x, face))
    if place == INSIDE:
        return own
    if place < CORNER:
        beyond = surface.across[face, place - SIDE]
        return own if beyond == NO_FACE else plus(own, 1.0, unit(face_normal(surface, x, beyond)))
    vertex, total = surface.face_vertex[face, place - CORNER], (0.0, 0.0, 0.0)
    for k in range(surface.around_offset[vertex], surface.around_offset[vertex + 1]):
        other = surface.around_face[k]
        angle = 1.0
        if surface.dimension == 3:
            c = 0
            while surface.face_vertex[other, c] != vertex:
                c += 1
            apex = row(x, surface.face[other, c])
            u = minus(row(x, surface.face[other, (c + 1) % 3]), apex)
            w = minus(row(x, surface.face[other, (c + 2) % 3]), apex)
            angle = np.arctan2(length(cross(u, w)), dot(u, w))
        total = plus(total, angle, unit(face_normal(surface, x, other)))
    return total


@compiled(inside=True)
def measure(surface: ContactSurface, x: Array, face: int, p: Vector) -> tuple[Touch, int]:
    """Return the contact of a point p with one face, and where on the face the foot lies."""
    shares, place = face_foot(surface, x, face, p)
    normal = face_normal(surface, x, face)
    side = length(normal) if surface.dimension == 2 else np.sqrt(length(normal))
    normal = unit(normal)
    away = minus(p, on_face(surface, x, face, shares))
    height = dot(away, normal)
    if place == INSIDE or length(plus(away, -height, normal)) <= ON_BORDER * side:
        return (face, height, normal, shares), INSIDE
    distance = length(away)
    sign = 1.0 if dot(away, _outward(surface, x, face, place)) >= 0.0 else -1.0
    return (face, sign * distance, times(sign / distance, away), shares), place


@compiled(inside=True)
def slide(surface: ContactSurface, x: Array, face: int, p: Vector) -> Touch:
    """Return the contact of p with `face`, or with the neighbour over which its foot has slid."""
    touch, place = measure(surface, x, face, p)
    for _ in range(STEPS_ACROSS):
        if place == INSIDE:
            break
        here, best = touch[0], touch
        normal, found = face_normal(surface, x, here), place
        for corner in range(surface.dimension):
            vertex = surface.face_vertex[here, corner]
            for k in range(surface.around_offset[vertex], surface.around_offset[vertex + 1]):
                other = surface.around_face[k]
                beyond = face_normal(surface, x, other)
                if other == here or dot(beyond, normal) <= SAME_SIDE * length(beyond) * length(normal):
                    continue
                candidate, where = measure(surface, x, other, p)
                if abs(candidate[1]) < abs(best[1]) * (1.0 - TIE):
                    best, found = candidate, where
        if best[0] == here:
            break
        touch, place = best, found
    return touch


@compiled(inside=True)
def _signed(
    surface: ContactSurface, x_begin: Array, x_end: Array, face: int, node: int, t: float
) -> tuple[float, Foot]:
    """Return how far the node is outside of the face's plane at the fraction t of a step, and its unclipped shares."""
    p = _between(x_begin, x_end, node, t)
    a = _between(x_begin, x_end, surface.face[face, 0], t)
    b = _between(x_begin, x_end, surface.face[face, 1], t)
    u, y = minus(b, a), minus(p, a)
    if surface.dimension == 2:
        square = dot(u, u)
        r = dot(y, u) / square if square > 0.0 else 0.5
        return y[0] * u[1] - y[1] * u[0], ((1.0 - r, r, 0.0), INSIDE)
    w = minus(_between(x_begin, x_end, surface.face[face, 2], t), a)
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
    surface: ContactSurface, x_begin: Array, x_end: Array, face: int, node: int, least: float = -FOOT_MARGIN
) -> float:
    """Return the fraction of the step at which a node crosses a face inwards, 2 if it does not.

    It crosses the face where no share of the foot is below `least`. The node is inside of the face's plane at the
    end. All positions move along straight lines in between; the crossing is found by regula falsi (Illinois).
    """
    f0, foot = _signed(surface, x_begin, x_end, face, node, 0.0)
    normal = length(face_normal(surface, x_begin, face))
    size = normal * (normal if surface.dimension == 2 else np.sqrt(normal))
    if f0 < -AT_SURFACE * size:
        return 2.0
    t = 0.0
    if f0 > AT_SURFACE * size:
        low, high = 0.0, 1.0
        f1, foot = _signed(surface, x_begin, x_end, face, node, 1.0)
        side = 0
        for _ in range(20):
            t = (low * f1 - high * f0) / (f1 - f0)
            f, foot = _signed(surface, x_begin, x_end, face, node, t)
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
    least_third = least if surface.dimension == 3 else 0.0
    return t if min(r[0], r[1]) >= least and r[2] >= least_third else 2.0


@compiled(inside=True)
def _vertex_normal(surface: ContactSurface, x: Array, vertex: int) -> Vector:
    """Return the unit normal of a vertex at positions x (N, 3), the mean of its faces' weighted by their size."""
    total = (0.0, 0.0, 0.0)
    for k in range(surface.around_offset[vertex], surface.around_offset[vertex + 1]):
        total = plus(total, 1.0, face_normal(surface, x, surface.around_face[k]))
    return unit(total)


@compiled(inside=True)
def touched_face(
    surface: ContactSurface, search: Search, group: int, x_begin: Array, x_end: Array, region: float, held: int,
    even: bool,
) -> Touch:  # fmt: skip
    """Return the contact of the group's vertex with its body; the face is NO_FACE where there is none.

    `held` is the face of a contact that lasts, NO_FACE without one; `even` asks for normals as in `flush`.
    """
    touch = _nearest_face(surface, search, group, x_begin, x_end, region, held)
    if touch[0] == NO_FACE or not even:
        return touch
    flush, gap, normal, shares = flush_touch(
        surface, x_end, search.group[group, 0], touch[0], touch[3], held != NO_FACE
    )
    return (touch[0], gap, normal, shares) if flush else touch


@compiled(inside=True)
def _nearest_face(
    surface: ContactSurface, search: Search, group: int, x_begin: Array, x_end: Array, region: float, held: int
) -> Touch:
    """Return the contact of the group's vertex as the distance tells it, see `touched_face`."""
    vertex, body = search.group[group]
    node, itself = surface.vertex[vertex], surface.vertex_body[vertex] == body
    p = row(x_end, node)
    if held != NO_FACE:
        return slide(surface, x_end, held, p)
    nothing = (NO_FACE, np.inf, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    best, smallest, earliest, entered, known = nothing, np.inf, 2.0, NO_FACE, False
    own, most, facing = (0.0, 0.0, 0.0), np.inf, 1.0
    furthest = region if itself else max(region, search.reach)
    for k in range(search.start[group], search.start[group + 1]):
        face = search.candidate[k]
        normal = face_normal(surface, x_end, face)
        size = length(normal)
        height = dot(minus(p, row(x_end, surface.face[face, 0])), normal)
        if height > furthest * size:
            continue
        if not known:
            own, known = _vertex_normal(surface, x_end, vertex), True
        opposed = dot(normal, own) / size if size > 0.0 else 1.0
        if height < 0.0:
            time = entry_time(surface, x_begin, x_end, face, node, END if opposed > ASKEW else -FOOT_MARGIN)
            if time == 0.0 and opposed > FACING:
                time = 2.0  # from the surface, looking away: corner on corner, it grazes the side it is flush with
            if time < earliest or (time == earliest and time < 2.0 and opposed < most):
                earliest, entered, most = time, face, opposed
        if entered != NO_FACE or height < -furthest * size or (itself and height < 0.0):
            continue
        touch, place = measure(surface, x_end, face, p)
        if itself and (place != INSIDE or opposed > FACING):
            continue
        order = abs(touch[1]) + ALIKE * search.reach * opposed
        if order < smallest:
            best, smallest, facing = touch, order, opposed
    if entered != NO_FACE:
        return slide(surface, x_end, entered, p)
    if best[1] < -search.reach or (best[1] > 0.0 and facing > FACING):
        return nothing
    return best
