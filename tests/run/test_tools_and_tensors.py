"""Drawn tools and small tensor algebra."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import pyvista
from hypothesis import given, settings
from hypothesis import strategies as st

from rheotwin.constraints.tools import tool_gaps
from rheotwin.problem import Problem
from rheotwin.tensors import INDEX_PAIRS, padded, von_mises
from rheotwin.tool_surface import DrawnPlane, drawn_tools, rotation_about

numbers = st.floats(-1e3, 1e3)
FLAT: dict[str, dict[str, Any]] = {
    "plane": {"shape": "plane", "center": [0.1, 0.1], "normal": [0.0, -1.0]},
    "bar": {"shape": "bar", "center": [0.1, 0.1], "normal": [0.6, -0.8], "width": 0.4},
    "sphere": {"shape": "sphere", "center": [0.1, 0.2], "radius": 0.1},
    "cylinder": {"shape": "cylinder", "center": [0.1, 0.2], "radius": 0.1},
    "prism": {"shape": "prism", "center": [0.1, 0.2], "radius": 0.1, "sides": 5, "angle": 0.3},
}
SOLID: dict[str, dict[str, Any]] = {
    "plane": {"shape": "plane", "center": [0.1, 0.05, 0.1], "normal": [0.0, 0.0, -1.0]},
    "bar": {"shape": "bar", "center": [0.1, 0.05, 0.1], "normal": [0.0, 0.6, -0.8], "width": [0.3, 0.4]},
    "sphere": {"shape": "sphere", "center": [0.1, 0.05, 0.2], "radius": 0.1},
    "cylinder": {"shape": "cylinder", "center": [0.1, 0.05, 0.2], "radius": 0.1, "axis": [0.0, 1.0, 0.0]},
    "prism": {
        "shape": "prism",
        "center": [0.1, 0.05, 0.2],
        "radius": 0.1,
        "axis": [0.6, 0.8, 0.0],
        "sides": 6,
        "angle": 0.2,
    },
}
SCENES = [(2, name) for name in FLAT] + [(3, name) for name in SOLID]


def tool_problem(problem_with: Callable[..., Problem], dimension: int, name: str, motion: Any = None) -> Problem:
    tool = dict((FLAT if dimension == 2 else SOLID)[name])
    if motion is not None:
        tool["motion"] = motion
    solid = {
        "dimension": 3,
        "gravity": [0.0, 0.0, 0.0],
        "bodies.block.size": [0.2, 0.1, 0.1],
        "bodies.block.cells": [2, 2, 2],
        "probes": {},
    }
    return problem_with({**(solid if dimension == 3 else {}), "tools": {"t": tool}})


@pytest.mark.parametrize(("dimension", "name"), SCENES)
@pytest.mark.parametrize("moving", [False, True], ids=["at rest", "moved and turned"])
def test_the_drawn_surface_is_where_contact_is_felt(
    problem_with: Callable[..., Problem], dimension: int, name: str, moving: bool
) -> None:
    # The gap seen by contact is zero on the working face: no drawn corner lies in front of it.
    ways = [[0.0] * dimension, [0.03, -0.05, 0.02][:dimension]]
    motion = {"times": [0.0, 0.4], "displacement": ways, "angle": [0.0, 0.7]}
    problem = tool_problem(problem_with, dimension, name, motion if moving else None)
    (drawn,) = drawn_tools(problem)
    surface = drawn.posed(drawn.tool.motion.at(0.4), padded(problem.points))
    gaps, _ = tool_gaps(problem.tools[0], 0.4, np.ascontiguousarray(surface.points))
    size = np.ptp(surface.points, axis=0).max()
    # a chord of 48 corners lies 0.2 % of the radius inside its circle, a ball drawn in single precision 1e-7
    assert gaps.max() <= 1e-6 * size
    assert gaps.max() >= -1e-6 * size, "some corner touches the working face"


@pytest.mark.parametrize("name", SOLID)
def test_solid_tools_are_closed_and_look_outwards(problem_with: Callable[..., Problem], name: str) -> None:
    problem = tool_problem(problem_with, 3, name)
    (drawn,) = drawn_tools(problem)
    surface = drawn.posed(np.zeros(4), problem.points)
    data = pyvista.PolyData(surface.points, surface.faces).triangulate().clean()
    assert data.is_manifold
    assert data.volume > 0.0
    outward = data.compute_normals(auto_orient_normals=False, consistent_normals=False, split_vertices=False)
    centers = data.cell_centers().points - data.center
    assert np.sum(np.asarray(outward.cell_data["Normals"]) * centers) > 0.0


@pytest.mark.parametrize("dimension", [2, 3])
def test_a_plane_is_drawn_where_bodies_are_however_far_it_has_run(
    problem_with: Callable[..., Problem], dimension: int
) -> None:
    """A conveyor that has run 3 m and tilts by 0.3: bodies 5 m away and at rest lie over what is drawn of it."""
    problem = tool_problem(problem_with, dimension, "plane")
    (drawn,) = drawn_tools(problem)
    assert isinstance(drawn, DrawnPlane)
    rest, along = padded(problem.points), rotation_about(drawn.tool.geometry[3:6], 0.3) @ drawn.axes[0]
    bodies = rest + 5.0 * along
    surface = drawn.posed(np.array([*(3.0 * along), 0.3]), bodies)
    for points in (rest, bodies):
        assert np.all(points @ along > (surface.points @ along).min())
        assert np.all(points @ along < (surface.points @ along).max())
    assert np.ptp(surface.points @ along) < 5.0 + 3.0 * problem.extent


@settings(max_examples=50)
@given(axis=st.tuples(numbers, numbers, numbers).filter(lambda a: np.linalg.norm(a) > 1e-3), angle=st.floats(-7, 7))
def test_rotations_keep_lengths_and_their_axis(axis: tuple[float, ...], angle: float) -> None:
    unit = np.array(axis) / np.linalg.norm(axis)
    turn = rotation_about(unit, angle)
    np.testing.assert_allclose(turn @ turn.T, np.eye(3), atol=1e-13)
    np.testing.assert_allclose(turn @ unit, unit, atol=1e-13)
    assert np.trace(turn) == pytest.approx(1.0 + 2.0 * np.cos(angle), abs=1e-13)


def test_a_quarter_turn_about_z_is_right_handed() -> None:
    np.testing.assert_allclose(rotation_about(np.array([0.0, 0.0, 1.0]), np.pi / 2) @ [1, 0, 0], [0, 1, 0], atol=1e-15)


def full(stress: np.ndarray) -> np.ndarray:
    matrix = np.zeros((3, 3))
    for value, (row, column) in zip(stress, INDEX_PAIRS, strict=True):
        matrix[row, column] = matrix[column, row] = value
    return matrix


@given(components=st.lists(numbers, min_size=6, max_size=6))
def test_von_mises_from_principal_stresses(components: list[float]) -> None:
    stress = np.array(components)
    a, b, c = np.linalg.eigvalsh(full(stress))
    expected = np.sqrt(0.5 * ((a - b) ** 2 + (b - c) ** 2 + (c - a) ** 2))
    # cancellation in the deviator: eps of the largest component
    assert von_mises(stress) == pytest.approx(expected, rel=1e-10, abs=1e-10)


def test_von_mises_of_pure_states() -> None:
    states = np.array([[5.0, 0, 0, 0, 0, 0], [2, 2, 2, 0, 0, 0], [0, 0, 0, 0, 3, 0]])
    assert von_mises(states) == pytest.approx([5.0, 0.0, 3.0 * np.sqrt(3.0)])
