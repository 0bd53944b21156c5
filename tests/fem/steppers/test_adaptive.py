"""Adaptive midpoint: error follows the tolerance, pieces are halves of halves, restart is exact."""

import numpy as np
import pytest
from scipy.linalg import expm

from rheotwin.validation.checks.running import EQUAL_RATIO, HELD, box_scene, pull, run_to, side, start

TOLERANCES = [1e-2, 1e-3, 1e-4]


PULL = {"pull": side("right", total=[2.0], times=[0.0, 1.0], factor=[0.0, 1.0])}
LOADED_BAR = box_scene(
    EQUAL_RATIO["three-element"], size=[4.0], cells=[3], section=2.0, duration=10.0, supports=HELD, forces=PULL
)
"""A three-element bar (E = 30, c1 = 20, c2 = 500) without inertia; its stress rises to 1 in 1 s and stays."""


def creep_of_ramp(time: float) -> float:
    """Strain of a stress that rises at 1/s: the integral of J(t) = (1 - exp(-E t/c1))/E + t/c2."""
    delay = 20.0 / 30.0
    return (time - delay * (1 - np.exp(-time / delay))) / 30.0 + time**2 / 1000.0


def test_error_follows_the_tolerance() -> None:
    """Ramp, then hold: over two decades error/tolerance stays within one decade, and below 1."""
    ratios = []
    for tolerance in TOLERANCES:
        simulation, worst = start(LOADED_BAR, stepper="adaptive", step=2.0, tolerance=tolerance), 0.0
        for time in (2.0, 4.0, 6.0):
            run_to(simulation, time)
            exact = creep_of_ramp(time) - creep_of_ramp(time - 1.0)
            worst = max(worst, abs((simulation.positions[-1, 0] - 4.0) / 4.0 / exact - 1.0))
        ratios.append(worst / tolerance)
    assert max(ratios) < 1.0 and max(ratios) / min(ratios) < 10.0


@pytest.mark.parametrize(("tolerance", "divided"), [(0.38, False), (0.37, True)])
def test_difference_of_the_pair_is_a_share_of_what_moved(tolerance: float, divided: bool) -> None:
    """A mass on a spring, h omega = 1: 0.8 h by the midpoint, 0.5 h by the endpoint, 3/8 of 0.8 apart."""
    data = box_scene({"model": "elastic", "young": 1.0, "poisson": 0.0}, cells=[1], density=2.0, supports=HELD)
    simulation = start(data, stepper="adaptive", step=1.0, tolerance=tolerance)
    simulation.restore(simulation.save() | {"v": np.array([0.0, 1.0])})
    simulation.advance(1.0, 1)
    assert (simulation.statistics()["steps"] > 1) == divided


def test_error_of_a_ringing_mass_follows_the_tolerance() -> None:
    """One Voigt cell under a sudden force: m u'' + c u' + k u = 1 by matrix exponential."""
    law = EQUAL_RATIO["voigt"] | {"viscosity": 1.0}
    data = box_scene(law, cells=[1], density=10.0, supports=HELD, forces=pull(1.0))
    mass, damping, spring = 5.0, 1.0, 300.0
    exact = 1 / spring - (expm(np.array([[0.0, 1.0], [-spring / mass, -damping / mass]])) @ [1 / spring, 0.0])[0]
    ratios, pieces = [], []
    for tolerance in TOLERANCES:
        simulation = run_to(start(data, stepper="adaptive", step=0.1, tolerance=tolerance), 1.0)
        ratios.append(abs(simulation.positions[-1, 0] - 1.0 - exact) * spring / 2 / tolerance)
        pieces.append(simulation.statistics()["steps"])
    assert max(ratios) < 2.0 and max(ratios) / min(ratios) < 3.0
    # the difference of the pair is of order h^2, so ten times the accuracy takes sqrt(10) times the pieces
    np.testing.assert_allclose(np.divide(pieces[1:], pieces[:-1]), np.sqrt(10.0), rtol=0.25)


def test_statistics_and_a_loose_tolerance() -> None:
    simulation = run_to(start(LOADED_BAR, stepper="adaptive", step=2.0, tolerance=1e-3), 10.0)
    found = simulation.statistics()
    assert found["rejected"] > 0 and found["beyond_tolerance"] == 0
    levels = np.log2(2.0 / np.array([found["smallest_step"], found["largest_step"]]))
    np.testing.assert_array_equal(levels, np.round(levels))
    assert levels[0] > levels[1] and found["factorisations"] <= 2 * (levels[0] + 1)
    # Nothing is rejected, so the motion is that of the plain rule, bit for bit.
    runs = start(LOADED_BAR, stepper="adaptive", step=0.5, tolerance=1e6), start(LOADED_BAR, step=0.5)
    for simulation in runs:
        run_to(simulation, 5.0)
    assert runs[0].positions.tobytes() == runs[1].positions.tobytes()
    assert runs[0].statistics()["rejected"] == 0
