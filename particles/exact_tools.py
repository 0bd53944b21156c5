"""Rigid tools without laws, as stages: the exact unilateral rule, frictionless.

Where x + h v would enter a tool, the impulse m (-gap/h) n puts the node on the tool's surface at the end of the step.
Held components do not give way: the impulse acts on the free ones and the support takes the rest. A node between
several tools is settled by sweeps over them (projected Gauss-Seidel).

Of many candidates few are near a tool. They are listed, and looked for anew only when something has moved far: a list
made where the free end of a step was has all candidates with gap <= margin, and serves until candidates, by the speeds
of all steps, and the tool, by its poses, have moved by the margin together. More in a list changes no result.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.near_tools import AHEAD
from rheotwin.constraints.contact.near_tools import ROUNDING as BEYOND
from rheotwin.constraints.packed import IMMOVABLE, SETTLED, SWEEPS, Tables, Tools, table_value
from rheotwin.constraints.tools import (
    BOX,
    CLEAR,
    CYLINDER,
    GAPS,
    HALF,
    PLANE,
    PRISM,
    RADIUS,
    SIDES,
    SPHERE,
    gap_and_normal,
)
from rheotwin.kernels.blocks import STEP, Now
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.stage import Stage
from rheotwin.particles.nodes import Nodes
from rheotwin.particles.state import State

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]

ROUNDING = 1e-12
"""Coordinates are far better than this share of the runaway distance."""


class Push(NamedTuple):
    """What contact with exact tools is working on: tool poses, accumulated pushes [m/s] >= 0 and nodes pushed.

    `hit[:hits[0]]` are the candidates with a push or a force, `marked` says which; hits < 0 before the first step.
    `reach` (T, 2) [m]: margin of the list of candidates near each tool, and what `moved` was when it was made. `moved`
    (1,) [m]: how far a candidate may have moved so far.
    """

    poses: Array
    pressed: Array
    touched: Flags
    hit: Indices
    marked: Flags
    hits: Indices
    reach: Array
    moved: Array

    def forget(self) -> None:
        """Have the next step begin anew, because something may have moved that nobody told."""
        self.hits[0], self.moved[0], self.reach[:, 0] = -1, 0.0, -np.inf
        for array in (self.pressed, self.touched, self.marked):
            array[:] = 0


class Near(NamedTuple):
    """The candidates near one tool: the first `many` (1,) of `rows`, places in the list of all candidates, in order.

    `pose` (4,): that of the tool when the list was made; `outer` [m]: what the tool does not exceed, about its centre
    or straight axis. `reach` (2,): the tool's of `Push`.
    """

    first: int
    last: int
    rows: Indices
    many: Indices
    pose: Array
    outer: float
    reach: Array


def room_for_pushes(tools: Tools, nodes: int) -> Push:
    """Return the arrays of contact, nothing pushed yet."""
    count = len(tools.candidate)
    return Push(
        poses=np.zeros((len(tools.shape), 4)),
        pressed=np.zeros(count),
        touched=np.zeros(nodes, np.bool_),
        hit=np.zeros(count, np.int64),
        marked=np.zeros(count, np.bool_),
        hits=np.full(1, -1),
        reach=np.full((len(tools.shape), 2), -np.inf),
        moved=np.zeros(1),
    )


def exact_contact(tools: Tools, push: Push, nodes: Nodes, state: State, bound: Array, end: Now) -> list[Stage]:
    """Return the stages that keep candidate nodes out of every tool at the `end` of the step.

    `bound` (1,) [m/s] bounds the speed of all particles; infinite where nobody knows, or where positions change by
    more than these steps. After the first round only the nodes it pushed can be inside another tool, so only they are
    looked at again.
    """
    count, fastest = len(tools.shape), Now(bound)
    way, again, rounds = np.zeros(2), np.zeros(1, np.bool_), np.zeros(1, np.int64)
    near = [_near(tools, tool, push.reach[tool]) for tool in range(count)]
    x, v = state.positions, state.velocities
    kept = (push, tools.candidate, nodes.mass, nodes.free, x, v, state.contact_force, state.reaction)
    there = [(int(tools.shape[t]), tools.geometry[t], push.poses[t], near[t]) for t in range(count)]
    rounding = ROUNDING * nodes.runaway
    stages = [
        Stage(_begin, (push, tools.candidate, state.contact_force, fastest, way, again, rounds)),
        Stage(_pose, (tools.tables, end, push.poses)),
    ]
    for shape, geometry, pose, list_of in there:
        moving = (push.moved, tools.candidate, x, v, fastest, rounding, STEP)
        stages += [Stage(_renew(shape), (geometry, pose, list_of, *moving))]
    for shape, geometry, pose, list_of in there:
        stages += [Stage(_first_sweep(shape), (geometry, pose, list_of, *kept, way, again, STEP))]
    sweeps = [
        Stage(_sweep(shape), (geometry, pose, list_of, *kept, way, count == 1, fastest, STEP))
        for shape, geometry, pose, list_of in there
    ]
    settled = Stage(_settled, (way, rounds, SETTLED * nodes.runaway, -len(sweeps) - 1))
    stages += [Stage(_pass_if_kept, (push.hits, again, count, len(sweeps) + 1)), *sweeps, settled]
    return [*stages, Stage(_note_way, (push.moved, way, fastest, STEP))]


def _near(tools: Tools, tool: int, reach: Array) -> Near:
    """Return an empty list, to be made by the first step; `reach` is the tool's row of `Push`."""
    first, last = int(tools.offset[tool]), int(tools.offset[tool + 1])
    outer = _outer(int(tools.shape[tool]), tools.geometry[tool])
    rows, many = np.zeros(last - first, np.int64), np.zeros(1, np.int64)
    return Near(first, last, rows, many, np.zeros(4), outer, reach)


def _outer(shape: int, geometry: Array) -> float:
    """Return the radius [m] about the centre, or about the axis of a cylinder or prism, that nothing of it exceeds."""
    if shape == PRISM:
        return float(geometry[RADIUS] / np.cos(np.pi / geometry[SIDES]))
    if shape == BOX:
        half = geometry[HALF : HALF + 3]
        return float(np.linalg.norm(half[np.isfinite(half)]))
    return float(geometry[RADIUS])


@compiled
def _begin(
    push: Push, candidate: Indices, force: Array, fastest: float, way: Array, again: Flags, rounds: Indices
) -> None:
    """Clear the pushes and forces [N] of the last step."""
    for row in range(push.hits[0]):
        k = push.hit[row]
        push.pressed[k], push.marked[k], push.touched[candidate[k]] = 0.0, False, False
        force[k, 0], force[k, 1], force[k, 2] = 0.0, 0.0, 0.0
    if push.hits[0] < 0 or not fastest < np.inf:
        for k in range(force.shape[0]):
            force[k, 0], force[k, 1], force[k, 2] = 0.0, 0.0, 0.0
    push.hits[0], way[0], way[1], again[0], rounds[0] = 0, 0.0, 0.0, False, 0


@compiled
def _pose(tables: Tables, end: float, poses: Array) -> None:
    """Put the tools where their motions want them at the end of the step."""
    for tool in range(poses.shape[0]):
        table_value(tables, tool, end, poses[tool])


@compiled(vectors=True)
def _slack(near: Near, pose: Array, moved: float, ahead: float, turns: bool, flat: bool) -> float:
    """Return what is left of the margin [m] once candidates move by `ahead` [m] more and the tool is in its pose."""
    dx, dy, dz = pose[0] - near.pose[0], pose[1] - near.pose[1], pose[2] - near.pose[2]
    angle, way = abs(pose[3] - near.pose[3]), np.sqrt(dx * dx + dy * dy + dz * dz)
    if angle > 0.0 and turns:
        way += angle * (np.inf if flat else near.outer)
    return float(near.reach[0] - (moved - near.reach[1]) - ahead - way)


@cache
def _renew(shape: int) -> Any:
    """Return the stage that sees to it that all candidates with gap <= 0 at x + h v are in a tool's list."""
    gap_of, flat, turns = GAPS[shape], shape == PLANE, shape not in (SPHERE, CYLINDER)
    along, exactly = 1.0 if shape in (CYLINDER, PRISM) else 0.0, shape in (PRISM, BOX)

    @compiled(vectors=True)
    def renew(
        geometry: Array, pose: Array, near: Near, moved: Array, candidate: Indices, x: Array, v: Array, fastest: float,
        rounding: float, h: float,
    ) -> None:  # fmt: skip
        ahead = h * fastest
        if _slack(near, pose, moved[0], ahead, turns, flat) >= 0.0:
            return
        known = ahead < np.inf
        margin = AHEAD * ahead if known else 0.0
        wanted = margin * (1.0 + BEYOND) + rounding
        bound = wanted if flat else (margin + near.outer) * (1.0 + BEYOND) + rounding
        cx, cy, cz = geometry[0] + pose[0], geometry[1] + pose[1], geometry[2] + pose[2]
        ax, ay, az, rows, found = geometry[3], geometry[4], geometry[5], near.rows, 0
        for k in range(near.first, near.last):
            i = candidate[k]
            px, py, pz = x[i, 0] + h * v[i, 0], x[i, 1] + h * v[i, 1], x[i, 2] + h * v[i, 2]
            if flat:
                gap, _, _, _ = gap_of(geometry, pose, px, py, pz)
                close = gap <= bound
            else:
                ex, ey, ez = px - cx, py - cy, pz - cz
                axial = along * (ex * ax + ey * ay + ez * az)
                close = ex * ex + ey * ey + ez * ez - axial * axial <= bound * bound
                if exactly and close:
                    gap, _, _, _ = gap_of(geometry, pose, px, py, pz)
                    close = gap <= wanted
            rows[found] = k
            found += 1 if close else 0
        near.many[0] = found
        for c in range(4):
            near.pose[c] = pose[c]
        near.reach[0], near.reach[1] = margin if known else -np.inf, moved[0]

    return renew


@compiled(vectors=True)
def _share(free: Array, node: int, nx: float, ny: float, nz: float) -> float:
    """Return what share of a normal a node's free components carry."""
    found: float = nx * nx * free[node, 0] + ny * ny * free[node, 1] + nz * nz * free[node, 2]
    return found


@compiled(vectors=True)
def _exert(
    push: Push, k: int, node: int, change: float, nx: float, ny: float, nz: float, mass: Array, free: Array, v: Array,
    force: Array, reaction: Array, h: float,
) -> None:  # fmt: skip
    """Change the velocity of a node's free components by `change` n [m/s]; its supports take the rest of the force."""
    push.touched[node] = True
    if not push.marked[k]:
        push.marked[k] = True
        push.hit[push.hits[0]] = k
        push.hits[0] += 1
    pull = mass[node] * change / h
    for c, n in ((0, nx), (1, ny), (2, nz)):
        force[k, c] += pull * n
        v[node, c] += free[node, c] * change * n
        reaction[node, c] -= (1.0 - free[node, c]) * (pull * n)


@cache
def _first_sweep(shape: int) -> Any:
    """Return the stage that pushes near candidates that would end inside a tool, unless another one has pushed them.

    way[0] [m] grows to the largest correction; `again` is set if a node between the tool and a support has to be
    looked at again.
    """
    gap_of, is_round, flat = GAPS[shape], shape == SPHERE, shape == PLANE

    @compiled(vectors=True)
    def first_sweep(
        geometry: Array, pose: Array, near: Near, push: Push, candidate: Indices, mass: Array, free: Array, x: Array,
        v: Array, force: Array, reaction: Array, way: Array, again: Flags, h: float,
    ) -> None:  # fmt: skip
        for row in range(near.many[0]):
            k = near.rows[row]
            node = candidate[k]
            if push.touched[node]:
                continue
            px, py, pz = x[node, 0] + h * v[node, 0], x[node, 1] + h * v[node, 1], x[node, 2] + h * v[node, 2]
            if is_round:  # outside of it, at the cost of a few products
                yx, yy, yz = px - geometry[0] - pose[0], py - geometry[1] - pose[1], pz - geometry[2] - pose[2]
                if yx * yx + yy * yy + yz * yz > CLEAR * geometry[RADIUS] * geometry[RADIUS]:
                    continue
            gap, nx, ny, nz = gap_of(geometry, pose, px, py, pz)
            share = _share(free, node, nx, ny, nz)
            if gap >= 0.0 or share < IMMOVABLE:
                continue
            push.pressed[k] = -gap / (h * share)
            _exert(push, k, node, push.pressed[k], nx, ny, nz, mass, free, v, force, reaction, h)
            if not flat and free[node, 0] + free[node, 1] + free[node, 2] != 3.0:
                again[0] = True
            way[0] = max(way[0], h * push.pressed[k])

    return first_sweep


@cache
def _sweep(shape: int) -> Any:
    """Return the stage that corrects the pushes of one tool on the nodes that have been pushed.

    way[0] [m] grows by the largest correction, way[1] to the largest of this round. Only near candidates have to be
    looked at where all that can be in the tool are listed.
    """
    gap_of, flat, turns = GAPS[shape], shape == PLANE, shape not in (SPHERE, CYLINDER)

    @compiled(vectors=True)
    def sweep(
        geometry: Array, pose: Array, near: Near, push: Push, candidate: Indices, mass: Array, free: Array, x: Array,
        v: Array, force: Array, reaction: Array, way: Array, alone: bool, fastest: float, h: float,
    ) -> None:  # fmt: skip
        listed = alone or way[0] <= _slack(near, pose, push.moved[0], h * fastest, turns, flat)
        largest = 0.0
        for row in range(near.many[0] if listed else near.last - near.first):
            k = near.rows[row] if listed else near.first + row
            node = candidate[k]
            if not push.touched[node]:
                continue
            px, py, pz = x[node, 0] + h * v[node, 0], x[node, 1] + h * v[node, 1], x[node, 2] + h * v[node, 2]
            gap, nx, ny, nz = gap_of(geometry, pose, px, py, pz)
            share = _share(free, node, nx, ny, nz)
            if (gap >= 0.0 and push.pressed[k] == 0.0) or share < IMMOVABLE:
                continue
            wanted = max(0.0, push.pressed[k] - gap / (h * share))
            change = wanted - push.pressed[k]
            push.pressed[k] = wanted
            _exert(push, k, node, change, nx, ny, nz, mass, free, v, force, reaction, h)
            largest = max(largest, h * abs(change))
        way[0] += largest
        way[1] = max(way[1], largest)

    return sweep


@compiled
def _pass_if_kept(hits: Indices, again: Flags, tools: int, ahead: int) -> int:
    """Skip the sweeps if nothing was pushed, or nothing that another tool or a support could push back."""
    return 0 if hits[0] > 0 and (again[0] or tools > 1) else ahead


@compiled
def _settled(way: Array, rounds: Indices, small: float, back: int) -> int:
    """Sweep again until no node was moved further than `small` [m]."""
    largest = way[1]
    way[1] = 0.0
    rounds[0] += 1
    return 0 if largest <= small or rounds[0] >= SWEEPS else back


@compiled
def _note_way(moved: Array, way: Array, fastest: float, h: float) -> None:
    """Note that no candidate moves further than this in the step [m]."""
    moved[0] += h * fastest + way[0]


@compiled(inside=True)
def push_again(tools: Tools, push: Push, nodes: Nodes, state: State, h: float) -> float:
    """Correct the pushes for velocities that have changed in the same step since `exact_contact`.

    All candidates are looked at, those that came into a tool only now too; returns the largest correction [m].
    """
    largest, x, v, pressed = 0.0, state.positions, state.velocities, push.pressed
    for tool in range(tools.shape.shape[0]):
        for k in range(tools.offset[tool], tools.offset[tool + 1]):
            node = tools.candidate[k]
            px, py, pz = x[node, 0] + h * v[node, 0], x[node, 1] + h * v[node, 1], x[node, 2] + h * v[node, 2]
            gap, nx, ny, nz = gap_and_normal(tools.shape[tool], tools.geometry[tool], push.poses[tool], px, py, pz)
            share = _share(nodes.free, node, nx, ny, nz)
            if (gap >= 0.0 and pressed[k] == 0.0) or share < IMMOVABLE:
                continue
            wanted = max(0.0, pressed[k] - gap / (h * share))
            change = wanted - pressed[k]
            pressed[k] = wanted
            force, reaction = state.contact_force, state.reaction
            _exert(push, k, node, change, nx, ny, nz, nodes.mass, nodes.free, v, force, reaction, h)
            largest = max(largest, h * abs(change))
    return float(largest)
