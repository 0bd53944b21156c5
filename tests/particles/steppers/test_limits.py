"""Where runs of the real loops begin to diverge, by bisection, against the advised step: right to 5 % everywhere."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import rheotwin.particles.truss as truss_module
from rheotwin.particles.truss import TrussOptions, TrussSimulation, TrussSolver

SYSTEMS: dict[str, dict[str, Any]] = {
    # unit squares and cubes, unit masses, k = 1 on every edge, as in the R10 table
    "pair": {"size": [1.0], "cells": [1]},
    "chain": {"size": [30.0], "cells": [30]},
    "one diagonal": {"size": [8.0, 3.0], "cells": [8, 3], "pattern": "se-nw"},
    "five tets": {"size": [3.0, 2.0, 2.0], "cells": [3, 2, 2]},
}
LAWS: dict[str, dict[str, Any]] = {
    "elastic": {"model": "elastic", "young": 1.0},
    "voigt": {"model": "voigt", "young": 1.0, "viscosity": 0.2},
    "three-element": {"model": "three-element", "young": 1.0, "voigt_viscosity": 0.5, "series_viscosity": 5.0},
    "maxwell": {"model": "maxwell", "young": 1.0, "viscosity": 1.0},
    "quick maxwell": {"model": "maxwell", "young": 1.0, "viscosity": 0.1},
}
KICK = 1e-9
"""Speed of the start: so small that no direction turns and no length changes."""


def unit_system(make_problem: Callable[..., Any], system: str, law: dict[str, Any]) -> Any:
    """Return one of the systems, free in 1D and else held at its left side, so that it cannot turn."""
    body = SYSTEMS[system]
    dimension = len(body["size"])
    mass = float(np.prod([count + 1 for count in body["cells"]]))
    supports = {"foot": {"body": "block", "where": {"side": "left"}}} if dimension > 1 else {}
    body = {**body, "density": None, "mass": mass, "mass_sharing": "equal"}
    return make_problem(dimension, {**law, "poisson": 0.25}, body=body, supports=supports)


def run(problem: Any, stepper: str, h: float, monkeypatch: pytest.MonkeyPatch) -> TrussSimulation:
    """Start with random speeds of mean zero and the step `h` [s], whatever the advice."""
    monkeypatch.setattr(truss_module, "chosen_step", lambda *_: Fraction(h))
    simulation = TrussSolver().start(problem, TrussOptions(stepper=stepper, match="edge"))
    speeds = KICK * np.random.default_rng(0).standard_normal(problem.points.shape)
    state = simulation.save()
    state["velocities"][:, : problem.dimension] = (speeds - speeds.mean(axis=0)) * (problem.owners < 0)
    simulation.restore(state)
    return simulation


def top_speed(simulation: TrussSimulation, steps: int) -> float:
    simulation.advance((simulation.step_count + steps + 0.2) * simulation.step_size, steps)
    with np.errstate(all="ignore"):
        return float(np.abs(simulation.velocities).max())


def diverges(problem: Any, stepper: str, h: float, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether a kick grows a thousandfold, before it has died out or within some thousand steps.

    Two percent beyond its limit Euler's rule, lightly damped, takes 9,000 steps for that, the other rules some hundred.
    """
    simulation = run(problem, stepper, h, monkeypatch)
    for _ in range(60 if stepper == "euler" else 15):
        speed = top_speed(simulation, 200)
        if not speed < 1e3 * KICK:
            return True
        if speed < 1e-4 * KICK:
            return False
    return False


def limit(advised: float, grows: Callable[[float], bool]) -> tuple[float, float]:
    """Bisect between 0.8 and 1.2 of the advice until the limit, relative to it, is known to 2 %."""
    low, high = 0.8, 1.2
    assert not grows(low * advised)
    assert grows(high * advised)
    while high - low > 0.02:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if grows(middle * advised) else (middle, high)
    return low, high


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize(
    ("stepper", "name"),
    [
        ("semi-implicit", "elastic"),
        ("semi-implicit", "quick maxwell"),
        ("rk4", "elastic"),
        *((rule, name) for rule in ("semi-implicit", "euler", "rk4") for name in ("voigt", "three-element", "maxwell")),
    ],
)
def test_advice_is_where_runs_begin_to_diverge(
    stepper: str, name: str, system: str, make_problem: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = unit_system(make_problem, system, LAWS[name])
    advised = run(problem, stepper, 1e-3, monkeypatch).stable_step
    low, high = limit(advised, lambda h: diverges(problem, stepper, h, monkeypatch))
    assert low > 0.95
    assert high < 1.05


@pytest.mark.parametrize("stepper", ["euler", "rk4", "semi-implicit"])
def test_very_light_damping(stepper: str, make_problem: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A pair with a hundredth of the critical damping; Euler's limit is c1/(B k) = 0.02 s, whatever the mass.

    The one oscillation grows or dies by a few percent in a period, so its tops are compared after many.
    """
    problem = unit_system(make_problem, "pair", {**LAWS["voigt"], "viscosity": 0.02})
    advised = run(problem, stepper, 1e-3, monkeypatch).stable_step
    if stepper == "euler":
        assert advised == pytest.approx(0.02, rel=1e-9)

    def grows(h: float) -> bool:
        simulation = run(problem, stepper, h, monkeypatch)
        first = max(top_speed(simulation, 7) for _ in range(60))  # a period is at most 2 pi/(sqrt(2) h) = 280 steps
        top_speed(simulation, 5000)
        return not max(top_speed(simulation, 7) for _ in range(60)) < first < 1e3 * KICK

    low, high = limit(advised, grows)
    assert low > 0.95
    assert high < 1.05
