"""Shear and volume elements on small scenes and on distorted meshes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rheotwin.particles.shear_volume import ShearVolumeSolver
from rheotwin.particles.shear_volume.solver import ShearVolumeSimulation
from rheotwin.problem import Problem
from rheotwin.solver import check_capabilities, checked_options
from rheotwin.validation.checks.matrices import distorted_problem

Start = Callable[..., ShearVolumeSimulation]


@pytest.fixture
def start() -> Start:
    """Start the solver on a problem."""

    def begin(problem: Problem, **options: Any) -> ShearVolumeSimulation:
        solver = ShearVolumeSolver()
        check_capabilities(solver, problem)
        return solver.start(problem, checked_options(solver, options))

    return begin


@pytest.fixture
def free() -> Callable[..., Problem]:
    """Return the distorted square or cube of a law with 10 g on each node, held nowhere."""

    def build(cell: str, law: dict[str, Any], **changes: Any) -> Problem:
        problem = distorted_problem(cell, law)
        return replace(problem, prescribed=(), masses=np.full(len(problem.points), 0.01), **changes)

    return build


@pytest.fixture
def bar() -> Callable[[int, float], dict[str, Any]]:
    """Return a tool that comes down by `depth` [m] on the block of `make_problem` in a second."""

    def build(dimension: int, depth: float) -> dict[str, Any]:
        still, space = [0.0] * (dimension - 1), dimension == 3
        return {
            "shape": "bar",
            "center": [1.5, 1.0, 2.0] if space else [1.5, 2.0],
            "normal": [*still, -1.0],
            "width": [1.0, 3.0] if space else 1.0,
            "motion": {"times": [0.0, 1.0], "displacement": [[*still, 0.0], [*still, -depth]]},
        }

    return build
