"""Where a face ends at another side of its body: a contact whose foot is on such an edge (spec 8).

A foot beyond the edge by less than `RIM` has the gap and the normal of the face: where bodies are aligned, the
direction in which a vertex misses an edge is chance, and no normal. Further out a vertex is outside where it is outside
of the other side, however far below the face.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rheotwin.constraints.contact.nearest import CORNER, INSIDE, SIDE
from rheotwin.constraints.contact.surface import NO_FACE, ContactSurface, face_normal
from rheotwin.constraints.contact.vectors import Vector, dot, length, minus, plus, row, times, unit

Array = NDArray[np.float64]

Touch: TypeAlias = tuple[int, float, Vector, Vector]
"""Face, gap [m], unit normal from the face to the vertex, shares of the face's corners."""

SAME_SIDE = 0.25
"""Beyond an edge where less than this of a face's normal lies along its neighbour's is another side of the body: past
about 75 degrees, so that a right angle that leans is one."""
RIM = 1e-3
"""How far, by the size of the face, a foot may be over its edge and still be on it."""


@njit(cache=True)
def at_rim(surface: ContactSurface, x: Array, touch: Touch, place: int, p: Vector, foot: Vector) -> Touch:
    """Return the contact of p as it is if its foot, at `place` of its face, is on the edge to another side."""
    if place == INSIDE:
        return touch
    face, gap, _, shares = touch
    normal, away = face_normal(surface, x, face), minus(p, foot)
    size = length(normal)
    side = size if surface.dimension == 2 else np.sqrt(size)
    normal = unit(normal)
    on_rim, outside = _other_sides(surface, x, face, place, normal, away, foot)
    if not on_rim:
        return touch
    height = dot(away, normal)
    if length(plus(away, -height, normal)) <= RIM * side:
        return face, height, normal, shares
    if outside and gap < 0.0:
        return face, -gap, times(-1.0 / gap, away), shares
    return touch


@njit(cache=True)
def _other_sides(
    surface: ContactSurface, x: Array, face: int, place: int, normal: Vector, away: Vector, foot: Vector
) -> tuple[bool, bool]:
    """Tell whether the body turns to another side at the foot, or ends, and whether `away` is outside of that side."""
    if place < CORNER:
        beyond = surface.across[face, place - SIDE]
        return (True, False) if beyond == NO_FACE else _another_side(surface, x, beyond, normal, away, foot)
    on_rim, outside = False, False
    vertex = surface.face_vertex[face, place - CORNER]
    for k in range(surface.around_offset[vertex], surface.around_offset[vertex + 1]):
        another, out = _another_side(surface, x, surface.around_face[k], normal, away, foot)
        on_rim, outside = on_rim or another, outside or out
    return on_rim, outside


@njit(cache=True)
def _another_side(
    surface: ContactSurface, x: Array, other: int, normal: Vector, away: Vector, foot: Vector
) -> tuple[bool, bool]:
    """Tell whether a face beside the foot turns down sharply, and whether `away` is outside of it."""
    beyond = unit(face_normal(surface, x, other))
    if dot(beyond, normal) > SAME_SIDE:
        return False, False
    lowest = 0.0
    for corner in range(surface.dimension):
        lowest = min(lowest, dot(minus(row(x, surface.face[other, corner]), foot), normal))
    return lowest < 0.0, lowest < 0.0 and dot(away, beyond) > 0.0
