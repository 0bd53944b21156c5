"""Area and volume constraints: derivatives against differences, and the papers' single tetrahedron (E8)."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from skfem import MeshTet, MeshTri

from rheotwin.constraints.measure import (
    MeasureConstraints,
    measure_constraints,
    simplex_gradients,
    simplex_measures,
)
from rheotwin.constraints.measure_rows import fill_measures, pack_measures
from rheotwin.constraints.patches import patches
from rheotwin.constraints.stabilisation import ConstrainedInertia, LumpedInertia, stabilised_demand
from rheotwin.errors import RheotwinError
from rheotwin.meshing.orientation import oriented

Array = np.ndarray
Build = Callable[[str, int], tuple[MeasureConstraints, Array]]


def right_side(constraints: MeasureConstraints, x: Array, v: Array, frequency: float) -> Array:
    rate = constraints.gradient(x) @ v.ravel()
    return stabilised_demand(constraints.value(x), rate, constraints.curvature(x, v), frequency)


def multipliers(
    gradient: csr_matrix, inverse: Array, acceleration: Array, right: Array, *, regularisation: float = 0.0
) -> Array:
    inertia = ConstrainedInertia(LumpedInertia(inverse), gradient, regularisation=regularisation)
    return inertia.multipliers(acceleration, right)


@pytest.fixture
def build() -> Build:
    """Return constraints of a kind in 2D or 3D, with moved positions."""

    def make(kind: str, dimension: int) -> tuple[MeasureConstraints, Array]:
        mesh = oriented((MeshTri if dimension == 2 else MeshTet)().refined(1))
        points = np.ascontiguousarray(mesh.p.T)
        moved = points + 0.1 * np.random.default_rng(0).standard_normal(points.shape)
        return measure_constraints(patches(kind, mesh.t.T, points), points), moved

    return make


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("kind", ["node", "cell", "element"])
def test_the_gradient_is_the_derivative(build: Build, kind: str, dimension: int) -> None:
    constraints, x = build(kind, dimension)
    direction = np.random.default_rng(1).standard_normal(x.shape)
    # R is a polynomial of degree d in the step: the central difference errs by step^2 R'''/6, zero in 2D
    step = 1e-4
    slope = (constraints.value(x + step * direction) - constraints.value(x - step * direction)) / (2 * step)
    scale = np.abs(slope).max()
    np.testing.assert_allclose(constraints.gradient(x) @ direction.ravel(), slope, rtol=0, atol=1e-7 * scale)


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("kind", ["node", "cell", "element"])
def test_the_curvature_is_the_second_derivative(build: Build, kind: str, dimension: int) -> None:
    constraints, x = build(kind, dimension)
    v = np.random.default_rng(1).standard_normal(x.shape)
    # exact for polynomials of degree three, whatever the step
    bend = constraints.value(x + v) - 2 * constraints.value(x) + constraints.value(x - v)
    curvature = constraints.curvature(x, v)
    np.testing.assert_allclose(curvature, bend, rtol=0, atol=1e-12 * np.abs(bend).max())
    assert np.abs(curvature).max() > 0.1


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("kind", ["node", "cell", "element"])
def test_the_compiled_loop_fills_in_the_same(build: Build, kind: str, dimension: int) -> None:
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
def test_constraint_forces_keep_both_momenta(build: Build, dimension: int) -> None:
    constraints, x = build("node", dimension)
    force = (constraints.gradient(x).T @ np.arange(1.0, 1 + constraints.count)).reshape(x.shape)
    moment = np.einsum("ni,nj->ij", x, force)
    assert np.abs(force.sum(axis=0)).max() < 1e-13 * np.abs(force).sum()
    assert np.abs(moment - moment.T).max() < 1e-13 * np.abs(moment).max()


def test_measures_are_signed() -> None:
    points = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 3.0]])
    np.testing.assert_allclose(simplex_measures(np.array([[0, 1, 2], [0, 2, 1]]), points), [3.0, -3.0])


def test_the_papers_vector_of_one_triangle() -> None:
    # A of (4.53), its last entry corrected (E7)
    (xi, yi), (xj, yj), (xk, yk) = points = np.array([[0.1, 0.2], [1.3, 0.4], [0.5, 1.6]])
    printed = 0.5 * np.array([[yj - yk, xk - xj], [yk - yi, xi - xk], [yi - yj, xj - xi]])
    np.testing.assert_allclose(simplex_gradients(np.array([[0, 1, 2]]), points)[0], printed, atol=1e-15)


def free_tetrahedron(step: float, *, curvature_share: float = 1.0, duration: float = 4.0) -> Array:
    """Volume error over V0 of a free tetrahedron of unit masses, 1.1 times too large, om = 10, by Runge-Kutta."""
    x = np.vstack([np.zeros(3), np.eye(3)])
    constraints = measure_constraints(patches("element", np.array([[0, 1, 2, 3]]), x), x)

    def slope(state: Array) -> Array:
        x, v = state
        right = right_side(constraints, x, v, 10.0)
        right -= (1.0 - curvature_share) * constraints.curvature(x, v)
        gradient = constraints.gradient(x)
        multiplier = multipliers(gradient, np.ones(12), np.zeros(12), right)
        return np.array([v, (gradient.T @ multiplier).reshape(4, 3)])

    state, errors = np.array([1.1 * x, np.random.default_rng(1).standard_normal((4, 3))]), []
    for _ in range(round(duration / step)):
        a = slope(state)
        b = slope(state + 0.5 * step * a)
        c = slope(state + 0.5 * step * b)
        d = slope(state + step * c)
        state = state + step / 6.0 * (a + 2 * b + 2 * c + d)
        errors.append(constraints.value(state[0])[0] / constraints.rest[0])
    return np.abs(errors)


def test_the_volume_of_a_free_tetrahedron_returns_with_order_four() -> None:
    coarse, fine = free_tetrahedron(0.02), free_tetrahedron(0.01)
    # critical damping has died out after 3 s (exp(-30) (1 + 30)); what stays is the error of the scheme
    remaining = coarse[150:].max(), fine[300:].max()
    assert remaining[1] < 8e-9  # what the specification gives for a step of .01
    assert np.log2(remaining[0] / remaining[1]) == pytest.approx(4.0, abs=0.3)


def test_the_printed_sixth_leaves_a_volume_error_whatever_the_step() -> None:
    # E8: half of Q is missing, so om^2 R stays at Q/2 instead of zero
    stalled = [free_tetrahedron(step, curvature_share=0.5)[-1] for step in (0.02, 0.01)]
    assert stalled[0] > 1e-4
    assert stalled[1] == pytest.approx(stalled[0], rel=1e-3)


def test_multipliers_fulfil_the_stabilised_equation(build: Build) -> None:
    constraints, x = build("cell", 2)
    rng = np.random.default_rng(2)
    v, force = rng.standard_normal(x.shape), rng.standard_normal(x.size)
    held = np.repeat(x[:, 1] < 0.2, 2)
    inverse_mass = np.where(held, 0.0, 2.0)
    prescribed = np.where(held, 0.7, inverse_mass * force)
    gradient, right = constraints.gradient(x), right_side(constraints, x, v, 5.0)
    multiplier = multipliers(gradient, inverse_mass, prescribed, right)
    acceleration = prescribed + inverse_mass * (gradient.T @ multiplier)
    second = gradient @ acceleration + constraints.curvature(x, v)
    law = second + 10.0 * (gradient @ v.ravel()) + 25.0 * constraints.value(x)
    np.testing.assert_allclose(law, 0.0, atol=1e-11 * np.abs(right).max())


def test_dependent_constraints_are_solved_with_the_regularisation() -> None:
    # four triangles around the centre of a square: the constraints are dependent at rest (spec 5)
    points = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.5, 0.5]])
    triangles = np.array([[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]])
    constraints = measure_constraints(patches("element", triangles, points), points)
    gradient = constraints.gradient(points)
    assert np.linalg.matrix_rank(gradient.toarray()) == 3
    wanted = gradient @ np.random.default_rng(0).standard_normal(10)
    multiplier = multipliers(gradient, np.ones(10), np.zeros(10), -wanted, regularisation=1e-6)
    # eps = 1e-6 of the diagonal, over the smallest non-zero eigenvalue (about a fifth of it)
    np.testing.assert_allclose(gradient @ (gradient.T @ multiplier), wanted, atol=1e-5 * np.abs(wanted).max())


def test_a_body_held_everywhere_is_refused(build: Build) -> None:
    constraints, x = build("element", 2)
    with pytest.raises(RheotwinError, match="held nodes only"):
        multipliers(constraints.gradient(x), np.zeros(x.size), np.zeros(x.size), np.zeros(constraints.count))
