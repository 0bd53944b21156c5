"""Small scenes in code: a block of one material, with whatever supports, tools and forces a test needs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import meshio
import numpy as np
import pytest

from rheotwin.particles.truss import TrussSimulation
from rheotwin.problem import Problem
from rheotwin.validation.checks.running import block, put, truss


@pytest.fixture
def make_problem() -> Callable[..., Problem]:
    return block


@pytest.fixture
def start() -> Callable[..., TrussSimulation]:
    return truss


@pytest.fixture
def advance_by() -> Callable[[TrussSimulation, int], None]:
    """Take exactly so many steps."""

    def take(simulation: TrussSimulation, steps: int) -> None:
        wanted = simulation.step_count + steps
        simulation.advance(wanted * simulation.step_size, steps)
        assert simulation.step_count == wanted

    return take


@pytest.fixture(name="put")
def put_fixture() -> Callable[..., None]:
    return put


@pytest.fixture
def equilateral(tmp_path: Path) -> dict[str, Any]:
    """Return body entries of a parallelogram of 6 x 5 cells of two equilateral triangles each, sides 1."""
    columns, rows = 7, 6
    i, j = (grid.ravel() for grid in np.meshgrid(np.arange(columns), np.arange(rows)))
    points = np.stack([i + 0.5 * j, 0.5 * np.sqrt(3.0) * j, 0.0 * i], axis=1)
    first = np.array([r * columns + c for r in range(rows - 1) for c in range(columns - 1)])
    lower = np.stack([first, first + 1, first + columns], axis=1)
    upper = np.stack([first + 1, first + columns + 1, first + columns], axis=1)
    meshio.Mesh(points, [("triangle", np.concatenate([lower, upper]))]).write(tmp_path / "equilateral.vtu")
    return {"shape": "file", "path": str(tmp_path / "equilateral.vtu"), "size": None, "cells": None}
