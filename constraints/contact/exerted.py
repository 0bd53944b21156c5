"""What contacts exerted in a step: forces on nodes and supports, force and moment on tools, and what they remember."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rheotwin.constraints.contact.history import forget
from rheotwin.constraints.contact.impact import is_impact
from rheotwin.constraints.contact.mobility import (
    CONSTANT,
    PRESSED,
    RATE,
    SLIDES,
    SLOPE,
    TANGENT,
    arm_of,
    motion_of,
)
from rheotwin.constraints.contact.packed_law import INTEGRATED, KIND, stays_active
from rheotwin.constraints.contact.pairs import NO_TOOL, NODES
from rheotwin.constraints.contact.settle import Contacts

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]

ACTIVE, INTEGRATED_GAP = SLOPE, CONSTANT
"""Columns of a settled pair's row that get what its history is to be."""


class Exerted(NamedTuple):
    """Forces of the last step: of contact on nodes (N, 3) [N], of the bodies on tools (T, 3) [N], (T, 3) [N m].

    Moments are about the tools' centres at the end of the step. `touched[:count[0]]` are the nodes with a force or a
    shift, `marked` (N,) says which; `active` (1,) counts the contacts with a force.
    """

    node_force: Array
    tool_force: Array
    tool_moment: Array
    touched: Indices
    marked: Flags
    count: Indices
    active: Indices


def nothing_exerted(nodes: int, tools: int) -> Exerted:
    """Return the forces before any step."""
    return Exerted(
        node_force=np.zeros((nodes, 3)),
        tool_force=np.zeros((tools, 3)),
        tool_moment=np.zeros((tools, 3)),
        touched=np.zeros(nodes, np.int64),
        marked=np.zeros(nodes, np.bool_),
        count=np.zeros(1, np.int64),
        active=np.zeros(1, np.int64),
    )


@njit(cache=True)
def _clear(exerted: Exerted) -> None:
    touched, marked, force = exerted.touched, exerted.marked, exerted.node_force
    for row in range(exerted.count[0]):
        node = touched[row]
        marked[node] = False
        force[node, 0], force[node, 1], force[node, 2] = 0.0, 0.0, 0.0
    exerted.tool_force[:] = 0.0
    exerted.tool_moment[:] = 0.0


@njit(cache=True)
def _update_histories(contacts: Contacts, v: Array, h: float) -> None:
    """Write over each pair's row whether it stays active and its J; the histories themselves are still the old ones."""
    pairs, history, rows, pushed = contacts.pairs, contacts.history, contacts.impulses.rows, contacts.impulses.pushed
    node, weight, normal, gaps, tools = pairs.node, pairs.weight, pairs.normal, pairs.gap, pairs.tool
    slots, laws, tool_v = pairs.slot, contacts.laws, contacts.tools.motion.velocity
    was_active, integral = history.active, history.integral
    for p in range(pairs.count[0]):
        slot, law = slots[p], laws.shape[0] - 1 if tools[p] == NO_TOOL else tools[p]
        mx, my, mz = motion_of(p, node, weight, rows, pushed, v, tool_v, 1.0)
        rate = mx * normal[p, 0] + my * normal[p, 1] + mz * normal[p, 2]
        gap = gaps[p] + h * (rate - rows[p, RATE])
        active = stays_active(laws, law, gap, rows[p, PRESSED], was_active[slot])
        rows[p, ACTIVE], rows[p, INTEGRATED_GAP] = 0.0, 0.0
        if active:
            rows[p, ACTIVE] = 1.0
            if laws[law, KIND] == INTEGRATED:
                rows[p, INTEGRATED_GAP] = min(0.0, integral[slot] + h * gap)


@njit(cache=True)
def _exert(contacts: Contacts, exerted: Exerted, kick: float) -> None:
    """Enter the forces of all pairs and their new histories."""
    pairs, history, rows, laws = contacts.pairs, contacts.history, contacts.impulses.rows, contacts.laws
    node, weight, normal, gaps, tools = pairs.node, pairs.weight, pairs.normal, pairs.gap, pairs.tool
    slots, point, geometry, pose = pairs.slot, pairs.point, contacts.tools.geometry, contacts.tools.motion.end
    active, sliding, integral, impulse = history.active, history.sliding, history.integral, history.impulse
    listed, marked, touched, on_node = history.listed, exerted.marked, exerted.touched, exerted.node_force
    on_tool, moment, entries, nodes, pushing = exerted.tool_force, exerted.tool_moment, 0, 0, 0
    for p in range(pairs.count[0]):
        pressed, slot, tool = rows[p, PRESSED], slots[p], tools[p]
        if pressed == 0.0 and rows[p, ACTIVE] == 0.0:
            continue
        active[slot], sliding[slot] = rows[p, ACTIVE] > 0.0, rows[p, SLIDES] > 0.0
        integral[slot] = rows[p, INTEGRATED_GAP]
        listed[entries] = slot
        entries += 1
        if pressed == 0.0 and not is_impact(laws, tool, gaps[p]):
            continue
        jx = pressed * normal[p, 0] + rows[p, TANGENT]
        jy = pressed * normal[p, 1] + rows[p, TANGENT + 1]
        jz = pressed * normal[p, 2] + rows[p, TANGENT + 2]
        impulse[slot, 0], impulse[slot, 1], impulse[slot, 2] = jx, jy, jz
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
            rx, ry, rz = arm_of(geometry, pose, tool, point[p, 0], point[p, 1], point[p, 2])
            on_tool[tool, 0] -= fx
            on_tool[tool, 1] -= fy
            on_tool[tool, 2] -= fz
            moment[tool, 0] -= ry * fz - rz * fy
            moment[tool, 1] -= rz * fx - rx * fz
            moment[tool, 2] -= rx * fy - ry * fx
    history.count[0], exerted.count[0], exerted.active[0] = entries, nodes, pushing


@njit(cache=True)
def account(contacts: Contacts, v: Array, exerted: Exerted, h: float, kick: float) -> None:
    """Enter forces and history of the step of `h` [s] that `settle` has solved for velocities (N, 3) [m/s]."""
    _clear(exerted)
    _update_histories(contacts, v, h)
    forget(contacts.history)
    _exert(contacts, exerted, kick)
