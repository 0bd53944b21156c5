"""Gaps of many points to one tool with a triangulated surface."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.tool_pairs import tool_gap
from rheotwin.constraints.contact.triangulated import DEPTH
from rheotwin.constraints.contact.vectors import row
from rheotwin.constraints.packed import Tools, pack_tools
from rheotwin.constraints.tools import RigidTool
from rheotwin.kernels.compiled import compiled

Array = NDArray[np.float64]


def mesh_gaps(tool: RigidTool, pose: Array, points: Array) -> tuple[Array, Array]:
    """Return gaps (n,) [m] and outward normals (n, 3) of points (n, 3) to a tool in a pose (4,)."""
    gaps, normals = np.empty(len(points)), np.empty((len(points), 3))
    _mesh_gaps(pack_tools([tool]), pose, np.ascontiguousarray(points, dtype=float), gaps, normals)
    return gaps, normals


@compiled(allocates=True)
def _mesh_gaps(tools: Tools, pose: Array, points: Array, gaps: Array, normals: Array) -> None:
    waiting, squares = np.empty(DEPTH, np.int64), np.empty(DEPTH)
    for k in range(points.shape[0]):
        gaps[k], normal = tool_gap(tools, 0, pose, row(points, k), np.inf, waiting, squares)
        normals[k, 0], normals[k, 1], normals[k, 2] = normal
