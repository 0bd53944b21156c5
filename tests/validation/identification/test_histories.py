"""The sparse spectrum of records over time: slopes, five times over four decades, what it needs."""

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.materials.voigt_chain import Spectrum
from rheotwin.validation.checks.fitting import FIVE
from rheotwin.validation.identification import TimeRecord, identify
from rheotwin.validation.identification.histories import Histories
from rheotwin.validation.identification.response import LawModel, respond

TIME = np.linspace(0.0, 20.0, 201)
RAMP = TimeRecord.driven(TIME, np.minimum(TIME, 1.0), np.zeros_like(TIME), name="ramp")
TIMES, STRENGTHS = np.array([0.3, 4.0]), np.array([2.0, 5.0])


def test_arms_and_spring_answer_as_the_law_does() -> None:
    found = Histories((RAMP,), (0.1,)).columns(np.log(TIMES), np.zeros(0))
    exact = respond(LawModel(Spectrum(3.0, STRENGTHS, TIMES, 0.0)), RAMP)
    np.testing.assert_allclose(0.1 * (found.arms @ STRENGTHS + found.constants[:, 0] * 3.0), exact, atol=1e-12)


def test_slopes_are_those_of_differences() -> None:
    dictionary = Histories((RAMP, RAMP), (0.1, 0.2))
    slopes = dictionary.columns(np.log(TIMES), np.zeros(0)).arm_slopes
    apart = [dictionary.arms(np.log(TIMES) + side * 1e-5) for side in (1.0, -1.0)]
    np.testing.assert_allclose(slopes, (apart[0] - apart[1]) / 2e-5, rtol=1e-5, atol=1e-6)


def test_five_times_over_four_decades_are_found() -> None:
    time = np.concatenate([[0.0], np.logspace(-3.5, 3.5, 2000)])
    stress = FIVE.relaxation(time) * np.random.default_rng(7).normal(1.0, 0.01, len(time))
    found = identify(TimeRecord.driven(time, np.ones_like(time), stress), law="spectrum")
    assert found.law is not None and found.model == "bank-5"
    np.testing.assert_allclose(found.law.channel.times, FIVE.times, rtol=0.10)
    np.testing.assert_allclose(found.law.channel.strengths, FIVE.strengths, rtol=0.05)


def test_a_spectrum_needs_a_prescribed_displacement() -> None:
    pushed = TimeRecord.driven(TIME, TIME, TIME, "force", name="creep")
    with pytest.raises(RheotwinError, match="creep: a spectrum needs a prescribed displacement"):
        identify(pushed, law="spectrum")
