"""Rigid links in finite-element steps: with supports that move, tools, no inertia, and where there are none."""

from typing import Any

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.solver import Simulation
from rheotwin.validation.checks.running import Data, path, problem_of, start

ELASTIC = {"model": "elastic", "young": 300.0, "poisson": 0.35}
UP = path([0.0, 1.0], [[0.0, 0.0], [0.0, 0.3]]) | {"interpolation": "smooth"}


def two_blocks(**more: Any) -> Data:
    """Return two blocks side by side, held at their bottoms and joined by a rod from top to top."""
    box = {"shape": "box", "size": [2.0, 1.0], "cells": [4, 2], "law": "stuff", "density": 1e-3}
    return {
        "schema": 1,
        "dimension": 2,
        "duration": 1.0,
        "laws": {"stuff": ELASTIC},
        "bodies": {"left": box, "right": box | {"origin": [3.0, 0.0]}},
        "supports": {name: {"body": name, "where": {"side": "bottom"}} for name in ("left", "right")},
        "links": {"rod": {"between": [{"body": "left", "at": [2.0, 1.0]}, {"body": "right", "at": [3.0, 1.0]}]}},
        "forces": {"pull": {"body": "right", "where": {"nearest": [5.0, 1.0]}, "total": [2.0, 0.0]}},
        "output": {"interval": 1.0},
        **more,
    }


def length(simulation: Simulation, problem: Any) -> float:
    ends = simulation.positions[problem.links[0].nodes[0]]
    return float(np.linalg.norm(ends[1] - ends[0]))


@pytest.mark.parametrize("stepper", ["quasi-static", "static"])
def test_the_rod_carries_the_force_between_blocks(stepper: str) -> None:
    problem = problem_of(two_blocks())
    simulation = start(problem, stepper=stepper, step=1.0)
    simulation.advance(1.0, 1)
    found = simulation.reactions()
    assert length(simulation, problem) == pytest.approx(1.0, rel=1e-12)
    tension = float(found["link.rod"][0])
    ends = simulation.positions[problem.links[0].nodes[0]]
    # what the left support gives up is what the rod brings: the left block has no other load
    np.testing.assert_allclose(found["support.left"], tension * (ends[1] - ends[0]), atol=1e-10)
    np.testing.assert_allclose(found["support.left"] + found["support.right"], [2.0, 0.0], atol=1e-10)
    assert 0.1 < tension < 1.0
    without = start(two_blocks(links={}), stepper=stepper, step=1.0)
    without.advance(1.0, 1)
    assert simulation.positions[-1, 0] < without.positions[-1, 0]


@pytest.mark.parametrize("stepper", ["midpoint", "adaptive"])
def test_a_moving_support_does_the_work_that_links_pass_on(stepper: str) -> None:
    supports = two_blocks()["supports"]
    supports["left"] = {"body": "left", "where": {"box": {"x": [0.0, 2.0]}}, "motion": UP}
    problem = problem_of(two_blocks(supports=supports, forces={}))
    simulation = start(problem, stepper=stepper, step=0.05, **{"tolerance": 1e-3} if stepper == "adaptive" else {})
    simulation.advance(1.0, 10**6)
    assert length(simulation, problem) == pytest.approx(1.0, rel=1e-11)
    energy = simulation.energy()
    assert energy["stored"] > 0.1
    # elastic and without contact: projected velocities are all that is lost, and they are booked
    assert abs(energy["defect"]) < 1e-9 * energy["stored"]
    assert 0.0 <= energy["impact"] < 0.02 * energy["external"]


def test_links_and_contact_hold_together() -> None:
    """A tool presses the left end of the rod down: the rod turns, keeps its length and nothing enters the tool."""
    motion = path([0.0, 1.0], [[0.0, 0.0], [0.0, -0.2]])
    tool = {"shape": "plane", "center": [0.0, 1.0], "normal": [0.0, -1.0], "bodies": ["left"], "motion": motion}
    problem = problem_of(two_blocks(tools={"press": tool}, forces={}))
    simulation = start(problem, stepper="quasi-static", step=0.25)
    simulation.advance(1.0, 10**6)
    assert length(simulation, problem) == pytest.approx(1.0, rel=1e-11)
    left = simulation.positions[: len(simulation.positions) // 2]
    np.testing.assert_allclose(left[problem.points[: len(left), 1] == 1.0][:, 1], 0.8, atol=1e-10)
    found = simulation.reactions()
    total = found["tool.press"] + found["support.left"] + found["support.right"]
    np.testing.assert_allclose(total, 0.0, atol=1e-9 * abs(found["tool.press"][1]))
    assert found["link.rod"][0] != pytest.approx(0.0, abs=1e-6)


def test_redundant_links_are_named_and_share_their_force() -> None:
    once = two_blocks()["links"]["rod"]
    with pytest.warns(UserWarning, match=r"links\.rod, links\.twin depend on each other"):
        twice = start(two_blocks(links={"rod": once, "twin": once}), stepper="quasi-static", step=1.0)
    single = start(two_blocks(), stepper="quasi-static", step=1.0)
    for simulation in (twice, single):
        simulation.advance(1.0, 1)
    np.testing.assert_allclose(twice.positions, single.positions, rtol=0, atol=1e-12)
    found, whole = twice.reactions(), single.reactions()["link.rod"]
    np.testing.assert_allclose([found["link.rod"], found["link.twin"]], [whole / 2, whole / 2], rtol=1e-9)
    statistics = twice.statistics()
    assert (statistics["constraints"], statistics["constraint_rank"]) == (2, 1)
    assert statistics["dependent_constraints"] == ["links.rod", "links.twin"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"stepper": "central-difference"}, "links.rod: the stepper central-difference knows no rigid links"),
        ({"kinematics": "corotational"}, "links.rod: kinematics = 'corotational' knows no rigid links"),
    ],
)
def test_where_links_are_not_kept_they_are_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RheotwinError, match=sentence):
        start(two_blocks(), **options)
