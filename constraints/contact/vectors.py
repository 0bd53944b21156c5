"""Vectors of three as tuples, for compiled geometry, and the nearest point of a segment or triangle.

    foot = sum_i r_i x_i,   r_i >= 0,   sum r_i = 1

Inside of the feature these are the ratios of spec 4 and 8. Outside of it the spec clips them, R_i = r_i+/sum r+ (E2),
which leaves a couple; the nearest point leaves none, because x - foot is then the normal itself.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rheotwin.kernels.compiled import compiled

Array = NDArray[np.float64]
Vector: TypeAlias = tuple[float, float, float]


@compiled(inside=True)
def row(points: Array, k: int) -> Vector:
    """Return row k of (n, 3)."""
    return points[k, 0], points[k, 1], points[k, 2]


@compiled(inside=True)
def minus(a: Vector, b: Vector) -> Vector:
    """Return a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@compiled(inside=True)
def plus(a: Vector, s: float, b: Vector) -> Vector:
    """Return a + s b."""
    return a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]


@compiled(inside=True)
def times(s: float, a: Vector) -> Vector:
    """Return s a."""
    return s * a[0], s * a[1], s * a[2]


@compiled(inside=True)
def dot(a: Vector, b: Vector) -> float:
    """Return a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@compiled(inside=True)
def cross(a: Vector, b: Vector) -> Vector:
    """Return a x b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@compiled(inside=True)
def length(a: Vector) -> float:
    """Return |a|."""
    size: float = np.sqrt(dot(a, a))
    return size


@compiled(inside=True)
def unit(a: Vector) -> Vector:
    """Return a/|a|, and zero for zero."""
    size = length(a)
    return times(1.0 / size, a) if size > 0.0 else a


ONES = (1.0, 1.0, 1.0)


@compiled(inside=True)
def lower(a: Vector, b: Vector) -> Vector:
    """Return the smaller of each component."""
    return min(a[0], b[0]), min(a[1], b[1]), min(a[2], b[2])


@compiled(inside=True)
def upper(a: Vector, b: Vector) -> Vector:
    """Return the larger of each component."""
    return max(a[0], b[0]), max(a[1], b[1]), max(a[2], b[2])


INSIDE, SIDE, CORNER = 0, 1, 4
"""Where the foot lies: inside, on SIDE + k (from corner k to k + 1) or at CORNER + k."""

Foot: TypeAlias = tuple[Vector, int]
"""Shares of the corners, and where it lies."""


@compiled(inside=True)
def foot_on_segment(p: Vector, a: Vector, b: Vector) -> Foot:
    """Return the shares of the point of ab nearest to p (the third one is zero) and where it lies."""
    along = minus(b, a)
    square = dot(along, along)
    r = dot(minus(p, a), along) / square if square > 0.0 else 0.0
    if r <= 0.0:
        return (1.0, 0.0, 0.0), CORNER
    if r >= 1.0:
        return (0.0, 1.0, 0.0), CORNER + 1
    return (1.0 - r, r, 0.0), INSIDE


@compiled(inside=True)
def foot_on_triangle(p: Vector, a: Vector, b: Vector, c: Vector) -> Foot:
    """Return the shares of the point of abc nearest to p and where it lies (Ericson, regions by dot products)."""
    ab, ac, ap = minus(b, a), minus(c, a), minus(p, a)
    d1, d2 = dot(ab, ap), dot(ac, ap)
    if d1 <= 0.0 and d2 <= 0.0:
        return (1.0, 0.0, 0.0), CORNER
    bp = minus(p, b)
    d3, d4 = dot(ab, bp), dot(ac, bp)
    if d3 >= 0.0 and d4 <= d3:
        return (0.0, 1.0, 0.0), CORNER + 1
    vc = d1 * d4 - d3 * d2
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0 and d1 > d3:
        r = d1 / (d1 - d3)
        return (1.0 - r, r, 0.0), SIDE
    cp = minus(p, c)
    d5, d6 = dot(ab, cp), dot(ac, cp)
    if d6 >= 0.0 and d5 <= d6:
        return (0.0, 0.0, 1.0), CORNER + 2
    vb = d5 * d2 - d1 * d6
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0 and d2 > d6:
        r = d2 / (d2 - d6)
        return (1.0 - r, 0.0, r), SIDE + 2
    va = d3 * d6 - d5 * d4
    span = (d4 - d3) + (d5 - d6)
    if va <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0 and span > 0.0:
        r = (d4 - d3) / span
        return (0.0, 1.0 - r, r), SIDE + 1
    whole = va + vb + vc
    if whole <= 0.0:
        # all corners at one place
        return (1.0, 0.0, 0.0), CORNER
    v, w = vb / whole, vc / whole
    return (1.0 - v - w, v, w), INSIDE


@compiled(inside=True)
def at_shares(r: Vector, a: Vector, b: Vector, c: Vector) -> Vector:
    """Return r_0 a + r_1 b + r_2 c."""
    return plus(plus(times(r[0], a), r[1], b), r[2], c)
