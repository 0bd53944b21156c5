"""Rates of motions: closed forms of the two kinds of pieces, sides of a kink, and where kinks are."""

import numpy as np
import pytest

from rheotwin.constraints import Motion, at_rest
from rheotwin.constraints.motion import kink_times, motion_rates

TIMES = np.array([1.0, 2.0, 4.0])
VALUES = np.array([[0.0, 1.0], [3.0, -1.0], [2.0, -1.0]])


def test_linear_pieces_have_constant_rates() -> None:
    motion = Motion(TIMES, VALUES)
    for time, rate in [(0.5, [0, 0]), (1.5, [3, -2]), (3.0, [-0.5, 0.0]), (5.0, [0, 0])]:
        found, acceleration = motion_rates(motion, time)
        np.testing.assert_allclose(found, rate, rtol=1e-15)
        np.testing.assert_array_equal(acceleration, 0.0)


def test_both_sides_of_a_kink() -> None:
    motion = Motion(TIMES, VALUES)
    sides = [motion_rates(motion, 2.0, after=after)[0] for after in (False, True)]
    np.testing.assert_allclose(sides, [[3, -2], [-0.5, 0.0]], rtol=1e-15)
    # a time that rounding has put on the wrong side of the kink still counts as the kink
    for off in (-1e-13, 1e-13):
        sides = [motion_rates(motion, 2.0 + off, after=after, slack=1e-12)[0] for after in (False, True)]
        np.testing.assert_allclose(sides, [[3, -2], [-0.5, 0.0]], rtol=1e-15)


@pytest.mark.parametrize("time", [1.1, 1.5, 1.93, 2.4, 3.7])
def test_smooth_pieces_against_differences(time: float) -> None:
    """The ease is cubic, so central differences of the value are off by h^2 x'''/6, those of second order exact."""
    motion, h = Motion(TIMES, VALUES, smooth=True), 1e-4
    low, middle, high = (motion.at(time + k * h) for k in (-1, 0, 1))
    rate, acceleration = motion_rates(motion, time)
    np.testing.assert_allclose(rate, (high - low) / (2 * h), atol=12 * 3 * h**2 / 6 * 1.01 + 1e-11)
    np.testing.assert_allclose(acceleration, (high - 2 * middle + low) / h**2, atol=1e-6)


def test_smooth_pieces_start_at_rest_with_a_jump_of_acceleration() -> None:
    """x'' = 6 (b - a)/T^2 just after the start of a piece and -6 (b - a)/T^2 just before its end."""
    motion = Motion(TIMES, VALUES, smooth=True)
    before, after = (motion_rates(motion, 2.0, after=after) for after in (False, True))
    np.testing.assert_array_equal([before[0], after[0]], 0.0)
    np.testing.assert_allclose(before[1], [-18.0, 12.0], rtol=1e-14)
    np.testing.assert_allclose(after[1], [-1.5, 0.0], rtol=1e-14)


def test_where_kinks_are() -> None:
    straight = Motion(np.array([0.0, 1.0, 2.0, 3.0]), np.array([[0.0], [1.0], [2.0], [2.0]]))
    np.testing.assert_array_equal(kink_times(straight), [0.0, 2.0])
    np.testing.assert_array_equal(kink_times(Motion(TIMES, VALUES)), TIMES)
    for motion in (Motion(TIMES, VALUES, smooth=True), at_rest(2), Motion(TIMES, np.ones((3, 1)))):
        assert not kink_times(motion).size
