"""Candidates that may touch a tool in the next steps: few of many, looked for anew only when something has moved far.

A list made where the free end of a step was has all candidates with gap <= reach + margin. Since then no candidate has
moved further than the speeds of all steps, and no point of the tool further than its pose tells; while both together
are below the margin, nobody else can be within reach. What is in the list beyond that changes no result.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.tool_pairs import gap_at, mesh_tools
from rheotwin.constraints.tools import (
    BOX,
    CYLINDER,
    HALF,
    MESH,
    PLANE,
    PRISM,
    RADIUS,
    SIDES,
    SPHERE,
    RigidTool,
    Tools,
    pack_tools,
)
from rheotwin.kernels.blocks import STEP, Now
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.program import Clock, Program
from rheotwin.kernels.stage import Stage

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

AHEAD = 32.0
"""Steps at the present speed that a list is made for."""
ROUNDING = 1e-9
"""By this share of its bound a list is longer than it has to be."""
MARGIN, MOVED = 0, 1
"""Columns of `NearTools.way` [m]: what a list reaches further than needed, and how far candidates may have moved."""


class NearTools(NamedTuple):
    """The lists: `rows[offset[t] : offset[t] + counts[t]]` are places in the list of all candidates, in order.

    `place` (K,): where a loop keeps each candidate. `pose` (T, 4): that of the tools when the lists were made; `outer`
    (T,) [m]: what no tool exceeds, about its centre or straight axis. `way` (T, 2).
    """

    place: Indices
    rows: Indices
    counts: Indices
    pose: Array
    outer: Array
    way: Array


class Near(NamedTuple):
    """The list of one tool, see `NearTools`: `found` (1,), `pose` (4,), `way` (2,); its candidates begin at `first`."""

    first: int
    place: Indices
    rows: Indices
    found: Indices
    pose: Array
    outer: float
    way: Array


def near_tools(tools: Tools) -> NearTools:
    """Return empty lists, to be made by the first step."""
    count = len(tools.shape)
    near = NearTools(
        tools.candidate,
        np.zeros(len(tools.candidate), np.int64),
        np.zeros(count, np.int64),
        np.zeros((count, 4)),
        np.array([_outer(tools, tool) for tool in range(count)]),
        np.zeros((count, 2)),
    )
    forget_list(near)
    return near


def near_tool(near: NearTools, tools: Tools, tool: int) -> Near:
    """Return the list of one tool."""
    rows = slice(int(tools.offset[tool]), int(tools.offset[tool + 1]))
    count, outer = near.counts[tool : tool + 1], float(near.outer[tool])
    return Near(rows.start, near.place[rows], near.rows[rows], count, near.pose[tool], outer, near.way[tool])


def _outer(tools: Tools, tool: int) -> float:
    """Return the radius [m] about the centre, or about the axis of a cylinder or prism, that nothing of it exceeds."""
    shape, geometry = tools.shape[tool], tools.geometry[tool]
    if shape == PRISM:
        return float(geometry[RADIUS] / np.cos(np.pi / geometry[SIDES]))
    if shape == MESH and tools.surface is not None:
        box = np.abs(tools.surface.box[tools.surface.root[tool]]).reshape(2, 3).max(axis=0)
        return float(np.linalg.norm(box[: 2 if tools.surface.planar[tool] else 3]))
    if shape == BOX:
        half = geometry[HALF : HALF + 3]
        return float(np.linalg.norm(half[np.isfinite(half)]))
    return float(geometry[RADIUS])


def forget_list(near: NearTools) -> None:
    """Have the next step make the lists anew, because something may have moved that nobody told."""
    near.way[:, MOVED] = np.inf


@compiled(inside=True)
def note_way(way: Array, fastest: float, square: Array, h: float) -> None:
    """Note how far candidates move in a step, at `fastest` or the root of `square` (1,) [m2/s2]."""
    for tool in range(way.shape[0]):
        way[tool, MOVED] += h * max(fastest, np.sqrt(square[0]))


@compiled(inside=True, vectors=True)
def slack(near: Near, pose: Array, ahead: float, turns: bool, flat: bool) -> float:
    """Return what is left of the margin [m] once candidates move by `ahead` [m] more and the tool is in its pose."""
    dx, dy, dz = pose[0] - near.pose[0], pose[1] - near.pose[1], pose[2] - near.pose[2]
    angle, way = abs(pose[3] - near.pose[3]), np.sqrt(dx * dx + dy * dy + dz * dz)
    if angle > 0.0 and turns:
        way += angle * (np.inf if flat else near.outer)
    return float(near.way[MARGIN] - near.way[MOVED] - ahead - way)


def turns(shape: int) -> bool:
    """Tell whether a shape is another one when it turns about its axis."""
    return shape not in (SPHERE, CYLINDER)


@cache
def renewing(shape: int) -> Any:
    """Return the stage that sees to it that all candidates with gap <= reach [m] at x + h v are in a tool's list.

    `fastest` [m/s] bounds the speed of all candidates in v, infinite where nobody knows: such a list is for one step.
    `rounding` [m] is what coordinates are good for.
    """
    gap_of, flat, turning = gap_at(shape), shape == PLANE, turns(shape)
    along, exactly = 1.0 if shape in (CYLINDER, PRISM) else 0.0, shape in (PRISM, BOX, MESH)

    @compiled(inside=True, vectors=True)
    def renew(
        geometry: Array, pose: Array, mesh: Any, near: Near, reach: float, x: Array, v: Array,
        fastest: float, rounding: float, h: float,
    ) -> None:  # fmt: skip
        ahead = h * fastest
        if slack(near, pose, ahead, turning, flat) >= 0.0:
            return
        known = ahead < np.inf
        margin = AHEAD * ahead if known else 0.0
        wanted = (reach + margin) * (1.0 + ROUNDING) + rounding
        bound = (reach + margin + near.outer) * (1.0 + ROUNDING) + rounding
        cx, cy, cz = geometry[0] + pose[0], geometry[1] + pose[1], geometry[2] + pose[2]
        ax, ay, az, found = geometry[3], geometry[4], geometry[5], 0
        for k in range(near.place.shape[0]):
            i = near.place[k]
            px, py, pz = x[i, 0] + h * v[i, 0], x[i, 1] + h * v[i, 1], x[i, 2] + h * v[i, 2]
            close = True
            if not flat:
                ex, ey, ez = px - cx, py - cy, pz - cz
                axial = along * (ex * ax + ey * ay + ez * az)
                close = ex * ex + ey * ey + ez * ez - axial * axial <= bound * bound
            if flat or (exactly and close):
                gap, _ = gap_of(mesh, geometry, pose, (px, py, pz), wanted)
                close = gap <= wanted
            near.rows[found] = near.first + k
            found += 1 if close else 0
        near.found[0] = found
        for c in range(4):
            near.pose[c] = pose[c]
        # from the free end of the step, where this list is made, they may still go back
        near.way[MARGIN], near.way[MOVED] = margin, ahead if known else np.inf

    return renew


class Seen(NamedTuple):
    """Candidates within reach of a tool: the first `found` (1,) of `slot` (K,), their places among all candidates.

    `gap` (K,) [m], `normal` (K, 3) and `place` (K, 3) [m] where the step would take them.
    """

    found: Indices
    slot: Indices
    gap: Array
    normal: Array
    place: Array


def room_to_see(candidates: int) -> Seen:
    """Return room for so many candidates, none seen yet."""
    shape = (candidates, 3)
    whole = np.zeros(1, np.int64), np.zeros(candidates, np.int64)
    return Seen(*whole, np.zeros(candidates), np.zeros(shape), np.zeros(shape))


@cache
def looking(shape: int) -> Any:
    """Return the stage that sees candidates with gap <= reach [m] at x + h v, and counts them in `uses` (N,)."""
    gap_of = gap_at(shape)

    @compiled(inside=True, vectors=True)
    def look(
        geometry: Array, pose: Array, mesh: Any, near: Near, reach: float, seen: Seen, candidate: Indices,
        uses: Indices, x: Array, v: Array, h: float,
    ) -> None:  # fmt: skip
        found = 0
        for row in range(near.found[0]):
            k = near.rows[row]
            i = near.place[k - near.first]
            px, py, pz = x[i, 0] + h * v[i, 0], x[i, 1] + h * v[i, 1], x[i, 2] + h * v[i, 2]
            gap, (nx, ny, nz) = gap_of(mesh, geometry, pose, (px, py, pz), reach)
            if gap > reach:
                continue
            seen.slot[found], seen.gap[found] = k, gap
            seen.normal[found, 0], seen.normal[found, 1], seen.normal[found, 2] = nx, ny, nz
            seen.place[found, 0], seen.place[found, 1], seen.place[found, 2] = px, py, pz
            uses[candidate[k]] += 1
            found += 1
        seen.found[0] = found

    return look


class ToolLook:
    """Looks at points from Python, at most so many at once, again and again: one program."""

    def __init__(self, tool: RigidTool, most: int) -> None:
        rows, self._seen, self._pose = np.arange(most), room_to_see(most), np.zeros(4)
        self._x, still = np.zeros((3, most)).T, np.zeros((3, most)).T  # as fast loops keep them: compiled once
        tools = pack_tools([tool])._replace(candidate=rows, offset=np.array([0, most]))
        near = near_tools(tools)
        near.rows[:], self._count = rows, near.counts
        there = (tools.geometry[0], self._pose, mesh_tools(tools)[0], near_tool(near, tools, 0), np.inf)
        around = (self._seen, rows, np.zeros(most, np.int64), self._x, still, STEP)
        self._program = Program([Stage(looking(int(tool.shape)), (*there, *around))], 0.0, Clock())

    def at(self, pose: Array, points: Array) -> tuple[Array, Array]:
        """Return gaps (n,) [m] and outward normals (n, 3) of points (n, 3) in a pose (4,), until the next call."""
        many = len(points)
        self._x[:many], self._pose[:], self._count[0] = points, pose, many
        self._program.run(0, 1)
        return self._seen.gap[:many], self._seen.normal[:many]


def look_stages(
    tools: Tools, near: NearTools, seen: list[Seen], uses: Indices, reach: Array, poses: Array, x: Array, v: Array,
    fastest: Now, rounding: float,
) -> list[Stage]:  # fmt: skip
    """Return the stages that see what is within `reach` (T,) [m] of tools in `poses` (T, 4) after the step."""
    stages, meshes = [], mesh_tools(tools)
    for tool, shape in enumerate(tools.shape.tolist()):
        there = (tools.geometry[tool], poses[tool], meshes[tool], near_tool(near, tools, tool), float(reach[tool]))
        stages += [
            Stage(renewing(shape), (*there, x, v, fastest, rounding, STEP)),
            Stage(looking(shape), (*there, seen[tool], tools.candidate, uses, x, v, STEP)),
        ]
    return stages
