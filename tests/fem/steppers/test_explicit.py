"""Explicit Euler and Runge-Kutta on the first-order system: orders, limits, memory (spec 2.3; R12, R15, A6)."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

from rheotwin.errors import RheotwinError
from rheotwin.fem.steppers.explicit_rules import EXPLICIT_EULER, RUNGE_KUTTA, ExplicitRule, modal_limit
from rheotwin.materials import Channel
from rheotwin.problem import Problem
from rheotwin.scene import scene_from_data
from rheotwin.validation.checks.running import (
    EQUAL_RATIO,
    FLOOR,
    Data,
    box_scene,
    path,
    problem_of,
    put,
    run_to,
    side,
    start,
)
from rheotwin.validation.checks.scenes import press_scene

MAXWELL: Data = {"model": "maxwell", "young": 1.0, "poisson": 0.3, "viscosity": 2.0}


def modal_error(law: Data, stepper: str, time: float, step: float, *, cells: int, density: float) -> float:
    """T2: error of (q, v) of a fixed-free bar in its first discrete mode against the matrix exponential."""
    wall = {"wall": side("left")}
    bar = box_scene(law, size=[1.0], cells=[cells], density=density, duration=time, supports=wall)
    channel = scene_from_data(bar).law_for("block").channel("young")
    lam1 = 4 * cells**2 * np.sin(np.pi / cells / 4) ** 2 / density
    arms = len(channel.times)
    matrix = np.zeros((2 + arms, 2 + arms))
    matrix[0, 1] = 1.0
    matrix[1] = -lam1 * np.array([channel.equilibrium, channel.viscosity, *np.ones(arms)])
    for arm, (g, tau) in enumerate(zip(channel.strengths, channel.times, strict=True), start=2):
        matrix[arm, 1], matrix[arm, arm] = g, -1 / tau
    exact = (expm(matrix * time) @ np.eye(2 + arms)[1])[:2]
    simulation = start(bar, step=step, stepper=stepper)
    mode = np.sin(0.5 * np.pi * np.linspace(0, 1, cells + 1))
    put(simulation, v=mode)
    run_to(simulation, time)
    found = np.array([simulation.positions[-1, 0] - 1.0, simulation.velocities[-1, 0]])
    return float(np.abs(found - exact).max())


@pytest.mark.parametrize(("stepper", "order", "steps"), [("euler", 1, 800), ("rk4", 4, 16)])
def test_order_on_the_reference_bar(stepper: str, order: int, steps: int) -> None:
    """R15's bar (E = rho = 1, c = 2, N = 10): halving the step divides the error by 2^order."""
    errors = [modal_error(MAXWELL, stepper, 1.0, 1.0 / n, cells=10, density=1.0) for n in (steps, 2 * steps, 4 * steps)]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(orders, order, atol=0.1)
    assert errors[-1] < 1e-3 if order == 1 else errors[-1] < 1e-8


def test_order_four_for_every_law(any_law: Data) -> None:
    errors = [modal_error(any_law, "rk4", 2.0, step, cells=4, density=400.0) for step in (1 / 20, 1 / 40, 1 / 80)]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert orders[-1] == pytest.approx(4.0, abs=0.25)


@pytest.mark.parametrize(
    ("law", "euler", "runge_kutta"), [("maxwell", 4.12e-5, 2.35e-2), ("three-element", 2.15e-3, 2.99e-3)]
)
def test_stable_steps_of_the_papers_scene(law: str, euler: float, runge_kutta: float) -> None:
    """R12, three digits: (1/tau)/omega_max^2 and 2.83/omega_max; the dashpot's 2/(eta rho) and 2.785/(eta rho)."""
    data = press_scene(EQUAL_RATIO[law], mass=30.0)
    for stepper, limit in (("euler", euler), ("rk4", runge_kutta)):
        simulation = start(data, stepper=stepper, step=2e-5)
        assert float(f"{simulation.stable_step:.2e}") == pytest.approx(limit, rel=1e-9)


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


@pytest.mark.parametrize(("stepper", "share"), [("euler", 0.98), ("rk4", 0.98)])
def test_stable_step_is_sharp(stepper: str, share: float) -> None:
    """Just below the limit random motion dies out; just above it, the start is refused, naming step and limit."""
    data = box_scene(EQUAL_RATIO["voigt"], size=[2.0, 1.0], cells=[4, 2], density=30.0, duration=1.0)
    limit = start(data, stepper=stepper, step=1e-6).stable_step
    simulation = start(data, stepper=stepper, step=share * limit)
    velocity = np.random.default_rng(4).normal(size=simulation.positions.size)
    simulation.restore(simulation.save() | {"v": velocity})
    before = simulation.energy()["kinetic"]
    run_to(simulation, 500 * simulation.step_size)
    assert simulation.energy()["kinetic"] < before
    with pytest.raises(RheotwinError, match=rf"solvers\.fem\.step: .* above the {limit:.6g} s up to which"):
        start(data, stepper=stepper, step=1.0 / int(1.0 / limit))  # the shortest unstable one that lands on 1 s


def test_limit_bounds_two_moduli_with_their_own_times() -> None:
    """Unequal Poisson ratios give two channels; the limit is on the safe side, and not far off."""
    law = VISCOPLASTIC | {"viscous_poisson": 0.25}
    data = box_scene(law, size=[2.0, 1.0], cells=[4, 2], density=30.0, duration=1.0)
    one = box_scene(VISCOPLASTIC, size=[2.0, 1.0], cells=[4, 2], density=30.0, duration=1.0)
    limits = [start(what, stepper="rk4", step=1e-6).stable_step for what in (data, one)]
    assert limits[1] / np.sqrt(2.0) <= limits[0] <= limits[1]


def test_frequency_of_constraints_bounds_the_step() -> None:
    """om h < 2 and 2.785 (spec 2.3)."""
    data = box_scene(EQUAL_RATIO["voigt"], size=[2.0], cells=[4], density=30.0, duration=1.0)
    for stepper, limit in (("euler", 2.0), ("rk4", 2.7852936)):
        found = start(data, stepper=stepper, step=1e-9, constraint_frequency=1e6).stable_step
        assert found == pytest.approx(limit / 1e6, rel=1e-7)


def test_euler_refuses_undamped_bodies() -> None:
    data = box_scene(ELASTIC, size=[2.0], cells=[4], density=30.0)
    with pytest.raises(RheotwinError, match=r"solvers\.fem\.stepper: explicit Euler is unstable at any step"):
        start(data, stepper="euler", step=1e-6)


def test_massless_unknowns_are_refused() -> None:
    law = VISCOPLASTIC | {"viscous_poisson": 0.25}
    data = box_scene(law, size=[2.0, 1.0], cells=[4, 2], density=30.0, plane="stress")
    with pytest.raises(RheotwinError, match=r"solvers\.fem\.stepper: explicit rules need a mass"):
        start(data, stepper="rk4", step=1e-6)


def pulled_cell(*, seed_printed: bool = False) -> Problem:
    """One cell of the papers' three-element law, pulled smoothly by 0.4 in 10 s and held."""
    drive = path([0.0, 10.0, 20.0], [[0.0], [0.4], [0.4]]) | {"interpolation": "smooth"}
    supports = {"wall": side("left"), "grip": side("right", motion=drive)}
    problem = problem_of(
        box_scene(RHEOLOGICAL, size=[4.0], cells=[1], duration=20.0, supports=supports)
    )
    body = problem.bodies[0]
    return replace(problem, bodies=(replace(body, law=replace(body.law, seed_printed=seed_printed)),))


def test_memory_equals_the_network() -> None:
    """A6: sigma = c2 (e' - e_v') with E e_v + c1 e_v' = c2 (e' - e_v'), to 1e-8.

    A given frequency of the constraints keeps order 4 under the moving grip: the slower, the smaller its error.
    """
    young, c1, c2 = 30.0, 20.0, 500.0
    simulation = start(pulled_cell(), stepper="rk4", step=0.02, constraint_frequency=1.0)

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


def test_printed_gain_is_four_percent_too_large() -> None:
    """E15: the relaxing part as printed is 1 + c1/c2 = 1.04 times the true one, exactly."""
    found = []
    for flag in (False, True):
        simulation = start(pulled_cell(seed_printed=flag), stepper="rk4", step=0.05)
        run_to(simulation, 7.0)
        found.append(simulation.fields()["memory_stress"][:, 0])
    np.testing.assert_allclose(found[1] / found[0], 1.04, rtol=1e-13)


def test_histories_in_nodes_and_in_points_agree() -> None:
    data = box_scene(
        EQUAL_RATIO["generalized-maxwell"],
        size=[2.0, 1.0],
        cells=[4, 2],
        density=30.0,
        duration=1.0,
        gravity=[1.0, -2.0],
        supports=FLOOR,
    )
    runs = [start(data, stepper="rk4", step=0.005, history=history) for history in ("nodal", "quadrature")]
    for simulation in runs:
        run_to(simulation, 1.0)
    np.testing.assert_allclose(runs[0].positions, runs[1].positions, rtol=1e-12)
    first, second = (simulation.fields()["stress"] for simulation in runs)
    np.testing.assert_allclose(first, second, atol=1e-11 * np.abs(first).max())
