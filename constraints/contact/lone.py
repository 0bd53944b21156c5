"""Contacts at tools in a step of lumped masses, in closed form where a node touches one tool and nothing else.

A node of mass m, with F its free components, at a tool that does not give way has the response W = n.F n/m, so that
with slope, constant and compliance of its law (`laws.form`) the impulse is

    P = max(0, -(slope g' + constant)/(slope W + compliance)),    J = P n + T,    v <- v + F J/m

T the friction of `friction` against the slip (v - v_surface) - g' n: no pairs, no rounds. All other contacts are listed
as pairs for `settle`. Contacts of nodes that a support holds in part are lone without friction and impacts.

What keeps volumes, or solves for velocities, changes them once more in the same step: `Late` is what enters its forces
at tools, and `push_again` puts nodes that were driven into a tool on its surface.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.exerted import Exerted
from rheotwin.constraints.contact.laws.form import (
    FRICTION,
    SLIP_SPEED,
    STATIC_FRICTION,
    Numbers,
    next_integral,
    normal,
    row_of,
    stays_of,
)
from rheotwin.constraints.contact.mobility import exact_friction, regularised_friction
from rheotwin.constraints.contact.near_tools import MOVED, Seen
from rheotwin.constraints.contact.pairs import (
    FIRST,
    FREE,
    LISTED,
    NO_NODE,
    NODES,
    RENEWED,
    SECOND,
    STAMP,
    History,
    Pairs,
    note_slot,
)
from rheotwin.constraints.tools import IMMOVABLE, gap_and_normal
from rheotwin.kernels.compiled import compiled

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@compiled(inside=True)
def list_others(
    seen: Seen, candidate: Indices, response: Array | None, uses: Indices, tool: int, place: Indices, v: Array,
    pairs: Pairs, speed: Array,
) -> None:  # fmt: skip
    """List the contacts of a tool as pairs, but lone ones where those with a `response` can be."""
    p = pairs.count[0]
    for at in range(seen.found[0]):
        k = seen.slot[at]
        i = candidate[k]
        if response is not None:  # noqa: SIM102
            if uses[i] == 1 and response[k, 0] + response[k, 1] + response[k, 2] > 0.0:
                continue
        gap = seen.gap[at]
        for c in range(3):
            speed[i, c] = v[place[i], c]
            pairs.normal[p, c] = seen.normal[at, c]
            pairs.point[p, c] = seen.place[at, c] - gap * seen.normal[at, c]
        pairs.node[p, 0], pairs.weight[p, 0] = i, 1.0
        for other in range(1, NODES):
            pairs.node[p, other], pairs.weight[p, other] = NO_NODE, 0.0
        pairs.gap[p], pairs.tool[p], pairs.slot[p] = gap, tool, k
        p += 1
    pairs.count[0] = p


class Rigid(NamedTuple):
    """A tool that does not give way: its geometry, pose (4,) at the end of the step and velocity (4,)."""

    geometry: Array
    pose: Array
    velocity: Array


class Wrench(NamedTuple):
    """What lone contacts of a tool exert on it: force (3,) [N] and moment (3,) [N m]; `active` (1,) counts them."""

    force: Array
    moment: Array
    active: Indices


@cache
def meeting(name: str, friction: str) -> Any:
    """Return the stage that settles the lone contacts of a tool with this law and `friction`, "" without.

    `before` (N, 3) [m/s] are velocities before the forces of the step have acted, None where nothing bounces. `square`
    (1,) [m2/s2] grows to a bound of the squared speed at which nodes settled here move in the step, shifts included.
    `reaction` (n, 3) [N] is what supports bear, None where they hold no candidate; forces act for `kick` [s].
    """
    row, stays, kind = row_of((name,)), stays_of((name,)), normal(name)
    integrates, strikes = kind.integrates, kind.strikes
    rubs, regularised = friction != "", friction == "regularised"

    @compiled(inside=True, vectors=True)
    def meet(
        seen: Seen, candidate: Indices, response: Array, uses: Indices, place: Indices, rigid: Rigid, law: Numbers,
        before: Array | None, history: History, wrench: Wrench, x: Array, v: Array, reaction: Array | None,
        square: Array, h: float, kick: float,
    ) -> None:  # fmt: skip
        geometry, pose, tool = rigid.geometry, rigid.pose, rigid.velocity
        cx, cy, cz = geometry[0] + pose[0], geometry[1] + pose[1], geometry[2] + pose[2]
        # the axis times the rate of turning
        sx, sy, sz = tool[3] * geometry[3], tool[3] * geometry[4], tool[3] * geometry[5]
        fx, fy, fz, tx, ty, tz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        listed, renewed, stamp = history.filled[LISTED], history.filled[RENEWED], history.filled[STAMP]
        for at in range(seen.found[0]):
            k = seen.slot[at]
            if uses[candidate[k]] != 1:
                continue
            gap, nx, ny, nz = seen.gap[at], seen.normal[at, 0], seen.normal[at, 1], seen.normal[at, 2]
            i, ex, ey, ez = place[candidate[k]], response[k, 0], response[k, 1], response[k, 2]
            w = nx * nx * ex + ny * ny * ey + nz * nz * ez
            if w <= IMMOVABLE * max(ex, ey, ez):
                continue
            rx = seen.place[at, 0] - gap * nx - cx
            ry = seen.place[at, 1] - gap * ny - cy
            rz = seen.place[at, 2] - gap * nz - cz
            mx, my, mz = tool[0] + sy * rz - sz * ry, tool[1] + sz * rx - sx * rz, tool[2] + sx * ry - sy * rx
            ux, uy, uz = v[i, 0] - mx, v[i, 1] - my, v[i, 2] - mz
            rate, closing = ux * nx + uy * ny + uz * nz, 0.0
            if before is not None:
                j = candidate[k]
                closing = (before[j, 0] - mx) * nx + (before[j, 1] - my) * ny + (before[j, 2] - mz) * nz
            was = history.active[k]
            integral = history.integral[k] if integrates else 0.0
            slope, constant, compliance = row(law, gap, rate, closing, integral, was, h, kick)
            pressed = max(0.0, -(slope * rate + constant) / (slope * w + compliance))
            end = gap + h * w * pressed
            goes_on, slides = stays(law, end, pressed, was), False
            jx, jy, jz = pressed * nx, pressed * ny, pressed * nz
            if rubs:
                slip = (ux - rate * nx, uy - rate * ny, uz - rate * nz)
                if regularised:
                    rub, slides = regularised_friction(slip, w, law[FRICTION] * pressed, law[SLIP_SPEED])
                else:
                    most = law[FRICTION] if was and history.sliding[k] else law[STATIC_FRICTION]
                    rub, slides = exact_friction(slip, w, most * pressed, law[FRICTION] * pressed)
                jx, jy, jz = jx + rub[0], jy + rub[1], jz + rub[2]
            if pressed > 0.0 or goes_on:
                history.active[k] = goes_on
                history.impulse[k, 0], history.impulse[k, 1], history.impulse[k, 2] = jx, jy, jz
                if integrates:
                    history.integral[k] = next_integral(end, integral, goes_on, h)
                if rubs:
                    history.sliding[k] = slides and pressed > 0.0
                listed, renewed = note_slot(k, history.mark, history.listed, stamp, listed, renewed)
            vx, vy, vz = v[i, 0] + ex * jx, v[i, 1] + ey * jy, v[i, 2] + ez * jz
            if pressed > 0.0:
                v[i, 0], v[i, 1], v[i, 2] = vx, vy, vz
                square[0] = max(square[0], vx * vx + vy * vy + vz * vz)
                wrench.active[0] += 1
                if reaction is not None:
                    reaction[i, 0] -= jx / kick if ex == 0.0 else 0.0
                    reaction[i, 1] -= jy / kick if ey == 0.0 else 0.0
                    reaction[i, 2] -= jz / kick if ez == 0.0 else 0.0
                # forces act at the nodes, which a spring holds a little inside of the surface
                rx, ry, rz = rx + end * nx, ry + end * ny, rz + end * nz
                fx, fy, fz = fx + jx, fy + jy, fz + jz
                tx, ty, tz = tx + ry * jz - rz * jy, ty + rz * jx - rx * jz, tz + rx * jy - ry * jx
            if strikes and end < 0.0 and gap < 0.0:  # still inside after an impact: lifted without a velocity
                x[i, 0], x[i, 1], x[i, 2] = x[i, 0] - end * nx, x[i, 1] - end * ny, x[i, 2] - end * nz
                square[0] = max(square[0], 2.0 * (vx * vx + vy * vy + vz * vz + end * end / (h * h)))
        history.filled[LISTED], history.filled[RENEWED] = listed, renewed
        wrench.force[0], wrench.force[1], wrench.force[2] = -fx / kick, -fy / kick, -fz / kick
        wrench.moment[0], wrench.moment[1], wrench.moment[2] = -tx / kick, -ty / kick, -tz / kick

    return meet


class Late(NamedTuple):
    """What pushes at tools enter once the contacts of a step are settled: tools in their pose at its end (T, 4).

    `firm` (T,) are those that keep nodes out exactly, without friction, impacts or triangles.
    """

    shape: Indices
    geometry: Array
    pose: Array
    firm: NDArray[np.bool_]
    offset: Indices
    candidate: Indices
    places: Indices
    ease: Array
    history: History
    exerted: Exerted
    way: Array


@compiled(inside=True)
def push_late(late: Late, k: int, jx: float, jy: float, jz: float, x: Array, v: Array, h: float) -> None:
    """Enter an impulse [N s] on candidate `k`, which velocities (n, 3) [m/s] have in them already."""
    history, exerted, i = late.history, late.exerted, late.candidate[k]
    tool, place = np.searchsorted(late.offset, k, side="right") - 1, late.places[i]
    if history.mark[k] == FREE:  # others have been forgotten: this one counts as written in the step before
        history.mark[k] = FIRST + SECOND - history.filled[STAMP]
        history.listed[history.filled[LISTED]] = k
        history.filled[LISTED] += 1
        exerted.active[0] += 1
    history.active[k] = True
    for c, j in ((0, jx), (1, jy), (2, jz)):
        history.impulse[k, c] += j
        exerted.tool_force[tool, c] -= j / h
        if exerted.marked[i]:  # forces of others are read from their impulses
            exerted.node_force[i, c] += j / h
    rx = x[place, 0] + h * v[place, 0] - late.geometry[tool, 0] - late.pose[tool, 0]
    ry = x[place, 1] + h * v[place, 1] - late.geometry[tool, 1] - late.pose[tool, 1]
    rz = x[place, 2] + h * v[place, 2] - late.geometry[tool, 2] - late.pose[tool, 2]
    exerted.tool_moment[tool, 0] -= (ry * jz - rz * jy) / h
    exerted.tool_moment[tool, 1] -= (rz * jx - rx * jz) / h
    exerted.tool_moment[tool, 2] -= (rx * jy - ry * jx) / h


@compiled(inside=True)
def push_again(late: Late, x: Array, v: Array, reaction: Array, h: float) -> float:
    """Correct pushes of firm tools for velocities that have changed since contacts were settled.

    All candidates are looked at, those that came into a tool only now too; returns the largest correction [m].
    """
    largest = 0.0
    for tool in range(late.shape.shape[0]):
        for k in range(late.offset[tool], late.offset[tool + 1] if late.firm[tool] else 0):
            i = late.candidate[k]
            place, ex, ey, ez = late.places[i], late.ease[i, 0], late.ease[i, 1], late.ease[i, 2]
            px, py, pz = x[place, 0] + h * v[place, 0], x[place, 1] + h * v[place, 1], x[place, 2] + h * v[place, 2]
            gap, nx, ny, nz = gap_and_normal(late.shape[tool], late.geometry[tool], late.pose[tool], px, py, pz)
            impulse = late.history.impulse[k]
            before = impulse[0] * nx + impulse[1] * ny + impulse[2] * nz
            w, most = nx * nx * ex + ny * ny * ey + nz * nz * ez, max(ex, ey, ez)
            if (gap >= 0.0 and before <= 0.0) or w <= IMMOVABLE * most:
                continue
            change = max(0.0, before - gap / (h * w)) - before
            jx, jy, jz = change * nx, change * ny, change * nz
            v[place, 0], v[place, 1], v[place, 2] = (
                v[place, 0] + ex * jx,
                v[place, 1] + ey * jy,
                v[place, 2] + ez * jz,
            )
            reaction[place, 0] -= jx / h if ex == 0.0 else 0.0
            reaction[place, 1] -= jy / h if ey == 0.0 else 0.0
            reaction[place, 2] -= jz / h if ez == 0.0 else 0.0
            push_late(late, k, jx, jy, jz, x, v, h)
            largest = max(largest, h * most * abs(change))
    return float(largest)


@compiled(inside=True)
def note_more(late: Late, way: float) -> None:
    """Note that candidates have moved by `way` [m] more."""
    for tool in range(late.way.shape[0]):
        late.way[tool, MOVED] += way


def friction_of(law: Array) -> str:
    """Return the rule of friction in a row of a table of laws, "" without."""
    if law[STATIC_FRICTION] == 0.0:
        return ""
    return "regularised" if law[SLIP_SPEED] > 0.0 else "exact"
