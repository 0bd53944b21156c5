"""Saddle-point systems by Schur complement against the assembled block matrix; CSM on a rigid link."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_matrix

from rheotwin.constraints.stabilisation import (
    ConstrainedInertia,
    Constraint,
    FactorisedInertia,
    Inertia,
    LumpedInertia,
    stabilised_demand,
)
from rheotwin.errors import RheotwinError

Array = np.ndarray
SIZE = 12


def lumped(mass: Array) -> Inertia:
    return LumpedInertia(1.0 / np.diag(mass))


def factorised(mass: Array) -> Inertia:
    factor = cho_factor(mass)
    return FactorisedInertia(lambda right: cho_solve(factor, right))


@pytest.fixture(params=["lumped", "consistent"])
def body(request: pytest.FixtureRequest) -> tuple[Array, Inertia]:
    random = np.random.default_rng(1)
    if request.param == "lumped":
        mass = np.diag(random.uniform(1.0, 3.0, SIZE))
        return mass, lumped(mass)
    root = random.normal(size=(SIZE, SIZE))
    mass = root @ root.T + SIZE * np.eye(SIZE)
    return mass, factorised(mass)


@pytest.fixture
def block_solution() -> Callable[..., tuple[Array, Array]]:
    """Solve [M -A; -A^T 0] [v'; L] = [F; b] as one matrix."""

    def solve(mass: Array, rows: Array, force: Array, demand: Array) -> tuple[Array, Array]:
        count = len(demand)
        block = np.block([[mass, -rows.T], [-rows, np.zeros((count, count))]])
        found = np.linalg.solve(block, np.concatenate([force, demand]))
        return found[:SIZE], found[SIZE:]

    return solve


def test_schur_complement_solves_the_block_system(
    body: tuple[Array, Inertia], block_solution: Callable[..., tuple[Array, Array]]
) -> None:
    mass, inertia = body
    random = np.random.default_rng(2)
    rows, force, demand = random.normal(size=(4, SIZE)), random.normal(size=SIZE), random.normal(size=4)
    constrained = ConstrainedInertia(inertia, csr_matrix(rows))
    found = constrained.response(inertia.accelerations(force), demand)
    for part, expected in zip(found, block_solution(mass, rows, force, demand), strict=True):
        np.testing.assert_allclose(part, expected, rtol=1e-10, atol=1e-12)


def test_stacked_constraints_are_one_block_system(
    body: tuple[Array, Inertia], block_solution: Callable[..., tuple[Array, Array]]
) -> None:
    """Supports first, then other rows on the constrained body: the same multipliers as all rows at once."""
    mass, inertia = body
    random = np.random.default_rng(3)
    held, more = np.eye(SIZE)[[0, 5, 7]], random.normal(size=(3, SIZE))
    force, demand = random.normal(size=SIZE), random.normal(size=6)
    first = ConstrainedInertia(inertia, csr_matrix(held))
    second = ConstrainedInertia(first, csr_matrix(more))
    free, _ = first.response(inertia.accelerations(force), demand[:3])
    found, multipliers = second.response(free, demand[3:])
    expected, both = block_solution(mass, np.vstack([held, more]), force, demand)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(multipliers, both[3:], rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(first.accelerations(force)[[0, 5, 7]], 0.0, atol=1e-13)


def test_constraint_that_nothing_can_follow_is_refused(body: tuple[Array, Inertia]) -> None:
    with pytest.raises(RheotwinError, match=r"constraints: 1 of them .* act on held nodes only"):
        ConstrainedInertia(body[1], csr_matrix((1, SIZE)))


def test_dependent_constraints_share_their_force(body: tuple[Array, Inertia]) -> None:
    """The same row twice: halves, changed by eps = 1e-6 of the diagonal by a share of 1e-6."""
    _, inertia = body
    row = np.random.default_rng(4).normal(size=(1, SIZE))
    twice = csr_matrix(np.vstack([row, row]))
    force, once = np.ones(SIZE), ConstrainedInertia(inertia, csr_matrix(row))
    shared = ConstrainedInertia(inertia, twice, regularisation=1e-6)
    free = inertia.accelerations(force)
    single = once.multipliers(free, np.array([0.3]))[0]
    np.testing.assert_allclose(shared.multipliers(free, np.array([0.3, 0.3])), single / 2, rtol=1e-6)


class RigidLink:
    """R = (|x_1 - x_0|^2 - l^2)/2 between two nodes in the plane."""

    def __init__(self, length: float) -> None:
        self.length = length

    def value(self, positions: Array) -> Array:
        link = positions[1] - positions[0]
        return np.array([0.5 * (link @ link - self.length**2)])

    def gradient(self, positions: Array) -> csr_matrix:
        link = positions[1] - positions[0]
        return csr_matrix(np.concatenate([-link, link])[None])

    def curvature(self, positions: Array, velocities: Array) -> Array:
        speed = velocities[1] - velocities[0]
        return np.array([speed @ speed])


@pytest.fixture
def swing() -> Callable[..., tuple[float, float]]:
    """Run a free dumb-bell with RK4; return |R| at the end and its turn."""

    def run(step: float, end: float, stretch: float, frequency: float = 10.0) -> tuple[float, float]:
        link: Constraint = RigidLink(1.0)
        inertia = LumpedInertia(1.0 / np.array([1.0, 1.0, 2.0, 2.0]))

        def rate(y: Array) -> Array:
            x, v = y[:4].reshape(2, 2), y[4:]
            rows = link.gradient(x)
            curvature = link.curvature(x, v.reshape(2, 2))
            demand = stabilised_demand(link.value(x), rows @ v, curvature, frequency)
            a, _ = ConstrainedInertia(inertia, rows).response(np.zeros(4), demand)
            return np.concatenate([v, a])

        # spin of 2 about the centre of mass, which rests; both speeds scale with the arms
        y = np.array([-2 / 3 * stretch, 0, stretch / 3, 0, 0, -4 / 3, 0, 2 / 3])
        for _ in range(round(end / step)):
            k1 = rate(y)
            k2 = rate(y + step / 2 * k1)
            k3 = rate(y + step / 2 * k2)
            y = y + step / 6 * (k1 + 2 * k2 + 2 * k3 + rate(y + step * k3))
        link_now = y[2:4] - y[:2]
        return float(abs(link.value(y[:4].reshape(2, 2))[0])), float(np.arctan2(link_now[1], link_now[0]))

    return run


def test_rigid_link_turns_at_constant_speed(swing: Callable[..., tuple[float, float]]) -> None:
    """A free dumb-bell with spin 2 has turned by 2 t; RK4 reaches it with order 4."""
    errors = [abs(swing(step, 1.0, 1.0)[1] - 2.0) for step in (0.04, 0.02, 0.01)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.2)
    assert np.log2(errors[1] / errors[2]) == pytest.approx(4.0, abs=0.2)


def test_violation_dies_out_critically_damped(swing: Callable[..., tuple[float, float]]) -> None:
    """From R(0) = 0.105, R'(0) = 0 the solution of R'' + 2 om R' + om^2 R = 0 is R(0) (1 + om t) exp(-om t)."""
    start = 0.5 * (1.1**2 - 1.0)
    for end in (0.2, 0.5, 1.0):
        found, _ = swing(0.005, end, 1.1)
        assert found == pytest.approx(start * (1 + 10 * end) * np.exp(-10 * end), rel=1e-4)
