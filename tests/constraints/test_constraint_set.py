"""The compiled constraint solver against sparse matrices, and against the closed forms of the papers."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.sparse import vstack
from skfem import MeshTet, MeshTri

from rheotwin.constraints import Motion
from rheotwin.constraints.constraint_set import ConstraintSet, pack_constraints, solve_constraints
from rheotwin.constraints.driven import DrivenPoints
from rheotwin.constraints.links import LinkConstraints
from rheotwin.constraints.measure import MeasureConstraints, measure_constraints
from rheotwin.constraints.patches import patches
from rheotwin.constraints.stabilisation import ConstrainedInertia, LumpedInertia, stabilised_demand
from rheotwin.meshing.orientation import oriented
from rheotwin.tensors import padded

Array = np.ndarray
NO_LINKS = LinkConstraints(np.zeros((0, 2), np.int64), np.zeros(0), 0)
FREQUENCY = 10.0


def nothing_driven(points: Array) -> DrivenPoints:
    none = np.zeros(0, np.int64)
    return DrivenPoints(none, none, none, [], points)


@dataclass(frozen=True)
class Case:
    """A body with two links, a volume per cell patch and three driven components, in motion."""

    links: LinkConstraints
    measures: MeasureConstraints
    driven: DrivenPoints
    x: Array
    v: Array
    mass: Array
    fixed: Array
    """(N, d): components that do not give way."""
    acceleration: Array

    def packed(self, share: float) -> ConstraintSet:
        inverse = padded(np.where(self.fixed, 0.0, 1.0 / self.mass[:, None]))
        return pack_constraints(self.links, self.measures, self.driven, inverse, FREQUENCY, share=share)


@pytest.fixture(params=[2, 3])
def case(request: pytest.FixtureRequest) -> Case:
    dimension = request.param
    mesh = oriented((MeshTri if dimension == 2 else MeshTet)().refined(1))
    points = np.ascontiguousarray(mesh.p.T)
    random = np.random.default_rng(3)
    pairs = np.array([[0, len(points) - 1], [2, 5]])
    distances = np.linalg.norm(points[pairs[:, 1]] - points[pairs[:, 0]], axis=1)
    motions = [
        Motion(np.array([0.0, 1.0]), random.standard_normal((2, dimension)), smooth=True),
        Motion(np.array([0.0, 0.5, 2.0]), random.standard_normal((3, dimension))),
    ]
    driven = DrivenPoints(np.array([1, 3, 3]), np.array([1, 0, 1]), np.array([1, 0, 0]), motions, points)
    fixed = np.zeros(points.shape, dtype=bool)
    fixed[4] = True
    return Case(
        links=LinkConstraints(pairs, 0.9 * distances, points.size),
        measures=measure_constraints(patches("element", mesh.t.T[::2], points), points),
        driven=driven,
        x=points + 0.05 * random.standard_normal(points.shape),
        v=random.standard_normal(points.shape),
        mass=random.uniform(1.0, 2.0, len(points)),
        fixed=fixed,
        acceleration=random.standard_normal(points.shape),
    )


def test_multipliers_are_those_of_sparse_matrices(case: Case) -> None:
    time, share = 0.4, 1e-6
    packed = case.packed(share)
    packed.acceleration[:, : case.x.shape[1]] = case.acceleration
    order = np.argsort(case.driven.motion, kind="stable")
    rows = [case.links.gradient(case.x), case.measures.gradient(case.x), case.driven.gradient()[order]]
    speed, acceleration = (part[order] for part in case.driven.rates(time))
    demands = [
        stabilised_demand(part.value(case.x), row @ case.v.ravel(), part.curvature(case.x, case.v), FREQUENCY)
        for part, row in zip((case.links, case.measures), rows, strict=False)
    ]
    rate = rows[2] @ case.v.ravel() - speed
    demands.append(stabilised_demand(case.driven.value(case.x, time)[order], rate, -acceleration, FREQUENCY))
    gradient = vstack(rows, format="csr")
    inverse = np.where(case.fixed, 0.0, 1.0 / case.mass[:, None]).ravel()
    inertia = ConstrainedInertia(LumpedInertia(inverse), gradient, regularisation=np.full(gradient.shape[0], share))
    expected = inertia.multipliers(case.acceleration.ravel(), np.concatenate(demands))
    found = np.zeros(len(expected))
    solve_constraints(packed, padded(case.x), padded(case.v), time, True, 0.0, found)
    # the residual of 1e-12 grows by the conditioning, some hundred here
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    work = packed.rows.work[0]
    solve_constraints(packed, padded(case.x), padded(case.v), time, True, 0.0, found)
    assert packed.rows.work[0] - work <= 1  # a second look starts with the answer


def test_a_constraint_that_nothing_can_follow_has_no_force() -> None:
    between_fixed = LinkConstraints(np.array([[0, 1], [2, 3]]), np.array([0.1, 0.1]), 8)
    inverse = np.zeros((4, 3))
    inverse[2:] = 1.0
    packed = pack_constraints(between_fixed, None, nothing_driven(np.zeros((4, 2))), inverse, FREQUENCY)
    found = np.ones(2)
    x = np.random.default_rng(0).standard_normal((4, 3))
    solve_constraints(packed, x, np.zeros((4, 3)), 0.0, True, 0.0, found)
    assert found[0] == 0.0
    assert abs(found[1]) > 1.0


def runge_kutta(packed: ConstraintSet, x: Array, v: Array, step: float, duration: float) -> tuple[Array, Array]:
    """Move nodes of unit mass under nothing but their constraints."""
    multipliers = np.zeros(len(packed.right))

    def slope(state: Array, time: float, after: bool) -> Array:
        solve_constraints(packed, state[0], state[1], time, after, 1e-9 * step, multipliers)
        force = np.zeros_like(state[0])
        rows = packed.rows
        for i, multiplier in enumerate(multipliers):
            entries = slice(rows.start[i], rows.start[i + 1])
            np.add.at(force, rows.node[entries], rows.gradient[entries] * multiplier)
        return np.array([state[1], force])

    state = np.array([x, v])
    for number in range(round(duration / step)):
        time = number * step
        a = slope(state, time, True)
        b = slope(state + 0.5 * step * a, time + 0.5 * step, True)
        c = slope(state + 0.5 * step * b, time + 0.5 * step, True)
        d = slope(state + step * c, time + step, False)
        state = state + step / 6.0 * (a + 2.0 * b + 2.0 * c + d)
    return state[0], state[1]


def held_point(motion: Motion) -> ConstraintSet:
    points = np.zeros((1, 1))
    driven = DrivenPoints(np.array([0]), np.array([0]), np.array([0]), [motion], points)
    return pack_constraints(NO_LINKS, None, driven, np.ones((1, 3)), FREQUENCY)


def test_a_held_point_comes_back_critically_damped() -> None:
    """u = (u0 + (v0 + om u0) t) exp(-om t) (spec 9)."""
    start, speed = np.array([[0.1, 0.0, 0.0]]), np.array([[0.5, 0.0, 0.0]])
    fixed = held_point(Motion(np.zeros(1), np.zeros((1, 1))))
    errors = []
    for step in (0.01, 0.005):
        at = [runge_kutta(fixed, start, speed, step, time)[0][0, 0] for time in (0.1, 1.0)]
        errors.append(np.abs(np.array(at) - [(0.1 + 1.5 * t) * np.exp(-10.0 * t) for t in (0.1, 1.0)]).max())
        assert at == pytest.approx([0.0919699, 7.264e-5], rel=2e-4)
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.3)


def test_a_driven_point_follows_a_smooth_motion_with_order_four() -> None:
    motion = Motion(np.array([0.0, 1.0]), np.array([[0.0], [2.0]]), smooth=True)
    zero = np.zeros((1, 3))
    errors = []
    for step in (0.02, 0.01):
        x, v = runge_kutta(held_point(motion), zero, np.zeros((1, 3)), step, 0.5)
        errors.append(abs(x[0, 0] - 1.0) + 0.1 * abs(v[0, 0] - 3.0))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.3)


def test_the_volume_of_a_free_tetrahedron_returns_with_order_four() -> None:
    """om = 10, Runge-Kutta: 8e-9 V0 are left with a step of 0.01; a wrong Q of (4.57) stalls at 4e-3 V0 (E8)."""
    points = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    measures = measure_constraints(patches("element", np.array([[0, 1, 2, 3]]), points), points)
    packed = pack_constraints(NO_LINKS, measures, nothing_driven(points), np.ones((4, 3)), FREQUENCY)
    spin = np.random.default_rng(7).standard_normal((4, 3))
    left = []
    for step in (0.02, 0.01):
        x, _ = runge_kutta(packed, 1.1 * points, 0.2 * spin, step, 4.0)
        left.append(abs(measures.value(x)[0]) / measures.rest[0])
    assert left[1] < 8e-9
    assert np.log2(left[0] / left[1]) == pytest.approx(4.0, abs=0.3)


@pytest.mark.parametrize("dimension", [2, 3])
def test_links_have_the_derivatives_of_their_values(dimension: int) -> None:
    random = np.random.default_rng(5)
    x, way, v = (random.standard_normal((4, dimension)) for _ in range(3))
    links = LinkConstraints(np.array([[0, 1], [1, 3]]), np.array([1.2, 0.7]), x.size)
    # of degree two: central differences are exact, and the gradient half-way is the discrete one
    np.testing.assert_allclose(links.value(x + way) - links.value(x), links.gradient(x + 0.5 * way) @ way.ravel())
    second = links.value(x + v) - 2.0 * links.value(x) + links.value(x - v)
    np.testing.assert_allclose(links.curvature(x, v), second, rtol=1e-12)
    on_length = x.copy()
    on_length[1] = x[0] + 1.2 * (x[1] - x[0]) / np.linalg.norm(x[1] - x[0])
    assert links.tension(on_length, np.array([-3.0, 0.0]))[0] == pytest.approx(3.0)
