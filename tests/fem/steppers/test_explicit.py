"""Explicit Euler and Runge-Kutta on the first-order system: orders, limits, memory (spec 2.3; R12, R15, A6)."""

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.validation.checks.running import EQUAL_RATIO, Data, box_scene, put, run_to, start

BLOCK: Data = {"size": [2.0, 1.0], "cells": [4, 2], "density": 30.0}
UNEQUAL = EQUAL_RATIO["maxwell"] | {"viscous_poisson": 0.25}


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
