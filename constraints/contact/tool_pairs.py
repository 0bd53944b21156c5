"""Nodes at rigid tools: signed distance and normal of each candidate node in the tool's pose."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.pairs import NO_NODE, NODES, Pairs
from rheotwin.constraints.contact.triangulated import DEPTH, ToolMesh, beyond, nearest
from rheotwin.constraints.contact.vectors import Vector, cross, dot, minus, plus, row, times
from rheotwin.constraints.packed import Tools
from rheotwin.constraints.tools import AXIS, MESH, gap_and_normal
from rheotwin.kernels.compiled import compiled

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@compiled(allocates=True)
def find_tool_pairs(tools: Tools, poses: Array, x: Array, region: Array, pairs: Pairs) -> int:
    """Write the contacts of candidate nodes with gap <= region (T,) [m] at tools in poses (T, 4); x is (N, 3) [m].

    These are the first contacts of a step: the count starts at zero. The slot is the place in the list of
    candidates. Returns 0, or 1 when there is no room for all.
    """
    waiting, squares = np.empty(DEPTH, np.int64), np.empty(DEPTH)
    pairs.count[0] = 0
    for tool in range(tools.shape.shape[0]):
        for k in range(tools.offset[tool], tools.offset[tool + 1]):
            p = row(x, tools.candidate[k])
            gap, normal = tool_gap(tools, tool, poses[tool], p, region[tool], waiting, squares)
            if gap > region[tool]:
                continue
            found = pairs.count[0]
            if found >= pairs.gap.shape[0]:
                pairs.count[0] = 0
                return 1
            pairs.node[found, 0], pairs.weight[found, 0] = tools.candidate[k], 1.0
            for other in range(1, NODES):
                pairs.node[found, other], pairs.weight[found, other] = NO_NODE, 0.0
            for c in range(3):
                pairs.normal[found, c], pairs.point[found, c] = normal[c], p[c] - gap * normal[c]
            pairs.gap[found], pairs.tool[found], pairs.slot[found] = gap, tool, k
            pairs.count[0] = found + 1
    return 0


@compiled
def tool_gap(
    tools: Tools, tool: int, pose: Array, p: Vector, within: float, waiting: Indices, squares: Array
) -> tuple[float, Vector]:
    """Return the gap [m] of p at a tool and its normal; infinite where a MESH is further than `within` [m] outside.

    `waiting` and `squares` (DEPTH,) are scratch.
    """
    geometry = tools.geometry[tool]
    if tools.shape[tool] != MESH:
        gap, nx, ny, nz = gap_and_normal(tools.shape[tool], geometry, pose, p[0], p[1], p[2])
        return gap, (nx, ny, nz)
    return _mesh_gap(tools.surface, geometry, tool, pose, p, within, waiting, squares)


@compiled
def _mesh_gap(
    surface: ToolMesh | None, geometry: Array, tool: int, pose: Array, p: Vector, within: float, waiting: Indices,
    squares: Array,
) -> tuple[float, Vector]:  # fmt: skip
    # Compiled for either type of `surface`, with only that branch: other tools do not pay for triangles.
    if surface is None:
        return np.inf, (0.0, 0.0, 0.0)
    axis = (geometry[AXIS], geometry[AXIS + 1], geometry[AXIS + 2])
    y = minus(minus(p, (geometry[0], geometry[1], geometry[2])), (pose[0], pose[1], pose[2]))
    y = _turned(y, axis, -pose[3])
    if beyond(surface, tool, y, within):
        return np.inf, (0.0, 0.0, 0.0)
    gap, normal, _, _ = nearest(surface, tool, y, np.inf, waiting, squares)
    return gap, _turned(normal, axis, pose[3])


@compiled
def _turned(a: Vector, axis: Vector, angle: float) -> Vector:
    """Return a vector turned about a unit axis (Rodrigues)."""
    if angle == 0.0:
        return a
    c, s = np.cos(angle), np.sin(angle)
    return plus(plus(times(c, a), s, cross(axis, a)), (1.0 - c) * dot(axis, a), axis)
