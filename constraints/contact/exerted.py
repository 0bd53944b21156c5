"""What contacts exerted in a step: forces on nodes and supports, force and moment on tools, and what they remember."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.contacts import Contacts
from rheotwin.constraints.contact.history import LISTED, RENEWED, STAMP, note_slot
from rheotwin.constraints.contact.impact import is_impact
from rheotwin.constraints.contact.mobility import (
    ARM,
    PRESSED,
    RATE,
    SLIDES,
    TANGENT,
    arm_of,
    motion_of,
)
from rheotwin.constraints.contact.packed_law import law_of, next_integral, stays_active
from rheotwin.constraints.contact.pairs import NO_TOOL, NODES
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
def nothing_yet(exerted: Exerted) -> None:
    """Clear the forces of the last step."""
    touched, marked, force = exerted.touched, exerted.marked, exerted.node_force
    for row in range(exerted.filled[0]):
        node = touched[row]
        marked[node] = False
        force[node, 0], force[node, 1], force[node, 2] = 0.0, 0.0, 0.0
    exerted.tool_force[:] = 0.0
    exerted.tool_moment[:] = 0.0
    exerted.filled[0], exerted.active[0] = 0, 0


@compiled(inside=True)
def add_to_tool(
    tool: int, rx: float, ry: float, rz: float, fx: float, fy: float, fz: float, on_tool: Array, moment: Array
) -> None:
    """Add the reaction of a force f [N] on a node, at r [m] from the tool's centre."""
    on_tool[tool, 0] -= fx
    on_tool[tool, 1] -= fy
    on_tool[tool, 2] -= fz
    moment[tool, 0] -= ry * fz - rz * fy
    moment[tool, 1] -= rz * fx - rx * fz
    moment[tool, 2] -= rx * fy - ry * fx


@compiled(inside=True)
def account(contacts: Contacts, v: Array, exerted: Exerted, h: float, kick: float) -> None:
    """Enter forces and history of the pairs that `settle` has solved for velocities (N, 3) [m/s], in a step of `h` [s].

    What contacts without pairs have entered in this step stays.
    """
    pairs, history, rows, laws = contacts.pairs, contacts.history, contacts.impulses.rows, contacts.laws
    node, weight, normal, gaps, tools = pairs.node, pairs.weight, pairs.normal, pairs.gap, pairs.tool
    slots, point, geometry, pose = pairs.slot, pairs.point, contacts.tools.geometry, contacts.tools.motion.end
    was_active, sliding, integral, impulse = history.active, history.sliding, history.integral, history.impulse
    pushed, tool_v, marked, touched = (
        contacts.impulses.pushed,
        contacts.tools.motion.velocity,
        exerted.marked,
        exerted.touched,
    )
    listed, mark, on_node = history.listed, history.mark, exerted.node_force
    filled, renewed, stamp = history.filled[LISTED], history.filled[RENEWED], history.filled[STAMP]
    nodes, pushing = exerted.filled[0], exerted.active[0]
    for p in range(pairs.count[0]):
        pressed, slot, tool = rows[p, PRESSED], slots[p], tools[p]
        law = law_of(laws, laws.shape[0] - 1 if tool == NO_TOOL else tool)
        nx, ny, nz = normal[p, 0], normal[p, 1], normal[p, 2]
        mx, my, mz = motion_of(p, node, weight, rows, pushed, v, tool_v, 1.0)
        gap = gaps[p] + h * (mx * nx + my * ny + mz * nz - rows[p, RATE])
        active = stays_active(law, gap, pressed, was_active[slot])
        jx = pressed * nx + rows[p, TANGENT]
        jy = pressed * ny + rows[p, TANGENT + 1]
        jz = pressed * nz + rows[p, TANGENT + 2]
        if pressed > 0.0 or active:
            integral[slot] = next_integral(law, gap, integral[slot], active, h)
            was_active[slot], sliding[slot] = active, rows[p, SLIDES] > 0.0
            impulse[slot, 0], impulse[slot, 1], impulse[slot, 2] = jx, jy, jz
            filled, renewed = note_slot(slot, mark, listed, stamp, filled, renewed)
        if pressed == 0.0 and not is_impact(laws, tool, gaps[p]):
            continue  # an impact shifts and turns its nodes even where it needs no impulse
        fx, fy, fz = jx / kick, jy / kick, jz / kick
        pushing += 1 if pressed > 0.0 else 0
        for k in range(NODES):
            i = node[p, k]
            if i < 0:
                break
            if not marked[i]:
                marked[i] = True
                touched[nodes] = i
                nodes += 1
            w = weight[p, k]
            on_node[i, 0] += w * fx
            on_node[i, 1] += w * fy
            on_node[i, 2] += w * fz
        if tool != NO_TOOL:
            if pushed[p] != NO_TOOL:
                rx, ry, rz = rows[p, ARM], rows[p, ARM + 1], rows[p, ARM + 2]
            else:
                px, py, pz = point[p, 0] + gap * nx, point[p, 1] + gap * ny, point[p, 2] + gap * nz
                rx, ry, rz = arm_of(geometry, pose, tool, px, py, pz)
            add_to_tool(tool, rx, ry, rz, fx, fy, fz, exerted.tool_force, exerted.tool_moment)
    history.filled[LISTED], history.filled[RENEWED] = filled, renewed
    exerted.filled[0], exerted.active[0] = nodes, pushing
