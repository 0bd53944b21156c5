"""Tools and supports in a step: what they do to slaves before the solve and to masters after it (spec 3.4, 3.7).

At a slave of mass m that would be in a tool at the end of the step, its gap now g, w the tool's own response,

    j_n = -(v_n + g+/h)/(1/m + w), with restitution -(1 + e) v_n/(1/m + w),   |j_t| <= mu j_n

and its normal velocity is held in the solve. Masters get the same, and are put back to the surface. The reaction of
what is held is (M + beta h^2 H) v - M v*, shared out to tools and supports. Slaves that were outside stay there.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from rheotwin.arrays import Array, Flags, Indices
from rheotwin.constraints.contact.laws.form import FRICTION, RESTITUTION, STATIC_FRICTION
from rheotwin.constraints.contact.tool_motion import ToolMotion
from rheotwin.constraints.contact.tool_pairs import gap_at
from rheotwin.constraints.motion import Tables, table_value
from rheotwin.kernels.compiled import compiled
from rheotwin.particles.slave.cloud import Slaves
from rheotwin.particles.steps import Loads

OUTSIDE = 1e-6
"""Share of h that a slave may be inside of a tool and still count as outside."""
NO_TOOL = -1


class Held(NamedTuple):
    """Which slaves stand still along what: projectors (S, 6) XX XY XZ YY YZ ZZ, and the tool (S,) that did it last."""

    free: Array
    tool: Indices


class Acting(NamedTuple):
    """What tools exert and get: force [N] and moment [N m] of the bodies on them (T, 3), about their centres."""

    force: Array
    moment: Array
    active: Indices


class Supports(NamedTuple):
    """Which support holds each component of a node (N, 3), or -1, its motion, and the force (P, 3) [N] on it."""

    owner: Indices
    tables: Tables
    force: Array


@compiled(inside=True)
def begin_touching(acting: Acting, supports: Supports) -> None:
    """Clear what the last step exerted."""
    for row in range(acting.force.shape[0]):
        for c in range(3):
            acting.force[row, c], acting.moment[row, c] = 0.0, 0.0
    acting.active[0] = 0
    for row in range(supports.force.shape[0]):
        for c in range(3):
            supports.force[row, c] = 0.0


@compiled(inside=True)
def begin_held(held: Held, count: Indices) -> None:
    """Let all slaves go."""
    for s in range(count[0]):
        for c in range(6):
            held.free[s, c] = 1.0 if c == 0 or c == 3 or c == 5 else 0.0
        held.tool[s] = NO_TOOL


@compiled(inside=True)
def hold_slaves(supports: Supports, slaves: Slaves, held: Held | None, end: float, h: float) -> None:
    """Give slaves of supports the velocity of their motion over the step, and note the force that takes."""
    motion, now = supports.tables.current, supports.force
    for s in range(slaves.count[0]):
        node = slaves.anchor[s]
        if node < 0:
            continue
        for c in range(3):
            which = supports.owner[node, c]
            if which < 0:
                continue
            table_value(supports.tables, which, end, motion)
            after = motion[c]
            table_value(supports.tables, which, end - h, motion)
            wanted = (after - motion[c]) / h
            now[which, c] -= slaves.sum[s, 3] * (wanted - slaves.v[s, c]) / h
            slaves.v[s, c] = wanted
            if held is not None:
                hold_along(held.free, s, (1.0 * (c == 0), 1.0 * (c == 1), 1.0 * (c == 2)))


@compiled(inside=True)
def keep_on_supports(supports: Supports, slaves: Slaves, h: float) -> None:
    """Let what supports hold move with them instead of its drift."""
    for s in range(slaves.count[0]):
        node = slaves.anchor[s]
        for c in range(3 if node >= 0 else 0):
            if supports.owner[node, c] >= 0:
                slaves.x[s, c] += h * slaves.v[s, c] - slaves.drift[s, c]


@compiled(inside=True)
def foresee(free: Array, motion: ToolMotion, h: float) -> None:
    """Put tools that forces move where they go with what contact has made of their velocities."""
    for tool in range(free.shape[0]):
        for c in range(4):
            if free[tool, c] != 0.0:
                motion.end[tool, c] = motion.pose[tool, c] + h * motion.velocity[tool, c]


@compiled(inside=True, vectors=True)
def _push(
    mass: float, left: float, v: Any, n: Any, r: Any, geometry: Array, motion: Array, ease: Array, law: Array
) -> Any:
    """Return the impulse (3) [N s] on a mass that touches a tool at r from its centre; the tool takes its reaction.

    `left` [m/s] is the speed at which it may close, v its velocity, n the normal,
    `motion` and `ease` (4,) velocity and inverse mass of the tool.
    """
    sx, sy, sz = motion[3] * geometry[3], motion[3] * geometry[4], motion[3] * geometry[5]
    ux = v[0] - motion[0] - (sy * r[2] - sz * r[1])
    uy = v[1] - motion[1] - (sz * r[0] - sx * r[2])
    uz = v[2] - motion[2] - (sx * r[1] - sy * r[0])
    rate = ux * n[0] + uy * n[1] + uz * n[2]
    if rate + left >= 0.0:
        return 0.0, 0.0, 0.0
    back = law[RESTITUTION] * rate if law[RESTITUTION] > 0.0 else left
    pressed = -(rate + back) / (1.0 / mass + _response(geometry, ease, r, n))
    tx, ty, tz = ux - rate * n[0], uy - rate * n[1], uz - rate * n[2]
    slip, rub = np.sqrt(tx * tx + ty * ty + tz * tz), 0.0
    if law[STATIC_FRICTION] > 0.0 and slip > 0.0:
        tx, ty, tz = tx / slip, ty / slip, tz / slip
        rub = slip / (1.0 / mass + _response(geometry, ease, r, (tx, ty, tz)))
        if rub > law[STATIC_FRICTION] * pressed:
            rub = min(rub, law[FRICTION] * pressed)
    jx, jy, jz = pressed * n[0] - rub * tx, pressed * n[1] - rub * ty, pressed * n[2] - rub * tz
    for c, j in ((0, jx), (1, jy), (2, jz)):
        motion[c] -= ease[c] * j
    turn = geometry[3] * (r[1] * jz - r[2] * jy) + geometry[4] * (r[2] * jx - r[0] * jz)
    motion[3] -= ease[3] * (turn + geometry[5] * (r[0] * jy - r[1] * jx))
    return jx, jy, jz


@compiled(inside=True, vectors=True)
def _response(geometry: Array, ease: Array, r: Any, n: Any) -> float:
    """Return the velocity [m/s] along n that a unit impulse along n gives to a tool at r from its centre."""
    turn = geometry[3] * (r[1] * n[2] - r[2] * n[1]) + geometry[4] * (r[2] * n[0] - r[0] * n[2])
    turn += geometry[5] * (r[0] * n[1] - r[1] * n[0])
    gain: float = ease[0] * n[0] * n[0] + ease[1] * n[1] * n[1] + ease[2] * n[2] * n[2] + ease[3] * turn * turn
    return gain


@compiled(inside=True, vectors=True)
def note_force(acting: Acting, tool: int, r: Any, jx: float, jy: float, jz: float, h: float) -> None:
    """Enter an impulse on a body at r from the centre of a tool."""
    fx, fy, fz = jx / h, jy / h, jz / h
    acting.force[tool, 0] -= fx
    acting.force[tool, 1] -= fy
    acting.force[tool, 2] -= fz
    acting.moment[tool, 0] -= r[1] * fz - r[2] * fy
    acting.moment[tool, 1] -= r[2] * fx - r[0] * fz
    acting.moment[tool, 2] -= r[0] * fy - r[1] * fx


class Who(NamedTuple):
    """Which nodes (N,) and masters (M,) can touch a tool: a bar those in front of it, others those of its bodies."""

    nodes: Flags
    masters: Flags


@compiled(inside=True, merged=True)
def _meets(who: Who | None, node: int) -> bool:
    """Tell whether a slave next to a node of the start, or to none, can touch a tool."""
    if who is None:
        return True
    return node < 0 or who.nodes[node]


@cache
def meeting_slaves(shape: int) -> Any:
    """Return the stage that lets slaves meet a tool of this shape; `held` is None where nothing is solved after it."""
    gap_of = gap_at(shape)

    @compiled(inside=True, vectors=True)
    def meet(
        mesh: Any, tool: int, geometry: Array, motion: ToolMotion, ease: Array, law: Array, who: Who | None,
        slaves: Slaves, held: Held | None, acting: Acting, h: float,
    ) -> None:  # fmt: skip
        pose, moving, x, v = motion.pose[tool], motion.velocity[tool], slaves.x, slaves.v
        fastest = 0.0
        for s in range(slaves.count[0]):
            fastest = max(fastest, v[s, 0] * v[s, 0] + v[s, 1] * v[s, 1] + v[s, 2] * v[s, 2])
        speed = np.sqrt(moving[0] * moving[0] + moving[1] * moving[1] + moving[2] * moving[2])
        near = h * (np.sqrt(fastest) + speed) + (np.inf if moving[3] != 0.0 else 0.0)
        for s in range(slaves.count[0]):
            mass = slaves.sum[s, 3]
            if not mass > 0.0 or not _meets(who, slaves.anchor[s]):
                continue
            gap, n = gap_of(mesh, geometry, pose, (x[s, 0], x[s, 1], x[s, 2]), near)
            if gap > near:
                continue
            r = (
                x[s, 0] - geometry[0] - pose[0],
                x[s, 1] - geometry[1] - pose[1],
                x[s, 2] - geometry[2] - pose[2],
            )
            jx, jy, jz = _push(mass, max(gap, 0.0) / h, (v[s, 0], v[s, 1], v[s, 2]), n, r, geometry, moving, ease, law)
            if jx == 0.0 and jy == 0.0 and jz == 0.0:
                continue
            acting.active[0] += 1
            v[s, 0], v[s, 1], v[s, 2] = v[s, 0] + jx / mass, v[s, 1] + jy / mass, v[s, 2] + jz / mass
            slaves.push[s, 0] += jx / h
            slaves.push[s, 1] += jy / h
            slaves.push[s, 2] += jz / h
            note_force(acting, tool, r, jx, jy, jz, h)
            if held is not None:
                hold_along(held.free, s, n)
                held.tool[s] = tool

    return meet


@compiled(inside=True, vectors=True)
def hold_along(free: Array, s: int, n: Any) -> None:
    """Take a direction, or what was still free of it, out of the projector of a slave: P - m m^T, m = P n/|P n|."""
    p = free[s]
    x = p[0] * n[0] + p[1] * n[1] + p[2] * n[2]
    y = p[1] * n[0] + p[3] * n[1] + p[4] * n[2]
    z = p[2] * n[0] + p[4] * n[1] + p[5] * n[2]
    square = x * x + y * y + z * z
    if square < 1e-12:
        return
    p[0], p[1], p[2] = p[0] - x * x / square, p[1] - x * y / square, p[2] - x * z / square
    p[3], p[4], p[5] = p[3] - y * y / square, p[4] - y * z / square, p[5] - z * z / square


@cache
def keeping_out(shape: int) -> Any:
    """Return the stage after the motion of all: masters meet the tool in its new pose, slaves stay outside."""
    gap_of = gap_at(shape)

    @compiled(inside=True, vectors=True)
    def keep_out(
        mesh: Any, tool: int, geometry: Array, motion: ToolMotion, ease: Array, law: Array, who: Who | None, x: Array,
        v: Array, masses: Array, slaves: Slaves, width: float, acting: Acting, h: float,
    ) -> None:  # fmt: skip
        begin, pose, moving = motion.pose[tool], motion.end[tool], motion.velocity[tool]
        for m in range(x.shape[0]):
            if who is not None:  # noqa: SIM102
                if not who.masters[m]:
                    continue
            gap, n = gap_of(mesh, geometry, pose, (x[m, 0], x[m, 1], x[m, 2]), 0.0)
            if gap > 0.0:
                continue
            x[m, 0], x[m, 1], x[m, 2] = x[m, 0] - gap * n[0], x[m, 1] - gap * n[1], x[m, 2] - gap * n[2]
            r = (
                x[m, 0] - geometry[0] - pose[0],
                x[m, 1] - geometry[1] - pose[1],
                x[m, 2] - geometry[2] - pose[2],
            )
            jx, jy, jz = _push(masses[m], 0.0, (v[m, 0], v[m, 1], v[m, 2]), n, r, geometry, moving, ease, law)
            v[m, 0], v[m, 1], v[m, 2] = v[m, 0] + jx / masses[m], v[m, 1] + jy / masses[m], v[m, 2] + jz / masses[m]
            note_force(acting, tool, r, jx, jy, jz, h)
        y, inside = slaves.x, -OUTSIDE * width
        for s in range(slaves.count[0]):
            gap, n = gap_of(mesh, geometry, pose, (y[s, 0], y[s, 1], y[s, 2]), 0.0)
            if gap >= inside or not _meets(who, slaves.anchor[s]):
                continue
            way = slaves.drift[s]
            before, _ = gap_of(mesh, geometry, begin, (y[s, 0] - way[0], y[s, 1] - way[1], y[s, 2] - way[2]), 0.0)
            if before >= inside:
                y[s, 0], y[s, 1], y[s, 2] = y[s, 0] - gap * n[0], y[s, 1] - gap * n[1], y[s, 2] - gap * n[2]

    return keep_out


@compiled(inside=True, vectors=True)
def share_reactions(
    held: Held, residual: Array, geometry: Array, motion: ToolMotion, slaves: Slaves, supports: Supports,
    acting: Acting, h: float,
) -> None:  # fmt: skip
    """Enter what held velocities took in the solve, (M + beta h^2 H) v - M v*, at tools and supports."""
    for s in range(slaves.count[0]):
        tool, node = held.tool[s], slaves.anchor[s]
        if tool == NO_TOOL and node < 0:
            continue
        p, r = held.free[s], residual[s]
        j = (
            p[0] * r[0] + p[1] * r[1] + p[2] * r[2] - r[0],
            p[1] * r[0] + p[3] * r[1] + p[4] * r[2] - r[1],
            p[2] * r[0] + p[4] * r[1] + p[5] * r[2] - r[2],
        )
        borne = (0.0 * j[0], 0.0 * j[0], 0.0 * j[0])
        for c in range(3 if node >= 0 else 0):
            which = supports.owner[node, c]
            if which >= 0:
                supports.force[which, c] -= j[c] / h
                borne = (
                    j[0] if c == 0 else borne[0],
                    j[1] if c == 1 else borne[1],
                    j[2] if c == 2 else borne[2],
                )
        if tool != NO_TOOL:
            y, pose = slaves.x[s], motion.pose[tool]
            arm = (
                y[0] - geometry[tool, 0] - pose[0],
                y[1] - geometry[tool, 1] - pose[1],
                y[2] - geometry[tool, 2] - pose[2],
            )
            jx, jy, jz = j[0] - borne[0], j[1] - borne[1], j[2] - borne[2]
            note_force(acting, tool, arm, jx, jy, jz, h)
            slaves.push[s, 0] += jx / h
            slaves.push[s, 1] += jy / h
            slaves.push[s, 2] += jz / h


@compiled(inside=True)
def add_loads(loads: Loads, where: Indices, time: float, slaves: Slaves, h: float) -> None:
    """Give the impulse of loads [N] at `time` [s] to the slaves at their nodes."""
    factor, current = loads.tables.current, -1
    for k in range(loads.node.shape[0]):
        s = where[loads.node[k]]
        if s < 0 or not slaves.sum[s, 3] > 0.0:
            continue
        if loads.motion[k] != current:
            current = loads.motion[k]
            table_value(loads.tables, current, time, factor)
        for c in range(3):
            slaves.v[s, c] += h * factor[0] * loads.share[k, c] / slaves.sum[s, 3]
