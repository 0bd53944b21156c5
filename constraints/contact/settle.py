"""Contact of nodes with lumped masses: the impulses of all pairs of a step.

A contact that shares nothing needs one visit of `rounds`; the others are visited in turn until nothing moves,
beginning with the impulses of the last step.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.contacts import Contacts
from rheotwin.constraints.contact.friction import Vector
from rheotwin.constraints.contact.mobility import (
    ARM,
    COMPLIANCE,
    CONSTANT,
    KINETIC,
    PRESSED,
    RATE,
    SLIDES,
    SLIP,
    SLOPE,
    STATIC,
    SURFACE,
    TANGENT,
    TURN,
    arm_of,
    find_responses,
    motion_of,
    push,
    turn_of,
)
from rheotwin.constraints.contact.packed_law import (
    FRICTION,
    IMPULSE,
    KIND,
    SLIP_SPEED,
    STATIC_FRICTION,
    law_of,
    step_row,
)
from rheotwin.constraints.contact.pairs import NO_TOOL, NODES
from rheotwin.constraints.contact.rounds import VISITS, visit_all, visit_until_still
from rheotwin.kernels.compiled import compiled

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]


@compiled(inside=True)
def _arm_before(
    p: int, tool: int, node: Indices, normal: Array, gap: Array, point: Array, geometry: Array, pose: Array, v: Array,
    h: float,
) -> Vector:  # fmt: skip
    """Return the arm [m] from a tool's centre to the node of pair `p`, both where the step begins.

    A step changes the angular momentum sum x x m v of its end by x x J with the places it began with, for it moves
    places along the velocities it ends with: so node and tool take and give the same.
    """
    i, g = node[p, 0], gap[p]
    x = point[p, 0] + g * normal[p, 0] - h * v[i, 0]
    y = point[p, 1] + g * normal[p, 1] - h * v[i, 1]
    z = point[p, 2] + g * normal[p, 2] - h * v[i, 2]
    rx, ry, rz = arm_of(geometry, pose, tool, x, y, z)
    return rx, ry, rz


@compiled(inside=True)
def _prepare(contacts: Contacts, v: Array, before: Array, h: float, kick: float) -> None:
    """Write the rows of all pairs, before any impulse has acted."""
    pairs, history, rows, pushed = contacts.pairs, contacts.history, contacts.impulses.rows, contacts.impulses.pushed
    node, weight, normal, slots, tools = pairs.node, pairs.weight, pairs.normal, pairs.slot, pairs.tool
    gap, point, laws, ease, law = pairs.gap, pairs.point, contacts.laws, contacts.lumped.ease, NO_TOOL
    integral, active, sliding = history.integral, history.active, history.sliding
    geometry, tool_ease = contacts.tools.geometry, contacts.tools.drives.inverse_mass
    motion = contacts.tools.motion
    tool_v, pose, before_pose, tool_before = motion.velocity, motion.end, motion.pose, motion.before_kick
    for p in range(pairs.count[0]):
        tool, slot = tools[p], slots[p]
        pushed[p], law = NO_TOOL, laws.shape[0] - 1
        rows[p, SURFACE], rows[p, SURFACE + 1], rows[p, SURFACE + 2] = 0.0, 0.0, 0.0
        if tool != NO_TOOL:
            law = tool
            light = tool_ease[tool, 0] + tool_ease[tool, 1] + tool_ease[tool, 2] + tool_ease[tool, 3]
            if light > 0.0:
                pushed[p] = tool
                arm = _arm_before(p, tool, node, normal, gap, point, geometry, before_pose, v, h)
                tx, ty, tz = turn_of(geometry, tool, arm)
                rows[p, ARM], rows[p, ARM + 1], rows[p, ARM + 2] = arm
                rows[p, TURN], rows[p, TURN + 1], rows[p, TURN + 2] = tx, ty, tz
            else:
                arm = arm_of(geometry, pose, tool, point[p, 0], point[p, 1], point[p, 2])
                tx, ty, tz = turn_of(geometry, tool, arm)
                rows[p, SURFACE] = tool_v[tool, 0] + tool_v[tool, 3] * tx
                rows[p, SURFACE + 1] = tool_v[tool, 1] + tool_v[tool, 3] * ty
                rows[p, SURFACE + 2] = tool_v[tool, 2] + tool_v[tool, 3] * tz
        mx, my, mz = motion_of(p, node, weight, rows, pushed, v, tool_v, 1.0)
        rate = mx * normal[p, 0] + my * normal[p, 1] + mz * normal[p, 2]
        closing = 0.0
        if laws[law, KIND] == IMPULSE:
            bx, by, bz = motion_of(p, node, weight, rows, pushed, before, tool_before, 1.0)
            closing = bx * normal[p, 0] + by * normal[p, 1] + bz * normal[p, 2]
        rows[p, RATE], rows[p, PRESSED], rows[p, SLIDES] = rate, 0.0, 0.0
        rows[p, TANGENT], rows[p, TANGENT + 1], rows[p, TANGENT + 2] = 0.0, 0.0, 0.0
        rows[p, SLOPE], rows[p, CONSTANT], rows[p, COMPLIANCE] = step_row(
            law_of(laws, law), gap[p], rate, closing, integral[slot], active[slot], h, kick
        )
        slid = active[slot] and sliding[slot]
        rows[p, KINETIC], rows[p, SLIP] = laws[law, FRICTION], laws[law, SLIP_SPEED]
        rows[p, STATIC] = laws[law, FRICTION if slid else STATIC_FRICTION]
        find_responses(p, node, weight, normal, rows, pushed, ease, tool_ease)


@compiled(inside=True)
def _find_alone(count: int, node: Indices, pushed: Indices, loose: Flags, uses: Indices, alone: Flags) -> bool:
    """Mark pairs that share no node, hold nothing and touch no tool that gives way; True if all are."""
    for p in range(count):
        for k in range(NODES):
            if node[p, k] >= 0:
                uses[node[p, k]] += 1
    all_alone = True
    for p in range(count):
        alone[p] = pushed[p] == NO_TOOL
        for k in range(NODES):
            i = node[p, k]
            alone[p] = alone[p] and (i < 0 or (uses[i] == 1 and loose[i]))
        all_alone = all_alone and alone[p]
    for p in range(count):
        for k in range(NODES):
            if node[p, k] >= 0:
                uses[node[p, k]] = 0
    return all_alone


@compiled(inside=True)
def _begin_with_last(contacts: Contacts, v: Array) -> None:
    """Apply the impulses of the last step to the contacts that depend on each other; impacts do not repeat."""
    pairs, laws, last, alone = contacts.pairs, contacts.laws, contacts.history.impulse, contacts.impulses.alone
    node, weight, normal, tools, slots = pairs.node, pairs.weight, pairs.normal, pairs.tool, pairs.slot
    rows, pushed, ease = contacts.impulses.rows, contacts.impulses.pushed, contacts.lumped.ease
    tool_ease, tool_v = contacts.tools.drives.inverse_mass, contacts.tools.motion.velocity
    for p in range(pairs.count[0]):
        law, slot = laws.shape[0] - 1 if tools[p] == NO_TOOL else tools[p], slots[p]
        if alone[p] or laws[law, KIND] == IMPULSE:
            continue
        jx, jy, jz = last[slot, 0], last[slot, 1], last[slot, 2]
        along = jx * normal[p, 0] + jy * normal[p, 1] + jz * normal[p, 2]
        if along <= 0.0:
            continue
        rows[p, PRESSED] = along
        px, py, pz = along * normal[p, 0], along * normal[p, 1], along * normal[p, 2]
        if rows[p, STATIC] == 0.0:
            jx, jy, jz = px, py, pz  # the normal has turned, and nothing takes the rest back
        rows[p, TANGENT], rows[p, TANGENT + 1], rows[p, TANGENT + 2] = jx - px, jy - py, jz - pz
        push(p, jx, jy, jz, node, weight, rows, pushed, ease, tool_ease, v, tool_v)


@compiled(inside=True)
def look_ahead(contacts: Contacts, v: Array, h: float) -> None:
    """Turn the gaps of contacts between bodies, found where a step of `h` [s] begins, into those of its free end."""
    pairs, rows, pushed = contacts.pairs, contacts.impulses.rows, contacts.impulses.pushed
    node, weight, normal, gap, tools = pairs.node, pairs.weight, pairs.normal, pairs.gap, pairs.tool
    tool_v = contacts.tools.motion.velocity
    for p in range(pairs.count[0]):
        if tools[p] == NO_TOOL:
            pushed[p] = NO_TOOL
            mx, my, mz = motion_of(p, node, weight, rows, pushed, v, tool_v, 0.0)
            gap[p] += h * (mx * normal[p, 0] + my * normal[p, 1] + mz * normal[p, 2])


@compiled(inside=True)
def settle(contacts: Contacts, v: Array, before: Array, h: float, kick: float) -> None:
    """Change velocities (N, 3) [m/s] so that all contacts obey their laws at the end of a step of `h` [s].

    `before` (N, 3) [m/s] are those before its forces have acted. Positions move by h v; forces act for `kick` [s],
    which is h but for the first half step of central differences.
    """
    pairs, impulses = contacts.pairs, contacts.impulses
    impulses.visits[0] = 0
    if pairs.count[0] == 0:
        return
    _prepare(contacts, v, before, h, kick)
    lonely = _find_alone(
        pairs.count[0], pairs.node, impulses.pushed, contacts.lumped.loose, impulses.uses, impulses.alone
    )
    rows, tool_v, alone = impulses.rows, contacts.tools.motion.velocity, impulses.alone
    visit_all(contacts, rows, alone, True, v, tool_v)
    if lonely:
        return
    _begin_with_last(contacts, v)
    rounds = visit_until_still(contacts, rows, alone, v, tool_v, contacts.lumped.settled / h)
    impulses.visits[0], impulses.visits[1] = rounds, max(rounds, impulses.visits[1])
    impulses.visits[2] += rounds
    impulses.visits[3] += 1
    impulses.visits[4] += rounds > VISITS
