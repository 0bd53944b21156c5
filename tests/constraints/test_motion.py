"""Motions by tables and their rates: closed forms of the two kinds of pieces, sides of a kink, where kinks are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheotwin.constraints import Motion, at_rest
from rheotwin.constraints.motion import kink_times, motion_rates

TIMES = np.array([1.0, 2.0, 4.0])
VALUES = np.array([[0.0, 1.0], [3.0, -1.0], [2.0, -1.0]])
LINEAR, SMOOTH = Motion(TIMES, VALUES), Motion(TIMES, VALUES, smooth=True)


@pytest.mark.parametrize("motion", [LINEAR, SMOOTH])
def test_passes_through_its_table_and_holds_outside(motion: Motion) -> None:
    for time, value in [(-5.0, VALUES[0]), *zip(TIMES, VALUES, strict=True), (4.0 + 1e-9, VALUES[2]), (99, VALUES[2])]:
        np.testing.assert_array_equal(motion.at(time), value)


def test_smooth_pieces_are_the_cubic_ease() -> None:
    """s^2 (3 - 2 s): 5/32 at a quarter, 1/2 in the middle."""
    np.testing.assert_allclose(SMOOTH.at(1.25), [3 * 5 / 32, 1 - 2 * 5 / 32], rtol=1e-14)
    np.testing.assert_allclose(SMOOTH.at(3.0), [2.5, -1.0], rtol=1e-14)
    # x'' = 6 (b - a)/T^2 just after the start of a piece and -6 (b - a)/T^2 just before its end.
    before, after = (motion_rates(SMOOTH, 2.0, after=after) for after in (False, True))
    np.testing.assert_array_equal([before[0], after[0]], 0.0)
    np.testing.assert_allclose(before[1], [-18.0, 12.0], rtol=1e-14)
    np.testing.assert_allclose(after[1], [-1.5, 0.0], rtol=1e-14)


@settings(deadline=None, max_examples=60)
@given(gaps=st.lists(st.floats(1e-3, 10), min_size=1, max_size=6), seed=st.integers(0, 1000), time=st.floats(-2, 70))
def test_linear_equals_numpy_interp(gaps: list[float], seed: int, time: float) -> None:
    times = np.concatenate([[0.0], np.cumsum(gaps)])
    values = np.random.default_rng(seed).normal(size=(len(times), 3))
    expected = [np.interp(time, times, column) for column in values.T]
    np.testing.assert_allclose(Motion(times, values).at(time), expected, atol=1e-12)


def test_linear_pieces_have_constant_rates_and_kinks() -> None:
    for time, rate in [(0.5, [0, 0]), (1.5, [3, -2]), (3.0, [-0.5, 0.0]), (5.0, [0, 0])]:
        found, acceleration = motion_rates(LINEAR, time)
        np.testing.assert_allclose(found, rate, rtol=1e-15)
        np.testing.assert_array_equal(acceleration, 0.0)
    straight = Motion(np.array([0.0, 1.0, 2.0, 3.0]), np.array([[0.0], [1.0], [2.0], [2.0]]))
    np.testing.assert_array_equal(kink_times(straight), [0.0, 2.0])
    np.testing.assert_array_equal(kink_times(LINEAR), TIMES)
    for motion in (SMOOTH, at_rest(2), Motion(TIMES, np.ones((3, 1)))):
        assert not kink_times(motion).size
    assert LINEAR.moves and not at_rest(3).moves
    np.testing.assert_array_equal(at_rest(3).at(7.0), np.zeros(3))


@pytest.mark.parametrize(("off", "slack"), [(0.0, 0.0), (-1e-13, 1e-12), (1e-13, 1e-12)])
def test_both_sides_of_a_kink(off: float, slack: float) -> None:
    """A time that rounding has put on the wrong side of the kink still counts as the kink."""
    sides = [motion_rates(LINEAR, 2.0 + off, after=after, slack=slack)[0] for after in (False, True)]
    np.testing.assert_allclose(sides, [[3, -2], [-0.5, 0.0]], rtol=1e-15)


@pytest.mark.parametrize("time", [1.1, 1.5, 1.93, 2.4, 3.7])
def test_smooth_pieces_against_differences(time: float) -> None:
    """The ease is cubic, so central differences of the value are off by h^2 x'''/6, those of second order exact."""
    h = 1e-4
    low, middle, high = (SMOOTH.at(time + k * h) for k in (-1, 0, 1))
    rate, acceleration = motion_rates(SMOOTH, time)
    np.testing.assert_allclose(rate, (high - low) / (2 * h), atol=12 * 3 * h**2 / 6 * 1.01 + 1e-11)
    np.testing.assert_allclose(acceleration, (high - 2 * middle + low) / h**2, atol=1e-6)
