"""How nodes with lumped masses and rigid tools move a contact, give way to its impulse, and rub.

With weights w, ease E = F/m of each node (F: components that supports leave free) and, where forces drive the tool,
1/M, 1/I and the turn t = a x r of its axis a and arm r, the contact moves by sum w_i y_i - (Y + angle t), and an
impulse J changes velocities by w_i E_i J, -J/M and -t.J/I. Along a unit direction n it then gives way by

    W = sum w_i^2 n.E_i n + n.n/M + (t.n)^2/I      per unit of impulse [1/kg]

These functions are called for every contact many times in a step, so they take bare arrays: a tuple of arrays costs
more to pass than they have to do. `rows` are those of `settle`.

Coulomb friction of one contact in one step, as the tangential impulse that belongs to a normal one (spec 8, R15).

    exact         T = -slip_free/W if |T| <= mu P (sticks), else mu_k P against the slip (slides)
    regularised   T = -mu_k P s/max(|s|, v_eps), s the slip the step ends with

slip_free [m/s] is the slip without T and W [1/kg] what a tangential impulse changes of it. A contact that slid in the
last step stops within mu_k P, any other holds within mu_s P. Neither rule can turn a slip round, so neither chatters.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.pairs import NODES
from rheotwin.constraints.contact.vectors import Vector
from rheotwin.constraints.tools import IMMOVABLE
from rheotwin.kernels.compiled import compiled

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

SLOPE, CONSTANT, COMPLIANCE, NORMAL_RESPONSE, SLIP_RESPONSE, RATE, PRESSED, SLIDES = range(8)
"""Columns of `rows`: the law of the step (3), W along the normal and a bound of it along the tangents [1/kg], the
closing rate without impulses [m/s], the normal impulse [N s], 1 where the contact slides; then the tangential impulse
(3) [N s], the velocity (3) [m/s] of a surface that does not give way, and the turn (3) [m] of one that does, limits of
friction and the slip speed, the arm (3) [m] of a tool that gives way, and the gap [m] at the end of the step."""
TANGENT, SURFACE, TURN, STATIC, KINETIC, SLIP, ARM, END, ROW = 8, 11, 14, 17, 18, 19, 20, 23, 24
MOST = 4
"""Rounds of impulses that `rounds` remembers."""
BEFORE, REACHED, CHANGE, MIXED, WAYS, TURNS, MEMORY = 0, 3, 6, 9, 12, 12 + 3 * MOST, 12 + 6 * MOST
"""Columns of its memory [N s]: impulse before the round, after it, its change, what is added, differences of both."""


@compiled(inside=True)
def turn_of(geometry: Array, tool: int, arm: Vector) -> Vector:
    """Return a x r [m] of the arm r [m] of a tool: the motion of that point per radian."""
    rx, ry, rz = arm
    ax, ay, az = geometry[tool, 3], geometry[tool, 4], geometry[tool, 5]
    return ay * rz - az * ry, az * rx - ax * rz, ax * ry - ay * rx


@compiled(inside=True)
def arm_of(geometry: Array, pose: Array, tool: int, x: float, y: float, z: float) -> Vector:
    """Return r [m] from the centre of a tool in its pose (T, 4) to the point (x, y, z) [m]."""
    return (
        x - geometry[tool, 0] - pose[tool, 0],
        y - geometry[tool, 1] - pose[tool, 1],
        z - geometry[tool, 2] - pose[tool, 2],
    )


class Giving(NamedTuple):
    """Tools that give way: the one that each pair has, `pushed` (P,), or NO_TOOL; inverse masses `ease` (T, 4).

    `moves` (T, 4): velocities, or shifts, of tools; `pose` (T, 4): where the step begins. None stands for no such tool,
    and kernels are compiled so.
    """

    pushed: Indices
    ease: Array
    moves: Array
    pose: Array


@compiled(inside=True)
def motion_of(
    p: int, node: Indices, weight: Array, rows: Array, y: Array, giving: Giving | None, surface: float
) -> Vector:
    """Return how pair `p` moves with nodes (N, 3) and pushed tools; `surface` (0, 1) takes other tools along."""
    mx, my, mz = -surface * rows[p, SURFACE], -surface * rows[p, SURFACE + 1], -surface * rows[p, SURFACE + 2]
    for k in range(NODES):
        i = node[p, k]
        if i < 0:
            break
        w = weight[p, k]
        mx += w * y[i, 0]
        my += w * y[i, 1]
        mz += w * y[i, 2]
    if giving is not None:
        tool = giving.pushed[p]
        if tool >= 0:
            mx -= giving.moves[tool, 0] + giving.moves[tool, 3] * rows[p, TURN]
            my -= giving.moves[tool, 1] + giving.moves[tool, 3] * rows[p, TURN + 1]
            mz -= giving.moves[tool, 2] + giving.moves[tool, 3] * rows[p, TURN + 2]
    return mx, my, mz


@compiled(inside=True)
def push(
    p: int, j: Vector, node: Indices, weight: Array, rows: Array, ease: Array, y: Array, giving: Giving | None
) -> None:
    """Add what an impulse on pair `p` changes to nodes (N, 3) and tools (T, 4): velocities by N s, places by N s2."""
    for k in range(NODES):
        i = node[p, k]
        if i < 0:
            break
        w = weight[p, k]
        y[i, 0] += w * ease[i, 0] * j[0]
        y[i, 1] += w * ease[i, 1] * j[1]
        y[i, 2] += w * ease[i, 2] * j[2]
    if giving is not None:
        tool = giving.pushed[p]
        if tool >= 0:
            for c in range(3):
                giving.moves[tool, c] -= giving.ease[tool, c] * j[c]
            turning = rows[p, TURN] * j[0] + rows[p, TURN + 1] * j[1] + rows[p, TURN + 2] * j[2]
            giving.moves[tool, 3] -= giving.ease[tool, 3] * turning


@compiled(inside=True)
def find_responses(
    p: int, node: Indices, weight: Array, normal: Array, rows: Array, ease: Array, giving: Giving | None
) -> None:
    """Write W along the normal of pair `p` and a bound of W along all tangents, exact where nothing is held [1/kg]."""
    nx, ny, nz = normal[p, 0], normal[p, 1], normal[p, 2]
    along, across = 0.0, 0.0
    for k in range(NODES):
        i = node[p, k]
        if i < 0:
            break
        most = max(ease[i, 0], ease[i, 1], ease[i, 2])
        share = nx * nx * ease[i, 0] + ny * ny * ease[i, 1] + nz * nz * ease[i, 2]
        square = weight[p, k] * weight[p, k]
        along += square * (share if share > IMMOVABLE * most else 0.0)
        across += square * most
    if giving is not None:
        tool = giving.pushed[p]
        if tool >= 0:
            tx, ty, tz = rows[p, TURN], rows[p, TURN + 1], rows[p, TURN + 2]
            mx, my, mz = giving.ease[tool, 0], giving.ease[tool, 1], giving.ease[tool, 2]
            turning, lever = giving.ease[tool, 3], tx * nx + ty * ny + tz * nz
            along += nx * nx * mx + ny * ny * my + nz * nz * mz + turning * lever * lever
            across += max(mx, my, mz) + turning * (tx * tx + ty * ty + tz * tz)
    rows[p, NORMAL_RESPONSE], rows[p, SLIP_RESPONSE] = along, across


@compiled(spliced=True)
def exact_friction(free: Vector, mobility: float, static_limit: float, kinetic_limit: float) -> tuple[Vector, bool]:
    """Return the impulse [N s] and whether the contact slides; `free` is the slip [m/s] without it, limits in N s."""
    size = np.sqrt(free[0] * free[0] + free[1] * free[1] + free[2] * free[2])
    if size == 0.0:
        return (0.0, 0.0, 0.0), False
    slides = size > mobility * static_limit
    scale = -kinetic_limit / size if slides else -1.0 / mobility
    return (scale * free[0], scale * free[1], scale * free[2]), slides


@compiled(spliced=True)
def regularised_friction(free: Vector, mobility: float, limit: float, slip_speed: float) -> tuple[Vector, bool]:
    """Return the impulse [N s] and whether the slip is above `slip_speed` [m/s]; implicit, so any step is stable.

    With s = s0 - W mu P min(s/v_eps, 1):  s = s0 - W mu P above v_eps and s0 v_eps/(v_eps + W mu P) below.
    """
    size = np.sqrt(free[0] * free[0] + free[1] * free[1] + free[2] * free[2])
    slides = size - mobility * limit >= slip_speed
    scale = -limit / size if slides else -limit / (slip_speed + mobility * limit)
    return (scale * free[0], scale * free[1], scale * free[2]), slides
