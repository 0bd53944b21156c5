"""Shear and volume elements on small scenes and on distorted meshes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rheotwin.particles.shear_volume import ShearVolumeSolver
from rheotwin.particles.shear_volume.solver import ShearVolumeSimulation
from rheotwin.problem import Problem
from rheotwin.solver import check_capabilities, checked_options

Start = Callable[..., ShearVolumeSimulation]


@pytest.fixture
def start() -> Start:
    """Start the solver on a problem."""

    def begin(problem: Problem, **options: Any) -> ShearVolumeSimulation:
        solver = ShearVolumeSolver()
        check_capabilities(solver, problem)
        return solver.start(problem, checked_options(solver, options))

    return begin
