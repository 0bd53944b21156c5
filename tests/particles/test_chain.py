"""One-dimensional chains: the order of the rule on the papers' four-particle chain, single elements in closed form."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheotwin.particles.truss import TrussSimulation
from rheotwin.validation.checks.running import HELD, block, path, run_to, side, truss

Law = dict[str, Any]


B, K, SERIES = 0.5, 12.0, 6.0
RATE, STEP = 0.3, 0.004
UNITS = [{"young": 5.0, "viscosity": 1.0}, {"young": 3.0, "viscosity": 9.0}]
GENERAL = {"model": "generalized-maxwell", "units": UNITS, "equilibrium": 4.0, "viscosity": 0.2}
RAMPS: dict[str, tuple[Law, Callable[[float, float], float]]] = {
    "elastic": ({"model": "elastic", "young": K}, lambda t, lagged: K * t),
    "voigt": ({"model": "voigt", "young": K, "viscosity": 0.6}, lambda t, lagged: K * t + 0.6),
    "maxwell": (
        {"model": "maxwell", "young": K, "viscosity": 4.0},
        lambda t, lagged: 4.0 * (1.0 - np.exp(-3.0 * lagged)),
    ),
    "three-element": (
        {"model": "three-element", "young": K, "voigt_viscosity": B, "series_viscosity": SERIES},
        lambda t, lagged: (SERIES**2 * (1.0 - np.exp(-K / (B + SERIES) * lagged)) + B * SERIES) / (B + SERIES),
    ),
    "generalized-maxwell": (
        GENERAL,
        lambda t, lagged: 4.0 * t + 0.2 + (1.0 - np.exp(-5.0 * lagged)) + 9.0 * (1.0 - np.exp(-lagged / 3.0)),
    ),
}


def stretched(law: Law, times: list[float], extension: list[float]) -> TrussSimulation:
    """One bar, length 0.5 and section 2, both ends driven: its force answers a prescribed extension."""
    grip = side("right", motion=path(times, [[d] for d in extension]))
    bar = {"size": [0.5], "cells": [1], "density": 50.0}
    simulation = truss(block(1, {**law, "poisson": 0.35}, bar, section=2.0, supports=HELD | {"grip": grip}), step=STEP)
    assert simulation.step_size == STEP
    return simulation


@pytest.mark.parametrize("name", RAMPS)
def test_force_under_constant_rate(name: str) -> None:
    """Arms are exact for a constant rate; they see it one step late. Units: section/length = 4."""
    law, answer = RAMPS[name]
    simulation = stretched(law, [0.0, 1.0], [0.0, RATE])
    for time in (STEP, 0.1, 0.5, 1.0):
        run_to(simulation, time)
        stress = simulation.fields()["stress"]
        np.testing.assert_allclose(stress[:, 0], 2.0 * RATE * answer(time, time - STEP), rtol=1e-9)
        np.testing.assert_allclose(stress[:, 1:], 0.0)


def test_relaxation_after_a_sudden_extension() -> None:
    """f = d0 (k + sum_a kappa_a (1 - exp(-A h))/(A h) exp(-A (t - 2h))): stretched within the first step."""
    simulation = stretched(GENERAL, [0.0, STEP], [0.0, 0.1])
    for time in (2 * STEP, 0.2, 1.0):
        run_to(simulation, time)
        arms = sum(
            g * -np.expm1(-rate * STEP) / (rate * STEP) * np.exp(-rate * (time - 2 * STEP))
            for g, rate in ((5.0, 5.0), (3.0, 1.0 / 3.0))
        )
        fields = simulation.fields()
        np.testing.assert_allclose(fields["memory_stress"][:, 0], 0.2 * arms, rtol=1e-9)
        np.testing.assert_allclose(fields["stress"][:, 0], 0.2 * (4.0 + arms), rtol=1e-9)
    for name, sign in (("left", 1.0), ("grip", -1.0)):
        assert simulation.reactions()[f"support.{name}"][0] == pytest.approx(sign * 0.4 * (4.0 + arms), rel=1e-9)
