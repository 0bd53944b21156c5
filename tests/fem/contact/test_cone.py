"""The contact problem of one step: conditions of the laws, and an independent solver where there is one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.integrate import quad

from rheotwin.constraints.unilateral import solve_contact
from rheotwin.fem.contact.cone import solve_cone
from rheotwin.fem.contact.coulomb import SLIDING, STICKING, Cone
from rheotwin.fem.contact.law_force import HARD, SPRING, Instant, Springs, balanced_force, normal_force

Array = np.ndarray
MIDDLE = Instant(0.01, 0.5, mean=True)


@pytest.fixture
def springs() -> Callable[..., Springs]:
    def build(count: int, kind: int = SPRING, **columns: float) -> Springs:
        values = {
            "stiffness": 1e3,
            "damping": 5.0,
            "integral": 0.0,
            "past": 0.0,
            "level": 0.0,
            "cut": 0.0,
            "start": 0.0,
        }
        values |= columns
        return Springs(np.full(count, kind), *(np.full(count, values[name]) for name in Springs._fields[1:]))

    return build


@pytest.fixture
def coupled() -> Callable[[int], tuple[Array, Array]]:
    """A compliance and free gaps and slips that couple everything, about half of the contacts closed."""

    def build(size: int) -> tuple[Array, Array]:
        random = np.random.default_rng(3)
        root = random.normal(size=(size, size + 5))
        return root @ root.T / size * 1e-3 + 1e-5 * np.eye(size), 0.01 * random.normal(size=size) - 0.004

    return build


@pytest.mark.parametrize("directions", [1, 2, 3])
@pytest.mark.parametrize("kind", [HARD, SPRING], ids=["exact", "penalty"])
@pytest.mark.parametrize("creep", [0.0, 1e-3])
def test_every_contact_obeys_its_law(
    directions: int,
    kind: int,
    creep: float,
    springs: Callable[..., Springs],
    coupled: Callable[[int], tuple[Array, Array]],
) -> None:
    count, mu = 60, 0.3
    compliance, free = coupled(count * directions)
    laws, cone = springs(count, kind, start=0.002), Cone(np.full(count, mu), np.full(count, mu), np.full(count, creep))
    solved = solve_cone(compliance, free, np.zeros((count, directions)), laws, cone, MIDDLE)
    force = solved.force
    ends = (free + compliance @ force.ravel()).reshape(count, directions)
    size = np.abs(force).max()
    if kind == HARD:
        assert ends[:, 0].min() > -1e-12
        assert np.abs(ends[:, 0] * force[:, 0]).max() < 1e-12 * size
        assert force.min(axis=0)[0] >= 0.0
    else:
        wanted = [normal_force(laws, k, ends[k, 0], MIDDLE) for k in range(count)]
        np.testing.assert_allclose(force[:, 0], wanted, atol=1e-10 * size)
    assert 0 < np.count_nonzero(force[:, 0]) < count
    if directions == 1:
        return
    friction, limit = np.linalg.norm(force[:, 1:], axis=1), mu * force[:, 0]
    slip = np.linalg.norm(ends[:, 1:], axis=1)
    assert np.all(friction <= limit * (1.0 + 1e-10))
    slides, sticks = solved.state == SLIDING, solved.state == STICKING
    assert slides.any()
    along = np.sum(force[slides, 1:] * ends[slides, 1:], axis=1)
    np.testing.assert_allclose(along, -limit[slides] * slip[slides], rtol=1e-8, atol=1e-14)
    if creep:
        np.testing.assert_allclose(force[sticks, 1:] * creep, -limit[sticks, None] * ends[sticks, 1:], atol=1e-12)
    else:
        assert slip[sticks].max(initial=0.0) < 1e-12


def test_without_friction_it_is_the_quadratic_program(
    springs: Callable[..., Springs], coupled: Callable[[int], tuple[Array, Array]]
) -> None:
    compliance, free = coupled(80)
    none = np.zeros(80)
    cone = Cone(none, none, none)
    solved = solve_cone(compliance, free, np.zeros((80, 1)), springs(80, HARD), cone, MIDDLE)
    np.testing.assert_allclose(solved.force[:, 0], solve_contact(compliance, free), atol=1e-11)


def test_redundant_contacts_are_solved(springs: Callable[..., Springs]) -> None:
    """Sixty contacts that press on five degrees of freedom: no way to share is singled out, all gaps close."""
    random = np.random.default_rng(5)
    rows = np.abs(random.normal(size=(60, 5)))
    compliance, none = rows @ rows.T * 1e-3 + 1e-12 * np.eye(60), np.zeros(60)
    free = -rows @ np.full(5, 1e-2)
    solved = solve_cone(compliance, free, np.zeros((60, 1)), springs(60, HARD), Cone(none, none, none), MIDDLE)
    assert np.abs(free + compliance @ solved.force[:, 0]).max() < 1e-9 * np.abs(free).max()


@pytest.mark.parametrize("start", [-3e-3, 2e-3])
@pytest.mark.parametrize("end", [-4e-3, -1e-3, 3e-3])
@pytest.mark.parametrize("cut", [0.0, 1e-3])
def test_the_force_is_the_mean_of_the_law_along_the_step(
    start: float, end: float, cut: float, springs: Callable[..., Springs]
) -> None:
    """K = 1e3, C = 5, I J = -2 at mid-step: numerical integral of max(0, -K g - C g' - I J) where g < cut."""
    h, stiffness, damping, push = 0.01, 1e3, 5.0, 2.0
    past = -push / 50.0 - 0.5 * h * (start + 0.25 * (end - start))
    laws = springs(1, integral=50.0, past=past, cut=cut, start=start)
    rate = (end - start) / h

    def law(share: float) -> float:
        gap = start + share * (end - start)
        return max(0.0, -stiffness * gap - damping * rate + push) if gap < cut else 0.0

    kinks = [(level - start) / (end - start) for level in (0.0, cut, (push - damping * rate) / stiffness)]
    expected, _ = quad(law, 0.0, 1.0, points=sorted(k for k in kinks if 0.0 < k < 1.0), limit=200)
    assert normal_force(laws, 0, end, MIDDLE) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_the_balanced_force_solves_its_equation(springs: Callable[..., Springs]) -> None:
    for free in (-5e-3, -1e-4, 1e-4, 4e-3):
        for compliance in (1e-8, 1e-4, 1.0):
            laws = springs(1, start=1e-3)
            force = balanced_force(laws, 0, free, compliance, MIDDLE)
            assert force >= 0.0
            wanted = normal_force(laws, 0, free + compliance * force, MIDDLE)
            assert force == pytest.approx(wanted, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("directions", [2, 3])
def test_redundant_contacts_that_stick_and_slide_are_solved(directions: int, springs: Callable[..., Springs]) -> None:
    """Contacts in twos that ask for the same, through a compliance without rank: laws hold, forces stay of their size.

    `defect` is the natural map, zero where gap, complementarity and cone hold; it is checked against them here.
    """
    random, count, mu = np.random.default_rng(11), 12, 0.5
    rows = np.repeat(random.normal(size=(count // 2, directions, 40)), 2, axis=0).reshape(count * directions, 40)
    compliance = 1e-3 * rows @ rows.T
    free = np.repeat(0.01 * random.normal(size=(count // 2, directions)) - 0.004, 2, axis=0).ravel()
    cone = Cone(np.full(count, mu), np.full(count, mu), np.zeros(count))
    solved = solve_cone(
        compliance, free, np.zeros((count, directions)), springs(count, HARD), cone, MIDDLE, enough=1e-12
    )
    assert solved.defect < 1e-12
    ends = (free + compliance @ solved.force.ravel()).reshape(count, directions)
    assert ends[:, 0].min() > -1e-11
    assert np.abs(ends[:, 0] * solved.force[:, 0]).max() < 1e-11 * solved.force.max()
    assert np.all(np.linalg.norm(solved.force[:, 1:], axis=1) <= mu * solved.force[:, 0] + 1e-11)
    assert np.abs(solved.force).max() < 10.0 * np.abs(free).max() / np.diag(compliance).min()


def test_what_has_no_solution_is_said(springs: Callable[..., Springs]) -> None:
    """A point held between two walls that are closer than it is wide: each gap costs the other."""
    none = np.zeros(2)
    compliance = 1e-3 * np.array([[1.0, -1.0], [-1.0, 1.0]])
    solved = solve_cone(
        compliance, np.array([-1e-3, -1e-3]), np.zeros((2, 1)), springs(2, HARD), Cone(none, none, none), MIDDLE
    )
    assert solved.defect > 0.9e-3
