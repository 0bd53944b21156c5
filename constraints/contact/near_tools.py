"""Candidates that may touch tools in the next steps: few of many, looked for anew only when something has moved far.

A list made where the free end of a step was has all candidates with gap <= reach + margin. Since then no candidate has
moved further than the speeds of all steps, and no point of a tool further than its pose tells; while both together
are below the margin, nobody else can be within reach. What is in the list beyond that changes no result.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.tool_pairs import tool_gap
from rheotwin.constraints.contact.triangulated import DEPTH
from rheotwin.constraints.packed import Tools
from rheotwin.constraints.tools import BOX, CYLINDER, HALF, MESH, PLANE, PRISM, RADIUS, SIDES, SPHERE, gap_and_normal
from rheotwin.kernels.compiled import compiled

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

AHEAD = 32.0
"""Steps at the present speed that a list is made for."""
ROUNDING = 1e-9
"""By this share of its bound a list is longer than it has to be."""
MARGIN, MOVED = 0, 1
"""Entries of `NearTools.way` [m]: what a list reaches further than needed, and how far candidates may have moved."""


class NearTools(NamedTuple):
    """The list: `rows[offset[t] : offset[t] + counts[t]]` are places in the list of all candidates, in order.

    `place` (K,): where a loop keeps each candidate. `pose` (T, 4): that of the tools when the list was made; `outer`
    (T,) [m]: what no tool exceeds, about its centre or straight axis. `waiting` and `squares`: scratch of `tool_gap`.
    """

    place: Indices
    rows: Indices
    counts: Indices
    pose: Array
    outer: Array
    way: Array
    waiting: Indices
    squares: Array


def near_tools(tools: Tools) -> NearTools:
    """Return an empty list, to be made by the first step."""
    count = tools.shape.shape[0]
    outer = np.zeros(count)
    for tool in range(count):
        outer[tool] = _outer(tools, tool)
    return NearTools(
        tools.candidate,
        np.empty(tools.candidate.shape[0], np.int64),
        np.zeros(count, np.int64),
        np.zeros((count, 4)),
        outer,
        np.array([0.0, np.inf]),
        np.empty(DEPTH, np.int64),
        np.empty(DEPTH),
    )


def _outer(tools: Tools, tool: int) -> float:
    """Return the radius [m] about the centre, or about the axis of a cylinder or prism, that nothing of it exceeds."""
    shape, geometry, square = tools.shape[tool], tools.geometry[tool], 0.0
    if shape == PRISM:
        return float(geometry[RADIUS] / np.cos(np.pi / geometry[SIDES]))
    if shape == MESH and tools.surface is not None:
        box = tools.surface.box[tools.surface.root[tool]]
        for c in range(2 if tools.surface.planar[tool] else 3):
            square += max(abs(box[c]), abs(box[3 + c])) ** 2
        return float(np.sqrt(square))
    if shape == BOX:
        for half in geometry[HALF : HALF + 3]:
            square += half * half if np.isfinite(half) else 0.0
        return float(np.sqrt(square))
    return float(geometry[RADIUS])


def forget_list(near: NearTools) -> None:
    """Have the next step make the list anew, because something may have moved that nobody told."""
    near.way[MOVED] = np.inf


@compiled(inside=True)
def note_way(near: NearTools, way: float) -> None:
    """Note that no candidate has moved further than `way` [m] in a step."""
    near.way[MOVED] += way


@compiled(inside=True)
def slack(near: NearTools, tools: Tools, poses: Array, ahead: float) -> float:
    """Return what is left of the margin [m] once candidates have moved by `ahead` [m] and tools into `poses` (T, 4)."""
    moved = 0.0
    for tool in range(poses.shape[0]):
        dx, dy = poses[tool, 0] - near.pose[tool, 0], poses[tool, 1] - near.pose[tool, 1]
        dz, angle = poses[tool, 2] - near.pose[tool, 2], abs(poses[tool, 3] - near.pose[tool, 3])
        way, shape = np.sqrt(dx * dx + dy * dy + dz * dz), tools.shape[tool]
        if angle > 0.0 and shape not in (SPHERE, CYLINDER):
            way += angle * (np.inf if shape == PLANE else near.outer[tool])
        moved = max(moved, way)
    return float(near.way[MARGIN] - near.way[MOVED] - ahead - moved)


@compiled(inside=True)
def _look(
    tools: Tools, tool: int, pose: Array, bound: float, near: NearTools, x: Array, v: Array, h: float
) -> int:  # fmt: skip
    """List the candidates that may be within `bound` [m] of a plane, or of the centre or axis of others; how many."""
    shape, geometry, place, rows = tools.shape[tool], tools.geometry[tool], near.place, near.rows
    cx, cy, cz = geometry[0] + pose[0], geometry[1] + pose[1], geometry[2] + pose[2]
    first, found, square = tools.offset[tool], 0, bound * bound
    if shape == PLANE:
        _, nx, ny, nz = gap_and_normal(shape, geometry, pose, cx, cy, cz)
        most = bound + nx * cx + ny * cy + nz * cz
        for k in range(first, tools.offset[tool + 1]):
            i = place[k]
            gap = nx * (x[i, 0] + h * v[i, 0]) + ny * (x[i, 1] + h * v[i, 1]) + nz * (x[i, 2] + h * v[i, 2])
            rows[first + found] = k
            found += gap <= most
        return found
    along = 1.0 if shape in (CYLINDER, PRISM) else 0.0
    ax, ay, az = geometry[3], geometry[4], geometry[5]
    for k in range(first, tools.offset[tool + 1]):
        i = place[k]
        px, py, pz = x[i, 0] + h * v[i, 0] - cx, x[i, 1] + h * v[i, 1] - cy, x[i, 2] + h * v[i, 2] - cz
        axial = along * (px * ax + py * ay + pz * az)
        rows[first + found] = k
        found += px * px + py * py + pz * pz - axial * axial <= square
    return found


@compiled(inside=True)
def _pick(
    tools: Tools, tool: int, pose: Array, bound: float, near: NearTools, count: int, x: Array, v: Array, h: float
) -> int:  # fmt: skip
    """Keep of the first `count` rows of a tool those with gap <= bound [m]; return how many."""
    place, rows, first, found = near.place, near.rows, tools.offset[tool], 0
    for row in range(first, first + count):
        k = rows[row]
        i = place[k]
        at = (x[i, 0] + h * v[i, 0], x[i, 1] + h * v[i, 1], x[i, 2] + h * v[i, 2])
        gap, _ = tool_gap(tools, tool, pose, at, bound, near.waiting, near.squares)
        rows[first + found] = k
        found += gap <= bound
    return found


@compiled(inside=True)
def renew(
    near: NearTools, tools: Tools, poses: Array, reach: Array, x: Array, v: Array, h: float, fastest: float,
    rounding: float,
) -> None:  # fmt: skip
    """See to it that all candidates with gap <= reach (T,) [m] at x + h v are listed, tools in `poses` (T, 4).

    `fastest` [m/s] bounds the speed of all candidates in v, infinite where nobody knows: such a list is for one step.
    `rounding` [m] is what coordinates are good for.
    """
    ahead = h * fastest
    if slack(near, tools, poses, ahead) >= 0.0:
        return
    known = ahead < np.inf
    margin = AHEAD * ahead if known else 0.0
    for tool in range(poses.shape[0]):
        wanted = reach[tool] + margin
        flat = tools.shape[tool] == PLANE
        bound = (wanted if flat else wanted + near.outer[tool]) * (1.0 + ROUNDING) + rounding
        count = _look(tools, tool, poses[tool], bound, near, x, v, h)
        if tools.shape[tool] in (PRISM, BOX, MESH):
            count = _pick(tools, tool, poses[tool], wanted * (1.0 + ROUNDING) + rounding, near, count, x, v, h)
        near.counts[tool] = count
        for c in range(4):
            near.pose[tool, c] = poses[tool, c]
    near.way[MARGIN], near.way[MOVED] = margin, ahead if known else np.inf
