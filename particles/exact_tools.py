"""Rigid tools without laws, compiled: the exact unilateral rule, frictionless.

Where x + h v would enter a tool, the impulse m (-gap/h) n puts the node on the tool's surface at the end of the step.
Held components do not give way: the impulse acts on the free ones and the support takes the rest. A node between
several tools is settled by sweeps over them (projected Gauss-Seidel).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.near_tools import NearTools, near_tools, note_way, renew, slack
from rheotwin.constraints.contact.vectors import Vector
from rheotwin.constraints.packed import IMMOVABLE, SETTLED, SWEEPS, Tools, table_value
from rheotwin.constraints.tools import PLANE, gap_and_normal, is_clear
from rheotwin.kernels.compiled import compiled
from rheotwin.particles.nodes import Nodes
from rheotwin.particles.state import State

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

ROUNDING = 1e-12
"""Coordinates are far better than this share of the runaway distance."""


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


def room_for_pushes(tools: Tools, nodes: int) -> Push:
    """Return the scratch arrays for some steps."""
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


@compiled(inside=True)
def _push(node: int, k: int, change: float, normal: tuple[float, ...], nodes: Nodes, state: State, h: float) -> None:
    """Change the velocity of a node's free components by `change` n [m/s]; its supports take the rest of the force."""
    for c in range(3):
        force = nodes.mass[node] * change / h * normal[c]
        state.contact_force[k, c] += force
        state.velocities[node, c] += nodes.free[node, c] * change * normal[c]
        state.reaction[node, c] -= (1.0 - nodes.free[node, c]) * force


@compiled(inside=True)
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
    _note_hit(push, k, node)
    _push(node, k, change, (nx, ny, nz), nodes, state, h)
    return float(h * abs(change))


@compiled(inside=True, merged=True)
def _first_sweep(tool: int, push: Push, tools: Tools, nodes: Nodes, state: State, h: float) -> tuple[float, bool]:
    """Push the near candidates that would end inside a tool, but for those that another one has already pushed.

    Returns the largest correction [m], and whether a node between the tool and a support has to be looked at again.
    """
    shape, geometry, pose, before = tools.shape[tool], tools.geometry[tool], push.poses[tool], push.hits[0]
    if shape == PLANE:
        cx, cy, cz = geometry[0] + pose[0], geometry[1] + pose[1], geometry[2] + pose[2]
        _, nx, ny, nz = gap_and_normal(PLANE, geometry, pose, cx, cy, cz)
        normal = (nx, ny, nz)
        first, last = tools.offset[tool], tools.offset[tool] + push.near.counts[tool]
        _find_behind_plane(first, last, (cx, cy, cz), normal, push, tools.candidate, nodes.free, state, h)
        return _push_all(before, normal, push, tools.candidate, nodes, state, h), False
    found: tuple[float, bool] = _push_out(tool, geometry, pose, push, tools, nodes, state, h)
    return found


@compiled(inside=True, vectors=True)
def _find_behind_plane(
    first: int, last: int, center: Vector, normal: Vector, push: Push, candidate: Indices, free: Array, state: State,
    h: float,
) -> None:  # fmt: skip
    """Add the near candidates in a plane tool to those that are hit, and the pushes [m/s] they need."""
    rows, hit, pressed, touched = push.near.rows, push.hit, push.pressed, push.touched
    x, v, hits, (nx, ny, nz) = state.positions, state.velocities, push.hits[0], normal
    for row in range(np.uintp(first), np.uintp(last)):
        k = np.uintp(rows[row])
        node = np.uintp(candidate[k])
        px, py, pz = x[node, 0] + h * v[node, 0], x[node, 1] + h * v[node, 1], x[node, 2] + h * v[node, 2]
        gap = (px - center[0]) * nx + (py - center[1]) * ny + (pz - center[2]) * nz
        share = nx * nx * free[node, 0] + ny * ny * free[node, 1] + nz * nz * free[node, 2]
        if gap < 0.0 and share >= IMMOVABLE and not touched[node]:
            pressed[k] = -gap / (h * share)
            hit[np.uintp(hits)] = np.intp(k)
            hits += 1
    push.hits[0] = hits


@compiled(inside=True, vectors=True)
def _push_all(
    before: int, normal: Vector, push: Push, candidate: Indices, nodes: Nodes, state: State, h: float
) -> float:
    """Push those that were hit after the first so many along one normal; return the largest correction [m]."""
    hit, pressed, touched, marked, (nx, ny, nz) = push.hit, push.pressed, push.touched, push.marked, normal
    v, force, mass, largest = state.velocities, state.contact_force, nodes.mass, 0.0
    for row in range(np.uintp(before), np.uintp(push.hits[0])):
        k = np.uintp(hit[row])
        node, change = np.uintp(candidate[k]), pressed[k]
        touched[node], marked[k] = True, True
        pull = mass[node] * change / h
        force[k, 0], force[k, 1], force[k, 2] = pull * nx, pull * ny, pull * nz
        largest = max(largest, h * change)
    free, reaction = nodes.free, state.reaction
    for row in range(np.uintp(before), np.uintp(push.hits[0])):
        k = np.uintp(hit[row])
        node, change = np.uintp(candidate[k]), pressed[k]
        ex, ey, ez = free[node, 0], free[node, 1], free[node, 2]
        v[node, 0] += ex * change * nx
        v[node, 1] += ey * change * ny
        v[node, 2] += ez * change * nz
        if ex + ey + ez != 3.0:
            reaction[node, 0] -= (1.0 - ex) * force[k, 0]
            reaction[node, 1] -= (1.0 - ey) * force[k, 1]
            reaction[node, 2] -= (1.0 - ez) * force[k, 2]
    return largest


@compiled(inside=True)
def _push_out(
    tool: int, geometry: Array, pose: Array, push: Push, tools: Tools, nodes: Nodes, state: State, h: float
) -> tuple[float, bool]:
    """Do what `_first_sweep` does at a tool of any other shape."""
    near, again, largest, shape, first = push.near, False, 0.0, tools.shape[tool], tools.offset[tool]
    candidate, pressed, touched, x, v = tools.candidate, push.pressed, push.touched, state.positions, state.velocities
    for row in range(first, first + near.counts[tool]):
        k = near.rows[row]
        node = candidate[k]
        if touched[node]:
            continue
        px, py, pz = x[node, 0] + h * v[node, 0], x[node, 1] + h * v[node, 1], x[node, 2] + h * v[node, 2]
        if is_clear(shape, geometry, pose, px, py, pz):
            continue
        gap, nx, ny, nz = gap_and_normal(shape, geometry, pose, px, py, pz)
        share = nx * nx * nodes.free[node, 0] + ny * ny * nodes.free[node, 1] + nz * nz * nodes.free[node, 2]
        if gap >= 0.0 or share < IMMOVABLE:
            continue
        pressed[k] = -gap / (h * share)
        _note_hit(push, k, node)
        _push(node, k, pressed[k], (nx, ny, nz), nodes, state, h)
        again = again or nodes.free[node, 0] + nodes.free[node, 1] + nodes.free[node, 2] != 3.0
        largest = max(largest, h * pressed[k])
    return largest, again


@compiled(inside=True)
def _note_hit(push: Push, k: int, node: int) -> None:
    """Note that a candidate and its node have been pushed."""
    push.touched[node] = True
    if not push.marked[k]:
        push.marked[k] = True
        push.hit[push.hits[0]] = k
        push.hits[0] += 1


@compiled(inside=True)
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


@compiled(inside=True)
def push_again(tools: Tools, push: Push, nodes: Nodes, state: State, h: float) -> float:
    """Correct the pushes for velocities that have changed in the same step since `keep_outside`.

    All candidates are looked at, those that came into a tool only now too; returns the largest correction [m].
    """
    largest = 0.0
    for tool in range(tools.shape.shape[0]):
        for k in range(tools.offset[tool], tools.offset[tool + 1]):
            largest = max(largest, _press(tool, k, push.poses[tool], push, tools, nodes, state, h))
    return largest


@compiled(inside=True, merged=True)
def _clear(push: Push, tools: Tools, force: Array, all_of_it: bool) -> None:
    """Clear the pushes and forces [N] of the last step."""
    for row in range(push.hits[0]):
        k = push.hit[row]
        push.pressed[k], push.marked[k], push.touched[tools.candidate[k]] = 0.0, False, False
        force[k, 0], force[k, 1], force[k, 2] = 0.0, 0.0, 0.0
    if all_of_it:
        force[:] = 0.0
    push.hits[0] = 0


@compiled(inside=True, merged=True)
def keep_outside(
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
