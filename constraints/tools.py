"""Rigid tools: signed distance and outward normal of a moving plane, sphere, cylinder or prism.

A tool's pose is (dx, dy, dz, angle): a translation [m] and a rotation [rad] about its axis through its
centre. Everything is three-dimensional; in 2D the third coordinate is zero and the axis is z.

The gap of a point is positive outside the tool and the normal points from the tool to the point, so that a
contact force of size lambda >= 0 acts on the body as +lambda n and on the tool as -lambda n.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.constraints.contact.setup import ToolDrive
from rheotwin.constraints.contact.triangulated import joined
from rheotwin.constraints.motion import Motion, Tables, pack_tables
from rheotwin.kernels.compiled import compiled

if TYPE_CHECKING:
    from rheotwin.constraints.contact.triangulated import ToolMesh

Gap = tuple[float, float, float, float]
"""Distance [m], negative inside, and the outward normal."""

PLANE, SPHERE, CYLINDER, PRISM, MESH, BOX = 0, 1, 2, 3, 4, 5
CLEAR = 1.0 + 1e-9
"""Squared distance from a sphere's centre, in squared radii, at which rounding cannot make a point touch."""
CENTER, AXIS, REFERENCE, RADIUS, SIDES, HALF, GEOMETRY_SIZE = 0, 3, 6, 9, 10, 11, 14


@dataclass(frozen=True)
class RigidTool:
    """A rigid tool with its motion and the nodes that can touch it.

    `geometry` packs centre (3) [m], axis (3), reference direction (3: the working face's normal of a plane or
    bar, the first side's normal of a prism, the first edges' direction of a box), radius [m] (inradius for a
    prism), number of sides, and half the size of a box (3) [m] along reference, axis x reference and axis.
    A bar is a plane whose candidates are the nodes under its footprint at rest: the papers' bar rule.
    """

    name: str
    shape: int
    geometry: Array
    motion: Motion
    candidates: Indices
    surface: ToolMesh | None = None
    """Closed surface of a MESH at rest, relative to the centre; 2D outlines reach far along z to both sides."""
    drive: ToolDrive | None = None
    """What moves it where its motion does not."""


def bounding_radius(tool: RigidTool, dimension: int) -> float:
    """Return the radius [m] of a ball about the tool's centre that holds it; infinite for what has no end."""
    geometry = tool.geometry
    if tool.shape == SPHERE or (tool.shape == CYLINDER and dimension == 2):
        return float(geometry[RADIUS])
    if tool.shape == PRISM and dimension == 2:
        return turning_reach(tool)
    if tool.shape == BOX:
        return float(np.linalg.norm(geometry[HALF : HALF + dimension]))
    if tool.shape == MESH and tool.surface is not None:
        return float(np.linalg.norm(tool.surface.corner.reshape(-1, 3)[:, :dimension], axis=1).max())
    return np.inf


def turning_reach(tool: RigidTool) -> float:
    """Return how far [m] from its axis a tool has surface that moves across itself when it turns; infinite for planes.

    Normals of what is round point to the axis.
    """
    geometry = tool.geometry
    if tool.shape in (SPHERE, CYLINDER):
        return 0.0
    if tool.shape == PRISM:
        return float(geometry[RADIUS] / np.cos(np.pi / geometry[SIDES]))
    if tool.shape == BOX:
        return float(np.hypot(geometry[HALF], geometry[HALF + 1]))
    if tool.shape == MESH and tool.surface is not None:
        corners = tool.surface.corner.reshape(-1, 3)
        return float(np.linalg.norm(np.cross(geometry[AXIS : AXIS + 3], corners), axis=1).max())
    return np.inf


def pack_geometry(
    *,
    center: Array,
    axis: Array | None = None,
    reference: Array | None = None,
    radius: float = 0.0,
    sides: int = 0,
    half: Array | None = None,
) -> Array:
    """Return the flat geometry vector of a tool; directions are normalised, 2D vectors padded with zero."""
    geometry = np.zeros(GEOMETRY_SIZE)
    geometry[CENTER : CENTER + len(center)] = center
    unit_axis = np.array([0.0, 0.0, 1.0]) if axis is None else np.asarray(axis, float)
    geometry[AXIS : AXIS + 3] = unit_axis / np.linalg.norm(unit_axis)
    if reference is not None:
        geometry[REFERENCE : REFERENCE + len(reference)] = reference / np.linalg.norm(reference)
    geometry[RADIUS], geometry[SIDES] = radius, sides
    if half is not None:
        geometry[HALF : HALF + 3] = half
    return geometry


@compiled(inside=True)
def _rotated_reference(geometry: Array, angle: float) -> tuple[float, float, float]:
    """Rotate the reference direction r about the axis a: r cos + (a x r) sin + a (a.r)(1 - cos)."""
    ax, ay, az = geometry[3], geometry[4], geometry[5]
    rx, ry, rz = geometry[6], geometry[7], geometry[8]
    if angle == 0.0:
        return rx, ry, rz
    c, s = np.cos(angle), np.sin(angle)
    along = (ax * rx + ay * ry + az * rz) * (1.0 - c)
    return (
        rx * c + (ay * rz - az * ry) * s + ax * along,
        ry * c + (az * rx - ax * rz) * s + ay * along,
        rz * c + (ax * ry - ay * rx) * s + az * along,
    )


@compiled(inside=True)
def _prism_gap(geometry: Array, angle: float, yx: float, yy: float, yz: float) -> tuple[float, float, float, float]:
    """Return the largest side distance of an infinite regular prism, gap = max_k n_k.y - inradius."""
    ax, ay, az = geometry[3], geometry[4], geometry[5]
    ex, ey, ez = _rotated_reference(geometry, angle)
    fx, fy, fz = ay * ez - az * ey, az * ex - ax * ez, ax * ey - ay * ex
    p, q = yx * ex + yy * ey + yz * ez, yx * fx + yy * fy + yz * fz
    best, c, s = -np.inf, 1.0, 0.0
    sides = int(geometry[SIDES])
    for side in range(sides):
        turn = 2.0 * np.pi * side / sides
        distance = p * np.cos(turn) + q * np.sin(turn)
        if distance > best:
            best, c, s = distance, np.cos(turn), np.sin(turn)
    return best - geometry[RADIUS], c * ex + s * fx, c * ey + s * fy, c * ez + s * fz


@compiled(inside=True)
def _box_gap(geometry: Array, angle: float, yx: float, yy: float, yz: float) -> tuple[float, float, float, float]:
    """Return the distance to a block: outside |max(q, 0)|, inside max q, with q = |y| - half along its edges.

    The normal is the distance's gradient, outside of edges and corners that of a rounded block.
    """
    ax, ay, az = geometry[3], geometry[4], geometry[5]
    ex, ey, ez = _rotated_reference(geometry, angle)
    fx, fy, fz = ay * ez - az * ey, az * ex - ax * ez, ax * ey - ay * ex
    p, q, r = yx * ex + yy * ey + yz * ez, yx * fx + yy * fy + yz * fz, yx * ax + yy * ay + yz * az
    dp, dq, dr = abs(p) - geometry[HALF], abs(q) - geometry[HALF + 1], abs(r) - geometry[HALF + 2]
    gap = max(dp, dq, dr)
    u, v, w = 0.0, 0.0, 0.0
    if gap > 0.0:
        u, v, w = max(dp, 0.0), max(dq, 0.0), max(dr, 0.0)
        gap = np.sqrt(u * u + v * v + w * w)
        u, v, w = u / gap, v / gap, w / gap
    elif dp == gap:
        u = 1.0
    elif dq == gap:
        v = 1.0
    else:
        w = 1.0
    u, v, w = np.copysign(u, p), np.copysign(v, q), np.copysign(w, r)
    return gap, u * ex + v * fx + w * ax, u * ey + v * fy + w * ay, u * ez + v * fz + w * az


@compiled(inside=True)
def _from_centre(geometry: Array, pose: Array, px: float, py: float, pz: float) -> tuple[float, float, float]:
    """Return the way from a tool's centre to a point."""
    return px - geometry[0] - pose[0], py - geometry[1] - pose[1], pz - geometry[2] - pose[2]


@compiled(inside=True)
def _across_axis(geometry: Array, yx: float, yy: float, yz: float) -> tuple[float, float, float]:
    """Return what of a way from the centre is across the axis."""
    ax, ay, az = geometry[3], geometry[4], geometry[5]
    along = yx * ax + yy * ay + yz * az
    return yx - along * ax, yy - along * ay, yz - along * az


@compiled(inside=True)
def _round_gap(geometry: Array, yx: float, yy: float, yz: float) -> Gap:
    distance = np.sqrt(yx * yx + yy * yy + yz * yz)
    if distance == 0.0:
        return -geometry[RADIUS], 0.0, 1.0, 0.0
    return distance - geometry[RADIUS], yx / distance, yy / distance, yz / distance


@compiled(inside=True)
def plane_gap(geometry: Array, pose: Array, px: float, py: float, pz: float) -> Gap:
    """Return gap [m] and outward normal of a point at a plane or bar: (p - c) . n."""
    yx, yy, yz = _from_centre(geometry, pose, px, py, pz)
    nx, ny, nz = _rotated_reference(geometry, pose[3])
    return yx * nx + yy * ny + yz * nz, nx, ny, nz


@compiled(inside=True)
def sphere_gap(geometry: Array, pose: Array, px: float, py: float, pz: float) -> Gap:
    """Return gap [m] and outward normal of a point at a ball: |p - c| - r."""
    yx, yy, yz = _from_centre(geometry, pose, px, py, pz)
    return _round_gap(geometry, yx, yy, yz)


@compiled(inside=True)
def cylinder_gap(geometry: Array, pose: Array, px: float, py: float, pz: float) -> Gap:
    """Return gap [m] and outward normal of a point at a cylinder without end."""
    yx, yy, yz = _from_centre(geometry, pose, px, py, pz)
    yx, yy, yz = _across_axis(geometry, yx, yy, yz)
    return _round_gap(geometry, yx, yy, yz)


@compiled(inside=True)
def prism_gap(geometry: Array, pose: Array, px: float, py: float, pz: float) -> Gap:
    """Return gap [m] and outward normal of a point at a regular prism without end."""
    yx, yy, yz = _from_centre(geometry, pose, px, py, pz)
    yx, yy, yz = _across_axis(geometry, yx, yy, yz)
    return _prism_gap(geometry, pose[3], yx, yy, yz)


@compiled(inside=True)
def box_gap(geometry: Array, pose: Array, px: float, py: float, pz: float) -> Gap:
    """Return gap [m] and outward normal of a point at a block."""
    yx, yy, yz = _from_centre(geometry, pose, px, py, pz)
    return _box_gap(geometry, pose[3], yx, yy, yz)


GAPS = {PLANE: plane_gap, SPHERE: sphere_gap, CYLINDER: cylinder_gap, PRISM: prism_gap, BOX: box_gap}
"""Gap and normal of every shape but triangulated ones, for code that knows the shape when it is compiled."""


@compiled
def gap_and_normal(shape: int, geometry: Array, pose: Array, px: float, py: float, pz: float) -> Gap:
    """Return the gap [m] of the point (px, py, pz) to the tool in the given pose, and the outward normal."""
    if shape == PLANE:
        return plane_gap(geometry, pose, px, py, pz)
    if shape == BOX:
        return box_gap(geometry, pose, px, py, pz)
    if shape == PRISM:
        return prism_gap(geometry, pose, px, py, pz)
    if shape == CYLINDER:
        return cylinder_gap(geometry, pose, px, py, pz)
    return sphere_gap(geometry, pose, px, py, pz)


@cache
def _gaps(shape: int) -> Any:
    """Return the compiled function that writes gaps and normals of points at a tool of this shape."""
    gap_of = GAPS[shape]

    @compiled
    def gaps(geometry: Array, pose: Array, points: Array, gaps: Array, normals: Array) -> None:
        for k in range(points.shape[0]):
            gap, nx, ny, nz = gap_of(geometry, pose, points[k, 0], points[k, 1], points[k, 2])
            gaps[k] = gap
            normals[k, 0], normals[k, 1], normals[k, 2] = nx, ny, nz

    return gaps


def _looked_at(tool: RigidTool, pose: Array, points: Array) -> tuple[Array, Array]:
    from rheotwin.constraints.contact.near_tools import ToolLook  # which needs this module

    return ToolLook(tool, len(points)).at(pose, points)


def gaps_in_pose(tool: RigidTool, pose: Array, points: Array) -> Array:
    """Return gaps (n,) [m] of points (n, 3) to a tool in a pose (4,), wherever forces have moved it."""
    return _looked_at(tool, pose, points)[0]


def tool_gaps(tool: RigidTool, time: float, points: Array) -> tuple[Array, Array]:
    """Return gaps (n,) [m] and outward normals (n, 3) of points (n, 3) to the tool at `time` [s].

    For those who ask again and again: the first call loads what Python needs to call compiled code. See `gaps_in_pose`.
    """
    if tool.shape == MESH:
        return _looked_at(tool, tool.motion.at(time), points)
    gaps, normals = np.empty(len(points)), np.empty((len(points), 3))
    _gaps(tool.shape)(tool.geometry, tool.motion.at(time), points, gaps, normals)
    return gaps, normals


SWEEPS = 100
"""Most rounds over the tools in one step; one is enough unless a node touches several, or a round one and a support."""
SETTLED = 1e-15
"""A round that moves no node further than this times the runaway distance is the last."""
IMMOVABLE = 1e-12
"""A node whose free components carry less than this share of a tool's normal is not pushed at all."""


class Tools(NamedTuple):
    """Rigid tools: shape, geometry, motion tables, and candidate nodes packed with offsets."""

    shape: Indices
    geometry: Array
    tables: Tables
    offset: Indices
    candidate: Indices
    surface: ToolMesh | None = None
    """Triangulated surfaces of all tools, with no triangles for tools of other shapes; None where no tool has any."""


def pack_tools(tools: Sequence[RigidTool]) -> Tools:
    """Pack tool shapes, motions and candidate nodes."""
    offset = np.zeros(len(tools) + 1, dtype=np.int64)
    offset[1:] = np.cumsum([len(tool.candidates) for tool in tools])
    return Tools(
        shape=np.array([tool.shape for tool in tools], dtype=np.int64),
        geometry=np.array([tool.geometry for tool in tools]).reshape(len(tools), GEOMETRY_SIZE),
        tables=pack_tables([tool.motion for tool in tools], 4),
        offset=offset,
        candidate=np.concatenate([np.zeros(0, np.int64), *(tool.candidates for tool in tools)]).astype(np.int64),
        surface=joined([tool.surface for tool in tools]),
    )
