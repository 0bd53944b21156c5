"""The step with inertia: conservation in free flight, order in time, and the linear midpoint rule as its limit."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from rheotwin.validation.checks.running import ELASTIC, EQUAL_RATIO, Data, box_scene, put, run_to, side, start


@pytest.fixture
def flying(begin: Any) -> Any:
    """A free block that spins at 2 rad/s, drifts and rings."""

    def start(law: Data, description: str, step: float) -> Any:
        data = box_scene(law, size=[1.0, 0.5], cells=[2, 1], density=2.0, duration=2.0)
        simulation = begin(data, description, step=step, inertia=True, newton_tolerance=1e-13)
        places = simulation.positions - [0.5, 0.25]
        put(simulation, v=(2.0 * places @ [[0.0, 1.0], [-1.0, 0.0]] + [0.3, -0.2] + 1.5 * places**2).ravel())
        return simulation

    return start


@pytest.mark.parametrize("name", ["elastic", "three-element"])
def test_free_flight_keeps_momentum_and_angular_momentum(name: str, description: str, flying: Any) -> None:
    """Both exactly, to the tolerance of Newton's method; the block turns by more than 180 degrees."""
    simulation = flying(EQUAL_RATIO[name], description, 0.05)
    masses = simulation._problem.masses

    def momenta() -> np.ndarray:
        places, velocities = simulation.positions, simulation.velocities
        spin = masses @ (places[:, 0] * velocities[:, 1] - places[:, 1] * velocities[:, 0])
        return np.array([*(masses @ velocities), spin])

    before = momenta()
    run_to(simulation, 2.0)
    np.testing.assert_allclose(momenta(), before, atol=1e-10 * np.abs(before).max())


@pytest.mark.parametrize("name", [pytest.param("elastic", marks=pytest.mark.exhaustive), "three-element"])
def test_second_order_in_time(name: str, description: str, flying: Any) -> None:
    """Positions after 0.4 s: halving the step twice, changes fall by four; the viscous arm does not spoil the order."""
    soft, ends = EQUAL_RATIO[name] | {"young": 20.0}, []
    for step in (0.02, 0.01, 0.005):
        simulation = run_to(flying(soft, description, step), 0.4)
        ends.append(simulation.positions)
    first, second = (np.linalg.norm(fine - coarse) for coarse, fine in pairwise(ends))
    assert np.log2(first / second) == pytest.approx(2.0, abs=0.15)


@pytest.mark.exhaustive
def test_elastic_energy_is_kept_in_second_order(description: str, flying: Any) -> None:
    """Total energy of the ringing block over 1 s: a mean deviation of order h^2 that does not grow."""
    soft, drifts = ELASTIC | {"young": 20.0}, []
    for step in (0.02, 0.01):
        simulation = flying(soft, description, step)
        totals = [sum(simulation.energy()[kind] for kind in ("kinetic", "stored"))]
        while simulation.time < 1.0:
            simulation.advance(1.0, 1)
            totals.append(sum(simulation.energy()[kind] for kind in ("kinetic", "stored")))
        drifts.append(np.sqrt(np.mean((np.array(totals) / totals[0] - 1.0) ** 2)))
    assert drifts[0] < 1e-3 and np.log2(drifts[0] / drifts[1]) == pytest.approx(2.0, abs=0.3)


@pytest.mark.parametrize("name", ["three-element", "generalized-maxwell"])
def test_small_motion_is_that_of_the_linear_midpoint_rule(name: str, description: str, begin: Any) -> None:
    """Same step, same rule: positions differ by the strain (1e-6) relative to the motion, whatever the step."""
    wall = {"wall": side("left")}
    data = box_scene(EQUAL_RATIO[name], size=[1.0, 0.5], cells=[3, 2], density=5.0, supports=wall)
    linear, finite = start(data, step=0.1), begin(data, description, step=0.1, inertia=True, newton_tolerance=1e-12)
    kick = 1e-6 * finite.positions[:, :1] * [1.0, -2.0]
    for simulation in (linear, finite):
        put(simulation, v=kick.ravel())
        run_to(simulation, 1.0)
    expected, found = (s.fields()["displacement"] for s in (linear, finite))
    np.testing.assert_allclose(found, expected, atol=2e-5 * np.abs(expected).max())
