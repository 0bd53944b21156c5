"""Nodes at rigid tools, found at positions that Python gives; and gaps at tools with a triangulated surface."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.pairs import NO_NODE, NODES, Pairs, room_for_pairs
from rheotwin.constraints.contact.triangulated import DEPTH, ToolMesh, beyond, nearest
from rheotwin.constraints.contact.vectors import Vector, cross, dot, minus, plus, row, times
from rheotwin.constraints.tools import AXIS, GAPS, MESH, Tools
from rheotwin.kernels.blocks import Now
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.program import Clock, Program
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
    gap_of: Any = GAPS.get(shape)
    meshed = shape == MESH

    @compiled(inside=True)
    def find(
        geometry: Array, pose: Array, mesh: Any, tool: int, first: int, last: int, candidate: Indices,
        x: Array, region: float, pairs: Pairs,
    ) -> None:  # fmt: skip
        found = pairs.count[0]
        for k in range(first, last):
            p = row(x, candidate[k])
            if meshed:
                gap, (nx, ny, nz) = mesh_gap(mesh, geometry, pose, p, region)
            else:
                gap, nx, ny, nz = gap_of(geometry, pose, p[0], p[1], p[2])
            if gap > region:
                continue
            normal = (nx, ny, nz)
            pairs.node[found, 0], pairs.weight[found, 0] = candidate[k], 1.0
            for other in range(1, NODES):
                pairs.node[found, other], pairs.weight[found, other] = NO_NODE, 0.0
            for c in range(3):
                pairs.normal[found, c], pairs.point[found, c] = normal[c], p[c] - gap * normal[c]
            pairs.gap[found], pairs.tool[found], pairs.slot[found] = gap, tool, k
            found += 1
        pairs.count[0] = found

    return find


def finding_stages(tools: Tools, poses: Array, x: Array, region: Now | Sequence[Now], pairs: Pairs) -> list[Stage]:
    """Return the stages that append the contacts with gap <= region [m], one or (T,), at tools in poses (T, 4)."""
    stages, meshes = [], mesh_tools(tools)
    for tool, shape in enumerate(tools.shape.tolist()):
        whose = (tool, int(tools.offset[tool]), int(tools.offset[tool + 1]), tools.candidate)
        within = region if isinstance(region, Now) else region[tool]
        stages += [Stage(_finding(shape), (tools.geometry[tool], poses[tool], meshes[tool], *whose, x, within, pairs))]
    return stages


class ToolSearch:
    """Finds contacts of candidate nodes with tools; the slot of each is its place in the list of all candidates."""

    def __init__(self, tools: Tools, nodes: int) -> None:
        self.pairs = room_for_pairs(max(1, len(tools.candidate)))
        count = len(tools.shape)
        self._poses, self._x, self._region = np.zeros((count, 4)), np.zeros((nodes, 3)), np.zeros(count)
        regions = [Now(self._region[tool:]) for tool in range(count)]
        self._program = Program(finding_stages(tools, self._poses, self._x, regions, self.pairs), 0.0, Clock())

    def find(self, poses: Array, x: Array, region: float | Array) -> Pairs:
        """Return the contacts with gap <= region [m], one or (T,), at tools in poses (T, 4); x is (N, 3) [m]."""
        self._poses[:], self._x[:], self._region[:], self.pairs.count[0] = poses, x, region, 0
        self._program.run(0, 1)
        return self.pairs
