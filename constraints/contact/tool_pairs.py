"""Nodes at rigid tools, as contacts; and gaps at tools of any shape, those with a triangulated surface too."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.pairs import NO_NODE, NODES, Pairs
from rheotwin.constraints.contact.triangulated import DEPTH, ToolMesh, beyond, nearest
from rheotwin.constraints.contact.vectors import Vector, cross, dot, minus, plus, row, times
from rheotwin.constraints.tools import AXIS, GAPS, MESH, Tools
from rheotwin.kernels.blocks import Now
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.stage import Stage

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


class MeshTool(NamedTuple):
    """One of several triangulated surfaces; `waiting` and `squares` (DEPTH,) are scratch of its search."""

    surface: ToolMesh
    number: int
    waiting: Indices
    squares: Array


def mesh_tools(tools: Tools) -> list[MeshTool | None]:
    """Return the triangulated surface of each tool, None for other shapes: kernels are compiled so."""
    surface, scratch = tools.surface, (np.empty(DEPTH, np.int64), np.empty(DEPTH))
    return [
        MeshTool(surface, tool, *scratch) if shape == MESH and surface is not None else None
        for tool, shape in enumerate(tools.shape.tolist())
    ]


@compiled(inside=True)
def mesh_gap(mesh: MeshTool, geometry: Array, pose: Array, p: Vector, within: float) -> tuple[float, Vector]:
    """Return the gap [m] of p at a tool and its normal; infinite where it is further than `within` [m] outside."""
    axis = (geometry[AXIS], geometry[AXIS + 1], geometry[AXIS + 2])
    y = minus(minus(p, (geometry[0], geometry[1], geometry[2])), (pose[0], pose[1], pose[2]))
    y = turned(y, axis, -pose[3])
    if beyond(mesh.surface, mesh.number, y, within):
        return np.inf, (0.0, 0.0, 0.0)
    gap, normal, _, _ = nearest(mesh.surface, mesh.number, y, np.inf, mesh.waiting, mesh.squares)
    return gap, turned(normal, axis, pose[3])


@cache
def gap_at(shape: int) -> Any:
    """Return the compiled gap of a point at tools of this shape and its normal, called as `mesh_gap` is."""
    if shape == MESH:
        return mesh_gap
    gap_of = GAPS[shape]

    @compiled(inside=True)
    def gap(mesh: None, geometry: Array, pose: Array, p: Vector, within: float) -> tuple[float, Vector]:
        gap, nx, ny, nz = gap_of(geometry, pose, p[0], p[1], p[2])
        return gap, (nx, ny, nz)

    return gap


@compiled(inside=True)
def turned(a: Vector, axis: Vector, angle: float) -> Vector:
    """Return a vector turned about a unit axis (Rodrigues)."""
    if angle == 0.0:
        return a
    c, s = np.cos(angle), np.sin(angle)
    return plus(plus(times(c, a), s, cross(axis, a)), (1.0 - c) * dot(axis, a), axis)


@cache
def _finding(shape: int) -> Any:
    """Return the stage that appends the contacts of candidates with gap <= region [m] at a tool of this shape."""
    gap_of = gap_at(shape)

    @compiled(inside=True)
    def find(
        geometry: Array, pose: Array, mesh: Any, tool: int, first: int, last: int, candidate: Indices,
        x: Array, region: float, pairs: Pairs,
    ) -> None:  # fmt: skip
        found = pairs.count[0]
        for k in range(first, last):
            p = row(x, candidate[k])
            gap, normal = gap_of(mesh, geometry, pose, p, region)
            if gap > region:
                continue
            pairs.node[found, 0], pairs.weight[found, 0] = candidate[k], 1.0
            for other in range(1, NODES):
                pairs.node[found, other], pairs.weight[found, other] = NO_NODE, 0.0
            for c in range(3):
                pairs.normal[found, c], pairs.point[found, c] = normal[c], p[c] - gap * normal[c]
            pairs.gap[found], pairs.tool[found], pairs.slot[found] = gap, tool, k
            found += 1
        pairs.count[0] = found

    return find


def finding_stages(tools: Tools, poses: Array, x: Array, region: Now, pairs: Pairs) -> list[Stage]:
    """Return the stages that append the contacts with gap <= region [m] at tools in poses (T, 4)."""
    stages, meshes = [], mesh_tools(tools)
    for tool, shape in enumerate(tools.shape.tolist()):
        whose = (tool, int(tools.offset[tool]), int(tools.offset[tool + 1]), tools.candidate)
        stages += [Stage(_finding(shape), (tools.geometry[tool], poses[tool], meshes[tool], *whose, x, region, pairs))]
    return stages
