"""Problems put together in Python: what does not fit together is refused before any solver sees it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.problem import Problem

Build = Callable[..., Problem]
SECOND = {"shape": "box", "size": [0.1, 0.1], "cells": [1, 1], "law": "dough", "density": 1.0, "origin": [0.5, 0]}


def changed(values: np.ndarray, place: Any, value: float) -> np.ndarray:
    found = values.copy()
    found[place] = value
    return found


def test_nodes_of_bodies_are_all_nodes(problem_with: Build) -> None:
    problem = problem_with({"bodies.second": SECOND})
    block, second = problem.bodies
    later = replace(second, first_node=second.first_node + 1)
    with pytest.raises(RheotwinError, match=r"bodies\.second: its nodes begin at 16, those before it end at 15"):
        replace(problem, bodies=(block, later))
    with pytest.raises(RheotwinError, match=r"points: there are 19 for 15 nodes of bodies"):
        replace(problem, bodies=(block,))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_places_are_finite(problem_with: Build, value: float) -> None:
    problem = problem_with({"bodies.second": SECOND})
    with pytest.raises(RheotwinError, match=r"bodies\.second: node 2 is at .*; give it finite coordinates"):
        replace(problem, points=changed(problem.points, (17, 1), value))
    with pytest.raises(RheotwinError, match="points: each needs 2 coordinates"):
        replace(problem, points=problem.points[:, :1])


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
def test_masses_are_positive_numbers(problem_with: Build, value: float) -> None:
    problem = problem_with({"bodies.second": SECOND})
    with pytest.raises(RheotwinError, match=r"bodies\.second: node 2 has no mass .*; give the body a density"):
        replace(problem, masses=changed(problem.masses, 17, value))
    with pytest.raises(RheotwinError, match="masses: there are 18 for 19 nodes"):
        replace(problem, masses=problem.masses[1:])


def test_contact_is_that_of_the_tools_and_bodies(problem_with: Build) -> None:
    problem = problem_with({"bodies.second": SECOND, "contact": {"self": ["second"]}})
    assert problem.contact is not None
    with pytest.raises(RheotwinError, match=r"contact\.tool_laws: there are 1 for 0 tools"):
        replace(problem, tools=())
    for number in (-1, 2):
        with pytest.raises(RheotwinError, match=rf"contact\.self_bodies: there is no body {number}; .* from 0 to 1"):
            replace(problem, contact=replace(problem.contact, self_bodies=(number,)))
