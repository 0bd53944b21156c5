"""Observed orders and limits, and ring-down fits, against values made up from known ones."""

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.validation.metrics import ring_down
from rheotwin.validation.metrics.fits import convergence, extrapolated


@pytest.mark.parametrize("order", [0.5, 1.0, 1.7, 2.0, 4.0])
@pytest.mark.parametrize("meshes", [(1, 2, 4), (2, 3, 5), (1, 2, 3, 4, 6)])
def test_a_power_law_is_found_again(order: float, meshes: tuple[int, ...]) -> None:
    found = convergence(meshes, [470.0 - 30.0 * n**-order for n in meshes])
    assert found.verdict == "converging" and found.order == pytest.approx(order, rel=1e-5)
    assert found.limit == pytest.approx(470.0, rel=1e-6)
    assert found.uncertainty == pytest.approx(1.25 * 30.0 * meshes[-1] ** -order, rel=1e-4)


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    generator, meshes = np.random.default_rng(3), np.array([1, 2, 3, 4, 6, 8])
    inside = 0
    for _ in range(400):
        values = 1.0 + 0.5 * meshes**-1.5 + 1e-4 * generator.standard_normal(len(meshes))
        found = convergence(meshes.tolist(), values.tolist())
        assert found.order is not None and found.order_error is not None
        inside += abs(found.order - 1.5) <= found.order_error
    assert inside / 400 == pytest.approx(0.95, abs=0.03)  # 2.8 standard deviations of a fair count
    chance = np.random.default_rng(0)
    fits = [ring_down(TIMES, course(7.7, 0.02) + 0.05 * chance.standard_normal(301), creep=False) for _ in range(40)]
    scatter = np.std([fit.frequency for fit in fits], ddof=1)
    # the sd of 40 repeats is known to 1/sqrt(80) = 11 %
    assert np.mean([fit.frequency_error for fit in fits]) == pytest.approx(scatter, rel=0.45)
    assert abs(np.mean([fit.frequency for fit in fits]) - 7.7) < 4.0 * scatter / np.sqrt(40.0)


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ((1.0, 2.0, 1.5), "oscillating"),
        ((1.0, 2.0, 4.0), "not converging"),
        ((1.0, 2.0, 3.0), "not converging"),
        ((5.0, 5.0, 5.0), "settled"),
    ],
)
def test_what_does_not_converge_is_said(values: tuple[float, ...], verdict: str) -> None:
    found = convergence((1, 2, 4), values)
    assert (found.verdict, found.order) == (verdict, None)
    assert found == convergence((4, 1, 2), (values[2], *values[:2])), "meshes may come in any order"
    assert found.uncertainty == (0.0 if verdict == "settled" else 3.0 * np.ptp(values))


def test_few_meshes_two_curves_and_nothing_to_fit() -> None:
    assert convergence((1,), (3.0,)).uncertainty is None
    two = convergence((1, 2), (3.0, 3.5))
    assert (two.verdict, two.limit, two.uncertainty) == ("too few meshes", None, 1.5)
    limit, slope = np.linspace(0.0, 3.0, 7), np.linspace(-1.0, 2.0, 7)
    curves = [limit + slope * h**1.5 for h in (0.25, 0.5)]
    assert extrapolated(curves[0], curves[1], 2.0, 1.5) == pytest.approx(limit, abs=1e-14)
    with pytest.raises(RheotwinError, match="does not move"):
        ring_down(TIMES, np.ones(301))
    with pytest.raises(RheotwinError, match="too short"):
        ring_down(TIMES[:5], np.arange(5.0))


TIMES = np.linspace(2.0, 5.0, 301)


def course(frequency: float, damping: float, *, creep: float = 0.0) -> np.ndarray:
    """Rest 7, amplitude 3; damping ratio zeta: decay = zeta w0 with w0^2 = w^2 + decay^2."""
    t, w = TIMES - TIMES[0], 2.0 * np.pi * frequency
    decay = damping * w / np.sqrt(1.0 - damping**2)
    return 7.0 + 3.0 * np.exp(-decay * t) * np.cos(w * t + 0.4) + creep * np.exp(-t / 0.9)


@pytest.mark.parametrize(("frequency", "damping"), [(7.7, 0.05), (4.3, 0.06), (1.2, 0.0)])
@pytest.mark.parametrize("creep", [0.0, 0.5])
def test_an_exact_course_gives_its_own_numbers(frequency: float, damping: float, creep: float) -> None:
    found = ring_down(TIMES, course(frequency, damping, creep=creep), creep=creep > 0.0)
    # the search stops at relative changes of 1e-14 of the squares, so of about 1e-7 of the values
    assert (found.frequency, found.damping) == pytest.approx((frequency, damping), rel=1e-6, abs=1e-6)
    assert (found.rest, found.amplitude) == pytest.approx((7.0, 3.0), rel=1e-6) and found.rms < 1e-6
