"""Force of the bar in the papers' pressing scene without inertia (spec 8; R4, R7, R8, T8)."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheotwin.scene import scene_from_data
from rheotwin.solver import Simulation

Data = dict[str, Any]
SAME, ALTERNATING = 469.64775, 468.60553


@pytest.fixture
def bar_force(start: Callable[..., Simulation]) -> Callable[..., list[float]]:
    """Upward force on the bar at given times; sides cancel and the floor carries as much."""

    def measure(data: Data, times: list[float], step: float = 0.25) -> list[float]:
        simulation, found = start(data, step=step), []
        for time in times:
            simulation.advance(time, 10**9)
            forces = simulation.reactions()
            found.append(float(forces["tool.bar"][1]))
            assert forces["tool.bar"][0] == 0.0
            np.testing.assert_allclose(forces["support.floor"], [0, -found[-1]], atol=1e-5 * found[-1])
        return found

    return measure


@pytest.mark.parametrize(("pattern", "force"), [("se-nw", SAME), ("sw-ne", SAME), ("alternating", ALTERNATING)])
def test_elastic_force_at_depth_one(
    pattern: str, force: float, press: Callable[..., Data], bar_force: Callable[..., Any], laws: dict[str, Data]
) -> None:
    """R4, five decimals; eight digits are given."""
    assert bar_force(press(laws["elastic"], pattern), [1.0])[0] == pytest.approx(force, abs=5.1e-6)


def test_viscoplastic_force(press: Callable[..., Data], bar_force: Callable[..., Any], laws: dict[str, Data]) -> None:
    """R7."""
    found = bar_force(press(laws["maxwell"]), [5.0, 10.0])
    np.testing.assert_allclose(found, [743.77561, 780.80601], atol=1e-5)


@pytest.mark.parametrize("step", [0.5, 0.05])
def test_rheological_force(
    step: float, press: Callable[..., Data], bar_force: Callable[..., Any], laws: dict[str, Data]
) -> None:
    """R8, on the way down and two seconds after the bar has turned; independent of the step."""
    found = bar_force(press(laws["three-element"]), [5.0, 10.0, 12.0], step)
    np.testing.assert_allclose(found, [218.70560, 360.04537, 181.858], rtol=2.8e-6)


def test_force_is_the_elastic_one_times_the_one_dimensional_response(
    any_law: Data, press: Callable[..., Data], bar_force: Callable[..., Any]
) -> None:
    """T8: equal Poisson ratios make F(t) = F_el/E r(t) for a ramp in persistent contact, whatever the law."""
    data = press(any_law)
    channel = scene_from_data(data).law_for("block").channel("young")
    times = [0.25, 2.0, 5.0, 10.0]
    np.testing.assert_allclose(bar_force(data, times), SAME / 300.0 * channel.ramp(times), rtol=5e-8)


def test_viscous_forces_do_not_alternate(
    press: Callable[..., Data], start: Callable[..., Simulation], laws: dict[str, Data]
) -> None:
    """The bar starts at full speed: without inertia the velocity alternates 2 v, 0, 2 v, but no force may."""
    simulation, forces = start(press(laws["three-element"]), step=0.1), []
    for k in range(1, 21):
        simulation.advance(0.1 * k, 10**9)
        forces.append(simulation.reactions()["tool.bar"][1])
    curvature = np.diff(forces, 2)
    assert np.all(curvature < 0)
    assert np.abs(curvature).max() < 0.01 * np.abs(np.diff(forces)).max()
