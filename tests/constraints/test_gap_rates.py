"""First and second time derivative of gaps against differences of the gap itself, for every shape of tool."""

import numpy as np
import pytest

from rheotwin.constraints import Motion, RigidTool, tool_gaps
from rheotwin.constraints.gap_rates import gap_motion
from rheotwin.constraints.tools import CYLINDER, PLANE, PRISM, SPHERE, pack_geometry

SLANTED = np.array([0.3, 1.0, -0.2])
SHAPES = {
    "plane": (PLANE, {"reference": np.array([0.2, -1.0, 0.4])}),
    "plane, slanted axis": (PLANE, {"reference": np.array([0.2, -1.0, 0.4]), "axis": SLANTED}),
    "sphere": (SPHERE, {"radius": 0.7}),
    "cylinder": (CYLINDER, {"radius": 0.7, "axis": SLANTED}),
    "prism": (PRISM, {"radius": 0.5, "sides": 5, "axis": SLANTED, "reference": np.array([1.0, -0.3, 0.0])}),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_against_differences(shape: str) -> None:
    """Points on curved paths: g'' = n.x'' + second. Differences at h = 1e-3 are off by O(h^2) of O(10) derivatives."""
    kind, geometry = SHAPES[shape]
    poses = np.array([[0.0, 0.0, 0.0, 0.0], [0.4, -0.6, 0.3, 0.9]])
    tool = RigidTool(
        "tool",
        kind,
        pack_geometry(center=np.array([0.1, 0.2, 0.3]), **geometry),
        Motion(np.array([0.0, 2.0]), poses, smooth=True),
        np.arange(6),
    )
    random = np.random.default_rng(3)
    start, velocity, acceleration = random.uniform(-2, 2, (3, 6, 3))
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
