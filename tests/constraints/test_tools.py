"""Gaps of rigid tools against formulas of their own, and normals against numerical gradients."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from rheotwin.constraints import Motion, RigidTool, at_rest, tool_gaps
from rheotwin.constraints.tools import BOX, CYLINDER, PLANE, PRISM, SPHERE, pack_geometry

Array = np.ndarray
CENTER = np.array([0.3, -0.2, 0.5])
AXIS = np.array([1.0, 2.0, -0.5])
UNIT_AXIS = AXIS / np.linalg.norm(AXIS)
SIDE = np.cross(UNIT_AXIS, [0.0, 0.0, 1.0])
SIDE /= np.linalg.norm(SIDE)
POSE = np.array([0.1, 0.4, -0.3, 0.7])
NORMAL = np.array([1.0, -1.0, 2.0]) / np.sqrt(6.0)
RADIUS, SIDES = 0.8, 5
HALF = np.array([0.9, 0.5, 0.7])


def tool(shape: int, pose: Array = POSE, **geometry: object) -> RigidTool:
    motion = Motion(np.zeros(1), pose[None, :])
    packed = pack_geometry(center=CENTER, **geometry)  # type: ignore[arg-type]
    return RigidTool("tool", shape, packed, motion, np.zeros(0, np.int64))


TOOLS = {
    "plane": tool(PLANE, reference=NORMAL),
    "plane that turns about another axis": tool(PLANE, reference=NORMAL, axis=AXIS),
    "sphere": tool(SPHERE, radius=RADIUS),
    "cylinder": tool(CYLINDER, radius=RADIUS, axis=AXIS),
    "prism": tool(PRISM, radius=RADIUS, axis=AXIS, reference=SIDE, sides=SIDES),
    "box": tool(BOX, half=HALF, axis=AXIS, reference=SIDE),
}


def from_center(points: Array) -> Array:
    return points - CENTER - POSE[:3]


def plane_gap(points: Array) -> Array:
    turned = Rotation.from_rotvec(POSE[3] * np.array([0.0, 0.0, 1.0])).apply(NORMAL)
    return from_center(points) @ turned


def turning_plane_gap(points: Array) -> Array:
    return from_center(points) @ Rotation.from_rotvec(POSE[3] * UNIT_AXIS).apply(NORMAL)


def cylinder_gap(points: Array) -> Array:
    """Distance from the axis as |y x a|."""
    return np.linalg.norm(np.cross(from_center(points), UNIT_AXIS), axis=1) - RADIUS


def prism_gap(points: Array) -> Array:
    """In the tool's own frame: the farthest of the planes of a regular polygon."""
    back = Rotation.from_rotvec(-POSE[3] * UNIT_AXIS).apply(from_center(points))
    other = np.cross(UNIT_AXIS, SIDE)
    turns = 2 * np.pi * np.arange(SIDES) / SIDES
    return np.max([np.cos(t) * back @ SIDE + np.sin(t) * back @ other for t in turns], axis=0) - RADIUS


def box_gap(points: Array) -> Array:
    """Distance to the nearest point of the block, of inner points the nearest of its six faces."""
    back = Rotation.from_rotvec(-POSE[3] * UNIT_AXIS).apply(from_center(points))
    own = back @ np.transpose([SIDE, np.cross(UNIT_AXIS, SIDE), UNIT_AXIS])
    outside = np.linalg.norm(own - np.clip(own, -HALF, HALF), axis=1)
    return np.where(outside > 0, outside, -np.min(HALF - np.abs(own), axis=1))


GAPS: dict[str, Callable[[Array], Array]] = {
    "plane": plane_gap,
    "plane that turns about another axis": turning_plane_gap,
    "sphere": lambda points: np.linalg.norm(from_center(points), axis=1) - RADIUS,
    "cylinder": cylinder_gap,
    "prism": prism_gap,
    "box": box_gap,
}


@pytest.fixture
def points() -> Array:
    return np.random.default_rng(11).uniform(-2, 2, (200, 3))


@pytest.mark.parametrize("name", TOOLS)
def test_gap(name: str, points: Array) -> None:
    gaps, _ = tool_gaps(TOOLS[name], 0.0, points)
    np.testing.assert_allclose(gaps, GAPS[name](points), atol=1e-14)
    assert (gaps < 0).any()
    assert (gaps > 0).any()


@pytest.mark.parametrize("name", TOOLS)
def test_normal_is_the_unit_gradient_of_the_gap(name: str, points: Array) -> None:
    _, normals = tool_gaps(TOOLS[name], 0.0, points)
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0, rtol=1e-14)
    h = 1e-6
    slopes = [(GAPS[name](points + h * axis) - GAPS[name](points - h * axis)) / (2 * h) for axis in np.eye(3)]
    np.testing.assert_allclose(normals, np.transpose(slopes), atol=1e-8)


def test_gap_follows_the_motion(points: Array) -> None:
    """A sphere half way along its path has half the displacement."""
    path = Motion(np.array([0.0, 2.0]), np.array([np.zeros(4), [2.0, 0.0, 0.0, 0.0]]))
    ball = RigidTool("ball", SPHERE, pack_geometry(center=CENTER, radius=RADIUS), path, np.zeros(0, np.int64))
    expected = np.linalg.norm(points - CENTER - [1.0, 0.0, 0.0], axis=1) - RADIUS
    np.testing.assert_allclose(tool_gaps(ball, 1.0, points)[0], expected, atol=1e-14)


def test_two_dimensional_tools() -> None:
    """In 2D the third coordinate is zero and the axis is z: a disc, a turned line, a square on its edge."""
    flat = np.array([[2.0, 0.0, 0.0], [0.0, 3.0, 0.0]])
    disc = RigidTool("disc", CYLINDER, pack_geometry(center=np.zeros(2), radius=1.0), at_rest(4), np.zeros(0, int))
    np.testing.assert_allclose(tool_gaps(disc, 0.0, flat)[0], [1.0, 2.0], atol=1e-15)
    quarter = Motion(np.zeros(1), np.array([[0.0, 0.0, 0.0, np.pi / 2]]))
    line = pack_geometry(center=np.zeros(2), reference=np.array([1.0, 0.0]))
    turned = RigidTool("line", PLANE, line, quarter, np.zeros(0, int))
    gaps, normals = tool_gaps(turned, 0.0, flat)
    np.testing.assert_allclose(gaps, [0.0, 3.0], atol=1e-15)
    np.testing.assert_allclose(normals, [[0, 1, 0]] * 2, atol=1e-15)
    square = pack_geometry(center=np.zeros(2), reference=np.array([1.0, 1.0]), radius=1.0, sides=4)
    gaps, _ = tool_gaps(RigidTool("square", PRISM, square, at_rest(4), np.zeros(0, int)), 0.0, flat)
    np.testing.assert_allclose(gaps, [2 / np.sqrt(2) - 1, 3 / np.sqrt(2) - 1], atol=1e-14)


def test_the_very_centre_of_a_round_tool_has_a_finite_normal() -> None:
    for name in ("sphere", "cylinder"):
        gaps, normals = tool_gaps(TOOLS[name], 0.0, (CENTER + POSE[:3])[None, :])
        assert gaps[0] == pytest.approx(-RADIUS)
        assert np.linalg.norm(normals[0]) == pytest.approx(1.0)


def test_directions_are_normalised() -> None:
    packed = pack_geometry(center=np.zeros(3), axis=AXIS, reference=np.array([0.0, 3.0, 4.0]))
    np.testing.assert_allclose(packed[3:6], UNIT_AXIS, rtol=1e-15)
    np.testing.assert_allclose(packed[6:9], [0.0, 0.6, 0.8], rtol=1e-15)
