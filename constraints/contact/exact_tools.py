"""Rigid tools without laws, as stages: the exact unilateral rule, frictionless.

Where x + h v would enter a tool, the impulse m (-gap/h) n puts the node on the tool's surface at the end of the step.
Held components do not give way: the impulse acts on the free ones and the support takes the rest. A node between
several tools is settled by sweeps over them (projected Gauss-Seidel). Of many candidates only those listed near a tool
are looked at (`near_tools`).
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.near_tools import (
    MOVED,
    Near,
    NearTools,
    forget_list,
    near_tool,
    near_tools,
    renewing,
    slack,
    turns,
)
from rheotwin.constraints.packed import IMMOVABLE, SETTLED, SWEEPS, Tables, Tools, table_value
from rheotwin.constraints.tools import CLEAR, GAPS, PLANE, RADIUS, SPHERE, gap_and_normal
from rheotwin.kernels.blocks import STEP, Now
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.stage import Stage

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]

ROUNDING = 1e-12
"""Coordinates are far better than this share of the runaway distance."""


class Pushed(NamedTuple):
    """Accumulated pushes of candidates (K,) [m/s] >= 0, and the nodes pushed (N,).

    `hit[:hits[0]]` are the candidates with a push or a force, `marked` says which; hits < 0 before the first step.
    """

    pressed: Array
    touched: Flags
    hit: Indices
    marked: Flags
    hits: Indices


class Push(NamedTuple):
    """What contact with exact tools is working on: pushes, tool poses (T, 4), and lists of candidates near tools."""

    pushed: Pushed
    poses: Array
    near: NearTools

    def forget(self) -> None:
        """Have the next step begin anew, because something may have moved that nobody told."""
        forget_list(self.near)
        self.pushed.hits[0] = -1
        for array in (self.pushed.pressed, self.pushed.touched, self.pushed.marked):
            array[:] = 0


class Exposed(NamedTuple):
    """The nodes of a loop, with rows of three: mass (n,) [kg], 1 where `free`, places [m] and velocities [m/s].

    `force` (K, 3) [N] is what tools exert on candidates, `reaction` [N] what supports take.
    """

    mass: Array
    free: Array
    x: Array
    v: Array
    force: Array
    reaction: Array


def room_for_pushes(tools: Tools, nodes: int) -> Push:
    """Return the arrays of contact, nothing pushed yet."""
    count = len(tools.candidate)
    touched, marked = np.zeros(nodes, np.bool_), np.zeros(count, np.bool_)
    pushed = Pushed(np.zeros(count), touched, np.zeros(count, np.int64), marked, np.full(1, -1))
    return Push(pushed, np.zeros((len(tools.shape), 4)), near_tools(tools))


def exact_contact(
    tools: Tools, push: Push, nodes: Exposed, runaway: float, fastest: Now, end: Now, kick: Any = STEP
) -> list[Stage]:
    """Return the stages that keep candidate nodes out of every tool at the `end` of the step.

    `fastest` [m/s] bounds the speed of all nodes; infinite where nobody knows, or where positions change by more than
    these steps. Forces act for `kick` [s]. After the first round only the nodes it pushed can be inside another tool,
    so only they are looked at again.
    """
    count, pushed = len(tools.shape), push.pushed
    way, again, rounds = np.zeros(2), np.zeros(1, np.bool_), np.zeros(1, np.int64)
    kept = (pushed, tools.candidate, nodes)
    there = [(tools.geometry[t], push.poses[t], near_tool(push.near, tools, t)) for t in range(count)]
    shapes = tools.shape.tolist()
    stages = [
        Stage(_begin, (pushed, tools.candidate, nodes.force, fastest, way, again, rounds)),
        Stage(_pose, (tools.tables, end, push.poses)),
    ]
    for shape, (geometry, pose, near) in zip(shapes, there, strict=True):
        moving = (0.0, nodes.x, nodes.v, fastest, ROUNDING * runaway, STEP)
        stages += [Stage(renewing(shape), (geometry, pose, None, near, *moving))]
    for shape, where in zip(shapes, there, strict=True):
        stages += [Stage(_first_sweep(shape), (*where, *kept, way, again, STEP, kick))]
    sweeps = [
        Stage(_sweep(shape), (*where, *kept, way, count == 1, fastest, STEP, kick))
        for shape, where in zip(shapes, there, strict=True)
    ]
    settled = Stage(_settled, (way, rounds, SETTLED * runaway, -len(sweeps) - 1))
    stages += [Stage(_pass_if_kept, (pushed.hits, again, count, len(sweeps) + 1)), *sweeps, settled]
    return [*stages, Stage(_note_way, (push.near.way, way, fastest, STEP))]


@compiled(inside=True)
def _begin(
    pushed: Pushed, candidate: Indices, force: Array, fastest: float, way: Array, again: Flags, rounds: Indices
) -> None:
    """Clear the pushes and forces [N] of the last step."""
    for row in range(pushed.hits[0]):
        k = pushed.hit[row]
        pushed.pressed[k], pushed.marked[k], pushed.touched[candidate[k]] = 0.0, False, False
        force[k, 0], force[k, 1], force[k, 2] = 0.0, 0.0, 0.0
    if pushed.hits[0] < 0 or not fastest < np.inf:
        for k in range(force.shape[0]):
            force[k, 0], force[k, 1], force[k, 2] = 0.0, 0.0, 0.0
    pushed.hits[0], way[0], way[1], again[0], rounds[0] = 0, 0.0, 0.0, False, 0


@compiled(inside=True)
def _pose(tables: Tables, end: float, poses: Array) -> None:
    """Put the tools where their motions want them at the end of the step."""
    for tool in range(poses.shape[0]):
        table_value(tables, tool, end, poses[tool])


@compiled(inside=True, vectors=True)
def _share(free: Array, node: int, nx: float, ny: float, nz: float) -> float:
    """Return what share of a normal a node's free components carry."""
    found: float = nx * nx * free[node, 0] + ny * ny * free[node, 1] + nz * nz * free[node, 2]
    return found


@compiled(inside=True, vectors=True)
def _exert(
    pushed: Pushed, k: int, node: int, change: float, nx: float, ny: float, nz: float, nodes: Exposed, kick: float
) -> None:
    """Change the velocity of a node's free components by `change` n [m/s]; its supports take the rest of the force."""
    pushed.touched[node] = True
    if not pushed.marked[k]:
        pushed.marked[k] = True
        pushed.hit[pushed.hits[0]] = k
        pushed.hits[0] += 1
    pull = nodes.mass[node] * change / kick
    for c, n in ((0, nx), (1, ny), (2, nz)):
        nodes.force[k, c] += pull * n
        nodes.v[node, c] += nodes.free[node, c] * change * n
        nodes.reaction[node, c] -= (1.0 - nodes.free[node, c]) * (pull * n)


@cache
def _first_sweep(shape: int) -> Any:
    """Return the stage that pushes near candidates that would end inside a tool, unless another one has pushed them.

    way[0] [m] grows to the largest correction; `again` is set if a node between the tool and a support has to be
    looked at again.
    """
    gap_of, is_round, flat = GAPS[shape], shape == SPHERE, shape == PLANE

    @compiled(inside=True, vectors=True)
    def first_sweep(
        geometry: Array, pose: Array, near: Near, pushed: Pushed, candidate: Indices, nodes: Exposed, way: Array,
        again: Flags, h: float, kick: float,
    ) -> None:  # fmt: skip
        x, v, free = nodes.x, nodes.v, nodes.free
        for row in range(near.found[0]):
            k = near.rows[row]
            node = candidate[k]
            if pushed.touched[node]:
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
            pushed.pressed[k] = -gap / (h * share)
            _exert(pushed, k, node, pushed.pressed[k], nx, ny, nz, nodes, kick)
            if not flat and free[node, 0] + free[node, 1] + free[node, 2] != 3.0:
                again[0] = True
            way[0] = max(way[0], h * pushed.pressed[k])

    return first_sweep


@cache
def _sweep(shape: int) -> Any:
    """Return the stage that corrects the pushes of one tool on the nodes that have been pushed.

    way[0] [m] grows by the largest correction, way[1] to the largest of this round. Only near candidates have to be
    looked at where all that can be in the tool are listed.
    """
    gap_of, flat, turning = GAPS[shape], shape == PLANE, turns(shape)

    @compiled(inside=True, vectors=True)
    def sweep(
        geometry: Array, pose: Array, near: Near, pushed: Pushed, candidate: Indices, nodes: Exposed, way: Array,
        alone: bool, fastest: float, h: float, kick: float,
    ) -> None:  # fmt: skip
        x, v, free = nodes.x, nodes.v, nodes.free
        listed = alone or way[0] <= slack(near, pose, h * fastest, turning, flat)
        largest = 0.0
        for row in range(near.found[0] if listed else near.place.shape[0]):
            k = near.rows[row] if listed else near.first + row
            node = candidate[k]
            if not pushed.touched[node]:
                continue
            px, py, pz = x[node, 0] + h * v[node, 0], x[node, 1] + h * v[node, 1], x[node, 2] + h * v[node, 2]
            gap, nx, ny, nz = gap_of(geometry, pose, px, py, pz)
            share = _share(free, node, nx, ny, nz)
            if (gap >= 0.0 and pushed.pressed[k] == 0.0) or share < IMMOVABLE:
                continue
            wanted = max(0.0, pushed.pressed[k] - gap / (h * share))
            change = wanted - pushed.pressed[k]
            pushed.pressed[k] = wanted
            _exert(pushed, k, node, change, nx, ny, nz, nodes, kick)
            largest = max(largest, h * abs(change))
        way[0] += largest
        way[1] = max(way[1], largest)

    return sweep


@compiled(inside=True)
def _pass_if_kept(hits: Indices, again: Flags, tools: int, ahead: int) -> int:
    """Skip the sweeps if nothing was pushed, or nothing that another tool or a support could push back."""
    return 0 if hits[0] > 0 and (again[0] or tools > 1) else ahead


@compiled(inside=True)
def _settled(way: Array, rounds: Indices, small: float, back: int) -> int:
    """Sweep again until no node was moved further than `small` [m]."""
    largest = way[1]
    way[1] = 0.0
    rounds[0] += 1
    return 0 if largest <= small or rounds[0] >= SWEEPS else back


@compiled(inside=True)
def _note_way(near: Array, way: Array, fastest: float, h: float) -> None:
    """Note that no candidate moves further than this in the step [m]."""
    for tool in range(near.shape[0]):
        near[tool, MOVED] += h * fastest + way[0]


@compiled(inside=True)
def push_again(tools: Tools, push: Push, nodes: Exposed, h: float) -> float:
    """Correct the pushes for velocities that have changed in the same step since `exact_contact`.

    All candidates are looked at, those that came into a tool only now too; returns the largest correction [m].
    """
    largest, x, v, pressed = 0.0, nodes.x, nodes.v, push.pushed.pressed
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
            _exert(push.pushed, k, node, change, nx, ny, nz, nodes, h)
            largest = max(largest, h * abs(change))
    return float(largest)


@compiled(inside=True)
def note_more(push: Push, way: float) -> None:
    """Note that candidates have moved by `way` [m] more."""
    for tool in range(push.near.way.shape[0]):
        push.near.way[tool, MOVED] += way
