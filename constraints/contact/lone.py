"""Contacts at tools in a step of lumped masses, in closed form where a node touches one tool and nothing else.

A free node with mass m at a tool that does not give way has the response W = 1/m in every direction, so that its law
and friction are solved on the spot: no pairs, no rounds. All other contacts are listed as pairs for `settle`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.compiled import borrowing
from rheotwin.constraints.contact.friction import exact_friction, regularised_friction
from rheotwin.constraints.contact.history import FREE, RENEWED
from rheotwin.constraints.contact.impact import lone_shift
from rheotwin.constraints.contact.packed_law import (
    FRICTION,
    IMPULSE,
    KIND,
    RESTITUTION,
    SLIP_SPEED,
    STATIC_FRICTION,
    law_of,
    next_integral,
    stays_active,
    step_row,
)
from rheotwin.constraints.contact.pairs import NO_NODE, NODES
from rheotwin.constraints.contact.tool_pairs import tool_gap
from rheotwin.constraints.tools import PLANE, gap_and_normal

Array = NDArray[np.float64]


@borrowing
def _count_uses(contact: Any, x: Array, v: Array, h: float, change: int) -> None:
    """Add `change` to the uses of each node in a pair between bodies or within reach of a tool."""
    uses, pairs, near, tools = contact.contacts.impulses.uses, contact.contacts.pairs, contact.close, contact.tools
    poses, candidate = contact.contacts.tools.motion.end, tools.candidate
    for p in range(pairs.count[0]):
        for k in range(NODES):
            if pairs.node[p, k] >= 0:
                uses[pairs.node[p, k]] += change
    for tool in range(tools.shape.shape[0]):
        first, pose, reach = tools.offset[tool], poses[tool], contact.reach[tool]
        for row in range(first, first + near.counts[tool]):
            k = near.rows[row]
            i = near.place[k]
            at = (x[i, 0] + h * v[i, 0], x[i, 1] + h * v[i, 1], x[i, 2] + h * v[i, 2])
            gap, _ = tool_gap(tools, tool, pose, at, reach, near.waiting, near.squares)
            uses[candidate[k]] += change if gap <= reach else 0


@borrowing
def meet_tools(contact: Any, x: Array, v: Array, h: float, kick: float, may_be_lone: bool) -> float:
    """Settle lone contacts in velocities v (n, 3) [m/s] and places x (n, 3) [m], and list all others as pairs.

    Candidates are looked at where x + h v. Returns a bound of the squared speed [m2/s2] at which nodes
    settled here move in the step, shifts included.
    """
    tools, pairs, contacts = contact.tools, contact.contacts.pairs, contact.contacts
    shared = tools.shape.shape[0] > 1 or pairs.count[0] > 0
    if may_be_lone and shared:
        _count_uses(contact, x, v, h, 1)
    largest = 0.0
    for tool in range(tools.shape.shape[0]):
        ease = contacts.tools.drives.inverse_mass[tool]
        rigid = ease[0] + ease[1] + ease[2] + ease[3] == 0.0
        largest = max(
            largest, _meet_tool(contact, tool, x, v, h, kick, may_be_lone and rigid, shared, may_be_lone and shared)
        )
    if may_be_lone and shared:
        _zero_uses(contact)
    return largest


@borrowing
def _zero_uses(contact: Any) -> None:
    uses, pairs, near, tools = contact.contacts.impulses.uses, contact.contacts.pairs, contact.close, contact.tools
    for p in range(pairs.count[0]):
        for k in range(NODES):
            if pairs.node[p, k] >= 0:
                uses[pairs.node[p, k]] = 0
    for tool in range(tools.shape.shape[0]):
        first = tools.offset[tool]
        for row in range(first, first + near.counts[tool]):
            uses[tools.candidate[near.rows[row]]] = 0


@borrowing
def _meet_tool(
    contact: Any,
    tool: int,
    x: Array,
    v: Array,
    h: float,
    kick: float,
    may_be_lone: bool,
    shared: bool,
    counted: bool,
) -> float:
    """Do so at one tool; `counted` says that uses are, which end where a node has been settled."""
    tools, near, contacts, exerted = contact.tools, contact.close, contact.contacts, contact.exerted
    pairs, history, motion = contacts.pairs, contacts.history, contacts.tools.motion
    node, weight, normal, gaps, points = pairs.node, pairs.weight, pairs.normal, pairs.gap, pairs.point
    pair_tool, pair_slot, begin_at, loose = pairs.tool, pairs.slot, contact.end, contacts.lumped.loose
    active, sliding, integral, impulse = history.active, history.sliding, history.integral, history.impulse
    listed, mark, ease, uses = history.listed, history.mark, contacts.lumped.ease, contacts.impulses.uses
    rows, place, candidate, velocity = near.rows, near.place, tools.candidate, contact.velocity
    touched, on_node = exerted.touched, exerted.node_force
    geometry, tool_v, pose, reach = tools.geometry, motion.velocity, motion.end[tool], contact.reach[tool]
    flat, first = tools.shape[tool] == PLANE, tools.offset[tool]
    cx, cy, cz = geometry[tool, 0] + pose[0], geometry[tool, 1] + pose[1], geometry[tool, 2] + pose[2]
    nx, ny, nz = 0.0, 0.0, 0.0
    if flat:
        _, nx, ny, nz = gap_and_normal(PLANE, geometry[tool], pose, cx, cy, cz)
    ux, uy, uz, spin = tool_v[tool, 0], tool_v[tool, 1], tool_v[tool, 2], tool_v[tool, 3]
    law = law_of(contacts.laws, tool)
    static, kinetic, slip_speed, hits = law[STATIC_FRICTION], law[FRICTION], law[SLIP_SPEED], law[KIND] == IMPULSE
    ax, ay, az = geometry[tool, 3], geometry[tool, 4], geometry[tool, 5]
    ox, oy, oz, qx, qy, qz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    nodes, pushing, count, largest = exerted.filled[0], exerted.active[0], pairs.count[0], 0.0
    filled, inverse = history.filled[0], 1.0 / kick
    for row in range(first, first + near.counts[tool]):
        k = rows[row]
        there, i = place[k], candidate[k]
        vx, vy, vz = float(v[there, 0]), float(v[there, 1]), float(v[there, 2])
        px, py, pz = x[there, 0] + h * vx, x[there, 1] + h * vy, x[there, 2] + h * vz
        if flat:
            gap = (px - cx) * nx + (py - cy) * ny + (pz - cz) * nz
        else:
            gap, (nx, ny, nz) = tool_gap(tools, tool, pose, (px, py, pz), reach, near.waiting, near.squares)
        if gap > reach or (counted and uses[i] == 0):
            continue  # out of reach, or brought here by another tool that has settled it: the next step sees both
        if not (may_be_lone and loose[i] and (not shared or uses[i] == 1)):
            velocity[i, 0], velocity[i, 1], velocity[i, 2] = vx, vy, vz
            begin_at[i, 0], begin_at[i, 1], begin_at[i, 2] = px, py, pz
            node[count, 0], weight[count, 0] = i, 1.0
            for other in range(1, NODES):
                node[count, other], weight[count, other] = NO_NODE, 0.0
            normal[count, 0], normal[count, 1], normal[count, 2] = nx, ny, nz
            gaps[count], pair_tool[count], pair_slot[count] = gap, tool, k
            points[count, 0], points[count, 1], points[count, 2] = px - gap * nx, py - gap * ny, pz - gap * nz
            count += 1
            continue
        rx, ry, rz = px - gap * nx - cx, py - gap * ny - cy, pz - gap * nz - cz
        mx = vx - ux - spin * (ay * rz - az * ry)
        my = vy - uy - spin * (az * rx - ax * rz)
        mz = vz - uz - spin * (ax * ry - ay * rx)
        rate, response = mx * nx + my * ny + mz * nz, ease[i, 0]
        slope, constant, compliance = step_row(law, gap, rate, integral[k], active[k], h, kick)
        pressed = max(0.0, -(slope * rate + constant) / (slope * response + compliance))
        end = gap + h * response * pressed
        stays = stays_active(law, end, pressed, active[k])
        if pressed == 0.0 and not stays:
            continue
        jx, jy, jz, slides = pressed * nx, pressed * ny, pressed * nz, False
        if static > 0.0 and pressed > 0.0:
            slip = (mx - rate * nx, my - rate * ny, mz - rate * nz)
            if slip_speed > 0.0:
                rub, slides = regularised_friction(slip, response, kinetic * pressed, slip_speed)
            else:
                most = kinetic if active[k] and sliding[k] else static
                rub, slides = exact_friction(slip, response, most * pressed, kinetic * pressed)
            jx, jy, jz = jx + rub[0], jy + rub[1], jz + rub[2]
        integral[k] = next_integral(law, end, integral[k], stays, h)
        active[k], sliding[k] = stays, slides
        impulse[k, 0], impulse[k, 1], impulse[k, 2] = jx, jy, jz
        if mark[k] == FREE:
            listed[filled] = k
            filled += 1
        mark[k] = RENEWED
        if counted:
            uses[i] = 0
        shifted = 0.0
        if hits and gap < 0.0:
            early, lift = lone_shift(gap, rate, pressed, response, law[RESTITUTION], h)
            sx, sy, sz = (
                response * early * jx + lift * nx,
                response * early * jy + lift * ny,
                response * early * jz + lift * nz,
            )
            x[there, 0] += sx
            x[there, 1] += sy
            x[there, 2] += sz
            shifted = (sx * sx + sy * sy + sz * sz) / (h * h)
        if pressed == 0.0:
            largest = max(largest, 2.0 * shifted + 2.0 * (vx * vx + vy * vy + vz * vz))
            continue
        vx, vy, vz = vx + response * jx, vy + response * jy, vz + response * jz
        v[there, 0], v[there, 1], v[there, 2] = vx, vy, vz
        square = vx * vx + vy * vy + vz * vz
        largest = max(largest, square if shifted == 0.0 else 2.0 * (square + shifted))
        fx, fy, fz = inverse * jx, inverse * jy, inverse * jz
        on_node[i, 0], on_node[i, 1], on_node[i, 2] = fx, fy, fz
        touched[nodes] = i
        nodes += 1
        pushing += 1
        ox, oy, oz = ox - fx, oy - fy, oz - fz
        qx, qy, qz = qx - ry * fz + rz * fy, qy - rz * fx + rx * fz, qz - rx * fy + ry * fx
    force, moment = exerted.tool_force, exerted.tool_moment
    force[tool, 0], force[tool, 1], force[tool, 2] = ox, oy, oz
    moment[tool, 0], moment[tool, 1], moment[tool, 2] = qx, qy, qz
    history.filled[0], exerted.filled[0], exerted.active[0], pairs.count[0] = filled, nodes, pushing, count
    return largest
