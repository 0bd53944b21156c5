"""The shipped scenes of the solver `shear-volume`: what is seen, in numbers (fem spec section 8; R17 to R20)."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from rheotwin.build import build_problem
from rheotwin.problem import Problem
from rheotwin.scene import load_scene
from rheotwin.solver import check_capabilities, find_solver
from rheotwin.validation.checks.running import start

SCENES = Path(__file__).parents[2] / "scenes"
Array = NDArray[np.float64]


def play(name: str, case: str | None = None, **options: Any) -> tuple[Problem, Any]:
    scene = load_scene(SCENES / f"{name}.toml")
    problem = build_problem(scene, case)
    check_capabilities(find_solver("shear-volume"), problem)
    return problem, start(problem, "shear-volume", **scene.solvers.get("shear-volume", {}) | options)


def shares(problem: Problem, positions: Array) -> Array:
    cells = problem.bodies[0].mesh.t.T
    now, rest = (np.linalg.det(x[cells[:, 1:]] - x[cells[:, :1]]) for x in (positions, problem.points))
    return np.asarray(now / rest)


@pytest.mark.parametrize(
    ("case", "force", "left"), [("elastic", 88.0, 0.0), ("viscoplastic", 51.9, -8.27), ("rheological", 70.0, -4.06)]
)
def test_the_papers_press(case: str, force: float, left: float) -> None:
    """R17 to R19 by the scene file and the default step: force at the lowest place, what is left after 30 s."""
    problem, simulation = play("shear-volume-2d", case)
    simulation.advance(10.0, 10**9)
    assert simulation.reactions()["tool.bar"][1] == pytest.approx(force, rel=0.01)
    assert shares(problem, simulation.positions).min() > 0.6
    simulation.advance(30.0, 10**9)
    assert simulation.positions[problem.probes["under-bar"], 1] - 30.0 == pytest.approx(left, rel=0.01, abs=0.01)


@pytest.mark.parametrize(("case", "least", "most"), [("voigt", -0.001, 0.001), ("three-element", 0.4, 0.5)])
def test_sheared_quadrilaterals_come_back_or_not(case: str, least: float, most: float) -> None:
    """Figures 4.13 and 4.14: what is left of the largest displacement."""
    problem, simulation = play("shear-quad-2d", case)
    node = problem.probes["top"]
    simulation.advance(10.0, 10**9)
    peak = simulation.positions[node, 0] - problem.points[node, 0]
    assert peak > 3.0
    simulation.advance(30.0, 10**9)
    assert least <= (simulation.positions[node, 0] - problem.points[node, 0]) / peak <= most


def test_a_ball_leaves_its_imprint() -> None:
    """Half as high under the ball, no tetrahedron inside out; part of the depth stays."""
    problem, simulation = play("shear-volume-3d")
    node = problem.probes["under-ball"]
    simulation.advance(1.0, 10**9)
    assert problem.points[node, 2] - simulation.positions[node, 2] == pytest.approx(0.025, abs=1e-6)
    assert simulation.reactions()["tool.ball"][2] > 0.0 and shares(problem, simulation.positions).min() > 0.0
    simulation.advance(4.0, 10**9)
    assert 0.2 < (problem.points[node, 2] - simulation.positions[node, 2]) / 0.025 < 0.8
