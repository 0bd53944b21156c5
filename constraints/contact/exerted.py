"""What contacts exerted in a step: forces on nodes and supports, force and moment on tools, and what they remember."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.contacts import Contacts
from rheotwin.constraints.contact.laws.form import law_of, next_integral, normal, stays_of
from rheotwin.constraints.contact.mobility import ARM, END, PRESSED, RATE, SLIDES, TANGENT, Giving, arm_of, motion_of
from rheotwin.constraints.contact.pairs import LISTED, NO_TOOL, NODES, RENEWED, STAMP, History, note_slot
from rheotwin.constraints.contact.rounds import System
from rheotwin.constraints.contact.vectors import Vector
from rheotwin.kernels.compiled import compiled

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Exerted(NamedTuple):
    """Forces of the last step: of contact on nodes (N, 3) [N], of the bodies on tools (T, 3) [N], (T, 3) [N m].

    Moments are about the tools' centres at the end of the step. `touched[:filled[0]]` are the nodes with a force or a
    shift, `marked` (N,) says which; `active` (1,) counts the contacts with a force. Forces of lone contacts are not
    among `node_force`, see `lone_forces`.
    """

    node_force: Array
    tool_force: Array
    tool_moment: Array
    touched: Indices
    marked: Flags
    filled: Indices
    active: Indices
    duration: Array
    """How long forces acted (1,) [s]."""


def nothing_exerted(nodes: int, tools: int) -> Exerted:
    """Return the forces before any step."""
    return Exerted(
        node_force=np.zeros((nodes, 3)),
        tool_force=np.zeros((tools, 3)),
        tool_moment=np.zeros((tools, 3)),
        touched=np.zeros(nodes, np.int64),
        marked=np.zeros(nodes, np.bool_),
        filled=np.zeros(1, np.int64),
        active=np.zeros(1, np.int64),
        duration=np.ones(1),
    )


def lone_forces(contacts: Contacts, exerted: Exerted, candidate: Indices) -> tuple[Indices, Array]:
    """Return the nodes and forces (n, 3) [N] of lone contacts with tools, whose slots are those of the candidates.

    Steps leave them as impulses in the history: to enter every one twice takes a tenth of what its contact does.
    """
    history = contacts.history
    slots = history.listed[: history.filled[LISTED]]
    slots = slots[slots < len(candidate)]
    slots = slots[~exerted.marked[candidate[slots]]]
    return candidate[slots], history.impulse[slots] / exerted.duration[0]


@compiled(inside=True)
def nothing_yet(exerted: Exerted, count: Indices, uses: Indices, visits: Indices, square: Array, kick: float) -> None:
    """Clear forces, pairs, uses, rounds and largest speed of the last step; forces of this one act for `kick` [s]."""
    touched, marked, force = exerted.touched, exerted.marked, exerted.node_force
    for row in range(exerted.filled[0]):
        node = touched[row]
        marked[node] = False
        force[node, 0], force[node, 1], force[node, 2] = 0.0, 0.0, 0.0
    for tool in range(exerted.tool_force.shape[0]):
        for c in range(3):
            exerted.tool_force[tool, c], exerted.tool_moment[tool, c] = 0.0, 0.0
    exerted.filled[0], exerted.active[0], exerted.duration[0] = 0, 0, kick
    count[0], visits[0], square[0] = 0, 0, 0.0
    for node in range(uses.shape[0]):
        uses[node] = 0


@cache
def accounting(names: tuple[str, ...]) -> Any:
    """Return the stage that enters forces and history of the pairs settled, under laws with these names.

    What contacts without pairs have entered in this step stays. `integrates` and `strikes` (T + 1,) are said of laws.
    """
    stays = stays_of(names)
    remembers = any(normal(name).integrates for name in names)
    jumps = any(normal(name).strikes for name in names)

    @compiled(inside=True)
    def account(
        system: System, giving: Giving | None, gaps: Array, tools: Indices, slots: Indices, laws: Array,
        integrates: Flags, strikes: Flags, history: History, exerted: Exerted, h: float, kick: float,
    ) -> None:  # fmt: skip
        rows, normal = system.rows, system.normal
        filled, renewed, stamp = history.filled[LISTED], history.filled[RENEWED], history.filled[STAMP]
        for p in range(system.count[0]):
            pressed, slot, tool = rows[p, PRESSED], slots[p], tools[p]
            law = laws.shape[0] - 1 if tool == NO_TOOL else tool
            nx, ny, nz = normal[p, 0], normal[p, 1], normal[p, 2]
            mx, my, mz = motion_of(p, system.node, system.weight, rows, system.y, giving, 1.0)
            gap = gaps[p] + h * (mx * nx + my * ny + mz * nz - rows[p, RATE])
            active = stays(law_of(laws, law), gap, pressed, history.active[slot])
            jx = pressed * nx + rows[p, TANGENT]
            jy = pressed * ny + rows[p, TANGENT + 1]
            jz = pressed * nz + rows[p, TANGENT + 2]
            if pressed > 0.0 or active:
                if remembers:
                    goes_on = active and integrates[law]
                    history.integral[slot] = next_integral(gap, history.integral[slot], goes_on, h)
                history.active[slot], history.sliding[slot] = active, rows[p, SLIDES] > 0.0
                history.impulse[slot, 0], history.impulse[slot, 1], history.impulse[slot, 2] = jx, jy, jz
                filled, renewed = note_slot(slot, history.mark, history.listed, stamp, filled, renewed)
            # an impact shifts and turns its nodes even where it needs no impulse
            enters = pressed > 0.0
            if jumps:
                enters = enters or (gaps[p] < 0.0 and strikes[law])
            if enters:
                exerted.active[0] += 1 if pressed > 0.0 else 0
                _enter(p, system.node, system.weight, (jx / kick, jy / kick, jz / kick), exerted)
            rows[p, END] = gap
        history.filled[LISTED], history.filled[RENEWED] = filled, renewed

    return account


@compiled(inside=True)
def _enter(p: int, node: Indices, weight: Array, force: Vector, exerted: Exerted) -> None:
    """Add the force [N] of pair `p` to those of its nodes."""
    for k in range(NODES):
        i, w = node[p, k], weight[p, k]
        if i < 0:
            break
        if not exerted.marked[i]:
            exerted.marked[i] = True
            exerted.touched[exerted.filled[0]] = i
            exerted.filled[0] += 1
        for c in range(3):
            exerted.node_force[i, c] += w * force[c]


@compiled(inside=True)
def add_to_tools(
    system: System, giving: Giving | None, tools: Indices, point: Array, geometry: Array, pose: Array,
    on_tool: Array, moments: Array, kick: float,
) -> None:  # fmt: skip
    """Add the reactions of pairs, after their account, to forces [N] and moments [N m] (T, 3) of tools in `pose`."""
    rows, normal = system.rows, system.normal
    for p in range(system.count[0]):
        tool, pressed = tools[p], rows[p, PRESSED]
        if tool == NO_TOOL or pressed == 0.0:
            continue
        end = rows[p, END]
        nx, ny, nz = normal[p, 0], normal[p, 1], normal[p, 2]
        px, py, pz = point[p, 0] + end * nx, point[p, 1] + end * ny, point[p, 2] + end * nz
        arm = arm_of(geometry, pose, tool, px, py, pz)
        if giving is not None:  # noqa: SIM102
            if giving.pushed[p] != NO_TOOL:
                arm = (rows[p, ARM], rows[p, ARM + 1], rows[p, ARM + 2])
        fx = (pressed * nx + rows[p, TANGENT]) / kick
        fy = (pressed * ny + rows[p, TANGENT + 1]) / kick
        fz = (pressed * nz + rows[p, TANGENT + 2]) / kick
        on_tool[tool, 0] -= fx
        on_tool[tool, 1] -= fy
        on_tool[tool, 2] -= fz
        moments[tool, 0] -= arm[1] * fz - arm[2] * fy
        moments[tool, 1] -= arm[2] * fx - arm[0] * fz
        moments[tool, 2] -= arm[0] * fy - arm[1] * fx
