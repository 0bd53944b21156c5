"""Pressure of simplices with linear networks: corner force p dV/dx (spec section 5), -p the response to V/V0 - 1.

With sides a, b, c leaving corner 0:  V = a . (b x c)/6,  dV/da = (b x c)/6 and so on;  V' = sum_k g_k . v_k. Triangles
lie in the plane of x and y:  A = (a_x b_y - a_y b_x)/2.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from rheotwin.kernels.layouts import add, apart, subtract
from rheotwin.kernels.vectors import formula, load
from rheotwin.particles.forces.edges import dot
from rheotwin.particles.forces.elements import REST, ElementGroup, Elements, linear_group


@formula
def _times(factor: Any, a: Any) -> Any:
    return factor * a[0], factor * a[1], factor * a[2]


@formula
def _sixth_of_cross(a: Any, b: Any) -> Any:
    """Return (a x b)/6."""
    sixth = 1.0 / 6.0
    return (
        sixth * (a[1] * b[2] - a[2] * b[1]),
        sixth * (a[2] * b[0] - a[0] * b[2]),
        sixth * (a[0] * b[1] - a[1] * b[0]),
    )


@formula
def _sum(a: Any, b: Any) -> Any:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@cache
def tetrahedron(spring: bool, response: Any) -> Any:
    """Return the element that pushes the corners of a tetrahedron by its pressure."""

    @formula
    def tetrahedron(
        x: Any, v: Any, force: Any, corners: Any, at: Any, numbers: Any, constants: Any, states: Any, h: Any
    ) -> None:  # fmt: skip
        o, i, j, k = corners[0], corners[1], corners[2], corners[3]
        a, b, c = apart(x, o, i), apart(x, o, j), apart(x, o, k)
        ga, gb, gc = _sixth_of_cross(b, c), _sixth_of_cross(c, a), _sixth_of_cross(a, b)
        per_rest = load(numbers, REST, at)
        flow = dot(ga, apart(v, o, i)) + dot(gb, apart(v, o, j)) + dot(gc, apart(v, o, k))
        t = response(constants, numbers, states, at, dot(a, ga) * per_rest - 1.0, flow * per_rest)
        add(force, o, _times(t, _sum(_sum(ga, gb), gc)))
        subtract(force, i, _times(t, ga))
        subtract(force, j, _times(t, gb))
        subtract(force, k, _times(t, gc))

    return tetrahedron


@cache
def triangle(spring: bool, response: Any) -> Any:
    """Return the element that pushes the corners of a plane triangle by its pressure."""

    @formula
    def triangle(
        x: Any, v: Any, force: Any, corners: Any, at: Any, numbers: Any, constants: Any, states: Any, h: Any
    ) -> None:  # fmt: skip
        o, i, j = corners[0], corners[1], corners[2]
        a, b = apart(x, o, i), apart(x, o, j)
        nothing = 0.0 * a[2]
        ga, gb = (0.5 * b[1], -0.5 * b[0], nothing), (-0.5 * a[1], 0.5 * a[0], nothing)
        per_rest = load(numbers, REST, at)
        flow = dot(ga, apart(v, o, i)) + dot(gb, apart(v, o, j))
        t = response(constants, numbers, states, at, dot(a, ga) * per_rest - 1.0, flow * per_rest)
        add(force, o, _times(t, _sum(ga, gb)))
        subtract(force, i, _times(t, ga))
        subtract(force, j, _times(t, gb))

    return triangle


def linear_cells(cells: Elements, state: str | None) -> ElementGroup:
    """Pack triangles or tetrahedra with networks, their arms in the array `state` of a body's state."""
    element = triangle if cells.corners.shape[1] == 3 else tetrahedron
    return linear_group(cells, element, 1.0 / cells.rest, state)
