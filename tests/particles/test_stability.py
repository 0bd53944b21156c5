"""The stable step: the matrix behind it, and where runs really diverge."""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

import rheotwin.particles.truss as truss_module
from rheotwin.particles.stability import edge_matrix, largest_eigenvalue, stable_step
from rheotwin.problem import Problem
from rheotwin.validation.checks.running import HELD, block, put, truss

late = pytest.mark.exhaustive


def test_edge_matrices_and_the_bound_of_the_step() -> None:
    """Against second differences of 1/2 sum k (l - l0)^2, and zero on rigid motions."""
    rng = np.random.default_rng(2)
    points, edges = rng.standard_normal((4, 2)), np.array([[0, 1], [1, 2], [2, 3], [3, 0], [0, 2]])
    constants = rng.uniform(1.0, 2.0, 5)
    matrix = edge_matrix(points, edges, constants).toarray()
    rest = np.linalg.norm(points[edges[:, 1]] - points[edges[:, 0]], axis=1)

    def energy(x: np.ndarray) -> float:
        return float(0.5 * constants @ (np.linalg.norm(x[edges[:, 1]] - x[edges[:, 0]], axis=1) - rest) ** 2)

    for _ in range(5):
        direction = rng.standard_normal(points.shape)
        second = (energy(points + 1e-4 * direction) + energy(points - 1e-4 * direction)) / 1e-8
        assert direction.ravel() @ matrix @ direction.ravel() == pytest.approx(second, rel=1e-5)
    np.testing.assert_allclose(matrix @ (points @ np.array([[0.0, 1.0], [-1.0, 0.0]])).ravel(), 0.0, atol=1e-12)
    # Pair with masses 1 and 4 joined by k = 3: eigenvalue k (1/m1 + 1/m2).
    matrix = edge_matrix(np.array([[0.0], [1.0]]), np.array([[0, 1]]), np.array([3.0]))
    assert largest_eigenvalue(matrix, np.array([1.0, 4.0]), np.ones(2, dtype=bool)) == pytest.approx(3.75, rel=1e-12)
    # Also where the viscosity dominates, where the textbook root of the quadratic cancels to nothing.
    for a, c in ((3.0, 0.5), (0.0, 2.0), (5.0, 0.0), (1e-8, 1e4)):
        h = stable_step(a, c)
        assert a * h**2 + 2.0 * c * h == pytest.approx(4.0, rel=1e-12)
    assert stable_step(0.0, 0.0) == np.inf


def growth(problem: Problem, factor: float, **options: Any) -> tuple[float, float]:
    """Return how much larger velocities of 1e-9 m/s are after 2000 steps of `factor` stable ones, and the way [m]."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(truss_module, "chosen_step", lambda *_: Fraction(1, 1000))
        stable = truss(problem, **options).stable_step
        patch.setattr(truss_module, "chosen_step", lambda *_: Fraction(factor * stable))
        simulation = truss(problem, **options)
    put(simulation, velocities=1e-9 * np.random.default_rng(0).standard_normal(problem.points.shape))
    with np.errstate(all="ignore"):
        simulation.advance(1e9, 2000)
        way = np.abs(simulation.positions - problem.points).max()
        return float(np.abs(simulation.velocities).max() / 1e-9), float(way)


VISCOUS = {"young": 10.0, "poisson": 0.3}
LAWS: dict[str, dict[str, Any]] = {
    "elastic": {**VISCOUS, "model": "elastic"},
    "voigt": {**VISCOUS, "model": "voigt", "viscosity": 3.0},
    "three-element": {**VISCOUS, "model": "three-element", "voigt_viscosity": 4.0, "series_viscosity": 400.0},
}
TELLING = {("elastic", 1, True), ("voigt", 2, True), ("three-element", 3, False)}


@pytest.mark.parametrize(
    ("name", "dimension", "held"),
    [pytest.param(*case, marks=[] if case in TELLING else late) for case in product(LAWS, (1, 2, 3), (False, True))],
)
def test_bodies_diverge_where_predicted(name: str, dimension: int, held: bool) -> None:
    """The limit lies within 5 % of the bound (tiny motions, 2000 steps)."""
    problem = block(dimension, LAWS[name], supports=HELD if held else {})
    assert growth(problem, 0.95)[1] < 1e-5 and not growth(problem, 1.05)[1] < 1e-5


NOTHING = {"model": "elastic", "young": 1e-6, "poisson": 0.25}
PRESSED = {"volume_term": False}


@pytest.mark.parametrize(
    ("dimension", "law", "cell", "options"),
    [
        (2, NOTHING, "triangle", PRESSED | {"global_pressure": 300.0}),
        (3, NOTHING, "hex", PRESSED | {"global_pressure": 300.0}),
        (2, NOTHING, "triangle", PRESSED | {"element_pressure": 300.0}),
        (3, NOTHING, "tet", PRESSED | {"element_pressure": 300.0}),
        (3, NOTHING, "tet", PRESSED | {"global_pressure": 1e-3, "global_pressure_damping": 10.0}),
        (2, NOTHING, "triangle", PRESSED | {"element_pressure": 1e-3, "element_pressure_damping": 10.0}),
        (3, LAWS["elastic"], "hex", {"local_volume": True, "local_volume_scale": 20.0}),
    ],
)
def test_shape_keeping_forces_diverge_where_predicted(
    dimension: int, law: dict[str, Any], cell: str, options: dict[str, Any]
) -> None:
    """Just below the bound small motions stay small, just above they grow; half elements: edges and they together."""
    problem = block(dimension, law, {"cell": cell})
    assert growth(problem, 0.98, **options)[0] < 10.0 and not growth(problem, 1.02, **options)[0] < 1e5


@pytest.mark.parametrize("stepper", ["semi-implicit", "euler", pytest.param("rk4", marks=late)])
def test_the_stable_step_knows_voxel_laws(stepper: str) -> None:
    """Half elements that are stiff and quick: Euler's and Runge's rules must follow them, the other is exact."""
    quick = {"model": "maxwell", "young": 30.0, "viscosity": 0.3, "poisson": 0.25}  # A = 100 1/s
    slow = {"model": "voigt", "young": 3.0, "viscosity": 0.3, "poisson": 0.25}
    problem = block(3, slow, {"cell": "hex"}, laws={"stuff": slow, "quick": quick})
    options = {"local_volume": True, "local_volume_scale": 2.0, "voxel_laws": {"block": "quick"}, "stepper": stepper}
    assert growth(problem, 0.98, **options)[0] < 10.0
    assert not growth(problem, 1.02 if stepper == "semi-implicit" else 2.0, **options)[0] < 1e3
