"""Contact of nodes with lumped masses: impulses by projected Gauss-Seidel over all pairs of a step.

One visit solves a contact's row of `packed_law`, slope g' + constant + compliance P >= 0 with its own response W, and
its friction, as if all others stood still:

    P <- max(0, P - (slope g' + constant + compliance P)/(slope W + compliance))

A contact that shares nothing needs one visit; the others are visited in turn until nothing moves, beginning with the
impulses of the last step. Whatever the number of visits, every impulse comes with its reaction.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.compiled import borrowing
from rheotwin.constraints.contact.contacts import Contacts
from rheotwin.constraints.contact.friction import exact_friction, regularised_friction
from rheotwin.constraints.contact.mobility import (
    COMPLIANCE,
    CONSTANT,
    KINETIC,
    NORMAL_RESPONSE,
    PRESSED,
    RATE,
    SLIDES,
    SLIP,
    SLIP_RESPONSE,
    SLOPE,
    STATIC,
    SURFACE,
    TANGENT,
    TURN,
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

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]

VISITS = 400
"""Most visits to a contact in one step."""


@borrowing
def _prepare(contacts: Contacts, v: Array, h: float, kick: float) -> None:
    """Write the rows of all pairs, before any impulse has acted."""
    pairs, history, rows, pushed = contacts.pairs, contacts.history, contacts.impulses.rows, contacts.impulses.pushed
    node, weight, normal, slots, tools = pairs.node, pairs.weight, pairs.normal, pairs.slot, pairs.tool
    gap, point, laws, ease, law = pairs.gap, pairs.point, contacts.laws, contacts.lumped.ease, NO_TOOL
    integral, active, sliding = history.integral, history.active, history.sliding
    geometry, tool_ease = contacts.tools.geometry, contacts.tools.drives.inverse_mass
    tool_v, pose = contacts.tools.motion.velocity, contacts.tools.motion.end
    for p in range(pairs.count[0]):
        tool, slot = tools[p], slots[p]
        pushed[p], law = NO_TOOL, laws.shape[0] - 1
        rows[p, SURFACE], rows[p, SURFACE + 1], rows[p, SURFACE + 2] = 0.0, 0.0, 0.0
        if tool != NO_TOOL:
            law = tool
            light = tool_ease[tool, 0] + tool_ease[tool, 1] + tool_ease[tool, 2] + tool_ease[tool, 3]
            tx, ty, tz = turn_of(geometry, pose, tool, point[p, 0], point[p, 1], point[p, 2])
            if light > 0.0:
                pushed[p] = tool
                rows[p, TURN], rows[p, TURN + 1], rows[p, TURN + 2] = tx, ty, tz
            else:
                rows[p, SURFACE] = tool_v[tool, 0] + tool_v[tool, 3] * tx
                rows[p, SURFACE + 1] = tool_v[tool, 1] + tool_v[tool, 3] * ty
                rows[p, SURFACE + 2] = tool_v[tool, 2] + tool_v[tool, 3] * tz
        mx, my, mz = motion_of(p, node, weight, rows, pushed, v, tool_v, 1.0)
        rate = mx * normal[p, 0] + my * normal[p, 1] + mz * normal[p, 2]
        rows[p, RATE], rows[p, PRESSED], rows[p, SLIDES] = rate, 0.0, 0.0
        rows[p, TANGENT], rows[p, TANGENT + 1], rows[p, TANGENT + 2] = 0.0, 0.0, 0.0
        rows[p, SLOPE], rows[p, CONSTANT], rows[p, COMPLIANCE] = step_row(
            law_of(laws, law), gap[p], rate, integral[slot], active[slot], h, kick
        )
        slid = active[slot] and sliding[slot]
        rows[p, KINETIC], rows[p, SLIP] = laws[law, FRICTION], laws[law, SLIP_SPEED]
        rows[p, STATIC] = laws[law, FRICTION if slid else STATIC_FRICTION]
        find_responses(p, node, weight, normal, rows, pushed, ease, tool_ease)


@borrowing
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


@borrowing
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


@borrowing
def _drag(p: int, rows: Array, sx: float, sy: float, sz: float) -> tuple[float, float, float]:
    """Renew the tangential impulse of a pair that slips by s [m/s] with the old one; return its change [N s]."""
    response, pressed = rows[p, SLIP_RESPONSE], rows[p, PRESSED]
    tx, ty, tz = rows[p, TANGENT], rows[p, TANGENT + 1], rows[p, TANGENT + 2]
    free = (sx - response * tx, sy - response * ty, sz - response * tz)
    if rows[p, SLIP] > 0.0:
        new, slides = regularised_friction(free, response, rows[p, KINETIC] * pressed, rows[p, SLIP])
    else:
        new, slides = exact_friction(free, response, rows[p, STATIC] * pressed, rows[p, KINETIC] * pressed)
    rows[p, SLIDES] = 1.0 if slides else 0.0
    rows[p, TANGENT], rows[p, TANGENT + 1], rows[p, TANGENT + 2] = new
    return new[0] - tx, new[1] - ty, new[2] - tz


@borrowing
def _visit(
    p: int, node: Indices, weight: Array, normal: Array, rows: Array, pushed: Indices, ease: Array, tool_ease: Array,
    v: Array, tool_v: Array,
) -> float:  # fmt: skip
    """Solve one contact with all others as they are; return the change of its velocity [m/s]."""
    slope, compliance, before = rows[p, SLOPE], rows[p, COMPLIANCE], rows[p, PRESSED]
    stiffness = slope * rows[p, NORMAL_RESPONSE] + compliance
    if stiffness == 0.0:
        return 0.0  # the supports take all of it
    nx, ny, nz = normal[p, 0], normal[p, 1], normal[p, 2]
    mx, my, mz = motion_of(p, node, weight, rows, pushed, v, tool_v, 1.0)
    rate = mx * nx + my * ny + mz * nz
    pressed = max(0.0, before - (slope * rate + rows[p, CONSTANT] + compliance * before) / stiffness)
    if pressed == 0.0 and before == 0.0:
        return 0.0
    rows[p, PRESSED] = pressed
    change = pressed - before
    jx, jy, jz, moved = change * nx, change * ny, change * nz, abs(change) * rows[p, NORMAL_RESPONSE]
    if rows[p, STATIC] > 0.0:
        tx, ty, tz = _drag(p, rows, mx - rate * nx, my - rate * ny, mz - rate * nz)
        jx, jy, jz = jx + tx, jy + ty, jz + tz
        moved += np.sqrt(tx * tx + ty * ty + tz * tz) * rows[p, SLIP_RESPONSE]
    push(p, jx, jy, jz, node, weight, rows, pushed, ease, tool_ease, v, tool_v)
    return float(moved)


@borrowing
def _visit_all(contacts: Contacts, v: Array, alone: bool) -> float:
    """Visit the contacts that are alone, or those that are not; return the largest change [m/s]."""
    pairs, mine = contacts.pairs, contacts.impulses.alone
    node, weight, normal, rows = pairs.node, pairs.weight, pairs.normal, contacts.impulses.rows
    pushed, ease, largest = contacts.impulses.pushed, contacts.lumped.ease, 0.0
    tool_ease, tool_v = contacts.tools.drives.inverse_mass, contacts.tools.motion.velocity
    for p in range(pairs.count[0]):
        if mine[p] == alone:
            largest = max(largest, _visit(p, node, weight, normal, rows, pushed, ease, tool_ease, v, tool_v))
    return largest


@borrowing
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


@borrowing
def settle(contacts: Contacts, v: Array, h: float, kick: float) -> None:
    """Change velocities (N, 3) [m/s] so that all contacts obey their laws at the end of a step of `h` [s].

    Positions move by h v; forces act for `kick` [s], which is h but for the first half step of central differences.
    """
    pairs, impulses = contacts.pairs, contacts.impulses
    impulses.visits[0] = 0
    if pairs.count[0] == 0:
        return
    _prepare(contacts, v, h, kick)
    lonely = _find_alone(
        pairs.count[0], pairs.node, impulses.pushed, contacts.lumped.loose, impulses.uses, impulses.alone
    )
    _visit_all(contacts, v, True)
    if lonely:
        return
    _begin_with_last(contacts, v)
    for visits in range(VISITS):
        impulses.visits[0] = visits + 1
        if h * _visit_all(contacts, v, False) <= contacts.lumped.settled:
            break
