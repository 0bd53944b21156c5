"""Impacts: what closes with g' < 0 parts with -e g', and no energy comes from it.

Without contact a step kicks velocities by its forces, v* = v + h F/m, and moves places by h v*. With the impulses J of
the contacts the energy of this rule, whose velocities lie between its places, changes by the sum of

    J (g'_0 + g'_1)/2,      g'_0 before the kick, g'_1 at the end of the step

A rebound g'_1 = -e g'_0 takes (1 - e) J |g'_0|/2: nothing for e = 1, whatever the step. The rebound of what the kick
has made of the rate, -e g'*, would give e J h |F|/(2 m) at each impact of a node that others press, and places moved
for the remaining time of a step, as in the polyhedra paper, would do work without a velocity: both of the order of the
step only, while one fall of a stiff body has hundreds of impacts.

An impact acts in the step at whose end a gap would be negative, so a rebound begins up to h |g'| above the surface.
What does not come in (g'_0 >= 0: it rests or has just left) and what does not bounce (e = 0) ends on the surface, as
exact contacts do. What is still inside, because it began there or others pushed it, is lifted without a velocity.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.contacts import Contacts
from rheotwin.constraints.contact.mobility import (
    CONSTANT,
    NORMAL_RESPONSE,
    RATE,
    ROW,
    SLOPE,
    TURN,
    motion_of,
)
from rheotwin.constraints.contact.packed_law import IMPULSE, KIND
from rheotwin.constraints.contact.pairs import NO_TOOL
from rheotwin.constraints.contact.rounds import VISITS, visit_until_still
from rheotwin.kernels.compiled import compiled

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]


class Shifts(NamedTuple):
    """Scratch: shifts of nodes (N, 3) [m] and of tools (T, 4), zero between steps.

    `rows` (P, ROW) are those of `mobility`, but of places: in PRESSED the lift [N s2]. `others` (P,) are the pairs that
    are no impacts.
    """

    nodes: Array
    tools: Array
    rows: Array
    others: Flags


def no_shifts(nodes: int, tools: int, pairs: int) -> Shifts:
    """Return room for the shifts of a step."""
    return Shifts(np.zeros((nodes, 3)), np.zeros((tools, 4)), np.zeros((pairs, ROW)), np.zeros(pairs, np.bool_))


@compiled(inside=True)
def is_impact(laws: Array, tool: int, gap: float) -> bool:
    """Tell whether a pair has run into each other in this step and obeys the law of impacts."""
    return gap < 0.0 and laws[tool if tool != NO_TOOL else laws.shape[0] - 1, KIND] == IMPULSE


@compiled(inside=True)
def _find_impacts(contacts: Contacts, shifts: Shifts) -> bool:
    """Prepare the rows of the shifts; False if there are no impacts."""
    pairs, rows, laws, mine, found = contacts.pairs, contacts.impulses.rows, contacts.laws, shifts.rows, False
    for p in range(pairs.count[0]):
        for column in range(ROW):
            mine[p, column] = 0.0
        shifts.others[p] = not is_impact(laws, pairs.tool[p], pairs.gap[p])
        if shifts.others[p]:
            continue
        found = True
        for column in range(TURN, TURN + 3):
            mine[p, column] = rows[p, column]
    return found


@compiled(inside=True)
def _prepare_lifts(contacts: Contacts, shifts: Shifts, v: Array, h: float) -> None:
    """Write the rows gap >= 0 of the lifts, of the gap at the end of the step."""
    pairs, rows, pushed = contacts.pairs, contacts.impulses.rows, contacts.impulses.pushed
    node, weight, normal, gaps = pairs.node, pairs.weight, pairs.normal, pairs.gap
    tool_v, mine = contacts.tools.motion.velocity, shifts.rows
    for p in range(pairs.count[0]):
        if shifts.others[p] or rows[p, NORMAL_RESPONSE] == 0.0:
            continue
        ux, uy, uz = motion_of(p, node, weight, rows, pushed, v, tool_v, 1.0)
        rate = ux * normal[p, 0] + uy * normal[p, 1] + uz * normal[p, 2]
        mine[p, SLOPE], mine[p, CONSTANT] = 1.0, gaps[p] + h * (rate - rows[p, RATE])
        mine[p, NORMAL_RESPONSE] = rows[p, NORMAL_RESPONSE]


@compiled(inside=True)
def place_impacts(contacts: Contacts, shifts: Shifts, v: Array, h: float) -> None:
    """Find by what places have to be lifted after impacts before they move by h v; poses are; after `settle`."""
    if not _find_impacts(contacts, shifts):
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
