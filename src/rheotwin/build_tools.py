"""Rigid tools of a scene made concrete: packed geometry, pose tables, drives and the nodes that can touch them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.setup import ANGLE, POSE_SIZE, ToolDrive
from rheotwin.constraints.motion import Motion, at_rest
from rheotwin.constraints.tools import BOX, CYLINDER, MESH, PLANE, PRISM, SPHERE, RigidTool, pack_geometry
from rheotwin.errors import RheotwinError
from rheotwin.meshing import boundary_nodes
from rheotwin.problem import ProblemBody
from rheotwin.scene import Scene
from rheotwin.tensors import padded
from rheotwin.tool_files import tool_surface_mesh

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

_SHAPES = {
    "bar": PLANE,
    "plane": PLANE,
    "sphere": SPHERE,
    "cylinder": CYLINDER,
    "prism": PRISM,
    "box": BOX,
    "mesh": MESH,
}


def build_tool(name: str, scene: Scene, bodies: tuple[ProblemBody, ...], points: Array) -> RigidTool:
    """Resolve a scene tool: only surface nodes of the bodies it acts on can touch it."""
    tool, dimension = scene.tools[name], scene.dimension
    wanted = set(tool.bodies) if tool.bodies is not None else {body.name for body in bodies}
    surface = [body.first_node + boundary_nodes(body.mesh) for body in bodies if body.name in wanted]
    candidates = np.concatenate(surface).astype(np.int64)
    if tool.shape == "bar":
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


def pose_motion(motion: Any, dimension: int, duration: float) -> Motion:
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


def tool_drive(drive: Any, scene: Scene) -> ToolDrive:
    """Turn a scene drive into masses, the table of forces with the weight in it, and the rates at the start."""
    dimension = scene.dimension
    free = drive.free_components(dimension)
    times = np.array(drive.times if drive.times is not None else (0.0,))
    force = np.zeros((len(times), POSE_SIZE))
    force[:, :dimension] = drive.mass * np.asarray(scene.gravity)
    if drive.force is not None:
        force[:, :dimension] += drive.force
    if drive.moment is not None:
        force[:, ANGLE] = drive.moment
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


def _under_bar(tool: Any, points: Array, dimension: int) -> Indices:
    """Indices of points (n, 3) in front of a bar's working face and within its footprint."""
    normal = np.zeros(3)
    normal[:dimension] = tool.normal
    normal /= np.linalg.norm(normal)
    center = np.zeros(3)
    center[:dimension] = tool.center
    relative = points - center
    tolerance = 1e-9 * float(np.max(np.ptp(points, axis=0)))
    inside = relative @ normal >= -tolerance
    widths = np.atleast_1d(tool.width)
    for axis, width in zip(bar_axes(normal, dimension), np.broadcast_to(widths, dimension - 1), strict=True):
        inside &= np.abs(relative @ axis) <= 0.5 * width + tolerance
    return np.flatnonzero(inside)


def bar_axes(normal: Array, dimension: int) -> tuple[Array, ...]:
    """Return the unit vectors along a bar's working face: none in 1D, one in 2D, two in 3D."""
    if dimension == 1:
        return ()
    if dimension == 2:
        return (np.array([-normal[1], normal[0], 0.0]),)
    return in_plane_axes(normal)


def tool_geometry(tool: Any, dimension: int) -> Array:
    """Pack a scene tool's centre, axis, working direction and sizes for the contact kernels."""
    center = np.asarray(tool.center, dtype=float)[:dimension]
    if tool.shape in ("bar", "plane"):
        normal = np.asarray(tool.normal, dtype=float)[:dimension]
        return pack_geometry(center=center, reference=normal, axis=normal if dimension == 3 else None)
    if tool.shape == "sphere":
        return pack_geometry(center=center, radius=tool.radius)
    if tool.shape == "box":
        return _box_geometry(tool, center, dimension)
    axis = np.array([0.0, 0.0, 1.0]) if dimension < 3 or tool.axis is None else np.asarray(tool.axis, float)
    if tool.shape == "mesh":
        return pack_geometry(center=center, axis=axis)
    if tool.shape == "cylinder":
        return pack_geometry(center=center, axis=axis, radius=tool.radius)
    unit = axis / np.linalg.norm(axis)
    first, second = (np.eye(3)[0], np.eye(3)[1]) if dimension < 3 else in_plane_axes(unit)
    reference = np.cos(tool.angle) * first + np.sin(tool.angle) * second
    inradius = tool.radius * np.cos(np.pi / tool.sides)
    return pack_geometry(center=center, axis=axis, reference=reference, radius=inradius, sides=tool.sides)


def _box_geometry(tool: Any, center: Array, dimension: int) -> Array:
    """Pack a block: its axis is one of the scene's, the two others follow in cyclic order; in 2D z has no end."""
    along = "xyz".index(tool.axis or "z")
    first, second = (along + 1) % 3, (along + 2) % 3
    half = np.full(3, np.inf)
    half[:dimension] = 0.5 * np.array(tool.size)
    unit = np.eye(3)
    reference = np.cos(tool.angle) * unit[first] + np.sin(tool.angle) * unit[second]
    return pack_geometry(center=center, axis=unit[along], reference=reference, half=half[[first, second, along]])
