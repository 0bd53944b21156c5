"""Soft area and volume elements: the gradient of their energy, and what they leave alone."""

import numpy as np
import pytest
from skfem import MeshTet, MeshTri

from rheotwin.constraints.measure import measure_constraints
from rheotwin.constraints.patches import patches
from rheotwin.constraints.soft_measure import SoftMeasure, soft_measure
from rheotwin.meshing.orientation import oriented

Array = np.ndarray
CASES = [(kind, dimension) for kind in ("node", "cell") for dimension in (2, 3)]


def soft(kind: str, dimension: int) -> tuple[SoftMeasure, Array]:
    mesh = oriented((MeshTri if dimension == 2 else MeshTet)().refined(1))
    points = np.ascontiguousarray(mesh.p.T) + 0.05 * np.random.default_rng(0).random(mesh.p.T.shape)
    return soft_measure(patches(kind, mesh.t.T, points), points, 3.0), points


@pytest.mark.parametrize(("kind", "dimension"), CASES)
def test_the_force_is_the_slope_of_the_energy(kind: str, dimension: int) -> None:
    element, points = soft(kind, dimension)
    rng = np.random.default_rng(1)
    x, direction = points + 0.1 * rng.standard_normal(points.shape), rng.standard_normal(points.shape)
    # W is a polynomial of degree six at most along a straight path: seven values give its slope exactly
    steps = 0.1 * np.arange(-3, 4)
    values = [element.energy(x + step * direction) for step in steps]
    slope = np.polynomial.Polynomial.fit(steps, values, 6).deriv()(0.0)
    assert np.sum(element.force(x) * direction) == pytest.approx(-slope, rel=0, abs=1e-11 * max(values))


@pytest.mark.parametrize(("kind", "dimension"), CASES)
def test_the_stiffness_is_the_slope_of_the_force_at_rest(kind: str, dimension: int) -> None:
    element, points = soft(kind, dimension)
    gradient = measure_constraints(patches("element", element.patches.simplices, points), points).gradient(points)
    direction = np.random.default_rng(1).standard_normal(points.shape)
    step = 1e-6
    slope = (element.force(points + step * direction) - element.force(points - step * direction)) / (2 * step)
    expected = -(element.stiffness(gradient) @ direction.ravel()).reshape(points.shape)
    np.testing.assert_allclose(slope, expected, atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize(("kind", "dimension"), CASES)
def test_a_uniform_change_of_volume_costs_nothing(kind: str, dimension: int) -> None:
    element, points = soft(kind, dimension)
    stretch = np.diag(np.linspace(1.3, 0.8, dimension)) + 0.1
    assert element.energy(points @ stretch) < 1e-28
    assert element.energy(points + 0.1 * np.sin(9.0 * points)) > 1e-4
