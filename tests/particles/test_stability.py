"""The stable step: the matrix behind it, and where runs really diverge."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import rheotwin.particles.truss as truss_module
from rheotwin.particles.stability import edge_matrix, largest_eigenvalue, stable_step
from rheotwin.particles.truss import TrussSolver
from rheotwin.validation.checks.running import block, put, side


def test_edge_matrix_is_the_hessian_of_the_springs_at_rest() -> None:
    """Against second differences of 1/2 sum k (l - l0)^2, and zero on rigid motions."""
    rng = np.random.default_rng(2)
    points, edges = rng.standard_normal((4, 2)), np.array([[0, 1], [1, 2], [2, 3], [3, 0], [0, 2]])
    constants = rng.uniform(1.0, 2.0, 5)
    matrix = edge_matrix(points, edges, constants).toarray()
    rest = np.linalg.norm(points[edges[:, 1]] - points[edges[:, 0]], axis=1)

    def energy(x: np.ndarray) -> float:
        lengths = np.linalg.norm(x[edges[:, 1]] - x[edges[:, 0]], axis=1)
        return float(0.5 * constants @ (lengths - rest) ** 2)

    for _ in range(5):
        direction = rng.standard_normal(points.shape)
        second = (energy(points + 1e-4 * direction) + energy(points - 1e-4 * direction)) / 1e-8
        assert direction.ravel() @ matrix @ direction.ravel() == pytest.approx(second, rel=1e-5)
    turn = points @ np.array([[0.0, 1.0], [-1.0, 0.0]])
    np.testing.assert_allclose(matrix @ turn.ravel(), 0.0, atol=1e-12)


def test_heavier_nodes_are_slower() -> None:
    """Pair with masses 1 and 4 joined by k = 3: eigenvalue k (1/m1 + 1/m2)."""
    matrix = edge_matrix(np.array([[0.0], [1.0]]), np.array([[0, 1]]), np.array([3.0]))
    assert largest_eigenvalue(matrix, np.array([1.0, 4.0]), np.ones(2, dtype=bool)) == pytest.approx(3.75, rel=1e-12)


def test_stable_step_solves_its_bound() -> None:
    """Also where the viscosity dominates, where the textbook root of the quadratic cancels to nothing."""
    for a, c in ((3.0, 0.5), (0.0, 2.0), (5.0, 0.0), (1e-8, 1e4)):
        h = stable_step(a, c)
        assert a * h**2 + 2.0 * c * h == pytest.approx(4.0, rel=1e-12)
    assert stable_step(0.0, 0.0) == np.inf


LAWS: dict[str, dict[str, Any]] = {
    "elastic": {"model": "elastic", "young": 10.0},
    "voigt": {"model": "voigt", "young": 10.0, "viscosity": 3.0},
    "three-element": {"model": "three-element", "young": 10.0, "voigt_viscosity": 4.0, "series_viscosity": 400.0},
}


@pytest.mark.parametrize("held", [False, True], ids=["free", "held"])
@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("name", LAWS)
def test_runs_diverge_where_predicted(name: str, dimension: int, held: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bisection on diverging runs: the limit found lies within 5 % of the bound (tiny motions, 2000 steps)."""
    supports = {"foot": side("left")} if held else {}
    problem = block(dimension, {**LAWS[name], "poisson": 0.3}, supports=supports)
    kick = 1e-9 * np.random.default_rng(0).standard_normal(problem.points.shape)
    predicted = 0.0

    def diverges(h: float) -> bool:
        monkeypatch.setattr(truss_module, "chosen_step", lambda *_: Fraction(h))
        simulation = TrussSolver().start(problem, truss_module.TrussOptions())
        put(simulation, velocities=kick)
        simulation.advance(2000 * simulation.step_size, 2000)
        with np.errstate(all="ignore"):
            excursion = np.abs(simulation.positions - problem.points).max()
        return not excursion < 1e-5

    monkeypatch.setattr(truss_module, "chosen_step", lambda *_: Fraction(1, 1000))
    predicted = TrussSolver().start(problem, truss_module.TrussOptions()).stable_step
    low, high = 0.9, 1.2
    assert not diverges(low * predicted)
    assert diverges(high * predicted)
    while high - low > 0.01:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if diverges(middle * predicted) else (middle, high)
    assert low > 0.95
    assert high < 1.05
