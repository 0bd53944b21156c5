"""Lone contacts by the block: what they have in common is straight arithmetic, which compilers turn into vectors.

A block has one row of `BLOCK` numbers for each quantity, one after the other in one array: compilers know then that
rows do not overlap. A node of mass m at a tool that does not give way has the response W = 1/m in every direction, so
with slope, constant and compliance of `packed_law.step_row` the impulse is

    P = max(0, -(slope g' + constant)/(slope W + compliance)),    J = P n + T,    v <- v + W J

T the friction of `friction` against the slip (v - v_surface) - g' n.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.friction import exact_friction, regularised_friction
from rheotwin.constraints.contact.packed_law import (
    EXACT,
    FRICTION,
    IMPULSE,
    INTEGRATED,
    KIND,
    PENALTY,
    RESTITUTION,
    SLIP_SPEED,
    STATIC_FRICTION,
    Law,
    stays_active,
    step_row,
)
from rheotwin.constraints.contact.vectors import Vector
from rheotwin.kernels.compiled import compiled

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

BLOCK = 48
"""Contacts of a block: all of its rows fit into the nearest cache."""
(
    GAP, RESPONSE, NORMAL_X, NORMAL_Y, NORMAL_Z, PLACE_X, PLACE_Y, PLACE_Z, VELOCITY_X, VELOCITY_Y, VELOCITY_Z,
    INTEGRAL, ACTIVE, SLIDING,
    ARM_X, ARM_Y, ARM_Z, RATE, SLIP_X, SLIP_Y, SLIP_Z, PRESSED, END, STAYS, IMPULSE_X, IMPULSE_Y, IMPULSE_Z,
    EARLIER_X, EARLIER_Y, EARLIER_Z, CLOSING,
) = range(0, 31 * BLOCK, BLOCK)  # fmt: skip
"""Where the rows begin. Seen: gap [m] at the free end of the step, W [1/kg], unit normal, place [m] then, velocity
[m/s]. Remembered, where the law asks: J [m s], whether active and sliding (1). Found: place of the contact from the
tool's centre [m], g' and slip [m/s], P [N s], gap at the end [m], whether it stays active, impulse [N s]; sliding and
velocity are replaced. Of impacts: velocity before the forces of the step have acted, and g' then [m/s]."""
ROWS, SEEN = 31, 11


class Block(NamedTuple):
    """Scratch: `numbers` (ROWS x BLOCK,), the `slot` of each contact and where the loop has its node (BLOCK,).

    `response` (K,) is 1/m [1/kg] of candidates that no support holds, 0 of all others.
    """

    numbers: Array
    slot: Indices
    there: Indices
    response: Array


def room_for_block(response: Array) -> Block:
    """Return an empty block for candidates with a `response` (K,) [1/kg]."""
    return Block(np.zeros(ROWS * BLOCK), np.zeros(BLOCK, np.int64), np.zeros(BLOCK, np.int64), response)


@compiled(inside=True, vectors=True)
def rubs(law: Law) -> bool:
    """Tell whether there is friction: without it no contact of the law slides."""
    return law[STATIC_FRICTION] > 0.0


@compiled(inside=True, vectors=True)
def bounces(law: Law) -> bool:
    """Tell whether anything leaves a contact as an impact does."""
    return law[KIND] == IMPULSE and law[RESTITUTION] > 0.0


@compiled(inside=True, vectors=True)
def goes_on(numbers: Array, at: int) -> bool:
    """Tell whether a contact has to be remembered: it has a force, or is active without."""
    return bool(numbers[PRESSED + at] > 0.0 or numbers[STAYS + at] > 0.0)


@compiled(inside=True, vectors=True)
def solve_block(
    numbers: Array, count: int, law: Law, surface: tuple[float, ...], axis: Vector, center: Vector, h: float
) -> None:
    """Find the impulses of the first `count` contacts in a step of `h` [s] whose forces act all of it.

    `surface` is the velocity [m/s, rad/s] of the tool, which turns about `axis` through its `center` [m].
    """
    _find_slip(numbers, count, surface, axis, center, rubs(law))
    # The same thrice, but compilers find no vectors before they know the kind.
    if law[KIND] == EXACT:
        _press(numbers, count, law, h)
    if law[KIND] == IMPULSE:
        _find_closing(numbers, count, surface, axis, bounces(law))
        _press(numbers, count, law, h)
    if law[KIND] in (PENALTY, INTEGRATED):
        _press(numbers, count, law, h)
    if rubs(law):
        if law[SLIP_SPEED] > 0.0:
            _rub_regularised(numbers, count, law[FRICTION], law[SLIP_SPEED])
        else:
            _rub(numbers, count, law[STATIC_FRICTION], law[FRICTION])
    _move(numbers, count)


@compiled(inside=True, vectors=True)
def _find_slip(
    numbers: Array, count: int, surface: tuple[float, ...], axis: Vector, center: Vector, slips: bool
) -> None:
    """Find where the contact is, the rate of the gap, and where it slips the velocity along the surface of the tool."""
    spin = surface[3]
    for k in range(np.uintp(count)):
        gap, nx, ny, nz = numbers[GAP + k], numbers[NORMAL_X + k], numbers[NORMAL_Y + k], numbers[NORMAL_Z + k]
        rx = numbers[PLACE_X + k] - gap * nx - center[0]
        ry = numbers[PLACE_Y + k] - gap * ny - center[1]
        rz = numbers[PLACE_Z + k] - gap * nz - center[2]
        numbers[ARM_X + k], numbers[ARM_Y + k], numbers[ARM_Z + k] = rx, ry, rz
        ux = numbers[VELOCITY_X + k] - surface[0] - spin * (axis[1] * rz - axis[2] * ry)
        uy = numbers[VELOCITY_Y + k] - surface[1] - spin * (axis[2] * rx - axis[0] * rz)
        uz = numbers[VELOCITY_Z + k] - surface[2] - spin * (axis[0] * ry - axis[1] * rx)
        rate = ux * nx + uy * ny + uz * nz
        numbers[RATE + k] = rate
        if slips:
            numbers[SLIP_X + k] = ux - rate * nx
            numbers[SLIP_Y + k] = uy - rate * ny
            numbers[SLIP_Z + k] = uz - rate * nz


@compiled(inside=True, vectors=True)
def _find_closing(numbers: Array, count: int, surface: tuple[float, ...], axis: Vector, wanted: bool) -> None:
    """Find the rates of the gaps before the forces of the step have acted, zero where nobody asks for them."""
    spin = surface[3]
    for k in range(np.uintp(count)):
        rx, ry, rz = numbers[ARM_X + k], numbers[ARM_Y + k], numbers[ARM_Z + k]
        ux = numbers[EARLIER_X + k] - surface[0] - spin * (axis[1] * rz - axis[2] * ry)
        uy = numbers[EARLIER_Y + k] - surface[1] - spin * (axis[2] * rx - axis[0] * rz)
        uz = numbers[EARLIER_Z + k] - surface[2] - spin * (axis[0] * ry - axis[1] * rx)
        rate = ux * numbers[NORMAL_X + k] + uy * numbers[NORMAL_Y + k] + uz * numbers[NORMAL_Z + k]
        numbers[CLOSING + k] = rate if wanted else 0.0


@compiled(inside=True, vectors=True)
def _press(numbers: Array, count: int, law: Law, h: float) -> None:
    """Find the impulses along the normals, and where the gaps end."""
    for k in range(np.uintp(count)):
        gap, rate, response = numbers[GAP + k], numbers[RATE + k], numbers[RESPONSE + k]
        active = numbers[ACTIVE + k] > 0.0
        slope, constant, compliance = step_row(
            law, gap, rate, numbers[CLOSING + k], numbers[INTEGRAL + k], active, h, h
        )
        wanted = -(slope * rate + constant) / (slope * response + compliance)
        pressed = wanted if wanted > 0.0 else 0.0
        numbers[PRESSED + k] = pressed
        end = gap + h * response * pressed
        numbers[END + k] = end
        numbers[STAYS + k] = 1.0 if stays_active(law, end, pressed, active) else 0.0
        numbers[IMPULSE_X + k] = pressed * numbers[NORMAL_X + k]
        numbers[IMPULSE_Y + k] = pressed * numbers[NORMAL_Y + k]
        numbers[IMPULSE_Z + k] = pressed * numbers[NORMAL_Z + k]


@compiled(inside=True, vectors=True)
def _rub(numbers: Array, count: int, static: float, kinetic: float) -> None:
    """Add friction that sticks up to `static` and slides with `kinetic`; what slid has to be stopped first."""
    for k in range(np.uintp(count)):
        pressed, slid = numbers[PRESSED + k], numbers[ACTIVE + k] * numbers[SLIDING + k] > 0.0
        most = (kinetic if slid else static) * pressed
        slip = (numbers[SLIP_X + k], numbers[SLIP_Y + k], numbers[SLIP_Z + k])
        rub, slides = exact_friction(slip, numbers[RESPONSE + k], most, kinetic * pressed)
        numbers[SLIDING + k] = 1.0 if slides and pressed > 0.0 else 0.0
        numbers[IMPULSE_X + k] += rub[0]
        numbers[IMPULSE_Y + k] += rub[1]
        numbers[IMPULSE_Z + k] += rub[2]


@compiled(inside=True, vectors=True)
def _rub_regularised(numbers: Array, count: int, kinetic: float, slip_speed: float) -> None:
    """Add friction that grows with the slip up to `slip_speed` [m/s]."""
    for k in range(np.uintp(count)):
        pressed, slip = numbers[PRESSED + k], (numbers[SLIP_X + k], numbers[SLIP_Y + k], numbers[SLIP_Z + k])
        rub, slides = regularised_friction(slip, numbers[RESPONSE + k], kinetic * pressed, slip_speed)
        numbers[SLIDING + k] = 1.0 if slides and pressed > 0.0 else 0.0
        numbers[IMPULSE_X + k] += rub[0]
        numbers[IMPULSE_Y + k] += rub[1]
        numbers[IMPULSE_Z + k] += rub[2]


@compiled(inside=True, vectors=True)
def _move(numbers: Array, count: int) -> None:
    """Change velocities by the impulses."""
    for k in range(np.uintp(count)):
        response = numbers[RESPONSE + k]
        numbers[VELOCITY_X + k] += response * numbers[IMPULSE_X + k]
        numbers[VELOCITY_Y + k] += response * numbers[IMPULSE_Y + k]
        numbers[VELOCITY_Z + k] += response * numbers[IMPULSE_Z + k]


@compiled(inside=True, any_order=True)
def block_wrench(numbers: Array, count: int) -> tuple[Vector, Vector]:
    """Return the impulse [N s] of the first `count` contacts and its moment [N m s] about the tool's centre.

    That of forces at the nodes, which a spring holds a little inside of the surface.
    """
    jx, jy, jz, mx, my, mz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(np.uintp(count)):
        end = numbers[END + k]
        rx = numbers[ARM_X + k] + end * numbers[NORMAL_X + k]
        ry = numbers[ARM_Y + k] + end * numbers[NORMAL_Y + k]
        rz = numbers[ARM_Z + k] + end * numbers[NORMAL_Z + k]
        px, py, pz = numbers[IMPULSE_X + k], numbers[IMPULSE_Y + k], numbers[IMPULSE_Z + k]
        jx += px
        jy += py
        jz += pz
        mx += ry * pz - rz * py
        my += rz * px - rx * pz
        mz += rx * py - ry * px
    return (jx, jy, jz), (mx, my, mz)
