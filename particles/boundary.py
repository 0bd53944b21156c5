"""What acts on particles from outside, compiled: loads, held components, rigid tools.

Without laws of contact it is the exact unilateral rule: where x + h v would enter a tool, the impulse m (-gap/h) n puts the node
on the tool's surface at the end of the step. Held components do not give way: the impulse acts on the free ones and
the support takes the rest. A node between several tools is settled by sweeps over them (projected Gauss-Seidel).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rheotwin.constraints.contact.lumped import keep_apart
from rheotwin.constraints.packed import IMMOVABLE, SETTLED, SWEEPS, Tables, Tools, table_value
from rheotwin.constraints.tools import gap_and_normal, is_clear
from rheotwin.particles.state import State

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


class Nodes(NamedTuple):
    """Constant node data; `rest` (N, 3) [m], `weight` (N, 3) [N], `mass` (N,) [kg], `runaway` [m].

    `free` (N, 3) is 1 where a component may move and 0 where a support holds it.
    """

    rest: Array
    free: Array
    mass: Array
    weight: Array
    runaway: float


class Held(NamedTuple):
    """Held components: node, component and the motion table each follows."""

    node: Indices
    component: Indices
    motion: Indices
    tables: Tables


class Loads(NamedTuple):
    """Nodal loads: node, share (n, 3) [N] and the factor table each follows."""

    node: Indices
    share: Array
    motion: Indices
    tables: Tables


class Push(NamedTuple):
    """Scratch of one step's contact: tool poses, accumulated pushes [m/s] >= 0, nodes to look at, nodes pushed."""

    poses: Array
    pressed: Array
    unsettled: NDArray[np.bool_]
    touched: NDArray[np.bool_]


class Boundary(NamedTuple):
    """Everything that acts on nodes from outside; `contact` by laws, None where tools are exact and frictionless."""

    nodes: Nodes
    held: Held
    loads: Loads
    tools: Tools
    contact: Any = None


@njit(cache=True)
def room_for_contact(boundary: Boundary) -> Push:
    """Return the scratch arrays of one step's contact."""
    nodes, tools = boundary.nodes.mass.shape[0], boundary.tools
    return Push(
        np.empty((tools.shape.shape[0], 4)),
        np.empty(tools.candidate.shape[0]),
        np.empty(nodes, np.bool_),
        np.empty(nodes, np.bool_),
    )


@njit(cache=True)
def apply_loads(loads: Loads, time: float, force: Array) -> None:
    """Add the loads [N] at `time` [s]."""
    factor, current = loads.tables.current, -1
    for k in range(loads.node.shape[0]):
        if loads.motion[k] != current:
            current = loads.motion[k]
            table_value(loads.tables, current, time, factor)
        for c in range(3):
            force[loads.node[k], c] += factor[0] * loads.share[k, c]


@njit(cache=True)
def hold(held: Held, nodes: Nodes, state: State, end: float, h: float) -> None:
    """Put held components where their motion wants them at the end of the step; keep the force that took."""
    target, current = held.tables.current, -1
    for k in range(held.node.shape[0]):
        node, c = held.node[k], held.component[k]
        if held.motion[k] != current:
            current = held.motion[k]
            table_value(held.tables, current, end, target)
        wanted = (nodes.rest[node, c] + target[c] - state.positions[node, c]) / h
        state.reaction[node, c] = nodes.mass[node] * (wanted - state.velocities[node, c]) / h
        state.velocities[node, c] = wanted


@njit(cache=True)
def _push(node: int, k: int, change: float, normal: tuple[float, ...], nodes: Nodes, state: State, h: float) -> None:
    """Change the velocity of a node's free components by `change` n [m/s]; its supports take the rest of the force."""
    for c in range(3):
        force = nodes.mass[node] * change / h * normal[c]
        state.contact_force[k, c] += force
        state.velocities[node, c] += nodes.free[node, c] * change * normal[c]
        state.reaction[node, c] -= (1.0 - nodes.free[node, c]) * force


@njit(cache=True)
def _sweep(tool: int, pose: Array, push: Push, tools: Tools, nodes: Nodes, state: State, h: float) -> float:
    """Correct the pushes of one tool once, at nodes that may have moved; return the largest correction [m]."""
    pressed, unsettled, candidate = push.pressed, push.unsettled, tools.candidate
    shape, geometry = tools.shape[tool], tools.geometry[tool]
    x, v, largest = state.positions, state.velocities, 0.0
    for k in range(tools.offset[tool], tools.offset[tool + 1]):
        node = candidate[k]
        if not unsettled[node]:
            continue
        px, py, pz = x[node, 0] + h * v[node, 0], x[node, 1] + h * v[node, 1], x[node, 2] + h * v[node, 2]
        if pressed[k] == 0.0 and is_clear(shape, geometry, pose, px, py, pz):
            continue
        gap, nx, ny, nz = gap_and_normal(shape, geometry, pose, px, py, pz)
        if gap >= 0.0 and pressed[k] == 0.0:
            continue
        share = nx * nx * nodes.free[node, 0] + ny * ny * nodes.free[node, 1] + nz * nz * nodes.free[node, 2]
        if share < IMMOVABLE:
            continue
        wanted = max(0.0, pressed[k] - gap / (h * share))
        change = wanted - pressed[k]
        pressed[k] = wanted
        push.touched[node] = True
        largest = max(largest, h * abs(change))
        _push(node, k, change, (nx, ny, nz), nodes, state, h)
    return largest


@njit(cache=True)
def touches(boundary: Boundary) -> bool:
    """Tell whether there is anything to settle."""
    return boundary.contact is not None or boundary.tools.shape.shape[0] > 0


@njit(cache=True)
def settle_contact(boundary: Boundary, push: Push, state: State, end: float, h: float) -> None:
    """Change velocities by the contact of a step of `h` [s] that ends at `end` [s], before positions move by h v."""
    _settle(boundary.contact, boundary, push, state, end, h)


@njit(cache=True)
def _settle(contact: Any, boundary: Boundary, push: Push, state: State, end: float, h: float) -> None:
    # Compiled for either type of `contact`, with only that branch: scenes without laws do not pay for them.
    if contact is None:
        _keep_outside(boundary.tools, push, boundary.nodes, state, end, h)
    else:
        keep_apart(contact, state.positions, state.velocities, state.reaction, end, h, h)


@njit(cache=True)
def _keep_outside(tools: Tools, push: Push, nodes: Nodes, state: State, end: float, h: float) -> None:
    """Keep candidate nodes out of every tool at the end of the step by impulses along the tools' normals.

    After the first round only the nodes it pushed can be inside another tool, so only they are looked at again.
    """
    state.contact_force[:] = 0.0
    push.pressed[:] = 0.0
    push.unsettled[:] = True
    push.touched[:] = False
    poses = push.poses
    for tool in range(tools.shape.shape[0]):
        table_value(tools.tables, tool, end, poses[tool])
    for _ in range(SWEEPS):
        largest = 0.0
        for tool in range(tools.shape.shape[0]):
            largest = max(largest, _sweep(tool, poses[tool], push, tools, nodes, state, h))
        if largest <= SETTLED * nodes.runaway:
            break
        push.unsettled[:] = push.touched
