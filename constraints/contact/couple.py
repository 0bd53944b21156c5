"""The couples of contacts between bodies, and how they are taken back: angular momentum to rounding.

A step x' = x + h v' + s changes the angular momentum of its end, sum x' x m v', by one couple for each contact with
the impulse J and the shift j (`impact`), because h v' x v' = 0 and m s = sum w j:

    C = (sum w_i x_i) x J + j x u',       u' = sum w_i v'_i

sum w_i x_i = g n where the contact was found (spec 8), so C = 0 for forces along n that were found at x. Contacts that
have to know where the step ends are found at x + h v: then sum w_i x_i = g n - h u, and C is of the order h u J.
Friction acts across a gap, C = g n x t. An impact has its own instant, so that in a step with several no single
configuration is free of all couples. None of them is real: both bodies should meet in one point. So the nodes of a
contact turn together, as if they were rigid, which changes neither their momentum nor their gap:

    v_i <- v_i + omega x r_i,             I omega = -C,    I = sum m_i (r_i.r_i 1 - r_i r_i^T)

with r_i = x_i + s_i from their common centre of mass. Contacts at supported nodes are left alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.mobility import PRESSED, TANGENT
from rheotwin.constraints.contact.pairs import NO_TOOL, NODES
from rheotwin.constraints.contact.rounds import System
from rheotwin.constraints.contact.vectors import Vector, cross, dot, plus, times
from rheotwin.kernels.compiled import compiled

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]

FLAT = 1e-12
"""Nodes on one line cannot turn about it: that is where det I is below this share of (trace I)^3."""


@compiled(inside=True)
def take_couples_back(
    system: System, tools: Indices, gaps: Array, impacts: bool, couple: Array, shifts: Array, shift_rows: Array,
    loose: Flags, force: Array, x: Array, flat: bool, kick: float,
) -> None:  # fmt: skip
    """Turn the nodes of contacts between bodies so that their couples vanish: velocities y (N, 3) [m/s] and forces.

    After pairs are settled and lifted, before places x (N, 3) [m] move; impulses act for `kick` [s]. `impacts` says
    that pairs of bodies that are inside each other are some; `couple` (P, 3 or more) is scratch.
    """
    node, count = system.node, system.count[0]
    for p in range(count):
        if tools[p] == NO_TOOL and _free(p, node, loose):
            cx, cy, cz = _couple(p, system, impacts and gaps[p] < 0.0, shift_rows, x)
            couple[p, 0], couple[p, 1], couple[p, 2] = cx, cy, cz
    for p in range(count):
        if tools[p] != NO_TOOL or not _free(p, node, loose):
            continue
        cx, cy, cz = couple[p, 0], couple[p, 1], couple[p, 2]
        if cx != 0.0 or cy != 0.0 or cz != 0.0:
            _turn(p, node, system.ease, shifts, x, system.y, force, (cx, cy, cz), flat, kick)


@compiled(inside=True)
def _free(p: int, node: Indices, loose: Flags) -> bool:
    free = True
    for k in range(NODES):
        i = node[p, k]
        free = free and (i < 0 or loose[i])
    return free


@compiled(inside=True)
def _couple(p: int, system: System, impact: bool, shift_rows: Array, x: Array) -> Vector:
    """Return C [N m s] of pair `p`."""
    normal, v = system.normal, system.y
    n = (normal[p, 0], normal[p, 1], normal[p, 2])
    arm, speed = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for k in range(NODES):
        i = system.node[p, k]
        if i < 0:
            break
        w = system.weight[p, k]
        arm, speed = plus(arm, w, (x[i, 0], x[i, 1], x[i, 2])), plus(speed, w, (v[i, 0], v[i, 1], v[i, 2]))
    couple = cross(arm, _impulse(p, system.rows, n))
    if impact:
        couple = plus(couple, 1.0, cross(_impulse(p, shift_rows, n), speed))
    return couple


@compiled(inside=True)
def _impulse(p: int, rows: Array, n: Vector) -> Vector:
    """Return J [N s], or of the rows of shifts j [N s2]."""
    return plus((rows[p, TANGENT], rows[p, TANGENT + 1], rows[p, TANGENT + 2]), rows[p, PRESSED], n)


@compiled(inside=True)
def _place(i: int, shift: Array, x: Array, origin: Vector) -> Vector:
    """Return where node i is after its shift, from `origin` [m]."""
    return x[i, 0] + shift[i, 0] - origin[0], x[i, 1] + shift[i, 1] - origin[1], x[i, 2] + shift[i, 2] - origin[2]


@compiled(inside=True)
def _turn(
    p: int, node: Indices, ease: Array, shift: Array, x: Array, v: Array, force: Array, couple: Vector, flat: bool,
    kick: float,
) -> None:  # fmt: skip
    """Turn the nodes of pair `p` by I omega = -C."""
    mass, centre = 0.0, (0.0, 0.0, 0.0)
    for k in range(NODES):
        i = node[p, k]
        if i < 0:
            break
        mass, centre = mass + 1.0 / ease[i, 0], plus(centre, 1.0 / ease[i, 0], _place(i, shift, x, (0.0, 0.0, 0.0)))
    centre = times(1.0 / mass, centre)
    squares, products = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for k in range(NODES):
        i = node[p, k]
        if i < 0:
            break
        rx, ry, rz = _place(i, shift, x, centre)
        squares = plus(squares, 1.0 / ease[i, 0], (rx * rx, ry * ry, rz * rz))
        products = plus(products, 1.0 / ease[i, 0], (rx * ry, ry * rz, rz * rx))
    omega = spin(squares, products, couple, flat)
    for k in range(NODES):
        i = node[p, k]
        if i < 0:
            break
        change, pull = cross(omega, _place(i, shift, x, centre)), 1.0 / (ease[i, 0] * kick)
        for c in range(3):
            v[i, c] += change[c]
            force[i, c] += pull * change[c]


@compiled(inside=True)
def spin(squares: Vector, products: Vector, couple: Vector, flat: bool) -> Vector:
    """Return omega [rad/s] of I omega = -C, zero where I is singular.

    Of the nodes: sum m (x^2, y^2, z^2) and sum m (x y, y z, z x) [kg m2].
    """
    xx, yy, zz = squares
    if flat:
        return 0.0, 0.0, -couple[2] / (xx + yy) if xx + yy > 0.0 else 0.0
    xy, yz, zx = products
    first, second, third = (yy + zz, -xy, -zx), (-xy, zz + xx, -yz), (-zx, -yz, xx + yy)
    # Cramer's rule: the rows of the inverse of a symmetric matrix are the cross products of its columns
    inverse = cross(second, third), cross(third, first), cross(first, second)
    determinant, trace = dot(first, inverse[0]), 2.0 * (xx + yy + zz)
    if determinant <= FLAT * trace * trace * trace:
        return 0.0, 0.0, 0.0
    turn = dot(inverse[0], couple), dot(inverse[1], couple), dot(inverse[2], couple)
    return times(-1.0 / determinant, turn)
