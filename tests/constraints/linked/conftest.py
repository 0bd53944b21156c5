"""Bodies on rigid links, for both solvers.

A square that hangs by four parallel rods of one length, one at each corner, moves without turning and without strain:
it is a simple pendulum of its whole mass, whatever its material.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheotwin.build import build_problem
from rheotwin.fem import FemSolver
from rheotwin.particles import TrussSolver
from rheotwin.problem import Problem
from rheotwin.scene import scene_from_data
from rheotwin.solver import Simulation, check_capabilities, checked_options

Data = dict[str, Any]
SOLVERS = {"fem": FemSolver, "truss": TrussSolver}
CORNERS = ((0.0, 0.0), (0.2, 0.0), (0.0, 0.2), (0.2, 0.2))


def square(at: np.ndarray) -> Data:
    """Return a square of 4 kg, 1 kg at each corner."""
    size = {"size": [0.2, 0.2], "cells": [1, 1], "origin": at.tolist()}
    return {"shape": "box", **size, "law": "stuff", "mass": 4.0, "mass_sharing": "equal"}


@pytest.fixture
def pendulum() -> Callable[..., Data]:
    """Return the scene of squares that hang one below the other by rods of 1 m at angles [rad] from the vertical."""

    def build(*angles: float, duration: float = 1.0, **more: Any) -> Data:
        place = np.zeros(2)
        bodies: Data = {"anchor": square(place)}
        links: Data = {}
        for number, angle in enumerate(angles):
            above, before = place, list(bodies)[-1]
            place = above + np.array([np.sin(angle), -np.cos(angle)])
            bodies[f"bob{number}"] = square(place)
            for k, corner in enumerate(CORNERS):
                ends = [(before, above), (f"bob{number}", place)]
                links[f"rod{number}-{k}"] = {
                    "between": [{"body": name, "at": (at + np.array(corner)).tolist()} for name, at in ends]
                }
        return {
            "schema": 1,
            "dimension": 2,
            "duration": duration,
            "gravity": [0.0, -9.81],
            "laws": {"stuff": {"model": "voigt", "young": 1000.0, "viscosity": 1.0, "poisson": 1 / 3}},
            "bodies": bodies,
            "supports": {"top": {"body": "anchor", "where": {"box": {"x": [-1.0, 1.0]}}}},
            "links": links,
            "output": {"interval": duration},
            **more,
        }

    return build


@pytest.fixture
def problem_of() -> Callable[[Data], Problem]:
    return lambda data: build_problem(scene_from_data(data))


@pytest.fixture
def start() -> Callable[..., Simulation]:
    """Start a solver, `fem` or `truss`, on scene data or a problem."""

    def begin(solver: str, what: Data | Problem, **options: Any) -> Simulation:
        problem = what if isinstance(what, Problem) else build_problem(scene_from_data(what))
        chosen = SOLVERS[solver]()
        check_capabilities(chosen, problem)
        return chosen.start(problem, checked_options(chosen, options))

    return begin
