"""Gaps of rigid tools against formulas of their own; normals and rates in time against differences."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from rheotwin.constraints import Motion, RigidTool, tool_gaps
from rheotwin.constraints.stabilisation import gap_motion
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


def plane_gap(points: Array, axis: Array) -> Array:
    return from_center(points) @ Rotation.from_rotvec(POSE[3] * axis).apply(NORMAL)


def prism_gap(points: Array) -> Array:
    back = Rotation.from_rotvec(-POSE[3] * UNIT_AXIS).apply(from_center(points))
    other = np.cross(UNIT_AXIS, SIDE)
    turns = 2 * np.pi * np.arange(SIDES) / SIDES
    return np.max([np.cos(t) * back @ SIDE + np.sin(t) * back @ other for t in turns], axis=0) - RADIUS


def box_gap(points: Array) -> Array:
    back = Rotation.from_rotvec(-POSE[3] * UNIT_AXIS).apply(from_center(points))
    own = back @ np.transpose([SIDE, np.cross(UNIT_AXIS, SIDE), UNIT_AXIS])
    outside = np.linalg.norm(own - np.clip(own, -HALF, HALF), axis=1)
    return np.where(outside > 0, outside, -np.min(HALF - np.abs(own), axis=1))


GAPS: dict[str, Callable[[Array], Array]] = {
    "plane": lambda points: plane_gap(points, np.array([0.0, 0.0, 1.0])),
    "plane that turns about another axis": lambda points: plane_gap(points, UNIT_AXIS),
    "sphere": lambda points: np.linalg.norm(from_center(points), axis=1) - RADIUS,
    "cylinder": lambda points: np.linalg.norm(np.cross(from_center(points), UNIT_AXIS), axis=1) - RADIUS,
    "prism": prism_gap,
    "box": box_gap,
}
POINTS = np.random.default_rng(11).uniform(-2, 2, (200, 3))


@pytest.mark.parametrize("name", TOOLS)
def test_gap_and_its_unit_gradient(name: str) -> None:
    gaps, normals = tool_gaps(TOOLS[name], 0.0, POINTS)
    np.testing.assert_allclose(gaps, GAPS[name](POINTS), atol=1e-14)
    assert (gaps < 0).any() and (gaps > 0).any()
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0, rtol=1e-14)
    h = 1e-6
    slopes = [(GAPS[name](POINTS + h * axis) - GAPS[name](POINTS - h * axis)) / (2 * h) for axis in np.eye(3)]
    np.testing.assert_allclose(normals, np.transpose(slopes), atol=1e-8)


@pytest.mark.parametrize("name", ["plane", "plane that turns about another axis", "sphere", "cylinder", "prism"])
def test_rates_of_gaps_against_differences(name: str) -> None:
    """Points on curved paths: g'' = n.x'' + second. Differences at h = 1e-3 are off by O(h^2) of O(10) derivatives."""
    poses = np.array([[0.0, 0.0, 0.0, 0.0], [0.4, -0.6, 0.3, 0.9]])
    tool = replace(TOOLS[name], motion=Motion(np.array([0.0, 2.0]), poses, smooth=True))
    start, velocity, acceleration = np.random.default_rng(3).uniform(-2, 2, (3, 6, 3))
    start += 2.0 * np.sign(start)

    def path(time: float) -> np.ndarray:
        return start + velocity * time + 0.5 * acceleration * time**2

    time, h = 0.8, 1e-3
    low, middle, high = (tool_gaps(tool, time + k * h, path(time + k * h))[0] for k in (-1, 0, 1))
    found = gap_motion(tool, time, path(time), velocity + acceleration * time)
    second = np.sum(found.normal * acceleration, axis=1) + found.second
    np.testing.assert_allclose(found.gap, middle, rtol=1e-15)
    np.testing.assert_allclose(found.rate, (high - low) / (2 * h), atol=2e-5)
    np.testing.assert_allclose(second, (high - 2 * middle + low) / h**2, atol=2e-5)
    assert np.abs(second).max() > 1.0


def test_gap_follows_the_motion_with_finite_normals_and_directions_of_length_one() -> None:
    """A sphere half way along its path has half the displacement."""
    path = Motion(np.array([0.0, 2.0]), np.array([np.zeros(4), [2.0, 0.0, 0.0, 0.0]]))
    expected = np.linalg.norm(POINTS - CENTER - [1.0, 0.0, 0.0], axis=1) - RADIUS
    np.testing.assert_allclose(tool_gaps(replace(TOOLS["sphere"], motion=path), 1.0, POINTS)[0], expected, atol=1e-14)
    for name in ("sphere", "cylinder"):
        gaps, normals = tool_gaps(TOOLS[name], 0.0, (CENTER + POSE[:3])[None, :])
        assert gaps[0] == pytest.approx(-RADIUS) and np.linalg.norm(normals[0]) == pytest.approx(1.0)
    packed = pack_geometry(center=np.zeros(3), axis=AXIS, reference=np.array([0.0, 3.0, 4.0]))
    np.testing.assert_allclose(packed[3:6], UNIT_AXIS, rtol=1e-15)
    np.testing.assert_allclose(packed[6:9], [0.0, 0.6, 0.8], rtol=1e-15)


def test_two_dimensional_tools() -> None:
    """In 2D the third coordinate is zero and the axis is z: a disc, a turned line, a square on its edge."""
    flat, origin = np.array([[2.0, 0.0, 0.0], [0.0, 3.0, 0.0]]), np.zeros(2)

    def seen(shape: int, pose: Array, **geometry: object) -> tuple[Array, Array]:
        packed = pack_geometry(center=origin, **geometry)  # type: ignore[arg-type]
        return tool_gaps(RigidTool("tool", shape, packed, Motion(np.zeros(1), pose[None]), np.zeros(0, int)), 0.0, flat)

    np.testing.assert_allclose(seen(CYLINDER, np.zeros(4), radius=1.0)[0], [1.0, 2.0], atol=1e-15)
    gaps, normals = seen(PLANE, np.array([0.0, 0.0, 0.0, np.pi / 2]), reference=np.array([1.0, 0.0]))
    np.testing.assert_allclose(gaps, [0.0, 3.0], atol=1e-15)
    np.testing.assert_allclose(normals, [[0, 1, 0]] * 2, atol=1e-15)
    gaps, _ = seen(PRISM, np.zeros(4), reference=np.array([1.0, 1.0]), radius=1.0, sides=4)
    np.testing.assert_allclose(gaps, [2 / np.sqrt(2) - 1, 3 / np.sqrt(2) - 1], atol=1e-14)
