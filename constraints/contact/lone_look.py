"""Which candidates of a tool are within its reach: what a block has to know of them, and what the last step left.

The candidates of a plane, most tools by far, are looked at by a small function of their own: in one that knows all of
contact its few numbers would not stay in registers, and each contact take three times as long.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.lone_block import (
    ACTIVE,
    BLOCK,
    EARLIER_X,
    GAP,
    INTEGRAL,
    NORMAL_X,
    NORMAL_Y,
    NORMAL_Z,
    PLACE_X,
    PLACE_Y,
    PLACE_Z,
    RESPONSE,
    SEEN,
    SLIDING,
    VELOCITY_X,
    VELOCITY_Y,
    VELOCITY_Z,
    Block,
    bounces,
    rubs,
)
from rheotwin.constraints.contact.packed_law import INTEGRATED, KIND, Law
from rheotwin.constraints.contact.pairs import NO_NODE, NODES
from rheotwin.constraints.contact.tool_pairs import tool_gap
from rheotwin.constraints.contact.vectors import Vector
from rheotwin.constraints.tools import PLANE, gap_and_normal
from rheotwin.kernels.compiled import compiled

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]


@compiled(inside=True, merged=True)
def look(
    contact: Any, tool: int, row: int, last: int, x: Array, v: Array, h: float, center: Vector
) -> tuple[int, int, bool]:
    """Fill the block with candidates of the list of near ones, from `row` on, that are within reach at x + h v.

    `center` [m] is that of the tool. Returns where to go on in the list, how many are in the block, and whether a
    support holds one of them.
    """
    tools, near, block = contact.tools, contact.close, contact.block
    pose, reach = contact.contacts.tools.motion.end[tool], contact.reach[tool]
    if tools.shape[tool] == PLANE:
        _, nx, ny, nz = gap_and_normal(PLANE, tools.geometry[tool], pose, center[0], center[1], center[2])
        count, held = _look_at_plane(
            block, near.rows, near.place, x, v, h, center, (nx, ny, nz), reach, row, min(last - row, BLOCK)
        )
        return min(row + BLOCK, last), count, held
    found: tuple[int, int, bool] = _look_at_any(contact, tool, row, last, x, v, h, pose, reach)
    return found


@compiled(inside=True, vectors=True)
def _look_at_plane(
    block: Block, rows: Indices, place: Indices, x: Array, v: Array, h: float, center: Vector, normal: Vector,
    reach: float, first: int, count: int,
) -> tuple[int, bool]:  # fmt: skip
    """Look at `count` of the list, from `first` on; return how many are within reach, and whether one is held."""
    numbers, slot, there, response = block.numbers, block.slot, block.there, block.response
    row, beyond, held = np.uintp(first), 0, 0
    for at in range(np.uintp(count)):
        k = rows[row + at]
        slot[at], there[at], numbers[RESPONSE + at] = k, place[np.uintp(k)], response[np.uintp(k)]
    _fetch(v, there, count, numbers, VELOCITY_X)
    _fetch(x, there, count, numbers, PLACE_X)
    for at in range(np.uintp(count)):
        px = numbers[PLACE_X + at] + h * numbers[VELOCITY_X + at]
        py = numbers[PLACE_Y + at] + h * numbers[VELOCITY_Y + at]
        pz = numbers[PLACE_Z + at] + h * numbers[VELOCITY_Z + at]
        gap = (px - center[0]) * normal[0] + (py - center[1]) * normal[1] + (pz - center[2]) * normal[2]
        numbers[PLACE_X + at], numbers[PLACE_Y + at], numbers[PLACE_Z + at] = px, py, pz
        numbers[NORMAL_X + at], numbers[NORMAL_Y + at], numbers[NORMAL_Z + at] = normal
        numbers[GAP + at] = gap
        beyond += gap > reach
        held += numbers[RESPONSE + at] == 0.0
    return (count if beyond == 0 else _keep_near(block, count, reach)), held > 0


@compiled(inside=True, vectors=True)
def _fetch(values: Array, there: Indices, count: int, numbers: Array, first: int) -> None:
    """Put rows of values (n, 3) into three rows of a block, the `first` of which begins there."""
    for at in range(np.uintp(count)):
        i = np.uintp(there[at])
        numbers[np.uintp(first) + at] = values[i, 0]
        numbers[np.uintp(first + BLOCK) + at] = values[i, 1]
        numbers[np.uintp(first + 2 * BLOCK) + at] = values[i, 2]


@compiled(inside=True, vectors=True)
def _keep_near(block: Block, count: int, reach: float) -> int:
    """Close the gaps that those out of reach leave in the block; return how many are left."""
    near = 0
    for at in range(count):
        if block.numbers[GAP + at] <= reach:
            if near < at:
                _move_entry(block, at, near)
            near += 1
    return near


@compiled(inside=True, vectors=True)
def _move_entry(block: Block, source: int, target: int) -> None:
    """Copy what is known of one contact of the block to another place in it."""
    block.slot[target], block.there[target] = block.slot[source], block.there[source]
    for quantity in range(SEEN):
        block.numbers[quantity * BLOCK + target] = block.numbers[quantity * BLOCK + source]


@compiled(inside=True, merged=True)
def _look_at_any(
    contact: Any, tool: int, row: int, last: int, x: Array, v: Array, h: float, pose: Array, reach: float
) -> tuple[int, int, bool]:
    tools, near, response, at, held = contact.tools, contact.close, contact.block.response, 0, False
    numbers, slot, there, place, rows = (
        contact.block.numbers,
        contact.block.slot,
        contact.block.there,
        near.place,
        near.rows,
    )
    while row < last and at < BLOCK:
        k = rows[row]
        i, row = place[k], row + 1
        vx, vy, vz = float(v[i, 0]), float(v[i, 1]), float(v[i, 2])
        px, py, pz = x[i, 0] + h * vx, x[i, 1] + h * vy, x[i, 2] + h * vz
        gap, normal = tool_gap(tools, tool, pose, (px, py, pz), reach, near.waiting, near.squares)
        if gap > reach:
            continue
        slot[at], there[at] = k, i
        numbers[GAP + at], numbers[RESPONSE + at] = gap, response[k]
        numbers[NORMAL_X + at], numbers[NORMAL_Y + at], numbers[NORMAL_Z + at] = normal
        numbers[PLACE_X + at], numbers[PLACE_Y + at], numbers[PLACE_Z + at] = px, py, pz
        numbers[VELOCITY_X + at], numbers[VELOCITY_Y + at], numbers[VELOCITY_Z + at] = vx, vy, vz
        held |= response[k] == 0.0
        at += 1
    return row, at, held


@compiled(inside=True, merged=True)
def list_others(contact: Any, tool: int, count: int, may_be_lone: bool, shared: bool, counted: bool) -> int:
    """Leave only lone contacts in the block, and list the others as pairs; return how many are left.

    Where uses are `counted`, one of zero was brought here by another tool that has settled it: the next step sees both.
    """
    block, candidate, uses, lone = contact.block, contact.tools.candidate, contact.contacts.impulses.uses, 0
    numbers, slot = block.numbers, block.slot
    for at in range(count):
        k = slot[at]
        i = candidate[k]
        if counted and uses[i] == 0:
            continue
        if may_be_lone and numbers[RESPONSE + at] > 0.0 and (not shared or uses[i] == 1):
            if lone < at:
                _move_entry(block, at, lone)
            lone += 1
        else:
            _list_pair(contact, tool, k, i, at)
    return lone


@compiled(inside=True)
def _list_pair(contact: Any, tool: int, slot: int, node: int, at: int) -> None:
    """Add a node at a tool, entry `at` of the block, to the pairs that are settled together."""
    pairs, numbers = contact.contacts.pairs, contact.block.numbers
    p, gap = pairs.count[0], numbers[GAP + at]
    for c in range(3):
        row = c * BLOCK + at
        place, normal = numbers[PLACE_X + row], numbers[NORMAL_X + row]
        contact.velocity[node, c], contact.end[node, c] = numbers[VELOCITY_X + row], place
        pairs.normal[p, c], pairs.point[p, c] = normal, place - gap * normal
    pairs.node[p, 0], pairs.weight[p, 0] = node, 1.0
    for other in range(1, NODES):
        pairs.node[p, other], pairs.weight[p, other] = NO_NODE, 0.0
    pairs.gap[p], pairs.tool[p], pairs.slot[p] = gap, tool, slot
    pairs.count[0] = p + 1


@compiled(inside=True)
def recall(contact: Any, count: int, law: Law) -> None:
    """Fetch what the law has to know of the last step."""
    block, history = contact.block, contact.contacts.history
    if bounces(law):
        _recall_velocities(contact, block, count)
    if law[KIND] == INTEGRATED:
        _recall(block, count, history.active, ACTIVE)
        _recall(block, count, history.integral, INTEGRAL)
    if rubs(law):
        _recall(block, count, history.active, ACTIVE)
        _recall(block, count, history.sliding, SLIDING)


@compiled(inside=True)
def _recall_velocities(contact: Any, block: Block, count: int) -> None:
    """Fetch the velocities before the kick."""
    candidate, before = contact.tools.candidate, contact.before_kick
    for at in range(count):
        i = candidate[block.slot[at]]
        for c in range(3):
            block.numbers[EARLIER_X + c * BLOCK + at] = before[i, c]


@compiled(inside=True, vectors=True)
def _recall(block: Block, count: int, kept: Any, row: int) -> None:
    numbers, slot = block.numbers, block.slot
    for at in range(np.uintp(count)):
        numbers[np.uintp(row) + at] = kept[np.uintp(slot[at])]
