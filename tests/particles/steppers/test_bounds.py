"""Stable steps of the explicit rules: the bounds the sources lack, and where runs really diverge."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import rheotwin.particles.truss as truss_module
from rheotwin.errors import RheotwinError
from rheotwin.particles.steppers.bounds import ModeLaw, explicit_limit
from rheotwin.particles.truss import TrussOptions, TrussSimulation, TrussSolver

NONE = np.zeros(0)
DAMPER = ModeLaw(spring=0.0, viscosity=1.0, arm_stiffness=NONE, arm_rate=NONE)


@pytest.mark.parametrize("split", [1.0, 100.0, 0.01, 1e-4])
def test_independent_of_the_split_of_viscosities(split: float) -> None:
    """(1.16): c1 and c2 in series count as eta = c1 c2/(c1 + c2), whatever their ratio, where the spring is weak."""
    c1, c2 = 1.0 + 1.0 / split, 1.0 + split
    share, k = c2 / (c1 + c2), 1e-6
    law = ModeLaw(0.0, share * c1, np.array([share**2 * k]), np.array([k / (c1 + c2)]))
    assert explicit_limit("rk4", law, np.array([1.0])).step == pytest.approx(2.7853, rel=1e-3)
    assert explicit_limit("euler", law, np.array([1.0])).step == pytest.approx(2.0, rel=1e-3)


def test_bounds_beyond_the_sources() -> None:
    """Runge-Kutta: h sqrt(kappa lambda/m) < 2.83 and A h < 2.78; Euler: h < c1/(B k) whatever the mass, 2.5e-2."""
    spring = ModeLaw(1.0, 0.0, NONE, NONE)
    bound = explicit_limit("rk4", spring, np.array([4.0]))
    assert bound.step == pytest.approx(np.sqrt(8.0) / 2.0, rel=1e-6)
    assert "stiffness" in bound.reason
    quick = ModeLaw(1e-3, 0.0, np.array([1e-3]), np.array([50.0]))
    bound = explicit_limit("rk4", quick, np.array([1.0]))
    assert bound.step == pytest.approx(2.7853 / 50.0, rel=1e-3)
    assert "relaxation" in bound.reason
    k, c1, c2 = 2.0, 0.05, 1e7
    share = c2 / (c1 + c2)
    light = ModeLaw(0.0, share * c1, np.array([share**2 * k]), np.array([k / (c1 + c2)]))
    for mass in (1.0, 10.0, 100.0):
        bound = explicit_limit("euler", light, np.array([1.0 / mass]))
        assert bound.step == pytest.approx(2.5e-2, rel=0.01)
        assert "little damping" in bound.reason
    assert explicit_limit("euler", spring, np.array([4.0])).step == 0.0
    assert "viscosity" in explicit_limit("euler", DAMPER, np.array([4.0])).reason


LAWS: dict[str, dict[str, Any]] = {
    "damped": {"model": "voigt", "young": 10.0, "viscosity": 3.0},
    "lightly damped": {"model": "voigt", "young": 10.0, "viscosity": 0.5},
    "three-element": {"model": "three-element", "young": 10.0, "voigt_viscosity": 0.4, "series_viscosity": 6.0},
    "quick arm": {
        "model": "generalized-maxwell",
        "units": [{"young": 1.0, "viscosity": 0.02}],
        "equilibrium": 4.0,
        "viscosity": 0.5,
    },
    "elastic": {"model": "elastic", "young": 10.0},
}


def runs_off(simulation: TrussSimulation, problem: Any, put: Callable[..., None]) -> bool:
    """Return whether tiny motions in all directions grow a thousandfold within 10,000 steps, or die out first."""
    speed = 1e-9
    rng, state = np.random.default_rng(0), simulation.save()
    arms = {name: speed * rng.standard_normal(state[name].shape) for name in ("edge_arms", "cell_arms")}
    put(simulation, velocities=speed * rng.standard_normal(problem.points.shape), **arms)
    for _ in range(20):
        simulation.advance((simulation.step_count + 500.2) * simulation.step_size, 500)
        with np.errstate(all="ignore"):
            state = simulation.save()
            now = max(np.abs(state[name]).max(initial=0.0) for name in ("velocities", *arms))
        if not now < 1e3 * speed:
            return True
        if now < 1e-4 * speed:
            return False
    return False


@pytest.mark.parametrize("dimension", [1, 3])
@pytest.mark.parametrize("stepper", ["euler", "rk4"])
def test_runs_diverge_where_a_quick_arm_does(
    stepper: str,
    dimension: int,
    make_problem: Callable[..., Any],
    start: Callable[..., Any],
    put: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Held volume springs and edges of five constants die out or stay at 0.95 and diverge at 1.05 of the advice.

    `test_limits` bisects for the other laws.
    """
    supports = {"foot": {"body": "block", "where": {"side": "left"}}}
    problem = make_problem(dimension, {**LAWS["quick arm"], "poisson": 0.3}, supports=supports)
    predicted = start(problem, stepper=stepper).stable_step

    def diverges(h: float) -> bool:
        monkeypatch.setattr(truss_module, "chosen_step", lambda *_: Fraction(h))
        return runs_off(TrussSolver().start(problem, TrussOptions(stepper=stepper)), problem, put)

    assert not diverges(0.95 * predicted)
    assert diverges(1.05 * predicted)


@pytest.mark.parametrize(
    ("stepper", "law", "words"),
    [
        ("rk4", "damped", "viscosity (eta lambda h/m < 2.785)"),
        ("rk4", "elastic", "stiffness (h sqrt(kappa lambda/m) < 2.83)"),
        ("rk4", "quick arm", "relaxation (A h < 2.785)"),
        ("euler", "lightly damped", "little damping (h < c1/(B k)"),
        ("semi-implicit", "damped", "kappa lambda h^2/m + 2 eta lambda h/m < 4"),
    ],
)
def test_refusal_names_bound_and_advice(
    stepper: str, law: str, words: str, make_problem: Callable[..., Any], start: Callable[..., Any]
) -> None:
    problem = make_problem(2, {**LAWS[law], "poisson": 0.3}, body={"density": 1.0 if law != "quick arm" else 1e3})
    stable = start(problem, stepper=stepper).stable_step
    with pytest.raises(RheotwinError) as caught:
        start(problem, stepper=stepper, step=1.01 * stable)
    sentence = str(caught.value)
    for part in ("solvers.truss.step", f"{stable:.6g} s", words, f"choose at most {0.9 * stable:.3g}", "substep"):
        assert part in sentence
    assert "\n" not in sentence


def test_euler_without_viscosity_is_refused(make_problem: Callable[..., Any], start: Callable[..., Any]) -> None:
    problem = make_problem(2, {**LAWS["elastic"], "poisson": 0.3})
    words = r"solvers\.truss\.stepper: 'euler' diverges at any step, because of springs without visc.*semi-implicit"
    with pytest.raises(RheotwinError, match=words) as caught:
        start(problem, stepper="euler")
    assert "c1" not in str(caught.value)


def test_internal_variables_without_rates_are_refused(
    make_problem: Callable[..., Any], start: Callable[..., Any]
) -> None:
    law = {"model": "three-element", "young": 10.0, "voigt_viscosity": 0.4, "series_viscosity": 6.0, "friction": 0.1}
    problem = make_problem(2, {**law, "poisson": 0.25})
    for stepper in ("euler", "rk4", "implicit"):
        with pytest.raises(RheotwinError, match=rf"solvers\.truss\.stepper: '{stepper}' knows .*semi-implicit"):
            start(problem, stepper=stepper, step=1e-6)
