"""The friction dashpot (identification spec 2.4): plateau at alpha, sticking for ever, run C of the source."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rheotwin.particles.forces.friction import sliding
from rheotwin.validation.checks.running import block, truss

K, B1, B2 = 200.0, 100.0, 1000.0
DEPTH = 0.025


def compressed(friction: float, step: float) -> Any:
    """Run C: one edge between a wall and a grip that goes 25 mm in 1 s and holds; alpha = 2 N or 0."""
    law = {"model": "three-element", "young": K, "poisson": 0.0, "voigt_viscosity": B1, "series_viscosity": B2}
    motion = {"times": [0.0, 1.0], "displacement": [[0.0], [-DEPTH]]}
    problem = block(
        1,
        {**law, "friction": friction},
        body={"size": [1.0], "cells": [1]},
        supports={
            "wall": {"body": "block", "where": {"side": "left"}},
            "grip": {"body": "block", "where": {"side": "right"}, "motion": motion},
        },
        duration=20.0,
    )
    return truss(problem, step=step, match="edge")


def force_at(simulation: Any, times: list[float]) -> np.ndarray:
    """Compressive force on the wall [N]; a step's force is that of the rate it starts with."""
    found = []
    for time in times:
        simulation.advance(time, 10**9)
        assert simulation.time == pytest.approx(time, rel=1e-12)
        found.append(-simulation.reactions()["support.wall"][0])
    return np.array(found)


RUN_C = {
    2.0: (2.454545, 6.535156, 4.262428, 3.093262, 2.071497),  # ID-18
    0.0: (B1 * B2 / (B1 + B2) * DEPTH, 6.051070, 3.778343, 1.825790, 0.119402),  # ID-20; at 0+ the two dashpots
}


@pytest.mark.parametrize("friction", RUN_C)
def test_ramp_and_hold_of_run_c(friction: float) -> None:
    """ID-18, ID-20, first order in the step: the error halves, one Richardson step leaves 1e-6.

    A step sees the grip move from its second on and stop from the one after 1 s on.
    """
    steps = (1e-3, 5e-4, 2.5e-4)
    found = [force_at(compressed(friction, h), [2 * h, 1.0, 1.0 + 2 * h, 5.0, 20.0]) for h in steps]
    reference = np.array(RUN_C[friction])
    errors = [np.abs(forces - reference) for forces in found]
    np.testing.assert_allclose(errors[0] / errors[1], 2.0, atol=0.05)
    extrapolated = (8.0 * found[2] - 6.0 * found[1] + found[0]) / 3.0
    np.testing.assert_allclose(extrapolated, reference, atol=2e-6)


def test_plateau_is_the_friction() -> None:
    """Held, f = alpha + (f(1+) - alpha) exp(-k t/(b1 + b2)): tau = 5.5 s; without friction it is zero."""
    simulation = compressed(2.0, 0.01)
    early, late = force_at(simulation, [2.0, 7.5])
    assert np.log((early - 2.0) / (late - 2.0)) == pytest.approx(1.0, rel=2e-3)


def test_released_it_sticks_for_ever() -> None:
    """ID-19: a pusher leaves after 20 s; below alpha nothing slides, so the residual is that of the dashpot.

    The mass of 50 g at the free end is overdamped, m k/b1^2 = 1e-3, and gives the force back within m/b1 = 0.5 ms.
    """
    law = {"model": "three-element", "young": K, "poisson": 0.0, "voigt_viscosity": B1, "series_viscosity": B2}
    problem = block(
        1,
        {**law, "friction": 2.0},
        body={"size": [1.0], "cells": [1], "density": 0.1},
        supports={"wall": {"body": "block", "where": {"side": "left"}}},
        tools={
            "pusher": {
                "shape": "plane",
                "center": [1.0],
                "normal": [-1.0],
                "motion": {"times": [0.0, 1.0, 20.0, 20.001], "displacement": [[0.0], [-DEPTH], [-DEPTH], [1.0]]},
            }
        },
        duration=32.0,
        output={"interval": 4.0},
    )
    found = []
    for h in (8e-4, 4e-4):
        simulation = truss(problem, step=h, match="edge")
        simulation.advance(31.0, 10**9)
        at_31 = simulation.positions[1, 0] - 1.0
        simulation.advance(32.0, 10**9)
        assert simulation.positions[1, 0] - 1.0 == pytest.approx(at_31, abs=1e-10)
        found.append(simulation.positions[1, 0] - 1.0)
    # above alpha by 0.07 N for 0.035 m/b1, it slides 1e-9 m more than a massless end
    assert 2.0 * found[1] - found[0] == pytest.approx(-0.01460677, abs=2e-8)


def test_the_force_solves_the_set_valued_law() -> None:
    """f = g - c w, w = S_alpha(f)/c2: checked for random constants and loads, odd in the load."""
    generator = np.random.default_rng(3)
    for _ in range(200):
        c, series, friction = 10.0 ** generator.uniform(-3, 3, 3)
        g = friction * generator.normal(scale=3.0)
        f, w = sliding(g, c, series, friction)
        slip = np.sign(f) * max(abs(f) - friction, 0.0) / series
        assert w == pytest.approx(slip, rel=1e-12, abs=1e-14 * abs(g) / series)
        assert abs(f + c * w - g) <= 1e-14 * (abs(g) + c / series * abs(f))  # c w is a difference of forces times c/c2
        assert sliding(-g, c, series, friction) == (-f, -w)


def test_friction_only_takes_energy() -> None:
    """Stored k d^2/2; the rest of the work went into the dashpots and the friction, step by step."""
    h = 1e-3
    simulation = compressed(2.0, h)
    work, dissipated = 0.0, [0.0]
    for _ in range(1500):
        before = simulation.positions[1, 0]
        simulation.advance(20.0, 1)
        tension = simulation.reactions()["support.wall"][0]
        work += tension * (simulation.positions[1, 0] - before)
        dissipated.append(work - simulation.energy()["stored"])
    steps = np.diff(dissipated)
    # a step's force acts on the next move: at the stop of the ramp, b1 v over one step is booked one step late
    assert steps.min() > -(B1 * DEPTH + 6.6) * DEPTH * h
    assert dissipated[-1] > 0.02
    assert np.all(steps[5:990] > 0.0)
