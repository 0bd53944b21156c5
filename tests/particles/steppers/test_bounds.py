"""Stable steps of the explicit rules: the bounds the sources lack, and where runs of the real loops diverge."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import rheotwin.particles.truss as truss_module
from rheotwin.errors import RheotwinError
from rheotwin.particles.stability import ModeLaw, explicit_limit
from rheotwin.particles.truss import TrussOptions, TrussSimulation, TrussSolver
from rheotwin.problem import Problem
from rheotwin.validation.checks.running import HELD, box_scene, problem_of, put, start

Data = dict[str, Any]
NONE = np.zeros(0)
DAMPER = ModeLaw(spring=0.0, viscosity=1.0, arm_stiffness=NONE, arm_rate=NONE)


def three_elements(k: float, c1: float, c2: float) -> ModeLaw:
    share = c2 / (c1 + c2)
    return ModeLaw(0.0, share * c1, np.array([share**2 * k]), np.array([k / (c1 + c2)]))


@pytest.mark.parametrize("split", [1.0, 100.0, 0.01, 1e-4])
def test_independent_of_the_split_of_viscosities(split: float) -> None:
    """(1.16): c1 and c2 in series count as eta = c1 c2/(c1 + c2), whatever their ratio, where the spring is weak."""
    law = three_elements(1e-6, 1.0 + 1.0 / split, 1.0 + split)
    assert explicit_limit("rk4", law, np.array([1.0])).step == pytest.approx(2.7853, rel=1e-3)
    assert explicit_limit("euler", law, np.array([1.0])).step == pytest.approx(2.0, rel=1e-3)


SPRING, QUICK = ModeLaw(1.0, 0.0, NONE, NONE), ModeLaw(1e-3, 0.0, np.array([1e-3]), np.array([50.0]))
LIGHT = three_elements(2.0, 0.05, 1e7)


@pytest.mark.parametrize(
    ("stepper", "law", "inverse_mass", "step", "reason"),
    [
        ("rk4", SPRING, 4.0, np.sqrt(8.0) / 2.0, "stiffness"),
        ("rk4", QUICK, 1.0, 2.7853 / 50.0, "relaxation"),
        ("euler", LIGHT, 1.0, 2.5e-2, "little damping"),
        ("euler", LIGHT, 0.01, 2.5e-2, "little damping"),
        ("euler", SPRING, 4.0, 0.0, ""),
        ("euler", DAMPER, 4.0, 0.5, "viscosity"),
    ],
)
def test_bounds_beyond_the_sources(stepper: Any, law: ModeLaw, inverse_mass: float, step: float, reason: str) -> None:
    """Runge-Kutta: h sqrt(kappa lambda/m) < 2.83 and A h < 2.78; Euler: h < c1/(B k) whatever the mass, 2.5e-2."""
    bound = explicit_limit(stepper, law, np.array([inverse_mass]))
    assert bound.step == pytest.approx(step, rel=0.01 if law is LIGHT else 1e-3) and reason in bound.reason


SYSTEMS: dict[str, Data] = {
    # unit squares and cubes, unit masses, k = 1 on every edge, as in the R10 table
    "pair": {"cells": [1]},
    "chain": {"cells": [30]},
    "one diagonal": {"cells": [8, 3], "pattern": "se-nw"},
    "five tets": {"cells": [3, 2, 2]},
}
LAWS: dict[str, Data] = {
    "elastic": {"model": "elastic", "young": 1.0},
    "voigt": {"model": "voigt", "young": 1.0, "viscosity": 0.2},
    "three-element": {"model": "three-element", "young": 1.0, "voigt_viscosity": 0.5, "series_viscosity": 5.0},
    "maxwell": {"model": "maxwell", "young": 1.0, "viscosity": 1.0},
    "quick maxwell": {"model": "maxwell", "young": 1.0, "viscosity": 0.1},
    "quick arm": {
        "model": "generalized-maxwell",
        "units": [{"young": 1.0, "viscosity": 0.02}],
        "equilibrium": 4.0,
        "viscosity": 0.5,
    },
}
KICK = 1e-9
"""Speed of the start: so small that no direction turns and no length changes."""


def unit_system(system: str, law: Data) -> Problem:
    cells = SYSTEMS[system]["cells"]
    mass = float(np.prod([count + 1 for count in cells]))
    supports = HELD if len(cells) > 1 else {}
    return problem_of(box_scene({**law, "poisson": 0.25}, equal_mass=mass, supports=supports, **SYSTEMS[system]))


def run(problem: Problem, stepper: Any, h: float, patch: pytest.MonkeyPatch) -> TrussSimulation:
    """Start with random speeds of mean zero and the step `h` [s], whatever the advice."""
    patch.setattr(truss_module, "chosen_step", lambda *_: Fraction(h))
    simulation = TrussSolver().start(problem, TrussOptions(stepper=stepper, match="edge"))
    speeds = KICK * np.random.default_rng(0).standard_normal(problem.points.shape)
    put(simulation, velocities=(speeds - speeds.mean(axis=0)) * (problem.owners < 0))
    return simulation


def top_speed(simulation: TrussSimulation, steps: int) -> float:
    simulation.advance((simulation.step_count + steps + 0.2) * simulation.step_size, steps)
    with np.errstate(all="ignore"):
        return float(np.abs(simulation.velocities).max())


def grows(simulation: TrussSimulation, rounds: int) -> bool:
    """Whether a kick grows a thousandfold, before it has died out or within some thousand steps."""
    for _ in range(rounds):
        speed = top_speed(simulation, 200)
        if not speed < 1e3 * KICK:
            return True
        if speed < 1e-4 * KICK:
            return False
    return False


ADVISED = [
    *((stepper, law) for stepper in ("semi-implicit", "rk4") for law in LAWS if law != "quick arm"),
    *(("euler", law) for law in ("voigt", "three-element", "maxwell")),
    *((stepper, "quick arm") for stepper in ("euler", "rk4")),
]
ADVISED.remove(("rk4", "quick maxwell"))


@pytest.mark.parametrize(
    "system", [pytest.param("pair", marks=pytest.mark.exhaustive), "chain", "one diagonal", "five tets"]
)
@pytest.mark.parametrize(("stepper", "name"), ADVISED)
def test_runs_diverge_where_the_advice_says(
    stepper: str, name: str, system: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Right to 5 % everywhere: a kick dies out or stays at 0.95 of the advised step and grows at 1.05 of it.
    Two percent beyond its limit Euler's rule, lightly damped, takes 9,000 steps for that, the other rules some
    hundred."""
    problem, rounds = unit_system(system, LAWS[name]), 60 if stepper == "euler" else 15
    advised = run(problem, stepper, 1e-3, monkeypatch).stable_step
    assert not grows(run(problem, stepper, 0.95 * advised, monkeypatch), rounds)
    assert grows(run(problem, stepper, 1.05 * advised, monkeypatch), rounds)


def block(law: Data, **body: Any) -> Problem:
    return problem_of(box_scene({"poisson": 0.3, **law}, cells=[3, 2], **{"density": 1.0} | body))


@pytest.mark.parametrize(
    ("stepper", "law", "density", "words"),
    [
        ("rk4", {"young": 10.0, "viscosity": 3.0}, 1.0, "viscosity (eta lambda h/m < 2.785)"),
        ("rk4", {"model": "elastic", "young": 10.0}, 1.0, "stiffness (h sqrt(kappa lambda/m) < 2.83)"),
        ("rk4", LAWS["quick arm"], 1e3, "relaxation (A h < 2.785)"),
        ("euler", {"young": 10.0, "viscosity": 0.5}, 1.0, "little damping (h < c1/(B k)"),
        ("semi-implicit", {"young": 10.0, "viscosity": 3.0}, 1.0, "kappa lambda h^2/m + 2 eta lambda h/m < 4"),
    ],
)
def test_refusal_names_bound_and_advice(stepper: str, law: Data, density: float, words: str) -> None:
    problem = block({"model": "voigt"} | law, density=density)
    stable = start(problem, "truss", stepper=stepper).stable_step
    with pytest.raises(RheotwinError) as caught:
        start(problem, "truss", stepper=stepper, step=1.01 * stable)
    sentence = str(caught.value)
    for part in ("solvers.truss.step", f"{stable:.6g} s", words, f"choose at most {0.9 * stable:.3g}", "substep"):
        assert part in sentence
    assert "\n" not in sentence


def test_euler_without_viscosity_and_unknown_internal_variables_are_refused() -> None:
    words = r"solvers\.truss\.stepper: 'euler' diverges at any step, because of springs without visc.*semi-implicit"
    with pytest.raises(RheotwinError, match=words) as caught:
        start(block(LAWS["elastic"]), "truss", stepper="euler")
    assert "c1" not in str(caught.value)
    problem = block(LAWS["three-element"] | {"friction": 0.1, "poisson": 0.25})
    for stepper in ("euler", "rk4", "implicit"):
        with pytest.raises(RheotwinError, match=rf"solvers\.truss\.stepper: '{stepper}' knows .*semi-implicit"):
            start(problem, "truss", stepper=stepper, step=1e-6)
