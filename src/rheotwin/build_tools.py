"""Rigid tools of a scene made concrete: packed geometry, pose tables, drives and the nodes that can touch them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.constraints.contact.setup import ANGLE, POSE_SIZE, ToolDrive
from rheotwin.constraints.motion import Motion, at_rest
from rheotwin.constraints.tools import BOX, CYLINDER, MESH, PLANE, PRISM, SPHERE, RigidTool, pack_geometry
from rheotwin.errors import RheotwinError
from rheotwin.meshing import boundary_nodes, read_surface
from rheotwin.problem import ProblemBody
from rheotwin.scene import DriveSpec, Scene, ToolMotion, ToolSpec
from rheotwin.scene.motion import GravityTable, gravity_rows, rotation_matrix
from rheotwin.scene.tools import BarTool, BoxTool, CylinderTool, MeshTool, PlaneTool, SphereTool
from rheotwin.tensors import padded

if TYPE_CHECKING:
    from rheotwin.constraints.contact.triangulated import ToolMesh

FLAT = 1e-12
"""A surface that encloses less than this share of its extent squared, in 3D cubed, has no inside."""
_SHAPES = {
    "bar": PLANE,
    "plane": PLANE,
    "sphere": SPHERE,
    "cylinder": CYLINDER,
    "prism": PRISM,
    "box": BOX,
    "mesh": MESH,
}


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
    turned = (tool.scale or 1.0) * vertices @ rotation_matrix(tool.rotation, 3).T
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
    corners = (tool.scale or 1.0) * np.array(tool.points, dtype=float) @ rotation_matrix(tool.rotation, 2).T
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


def build_tool(name: str, scene: Scene, bodies: tuple[ProblemBody, ...], points: Array) -> RigidTool:
    """Resolve a scene tool: only surface nodes of the bodies it acts on can touch it."""
    tool, dimension = scene.tools[name], scene.dimension
    wanted = set(tool.bodies) if tool.bodies is not None else {body.name for body in bodies}
    surface = [body.first_node + boundary_nodes(body.mesh) for body in bodies if body.name in wanted]
    candidates = np.concatenate(surface).astype(np.int64)
    if isinstance(tool, BarTool):
        candidates = candidates[_under_bar(tool, padded(points[candidates]), dimension)]
        if candidates.size == 0:
            raise RheotwinError(
                f"tools.{name}: no surface node lies in front of the bar within its width; "
                "move `center`, turn `normal` towards the body or widen it"
            )
    return RigidTool(
        name=name,
        shape=_SHAPES[tool.shape],
        geometry=tool_geometry(tool, dimension),
        motion=pose_motion(tool.motion, dimension, scene.duration),
        candidates=candidates,
        surface=tool_surface_mesh(name, scene) if tool.shape == "mesh" else None,
        drive=None if tool.drive is None else tool_drive(tool.drive, scene),
    )


def pose_motion(motion: ToolMotion | None, dimension: int, duration: float) -> Motion:
    """Turn a scene motion (or none) into a pose table (n, 4): displacement padded to 3D [m] and angle [rad].

    Velocities are constant from time to time, so that the straight table between their integrals is exact; it
    goes on beyond the `duration` [s], up to which the last velocity holds.
    """
    if motion is None:
        return at_rest(POSE_SIZE)
    times = np.array(motion.times)
    if motion.velocity is not None or motion.angular_velocity is not None:
        times = np.append(times, max(times[-1], duration) + duration)
    poses = np.zeros((len(times), POSE_SIZE))
    for columns, places, rates in (
        (slice(0, dimension), motion.displacement, motion.velocity),
        (slice(ANGLE, None), motion.angle, motion.angular_velocity),
    ):
        width = poses[:, columns].shape[1]
        if places is not None:
            known = np.array(places, dtype=float).reshape(-1, width)
            poses[: len(known), columns], poses[len(known) :, columns] = known, known[-1]
        elif rates is not None:
            steps = np.array(rates, dtype=float).reshape(-1, width) * np.diff(times)[:, None]
            poses[1:, columns] = np.cumsum(steps, axis=0)
    return Motion(times, poses, motion.interpolation == "smooth")


def tool_drive(drive: DriveSpec, scene: Scene) -> ToolDrive:
    """Turn a scene drive into masses, the table of forces with the weight in it, and the rates at the start."""
    dimension = scene.dimension
    free = drive.free_components(dimension)
    given = np.zeros((1 if drive.times is None else len(drive.times), POSE_SIZE))
    if drive.force is not None:
        given[:, :dimension] = drive.force
    if drive.moment is not None:
        given[:, ANGLE] = drive.moment
    pull = np.zeros((len(gravity_rows(scene.gravity)), POSE_SIZE))
    pull[:, :dimension] = drive.mass * np.array(gravity_rows(scene.gravity))
    weight = Motion(np.array(scene.gravity.times if isinstance(scene.gravity, GravityTable) else (0.0,)), pull)
    acting = Motion(np.array(drive.times or (0.0,)), given)
    times = np.union1d(weight.times if len(pull) > 1 else acting.times, acting.times)
    force = np.array([weight.at(time) + acting.at(time) for time in times])
    velocity = np.zeros(POSE_SIZE)
    if drive.velocity:
        velocity[:dimension] = drive.velocity
    velocity[ANGLE] = drive.angular_velocity
    return ToolDrive(
        free=("x" in free, "y" in free, "z" in free, "angle" in free),
        mass=drive.mass,
        inertia=drive.moment_of_inertia or 0.0,
        force=Motion(times, force),
        velocity=(float(velocity[0]), float(velocity[1]), float(velocity[2]), float(velocity[3])),
    )


def in_plane_axes(normal: Array) -> tuple[Array, Array]:
    """Return two unit vectors spanning the plane across a 3D `normal`: x (or z) first, then the other."""
    seed = np.array([1.0, 0.0, 0.0]) if abs(normal[0]) < 0.9 else np.array([0.0, 0.0, 1.0])
    first = seed - (seed @ normal) * normal
    first /= np.linalg.norm(first)
    return first, np.cross(normal, first)


def _under_bar(tool: BarTool, points: Array, dimension: int) -> Indices:
    """Indices of points (n, 3) in front of a bar's working face and within its footprint."""
    normal = np.zeros(3)
    normal[:dimension] = tool.normal
    normal /= np.linalg.norm(normal)
    center = np.zeros(3)
    center[:dimension] = tool.center
    relative = points - center
    tolerance = 1e-9 * float(np.max(np.ptp(points, axis=0)))
    inside = relative @ normal >= -tolerance
    for axis, width in zip(bar_axes(normal, dimension), tool.widths(dimension), strict=True):
        inside &= np.abs(relative @ axis) <= 0.5 * width + tolerance
    return np.flatnonzero(inside)


def bar_axes(normal: Array, dimension: int) -> tuple[Array, ...]:
    """Return the unit vectors along a bar's working face: none in 1D, one in 2D, two in 3D."""
    if dimension == 1:
        return ()
    if dimension == 2:
        return (np.array([-normal[1], normal[0], 0.0]),)
    return in_plane_axes(normal)


def tool_geometry(tool: ToolSpec, dimension: int) -> Array:
    """Pack a scene tool's centre, axis, working direction and sizes for the contact kernels."""
    center = np.asarray(tool.center, dtype=float)[:dimension]
    if isinstance(tool, BarTool | PlaneTool):
        normal = np.asarray(tool.normal, dtype=float)[:dimension]
        return pack_geometry(center=center, reference=normal, axis=normal if dimension == 3 else None)
    if isinstance(tool, SphereTool):
        return pack_geometry(center=center, radius=tool.radius)
    if isinstance(tool, BoxTool):
        return _box_geometry(tool, center, dimension)
    axis = np.array([0.0, 0.0, 1.0]) if dimension < 3 or tool.axis is None else np.asarray(tool.axis, float)
    if isinstance(tool, MeshTool):
        return pack_geometry(center=center, axis=axis)
    if isinstance(tool, CylinderTool):
        return pack_geometry(center=center, axis=axis, radius=tool.radius)
    unit = axis / np.linalg.norm(axis)
    first, second = (np.eye(3)[0], np.eye(3)[1]) if dimension < 3 else in_plane_axes(unit)
    reference = np.cos(tool.angle) * first + np.sin(tool.angle) * second
    inradius = tool.radius * np.cos(np.pi / tool.sides)
    return pack_geometry(center=center, axis=axis, reference=reference, radius=inradius, sides=tool.sides)


def _box_geometry(tool: BoxTool, center: Array, dimension: int) -> Array:
    """Pack a block: its axis is one of the scene's, the two others follow in cyclic order; in 2D z has no end."""
    along = "xyz".index(tool.axis or "z")
    first, second = (along + 1) % 3, (along + 2) % 3
    half = np.full(3, np.inf)
    half[:dimension] = 0.5 * np.array(tool.size)
    unit = np.eye(3)
    reference = np.cos(tool.angle) * unit[first] + np.sin(tool.angle) * unit[second]
    return pack_geometry(center=center, axis=unit[along], reference=reference, half=half[[first, second, along]])
