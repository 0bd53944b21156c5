"""The exponential midpoint rule against closed forms and state equations (spec 2.3, T1, T2, R10, R11, R15)."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm

from rheotwin.fem.steppers.midpoint import exponential_step
from rheotwin.materials import Channel
from rheotwin.scene import scene_from_data
from rheotwin.solver import Simulation

Data = dict[str, Any]
Start = Callable[..., Simulation]
RunTo = Callable[[Simulation, float], None]


def young_channel(law: Data, scene: Callable[..., Data]) -> Channel:
    return scene_from_data(scene(law, size=[1.0], cells=[1])).law_for("block").channel("young")


def test_factors_of_a_channel() -> None:
    """d = exp(-x/2), k = g (1 - exp(-x/2))/x, kappa = g_inf/2 + sum k + eta/h, x = h/tau."""
    step = exponential_step(Channel(3.0, (2.0, 5.0), (0.5, 4.0), 0.7), 0.2)
    x = np.array([0.4, 0.05])
    g = np.array([2.0, 5.0])
    assert step.on_displacement == 3.0
    assert step.stiffness == pytest.approx(1.5 + np.sum(g * (1 - np.exp(-x / 2)) / x) + 3.5, rel=1e-14)
    np.testing.assert_allclose(step.on_memory, np.exp(-x / 2), rtol=1e-15)
    np.testing.assert_allclose(step.decay, np.exp(-x), rtol=1e-15)
    np.testing.assert_allclose(step.gain, g * (1 - np.exp(-x)) / x, rtol=1e-13)


def test_factors_stay_accurate_for_tiny_and_huge_steps() -> None:
    """h << tau: an arm is a spring of half its strength at mid-step; h >> tau: a dashpot g tau."""
    slow = exponential_step(Channel(0.0, (2.0,), (1e12,), 0.0), 1e-3)
    fast = exponential_step(Channel(0.0, (2.0,), (1e-9,), 0.0), 1e3)
    assert (slow.stiffness, slow.gain[0]) == pytest.approx((1.0, 2.0), rel=1e-14)
    assert (fast.stiffness, fast.gain[0]) == pytest.approx((2e-12, 2e-12), rel=1e-14)
    assert (fast.decay[0], fast.on_memory[0]) == (0.0, 0.0)


@pytest.fixture
def creep(scene: Callable[..., Data], start: Start, run_to: RunTo) -> Callable[..., list[float]]:
    """End strain at given times of a bar without inertia under a unit stress, at once or rising up to `rise`."""

    def measure(law: Data, times: list[float], step: float, rise: float | None = None) -> list[float]:
        pull: Data = {"body": "block", "where": {"side": "right"}, "total": [2.0]}
        if rise is not None:
            pull |= {"times": [0.0, rise], "factor": [0.0, 1.0]}
        bar = scene(
            law,
            size=[4.0],
            cells=[3],
            section=2.0,
            duration=times[-1],
            supports={"wall": {"body": "block", "where": {"side": "left"}}},
            forces={"pull": pull},
        )
        simulation, strains = start(bar, step=step), []
        for time in times:
            run_to(simulation, time)
            strains.append(float(simulation.fields()["displacement"][-1, 0]) / 4.0)
        return strains

    return measure


def test_three_element_creep(laws: dict[str, Data], creep: Callable[..., list[float]]) -> None:
    """R10: (1 - exp(-E t/c1))/E + t/c2, to the scheme's (E h/c1)^2/12 = 2e-5 of the delayed part."""
    times = [1.0, 5.0, 20.0]
    exact = (1 - np.exp(-30 * np.array(times) / 20)) / 30 + np.array(times) / 500
    np.testing.assert_allclose(exact, [0.0278957, 0.0433149, 0.0733333], atol=5.1e-8)
    np.testing.assert_allclose(creep(laws["three-element"], times, 0.01), exact, rtol=2e-5)


def test_maxwell_creep(laws: dict[str, Data], creep: Callable[..., list[float]]) -> None:
    """T1: e = 1/E + t/c; with the stress rising over the first step, flow lags by half of it: t - h/2.

    Without inertia the midpoint rule leaves an alternating rest of h/(4 tau E); (1, 2, 1)/4 takes it out.
    """
    h = 0.1
    for time in (1.0, 5.0, 20.0):
        around = creep(laws["maxwell"], [time - h, time, time + h], h, rise=h)
        exact = 1 / 300 + (time - h / 2) / 500
        assert np.abs(around[1] - exact) < h / (4 * 300 * 500 / 300)
        assert np.dot(around, [0.25, 0.5, 0.25]) == pytest.approx(exact, rel=(h * 300 / 500) ** 2 / 12)


def test_three_element_ramp_and_stop(laws: dict[str, Data], scene: Callable[..., Data], start: Start) -> None:
    """R11: s = r [eta + g tau (1 - exp(-t/tau))], the eta part drops at once when the strain stops.

    Constant rates are integrated exactly, so any step gives the closed form.
    """
    drive = {"times": [0.0, 10.0, 20.0], "displacement": [[0.0], [0.4], [0.4]]}
    supports = {
        "wall": {"body": "block", "where": {"side": "left"}},
        "grip": {"body": "block", "where": {"side": "right"}, "motion": drive},
    }
    bar = scene(laws["three-element"], size=[4.0], cells=[3], section=2.0, duration=20.0, supports=supports)
    simulation, body = start(bar, step=0.25), Channel.three_element(30, 20, 500)
    seen = {}
    for time in (1.0, 5.0, 10.0, 10.25, 20.0):
        simulation.advance(time, 10**9)
        forces = simulation.reactions()
        seen[time] = -forces["support.grip"][0] / 2.0
        assert forces["support.wall"][0] == pytest.approx(2.0 * seen[time], rel=1e-9)
        np.testing.assert_allclose(simulation.fields()["stress"][:, 0], seen[time], rtol=1e-9)
    ramp = np.array([seen[time] for time in (1.0, 5.0, 10.0, 20.0)])
    np.testing.assert_allclose(ramp, [0.4618253, 1.3970402, 2.2998857, 1.1836659], atol=5.1e-8)
    just_after = body.ramp(10.25, 0.01) - body.ramp(0.25, 0.01)
    assert seen[10.25] == pytest.approx(just_after, rel=1e-9)
    assert just_after == pytest.approx(2.1075780 * np.exp(-0.25 / body.times[0]), abs=1e-7)


class ModalBar:
    """T2: fixed-free bar in its first discrete mode, q' = v, m v' = -lam1 (g_inf q + sum w + eta v)."""

    def __init__(self, channel: Channel, cells: int, density: float) -> None:
        h = 1.0 / cells
        self.lam1 = 4 / h**2 * np.sin(np.pi * h / 4) ** 2
        arms = len(channel.times)
        self.matrix = np.zeros((2 + arms, 2 + arms))
        self.matrix[0, 1] = 1.0
        self.matrix[1] = -self.lam1 / density * np.array([channel.equilibrium, channel.viscosity, *np.ones(arms)])
        for arm, (g, tau) in enumerate(zip(channel.strengths, channel.times, strict=True), start=2):
            self.matrix[arm, 1], self.matrix[arm, arm] = g, -1 / tau

    def state(self, time: float) -> np.ndarray:
        start = np.zeros(len(self.matrix))
        start[1] = 1.0
        return (expm(self.matrix * time) @ start)[:2]


@pytest.fixture
def modal_run(scene: Callable[..., Data], start: Start, with_state: Callable[..., None]) -> Callable[..., Any]:
    """Run the modal bar from unit modal velocity; return (q, v) at the end. Lumping gives end nodes half a mass."""

    def run(law: Data, time: float, step: float, *, cells: int, density: float) -> np.ndarray:
        wall = {"wall": {"body": "block", "where": {"side": "left"}}}
        bar = scene(law, size=[1.0], cells=[cells], density=density, duration=time, supports=wall)
        simulation = start(bar, step=step)
        mode = np.sin(0.5 * np.pi * np.linspace(0, 1, cells + 1))
        with_state(simulation, v=mode)
        simulation.advance(time, 10**9)
        found = np.stack([simulation.positions[:, 0] - np.linspace(0, 1, cells + 1), simulation.velocities[:, 0]])
        np.testing.assert_allclose(found, np.outer(found[:, -1], mode), atol=1e-11)
        return found[:, -1]

    return run


def test_reference_maxwell_bar(modal_run: Callable[..., Any]) -> None:
    """R15: E = rho = 1, c = 2, N = 10. Richardson from two steps leaves an error of order h^4 (below 1e-8)."""
    maxwell = {"model": "maxwell", "young": 1.0, "poisson": 0.3, "viscosity": 2.0}
    exact = ModalBar(Channel.maxwell(1, 2), 10, 1.0)
    assert exact.lam1 == pytest.approx(2.46233188, abs=5.1e-9)
    for time, values in ((1.0, (0.67673322, 0.14251873)), (5.0, (0.37129960, 0.07692925))):
        np.testing.assert_allclose(exact.state(time), values, atol=5.1e-9)
        coarse, fine = (modal_run(maxwell, time, h, cells=10, density=1.0) for h in (0.02, 0.01))
        np.testing.assert_allclose(fine + (fine - coarse) / 3, values, atol=2e-8)


def test_order_two_for_every_law(any_law: Data, scene: Callable[..., Data], modal_run: Callable[..., Any]) -> None:
    """Errors at steps 1/40, 1/80, 1/160 of the time against the matrix exponential fall with order 2 +- 0.1."""
    density = 400.0
    exact = ModalBar(young_channel(any_law, scene), 4, density).state(2.0)
    steps = np.array([2 / 40, 2 / 80, 2 / 160])
    errors = [np.abs(modal_run(any_law, 2.0, h, cells=4, density=density) - exact) for h in steps]
    for component in range(2):
        order = np.polyfit(np.log(steps), np.log([error[component] for error in errors]), 1)[0]
        assert order == pytest.approx(2.0, abs=0.1)
    assert np.max(errors[-1]) < 1e-3
