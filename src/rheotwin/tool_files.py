"""Surfaces of mesh tools: triangles of a file in 3D, a polygon in 2D; closed, and looking outwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rheotwin.errors import RheotwinError
from rheotwin.meshing import read_surface
from rheotwin.scene import MeshTool, Scene
from rheotwin.scene.rotation import rotation_matrix
from rheotwin.tensors import padded

if TYPE_CHECKING:
    from rheotwin.constraints.contact.triangulated import ToolMesh

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

FLAT = 1e-12
"""A surface that encloses less than this share of its extent squared, in 3D cubed, has no inside."""


def tool_surface_mesh(name: str, scene: Scene) -> ToolMesh:
    """Return the packed surface of a mesh tool, relative to its centre; in 2D its outline reaching along z."""
    from rheotwin.constraints.contact.triangulated import tool_mesh

    if scene.dimension == 2:
        return tool_mesh(*_extruded(polygon_corners(name, scene)), planar=True)
    try:
        return tool_mesh(*surface_triangles(name, scene))
    except RheotwinError as error:
        raise RheotwinError(f"tools.{name}.path: {error}") from error


def surface_triangles(name: str, scene: Scene) -> tuple[Array, Indices]:
    """Return vertices (n, 3) [m] relative to the centre and outward triangles (m, 3) of a 3D mesh tool."""
    tool = _spec(name, scene)
    assert tool.path is not None
    vertices, triangles = read_surface(scene.resolve(tool.path))
    turned = tool.scale * vertices @ rotation_matrix(tool.rotation, 3).T
    corners = turned[triangles]
    volume = float(np.sum(corners[:, 0] * np.cross(corners[:, 1], corners[:, 2])))
    extent = float(np.linalg.norm(np.ptp(turned, axis=0)))
    # from the middle: far from the origin rounding alone has a volume
    around = corners - turned.mean(axis=0)
    enclosed = abs(float(np.sum(around[:, 0] * np.cross(around[:, 1], around[:, 2]))))
    if enclosed <= FLAT * extent**3:
        raise RheotwinError(f"{tool.path}: its surface encloses no volume; give the tool a thickness")
    return np.ascontiguousarray(turned), triangles if volume > 0.0 else np.ascontiguousarray(triangles[:, ::-1])


def polygon_corners(name: str, scene: Scene) -> Array:
    """Return the corners (n, 2) [m] of a 2D mesh tool, counter-clockwise and relative to its centre."""
    tool = _spec(name, scene)
    corners = tool.scale * np.array(tool.points, dtype=float) @ rotation_matrix(tool.rotation, 2).T
    following = np.roll(corners, -1, axis=0)
    if repeated := _first_repeated(corners):
        raise RheotwinError(
            f"tools.{name}.points: corners {repeated[0]} and {repeated[1]} are the same point; name each corner once, "
            "the polygon is closed by itself"
        )
    if crossing := _first_crossing(corners, following):
        raise RheotwinError(
            f"tools.{name}.points: edges {crossing[0]} and {crossing[1]} meet each other; "
            "give the corners one after the other around the polygon"
        )
    area = np.sum(corners[:, 0] * following[:, 1] - corners[:, 1] * following[:, 0])
    if abs(area) <= FLAT * float(np.sum(np.ptp(corners, axis=0) ** 2)):
        raise RheotwinError(f"tools.{name}.points: all corners lie on a line; the tool needs an area")
    return corners if area > 0.0 else np.ascontiguousarray(corners[::-1])


def _spec(name: str, scene: Scene) -> MeshTool:
    tool = scene.tools[name]
    assert isinstance(tool, MeshTool)
    return tool


def _cross(a: Array, b: Array) -> Array:
    return np.asarray(a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0])


def _first_repeated(corners: Array) -> tuple[int, int] | None:
    """Return the numbers of two corners (n, 2) that are one point, if there are any."""
    _, first = np.unique(corners, axis=0, return_index=True)
    again = np.setdiff1d(np.arange(len(corners)), first)
    if not len(again):
        return None
    return int(np.flatnonzero(np.all(corners == corners[again[0]], axis=1))[0]), int(again[0])


def _first_crossing(start: Array, end: Array) -> tuple[int, int] | None:
    """Return the numbers of two edges (n, 2) of a polygon that touch without being neighbours, if there are any."""
    count = len(start)
    a, b, c, d = start[:, None], end[:, None], start[None], end[None]
    apart = (_cross(b - a, c - a) * _cross(b - a, d - a) > 0.0) | (_cross(d - c, a - c) * _cross(d - c, b - c) > 0.0)
    low = np.maximum(np.minimum(a, b), np.minimum(c, d))
    apart |= np.any(low > np.minimum(np.maximum(a, b), np.maximum(c, d)), axis=-1)
    distance = np.abs(np.subtract.outer(np.arange(count), np.arange(count)))
    meeting = np.argwhere(~apart & (distance > 1) & (distance < count - 1))
    return (int(meeting[0][0]), int(meeting[0][1])) if len(meeting) else None


def _extruded(corners: Array) -> tuple[Array, Indices]:
    """Return the polygon reaching its own size along z to both sides: near z = 0 only its sides are nearest."""
    import pyvista

    reach = float(np.linalg.norm(np.ptp(corners, axis=0)))
    count = len(corners)
    low = padded(corners) - [0.0, 0.0, reach]
    flat = pyvista.PolyData(low, np.array([count, *range(count)]))
    lid = flat.triangulate().regular_faces.astype(np.int64)
    here = np.arange(count)
    there = np.roll(here, -1)
    sides = np.vstack(
        [np.column_stack([here, there, there + count]), np.column_stack([here, there + count, here + count])]
    )
    high = low + np.array([0.0, 0.0, 2.0 * reach])
    # the lid of a counter-clockwise polygon looks along +z
    return np.vstack([low, high]), np.vstack([sides, lid[:, ::-1], lid + count]).astype(np.int64)
