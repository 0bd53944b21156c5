"""What acts on particles from outside, compiled: loads, held components, rigid tools.

Contact without laws is the exact unilateral rule: where x + h v would enter a tool, the impulse m (-gap/h) n puts the
node on the tool's surface at the end of the step. Held components do not give way: the impulse acts on the free ones
and the support takes the rest. A node between several tools is settled by sweeps over them (projected Gauss-Seidel).
With laws it is that of `rheotwin.constraints.contact.lumped`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rheotwin.constraints.compiled import borrowing, inner, merged, offered_counting, woven
from rheotwin.constraints.contact.lumped import keep_apart_fast
from rheotwin.constraints.contact.near_tools import NearTools, forget_list, near_tools, note_way, renew, slack
from rheotwin.constraints.packed import IMMOVABLE, SETTLED, SWEEPS, Tables, Tools, table_value
from rheotwin.constraints.tools import PLANE, gap_and_normal, is_clear
from rheotwin.particles.state import State

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

ROUNDING = 1e-12
"""Coordinates are far better than this share of the runaway distance."""


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
    """Scratch of contact: tool poses, accumulated pushes [m/s] >= 0 and nodes pushed, and which candidates are near.

    `hit[:hits[0]]` are the candidates with a push or a force, `marked` says which; hits < 0 before the first step.
    """

    poses: Array
    reach: Array
    pressed: Array
    touched: NDArray[np.bool_]
    hit: Indices
    marked: NDArray[np.bool_]
    hits: Indices
    near: NearTools


class Boundary(NamedTuple):
    """Everything that acts on nodes from outside; `contact` by laws, None where tools are exact and frictionless."""

    nodes: Nodes
    held: Held
    loads: Loads
    tools: Tools
    contact: Any = None


@offered_counting
def room_for_contact(boundary: Boundary) -> Push:
    """Return the scratch arrays of contact for some steps; what moved before them has to be looked at again."""
    nodes, tools = boundary.nodes.mass.shape[0], boundary.tools
    _look_again(boundary.contact)
    return Push(
        np.empty((tools.shape.shape[0], 4)),
        np.zeros(tools.shape.shape[0]),
        np.zeros(tools.candidate.shape[0]),
        np.zeros(nodes, np.bool_),
        np.empty(tools.candidate.shape[0], np.int64),
        np.zeros(tools.candidate.shape[0], np.bool_),
        np.full(1, -1),
        near_tools(tools),
    )


@inner
def _look_again(contact: Any) -> None:
    if contact is not None:
        forget_list(contact.close)


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


@inner
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


@borrowing
def _push(node: int, k: int, change: float, normal: tuple[float, ...], nodes: Nodes, state: State, h: float) -> None:
    """Change the velocity of a node's free components by `change` n [m/s]; its supports take the rest of the force."""
    for c in range(3):
        force = nodes.mass[node] * change / h * normal[c]
        state.contact_force[k, c] += force
        state.velocities[node, c] += nodes.free[node, c] * change * normal[c]
        state.reaction[node, c] -= (1.0 - nodes.free[node, c]) * force


@borrowing
def _press(
    tool: int, k: int, pose: Array, push: Push, tools: Tools, nodes: Nodes, state: State, h: float
) -> float:  # fmt: skip
    """Correct the push of one tool on one candidate once; return the correction [m]."""
    node, pressed, x, v = tools.candidate[k], push.pressed, state.positions, state.velocities
    px, py, pz = x[node, 0] + h * v[node, 0], x[node, 1] + h * v[node, 1], x[node, 2] + h * v[node, 2]
    gap, nx, ny, nz = gap_and_normal(tools.shape[tool], tools.geometry[tool], pose, px, py, pz)
    if gap >= 0.0 and pressed[k] == 0.0:
        return 0.0
    share = nx * nx * nodes.free[node, 0] + ny * ny * nodes.free[node, 1] + nz * nz * nodes.free[node, 2]
    if share < IMMOVABLE:
        return 0.0
    wanted = max(0.0, pressed[k] - gap / (h * share))
    change = wanted - pressed[k]
    pressed[k] = wanted
    push.touched[node] = True
    if not push.marked[k]:
        push.marked[k] = True
        push.hit[push.hits[0]] = k
        push.hits[0] += 1
    _push(node, k, change, (nx, ny, nz), nodes, state, h)
    return float(h * abs(change))


@merged
def _first_sweep(tool: int, push: Push, tools: Tools, nodes: Nodes, state: State, h: float) -> tuple[float, bool]:
    """Push the near candidates that would end inside a tool, but for those that another one has already pushed.

    Returns the largest correction [m], and whether a node between the tool and a support has to be looked at again.
    """
    near, again, largest = push.near, False, 0.0
    candidate, pressed, touched, x, v = tools.candidate, push.pressed, push.touched, state.positions, state.velocities
    marked, hit, hits, free, mass = push.marked, push.hit, push.hits[0], nodes.free, nodes.mass
    shape, geometry, pose, contact_force = (
        tools.shape[tool],
        tools.geometry[tool],
        push.poses[tool],
        state.contact_force,
    )
    reaction, rows, first, flat = state.reaction, near.rows, tools.offset[tool], shape == PLANE
    cx, cy, cz = geometry[0] + pose[0], geometry[1] + pose[1], geometry[2] + pose[2]
    nx, ny, nz = 0.0, 0.0, 0.0
    if flat:
        _, nx, ny, nz = gap_and_normal(shape, geometry, pose, cx, cy, cz)
    for row in range(first, first + near.counts[tool]):
        k = rows[row]
        node = candidate[k]
        if touched[node]:
            continue
        px, py, pz = x[node, 0] + h * v[node, 0], x[node, 1] + h * v[node, 1], x[node, 2] + h * v[node, 2]
        if flat:
            gap = (
                (px - geometry[0] - pose[0]) * nx
                + (py - geometry[1] - pose[1]) * ny
                + (pz - geometry[2] - pose[2]) * nz
            )
        elif is_clear(shape, geometry, pose, px, py, pz):
            continue
        else:
            gap, nx, ny, nz = gap_and_normal(shape, geometry, pose, px, py, pz)
        if gap >= 0.0:
            continue
        ex, ey, ez = free[node, 0], free[node, 1], free[node, 2]
        share = nx * nx * ex + ny * ny * ey + nz * nz * ez
        if share < IMMOVABLE:
            continue
        change = -gap / (h * share)
        pressed[k], touched[node], marked[k] = change, True, True
        hit[hits] = k
        hits += 1
        pull = mass[node] * change / h
        fx, fy, fz = pull * nx, pull * ny, pull * nz
        contact_force[k, 0], contact_force[k, 1], contact_force[k, 2] = fx, fy, fz
        v[node, 0] += ex * change * nx
        v[node, 1] += ey * change * ny
        v[node, 2] += ez * change * nz
        if ex + ey + ez != 3.0:
            reaction[node, 0] -= (1.0 - ex) * fx
            reaction[node, 1] -= (1.0 - ey) * fy
            reaction[node, 2] -= (1.0 - ez) * fz
            again = again or not flat
        largest = max(largest, h * change)
    push.hits[0] = hits
    return largest, again


@borrowing
def _sweep(tool: int, push: Push, tools: Tools, nodes: Nodes, state: State, h: float, listed: bool) -> float:
    """Correct the pushes of one tool on the nodes that have been pushed; return the largest correction [m].

    Only near candidates have to be looked at where all that can be in the tool are `listed`.
    """
    near, touched, candidate, largest = push.near, push.touched, tools.candidate, 0.0
    first = tools.offset[tool]
    for row in range(first, first + near.counts[tool] if listed else tools.offset[tool + 1]):
        k = near.rows[row] if listed else row
        if touched[candidate[k]]:
            largest = max(largest, _press(tool, k, push.poses[tool], push, tools, nodes, state, h))
    return largest


@borrowing
def settle_again(boundary: Boundary, push: Push, state: State, h: float) -> float:
    """Correct the pushes of exact tools for velocities that have changed in the same step since `settle_contact`.

    All candidates are looked at, those that came into a tool only now too; returns the largest correction [m].
    """
    tools, largest = boundary.tools, 0.0
    for tool in range(tools.shape.shape[0]):
        for k in range(tools.offset[tool], tools.offset[tool + 1]):
            largest = max(largest, _press(tool, k, push.poses[tool], push, tools, boundary.nodes, state, h))
    return largest


@woven
def touches(boundary: Boundary) -> bool:
    """Tell whether there is anything to settle."""
    return boundary.contact is not None or boundary.tools.shape.shape[0] > 0


@woven
def settle_contact(boundary: Boundary, push: Push, state: State, fastest: float, end: float, h: float) -> None:
    """Change velocities by the contact of a step of `h` [s] that ends at `end` [s], before positions move by h v.

    `fastest` [m/s] bounds the speed of all particles; infinite where nobody knows, or where positions change by more
    than these steps.
    """
    _settle(boundary.contact, boundary, push, state, fastest, end, h)


@merged
def _settle(
    contact: Any, boundary: Boundary, push: Push, state: State, fastest: float, end: float, h: float
) -> None:  # fmt: skip
    # Compiled for either type of `contact`, with only that branch: scenes without laws do not pay for them.
    if contact is None:
        _keep_outside(boundary.tools, push, boundary.nodes, state, fastest, end, h)
    else:
        keep_apart_fast(contact, state.positions, state.velocities, state.reaction, fastest, end, h)


@merged
def _clear(push: Push, tools: Tools, force: Array, all_of_it: bool) -> None:
    """Clear the pushes and forces [N] of the last step."""
    for row in range(push.hits[0]):
        k = push.hit[row]
        push.pressed[k], push.marked[k], push.touched[tools.candidate[k]] = 0.0, False, False
        force[k, 0], force[k, 1], force[k, 2] = 0.0, 0.0, 0.0
    if all_of_it:
        force[:] = 0.0
    push.hits[0] = 0


@merged
def _keep_outside(
    tools: Tools, push: Push, nodes: Nodes, state: State, fastest: float, end: float, h: float
) -> None:  # fmt: skip
    """Keep candidate nodes out of every tool at the end of the step by impulses along the tools' normals.

    After the first round only the nodes it pushed can be inside another tool, so only they are looked at again.
    """
    count, near, poses = tools.shape.shape[0], push.near, push.poses
    _clear(push, tools, state.contact_force, push.hits[0] < 0 or not fastest < np.inf)
    for tool in range(count):
        table_value(tools.tables, tool, end, poses[tool])
    renew(near, tools, poses, push.reach, state.positions, state.velocities, h, fastest, ROUNDING * nodes.runaway)
    way, again = 0.0, False
    for tool in range(count):
        pushed, twice = _first_sweep(tool, push, tools, nodes, state, h)
        way, again = max(way, pushed), again or twice
    again = push.hits[0] > 0 and (again or count > 1)
    spare = slack(near, tools, poses, h * fastest)
    for _ in range(SWEEPS if again else 0):
        largest = 0.0
        for tool in range(count):
            listed = count == 1 or way <= spare
            corrected = _sweep(tool, push, tools, nodes, state, h, listed)
            way, largest = way + corrected, max(largest, corrected)
        if largest <= SETTLED * nodes.runaway:
            break
    note_way(near, h * fastest + way)
