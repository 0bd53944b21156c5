"""Area and volume, as constraints and as soft elements: derivatives against differences, momenta, energy."""

import numpy as np
import pytest
from skfem import MeshTet, MeshTri

from rheotwin.constraints.measure import (
    MeasureConstraints,
    SoftMeasure,
    measure_constraints,
    simplex_gradients,
    simplex_measures,
    soft_measure,
)
from rheotwin.constraints.measure_rows import fill_measures, pack_measures
from rheotwin.constraints.patches import PatchKind, patches
from rheotwin.meshing.topology import oriented

Array = np.ndarray
CASES = [(kind, dimension) for kind in ("node", "cell", "element") for dimension in (2, 3)]


def build(kind: PatchKind, dimension: int) -> tuple[MeasureConstraints, Array]:
    mesh = oriented((MeshTri if dimension == 2 else MeshTet)().refined(1))
    points = np.ascontiguousarray(mesh.p.T)
    moved = points + 0.1 * np.random.default_rng(0).standard_normal(points.shape)
    return measure_constraints(patches(kind, mesh.t.T, points), points), moved


@pytest.mark.parametrize(("kind", "dimension"), CASES)
def test_gradient_and_curvature_are_the_derivatives(kind: PatchKind, dimension: int) -> None:
    constraints, x = build(kind, dimension)
    way = np.random.default_rng(1).standard_normal(x.shape)
    # R is a polynomial of degree d in the step: the central difference errs by step^2 R'''/6, zero in 2D
    step = 1e-4
    slope = (constraints.value(x + step * way) - constraints.value(x - step * way)) / (2 * step)
    np.testing.assert_allclose(constraints.gradient(x) @ way.ravel(), slope, rtol=0, atol=1e-7 * np.abs(slope).max())
    # exact for polynomials of degree three, whatever the step
    bend = constraints.value(x + way) - 2 * constraints.value(x) + constraints.value(x - way)
    curvature = constraints.curvature(x, way)
    np.testing.assert_allclose(curvature, bend, rtol=0, atol=1e-12 * np.abs(bend).max())
    assert np.abs(curvature).max() > 0.1


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("kind", ["node", "cell", "element"])
def test_the_compiled_loop_fills_in_the_same(kind: PatchKind, dimension: int) -> None:
    constraints, x = build(kind, dimension)
    v = np.random.default_rng(1).standard_normal(x.shape)
    space = [np.pad(points, [(0, 0), (0, 3 - dimension)]) for points in (x, v)]
    nodes, (value, curvature) = constraints.node_rows[1], np.zeros((2, constraints.count))
    gradient = np.zeros((len(nodes), 3))
    fill_measures(pack_measures(constraints, dimension + 1), *space, gradient, value, curvature)
    np.testing.assert_allclose(value, constraints.value(x), rtol=0, atol=1e-15)
    np.testing.assert_allclose(gradient[:, :dimension].ravel(), constraints.gradient(x).data, rtol=0, atol=1e-15)
    np.testing.assert_allclose(curvature, constraints.curvature(x, v), rtol=0, atol=1e-14)


@pytest.mark.parametrize("dimension", [2, 3])
def test_constraint_forces_keep_both_momenta(dimension: int) -> None:
    constraints, x = build("node", dimension)
    force = (constraints.gradient(x).T @ np.arange(1.0, 1 + constraints.count)).reshape(x.shape)
    moment = np.einsum("ni,nj->ij", x, force)
    assert np.abs(force.sum(axis=0)).max() < 1e-13 * np.abs(force).sum()
    assert np.abs(moment - moment.T).max() < 1e-13 * np.abs(moment).max()


def test_measures_are_signed_and_their_gradient_that_of_the_papers() -> None:
    points = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 3.0]])
    np.testing.assert_allclose(simplex_measures(np.array([[0, 1, 2], [0, 2, 1]]), points), [3.0, -3.0])
    (xi, yi), (xj, yj), (xk, yk) = points = np.array([[0.1, 0.2], [1.3, 0.4], [0.5, 1.6]])
    printed = 0.5 * np.array([[yj - yk, xk - xj], [yk - yi, xi - xk], [yi - yj, xj - xi]])
    np.testing.assert_allclose(simplex_gradients(np.array([[0, 1, 2]]), points)[0], printed, atol=1e-15)


def soft(kind: PatchKind, dimension: int) -> tuple[SoftMeasure, Array]:
    mesh = oriented((MeshTri if dimension == 2 else MeshTet)().refined(1))
    points = np.ascontiguousarray(mesh.p.T) + 0.05 * np.random.default_rng(0).random(mesh.p.T.shape)
    return soft_measure(patches(kind, mesh.t.T, points), points, 3.0), points


@pytest.mark.parametrize(("kind", "dimension"), CASES[:4])
def test_soft_forces_are_slopes_of_their_energy_and_even_changes_cost_nothing(kind: PatchKind, dimension: int) -> None:
    element, points = soft(kind, dimension)
    rng = np.random.default_rng(1)
    x, direction = points + 0.1 * rng.standard_normal(points.shape), rng.standard_normal(points.shape)
    # W is a polynomial of degree six at most along a straight path: seven values give its slope exactly
    steps = 0.1 * np.arange(-3, 4)
    values = [element.energy(x + step * direction) for step in steps]
    slope = np.polynomial.Polynomial.fit(steps, values, 6).deriv()(0.0)
    assert np.sum(element.force(x) * direction) == pytest.approx(-slope, rel=0, abs=1e-11 * max(values))
    gradient = measure_constraints(patches("element", element.patches.simplices, points), points).gradient(points)
    ahead, behind = (element.force(points + way * direction) for way in (1e-6, -1e-6))
    expected = -(element.stiffness(gradient) @ direction.ravel()).reshape(points.shape)
    np.testing.assert_allclose((ahead - behind) / 2e-6, expected, atol=1e-7 * np.abs(expected).max())
    stretch = np.diag(np.linspace(1.3, 0.8, dimension)) + 0.1
    assert element.energy(points @ stretch) < 1e-28
    assert element.energy(points + 0.1 * np.sin(9.0 * points)) > 1e-4
