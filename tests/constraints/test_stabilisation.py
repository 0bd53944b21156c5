"""Constraint stabilisation: Schur complements against whole matrices, the compiled solver, links, volumes, order."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_matrix, vstack
from skfem import MeshTet, MeshTri

from rheotwin.constraints import Motion
from rheotwin.constraints.constraint_set import ConstraintSet, DrivenPoints, pack_constraints, solve_constraints
from rheotwin.constraints.links import LinkConstraints
from rheotwin.constraints.measure import measure_constraints
from rheotwin.constraints.patches import patches
from rheotwin.constraints.stabilisation import (
    ConstrainedInertia,
    FactorisedInertia,
    Inertia,
    LumpedInertia,
    stabilised_demand,
)
from rheotwin.errors import RheotwinError
from rheotwin.meshing.topology import oriented
from rheotwin.tensors import padded

Array = np.ndarray
SIZE, FREQUENCY = 12, 10.0
NO_LINKS = LinkConstraints(np.zeros((0, 2), np.int64), np.zeros(0), 0)
TET = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])


@pytest.fixture(params=["lumped", "consistent"])
def body(request: pytest.FixtureRequest) -> tuple[Array, Inertia]:
    random = np.random.default_rng(1)
    if request.param == "lumped":
        mass = np.diag(random.uniform(1.0, 3.0, SIZE))
        return mass, LumpedInertia(1.0 / np.diag(mass))
    root = random.normal(size=(SIZE, SIZE))
    mass = root @ root.T + SIZE * np.eye(SIZE)
    factor = cho_factor(mass)
    return mass, FactorisedInertia(lambda right: cho_solve(factor, right))


def test_stacked_constraints_are_one_block_system(body: tuple[Array, Inertia]) -> None:
    """[M -A; -A^T 0] [v'; L] = [F; b]: all rows at once, and supports first with other rows on the constrained body."""
    mass, inertia = body
    random = np.random.default_rng(3)
    held, more = np.eye(SIZE)[[0, 5, 7]], random.normal(size=(3, SIZE))
    rows, force, demand = np.vstack([held, more]), random.normal(size=SIZE), random.normal(size=6)
    block = np.block([[mass, -rows.T], [-rows, np.zeros((6, 6))]])
    expected = np.linalg.solve(block, np.concatenate([force, demand]))
    at_once = ConstrainedInertia(inertia, csr_matrix(rows)).response(inertia.accelerations(force), demand)
    np.testing.assert_allclose(np.concatenate(at_once), expected, rtol=1e-10, atol=1e-12)
    first = ConstrainedInertia(inertia, csr_matrix(held))
    free, _ = first.response(inertia.accelerations(force), demand[:3])
    found, multipliers = ConstrainedInertia(first, csr_matrix(more)).response(free, demand[3:])
    np.testing.assert_allclose(found, expected[:SIZE], rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(multipliers, expected[SIZE + 3 :], rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(first.accelerations(force)[[0, 5, 7]], 0.0, atol=1e-13)


def test_dependent_constraints_share_their_force_and_impossible_ones_are_refused(body: tuple[Array, Inertia]) -> None:
    """The same row twice: halves, changed by eps = 1e-6 of the diagonal by a share of 1e-6."""
    _, inertia = body
    row = np.random.default_rng(4).normal(size=(1, SIZE))
    free, once = inertia.accelerations(np.ones(SIZE)), ConstrainedInertia(inertia, csr_matrix(row))
    shared = ConstrainedInertia(inertia, csr_matrix(np.vstack([row, row])), regularisation=1e-6)
    single = once.multipliers(free, np.array([0.3]))[0]
    np.testing.assert_allclose(shared.multipliers(free, np.array([0.3, 0.3])), single / 2, rtol=1e-6)
    with pytest.raises(RheotwinError, match=r"constraints: 1 of them .* act on held nodes only"):
        ConstrainedInertia(body[1], csr_matrix((1, SIZE)))


def test_dependent_areas_are_regularised_and_impossible_links_have_no_force() -> None:
    points = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.5, 0.5]])
    triangles = np.array([[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]])
    gradient = measure_constraints(patches("element", triangles, points), points).gradient(points)
    assert np.linalg.matrix_rank(gradient.toarray()) == 3
    wanted = gradient @ np.random.default_rng(0).standard_normal(10)
    inertia = ConstrainedInertia(LumpedInertia(np.ones(10)), gradient, regularisation=1e-6)
    # eps = 1e-6 of the diagonal, over the smallest non-zero eigenvalue (about a fifth of it)
    found = gradient @ (gradient.T @ inertia.multipliers(np.zeros(10), -wanted))
    np.testing.assert_allclose(found, wanted, atol=1e-5 * np.abs(wanted).max())
    between_fixed = LinkConstraints(np.array([[0, 1], [2, 3]]), np.array([0.1, 0.1]), 8)
    inverse = np.zeros((4, 3))
    inverse[2:] = 1.0
    packed = pack_constraints(between_fixed, None, nothing_driven(np.zeros((4, 2))), inverse, FREQUENCY)
    found = np.ones(2)
    x = np.random.default_rng(0).standard_normal((4, 3))
    solve_constraints(packed, x, np.zeros((4, 3)), 0.0, True, 0.0, found)
    assert found[0] == 0.0 and abs(found[1]) > 1.0


def nothing_driven(points: Array) -> DrivenPoints:
    none = np.zeros(0, np.int64)
    return DrivenPoints(none, none, none, [], points)


@pytest.mark.parametrize("dimension", [2, 3])
def test_multipliers_are_those_of_sparse_matrices(dimension: int) -> None:
    """A body with two links, a volume per cell patch and three driven components, in motion; one node held.
    R'' + 2 om R' + om^2 R = 0 of all of them by the compiled solver and by matrices."""
    mesh = oriented((MeshTri if dimension == 2 else MeshTet)().refined(1))
    points, random, time, share = np.ascontiguousarray(mesh.p.T), np.random.default_rng(3), 0.4, 1e-6
    pairs = np.array([[0, len(points) - 1], [2, 5]])
    distances = np.linalg.norm(points[pairs[:, 1]] - points[pairs[:, 0]], axis=1)
    motions = [
        Motion(np.array([0.0, 1.0]), random.standard_normal((2, dimension)), smooth=True),
        Motion(np.array([0.0, 0.5, 2.0]), random.standard_normal((3, dimension))),
    ]
    driven = DrivenPoints(np.array([1, 3, 3]), np.array([1, 0, 1]), np.array([1, 0, 0]), motions, points)
    links = LinkConstraints(pairs, 0.9 * distances, points.size)
    measures = measure_constraints(patches("element", mesh.t.T[::2], points), points)
    x, v = points + 0.05 * random.standard_normal(points.shape), random.standard_normal(points.shape)
    inverse = 1.0 / random.uniform(1.0, 2.0, len(points))[:, None] * np.ones(dimension)
    inverse[4] = 0.0
    own = random.standard_normal(points.shape)

    packed = pack_constraints(links, measures, driven, padded(inverse), FREQUENCY, share=share)
    packed.acceleration[:, :dimension] = own
    order = np.argsort(driven.motion, kind="stable")
    rows = [links.gradient(x), measures.gradient(x), driven.gradient()[order]]
    speed, acceleration = (part[order] for part in driven.rates(time))
    demands = [
        stabilised_demand(part.value(x), part.gradient(x) @ v.ravel(), part.curvature(x, v), FREQUENCY)
        for part in (links, measures)
    ]
    rate = rows[2] @ v.ravel() - speed
    demands.append(stabilised_demand(driven.value(x, time)[order], rate, -acceleration, FREQUENCY))
    gradient, demand = vstack(rows, format="csr"), np.concatenate(demands)
    inertia = LumpedInertia(inverse.ravel())
    exact = ConstrainedInertia(inertia, gradient, regularisation=np.full(gradient.shape[0], share))
    expected = exact.multipliers(own.ravel(), demand)
    second = gradient @ (own.ravel() + inverse.ravel() * (gradient.T @ expected))
    for part, there in zip((links, measures), np.split(second, [2, len(second) - 3])[:2], strict=True):
        law = there + part.curvature(x, v) + 20.0 * (part.gradient(x) @ v.ravel()) + 100.0 * part.value(x)
        np.testing.assert_allclose(law, 0.0, atol=1e-5 * np.abs(demand).max())  # but for the share
    found = np.zeros(len(expected))
    solve_constraints(packed, padded(x), padded(v), time, True, 0.0, found)
    # the residual of 1e-12 grows by the conditioning, some hundred here
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    work = packed.rows.work[0]
    solve_constraints(packed, padded(x), padded(v), time, True, 0.0, found)
    assert packed.rows.work[0] - work <= 1  # a second look starts with the answer


Slope = Callable[[Array, float, bool], Array]
"""Rates of a state at a time, on one side of it or the other."""


def runge_kutta(slope: Slope, start: Any, step: float, duration: float) -> list[Array]:
    """Return the states after every step of Runge's rule."""
    state, found = np.array(start), []
    for number in range(round(duration / step)):
        time = number * step
        a = slope(state, time, True)
        b = slope(state + 0.5 * step * a, time + 0.5 * step, True)
        c = slope(state + 0.5 * step * b, time + 0.5 * step, True)
        d = slope(state + step * c, time + step, False)
        state = state + step / 6.0 * (a + 2.0 * b + 2.0 * c + d)
        found.append(state)
    return found


def by_constraints(packed: ConstraintSet, step: float) -> Slope:
    """Return the slope of nodes of unit mass under nothing but their constraints, as the compiled solver sees them."""
    multipliers, rows = np.zeros(len(packed.right)), packed.rows

    def slope(state: Array, time: float, after: bool) -> Array:
        solve_constraints(packed, state[0], state[1], time, after, 1e-9 * step, multipliers)
        force = np.zeros_like(state[0])
        for i, multiplier in enumerate(multipliers):
            entries = slice(rows.start[i], rows.start[i + 1])
            np.add.at(force, rows.node[entries], rows.gradient[entries] * multiplier)
        return np.array([state[1], force])

    return slope


def by_matrices(
    constraint: Any, inverse: Array, free: Callable[[Array], Array], frequency: float, **more: Any
) -> Slope:
    """Return the slope of bodies of inverse masses with their own accelerations, by sparse matrices."""

    def slope(state: Array, _: float, __: bool) -> Array:
        x, v = state
        gradient, own = constraint.gradient(x), free(state)
        curvature = constraint.curvature(x, v)
        demand = stabilised_demand(constraint.value(x), gradient @ v.ravel(), curvature, frequency)
        multipliers = ConstrainedInertia(LumpedInertia(inverse), gradient, **more).multipliers(own, demand)
        return np.array([v, (own + inverse * (gradient.T @ multipliers)).reshape(x.shape)])

    return slope


def held_point(motion: Motion) -> ConstraintSet:
    points, one = np.zeros((1, 1)), np.array([0])
    return pack_constraints(NO_LINKS, None, DrivenPoints(one, one, one, [motion], points), np.ones((1, 3)), FREQUENCY)


def test_points_come_back_critically_damped_and_follow_motions_with_order_four() -> None:
    """u = (u0 + (v0 + om u0) t) exp(-om t) (spec 9)."""
    start = [[[0.1, 0.0, 0.0]], [[0.5, 0.0, 0.0]]]
    fixed, errors = held_point(Motion(np.zeros(1), np.zeros((1, 1)))), []
    for step in (0.01, 0.005):
        at = [runge_kutta(by_constraints(fixed, step), start, step, time)[-1][0, 0, 0] for time in (0.1, 1.0)]
        errors.append(np.abs(np.array(at) - [(0.1 + 1.5 * t) * np.exp(-10.0 * t) for t in (0.1, 1.0)]).max())
        assert at == pytest.approx([0.0919699, 7.264e-5], rel=2e-4)
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.3)
    point, errors = held_point(Motion(np.array([0.0, 1.0]), np.array([[0.0], [2.0]]), smooth=True)), []
    for step in (0.02, 0.01):
        x, v = runge_kutta(by_constraints(point, step), np.zeros((2, 1, 3)), step, 0.5)[-1]
        errors.append(abs(x[0, 0] - 1.0) + 0.1 * abs(v[0, 0] - 3.0))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.3)


@pytest.mark.parametrize("compiled", [True, False])
def test_the_volume_of_a_free_tetrahedron_returns_with_order_four(compiled: bool) -> None:
    """om = 10: 8e-9 V0 are left with a step of 0.01 (spec); a wrong Q of (4.57) stalls at 4e-3 V0 (E8)."""
    measures = measure_constraints(patches("element", np.array([[0, 1, 2, 3]]), TET), TET)
    packed = pack_constraints(NO_LINKS, measures, nothing_driven(TET), np.ones((4, 3)), FREQUENCY)
    matrices = by_matrices(measures, np.ones(12), lambda _: np.zeros(12), FREQUENCY)
    start, left = [1.1 * TET, 0.2 * np.random.default_rng(7).standard_normal((4, 3))], []
    for step in (0.02, 0.01):
        x, _ = runge_kutta(by_constraints(packed, step) if compiled else matrices, start, step, 4.0)[-1]
        left.append(abs(measures.value(x)[0]) / measures.rest[0])
    assert left[1] < 8e-9 and np.log2(left[0] / left[1]) == pytest.approx(4.0, abs=0.3)


def swing(step: float, end: float, stretch: float) -> tuple[float, float]:
    """Run a free dumb-bell of 1 and 2 kg with spin 2 about its centre of mass; return R at the end and its turn."""
    link = LinkConstraints(np.array([[0, 1]]), np.ones(1), 4)
    slope = by_matrices(link, 1.0 / np.array([1.0, 1.0, 2.0, 2.0]), lambda _: np.zeros(4), FREQUENCY)
    start = [[[-2 / 3 * stretch, 0.0], [stretch / 3, 0.0]], [[0.0, -4 / 3], [0.0, 2 / 3]]]
    x, _ = runge_kutta(slope, start, step, end)[-1]
    across, up = x[1] - x[0]
    return 0.5 * (across**2 + up**2 - 1.0), float(np.arctan2(up, across))


def test_rigid_link_turns_at_constant_speed_and_violation_dies_out() -> None:
    """A free dumb-bell with spin 2 has turned by 2 t; RK4 reaches it with order 4."""
    errors = [abs(swing(step, 1.0, 1.0)[1] - 2.0) for step in (0.04, 0.02, 0.01)]
    assert np.log2(np.array(errors[:-1]) / errors[1:]) == pytest.approx(4.0, abs=0.2)
    # From R(0) = 0.105, R'(0) = 0 the solution of R'' + 2 om R' + om^2 R = 0 is R(0) (1 + om t) exp(-om t).
    for end in (0.2, 0.5, 1.0):
        assert swing(0.005, end, 1.1)[0] == pytest.approx(0.105 * (1 + 10 * end) * np.exp(-10 * end), rel=1e-4)


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
