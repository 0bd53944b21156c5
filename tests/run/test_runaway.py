"""A tool that contact has thrown off ends the run as a node does; one that falls by itself may go as far as it will."""

from __future__ import annotations

import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from scipy.integrate import quad

from rheotwin.build import build_problem
from rheotwin.constraints.contact.setup import ToolDrive
from rheotwin.constraints.motion import Motion
from rheotwin.divergence import check_tools, own_way
from rheotwin.errors import EXIT_DIVERGED, Stopped
from rheotwin.loop import run_loop
from rheotwin.observers import Watched
from rheotwin.run import RunRequest, run_scene
from rheotwin.scene import Scene, scene_from_data
from rheotwin.schedule import plan

SCENE = """
schema = 1
dimension = 2
duration = 10.0
gravity = [0.0, -9.8]
[laws.rubber]
model = "voigt"
young = 1.0e4
poisson = 0.25
viscosity = 10.0
[bodies.block]
shape = "box"
size = [0.2, 0.1]
cells = [2, 1]
law = "rubber"
density = 1000.0
[supports.floor]
body = "block"
where = { side = "bottom" }
[contact]
law = "exact"
[tools.brick]
shape = "box"
center = [0.5, 0.2]
size = [0.14, 0.06]
[tools.brick.drive]
mass = 1.0
moment_of_inertia = 1.0
free = ["x", "y", "angle"]
[output]
interval = 5.0
probe_interval = 5.0
"""


def scene() -> Scene:
    return scene_from_data(tomllib.loads(SCENE))


def at(pose: list[float], time: float) -> Watched:
    """Return a run whose brick is in a pose at a time [s]."""
    problem = build_problem(scene(), None)
    simulation = SimpleNamespace(time=time, step_size=1e-3, tool_poses=lambda: np.array([pose]))
    return Watched(problem, cast(Any, simulation), 10.0)


def test_a_tool_that_passed_the_bodies_falls_on(tmp_path: Path) -> None:
    """Half a kilometre, twenty times further than a node may go."""
    outcome = run_scene(RunRequest(scene=scene(), solver="truss", folder=tmp_path / "run"))
    assert outcome.status == "complete", outcome.message


@pytest.mark.parametrize("pose", [[0.0, -490.0, 0.0, 0.0], [0.0, 490.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1e9]])
def test_what_its_own_forces_can_do_is_its_own(pose: list[float]) -> None:
    """Falling for ten seconds, thrown back to where it fell from and beyond, or turning."""
    check_tools(at(pose, 10.0))


@pytest.mark.parametrize("pose", [[0.0, 23.0, 0.0, 0.0], [-23.0, 0.0, 0.0, 0.0], [0.0, np.nan, 0.0, 0.0]])
def test_a_tool_that_was_thrown_off_is_named(pose: list[float]) -> None:
    """Further than a hundred diagonals of the block, 22.4 m, while it can have fallen 4.9 mm."""
    check_tools(at([0.0, 22.0, 0.0, 0.0], 0.03))
    with pytest.raises(Stopped, match=r"diverged at t = 0\.03 s at tools\.brick, (23|nan) m from where it started"):
        check_tools(at(pose, 0.03))


def test_the_run_loop_stops_for_it() -> None:
    """The brick is gone in the second step: the outcome says so, and that the run diverged."""
    problem = build_problem(scene(), None)

    class Thrown:
        step_size, stable_step, step_count = 0.01, np.inf, 0
        positions, velocities = problem.points, np.zeros_like(problem.points)

        @property
        def time(self) -> float:
            return self.step_size * self.step_count

        def advance(self, until: float, most: int) -> None:
            self.step_count += 1

        def tool_poses(self) -> np.ndarray:
            return np.array([[0.0, 1e3 if self.step_count > 1 else 0.0, 0.0, 0.0]])

    outcome = run_loop(Watched(problem, cast(Any, Thrown()), 10.0), plan(problem.scene), [])
    assert (outcome.status, outcome.exit_code, outcome.steps) == ("diverged", EXIT_DIVERGED, 2)
    assert "tools.brick" in outcome.message


@pytest.mark.parametrize("time", [0.0, 0.5, 1.5, 4.0])
def test_the_own_way_is_the_double_integral(time: float) -> None:
    """int (t - s) |F(s)|/M ds + |v0| t of forces along one axis; a driven component does not count."""
    table = np.zeros((3, 4))
    table[:, 0], table[:, 1] = [2.0, 6.0, 6.0], 1e6
    drive = ToolDrive(
        (True, False, False, False), 2.0, 0.0, Motion(np.array([0.0, 1.0, 2.0]), table), (-3.0, 9.0, 0, 0)
    )
    exact = quad(lambda s: (time - s) * drive.force.at(s)[0] / 2.0, 0.0, time, points=[1.0, 2.0])[0]
    assert own_way(drive, time) == pytest.approx(exact + 3.0 * time, rel=1e-9)
