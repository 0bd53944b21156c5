"""Tools made concrete: velocities integrated, drives with their weight, blocks and closed surfaces."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import meshio
import numpy as np
import pytest
import pyvista

from rheotwin.constraints import tool_gaps
from rheotwin.errors import RheotwinError
from rheotwin.problem import Problem
from rheotwin.tensors import padded
from rheotwin.tool_surface import drawn_tools

Build = Callable[..., Problem]
SOLID: dict[str, Any] = {
    "dimension": 3,
    "gravity": [0.0, 0.0, -9.81],
    "bodies.block.size": [0.2, 0.1, 0.1],
    "bodies.block.cells": [4, 2, 2],
    "probes": {},
}


def poses(problem_with: Build, motion: dict[str, Any], times: list[float]) -> np.ndarray:
    problem = problem_with({"tools.bar.motion": motion})
    return np.array([problem.tools[0].motion.at(time) for time in times])


def test_velocities_are_integrated_exactly(problem_with: Build) -> None:
    # held from each time to the next: 0.1 m/s up to 0.1 s, -0.3 m/s up to 0.3 s, then 0.2 m/s
    motion = {"times": [0.0, 0.1, 0.3], "velocity": [[0.0, 0.1], [0.0, -0.3], [0.5, 0.2]]}
    found = poses(problem_with, motion, [0.0, 0.05, 0.1, 0.2, 0.3, 0.4])
    expected = [0.0, 0.005, 0.01, 0.01 - 0.03, 0.01 - 0.06, 0.01 - 0.06 + 0.02]
    np.testing.assert_allclose(found[:, 1], expected, rtol=0, atol=1e-16)
    np.testing.assert_allclose(found[:, 0], [0, 0, 0, 0, 0, 0.05], rtol=0, atol=1e-16)


def test_a_roller_may_be_lowered_and_turn(problem_with: Build) -> None:
    motion = {"times": [0.0, 0.2], "displacement": [[0.0, 0.0], [0.0, -0.01]], "angular_velocity": [3.0, 5.0]}
    found = poses(problem_with, motion, [0.1, 0.2, 0.3, 0.4])
    np.testing.assert_allclose(found[:, 1], [-0.005, -0.01, -0.01, -0.01], atol=1e-16)
    np.testing.assert_allclose(found[:, 3], [0.3, 0.6, 1.1, 1.6], atol=1e-15)


def test_a_turn_alone_is_a_motion(problem_with: Build) -> None:
    found = poses(problem_with, {"times": [0.0, 0.2], "angle": [0.0, 1.0]}, [0.1, 0.4])
    np.testing.assert_allclose(found, [[0, 0, 0, 0.5], [0, 0, 0, 1.0]], atol=1e-16)


def test_a_drive_has_its_weight_in_the_table(problem_with: Build) -> None:
    drive = {
        "mass": 2.0,
        "moment_of_inertia": 0.5,
        "free": ["y", "angle"],
        "times": [0.0, 1.0],
        "force": [[0.0, -3.0], [0.0, -5.0]],
        "moment": [0.0, 0.4],
        "velocity": [0.0, -0.2],
        "angular_velocity": 1.5,
    }
    found = problem_with({"tools.bar.drive": drive, "tools.bar.motion": ...}).tools[0].drive
    assert found is not None
    assert found.free == (False, True, False, True)
    # gravity of the scene is 1 m/s2
    np.testing.assert_allclose(found.force.at(0.5), [0.0, -4.0 - 2.0, 0.0, 0.2])
    assert found.velocity == (0.0, -0.2, 0.0, 1.5)
    np.testing.assert_array_equal(found.inverse_masses, [0.0, 0.5, 0.0, 2.0])


def test_a_drive_is_free_in_all_axes_of_the_scene_but_does_not_turn(problem_with: Build) -> None:
    found = problem_with({"tools.bar.drive": {"mass": 2.0}, "tools.bar.motion": ...}).tools[0].drive
    assert found is not None
    assert found.free == (True, True, False, False)


@pytest.mark.parametrize("axis", ["x", "y", "z"])
def test_a_block_has_its_size_along_the_scenes_axes_whatever_it_turns_about(problem_with: Build, axis: str) -> None:
    size, center = np.array([0.06, 0.1, 0.2]), np.array([0.1, 0.05, 0.3])
    spec = {"shape": "box", "center": center.tolist(), "size": size.tolist(), "axis": axis}
    (tool,) = problem_with({**SOLID, "tools": {"it": spec}}).tools
    steps = np.vstack([np.diag(0.5 * size + 0.01), -np.diag(0.5 * size + 0.01)])
    gaps, normals = tool_gaps(tool, 0.0, center + steps)
    np.testing.assert_allclose(gaps, 0.01, atol=1e-15)
    np.testing.assert_allclose(normals, np.vstack([np.eye(3), -np.eye(3)]), atol=1e-15)


def test_a_block_turns_about_its_axis(problem_with: Build) -> None:
    spec = {"shape": "box", "center": [0.1, 0.05, 0.3], "size": [0.2, 0.1, 0.04], "axis": "y", "angle": np.pi / 2}
    (tool,) = problem_with({**SOLID, "tools": {"it": spec}}).tools
    # a quarter turn about y takes x to -z: the block now reaches 0.1 along z and 0.02 along x
    gaps, _ = tool_gaps(tool, 0.0, np.array([[0.1, 0.05, 0.42], [0.13, 0.05, 0.3]]))
    np.testing.assert_allclose(gaps, [0.02, 0.01], atol=1e-15)


WEDGE = [[0.0, 0.0], [0.06, 0.05], [-0.06, 0.05]]


@pytest.mark.parametrize("order", [1, -1], ids=["counter-clockwise", "clockwise"])
def test_a_polygon_is_a_tool_in_2d(problem_with: Build, order: int) -> None:
    spec = {"shape": "mesh", "center": [0.1, 0.15], "points": WEDGE[::order]}
    problem = problem_with({"tools": {"it": spec}})
    (tool,) = problem.tools
    below, above, inside = [0.1, 0.13, 0.0], [0.1, 0.21, 0.0], [0.1, 0.19, 0.0]
    gaps, normals = tool_gaps(tool, 0.0, np.array([below, above, inside]))
    np.testing.assert_allclose(gaps, [0.02, 0.01, -0.01], atol=1e-15)
    np.testing.assert_allclose(normals, [[0, -1, 0], [0, 1, 0], [0, 1, 0]], atol=1e-12)
    (drawn,) = drawn_tools(problem)
    surface = drawn.posed(np.zeros(4), padded(problem.points)).points
    np.testing.assert_allclose(np.abs(tool_gaps(tool, 0.0, surface)[0]), 0.0, atol=1e-15)


def test_a_polygon_may_be_concave_and_turned(problem_with: Build) -> None:
    notch = [[-0.1, 0.0], [0.1, 0.0], [0.1, 0.1], [0.02, 0.1], [0.02, 0.04], [-0.02, 0.04], [-0.02, 0.1], [-0.1, 0.1]]
    spec = {"shape": "mesh", "center": [0.1, 0.4], "points": notch, "rotation": np.pi}
    (tool,) = problem_with({"tools": {"it": spec}}).tools
    # upside down the notch opens below: its middle is 0.02 from either wall
    gaps, _ = tool_gaps(tool, 0.0, np.array([[0.1, 0.32, 0.0], [0.05, 0.35, 0.0]]))
    np.testing.assert_allclose(gaps, [0.02, -0.03], atol=1e-15)


def test_a_polygon_that_crosses_itself_is_refused(problem_with: Build) -> None:
    crossing = [[0.0, 0.0], [0.1, 0.1], [0.1, 0.0], [0.0, 0.1]]
    with pytest.raises(RheotwinError, match=r"tools\.it\.points: edges 0 and 2 meet"):
        problem_with({"tools": {"it": {"shape": "mesh", "center": [0.1, 0.3], "points": crossing}}})


@pytest.mark.parametrize(
    ("points", "words"),
    [
        ([[0.0, 0.0], [0.1, 0.0], [0.2, 0.0]], "all corners lie on a line"),
        ([[0.1, 0.1], [0.2, 0.3], [0.4, 0.7]], "all corners lie on a line"),
        ([[0.1, 0.1], [0.1, 0.1], [0.1, 0.1]], "corners 0 and 1 are the same point"),
        ([*WEDGE, WEDGE[0]], "corners 0 and 3 are the same point; name each corner once"),
        ([[0.0, 0.0], [0.2, 0.0], [0.1, 0.0], [0.1, 0.1]], r"edges \d and \d meet"),
        ([[0.0, 0.0], [0.2, 0.0], [0.1, 0.0], [0.3, 0.0]], r"edges \d and \d meet"),
    ],
)
def test_a_polygon_without_an_inside_is_refused(problem_with: Build, points: list[list[float]], words: str) -> None:
    with pytest.raises(RheotwinError, match=rf"tools\.it\.points: {words}"):
        problem_with({"tools": {"it": {"shape": "mesh", "center": [0.1, 0.3], "points": points}}})


@pytest.fixture
def ball_file(tmp_path: Path) -> Path:
    """A ball of radius 40 (mm) as STL with its triangles looking inwards."""
    ball = pyvista.Sphere(radius=40.0, theta_resolution=24, phi_resolution=24)
    triangles = ball.regular_faces[:, ::-1]
    meshio.Mesh(np.asarray(ball.points, float), [("triangle", triangles)]).write(tmp_path / "ball.stl")
    return tmp_path


@pytest.mark.parametrize("suffix", [".stl", ".obj", ".ply", ".vtk"])
def test_a_surface_file_is_a_tool_in_3d(problem_with: Build, ball_file: Path, suffix: str) -> None:
    meshio.read(ball_file / "ball.stl").write(ball_file / f"tool{suffix}")
    spec = {"shape": "mesh", "center": [0.1, 0.05, 0.2], "path": f"tool{suffix}", "scale": 1e-3}
    problem = problem_with({**SOLID, "tools": {"it": spec}}, base=ball_file)
    gaps, normals = tool_gaps(problem.tools[0], 0.0, np.array([[0.1, 0.05, 0.1], [0.1, 0.05, 0.2], [0.1, 0.05, 0.26]]))
    # facets of 15 by 7.8 degrees reach 1 - cos(7.5 deg) cos(3.9 deg) = 1.1 % inside the ball; z has vertices
    np.testing.assert_allclose(gaps, [0.06, -0.04 * (1 - 0.0055), 0.02], atol=0.04 * 0.0055)
    np.testing.assert_allclose(normals[[0, 2]], [[0, 0, -1], [0, 0, 1]], atol=1e-5)
    (drawn,) = drawn_tools(problem)
    surface = drawn.posed(np.zeros(4), padded(problem.points)).points
    assert np.abs(tool_gaps(problem.tools[0], 0.0, surface)[0]).max() < 1e-12


def test_a_surface_with_a_hole_is_refused(problem_with: Build, ball_file: Path) -> None:
    whole = meshio.read(ball_file / "ball.stl")
    meshio.Mesh(whole.points, [("triangle", whole.cells[0].data[1:])]).write(ball_file / "open.stl")
    spec = {"shape": "mesh", "center": [0.1, 0.05, 0.2], "path": "open.stl", "scale": 1e-3}
    with pytest.raises(RheotwinError, match=r"tools\.it\.path: .*not closed"):
        problem_with({**SOLID, "tools": {"it": spec}}, base=ball_file)


def test_a_surface_without_an_inside_is_refused(problem_with: Build, tmp_path: Path) -> None:
    """Two triangles back to back: closed, and as flat as it gets, far from the origin."""
    corners = np.array([[100.0, 0.0, 0.0], [100.1, 0.0, 0.0], [100.0, 0.1, 0.03]])
    meshio.Mesh(corners, [("triangle", np.array([[0, 1, 2], [2, 1, 0]]))]).write(tmp_path / "flat.vtk")
    spec = {"shape": "mesh", "center": [-100.0, 0.05, 0.2], "path": "flat.vtk"}
    with pytest.raises(RheotwinError, match=r"tools\.it\.path: flat\.vtk: its surface encloses no volume"):
        problem_with({**SOLID, "tools": {"it": spec}}, base=tmp_path)


OBJ = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 {last}\n"


@pytest.mark.parametrize(("last", "point"), [("9", 8), ("0", -1), ("-9", -10)])
def test_a_triangle_of_points_that_are_not_there_is_refused(
    problem_with: Build, tmp_path: Path, last: str, point: int
) -> None:
    (tmp_path / "tool.obj").write_text(OBJ.format(last=last))
    spec = {"shape": "mesh", "center": [0.1, 0.05, 0.2], "path": "tool.obj", "scale": 0.02}
    place = rf"tools\.it\.path: .*tool\.obj: a triangle refers to point {point} "
    with pytest.raises(RheotwinError, match=place):
        problem_with({**SOLID, "tools": {"it": spec}}, base=tmp_path)
    (tmp_path / "tool.obj").write_text(OBJ.format(last="4"))
    assert problem_with({**SOLID, "tools": {"it": spec}}, base=tmp_path).tools[0].surface is not None
