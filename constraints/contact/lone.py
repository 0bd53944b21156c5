"""Contacts at tools in a step of lumped masses, in closed form where a node touches one tool and nothing else.

A free node with mass m at a tool that does not give way has the response W = 1/m in every direction, so that its law
and friction are solved on the spot: no pairs, no rounds. All other contacts are listed as pairs for `settle`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.history import LISTED, RENEWED, STAMP, History, note_slot
from rheotwin.constraints.contact.lone_block import (
    BLOCK,
    END,
    GAP,
    IMPULSE_X,
    IMPULSE_Y,
    IMPULSE_Z,
    INTEGRAL,
    NORMAL_X,
    PRESSED,
    SLIDING,
    STAYS,
    VELOCITY_X,
    VELOCITY_Y,
    VELOCITY_Z,
    Block,
    block_wrench,
    goes_on,
    rubs,
    solve_block,
)
from rheotwin.constraints.contact.lone_look import list_others, look, recall
from rheotwin.constraints.contact.packed_law import (
    IMPULSE,
    INTEGRATED,
    KIND,
    Law,
    law_of,
    next_integral,
)
from rheotwin.constraints.contact.pairs import NODES
from rheotwin.constraints.contact.tool_pairs import tool_gap
from rheotwin.constraints.tools import AXIS
from rheotwin.kernels.compiled import compiled

Array = NDArray[np.float64]


@compiled(inside=True)
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


@compiled(inside=True, merged=True)
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


@compiled(inside=True)
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


@compiled(inside=True, merged=True)
def _meet_tool(
    contact: Any, tool: int, x: Array, v: Array, h: float, may_be_lone: bool, shared: bool, counted: bool
) -> float:
    """Do so at one tool, lone contacts by the block.

    `shared` says that nodes may be in other contacts, too, `counted` that uses are, which end where one is settled.
    """
    tools, motion, near, block = contact.tools, contact.contacts.tools.motion, contact.close, contact.block
    geometry, tool_v, law = tools.geometry, motion.velocity, law_of(contact.contacts.laws, tool)
    end = motion.end
    surface = (tool_v[tool, 0], tool_v[tool, 1], tool_v[tool, 2], tool_v[tool, 3])
    axis = (geometry[tool, AXIS], geometry[tool, AXIS + 1], geometry[tool, AXIS + 2])
    center = (
        geometry[tool, 0] + end[tool, 0],
        geometry[tool, 1] + end[tool, 1],
        geometry[tool, 2] + end[tool, 2],
    )
    row, largest = tools.offset[tool], 0.0
    last = row + near.counts[tool]
    while row < last:
        row, count, held = look(contact, tool, row, last, x, v, h, center)
        if held or shared or not may_be_lone:
            count = list_others(contact, tool, count, may_be_lone, shared, counted)
        if count > 0:
            recall(contact, count, law)
            solve_block(block.numbers, count, law, surface, axis, center, h)
            largest = max(largest, _write_back(contact, tool, count, law, x, v, h))
            if counted:
                _settled(contact, count)
    return largest


@compiled(inside=True, merged=True)
def _settled(contact: Any, count: int) -> None:
    """End the uses of what a block has settled, but for contacts without a force that do not go on."""
    slot, candidate, uses = contact.block.slot, contact.tools.candidate, contact.contacts.impulses.uses
    for at in range(count):
        if goes_on(contact.block.numbers, at):
            uses[candidate[slot[at]]] = 0


@compiled(inside=True, merged=True)
def _write_back(contact: Any, tool: int, count: int, law: Law, x: Array, v: Array, h: float) -> float:
    """Enter what a block has found: velocities, shifts of impacts, forces and history.

    Returns the bound of `meet_tools`.
    """
    block, exerted = contact.block, contact.exerted
    largest, pushing = _give_velocities(block, count, v)
    _remember(block, count, law, h, contact.contacts.history)
    if law[KIND] == IMPULSE:
        largest = max(largest, _lift(block, count, x, h))
    exerted.active[0] += pushing
    total, turning = block_wrench(block.numbers, count)
    for c in range(3):
        exerted.tool_force[tool, c] -= total[c] / h
        exerted.tool_moment[tool, c] -= turning[c] / h
    return float(largest)


@compiled(inside=True, vectors=True)
def _give_velocities(block: Block, count: int, v: Array) -> tuple[float, int]:
    """Take the velocities of contacts with a force to the loop; return their largest square [m2/s2], and how many."""
    numbers, there, largest, pushing = block.numbers, block.there, 0.0, 0
    for at in range(np.uintp(count)):
        if numbers[PRESSED + at] > 0.0:
            i = np.uintp(there[at])
            vx, vy, vz = numbers[VELOCITY_X + at], numbers[VELOCITY_Y + at], numbers[VELOCITY_Z + at]
            v[i, 0], v[i, 1], v[i, 2] = vx, vy, vz
            largest = max(largest, vx * vx + vy * vy + vz * vz)
            pushing += 1
    return largest, pushing


@compiled(inside=True, vectors=True)
def _remember(block: Block, count: int, law: Law, h: float, history: History) -> None:
    """Enter the history of contacts that have a force or go on: one quantity after the other, as registers are few."""
    numbers, slot, active, impulse = block.numbers, block.slot, history.active, history.impulse
    for at in range(np.uintp(count)):
        if goes_on(numbers, at):
            k = np.uintp(slot[at])
            active[k] = numbers[STAYS + at] > 0.0
            impulse[k, 0], impulse[k, 1] = numbers[IMPULSE_X + at], numbers[IMPULSE_Y + at]
            impulse[k, 2] = numbers[IMPULSE_Z + at]
    if law[KIND] == INTEGRATED:
        integral = history.integral
        for at in range(np.uintp(count)):
            if goes_on(numbers, at):
                stays, end = numbers[STAYS + at] > 0.0, numbers[END + at]
                integral[np.uintp(slot[at])] = next_integral(law, end, numbers[INTEGRAL + at], stays, h)
    if rubs(law):
        sliding = history.sliding
        for at in range(np.uintp(count)):
            if goes_on(numbers, at):
                sliding[np.uintp(slot[at])] = numbers[SLIDING + at] > 0.0
    _list(block, count, history)


@compiled(inside=True, vectors=True)
def _list(block: Block, count: int, history: History) -> None:
    """Mark the slots of contacts that have a force or go on as written in this step, and list new ones."""
    numbers, slot, mark, listed, filled = block.numbers, block.slot, history.mark, history.listed, history.filled
    last, renewed, stamp = filled[LISTED], filled[RENEWED], filled[STAMP]
    for at in range(np.uintp(count)):
        if goes_on(numbers, at):
            place: Any = np.uintp(slot[at])
            last, renewed = note_slot(place, mark, listed, stamp, last, renewed)
    filled[LISTED], filled[RENEWED] = last, renewed


@compiled(inside=True)
def _lift(block: Block, count: int, x: Array, h: float) -> float:
    """Lift nodes that end inside the tool after an impact; return a bound of the squared speed [m2/s2] of that."""
    numbers, largest = block.numbers, 0.0
    for at in range(count):
        depth = -numbers[END + at]
        if depth > 0.0 and numbers[GAP + at] < 0.0:
            vx, vy, vz = numbers[VELOCITY_X + at], numbers[VELOCITY_Y + at], numbers[VELOCITY_Z + at]
            for c in range(3):
                x[block.there[at], c] += depth * numbers[NORMAL_X + c * BLOCK + at]
            largest = max(largest, 2.0 * (vx * vx + vy * vy + vz * vz + depth * depth / (h * h)))
    return float(largest)
