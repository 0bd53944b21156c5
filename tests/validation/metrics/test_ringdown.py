"""Ring-down fits of curves whose frequency, damping and rest are known."""

from __future__ import annotations

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.validation.metrics import ring_down

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
    assert found.frequency == pytest.approx(frequency, rel=1e-6)
    assert found.damping == pytest.approx(damping, abs=1e-6)
    assert found.rest == pytest.approx(7.0, abs=1e-5)
    assert found.amplitude == pytest.approx(3.0, rel=1e-5)
    assert found.rms < 1e-6


def test_its_uncertainty_is_the_scatter_over_noisy_repeats() -> None:
    chance = np.random.default_rng(0)
    fits = [ring_down(TIMES, course(7.7, 0.02) + 0.05 * chance.standard_normal(301), creep=False) for _ in range(40)]
    scatter = np.std([fit.frequency for fit in fits], ddof=1)
    # the sd of 40 repeats is known to 1/sqrt(80) = 11 %
    assert np.mean([fit.frequency_error for fit in fits]) == pytest.approx(scatter, rel=0.45)
    assert abs(np.mean([fit.frequency for fit in fits]) - 7.7) < 4.0 * scatter / np.sqrt(40.0)


def test_nothing_to_fit_is_said() -> None:
    with pytest.raises(RheotwinError, match="does not move"):
        ring_down(TIMES, np.ones(301))
    with pytest.raises(RheotwinError, match="too short"):
        ring_down(TIMES[:5], np.arange(5.0))
