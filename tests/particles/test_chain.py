"""One-dimensional chains: the order of the rule on the papers' four-particle chain, and single elements in closed form.

References are matrix exponentials of the equations of motion, written down here from the elements' own constants.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm

NODES = 3


@dataclass(frozen=True)
class Case:
    """Element constants k, b, b' of one curve of C2."""

    law: dict[str, Any]
    k: float
    b: float
    series: float | None


def voigt(b: float, k: float) -> Case:
    return Case({"model": "voigt", "young": k, "poisson": 0.0, "viscosity": b}, k, b, None)


def maxwell(b: float, k: float) -> Case:
    return Case({"model": "maxwell", "young": k, "poisson": 0.0, "viscosity": b}, k, 0.0, b)


def three_element(b: float, k: float, series: float) -> Case:
    law = {"model": "three-element", "young": k, "poisson": 0.0, "voigt_viscosity": b, "series_viscosity": series}
    return Case(law, k, b, series)


CASES = {
    "2.5a": voigt(6.0, 2.0),
    "2.5b": voigt(2.0, 2.0),
    "2.7a": maxwell(40.0, 60.0),
    "2.7b": maxwell(40.0, 10.0),
    "2.10a": three_element(8.0, 2.0, 40.0),
    "2.10b": three_element(2.0, 2.0, 40.0),
}


def exact(case: Case, time: float, force: float = 1.0) -> np.ndarray:
    """State (u1, u2, u3, v1, v2, v3, d1, d2, d3) at `time`, d the length of each element's Voigt part.

    f = B (k d + b ldot), d' = -A d + B ldot, B = b'/(b + b'), A = k/(b + b'); Voigt: B = 1, A = 0.
    """
    gain = 1.0 if case.series is None else case.series / (case.b + case.series)
    decay = 0.0 if case.series is None else case.k / (case.b + case.series)
    difference = np.eye(NODES) - np.eye(NODES, k=-1)
    zero, unit = np.zeros((NODES, NODES)), np.eye(NODES)
    pull = -difference.T * gain
    matrix = np.block(
        [
            [zero, unit, zero],
            [zero, pull @ difference * case.b, pull * case.k],
            [zero, gain * difference, -decay * unit],
        ]
    )
    drive = np.zeros(3 * NODES)
    drive[2 * NODES - 1] = force
    augmented = np.zeros((3 * NODES + 1, 3 * NODES + 1))
    augmented[:-1, :-1], augmented[:-1, -1] = matrix, drive
    return expm(augmented * time)[:-1, -1]


@pytest.fixture
def chain(make_problem: Callable[..., Any], start: Callable[..., Any]) -> Callable[..., Any]:
    """Four particles of 1 kg in a row, the first held, the last pulled by 1 N (times a table of factors)."""

    def build(case: Case, step: float, duration: float = 20.0, **pull: Any) -> Any:
        problem = make_problem(
            1,
            case.law,
            body={"size": [3.0], "cells": [3], "density": None, "mass": 4.0, "mass_sharing": "equal"},
            supports={"wall": {"body": "block", "where": {"side": "left"}}},
            forces={"pull": {"body": "block", "where": {"side": "right"}, "total": [1.0], **pull}},
            duration=duration,
        )
        return start(problem, step=step)

    return build


def displacement(simulation: Any, until: float) -> np.ndarray:
    simulation.advance(until, 10**9)
    assert simulation.time == pytest.approx(until, rel=1e-12)
    return np.asarray(simulation.fields()["displacement"][1:, 0])


@pytest.mark.parametrize("name", CASES)
def test_first_order_at_20_seconds(name: str, chain: Callable[..., Any]) -> None:
    """The error halves with the step; what is left after one Richardson step is of second order."""
    case = CASES[name]
    reference = exact(case, 20.0)[:NODES]
    steps = (0.01, 0.005, 0.0025)
    found = [displacement(chain(case, step), 20.0) for step in steps]
    errors = [np.linalg.norm(u - reference) for u in found]
    assert errors[0] / errors[1] == pytest.approx(2.0, abs=0.1)
    assert errors[1] / errors[2] == pytest.approx(2.0, abs=0.05)
    np.testing.assert_allclose(2.0 * found[2] - found[1], reference, atol=1e-5)
    np.testing.assert_allclose(displacement(chain(case, 1e-4), 20.0), reference, atol=1.1 * errors[2] / 25.0)


# ---- one element ---------------------------------------------------------------------------------------------------

B, K, SERIES = 0.5, 12.0, 6.0
RATE, STEP = 0.3, 0.004


@pytest.fixture
def stretched(make_problem: Callable[..., Any], start: Callable[..., Any]) -> Callable[..., Any]:
    """One bar, length 0.5 and section 2, both ends driven: its force answers a prescribed extension."""

    def build(law: dict[str, Any], times: list[float], extension: list[float]) -> Any:
        motion = {"times": times, "displacement": [[d] for d in extension]}
        problem = make_problem(
            1,
            law,
            body={"size": [0.5], "cells": [1], "density": 50.0},
            section=2.0,
            supports={
                "wall": {"body": "block", "where": {"side": "left"}},
                "grip": {"body": "block", "where": {"side": "right"}, "motion": motion},
            },
        )
        simulation = start(problem, step=STEP)
        assert simulation.step_size == STEP
        return simulation

    return build


RAMPS: dict[str, Callable[[float, float], float]] = {
    "elastic": lambda t, lagged: K * t,
    "voigt": lambda t, lagged: 12.0 * t + 0.6,
    "maxwell": lambda t, lagged: 4.0 * (1.0 - np.exp(-3.0 * lagged)),
    "three-element": lambda t, lagged: (
        SERIES * SERIES / (B + SERIES) * (1.0 - np.exp(-K / (B + SERIES) * lagged)) + B * SERIES / (B + SERIES)
    ),
    "generalized-maxwell": lambda t, lagged: (
        4.0 * t + 0.2 + 1.0 * (1.0 - np.exp(-5.0 * lagged)) + 9.0 * (1.0 - np.exp(-lagged / 3.0))
    ),
}


@pytest.mark.parametrize("name", RAMPS)
def test_force_under_constant_rate(name: str, laws: dict[str, dict[str, Any]], stretched: Callable[..., Any]) -> None:
    """Arms are exact for a constant rate; they see it one step late. Units: section/length = 4."""
    simulation = stretched(laws[name], [0.0, 1.0], [0.0, RATE])
    for time in (STEP, 0.1, 0.5, 1.0):
        simulation.advance(time, 10**9)
        force = 4.0 * RATE * RAMPS[name](time, time - STEP)
        stress = simulation.fields()["stress"]
        np.testing.assert_allclose(stress[:, 0], force / 2.0, rtol=1e-9)
        np.testing.assert_allclose(stress[:, 1:], 0.0)


def test_relaxation_after_a_sudden_extension(laws: dict[str, dict[str, Any]], stretched: Callable[..., Any]) -> None:
    """f = d0 (k + sum_a kappa_a (1 - exp(-A h))/(A h) exp(-A (t - 2h))): stretched within the first step."""
    simulation = stretched(laws["generalized-maxwell"], [0.0, STEP], [0.0, 0.1])
    for time in (2 * STEP, 0.2, 1.0):
        simulation.advance(time, 10**9)
        arms = sum(
            g * -np.expm1(-rate * STEP) / (rate * STEP) * np.exp(-rate * (time - 2 * STEP))
            for g, rate in ((5.0, 5.0), (3.0, 1.0 / 3.0))
        )
        fields = simulation.fields()
        np.testing.assert_allclose(fields["memory_stress"][:, 0], 0.2 * arms, rtol=1e-9)
        np.testing.assert_allclose(fields["stress"][:, 0], 0.2 * (4.0 + arms), rtol=1e-9)
    reactions = simulation.reactions()
    assert reactions["support.wall"][0] == pytest.approx(0.4 * (4.0 + arms), rel=1e-9)
    assert reactions["support.grip"][0] == pytest.approx(-0.4 * (4.0 + arms), rel=1e-9)


def test_creep_of_a_light_bar(make_problem: Callable[..., Any], start: Callable[..., Any]) -> None:
    """F/k (1 - exp(-k t/b)) + F t/b' for a massless element: here m/b' = 1e-5 s, and the step as small."""
    law = {"model": "three-element", "young": 2.0, "poisson": 0.3, "voigt_viscosity": 1.0, "series_viscosity": 10.0}
    problem = make_problem(
        1,
        law,
        body={"size": [1.0], "cells": [1], "density": 2e-4},
        supports={"wall": {"body": "block", "where": {"side": "left"}}},
        forces={"pull": {"body": "block", "where": {"side": "right"}, "total": [0.1]}},
        duration=2.0,
    )
    simulation = start(problem)
    for time in (0.1, 0.5, 2.0):
        simulation.advance(time, 10**9)
        expected = 0.05 * (1.0 - np.exp(-2.0 * time)) + 0.01 * time
        assert simulation.fields()["displacement"][1, 0] == pytest.approx(expected, abs=3e-5)
