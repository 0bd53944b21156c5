"""Where an impact inside a step leaves its contact: the remaining time and the lift of the polyhedra paper.

An impulse of the law "impulse" acts when the gap closes, t_r = g_free/g'_free before the end of the step and not at
its beginning: places move by t_r and not by h times the change of velocity, here -(h - t_r) w J/m. The gap then ends at
-e g_free. What is deeper than that, because it began inside or others pushed it there, is lifted, without a velocity.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.compiled import borrowing
from rheotwin.constraints.contact.contacts import Contacts
from rheotwin.constraints.contact.mobility import (
    CONSTANT,
    NORMAL_RESPONSE,
    PRESSED,
    RATE,
    ROW,
    SLOPE,
    TANGENT,
    TURN,
    motion_of,
    push,
)
from rheotwin.constraints.contact.packed_law import IMPULSE, KIND, RESTITUTION
from rheotwin.constraints.contact.pairs import NO_TOOL
from rheotwin.constraints.contact.rounds import VISITS, visit_until_still

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]


class Shifts(NamedTuple):
    """Scratch: shifts of nodes (N, 3) [m] and of tools (T, 4), zero between steps.

    `rows` (P, 20) are those of `mobility`, but of places: in TANGENT what moves with the impulse for less than the
    whole step, in PRESSED the lift [N s2]. `others` (P,) are the pairs that are no impacts.
    """

    nodes: Array
    tools: Array
    rows: Array
    others: Flags


def no_shifts(nodes: int, tools: int, pairs: int) -> Shifts:
    """Return room for the shifts of a step."""
    return Shifts(np.zeros((nodes, 3)), np.zeros((tools, 4)), np.zeros((pairs, ROW)), np.zeros(pairs, np.bool_))


@borrowing
def is_impact(laws: Array, tool: int, gap: float) -> bool:
    """Tell whether a pair has run into each other in this step and obeys the law of impacts."""
    return gap < 0.0 and laws[tool if tool != NO_TOOL else laws.shape[0] - 1, KIND] == IMPULSE


@borrowing
def lone_shift(
    gap: float, rate: float, pressed: float, response: float, restitution: float, h: float
) -> tuple[float, float]:
    """Return for how long [s] (<= 0) an impulse moves less than h, and the lift [m], of a contact that shares nothing.

    Of the free end: `gap` [m] < 0, `rate` [m/s]; `pressed` [N s] and `response` [1/kg] along the normal.
    """
    early = min(h, gap / rate) - h if pressed > 0.0 and rate < 0.0 else 0.0
    end = gap + (h + early) * response * pressed
    return early, max(0.0, -restitution * gap - end)


@borrowing
def _delay(contacts: Contacts, shifts: Shifts, h: float) -> bool:
    """Shift what impulses move from h to the remaining time; False if there are no impacts."""
    pairs, rows, pushed, laws = contacts.pairs, contacts.impulses.rows, contacts.impulses.pushed, contacts.laws
    node, weight, normal, gap, tools = pairs.node, pairs.weight, pairs.normal, pairs.gap, pairs.tool
    ease, tool_ease, found = contacts.lumped.ease, contacts.tools.drives.inverse_mass, False
    mine, moved, tools_moved = shifts.rows, shifts.nodes, shifts.tools
    for p in range(pairs.count[0]):
        for column in range(ROW):
            mine[p, column] = 0.0
        shifts.others[p] = not is_impact(laws, tools[p], gap[p])
        if shifts.others[p]:
            continue
        found = True
        for column in range(TURN, TURN + 3):
            mine[p, column] = rows[p, column]
        if rows[p, PRESSED] == 0.0 or rows[p, RATE] >= 0.0:
            continue
        early = min(h, gap[p] / rows[p, RATE]) - h
        jx = early * (rows[p, PRESSED] * normal[p, 0] + rows[p, TANGENT])
        jy = early * (rows[p, PRESSED] * normal[p, 1] + rows[p, TANGENT + 1])
        jz = early * (rows[p, PRESSED] * normal[p, 2] + rows[p, TANGENT + 2])
        mine[p, TANGENT], mine[p, TANGENT + 1], mine[p, TANGENT + 2] = jx, jy, jz
        push(p, jx, jy, jz, node, weight, rows, pushed, ease, tool_ease, moved, tools_moved)
    return found


@borrowing
def _prepare_lifts(contacts: Contacts, shifts: Shifts, v: Array, h: float) -> None:
    """Write the rows gap - wanted >= 0 of the lifts: the gap at the end of the step and -e g_free."""
    pairs, rows, pushed, laws = contacts.pairs, contacts.impulses.rows, contacts.impulses.pushed, contacts.laws
    node, weight, normal, gaps, tools = pairs.node, pairs.weight, pairs.normal, pairs.gap, pairs.tool
    tool_v, mine = contacts.tools.motion.velocity, shifts.rows
    for p in range(pairs.count[0]):
        if shifts.others[p] or rows[p, NORMAL_RESPONSE] == 0.0:
            continue
        ux, uy, uz = motion_of(p, node, weight, rows, pushed, v, tool_v, 1.0)
        rate = ux * normal[p, 0] + uy * normal[p, 1] + uz * normal[p, 2]
        wanted = -laws[tools[p] if tools[p] != NO_TOOL else laws.shape[0] - 1, RESTITUTION] * gaps[p]
        mine[p, SLOPE], mine[p, CONSTANT] = 1.0, gaps[p] + h * (rate - rows[p, RATE]) - wanted
        mine[p, NORMAL_RESPONSE] = rows[p, NORMAL_RESPONSE]


@borrowing
def place_impacts(contacts: Contacts, shifts: Shifts, v: Array, h: float) -> None:
    """Find by what places have to be corrected for impacts before they move by h v; poses are; after `settle`."""
    if not _delay(contacts, shifts, h):
        return
    _prepare_lifts(contacts, shifts, v, h)
    pose, moved = contacts.tools.motion.pose, shifts.tools
    still = contacts.lumped.settled
    rounds = visit_until_still(contacts, shifts.rows, shifts.others, shifts.nodes, moved, still)
    contacts.impulses.visits[4] += rounds > VISITS
    for tool in range(pose.shape[0]):
        for c in range(4):
            pose[tool, c] += moved[tool, c]
            moved[tool, c] = 0.0
