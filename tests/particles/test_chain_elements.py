"""One-dimensional elements in closed form: dashpots in series (R11), creep, relaxation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

K, B, SERIES = 2.0, 1.0, 10.0
WALL = {"wall": {"body": "block", "where": {"side": "left"}}}


@pytest.fixture
def row(make_problem: Callable[..., Any], start: Callable[..., Any]) -> Callable[..., Any]:
    """Equal edges in a row that have the law's own numbers, a wall at the left; `mass` [kg] at the free end of one."""

    def build(
        law: dict[str, Any], *, edges: int = 1, mass: float = 0.5, step: float | None = None, **scene: Any
    ) -> Any:
        problem = make_problem(
            1,
            {"poisson": 0.0, **law},
            body={"size": [float(edges)], "cells": [edges], "density": 2.0 * mass},
            **({"supports": WALL} | scene),
        )
        return start(problem, match="edge", **({} if step is None else {"step": step}))

    return build


# ---- equivalents ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("c2", [1.0, 100.0, 0.01])
def test_a_three_element_without_spring_is_one_dashpot(
    c2: float, row: Callable[..., Any], put: Callable[..., None]
) -> None:
    """R11: c1 c2/(c1 + c2); c1 = c2 = 2 c gives c."""
    law = {
        "model": "three-element",
        "young": 0.0,
        "voigt_viscosity": 1.0,
        "series_viscosity": c2,
        "viscous_poisson": 0.0,
    }
    simulation = row(law)
    put(simulation, velocities=np.array([[0.0], [0.3]]))
    np.testing.assert_allclose(simulation.fields()["stress"][:, 0], 0.3 * c2 / (1.0 + c2), rtol=1e-12)


# ---- creep of a nearly massless edge -------------------------------------------------------------------------------


def voigt_creep(k: float, b: float, t: float) -> float:
    return (1.0 - np.exp(-k * t / b)) / k


CREEP: dict[str, tuple[dict[str, Any], Callable[[float], float], float]] = {
    "viscous": (
        {"model": "voigt", "young": 0.0, "viscosity": B, "viscous_poisson": 0.0},
        lambda t: t / B,
        B,
    ),
    "voigt": ({"model": "voigt", "young": K, "viscosity": B}, lambda t: voigt_creep(K, B, t), B),
    "three-element": (
        {"model": "three-element", "young": K, "voigt_viscosity": B, "series_viscosity": SERIES},
        lambda t: voigt_creep(K, B, t) + t / SERIES,
        B * SERIES / (B + SERIES),
    ),
    "generalized-voigt": (
        {"model": "generalized-voigt", "units": [{"young": k, "viscosity": b} for k, b in ((2, 1), (4, 8), (1, 9))]},
        lambda t: voigt_creep(2.0, 1.0, t) + voigt_creep(4.0, 8.0, t) + voigt_creep(1.0, 9.0, t),
        1.0 / (1.0 + 1.0 / 8.0 + 1.0 / 9.0),
    ),
}


@pytest.mark.parametrize("name", CREEP)
def test_creep_under_a_held_force(name: str, row: Callable[..., Any]) -> None:
    """d = F J(t); mass and step delay it by m/eta + h at most and shift its rates k/b <= 2/s by as much of themselves.

    So the error is below rate (m/eta + h) (1 + t k/b).
    """
    law, compliance, eta = CREEP[name]
    mass, force = 1e-4, 0.1
    pull = {"pull": {"body": "block", "where": {"side": "right"}, "total": [force]}}
    simulation = row(law, mass=mass, duration=4.0, output={"times": [0.2, 1.0, 4.0]}, forces=pull)
    assert simulation.step_size < 2.0 * mass / eta
    for time in (0.2, 1.0, 4.0):
        simulation.advance(time, 10**9)
        delay = mass / eta + simulation.step_size
        rate = force * (compliance(time) - compliance(time - delay)) / delay
        found = simulation.positions[1, 0] - 1.0
        assert found == pytest.approx(force * compliance(time), abs=rate * delay * (1.0 + 2.0 * time))


def test_creep_of_maxwell(row: Callable[..., Any]) -> None:
    """d = F/k + F t/b, after a force that grew over T: d = F/k + F (t - T/2)/b, and the mass swings by 2 F/(k w T)."""
    mass, force, ramp = 1e-6, 0.1, 0.5
    pull = {"body": "block", "where": {"side": "right"}, "total": [force], "times": [0.0, ramp], "factor": [0.0, 1.0]}
    law = {"model": "maxwell", "young": K, "viscosity": SERIES}
    simulation = row(law, mass=mass, duration=2.0, output={"times": [1.0, 2.0]}, forces={"pull": pull})
    swing = 2.0 * force / K / (np.sqrt(K / mass) * ramp)
    for time in (1.0, 2.0):
        simulation.advance(time, 10**9)
        expected = force / K + force * (time - 0.5 * ramp) / SERIES
        lag = force / SERIES * 2.0 * simulation.step_size
        assert simulation.positions[1, 0] - 1.0 == pytest.approx(expected, abs=swing + lag)
        assert swing + lag < 0.01 * expected


# ---- relaxation ----------------------------------------------------------------------------------------------------


@pytest.fixture
def stepped(row: Callable[..., Any]) -> Callable[..., Any]:
    """One edge stretched by 1 within the first step, then held."""

    def build(law: dict[str, Any], step: float) -> Any:
        motion = {"times": [0.0, step], "displacement": [[0.0], [1.0]]}
        grip = {"body": "block", "where": {"side": "right"}, "motion": motion}
        return row(law, step=step, duration=3000.0, supports=WALL | {"grip": grip})

    return build


def tension(simulation: Any, time: float) -> float:
    simulation.advance(time, 10**9)
    return float(simulation.fields()["stress"][0, 0])


def test_maxwell_relaxes_exponentially(stepped: Callable[..., Any]) -> None:
    """f = k d0 exp(-k t/b): from one second to the next exactly exp(-k/b)."""
    simulation = stepped({"model": "maxwell", "young": 2.0, "viscosity": 5.0}, 0.01)
    first = tension(simulation, 1.0)
    assert first == pytest.approx(2.0 * np.exp(-0.4), rel=2.0 * 0.01 * 0.4)  # stretched in the middle of a step
    assert tension(simulation, 6.0) / first == pytest.approx(np.exp(-2.0), rel=1e-12)
