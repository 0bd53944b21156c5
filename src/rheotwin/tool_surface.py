"""The surfaces of rigid tools, for pictures and series: polygons in 2D, closed bodies in 3D."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.build_tools import bar_axes, polygon_corners, surface_triangles
from rheotwin.constraints.tools import AXIS, HALF, RADIUS, REFERENCE, RigidTool
from rheotwin.problem import Problem
from rheotwin.record import ToolSurface
from rheotwin.scene.tools import BarTool, BoxTool, CylinderTool, MeshTool, PrismTool, SphereTool, ToolSpec
from rheotwin.tensors import padded

ROUND_CORNERS = 48
"""Corners of a drawn circle."""


@dataclass(frozen=True)
class DrawnTool:
    """A tool's surface at rest, relative to its centre: points (n, 3) [m] and padded faces."""

    tool: RigidTool
    points: Array
    faces: Indices

    def posed(self, pose: Array, bodies: Array) -> ToolSurface:
        """Return the surface in a pose (4,) [m, m, m, rad], whatever the positions (N, 3) [m] of the bodies."""
        return ToolSurface(self.tool.name, _placed(self.tool, self.points, pose), self.faces)


@dataclass(frozen=True)
class DrawnPlane:
    """A plane, which has no end: drawn where bodies are now, were at rest, and where its own centre lies.

    So a conveyor stays in the picture, however far it has moved along itself.
    """

    tool: RigidTool
    axes: tuple[Array, ...]
    """Unit vectors along it at rest."""
    rest: Array
    """Positions of the bodies at rest (N, 3) [m]."""
    margin: float
    """How far it reaches beyond all of that [m]."""
    thickness: float
    """Thickness of the slab that is drawn [m]."""

    def posed(self, pose: Array, bodies: Array) -> ToolSurface:
        """Return the slab in a pose (4,) [m, m, m, rad] below positions (N, 3) [m] of the bodies."""
        tool = self.tool
        turned = rotation_about(tool.geometry[AXIS : AXIS + 3], pose[3])
        own = tool.geometry[:3]
        shown = np.vstack([bodies, self.rest, own]) - own - pose[:3]
        spans = []
        for axis in self.axes:
            along = shown @ turned @ axis
            spans.append((along.min() - self.margin, along.max() + self.margin))
        points, faces = _slab(tool.geometry[REFERENCE : REFERENCE + 3], self.axes, spans, self.thickness)
        return ToolSurface(tool.name, _placed(tool, points, pose), faces)


def _placed(tool: RigidTool, points: Array, pose: Array) -> Array:
    """Return points (n, 3) [m] relative to a tool's centre where its pose (4,) has them."""
    turned = points @ rotation_about(tool.geometry[AXIS : AXIS + 3], pose[3]).T
    return np.asarray(turned + tool.geometry[:3] + pose[:3])


def rotation_about(axis: Array, angle: float) -> Array:
    """Return the rotation matrix cos I + sin [a]x + (1 - cos) a a^T about a unit axis."""
    cross = np.array([[0.0, -axis[2], axis[1]], [axis[2], 0.0, -axis[0]], [-axis[1], axis[0], 0.0]])
    return np.asarray(np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * cross @ cross)


def drawn_tools(problem: Problem) -> list[DrawnTool | DrawnPlane]:
    """Return the drawable surfaces of all tools of a problem (none in 1D)."""
    if problem.dimension == 1:
        return []
    return [_drawn(problem.scene.tools[tool.name], tool, problem) for tool in problem.tools]


def _drawn(spec: ToolSpec, tool: RigidTool, problem: Problem) -> DrawnTool | DrawnPlane:
    if spec.shape == "plane":
        axes = bar_axes(tool.geometry[REFERENCE : REFERENCE + 3], problem.dimension)
        return DrawnPlane(tool, axes, padded(problem.points), 0.3 * problem.extent, 0.03 * problem.extent)
    return DrawnTool(tool, *_DRAWN[spec.shape](spec, tool, problem))


def _polygon(corners: Array) -> tuple[Array, Indices]:
    return corners, np.array([len(corners), *range(len(corners))], dtype=np.int64)


def _extruded(outline: Array, along: Array) -> tuple[Array, Indices]:
    """Close an outline (n, 3), moved by `along`, into a prism with n sides and two lids."""
    n = len(outline)
    faces: list[int] = [n, *range(n - 1, -1, -1), n, *range(n, 2 * n)]
    for k in range(n):
        faces += [4, k, (k + 1) % n, n + (k + 1) % n, n + k]
    return np.vstack([outline, outline + along]), np.array(faces, dtype=np.int64)


def _slab(
    normal: Array, axes: tuple[Array, ...], spans: Sequence[tuple[float, float]], height: float
) -> tuple[Array, Indices]:
    """Draw a working face, from least to largest along each of its axes [m], and a body of some height behind it."""
    back: Array = -height * normal
    low, high = spans[0][0] * axes[0], spans[0][1] * axes[0]
    if len(axes) == 1:
        return _polygon(np.array([low, high, high + back, low + back]))
    near, far = spans[1][0] * axes[1], spans[1][1] * axes[1]
    return _extruded(np.array([low + near, low + far, high + far, high + near]), back)


def _bar(spec: BarTool, tool: RigidTool, problem: Problem) -> tuple[Array, Indices]:
    normal = tool.geometry[REFERENCE : REFERENCE + 3]
    spans = [(-0.5 * width, 0.5 * width) for width in spec.widths(problem.dimension)]
    return _slab(normal, bar_axes(normal, problem.dimension), spans, spec.drawn_height)


def _ring(tool: RigidTool, radius: float, corners: int, start: Array) -> Array:
    """Return corners of a regular polygon across the tool's axis, the first along `start`."""
    axis = tool.geometry[AXIS : AXIS + 3]
    first = start - (start @ axis) * axis
    first /= np.linalg.norm(first)
    turns = 2.0 * np.pi * np.arange(corners) / corners
    second = np.cross(axis, first)
    return np.asarray(radius * (np.cos(turns)[:, None] * first + np.sin(turns)[:, None] * second))


def _sphere(spec: SphereTool, tool: RigidTool, problem: Problem) -> tuple[Array, Indices]:
    if problem.dimension == 2:
        return _polygon(_ring(tool, spec.radius, ROUND_CORNERS, np.array([1.0, 0.0, 0.0])))
    import pyvista

    ball = pyvista.Sphere(radius=spec.radius, theta_resolution=32, phi_resolution=24)
    return np.asarray(ball.points, dtype=float), np.asarray(ball.faces, dtype=np.int64)


def _rod(spec: CylinderTool | PrismTool, tool: RigidTool, problem: Problem) -> tuple[Array, Indices]:
    axis = tool.geometry[AXIS : AXIS + 3]
    if isinstance(spec, PrismTool):
        half = np.pi / spec.sides
        start = rotation_about(axis, half) @ tool.geometry[REFERENCE : REFERENCE + 3]
        outline = _ring(tool, float(tool.geometry[RADIUS]) / np.cos(half), spec.sides, start)
    else:
        outline = _ring(tool, spec.radius, ROUND_CORNERS, np.eye(3)[int(np.argmin(np.abs(axis)))])
    if problem.dimension == 2:
        return _polygon(outline)
    along = np.abs(axis) @ np.ptp(problem.points, axis=0)
    length = spec.length if spec.length is not None else 1.1 * along
    return _extruded(outline - 0.5 * length * axis, length * axis)


def _box(spec: BoxTool, tool: RigidTool, problem: Problem) -> tuple[Array, Indices]:
    axis, first = tool.geometry[AXIS : AXIS + 3], tool.geometry[REFERENCE : REFERENCE + 3]
    a, b, c = tool.geometry[HALF : HALF + 3]
    across = b * np.cross(axis, first)
    outline = np.array([-a * first - across, a * first - across, a * first + across, -a * first + across])
    return _polygon(outline) if problem.dimension == 2 else _extruded(outline - c * axis, 2.0 * c * axis)


def _mesh(spec: MeshTool, tool: RigidTool, problem: Problem) -> tuple[Array, Indices]:
    if problem.dimension == 2:
        return _polygon(padded(polygon_corners(tool.name, problem.scene)))
    vertices, triangles = surface_triangles(tool.name, problem.scene)
    return vertices, np.ascontiguousarray(np.insert(triangles, 0, 3, axis=1)).ravel()


_DRAWN: dict[str, Callable[..., tuple[Array, Indices]]] = {
    "bar": _bar,
    "sphere": _sphere,
    "cylinder": _rod,
    "prism": _rod,
    "box": _box,
    "mesh": _mesh,
}
