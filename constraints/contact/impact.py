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

from rheotwin.constraints.contact.mobility import CONSTANT, NORMAL_RESPONSE, RATE, ROW, SLOPE, TURN, Giving, motion_of
from rheotwin.constraints.contact.pairs import Pairs
from rheotwin.constraints.contact.rounds import ROUNDS, VISITS, Mixing, System, begin_rounds, round_stages
from rheotwin.kernels.blocks import STEP
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.stage import Stage

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Indices = NDArray[np.int64]


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
def find_impacts(
    pairs: Pairs, strikes: Flags, rows: Array, mine: Array, others: Flags, course: Array, settled: float, ahead: int
) -> int:
    """Prepare the rows of the shifts; skip `ahead` stages if there are no impacts."""
    found = False
    begin_rounds(course, settled)
    for p in range(pairs.count[0]):
        for column in range(ROW):
            mine[p, column] = 0.0
        others[p] = not (pairs.gap[p] < 0.0 and strikes[pairs.tool[p]])  # NO_TOOL: the last law
        if others[p]:
            continue
        found = True
        for column in range(TURN, TURN + 3):
            mine[p, column] = rows[p, column]
    return 0 if found else ahead


@compiled(inside=True)
def prepare_lifts(system: System, gaps: Array, giving: Giving | None, mine: Array, others: Flags, h: float) -> None:
    """Write the rows gap >= 0 of the lifts, of the gap at the end of the step."""
    rows, normal = system.rows, system.normal
    for p in range(system.count[0]):
        if others[p] or rows[p, NORMAL_RESPONSE] == 0.0:
            continue
        ux, uy, uz = motion_of(p, system.node, system.weight, rows, system.y, giving, 1.0)
        rate = ux * normal[p, 0] + uy * normal[p, 1] + uz * normal[p, 2]
        mine[p, SLOPE], mine[p, CONSTANT] = 1.0, gaps[p] + h * (rate - rows[p, RATE])
        mine[p, NORMAL_RESPONSE] = rows[p, NORMAL_RESPONSE]


@compiled(inside=True)
def lift_tools(course: Array, visits: Indices, pose: Array, moved: Array) -> None:
    """Move poses (T, 4) by what impacts have shifted them, and note whether that has settled."""
    visits[4] += course[ROUNDS] > VISITS
    for tool in range(pose.shape[0]):
        for c in range(4):
            pose[tool, c] += moved[tool, c]
            moved[tool, c] = 0.0


def impact_stages(
    system: System, giving: Giving | None, pairs: Pairs, strikes: Flags, mixing: Mixing, shifts: Shifts,
    visits: Indices, pose: Array, settled: float,
) -> list[Stage]:  # fmt: skip
    """Return the stages that find by what places have to be lifted after impacts before they move by h v; poses are."""
    lifts = system._replace(rows=shifts.rows, alone=shifts.others, y=shifts.nodes)
    moved = None if giving is None else giving._replace(moves=shifts.tools)
    lifting = [
        Stage(prepare_lifts, (system, pairs.gap, giving, shifts.rows, shifts.others, STEP)),
        *round_stages(lifts, moved, mixing, None, None),
        Stage(lift_tools, (mixing.course, visits, pose, shifts.tools)),
    ]
    finding = (pairs, strikes, system.rows, shifts.rows, shifts.others, mixing.course, settled, len(lifting))
    return [Stage(find_impacts, finding), *lifting]
