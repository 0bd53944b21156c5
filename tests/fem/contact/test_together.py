"""Contact with all else at once: links, tools from a mesh, driven tools, restarts, and lists that grow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import meshio
import numpy as np
import pytest

from rheotwin.constraints.contact import search
from rheotwin.problem import Problem
from rheotwin.solver import Simulation

Data = dict[str, Any]
Scene = Callable[..., Data]
Start = Callable[..., Simulation]

RUBBER: Data = {"model": "voigt", "young": 2.0e4, "poisson": 0.25, "viscosity": 200.0}
FLOOR: Data = {"floor": {"shape": "plane", "center": [0.0, 0.0], "normal": [0.0, 1.0]}}


def block(x: float, y: float, **more: Any) -> Data:
    return {"size": [0.1, 0.1], "cells": [3, 3], "origin": [x, y], "density": 300.0, **more}


def plate(**more: Any) -> Data:
    drive = {"mass": 0.5, "moment_of_inertia": 5e-4, "free": ["x", "y", "angle"], **more}
    return {"shape": "box", "center": [0.05, 0.107], "size": [0.1, 0.01], "drive": drive}


@pytest.fixture
def linked(two_blocks: Scene) -> Data:
    """A block on the floor, a plate on it, a second block that falls on the plate, and a rod between the blocks."""
    ends = [{"body": "lower", "at": [0.1, 0.1]}, {"body": "upper", "at": [0.12, 0.2162]}]
    return two_blocks(
        RUBBER,
        {"law": "exact", "friction": 0.4},
        lower=block(0.0, 0.0),
        upper=block(0.02, 0.1162),
        tools=FLOOR | {"plate": plate()},
        links={"rod": {"between": ends}},
        gravity=[0.0, -9.8],
        duration=0.1,
    )


def test_a_rod_keeps_its_length_beside_contact(
    linked: Data, problem_of: Callable[[Data], Problem], start: Start
) -> None:
    """Both are held at the end of each step, and what the two and the plate weigh comes down on the floor."""
    problem = problem_of(linked)
    simulation = start(problem, step=1e-3)
    nodes = problem.links[0].nodes[0]
    rest, touched, impulse = np.linalg.norm(np.diff(problem.points[nodes], axis=0)), 0, 0.0
    for k in range(1, 101):
        simulation.advance(1e-3 * k, 1)
        length = np.linalg.norm(np.diff(simulation.positions[nodes], axis=0))
        assert length == pytest.approx(rest, rel=1e-9)
        assert simulation.positions[:, 1].min() > -1e-9
        impulse -= 1e-3 * simulation.reactions()["tool.floor"][1]
        touched += bool(np.any(simulation.fields()["contact_force"][-16:]))
    assert touched > 10
    assert simulation.statistics()["contacts_loose"] == 0
    momentum = problem.masses @ simulation.velocities[:, 1]
    # What the floor gave and gravity took is what moves, but for the plate, which has a twelfth of the mass.
    weight = 9.8 * (float(problem.masses.sum()) + 0.5)
    assert impulse - 0.1 * weight == pytest.approx(momentum, abs=0.02 * weight * 0.1)


@pytest.mark.parametrize("stepper", ["midpoint", "central-difference"])
@pytest.mark.parametrize("law", [{"law": "exact", "friction": 0.4}, {"law": "penalty", "stiffness": 4e4}])
def test_a_restart_amid_bodies_and_driven_tools_is_exact(
    law: Data, stepper: str, two_blocks: Scene, start: Start
) -> None:
    """N + N steps are 2N, bit for bit, with contact of bodies, a plate that is free and the lists of the search."""
    scene = two_blocks(
        RUBBER,
        law,
        lower=block(0.0, 0.0),
        upper=block(0.05, 0.1003),
        tools=FLOOR | {"plate": plate() | {"center": [0.02, 0.1053], "size": [0.04, 0.01]}},
        gravity=[0.0, -9.8],
        duration=0.06,
    )
    options = {"step": 1e-3 if stepper == "midpoint" else 2e-4, "stepper": stepper}
    whole, first, second = (start(scene, **options) for _ in range(3))
    first.advance(0.03, 10**9)
    second.restore(first.save())
    for simulation in (whole, second):
        simulation.advance(0.06, 10**9)
    assert np.any(whole.fields()["contact_force"][-16:])
    expected = {**whole.save(), **whole.fields(), **whole.reactions()}
    found = {**second.save(), **second.fields(), **second.reactions()}
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert np.asarray(found[name]).tobytes() == np.asarray(array).tobytes(), name


def test_a_tool_from_a_mesh_presses_like_the_box_it_is(tmp_path: Path, scene: Scene, start: Start) -> None:
    """A triangulated box and the box itself, with friction, beside a second body that touches the first."""
    corners = np.array([[x, y, z] for x in (-0.06, 0.06) for y in (-0.06, 0.06) for z in (-0.02, 0.02)])
    quads = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    triangles = [t for a, b, c, d in quads for t in ([a, b, c], [a, c, d])]
    path = tmp_path / "box.stl"
    meshio.write_points_cells(path, corners, [("triangle", np.array(triangles))])
    shapes = {"box": {"shape": "box", "size": [0.12, 0.12, 0.04]}, "mesh": {"shape": "mesh", "path": str(path)}}
    motion = {"times": [0.0, 0.5], "displacement": [[0.0, 0.0, 0.0], [0.002, 0.0, -0.012]]}
    forces = {}
    for name, shape in shapes.items():
        tool = shape | {"center": [0.05, 0.05, 0.122], "motion": motion}
        data = scene(
            RUBBER,
            size=[0.1, 0.1, 0.05],
            cells=[2, 2, 1],
            density=300.0,
            duration=0.5,
            tools={"press": tool},
            contact={"law": "exact", "friction": 0.3},
        )
        data["bodies"]["upper"] = data["bodies"]["block"] | {"origin": [0.01, 0.01, 0.05], "size": [0.08, 0.08, 0.05]}
        data["supports"] = {"floor": {"body": "block", "where": {"side": "bottom"}}}
        simulation = start(data, step=0.02)
        simulation.advance(0.5, 25)
        forces[name] = simulation.reactions()
        assert simulation.statistics()["contacts_loose"] == 0
    np.testing.assert_allclose(forces["mesh"]["tool.press"], forces["box"]["tool.press"], rtol=1e-6, atol=1e-6)
    assert forces["box"]["tool.press"][2] > 10.0


def test_lips_meet_in_central_differences(mouth: Path, start: Start) -> None:
    """The slot closes under a push at its free end, and its lips do not pass: nothing else holds them."""
    push = {"times": [0.0, 0.4], "displacement": [[0.0, 0.0], [0.0, -0.08]]}
    jaw = {"body": "jaw", "where": {"box": {"x": [0.75, 1.0], "y": [1.0, 1.0]}}, "fix": ["y"], "motion": push}
    data = {
        "schema": 1,
        "dimension": 2,
        "duration": 0.4,
        "laws": {"stuff": {"model": "voigt", "young": 1e4, "poisson": 0.3, "viscosity": 20.0}},
        "bodies": {"jaw": {"shape": "file", "path": str(mouth), "law": "stuff", "density": 100.0}},
        "supports": {"floor": {"body": "jaw", "where": {"side": "bottom"}}, "jaw": jaw},
        "contact": {"self": True},
        "output": {"interval": 0.4},
    }
    simulation = start(data, stepper="central-difference")
    rest = simulation.positions.copy()
    upper, lower = (np.flatnonzero((rest[:, 0] > 0.35) & np.isclose(rest[:, 1], y)) for y in (0.5, 0.45))
    simulation.advance(0.4, 10**9)
    x, force = simulation.positions, simulation.fields()["contact_force"]
    lower = lower[np.argsort(x[lower, 0])]
    above = x[upper[x[upper, 0] <= x[lower[-1], 0]]]
    gap = above[:, 1] - np.interp(above[:, 0], x[lower, 0], x[lower, 1])
    assert gap.min() > -1e-4
    assert force[upper, 1].max() > 0.0
    np.testing.assert_allclose(force.sum(axis=0), 0.0, atol=1e-9 * np.abs(force).max())


def test_lists_that_had_to_grow_change_nothing(
    two_blocks: Scene, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With room for one neighbour only central differences stop within a run, make room and go on: bit for bit."""
    scene = two_blocks(
        RUBBER, {"law": "penalty", "stiffness": 4e4}, lower=block(0.0, 0.0), upper=block(0.03, 0.1003),
        tools=FLOOR, gravity=[0.0, -9.8], duration=0.03,
    )  # fmt: skip
    found = []
    for room in (search.ROOM, 0):
        monkeypatch.setattr(search, "ROOM", room)
        simulation = start(scene, stepper="central-difference", step=2e-4)
        simulation.advance(0.03, 10**9)
        found.append(simulation)
    assert np.any(found[0].fields()["contact_force"][-16:])
    assert found[0].positions.tobytes() == found[1].positions.tobytes()
