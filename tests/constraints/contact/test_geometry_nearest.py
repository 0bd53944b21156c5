"""The nearest point of a segment or triangle, by what characterises it."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rheotwin.constraints.contact.vectors import (
    CORNER,
    INSIDE,
    SIDE,
    Foot,
    Vector,
    foot_on_segment,
    foot_on_triangle,
)
from rheotwin.kernels.compiled import compiled


@compiled
def on_segment(p: Vector, a: Vector, b: Vector) -> Foot:
    return foot_on_segment(p, a, b)


@compiled
def on_triangle(p: Vector, a: Vector, b: Vector, c: Vector) -> Foot:
    return foot_on_triangle(p, a, b, c)


COORDINATES = st.floats(-4.0, 4.0, width=16)


@settings(deadline=None)  # the first example loads the kernel
@given(arrays(float, (4, 3), elements=COORDINATES))
def test_foot_on_triangle_is_the_projection(points: np.ndarray) -> None:
    """y is the point of a convex set nearest to p exactly if (p - y).(z - y) <= 0 for all z of the set."""
    p, corners = points[0], points[1:]
    shares, _ = on_triangle(tuple(p), *map(tuple, corners))
    assert min(shares) >= 0.0
    assert abs(sum(shares) - 1.0) <= 1e-12
    foot = np.array(shares) @ corners
    # flat triangles lose half of the digits in their shares
    assert np.all((corners - foot) @ (p - foot) <= 1e-6)


@settings(deadline=None)  # the first example loads the kernel
@given(arrays(float, (3, 3), elements=COORDINATES))
def test_foot_on_segment_is_the_projection(points: np.ndarray) -> None:
    shares, _ = on_segment(*map(tuple, points))
    foot = np.array(shares[:2]) @ points[1:]
    assert min(shares) >= 0.0
    assert np.all((points[1:] - foot) @ (points[0] - foot) <= 1e-12)


def test_place_of_the_foot() -> None:
    a, b, c = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
    around = {
        (0.2, 0.3, 5.0): INSIDE,
        (0.5, -1.0, 1.0): SIDE,
        (1.0, 1.0, 0.0): SIDE + 1,
        (-1.0, 0.5, 2.0): SIDE + 2,
        (-1.0, -1.0, 0.0): CORNER,
        (3.0, 0.0, 0.0): CORNER + 1,
        (0.0, 3.0, 1.0): CORNER + 2,
    }
    assert {p: on_triangle(p, a, b, c)[1] for p in around} == around
