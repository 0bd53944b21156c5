"""Contacts at tools in a step of lumped masses, in closed form where a node touches one tool and nothing else.

A free node with mass m at a tool that does not give way has the response W = 1/m in every direction, so that its law
and friction are solved on the spot: no pairs, no rounds. All other contacts are listed as pairs for `settle`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.compiled import borrowing, merged
from rheotwin.constraints.contact.history import FREE, LISTED, RENEWED, STAMP
from rheotwin.constraints.contact.impact import lone_shift
from rheotwin.constraints.contact.lone_block import (
    ACTIVE,
    ARM_X,
    ARM_Y,
    ARM_Z,
    BLOCK,
    END,
    GAP,
    IMPULSE_X,
    IMPULSE_Y,
    IMPULSE_Z,
    INTEGRAL,
    NORMAL_X,
    NORMAL_Y,
    NORMAL_Z,
    PRESSED,
    RATE,
    RESPONSE,
    SLIDING,
    VELOCITY_X,
    VELOCITY_Y,
    VELOCITY_Z,
    block_wrench,
    rubs,
    solve_block,
)
from rheotwin.constraints.contact.packed_law import (
    IMPULSE,
    INTEGRATED,
    KIND,
    RESTITUTION,
    Law,
    law_of,
    next_integral,
    stays_active,
)
from rheotwin.constraints.contact.pairs import NO_NODE, NODES
from rheotwin.constraints.contact.tool_pairs import tool_gap
from rheotwin.constraints.contact.vectors import Vector
from rheotwin.constraints.tools import AXIS, PLANE, gap_and_normal

Array = NDArray[np.float64]


@borrowing
def _count_uses(contact: Any, x: Array, v: Array, h: float) -> None:
    """Count the pairs between bodies that each node is in and the tools within reach of which it is."""
    uses, pairs, near, tools = contact.contacts.impulses.uses, contact.contacts.pairs, contact.close, contact.tools
    poses, candidate = contact.contacts.tools.motion.end, tools.candidate
    for p in range(pairs.count[0]):
        for k in range(NODES):
            if pairs.node[p, k] >= 0:
                uses[pairs.node[p, k]] += 1
    for tool in range(tools.shape.shape[0]):
        first, pose, reach = tools.offset[tool], poses[tool], contact.reach[tool]
        for row in range(first, first + near.counts[tool]):
            k = near.rows[row]
            i = near.place[k]
            at = (x[i, 0] + h * v[i, 0], x[i, 1] + h * v[i, 1], x[i, 2] + h * v[i, 2])
            gap, _ = tool_gap(tools, tool, pose, at, reach, near.waiting, near.squares)
            uses[candidate[k]] += 1 if gap <= reach else 0


@merged
def meet_tools(contact: Any, x: Array, v: Array, h: float, kick: float, may_be_lone: bool) -> float:
    """Settle lone contacts in velocities v (n, 3) [m/s] and places x (n, 3) [m], and list all others as pairs.

    Candidates are looked at where x + h v. Returns a bound of the squared speed [m2/s2] at which nodes
    settled here move in the step, shifts included.
    """
    tools, pairs, contacts = contact.tools, contact.contacts.pairs, contact.contacts
    shared = tools.shape.shape[0] > 1 or pairs.count[0] > 0
    if may_be_lone and shared:
        _count_uses(contact, x, v, h)
    largest = 0.0
    for tool in range(tools.shape.shape[0]):
        ease = contacts.tools.drives.inverse_mass[tool]
        rigid = ease[0] + ease[1] + ease[2] + ease[3] == 0.0
        largest = max(
            largest, _meet_tool(contact, tool, x, v, h, may_be_lone and rigid, shared, may_be_lone and shared)
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


@merged
def _meet_tool(
    contact: Any, tool: int, x: Array, v: Array, h: float, may_be_lone: bool, shared: bool, counted: bool
) -> float:
    """Do so at one tool, lone contacts by the block.

    `shared` says that nodes may be in other contacts, too, `counted` that uses are, which end where one is settled.
    """
    tools, motion, near, block = contact.tools, contact.contacts.tools.motion, contact.close, contact.block
    geometry, tool_v, law = tools.geometry, motion.velocity, law_of(contact.contacts.laws, tool)
    surface = (tool_v[tool, 0], tool_v[tool, 1], tool_v[tool, 2], tool_v[tool, 3])
    axis = (geometry[tool, AXIS], geometry[tool, AXIS + 1], geometry[tool, AXIS + 2])
    row, largest = tools.offset[tool], 0.0
    last = row + near.counts[tool]
    while row < last:
        row, count = _gather(contact, tool, row, last, law, x, v, h, may_be_lone, shared, counted)
        if count > 0:
            solve_block(block.numbers, count, law, surface, axis, h)
            largest = max(largest, _write_back(contact, tool, count, law, x, v, h, counted))
    return largest


@merged
def _gather(
    contact: Any,
    tool: int,
    row: int,
    last: int,
    law: Law,
    x: Array,
    v: Array,
    h: float,
    may_be_lone: bool,
    shared: bool,
    counted: bool,
) -> tuple[int, int]:
    """Fill the block from the list of near candidates, and list contacts that are not lone as pairs.

    Returns where to go on in the list, and how many are in the block.
    """
    tools, near, contacts = contact.tools, contact.close, contact.contacts
    numbers, slot, responses = contact.block.numbers, contact.block.slot, contact.block.response
    history, uses = contacts.history, contacts.impulses.uses
    active, sliding, integral, place, candidate = (
        history.active,
        history.sliding,
        history.integral,
        near.place,
        tools.candidate,
    )
    geometry, pose, reach, rows = tools.geometry, contacts.tools.motion.end[tool], contact.reach[tool], near.rows
    flat, integrates, slides, count = tools.shape[tool] == PLANE, law[KIND] == INTEGRATED, rubs(law), 0
    cx, cy, cz = geometry[tool, 0] + pose[0], geometry[tool, 1] + pose[1], geometry[tool, 2] + pose[2]
    nx, ny, nz = 0.0, 0.0, 0.0
    if flat:
        _, nx, ny, nz = gap_and_normal(PLANE, geometry[tool], pose, cx, cy, cz)
    while row < last and count < BLOCK:
        k = np.uintp(rows[np.uintp(row)])
        there, i = np.uintp(place[k]), np.uintp(candidate[k])
        row += 1
        vx, vy, vz = float(v[there, 0]), float(v[there, 1]), float(v[there, 2])
        px, py, pz = x[there, 0] + h * vx, x[there, 1] + h * vy, x[there, 2] + h * vz
        if flat:
            gap = (px - cx) * nx + (py - cy) * ny + (pz - cz) * nz
        else:
            gap, (nx, ny, nz) = tool_gap(tools, tool, pose, (px, py, pz), reach, near.waiting, near.squares)
        if gap > reach or (counted and uses[i] == 0):
            continue  # out of reach, or brought here by another tool that has settled it: the next step sees both
        response = responses[k]
        if not (may_be_lone and response > 0.0 and (not shared or uses[i] == 1)):
            _list_pair(contact, tool, np.intp(k), np.intp(i), (px, py, pz), (vx, vy, vz), gap, (nx, ny, nz))
            continue
        at = np.uintp(count)
        numbers[GAP + at], numbers[RESPONSE + at], numbers[ACTIVE + at] = gap, response, active[k]
        if integrates:
            numbers[INTEGRAL + at] = integral[k]
        if slides:
            numbers[SLIDING + at] = sliding[k]
        numbers[NORMAL_X + at], numbers[NORMAL_Y + at], numbers[NORMAL_Z + at] = nx, ny, nz
        numbers[VELOCITY_X + at], numbers[VELOCITY_Y + at], numbers[VELOCITY_Z + at] = vx, vy, vz
        numbers[ARM_X + at] = px - gap * nx - cx
        numbers[ARM_Y + at] = py - gap * ny - cy
        numbers[ARM_Z + at] = pz - gap * nz - cz
        slot[at] = np.intp(k)
        count += 1
    return row, count


@borrowing
def _list_pair(
    contact: Any, tool: int, slot: int, node: int, place: Vector, velocity: Vector, gap: float, normal: Vector
) -> None:
    """Add a node at a tool to the pairs that are settled together."""
    pairs = contact.contacts.pairs
    p = pairs.count[0]
    for c in range(3):
        contact.velocity[node, c], contact.end[node, c] = velocity[c], place[c]
        pairs.normal[p, c], pairs.point[p, c] = normal[c], place[c] - gap * normal[c]
    pairs.node[p, 0], pairs.weight[p, 0] = node, 1.0
    for other in range(1, NODES):
        pairs.node[p, other], pairs.weight[p, other] = NO_NODE, 0.0
    pairs.gap[p], pairs.tool[p], pairs.slot[p] = gap, tool, slot
    pairs.count[0] = p + 1


@merged
def _write_back(
    contact: Any, tool: int, count: int, law: Law, x: Array, v: Array, h: float, counted: bool
) -> float:  # fmt: skip
    """Enter what a block has found: velocities, shifts of impacts, forces and history.

    Returns the bound of `meet_tools`.
    """
    history, exerted, numbers, slot = (
        contact.contacts.history,
        contact.exerted,
        contact.block.numbers,
        contact.block.slot,
    )
    active, sliding, integral, impulse = history.active, history.sliding, history.integral, history.impulse
    listed, mark, uses = history.listed, history.mark, contact.contacts.impulses.uses
    place, candidate = contact.close.place, contact.tools.candidate
    hits = law[KIND] == IMPULSE
    integrates, slides = law[KIND] == INTEGRATED, rubs(law)
    filled, renewed, stamp = history.filled[LISTED], history.filled[RENEWED], history.filled[STAMP]
    pushing, largest = exerted.active[0], 0.0
    for at in range(np.uintp(count)):
        k = np.uintp(slot[at])
        there = np.uintp(place[k])
        pressed, end = numbers[PRESSED + at], numbers[END + at]
        stays = stays_active(law, end, pressed, active[k])
        if pressed == 0.0 and not stays:
            continue
        active[k] = stays
        if integrates:
            integral[k] = next_integral(law, end, integral[k], stays, h)
        if slides:
            sliding[k] = numbers[SLIDING + at] > 0.0
        jx, jy, jz = numbers[IMPULSE_X + at], numbers[IMPULSE_Y + at], numbers[IMPULSE_Z + at]
        impulse[k, 0], impulse[k, 1], impulse[k, 2] = jx, jy, jz
        if mark[k] == FREE:
            listed[np.uintp(filled)] = np.intp(k)
            filled += 1
        renewed += 1 if mark[k] != stamp else 0
        mark[k] = stamp
        if counted:
            uses[candidate[k]] = 0
        vx, vy, vz = numbers[VELOCITY_X + at], numbers[VELOCITY_Y + at], numbers[VELOCITY_Z + at]
        square = vx * vx + vy * vy + vz * vz
        if hits and numbers[GAP + at] < 0.0:
            square = 2.0 * (square + _shift(numbers, at, law[RESTITUTION], x, there, h))
        largest = max(largest, square)
        if pressed == 0.0:
            continue
        v[there, 0], v[there, 1], v[there, 2] = vx, vy, vz
        pushing += 1
    total, turning = block_wrench(numbers, count)
    for c in range(3):
        exerted.tool_force[tool, c] -= total[c] / h
        exerted.tool_moment[tool, c] -= turning[c] / h
    history.filled[LISTED], history.filled[RENEWED], exerted.active[0] = filled, renewed, pushing
    return largest


@borrowing
def _shift(numbers: Array, at: int, restitution: float, x: Array, there: int, h: float) -> float:
    """Move the place of an impact to where it leaves its contact; return the square of that over h [m2/s2]."""
    response, square = numbers[RESPONSE + at], 0.0
    early, lift = lone_shift(
        numbers[GAP + at], numbers[RATE + at], numbers[PRESSED + at], response, restitution, h
    )  # fmt: skip
    for c in range(3):
        shift = response * early * numbers[IMPULSE_X + c * BLOCK + at] + lift * numbers[NORMAL_X + c * BLOCK + at]
        x[there, c] += shift
        square += shift * shift
    return square / (h * h)
