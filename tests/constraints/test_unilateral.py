"""The contact problem of a step against trying every active set."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheotwin.constraints.unilateral import solve_contact
from rheotwin.errors import Stopped

Array = np.ndarray


def every_active_set(compliance: Array, gap: Array) -> Array:
    """The one active set whose forces push and which leaves no other point inside."""
    tolerance = 1e-9 * max(1.0, np.abs(gap).max())
    for active in product([False, True], repeat=len(gap)):
        chosen = np.flatnonzero(active)
        forces = np.zeros(len(gap))
        if len(chosen):
            forces[chosen] = np.linalg.solve(compliance[np.ix_(chosen, chosen)], -gap[chosen])
        if np.all(forces >= 0) and np.all(gap + compliance @ forces >= -tolerance):
            return forces
    raise AssertionError("a positive definite problem has a solution")


@settings(deadline=None, max_examples=150)
@given(size=st.integers(1, 7), seed=st.integers(0, 10**6), scale=st.sampled_from([1e-9, 1.0, 1e6]))
def test_equals_the_enumeration_of_active_sets(size: int, seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(size, size))
    compliance, gap = scale * (root @ root.T + 0.1 * np.eye(size)), rng.normal(size=size)
    found, expected = solve_contact(compliance, gap), every_active_set(compliance / scale, gap) / scale
    np.testing.assert_allclose(found, expected, atol=1e-9 * max(np.abs(expected).max(), 1 / scale))


@pytest.mark.parametrize("size", [40, 200])
def test_many_contacts_satisfy_the_complementarity(size: int) -> None:
    """gap + S f >= 0, f >= 0, f (gap + S f) = 0 for a surface's compliance, which decays with distance."""
    place = np.arange(size)
    compliance = 1e-3 / (1.0 + np.abs(place[:, None] - place))
    compliance = compliance @ compliance + 1e-7 * np.eye(size)
    gap = 0.01 * (np.random.default_rng(2).normal(size=size) - 0.5)
    forces = solve_contact(compliance, gap)
    left = gap + compliance @ forces
    assert forces.min() >= 0.0 and left.min() > -1e-11 and np.abs(forces * left).max() < 1e-10 * forces.max()
    assert 0 < np.count_nonzero(forces) < size


def test_open_closed_dependent_and_impossible_contacts() -> None:
    np.testing.assert_array_equal(solve_contact(np.eye(3), np.array([0.1, 0.0, 5.0])), np.zeros(3))
    assert solve_contact(np.zeros((0, 0)), np.zeros(0)).shape == (0,)
    assert solve_contact(np.array([[0.5]]), np.array([-2.0]))[0] == pytest.approx(4.0, rel=1e-15)
    # Dependent ones: the sum is that of one alone, 10 N, up to the 1e-10 of compliance they get to share it.
    forces = solve_contact(np.full((2, 2), 0.1), np.array([-1.0, -1.0]))
    assert forces.min() >= 0.0 and forces.sum() == pytest.approx(10.0, rel=1e-9)
    with pytest.raises(Stopped, match=r"contact: what is pressed from several sides has no room left; keep the"):
        solve_contact(np.array([[1.0, -1.0], [-1.0, 1.0]]), np.array([-1.0, -1.0]))
