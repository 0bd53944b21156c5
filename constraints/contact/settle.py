"""Contact of nodes with lumped masses: the impulses of all pairs of a step.

A contact that shares nothing needs one visit of `rounds`; the others are visited in turn until nothing moves,
beginning with the impulses of the last step.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.laws.form import FRICTION, SLIP_SPEED, STATIC_FRICTION, law_of, row_of
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
    Giving,
    arm_of,
    find_responses,
    motion_of,
    push,
    turn_of,
)
from rheotwin.constraints.contact.pairs import NO_TOOL, NODES, Pairs, count_uses
from rheotwin.constraints.contact.rounds import ROUNDS, VISITS, System, begin_rounds
from rheotwin.constraints.contact.tool_motion import ToolMotion
from rheotwin.kernels.compiled import compiled

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]


@cache
def preparing(names: tuple[str, ...]) -> Any:
    """Return the stage that writes the rows of all pairs, before any impulse has acted, for laws with these names.

    `before` (N, 3) [m/s] are velocities before the forces of the step have acted, None where nothing bounces.
    """
    row_of_law = row_of(names)

    @compiled(inside=True)
    def prepare(
        pairs: Pairs, active: Flags, sliding: Flags, integral: Array, laws: Array, rows: Array, ease: Array,
        geometry: Array, motion: ToolMotion, giving: Giving | None, v: Array, before: Array | None, h: float,
        kick: float,
    ) -> None:  # fmt: skip
        node, weight, normal = pairs.node, pairs.weight, pairs.normal
        for p in range(pairs.count[0]):
            tool, slot, law = pairs.tool[p], pairs.slot[p], laws.shape[0] - 1
            surface = (0.0, 0.0, 0.0)
            if giving is not None:
                giving.pushed[p] = NO_TOOL
            if tool != NO_TOOL:
                law, turning = tool, motion.velocity[tool, 3]
                arm = arm_of(geometry, motion.end, tool, pairs.point[p, 0], pairs.point[p, 1], pairs.point[p, 2])
                tx, ty, tz = turn_of(geometry, tool, arm)
                surface = (
                    motion.velocity[tool, 0] + turning * tx,
                    motion.velocity[tool, 1] + turning * ty,
                    motion.velocity[tool, 2] + turning * tz,
                )
                if giving is not None:
                    light = giving.ease[tool, 0] + giving.ease[tool, 1] + giving.ease[tool, 2] + giving.ease[tool, 3]
                    if light > 0.0:
                        giving.pushed[p], surface = tool, (0.0, 0.0, 0.0)
                        _note_arm(p, tool, pairs, geometry, giving.pose, rows, v, h)
            rows[p, SURFACE], rows[p, SURFACE + 1], rows[p, SURFACE + 2] = surface
            mx, my, mz = motion_of(p, node, weight, rows, v, giving, 1.0)
            rate = mx * normal[p, 0] + my * normal[p, 1] + mz * normal[p, 2]
            closing = 0.0
            if before is not None:
                closing = _closing(p, pairs, rows, before, giving, motion.before_kick)
            rows[p, RATE], rows[p, PRESSED], rows[p, SLIDES] = rate, 0.0, 0.0
            rows[p, TANGENT], rows[p, TANGENT + 1], rows[p, TANGENT + 2] = 0.0, 0.0, 0.0
            rows[p, SLOPE], rows[p, CONSTANT], rows[p, COMPLIANCE] = row_of_law(
                law_of(laws, law), pairs.gap[p], rate, closing, integral[slot], active[slot], h, kick
            )
            slid = active[slot] and sliding[slot]
            rows[p, KINETIC], rows[p, SLIP] = laws[law, FRICTION], laws[law, SLIP_SPEED]
            rows[p, STATIC] = laws[law, FRICTION if slid else STATIC_FRICTION]
            find_responses(p, node, weight, normal, rows, ease, giving)

    return prepare


@compiled(inside=True)
def _note_arm(p: int, tool: int, pairs: Pairs, geometry: Array, pose: Array, rows: Array, v: Array, h: float) -> None:
    """Note the arm [m] from a tool's centre to the node of pair `p`, both where the step begins, and its turn.

    A step changes the angular momentum sum x x m v of its end by sum x x J with the places it began with, for it moves
    places along the velocities it ends with: so node and tool take and give the same.
    """
    i, g = pairs.node[p, 0], pairs.gap[p]
    x = pairs.point[p, 0] + g * pairs.normal[p, 0] - h * v[i, 0]
    y = pairs.point[p, 1] + g * pairs.normal[p, 1] - h * v[i, 1]
    z = pairs.point[p, 2] + g * pairs.normal[p, 2] - h * v[i, 2]
    arm = arm_of(geometry, pose, tool, x, y, z)
    rows[p, ARM], rows[p, ARM + 1], rows[p, ARM + 2] = arm
    rows[p, TURN], rows[p, TURN + 1], rows[p, TURN + 2] = turn_of(geometry, tool, arm)


@compiled(inside=True)
def _closing(p: int, pairs: Pairs, rows: Array, before: Array, giving: Giving | None, tool_before: Array) -> float:
    """Return the rate [m/s] of pair `p` before the forces of the step have acted."""
    normal = pairs.normal
    earlier = None if giving is None else Giving(giving.pushed, giving.ease, tool_before, giving.pose)
    bx, by, bz = motion_of(p, pairs.node, pairs.weight, rows, before, earlier, 1.0)
    return float(bx * normal[p, 0] + by * normal[p, 1] + bz * normal[p, 2])


@compiled(inside=True)
def find_alone(count: Indices, node: Indices, giving: Giving | None, loose: Flags, uses: Indices, alone: Flags) -> None:
    """Mark pairs that share no node, hold nothing and touch no tool that gives way; `uses` (N,) count them."""
    for i in range(uses.shape[0]):
        uses[i] = 0
    count_uses(node, count, uses)
    for p in range(count[0]):
        alone[p] = True
        if giving is not None:
            alone[p] = giving.pushed[p] == NO_TOOL
        for k in range(NODES):
            i = node[p, k]
            alone[p] = alone[p] and (i < 0 or (uses[i] == 1 and loose[i]))


@compiled(inside=True)
def begin_with_last(
    system: System, giving: Giving | None, tools: Indices, slots: Indices, strikes: Flags, last: Array, course: Array,
    settled: float, h: float,
) -> None:  # fmt: skip
    """Apply the impulses of the last step to the contacts that depend on each other; impacts do not repeat.

    They are settled once none moves further than `settled` [m] in the step.
    """
    rows, normal = system.rows, system.normal
    begin_rounds(course, settled / h)
    for p in range(system.count[0]):
        law, slot = strikes.shape[0] - 1 if tools[p] == NO_TOOL else tools[p], slots[p]
        if system.alone[p] or strikes[law]:
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
        push(p, (jx, jy, jz), system.node, system.weight, rows, system.ease, system.y, giving)


@compiled(inside=True)
def note_rounds(course: Array, visits: Indices) -> None:
    """Count the rounds of a step in `visits`, see `Impulses`."""
    rounds = int(course[ROUNDS])
    visits[0], visits[1] = rounds, max(rounds, visits[1])
    visits[2] += rounds
    visits[3] += 1
    visits[4] += rounds > VISITS


@compiled(inside=True)
def look_ahead(count: Indices, node: Indices, weight: Array, normal: Array, gap: Array, v: Array, h: float) -> None:
    """Turn the gaps of contacts between bodies, found where a step of `h` [s] begins, into those of its free end."""
    for p in range(count[0]):
        mx, my, mz = 0.0, 0.0, 0.0
        for k in range(NODES):
            i, w = node[p, k], weight[p, k]
            if i < 0:
                break
            mx, my, mz = mx + w * v[i, 0], my + w * v[i, 1], mz + w * v[i, 2]
        gap[p] += h * (mx * normal[p, 0] + my * normal[p, 1] + mz * normal[p, 2])
