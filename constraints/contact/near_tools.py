"""Which nodes touch which tools in a step: a quick look at all candidates, then exact gaps of the few that are near.

The quick look is at where the step takes a candidate, p = x + h v, with the few products that rule most of them out:
a plane by n.(p - c) > reach, round and straight tools of infinite length by their distance from the axis, all others
by that from the centre, beyond the radius that holds them.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rheotwin.constraints.contact.pairs import NO_NODE, NODES, Pairs
from rheotwin.constraints.contact.tool_pairs import tool_gap
from rheotwin.constraints.contact.triangulated import DEPTH
from rheotwin.constraints.packed import Tools
from rheotwin.constraints.tools import CYLINDER, HALF, MESH, PLANE, PRISM, RADIUS, SIDES, RigidTool, gap_and_normal

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


def outer_radius(tool: RigidTool) -> float:
    """Return the radius [m] about the centre, or about the axis of a cylinder or prism, that nothing of it exceeds."""
    geometry = tool.geometry
    if tool.shape == PRISM:
        return float(geometry[RADIUS] / np.cos(np.pi / geometry[SIDES]))
    if tool.surface is not None:
        corners = tool.surface.corner.reshape(-1, 3)
        return float(np.linalg.norm(corners[:, :2] if tool.surface.planar.any() else corners, axis=1).max())
    half = geometry[HALF : HALF + 3]
    return float(np.hypot(geometry[RADIUS], np.linalg.norm(half[np.isfinite(half)])))


@njit(cache=True)
def _look(
    shape: int, geometry: Array, pose: Array, bound: float, candidate: Indices, places: Indices, x: Array, v: Array,
    h: float, hits: Indices,
) -> int:  # fmt: skip
    """Write the candidates (indices) that may be within `bound` [m] of a plane, or of the centre or axis of others."""
    cx, cy, cz = geometry[0] + pose[0], geometry[1] + pose[1], geometry[2] + pose[2]
    found, square = 0, bound * bound
    if shape == PLANE:
        _, nx, ny, nz = gap_and_normal(shape, geometry, pose, cx, cy, cz)
        most = bound + nx * cx + ny * cy + nz * cz
        for k in range(candidate.shape[0]):
            i = places[candidate[k]]
            gap = nx * (x[i, 0] + h * v[i, 0]) + ny * (x[i, 1] + h * v[i, 1]) + nz * (x[i, 2] + h * v[i, 2])
            hits[found] = k
            found += gap <= most
        return found
    along = 1.0 if shape == CYLINDER or shape == PRISM else 0.0
    ax, ay, az = geometry[3], geometry[4], geometry[5]
    for k in range(candidate.shape[0]):
        i = places[candidate[k]]
        px, py, pz = x[i, 0] + h * v[i, 0] - cx, x[i, 1] + h * v[i, 1] - cy, x[i, 2] + h * v[i, 2] - cz
        axial = along * (px * ax + py * ay + pz * az)
        hits[found] = k
        found += px * px + py * py + pz * pz - axial * axial <= square
    return found


@njit(cache=True)
def find_near_tools(
    tools: Tools, poses: Array, reach: Array, outer: Array, places: Indices, x: Array, v: Array, h: float,
    hits: Indices, end: Array, velocity: Array, pairs: Pairs,
) -> None:  # fmt: skip
    """Write the contacts with gap <= reach (T,) [m] at tools in poses (T, 4), the first ones of a step.

    Candidates are at x + h v, both (n, 3) and at `places` (N,); the near ones' places and velocities are entered in
    `end` and `velocity` (N, 3). The slot of a contact is its place in the list of all candidates.
    """
    node, weight, normal, gaps, point = pairs.node, pairs.weight, pairs.normal, pairs.gap, pairs.point
    tool_of, slot, candidates, offset, shapes = pairs.tool, pairs.slot, tools.candidate, tools.offset, tools.shape
    all_geometry, p = tools.geometry, 0
    for tool in range(shapes.shape[0]):
        shape, geometry, pose, first = shapes[tool], all_geometry[tool], poses[tool], offset[tool]
        mine = candidates[first : offset[tool + 1]]
        bound = reach[tool] * (1.0 + 1e-9) if shape == PLANE else (reach[tool] + outer[tool]) * (1.0 + 1e-9)
        for row in range(_look(shape, geometry, pose, bound, mine, places, x, v, h, hits)):
            k = hits[row]
            i = mine[k]
            place = places[i]
            for c in range(3):
                velocity[i, c] = v[place, c]
                end[i, c] = x[place, c] + h * velocity[i, c]
            if shape == MESH:
                waiting, squares = np.empty(DEPTH, np.int64), np.empty(DEPTH)
                at = (end[i, 0], end[i, 1], end[i, 2])
                gap, (nx, ny, nz) = tool_gap(tools, tool, pose, at, reach[tool], waiting, squares)
            else:
                gap, nx, ny, nz = gap_and_normal(shape, geometry, pose, end[i, 0], end[i, 1], end[i, 2])
            if gap > reach[tool]:
                continue
            node[p, 0], weight[p, 0] = i, 1.0
            for other in range(1, NODES):
                node[p, other], weight[p, other] = NO_NODE, 0.0
            normal[p, 0], normal[p, 1], normal[p, 2] = nx, ny, nz
            gaps[p], tool_of[p], slot[p] = gap, tool, first + k
            point[p, 0], point[p, 1], point[p, 2] = end[i, 0] - gap * nx, end[i, 1] - gap * ny, end[i, 2] - gap * nz
            p += 1
    pairs.count[0] = p
