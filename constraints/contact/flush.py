"""Surfaces that lie flush on each other (3D): normals that go on evenly, and faces that reach over their rims.

Where bodies of equal footprint lie on each other, vertices lie on vertices and rims on rims. There a vertex misses an
edge by 1e-6 of its length, and the direction from its foot to it, the gradient of the distance, is noise; and a vertex
on a vertex is at one face in one round and at its neighbour, whose normal is another, in the next. Whoever solves for
gaps where a step ends, normals and all, never gets there. So a vertex that is flush with a face, as one of its own
faces looks against it, touches the plane of the face:

    gap = n_f . (x - a)/(n_f . n),     n = sum R_i N_i/|sum R_i N_i|,     x - sum R'_i x_i = gap n

with the normal n_f of the face, a point a on it, the shares R_i of the nearest point of the face, and the mean normals
N_i of the faces around its corners that look the same way. n goes on evenly from face to face. gap is zero where the
distance is. R'_i are the shares of the foot along n, so that no couple is left. The face reaches over its rim by a
share of its length, for what is not below it: beside the body and deeper than that a vertex keeps its distance.

Edges that cross in flush faces so near to a vertex, or so nearly parallel, that vertices are held over both rims say
nothing new, and where they cross is noise: they are left out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.surface import Edges, Faces, Touch, face_normal
from rheotwin.constraints.contact.vectors import Vector, at_shares, cross, dot, length, minus, plus, row, times, unit
from rheotwin.kernels.compiled import compiled

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

RIM, KEPT = 1e-3, 2.0
"""How far beside a face, as a share of its length, a vertex still touches it, and how much further if it did before."""
OVER = 1e-10
"""A vertex beside a face by less than this share of its length is over it."""
BELOW = 1e-4
"""How far below a face, as a share of its length, a vertex beside it may be."""
FLUSH = 0.95
"""Faces whose normals have more than this against each other are flush: within 18 degrees."""
SAME = 0.7
"""Faces around a corner whose normals have more than this along each other are one side: within 45 degrees."""


@compiled(inside=True)
def plane_shares(a: Vector, b: Vector, c: Vector, p: Vector) -> Vector:
    """Return the shares of the foot of p on the plane of abc; they sum to one."""
    u, w, y = minus(b, a), minus(c, a), minus(p, a)
    n = cross(u, w)
    square = dot(n, n)
    if square == 0.0:
        return 1.0, 0.0, 0.0
    s, t = dot(cross(y, w), n) / square, dot(cross(u, y), n) / square
    return 1.0 - s - t, s, t


@compiled(inside=True)
def lies_flush(faces: Faces, across: Indices, x: Array, vertex: int, normal: Vector) -> bool:
    """Tell whether one of the faces around a vertex looks against a unit normal."""
    for k in range(faces.offset[vertex], faces.offset[vertex + 1]):
        own = face_normal(faces, across, x, faces.around[k])
        if dot(own, normal) < -FLUSH * length(own):
            return True
    return False


@compiled(inside=True)
def _even_normal(faces: Faces, across: Indices, x: Array, face: int, shares: Vector) -> Vector:
    """Return the unit normal that goes from corner to corner of a face with the shares of a point."""
    own, total = unit(face_normal(faces, across, x, face)), (0.0, 0.0, 0.0)
    for corner in range(3):
        vertex, mean = faces.vertex[face, corner], (0.0, 0.0, 0.0)
        for k in range(faces.offset[vertex], faces.offset[vertex + 1]):
            other = face_normal(faces, across, x, faces.around[k])
            if dot(other, own) > SAME * length(other):
                mean = plus(mean, 1.0, other)
        total = plus(total, shares[corner], unit(mean))
    return unit(total)


@compiled(inside=True)
def flush_touch(faces: Faces, across: Indices, x: Array, node: int, vertex: int, touch: Touch, lasts: bool) -> Touch:
    """Return the touch of a vertex with the plane of the face that it is flush with, or the same where it is not.

    `touch` is that with its nearest point on the face, `lasts` says that it touched in the last step.
    """
    face, _, _, shares = touch
    p, a, b, c = (
        row(x, node),
        row(x, faces.corner[face, 0]),
        row(x, faces.corner[face, 1]),
        row(x, faces.corner[face, 2]),
    )
    normal = face_normal(faces, across, x, face)
    side = np.sqrt(length(normal))
    normal = unit(normal)
    away = minus(p, at_shares(shares, a, b, c))
    height = dot(away, normal)
    beside = length(plus(away, -height, normal))
    rim = (KEPT if lasts else 1.0) * RIM * side
    if beside > rim or (beside > OVER * side and height < -BELOW * side):
        return touch
    if not lies_flush(faces, across, x, vertex, normal):
        return touch
    even = _even_normal(faces, across, x, face, shares)
    gap = height / dot(even, normal)
    return face, gap, even, plane_shares(a, b, c, plus(p, -gap, even))


@compiled(inside=True)
def _faces_along(edges: Edges, x: Array, edge: int, normal: Vector) -> float:
    """Return the most that the unit normal of a face at an edge has along a unit normal."""
    a = row(x, edges.ends[edge, 0])
    along = minus(row(x, edges.ends[edge, 1]), a)
    first = unit(cross(along, minus(row(x, edges.opposite[edge, 0]), a)))
    second = unit(cross(minus(row(x, edges.opposite[edge, 1]), a), along))
    return max(dot(first, normal), dot(second, normal))


@compiled(inside=True)
def vertices_hold(edges: Edges, x: Array, first: int, second: int, normal: Vector, a: float, b: float) -> bool:
    """Tell whether vertices at the rims of flush faces do the work of two edges that cross there.

    That is so where the edges cross within the share `RIM` of an end, or where neither leaves the other by more than
    half of that along all that they have in common: there the place of the crossing is noise. `normal` is the unit one
    from the second to the first, a and b are the shares.
    """
    against = times(-1.0, normal)
    if _faces_along(edges, x, first, against) < FLUSH or _faces_along(edges, x, second, normal) < FLUSH:
        return False
    if min(a, 1.0 - a, b, 1.0 - b) <= RIM:
        return True
    i, k = row(x, edges.ends[first, 0]), row(x, edges.ends[second, 0])
    u, w = minus(row(x, edges.ends[first, 1]), i), minus(row(x, edges.ends[second, 1]), k)
    long, short = length(u), length(w)
    along = times(1.0 / long, u)
    run, rise = dot(w, along), dot(w, cross(normal, along))
    # From the crossing the second edge goes on to both its ends; along the first as far as that goes.
    before = min(a * long, (b if run > 0.0 else 1.0 - b) * abs(run))
    after = min((1.0 - a) * long, ((1.0 - b) if run > 0.0 else b) * abs(run))
    farthest: float = max(before, after) * abs(rise)
    return farthest <= 0.5 * RIM * min(long, short) * abs(run)
