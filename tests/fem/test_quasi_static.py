"""Equilibrium without inertia: exact for straight motions, free of history of the mass (spec 2.3)."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheotwin.fem.steppers.equilibrium import end_step
from rheotwin.materials import Channel
from rheotwin.scene import scene_from_data
from rheotwin.solver import Simulation

Data = dict[str, Any]
Start = Callable[..., Simulation]


def test_factors_of_a_channel() -> None:
    """kappa = g_inf + sum g (1 - exp(-x))/x + eta/h, d = exp(-x)."""
    step = end_step(Channel(3.0, (2.0, 5.0), (0.5, 4.0), 0.7), 0.2)
    x, g = np.array([0.4, 0.05]), np.array([2.0, 5.0])
    assert step.stiffness == pytest.approx(3.0 + np.sum(g * (1 - np.exp(-x)) / x) + 3.5, rel=1e-14)
    np.testing.assert_allclose(step.on_memory, np.exp(-x), rtol=1e-15)
    np.testing.assert_allclose(step.gain, g * (1 - np.exp(-x)) / x, rtol=1e-13)


@pytest.mark.parametrize("step", [0.5, 0.05])
def test_force_of_the_pressing_bar(step: float, any_law: Data, press: Callable[..., Data], start: Start) -> None:
    """R7, R8, T8: F = F_el/E r(t) at any step, going down at constant speed."""
    simulation = start(press(any_law), step=step, stepper="quasi-static")
    channel = scene_from_data(press(any_law)).law_for("block").channel("young")
    for time in (1.0, 5.0):
        simulation.advance(time, 10**9)
        expected = 469.64775 / 300.0 * float(channel.ramp(time))
        assert simulation.reactions()["tool.bar"][1] == pytest.approx(expected, rel=2e-8)


def test_mass_does_not_matter(press: Callable[..., Data], start: Start, laws: dict[str, Data]) -> None:
    results = []
    for mass in (1e-12, 30.0):
        simulation = start(press(laws["three-element"], mass=mass), step=0.25, stepper="quasi-static")
        simulation.advance(15.0, 10**9)
        results.append(simulation.positions)
    np.testing.assert_array_equal(*results)


def test_weight_does(scene: Callable[..., Data], start: Start, laws: dict[str, Data]) -> None:
    """A column under its own weight: stress rho g (H - y), here at the nodes of a line of linear elements."""
    wall = {"floor": {"body": "block", "where": {"side": "left"}}}
    data = scene(laws["elastic"], size=[2.0], cells=[8], density=3.0, gravity=[-2.0], duration=1.0, supports=wall)
    simulation = start(data, step=0.5, stepper="quasi-static")
    simulation.advance(1.0, 10**9)
    y = np.linspace(0.0, 2.0, 9)
    expected = -3.0 * 2.0 / 300.0 * (2.0 * y - 0.5 * y**2)
    np.testing.assert_allclose(simulation.fields()["displacement"][:, 0], expected, atol=1e-13)
    assert simulation.reactions()["support.floor"][0] == pytest.approx(-12.0, rel=1e-12)


def test_velocity_is_that_of_the_step(scene: Callable[..., Data], start: Start, laws: dict[str, Data]) -> None:
    supports = {
        "wall": {"body": "block", "where": {"side": "left"}},
        "grip": {
            "body": "block",
            "where": {"side": "right"},
            "motion": {"times": [0.0, 1.0, 2.0], "displacement": [[0.0], [0.4], [0.4]]},
        },
    }
    data = scene(laws["maxwell"], size=[2.0], cells=[2], duration=2.0, supports=supports)
    simulation = start(data, step=0.25, stepper="quasi-static")
    for time, speed in ((1.0, 0.4), (2.0, 0.0)):
        simulation.advance(time, 10**9)
        np.testing.assert_allclose(simulation.velocities[:, 0], [0.0, speed / 2, speed], atol=1e-12)
    assert simulation.energy()["kinetic"] < 1e-12


def test_work_of_an_elastic_body_is_stored(press: Callable[..., Data], start: Start, laws: dict[str, Data]) -> None:
    """Work by the trapezoid over each step, exact for springs: what is done in a ramp of 20 steps is stored."""
    simulation = start(press(laws["elastic"]), step=0.5, stepper="quasi-static")
    simulation.advance(10.0, 10**9)
    energy = simulation.energy()
    assert energy["external"] == pytest.approx(energy["stored"], rel=1e-9)
    assert abs(energy["defect"]) < 1e-9 * energy["stored"]
