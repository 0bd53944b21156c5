"""What a solver must be able to do for a contact, and what is recorded of tools that forces move."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from rheotwin.observers import Frames, Watched, probe_columns
from rheotwin.observers.outputs import probe_values
from rheotwin.problem import Problem
from rheotwin.record import RecordWriter
from rheotwin.schedule import Stop
from rheotwin.solver import ALL_CELLS, ALL_CONTACT, ALL_LAWS, SOLID_TOOLS, Capabilities, Simulation, tool_poses

Build = Callable[..., Problem]
POSE = np.array([0.01, 0.02, 0.0, 0.5])
FLYING: dict[str, Any] = {
    "tools.bar": ...,
    "tools.brick": {"shape": "box", "center": [0.1, 0.3], "size": [0.1, 0.1], "drive": {"mass": 1.0}},
}
ABLE = Capabilities(frozenset({2}), ALL_CELLS, ALL_LAWS, SOLID_TOOLS, contact=ALL_CONTACT)
SIMPLE = Capabilities(frozenset({2}), ALL_CELLS, ALL_LAWS, SOLID_TOOLS)

SECOND = {"shape": "box", "size": [0.1, 0.1], "cells": [1, 1], "law": "dough", "density": 1.0, "origin": [0.5, 0.0]}
ASKING: dict[str, tuple[dict[str, Any], set[str]]] = {
    "nothing": ({}, set()),
    "driven": (FLYING, {"tools.brick.drive", "contact.law"}),
    "friction at a tool": (
        {"tools.bar.contact": {"friction": 0.1}},
        {"tools.bar.contact.law", "tools.bar.contact.friction"},
    ),
    "bodies": (
        {"contact": {"law": "penalty", "stiffness": 1.0, "self": True}, "bodies.second": SECOND},
        {"contact.law", "contact.bodies", "contact.self"},
    ),
}


@pytest.mark.parametrize("name", ASKING)
def test_a_solver_is_asked_for_what_the_contact_needs(problem_with: Build, name: str) -> None:
    change, places = ASKING[name]
    problem = problem_with(change)
    assert {fault.place for fault in SIMPLE.shortfalls(problem)} == places
    assert ABLE.shortfalls(problem) == []


class Stand:
    """A simulation at rest with one tool, of which it says where it is."""

    time, step_count, step_size, stable_step = 0.3, 3, 0.1, 1.0

    def __init__(self, problem: Problem) -> None:
        self.positions, self.velocities = problem.points, np.zeros_like(problem.points)

    def tool_poses(self) -> np.ndarray:
        return POSE[None]

    def energy(self) -> dict[str, float]:
        return {"kinetic": 0.0, "stored": 0.0}

    def fields(self) -> dict[str, np.ndarray]:
        return {"displacement": np.zeros((len(self.positions), 3))}

    def reactions(self) -> dict[str, np.ndarray]:
        held = {"support.floor": np.zeros(2)}
        return {**held, "tool.brick": np.array([1.0, 2.0]), "tool.brick.moment": np.array([3.0])}


def watched(problem_with: Build) -> Watched:
    problem = problem_with(FLYING)
    return Watched(problem, cast(Simulation, Stand(problem)), problem.scene.duration)


def test_moments_and_angles_are_recorded_where_there_is_contact(problem_with: Build) -> None:
    run = watched(problem_with)
    columns, values = probe_columns(run.problem, ("kinetic", "stored")), probe_values(run)
    assert set(columns) == set(values)
    assert (columns["tool.brick.moment_z"], values["tool.brick.moment_z"]) == ("N m", 3.0)
    assert (columns["tool.brick.angle"], values["tool.brick.angle"]) == ("rad", 0.5)
    assert values["tool.brick.displacement_y"] == 0.02
    assert values["tool.brick.force_y"] == 2.0
    assert not any("moment" in name or "angle" in name for name in probe_columns(problem_with(), ()))


def test_a_driven_tool_is_drawn_where_the_simulation_has_it(problem_with: Build) -> None:
    drawn = []

    class Writer:
        manifest = SimpleNamespace(fields=("displacement",))

        def write_frame(self, time: float, positions: Any, fields: Any, tools: Any) -> None:
            drawn.extend(tools)

    run = watched(problem_with)
    frames = Frames(cast(RecordWriter, Writer()))
    frames.start(run)
    frames.stop(run, Stop(0.3, frame=True, probe=False, checkpoint=False))
    (surface,) = drawn
    np.testing.assert_allclose(surface.points.mean(axis=0), [0.11, 0.32, 0.0], atol=1e-15)
    # corner (-0.05, -0.05) of the brick turned by 0.5 rad
    c, s = np.cos(0.5), np.sin(0.5)
    np.testing.assert_allclose(surface.points[0], [0.11 + 0.05 * (s - c), 0.32 - 0.05 * (s + c), 0.0], atol=1e-15)


def test_without_a_word_of_the_simulation_tools_are_where_their_motion_has_them(problem_with: Build) -> None:
    class Plain:
        time = 0.1

    np.testing.assert_allclose(tool_poses(problem_with(), cast(Simulation, Plain())), [[0.0, -0.005, 0.0, 0.0]])
    assert tool_poses(problem_with({"tools": {}}), cast(Simulation, Plain())).shape == (0, 4)
