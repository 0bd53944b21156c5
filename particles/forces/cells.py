"""Pressure of simplices with linear networks: corner force p dV/dx (spec section 5), -p the response to V/V0 - 1.

With sides a, b, c leaving corner 0:  V = a . (b x c)/6,  dV/da = (b x c)/6 and so on;  V' = sum_k g_k . v_k. Triangles
lie in the plane of x and y:  A = (a_x b_y - a_y b_x)/2.

A pressure that is an option of its own: P = K (S0 - S) - C Sdot, S the area or volume.

Corner a feels P dS/dx_a, normal to the side it faces. The lines of action meet in the orthocentre of a triangle
(E10; not in its circumcentre), so force and moment vanish, and K (S - S0)^2/2 is the energy stored.

As a cell with a network it has the tension = K S0 (S/S0 - 1) + C S0 (Sdot/S0), and no arms.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from rheotwin.arrays import Array, Indices
from rheotwin.kernels.layouts import add, apart, subtract
from rheotwin.kernels.vectors import formula, load
from rheotwin.particles.cell_volume import cell_volumes, volume_matrix
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


def make_element_pressure(rest: Array, cells: Indices, *, stiffness: float, damping: float) -> Elements:
    """Return simplices (nC, d+1) with K [Pa/m^d] and C [Pa s/m^d] (times the thickness [m] of plane bodies)."""
    volumes, _ = cell_volumes(rest, cells.astype(np.int64))
    none = np.zeros((0, len(cells)))
    return Elements(
        corners=np.ascontiguousarray(cells, dtype=np.int64),
        rest=volumes,
        stiffness=stiffness * volumes,
        viscosity=damping * volumes,
        arm_stiffness=none,
        arm_decay=none.copy(),
        arm_gain=none.copy(),
    )


def no_element_pressure(dimension: int) -> Elements:
    """Return pressures in no cells."""
    return make_element_pressure(
        np.zeros((0, 3)), np.zeros((0, max(dimension, 2) + 1), np.int64), stiffness=0.0, damping=0.0
    )


def element_tension(cells: Elements, x: Array, v: Array) -> Array:
    """Return -P (nC,) [Pa, times the thickness of plane bodies] at positions [m] and velocities [m/s] (N, 3)."""
    volumes, gradients = cell_volumes(x, cells.corners)
    flows = np.einsum("cak,cak->c", gradients, v[cells.corners])
    return np.asarray((cells.stiffness * (volumes - cells.rest) + cells.viscosity * flows) / cells.rest)


def element_pressure_energy(cells: Elements, x: Array) -> float:
    """Return the energy [J] stored at positions (N, 3) [m]: sum K (S - S0)^2/2."""
    volumes, _ = cell_volumes(x, cells.corners)
    return float(0.5 * np.sum(cells.stiffness / cells.rest * (volumes - cells.rest) ** 2))


def element_pressure_matrices(cells: Elements, rest: Array, dimension: int) -> tuple[csr_matrix, csr_matrix]:
    """Return sum_c K g g^T and sum_c C g g^T at rest (N, 3), g = dS/dx, on the components (N*d)."""
    return (
        volume_matrix(rest, cells.corners, cells.stiffness / cells.rest, dimension),
        volume_matrix(rest, cells.corners, cells.viscosity / cells.rest, dimension),
    )
