import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheotwin.constraints import Motion, at_rest

TIMES = np.array([1.0, 2.0, 4.0])
VALUES = np.array([[0.0, 1.0], [3.0, -1.0], [2.0, -1.0]])


@pytest.mark.parametrize("smooth", [False, True])
def test_passes_through_its_table_and_holds_outside(smooth: bool) -> None:
    motion = Motion(TIMES, VALUES, smooth)
    for time, value in [(-5.0, VALUES[0]), *zip(TIMES, VALUES, strict=True), (4.0 + 1e-9, VALUES[2]), (99, VALUES[2])]:
        np.testing.assert_array_equal(motion.at(time), value)


def test_linear_pieces() -> None:
    motion = Motion(TIMES, VALUES)
    np.testing.assert_allclose(motion.at(1.25), [0.75, 0.5], rtol=1e-15)
    np.testing.assert_allclose(motion.at(3.5), [2.25, -1.0], rtol=1e-15)


def test_smooth_pieces_are_the_cubic_ease() -> None:
    """s^2 (3 - 2 s): 5/32 at a quarter, 1/2 in the middle, zero rate at the ends of a piece."""
    motion = Motion(TIMES, VALUES, smooth=True)
    np.testing.assert_allclose(motion.at(1.25), [3 * 5 / 32, 1 - 2 * 5 / 32], rtol=1e-14)
    np.testing.assert_allclose(motion.at(3.0), [2.5, -1.0], rtol=1e-14)
    for time in TIMES:
        rate = (motion.at(time + 1e-6) - motion.at(time - 1e-6)) / 2e-6
        np.testing.assert_allclose(rate, 0, atol=1e-5)


@settings(deadline=None, max_examples=60)
@given(
    gaps=st.lists(st.floats(1e-3, 10), min_size=1, max_size=6),
    seed=st.integers(0, 1000),
    time=st.floats(-2, 70),
)
def test_linear_equals_numpy_interp(gaps: list[float], seed: int, time: float) -> None:
    times = np.concatenate([[0.0], np.cumsum(gaps)])
    values = np.random.default_rng(seed).normal(size=(len(times), 3))
    expected = [np.interp(time, times, column) for column in values.T]
    np.testing.assert_allclose(Motion(times, values).at(time), expected, atol=1e-12)


def test_moves() -> None:
    assert Motion(TIMES, VALUES).moves
    assert not at_rest(3).moves
    np.testing.assert_array_equal(at_rest(3).at(7.0), np.zeros(3))
