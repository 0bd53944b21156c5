"""Explicit Euler and Runge-Kutta on the first-order system: orders, limits, memory (spec 2.3; R12, R15, A6)."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from rheotwin.errors import RheotwinError
from rheotwin.fem.steppers.explicit_rules import EXPLICIT_EULER, RUNGE_KUTTA, ExplicitRule, modal_limit
from rheotwin.materials import Channel
from rheotwin.validation.checks.running import EQUAL_RATIO, HELD, Data, box_scene, path, put, run_to, side, start

BLOCK: Data = {"size": [2.0, 1.0], "cells": [4, 2], "density": 30.0}
UNEQUAL = EQUAL_RATIO["maxwell"] | {"viscous_poisson": 0.25}


@pytest.mark.parametrize(
    ("rule", "limit"),
    [(EXPLICIT_EULER, 0.6 / 120.68**2), (RUNGE_KUTTA, np.sqrt(8.0) / 120.68)],
    ids=["explicit Euler", "Runge-Kutta"],
)
def test_stable_step_in_closed_form(rule: ExplicitRule, limit: float) -> None:
    """Maxwell E = 300, c = 500: Euler exactly (E/c)/om^2; Runge-Kutta sqrt(8)/om, and a little more for the damping."""
    found = modal_limit([Channel.maxwell(300.0, 500.0)], [120.68**2 / 300.0], rule)
    assert found == pytest.approx(limit, rel=1e-9 if rule.order == 1 else 3e-3)
    assert found >= limit * (1 - 1e-9)


@pytest.mark.parametrize("stepper", ["euler", "rk4"])
def test_stable_step_is_sharp(stepper: str) -> None:
    """Just below the limit random motion dies out; just above it, the start is refused, naming step and limit."""
    data = box_scene(EQUAL_RATIO["voigt"], **BLOCK)
    limit = start(data, stepper=stepper, step=1e-6).stable_step
    simulation = start(data, stepper=stepper, step=0.98 * limit)
    put(simulation, v=np.random.default_rng(4).normal(size=simulation.positions.size))
    before = simulation.energy()["kinetic"]
    run_to(simulation, 500 * simulation.step_size)
    assert simulation.energy()["kinetic"] < before
    with pytest.raises(RheotwinError, match=rf"solvers\.fem\.step: .* above the {limit:.6g} s up to which"):
        start(data, stepper=stepper, step=1.0 / int(1.0 / limit))  # the shortest unstable one that lands on 1 s


def test_limit_bounds_two_moduli_with_their_own_times() -> None:
    """Unequal Poisson ratios give two channels; the limit is on the safe side, and not far off."""
    two, one = (
        start(box_scene(law, **BLOCK), stepper="rk4", step=1e-6).stable_step
        for law in (UNEQUAL, EQUAL_RATIO["maxwell"])
    )
    assert one / np.sqrt(2.0) <= two <= one


@pytest.mark.parametrize(("stepper", "limit"), [("euler", 2.0), ("rk4", 2.7852936)])
def test_frequency_of_constraints_bounds_the_step(stepper: str, limit: float) -> None:
    """om h < 2 and 2.785 (spec 2.3)."""
    data = box_scene(EQUAL_RATIO["voigt"], size=[2.0], cells=[4], density=30.0)
    found = start(data, stepper=stepper, step=1e-9, constraint_frequency=1e6).stable_step
    assert found == pytest.approx(limit / 1e6, rel=1e-7)


@pytest.mark.parametrize(
    ("stepper", "law", "more", "words"),
    [
        ("euler", EQUAL_RATIO["elastic"], {}, "explicit Euler is unstable"),
        ("rk4", UNEQUAL, {"plane": "stress"}, "explicit rules need a mass"),
    ],
)
def test_what_explicit_rules_cannot_move_is_refused(stepper: str, law: Data, more: Data, words: str) -> None:
    with pytest.raises(RheotwinError, match=rf"solvers\.fem\.stepper: {words}"):
        start(box_scene(law, **BLOCK, **more), stepper=stepper, step=1e-6)


def test_memory_equals_the_network() -> None:
    """A6: sigma = c2 (e' - e_v') with E e_v + c1 e_v' = c2 (e' - e_v'), to 1e-8.

    A given frequency of the constraints keeps order 4 under the moving grip: the slower, the smaller its error.
    """
    young, c1, c2 = 30.0, 20.0, 500.0
    drive = path([0.0, 10.0, 20.0], [[0.0], [0.4], [0.4]]) | {"interpolation": "smooth"}
    supports = HELD | {"grip": side("right", motion=drive)}
    cell = box_scene(EQUAL_RATIO["three-element"], size=[4.0], cells=[1], duration=20.0, supports=supports)
    simulation = start(cell, stepper="rk4", step=0.02, constraint_frequency=1.0)

    def rate(time: float) -> float:
        return 0.1 * 6 * (time / 10) * (1 - time / 10) / 10 if time < 10.0 else 0.0

    def inner(time: float, strain: np.ndarray) -> np.ndarray:
        return (c2 * rate(time) - young * strain) / (c1 + c2)

    strain = np.zeros(1)
    for begin, end in ((0.0, 5.0), (5.0, 10.0), (10.0, 20.0)):
        strain = solve_ivp(inner, (begin, end), strain, rtol=1e-12, atol=1e-15, method="DOP853").y[:, -1]
        exact = c2 * (rate(end) - inner(end, strain)[0])
        run_to(simulation, end)
        np.testing.assert_allclose(simulation.fields()["stress"][:, 0], exact, rtol=1e-8)
