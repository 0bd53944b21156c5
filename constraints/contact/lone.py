"""Contacts at tools in a step of lumped masses, in closed form where a node touches one tool and nothing else.

A node of mass m at a tool that does not give way has the response W = 1/m in every direction, so that with slope,
constant and compliance of its law (`laws.form`) the impulse is

    P = max(0, -(slope g' + constant)/(slope W + compliance)),    J = P n + T,    v <- v + W J

T the friction of `friction` against the slip (v - v_surface) - g' n: no pairs, no rounds. All other contacts are listed
as pairs for `settle`.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.laws.form import (
    FRICTION,
    RESTITUTION,
    SLIP_SPEED,
    STATIC_FRICTION,
    Numbers,
    next_integral,
    normal,
    row_of,
    stays_of,
)
from rheotwin.constraints.contact.mobility import exact_friction, regularised_friction
from rheotwin.constraints.contact.near_tools import Seen
from rheotwin.constraints.contact.pairs import LISTED, NO_NODE, NODES, RENEWED, STAMP, History, Pairs, note_slot
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
            if response[k] > 0.0 and uses[i] == 1:
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
    """
    row, stays, kind = row_of((name,)), stays_of((name,)), normal(name)
    integrates, strikes = kind.integrates, kind.strikes
    rubs, regularised = friction != "", friction == "regularised"

    @compiled(inside=True, vectors=True)
    def meet(
        seen: Seen, candidate: Indices, response: Array, uses: Indices, place: Indices, rigid: Rigid, law: Numbers,
        before: Array | None, history: History, wrench: Wrench, x: Array, v: Array, square: Array, h: float,
    ) -> None:  # fmt: skip
        geometry, pose, tool = rigid.geometry, rigid.pose, rigid.velocity
        cx, cy, cz = geometry[0] + pose[0], geometry[1] + pose[1], geometry[2] + pose[2]
        # the axis times the rate of turning
        sx, sy, sz = tool[3] * geometry[3], tool[3] * geometry[4], tool[3] * geometry[5]
        fx, fy, fz, tx, ty, tz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        listed, renewed, stamp = history.filled[LISTED], history.filled[RENEWED], history.filled[STAMP]
        for at in range(seen.found[0]):
            k = seen.slot[at]
            w, i = response[k], place[candidate[k]]
            if w == 0.0 or uses[candidate[k]] != 1:
                continue
            gap, nx, ny, nz = seen.gap[at], seen.normal[at, 0], seen.normal[at, 1], seen.normal[at, 2]
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
            slope, constant, compliance = row(law, gap, rate, closing, integral, was, h, h)
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
            vx, vy, vz = v[i, 0] + w * jx, v[i, 1] + w * jy, v[i, 2] + w * jz
            if pressed > 0.0:
                v[i, 0], v[i, 1], v[i, 2] = vx, vy, vz
                square[0] = max(square[0], vx * vx + vy * vy + vz * vz)
                wrench.active[0] += 1
                # forces act at the nodes, which a spring holds a little inside of the surface
                rx, ry, rz = rx + end * nx, ry + end * ny, rz + end * nz
                fx, fy, fz = fx + jx, fy + jy, fz + jz
                tx, ty, tz = tx + ry * jz - rz * jy, ty + rz * jx - rx * jz, tz + rx * jy - ry * jx
            if strikes and end < 0.0 and gap < 0.0:  # still inside after an impact: lifted without a velocity
                x[i, 0], x[i, 1], x[i, 2] = x[i, 0] - end * nx, x[i, 1] - end * ny, x[i, 2] - end * nz
                square[0] = max(square[0], 2.0 * (vx * vx + vy * vy + vz * vz + end * end / (h * h)))
        history.filled[LISTED], history.filled[RENEWED] = listed, renewed
        wrench.force[0], wrench.force[1], wrench.force[2] = -fx / h, -fy / h, -fz / h
        wrench.moment[0], wrench.moment[1], wrench.moment[2] = -tx / h, -ty / h, -tz / h

    return meet


def friction_of(law: Array) -> str:
    """Return the rule of friction in a row of a table of laws, "" without."""
    if law[STATIC_FRICTION] == 0.0:
        return ""
    return "regularised" if law[SLIP_SPEED] > 0.0 else "exact"


def bounces(law: Array) -> bool:
    """Tell whether anything leaves a contact as an impact does."""
    return bool(law[RESTITUTION] > 0.0)
