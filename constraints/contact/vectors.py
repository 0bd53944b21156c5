"""Vectors of three as tuples, for compiled geometry: no arrays, so nothing is allocated."""

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
