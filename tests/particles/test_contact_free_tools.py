"""Tools that forces move, on a block: momenta of block and tool together, and tools much lighter than what they hit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheotwin.problem import Problem
from rheotwin.solver import checked_options, find_solver

Build = Callable[..., Problem]
STIFF = {"model": "elastic", "young": 1e6, "poisson": 0.25}
SOFT = {"model": "voigt", "young": 2e5, "poisson": 0.25, "viscosity": 200.0}
CENTER, MASS, INERTIA = np.array([0.13, 0.16]), 10.0, 0.02
TOOLS: dict[str, dict[str, Any]] = {
    "box": {"shape": "box", "size": [0.1, 0.05], "angle": 0.3},
    "cylinder": {"shape": "cylinder", "radius": 0.04},
}
LAWS: dict[str, dict[str, Any]] = {
    "penalty with friction": {"law": "penalty", "stiffness": 1e5, "friction": 0.5},
    "exact": {"law": "exact"},
    "exact with friction": {"law": "exact", "friction": 0.5},
}


@pytest.mark.parametrize("shape", TOOLS)
@pytest.mark.parametrize("law", LAWS)
def test_block_and_free_tool_keep_their_momenta(make_problem: Build, start: Build, law: str, shape: str) -> None:
    """A tool falls on a loose block beside its middle and turns: sum x x m v of both and the spin are kept to 1e-12.

    Friction acts at the node, and on the tool at the same place: with the arm of the tool's surface, a gap away, it
    was 8e-3 at any step.
    """
    drive = {
        "mass": MASS,
        "moment_of_inertia": INERTIA,
        "free": ["x", "y", "angle"],
        "velocity": [0.2, -1.0],
    }
    problem = make_problem(
        2,
        STIFF,
        body={"size": [0.2, 0.1], "cells": [4, 2], "density": 1000.0},
        tools={"tool": {**TOOLS[shape], "center": CENTER.tolist(), "drive": drive}},
        contact=LAWS[law],
    )
    simulation: Any = start(problem, step=2e-4)
    mass, spins = problem.masses[:, None], []

    def momenta() -> np.ndarray:
        state = simulation.save()
        x, p = simulation.positions, mass * simulation.velocities
        place, velocity = CENTER + state["contact.tools.pose"][0, :2], state["contact.tools.velocity"][0]
        spins.append(velocity[3])
        q = MASS * velocity[:2]
        turning = np.sum(x[:, 0] * p[:, 1] - x[:, 1] * p[:, 0]) + place[0] * q[1] - place[1] * q[0]
        return np.array([*(p.sum(axis=0) + q), turning + INERTIA * velocity[3]])

    begin = momenta()
    for _ in range(20):
        simulation.advance(simulation.time + 0.01, 10**9)
        np.testing.assert_allclose(momenta(), begin, rtol=0.0, atol=1e-12 * MASS)
    assert np.ptp(spins) > 0.01, "it is turned"


@pytest.mark.parametrize(
    ("solver", "options"), [("truss", {}), ("shear-volume", {}), ("fem", {"stepper": "central-difference"})]
)
def test_a_light_tool_bounds_the_step(make_problem: Build, solver: str, options: dict[str, Any]) -> None:
    """A brick of 1 g on springs of 1e5 N/m, dropped by 0.1 mm: it never comes up again higher than it began.

    Its own K h^2/M decides; with the masses of the nodes alone it was thrown up 27 to 38 m.
    """
    drive = {"mass": 1e-3, "free": ["y"]}
    problem = make_problem(
        2,
        SOFT,
        body={"size": [0.2, 0.1], "cells": [4, 2], "density": 200.0},
        supports={"floor": {"body": "block", "where": {"side": "bottom"}}},
        tools={"brick": {"shape": "box", "center": [0.1, 0.1301], "size": [0.14, 0.06], "drive": drive}},
        gravity=[0.0, -9.8],
        contact={"law": "penalty", "stiffness": 1e5},
    )
    found = find_solver(solver)
    simulation: Any = found.start(problem, checked_options(found, options))
    assert simulation.stable_step < 2.0 / np.sqrt(3 * 1e5 / 1e-3), "three nodes bear it"
    heights = []
    for _ in range(50):
        simulation.advance(simulation.time + 2e-3, 10**9)
        heights.append(simulation.tool_poses()[0, 1])
    assert max(heights) < 0.0
    assert min(heights) > -1e-3


@pytest.mark.parametrize(
    ("solver", "options", "most"),
    [("truss", {}, 0.35), ("shear-volume", {}, 0.2), ("fem", {"stepper": "central-difference"}, 0.1)],
)
def test_bounces_of_a_block_give_no_energy(
    make_problem: Build, solver: str, options: dict[str, Any], most: float
) -> None:
    """e = 1 on an incline, hundreds of impacts of a stiff block: the energy in the mean stays what it was.

    At default steps positions and velocities are reported half a step apart, hence `most` of the energy at single
    times; the rebound of velocities that the kick has changed gained 97, 100 and 190 % and never lost it again.
    """
    problem = make_problem(
        2,
        STIFF,
        body={"size": [0.1, 0.1], "cells": [3, 3], "density": 1000.0, "origin": [0.0, 0.1], "rotation": 0.3},
        tools={"floor": {"shape": "plane", "center": [0.0, 0.0], "normal": [0.0, 1.0]}},
        gravity=[4.9, -8.487],
        contact={"law": "impulse", "restitution": 1.0},
        duration=1.5,
    )
    found, gravity = find_solver(solver), np.array([4.9, -8.487])
    simulation: Any = found.start(problem, checked_options(found, options))
    energies = []
    for _ in range(1500):
        parts = simulation.energy()
        height = float(np.sum(problem.masses[:, None] * gravity * simulation.positions[:, :2]))
        energies.append(parts["kinetic"] + parts["stored"] - height)
        simulation.advance(simulation.time + 1e-3, 10**9)
    gained, fall = np.array(energies) - energies[0], 8.5
    assert gained.max() < most * fall
    assert np.abs(gained[-300:].mean()) < 0.12 * fall


def test_a_tool_that_turns_easily_bounds_the_step(make_problem: Build, start: Build) -> None:
    """1/M + r^2/I: a plane of 1 kg m2 and one of 1e-6 kg m2 about its middle, 0.1 m from the nodes furthest out."""
    bounds = []
    for inertia in (1.0, 1e-6):
        drive = {"mass": 10.0, "moment_of_inertia": inertia, "free": ["y", "angle"]}
        problem = make_problem(
            2,
            SOFT,
            body={"size": [0.2, 0.1], "cells": [4, 2], "density": 200.0},
            tools={"lid": {"shape": "plane", "center": [0.1, 0.1001], "normal": [0.0, -1.0], "drive": drive}},
            contact={"law": "penalty", "stiffness": 1e5},
        )
        bounds.append(start(problem).stable_step)
    assert bounds[1] < 2.0 / np.sqrt(1e5 * 2 * 0.1**2 / 1e-6) < bounds[0], "two nodes at the ends turn it"
