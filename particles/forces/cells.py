"""Pressure of simplices with linear networks: corner force p dV/dx (spec section 5), -p the response to V/V0 - 1.

With sides a, b, c leaving corner 0:  V = a . (b x c)/6,  dV/da = (b x c)/6 and so on;  V' = sum_k g_k . v_k. Triangles
lie in the plane of x and y:  A = (a_x b_y - a_y b_x)/2.

A pressure that is an option of its own: P = K (S0 - S) - C Sdot, S the area or volume.

Corner a feels P dS/dx_a, normal to the side it faces. The lines of action meet in the orthocentre of a triangle
(E10; not in its circumcentre), so force and moment vanish, and K (S - S0)^2/2 is the energy stored.

As a cell with a network its tension is K S0 (S/S0 - 1) + C S0 (Sdot/S0), and no arms.

V is signed, so an inverted cell is pushed back through zero.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, diags

from rheotwin.arrays import Array, Indices
from rheotwin.kernels.compiled import compiled
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


@compiled
def triangle_frame(x: Array, i: int, j: int, k: int) -> tuple[float, float, float, float, float]:
    """Return the signed area A = (b - a) x (c - a)/2 in the xy plane and its gradients at the corners j and k.

    The gradient at corner i is minus their sum.
    """
    bx, by, cx, cy = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[k, 0] - x[i, 0], x[k, 1] - x[i, 1]
    return 0.5 * (bx * cy - by * cx), 0.5 * cy, -0.5 * cx, -0.5 * by, 0.5 * bx


@compiled
def tet_frame(
    x: Array, i: int, j: int, k: int, m: int
) -> tuple[float, float, float, float, float, float, float, float, float, float]:
    """Return the signed volume V = a . (b x c)/6, a, b, c leaving corner i, and its gradients at j, k and m.

    The gradient at corner i is minus their sum.
    """
    ax, ay, az = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
    bx, by, bz = x[k, 0] - x[i, 0], x[k, 1] - x[i, 1], x[k, 2] - x[i, 2]
    cx, cy, cz = x[m, 0] - x[i, 0], x[m, 1] - x[i, 1], x[m, 2] - x[i, 2]
    jx, jy, jz = (by * cz - bz * cy) / 6.0, (bz * cx - bx * cz) / 6.0, (bx * cy - by * cx) / 6.0
    kx, ky, kz = (cy * az - cz * ay) / 6.0, (cz * ax - cx * az) / 6.0, (cx * ay - cy * ax) / 6.0
    mx, my, mz = (ay * bz - az * by) / 6.0, (az * bx - ax * bz) / 6.0, (ax * by - ay * bx) / 6.0
    return ax * jx + ay * jy + az * jz, jx, jy, jz, kx, ky, kz, mx, my, mz


@compiled
def fill_volumes(x: Array, cells: Indices, volumes: Array, gradients: Array) -> None:
    """Put signed volumes and gradients, zero on entry, into arrays that are there already as `cell_volumes` returns."""
    for cell in range(cells.shape[0]):
        c, g = cells[cell], gradients[cell]
        if cells.shape[1] == 3:
            volumes[cell], g[1, 0], g[1, 1], g[2, 0], g[2, 1] = triangle_frame(x, c[0], c[1], c[2])
        else:
            (volumes[cell], g[1, 0], g[1, 1], g[1, 2], g[2, 0], g[2, 1], g[2, 2], g[3, 0], g[3, 1], g[3, 2]) = (
                tet_frame(x, c[0], c[1], c[2], c[3])
            )
        for corner in range(1, cells.shape[1]):
            for axis in range(3):
                g[0, axis] -= g[corner, axis]


def cell_volumes(x: Array, cells: Indices) -> tuple[Array, Array]:
    """Return signed areas or volumes (nC,) [m^d] and gradients (nC, corners, 3) [m^(d-1)] at positions (N, 3)."""
    gradients = np.zeros((*cells.shape, 3))
    if not len(cells):  # as in one dimension, whose cells have two corners
        return np.zeros(0), gradients
    corners = x.T[:, cells.T]
    sides = corners[:, 1:] - corners[:, :1]
    if cells.shape[1] == 3:
        (ax, bx), (ay, by) = sides[0], sides[1]
        gradients[:, 1, 0], gradients[:, 1, 1], gradients[:, 2, 0], gradients[:, 2, 1] = (
            by / 2,
            -bx / 2,
            -ay / 2,
            ax / 2,
        )
        gradients[:, 0] = -(gradients[:, 1] + gradients[:, 2])
        return ax * gradients[:, 1, 0] + ay * gradients[:, 1, 1], gradients
    for corner, (a, b) in enumerate(((1, 2), (2, 0), (0, 1)), start=1):
        for axis, (k, m) in enumerate(((1, 2), (2, 0), (0, 1))):
            gradients[:, corner, axis] = (sides[k, a] * sides[m, b] - sides[m, a] * sides[k, b]) / 6.0
    gradients[:, 0] = -(gradients[:, 1] + gradients[:, 2] + gradients[:, 3])
    return sum(sides[axis, 0] * gradients[:, 1, axis] for axis in range(3)), gradients


def volume_rates(gradients: Array, velocities: Array, cells: Indices) -> Array:
    """Return dV/dt (nC,) [m^d/s] of cells from their gradients (nC, corners, 3) and nodes' velocities (N, 3) [m/s]."""
    return np.asarray(np.einsum("cax,cax->c", gradients, velocities[cells]))


def volume_matrix(x: Array, cells: Indices, constants: Array, dimension: int) -> csr_matrix:
    """Assemble sum_c c_c (dV/dx)(dV/dx)^T for constants [N m / m^(2d)] on the components (N*d)."""
    _, gradients = cell_volumes(x, cells)
    rows = np.repeat(np.arange(len(cells)), cells.shape[1] * dimension)
    columns = (cells[:, :, None] * dimension + np.arange(dimension)).ravel()
    operator = csr_matrix(
        (gradients[:, :, :dimension].ravel(), (rows, columns)), shape=(len(cells), len(x) * dimension)
    )
    return (operator.T @ diags(constants) @ operator).tocsr()
