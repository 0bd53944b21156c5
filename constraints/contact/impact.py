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
from rheotwin.constraints.contact.mobility import NORMAL_RESPONSE, PRESSED, RATE, TANGENT, motion_of, push
from rheotwin.constraints.contact.packed_law import IMPULSE, KIND, RESTITUTION
from rheotwin.constraints.contact.pairs import NO_TOOL
from rheotwin.constraints.contact.settle import VISITS

Array = NDArray[np.float64]


class Shifts(NamedTuple):
    """Scratch: shifts of nodes (N, 3) [m] and of tools (T, 4), zero between steps; lifts (P,) [N s2]."""

    nodes: Array
    tools: Array
    lift: Array


def no_shifts(nodes: int, tools: int, pairs: int) -> Shifts:
    """Return room for the shifts of a step."""
    return Shifts(np.zeros((nodes, 3)), np.zeros((tools, 4)), np.zeros(pairs))


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
    lift, moved, tools_moved = shifts.lift, shifts.nodes, shifts.tools
    for p in range(pairs.count[0]):
        if not is_impact(laws, tools[p], gap[p]):
            continue
        found, lift[p] = True, 0.0
        if rows[p, PRESSED] == 0.0 or rows[p, RATE] >= 0.0:
            continue
        early = min(h, gap[p] / rows[p, RATE]) - h
        jx = early * (rows[p, PRESSED] * normal[p, 0] + rows[p, TANGENT])
        jy = early * (rows[p, PRESSED] * normal[p, 1] + rows[p, TANGENT + 1])
        jz = early * (rows[p, PRESSED] * normal[p, 2] + rows[p, TANGENT + 2])
        push(p, jx, jy, jz, node, weight, rows, pushed, ease, tool_ease, moved, tools_moved)
    return found


@borrowing
def _lift(contacts: Contacts, shifts: Shifts, v: Array, h: float) -> float:
    """Lift every impact once to -e g_free where it would end deeper; return the largest change of a gap [m]."""
    pairs, rows, pushed, laws = contacts.pairs, contacts.impulses.rows, contacts.impulses.pushed, contacts.laws
    node, weight, normal, gaps, tools = pairs.node, pairs.weight, pairs.normal, pairs.gap, pairs.tool
    ease, tool_ease, largest = contacts.lumped.ease, contacts.tools.drives.inverse_mass, 0.0
    tool_v, lifts, moved, tools_moved = contacts.tools.motion.velocity, shifts.lift, shifts.nodes, shifts.tools
    for p in range(pairs.count[0]):
        response = rows[p, NORMAL_RESPONSE]
        if response == 0.0 or not is_impact(laws, tools[p], gaps[p]):
            continue
        nx, ny, nz = normal[p, 0], normal[p, 1], normal[p, 2]
        ux, uy, uz = motion_of(p, node, weight, rows, pushed, v, tool_v, 1.0)
        sx, sy, sz = motion_of(p, node, weight, rows, pushed, moved, tools_moved, 0.0)
        gap = gaps[p] + h * (ux * nx + uy * ny + uz * nz - rows[p, RATE]) + sx * nx + sy * ny + sz * nz
        wanted = -laws[tools[p] if tools[p] != NO_TOOL else laws.shape[0] - 1, RESTITUTION] * gaps[p]
        lift = max(0.0, lifts[p] + (wanted - gap) / response)
        change, lifts[p] = lift - lifts[p], lift
        jx, jy, jz = change * nx, change * ny, change * nz
        push(p, jx, jy, jz, node, weight, rows, pushed, ease, tool_ease, moved, tools_moved)
        largest = max(largest, abs(change) * response)
    return largest


@borrowing
def place_impacts(contacts: Contacts, shifts: Shifts, v: Array, h: float) -> None:
    """Find by what places have to be corrected for impacts before they move by h v; poses are; after `settle`."""
    if not _delay(contacts, shifts, h):
        return
    for _ in range(VISITS):
        if _lift(contacts, shifts, v, h) <= contacts.lumped.settled:
            break
    pose, moved = contacts.tools.motion.pose, shifts.tools
    for tool in range(pose.shape[0]):
        for c in range(4):
            pose[tool, c] += moved[tool, c]
            moved[tool, c] = 0.0
