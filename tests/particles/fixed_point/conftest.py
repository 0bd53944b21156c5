"""Blocks for the fixed-point solver, and the scene of the papers' object."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rheotwin.build import build_problem
from rheotwin.particles.fixed_point import FixedPointSolver
from rheotwin.particles.fixed_point.prepare import FixedPointOptions, Prepared, prepare
from rheotwin.particles.fixed_point.solver import FixedPointSimulation
from rheotwin.problem import Problem
from rheotwin.scene import load_scene, scene_from_data
from rheotwin.solver import checked_options

OBJECT = Path(__file__).parents[3] / "scenes" / "fixed-point-3d.toml"
LAWS: dict[str, dict[str, Any]] = {
    "three-element": {"model": "three-element", "young": 12.0, "voigt_viscosity": 0.5, "series_viscosity": 6.0},
    "maxwell": {"model": "maxwell", "young": 12.0, "viscosity": 4.0},
    "voigt": {"model": "voigt", "young": 12.0, "viscosity": 0.6},
}
MOVED = {"times": [0.0, 0.5, 1.0], "displacement": [[0.0] * 3, [0.3, 0.0, 0.0], [0.0] * 3], "interpolation": "smooth"}


@pytest.fixture
def make_block() -> Callable[..., Problem]:
    """Return a block of 3 x 2 x 2 bricks, held on the left and pushed down on the top; keywords change the scene."""

    def build(law: str = "three-element", *, body: dict[str, Any] | None = None, **scene: Any) -> Problem:
        box = {"shape": "box", "size": [3.0, 2.0, 2.0], "cells": [3, 2, 2], "law": "stuff", "density": 1.0}
        data = {
            "schema": 1,
            "dimension": 3,
            "duration": 1.0,
            "gravity": [0.0, 0.0, -1.0],
            "laws": {"stuff": {**LAWS[law], "poisson": 0.25}},
            "bodies": {"block": box | (body or {})},
            "supports": {"low": {"body": "block", "where": {"side": "left"}}},
            "forces": {"push": {"body": "block", "where": {"side": "top"}, "total": [0.0, 0.0, -2.0]}},
            "output": {"interval": 0.25},
        }
        return build_problem(scene_from_data(data | scene))

    return build


@pytest.fixture
def moved_support() -> dict[str, Any]:
    """Return supports of which one moves, and a load over time: the host writes every step."""
    return {
        "supports": {
            "low": {"body": "block", "where": {"side": "left"}},
            "up": {"body": "block", "where": {"side": "right"}, "fix": ["x"], "motion": MOVED},
        },
        "forces": {
            "push": {
                "body": "block",
                "where": {"side": "top"},
                "total": [0.0, 0.0, -2.0],
                "times": [0.0, 0.5],
                "factor": [0.0, 1.0],
            }
        },
    }


@pytest.fixture
def start() -> Callable[..., FixedPointSimulation]:
    """Start the circuit on a problem."""

    def begin(problem: Problem, **options: Any) -> FixedPointSimulation:
        return FixedPointSolver().start(problem, checked_options(FixedPointSolver, options))

    return begin


@pytest.fixture
def prepared() -> Callable[..., Prepared]:
    """Put a problem into words."""

    def make(problem: Problem, **options: Any) -> Prepared:
        return prepare(problem, FixedPointOptions(**options))

    return make


@pytest.fixture(scope="session")
def papers_object() -> tuple[Problem, dict[str, Any]]:
    """Return the papers' object of 9 x 9 x 9 particles and the options of its scene."""
    problem = build_problem(load_scene(OBJECT))
    return problem, problem.scene.solvers["fixed-point"]
