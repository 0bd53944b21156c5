"""One-step rules against closed forms and state equations: factors of a channel, orders in time, creep (T1, T2)."""

import numpy as np
import pytest

from rheotwin.fem.steppers.schemes import cayley_step, end_step, exponential_step, generalized_alpha
from rheotwin.materials import Channel
from rheotwin.scene import scene_from_data
from rheotwin.validation.checks.running import HELD, VISCOPLASTIC, Data, box_scene, put, run_to, seen, side, start
from rheotwin.validation.closed_forms import first_eigenvalue, mode_response

CHANNEL, H = Channel(3.0, (2.0, 5.0), (0.5, 4.0), 0.7), 0.2
X, G = H / np.array(CHANNEL.times), np.array(CHANNEL.strengths)
ALPHA = 0.8 / 1.8
"""What generalised-alpha of radius 0.8 takes from the start of a step."""
MIDDLE = 1 / (1 + X / 2)
FACTORS = {
    # of the stiffness by the arms, the spring and the dashpot; of the memory in the balance; decay and gain of memories
    "midpoint": (exponential_step, G * (1 - np.exp(-X / 2)) / X, 1.5, 3.5, np.exp(-X / 2), np.exp(-X)),
    "cayley": (cayley_step, G / 2 * MIDDLE, 1.5, 3.5, MIDDLE, 2 * MIDDLE - 1),
    "quasi-static": (end_step, G * (1 - np.exp(-X)) / X, 3.0, 3.5, np.exp(-X), np.exp(-X)),
}


@pytest.mark.parametrize("rule", FACTORS)
def test_factors_of_a_channel(rule: str) -> None:
    """kappa = sum of the arms, g_inf (half of it at mid-step) and eta/h; w' = d w + gain du, whatever x = h/tau."""
    step_of, arms, spring, dashpot, on_memory, decay = FACTORS[rule]
    step = step_of(CHANNEL, H)
    gain = G * MIDDLE if rule == "cayley" else G * (1 - np.exp(-X)) / X
    assert step.stiffness == pytest.approx(spring + arms.sum() + dashpot, rel=1e-14)
    np.testing.assert_allclose(step.on_memory, on_memory, rtol=1e-15)
    np.testing.assert_allclose(step.decay, decay, rtol=1e-14)
    np.testing.assert_allclose(step.gain, gain, rtol=1e-13)


def test_factors_of_tiny_and_huge_steps_and_of_generalised_alpha() -> None:
    """h << tau: an arm is a spring of half its strength at mid-step; h >> tau: a dashpot g tau."""
    slow = exponential_step(Channel(0.0, (2.0,), (1e12,), 0.0), 1e-3)
    fast = exponential_step(Channel(0.0, (2.0,), (1e-9,), 0.0), 1e3)
    assert (slow.stiffness, slow.gain[0]) == pytest.approx((1.0, 2.0), rel=1e-14)
    assert (fast.stiffness, fast.gain[0]) == pytest.approx((2e-12, 2e-12), rel=1e-14)
    assert (fast.decay[0], fast.on_memory[0]) == (0.0, 0.0)
    # (1 - af) of the arm at the end and af of it at the start: e_w = (1 - af) exp(-x) + af.
    x = 0.3
    step = generalized_alpha(0.3, 0.8).channel(Channel(0.0, (5.0,), (1.0,), 0.0))
    assert step.on_memory[0] == pytest.approx((1 - ALPHA) * np.exp(-x) + ALPHA, rel=1e-14)
    assert step.stiffness == pytest.approx((1 - ALPHA) * 5.0 * (1 - np.exp(-x)) / x, rel=1e-14)


def vibration_error(law: Data, stepper: str, time: float, step: float, *, cells: int, density: float) -> np.ndarray:
    """T2: error of (q, v) of a fixed-free bar, started with its first discrete mode, against the state equation."""
    bar = box_scene(law, size=[1.0], cells=[cells], density=density, duration=time, supports=HELD)
    exact = mode_response(
        scene_from_data(bar).law_for("block").channel("young"), first_eigenvalue(cells, density=density), time
    )
    simulation, rest = start(bar, step=step, stepper=stepper), np.linspace(0, 1, cells + 1)
    mode = np.sin(0.5 * np.pi * rest)
    put(simulation, v=mode)
    run_to(simulation, time)
    found = np.stack([simulation.positions[:, 0] - rest, simulation.velocities[:, 0]])
    np.testing.assert_allclose(found, np.outer(found[:, -1], mode), atol=1e-11)
    return np.abs(found[:, -1] - [exact.amplitude, exact.rate])


@pytest.mark.parametrize(("stepper", "order", "off"), [("midpoint", 2, 0.1), ("rk4", 4, 0.25)])
def test_order_for_every_law(stepper: str, order: int, off: float, any_law: Data) -> None:
    errors = [vibration_error(any_law, stepper, 2.0, h, cells=4, density=400.0) for h in (0.05, 0.025, 0.0125)]
    np.testing.assert_allclose(np.log2(errors[1] / errors[2]), order, atol=off)
    assert np.max(errors[-1]) < 1e-3


def test_maxwell_creep() -> None:
    """T1: e = 1/E + t/c; with the stress rising over the first step, flow lags by half of it: t - h/2.
    Without inertia the midpoint rule leaves an alternating rest of h/(4 tau E); (1, 2, 1)/4 takes it out."""
    h, times = 0.1, np.array([1.0, 5.0, 20.0])
    pull = {"pull": side("right", total=[2.0], times=[0.0, h], factor=[0.0, 1.0])}
    bar = box_scene(VISCOPLASTIC, size=[4.0], cells=[3], section=2.0, duration=20.0 + h, supports=HELD, forces=pull)
    simulation = start(bar, step=h)
    around = seen(simulation, (times[:, None] + [-h, 0.0, h]).ravel(), lambda: simulation.positions[-1, 0] / 4.0 - 1.0)
    strains, exact = np.reshape(around, (3, 3)), 1 / 300 + (times - h / 2) / 500
    assert np.all(np.abs(strains[:, 1] - exact) < h / (4 * 300 * 500 / 300))
    np.testing.assert_allclose(strains @ [0.25, 0.5, 0.25], exact, rtol=(h * 300 / 500) ** 2 / 12)
