"""The contact problem of one step: conditions of the laws, and an independent solver where there is one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad

from rheotwin.constraints.unilateral import solve_contact
from rheotwin.fem.contact import cone, law_force
from rheotwin.fem.contact.law_force import HARD, SPRING, Instant
from rheotwin.kernels.program import Clock, Program

Array = np.ndarray
MIDDLE = Instant(0.01, 0.5, mean=True)
normal_force: Any = law_force.normal_force
FORCE_AT = getattr(normal_force, "py_func", normal_force)
"""The formula of the compliant laws, for Python."""


@dataclass
class Solved:
    force: Array
    end: Array
    state: Array
    defect: float


def laws(count: int, kind: int = SPRING, **numbers: float) -> Array:
    """Return laws of `count` equal contacts with K = 1e3 and C = 5."""
    table = np.zeros((count, law_force.NUMBERS))
    for name, value in ({"kind": kind, "stiffness": 1e3, "damping": 5.0} | numbers).items():
        table[:, getattr(law_force, name.upper())] = value
    return table


def solve(compliance: Array, free: Array, law: Array, *, enough: float = 0.0) -> Solved:
    count, k = len(law), len(free) // len(law)
    p = cone.room_to_solve(count + 3, k, np.array([count]))
    n = count * k
    p.w[:n, :n], p.free[:n], p.law[:count] = compliance, free, law
    Program(cone.cone_stages(p, k, enough, MIDDLE), 0.0, Clock()).run(0, 1)
    force = p.force[:n].reshape(count, k)
    np.testing.assert_array_equal(p.w[:n, :n], compliance)
    return Solved(force, (free + compliance @ p.force[:n]).reshape(count, k), p.state[:count], p.course[cone.DEFECT])


def coupled(size: int) -> tuple[Array, Array]:
    """Return a compliance, free gaps and slips that couple everything, about half of the contacts closed."""
    random = np.random.default_rng(3)
    root = random.normal(size=(size, size + 5))
    return root @ root.T / size * 1e-3 + 1e-5 * np.eye(size), 0.01 * random.normal(size=size) - 0.004


@pytest.mark.parametrize("directions", [1, 2, 3])
@pytest.mark.parametrize("kind", [HARD, SPRING], ids=["exact", "penalty"])
@pytest.mark.parametrize("creep", [0.0, 1e-3])
def test_every_contact_obeys_its_law(directions: int, kind: int, creep: float) -> None:
    count, mu = 60, 0.3
    law = laws(count, kind, start=0.002, kinetic=mu, static=mu, creep=creep)
    solved = solve(*coupled(count * directions), law)
    force, ends = solved.force, solved.end
    size = np.abs(force).max()
    if kind == HARD:
        assert ends[:, 0].min() > -1e-12
        assert np.abs(ends[:, 0] * force[:, 0]).max() < 1e-12 * size
        assert force[:, 0].min() >= 0.0
    else:
        wanted = [FORCE_AT(law, k, ends[k, 0], MIDDLE) for k in range(count)]
        np.testing.assert_allclose(force[:, 0], wanted, atol=1e-10 * size)
    assert 0 < np.count_nonzero(force[:, 0]) < count
    if directions == 1:
        return
    friction, limit = np.linalg.norm(force[:, 1:], axis=1), mu * force[:, 0]
    slip = np.linalg.norm(ends[:, 1:], axis=1)
    assert np.all(friction <= limit * (1.0 + 1e-10))
    slides, sticks = solved.state == cone.SLIDING, solved.state == cone.STICKING
    assert slides.any()
    along = np.sum(force[slides, 1:] * ends[slides, 1:], axis=1)
    np.testing.assert_allclose(along, -limit[slides] * slip[slides], rtol=1e-8, atol=1e-14)
    if creep:
        np.testing.assert_allclose(force[sticks, 1:] * creep, -limit[sticks, None] * ends[sticks, 1:], atol=1e-12)
    else:
        assert slip[sticks].max(initial=0.0) < 1e-12


def test_without_friction_it_is_the_quadratic_program() -> None:
    compliance, free = coupled(80)
    solved = solve(compliance, free, laws(80, HARD))
    np.testing.assert_allclose(solved.force[:, 0], solve_contact(compliance, free), atol=1e-11)


def test_redundant_contacts_are_solved() -> None:
    """Sixty contacts that press on five degrees of freedom: no way to share is singled out, all gaps close."""
    rows = np.abs(np.random.default_rng(5).normal(size=(60, 5)))
    free = -rows @ np.full(5, 1e-2)
    solved = solve(rows @ rows.T * 1e-3 + 1e-12 * np.eye(60), free, laws(60, HARD))
    assert np.abs(solved.end).max() < 1e-9 * np.abs(free).max()


@pytest.mark.parametrize("directions", [2, 3])
def test_redundant_contacts_that_stick_and_slide_are_solved(directions: int) -> None:
    """Contacts in twos that ask for the same, through a compliance without rank: laws hold, forces stay of their size.

    `defect` is the natural map, zero where gap, complementarity and cone hold; it is checked against them here.
    """
    random, count, mu = np.random.default_rng(11), 12, 0.5
    rows = np.repeat(random.normal(size=(count // 2, directions, 40)), 2, axis=0).reshape(count * directions, 40)
    compliance = 1e-3 * rows @ rows.T
    free = np.repeat(0.01 * random.normal(size=(count // 2, directions)) - 0.004, 2, axis=0).ravel()
    solved = solve(compliance, free, laws(count, HARD, kinetic=mu, static=mu), enough=1e-12)
    assert solved.defect < 1e-12
    assert solved.end[:, 0].min() > -1e-11
    assert np.abs(solved.end[:, 0] * solved.force[:, 0]).max() < 1e-11 * solved.force.max()
    assert np.all(np.linalg.norm(solved.force[:, 1:], axis=1) <= mu * solved.force[:, 0] + 1e-11)
    assert np.abs(solved.force).max() < 10.0 * np.abs(free).max() / np.diag(compliance).min()


def test_what_has_no_solution_is_said() -> None:
    """A point held between two walls that are closer than it is wide: each gap costs the other."""
    compliance = 1e-3 * np.array([[1.0, -1.0], [-1.0, 1.0]])
    assert solve(compliance, np.array([-1e-3, -1e-3]), laws(2, HARD)).defect > 0.9e-3


def test_what_supports_hold_has_no_force() -> None:
    """Neither along the normal nor along a tangent, and its neighbour does not notice."""
    alone = solve(np.diag([1e-3, 1e-3]), np.array([-1e-3, 1e-4]), laws(1, HARD, kinetic=0.5, static=0.5))
    both = solve(np.diag([1e-3, 1e-3, 0.0, 0.0]), np.array([-1e-3, 1e-4, -1e-3, 1e-4]),
                 laws(2, HARD, kinetic=0.5, static=0.5))  # fmt: skip
    np.testing.assert_allclose(both.force, [alone.force[0], [0.0, 0.0]], atol=1e-15)
    np.testing.assert_allclose(alone.force[0], [1.0, -0.1])


@pytest.mark.parametrize("start", [-3e-3, 2e-3])
@pytest.mark.parametrize("end", [-4e-3, -1e-3, 3e-3])
@pytest.mark.parametrize("cut", [0.0, 1e-3])
def test_the_force_is_the_mean_of_the_law_along_the_step(start: float, end: float, cut: float) -> None:
    """K = 1e3, C = 5, I J = -2 at mid-step: numerical integral of max(0, -K g - C g' - I J) where g < cut."""
    h, stiffness, damping, push = 0.01, 1e3, 5.0, 2.0
    past = -push / 50.0 - 0.5 * h * (start + 0.25 * (end - start))
    rate = (end - start) / h

    def law(share: float) -> float:
        gap = start + share * (end - start)
        return max(0.0, -stiffness * gap - damping * rate + push) if gap < cut else 0.0

    kinks = [(level - start) / (end - start) for level in (0.0, cut, (push - damping * rate) / stiffness)]
    expected, _ = quad(law, 0.0, 1.0, points=sorted(k for k in kinks if 0.0 < k < 1.0), limit=200)
    found = FORCE_AT(laws(1, integral=50.0, past=past, cut=cut, start=start), 0, end, MIDDLE)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("free", [-5e-3, -1e-4, 1e-4, 4e-3])
@pytest.mark.parametrize("compliance", [1e-8, 1e-4, 1.0])
def test_a_spring_meets_what_gives_way(free: float, compliance: float) -> None:
    law = laws(1, start=1e-3)
    solved = solve(np.array([[compliance]]), np.array([free]), law)
    force = float(solved.force[0, 0])
    assert force >= 0.0
    assert force == pytest.approx(FORCE_AT(law, 0, free + compliance * force, MIDDLE), rel=1e-6, abs=1e-12)
