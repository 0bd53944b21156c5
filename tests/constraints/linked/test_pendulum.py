"""Pendulums on rigid links by both solvers, against the equations of their angles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import ellipk

from rheotwin.solver import Simulation

Array = np.ndarray
GRAVITY, END = 9.81, 1.0
SCHEMES = {
    # solver, stepper, step [s], order; om is the same at both steps, so that the order is that of the rule
    "fem midpoint": ("fem", "midpoint", 0.01, 2),
    "fem cayley": ("fem", "cayley", 0.01, 2),
    "fem rk4": ("fem", "rk4", 0.01, 4),
    "truss semi-implicit": ("truss", "semi-implicit", 0.002, 1),
    "truss euler": ("truss", "euler", 0.0005, 1),
    "truss rk4": ("truss", "rk4", 0.01, 4),
}
STABILISED = ("rk4", "euler", "semi-implicit")


def options_of(stepper: str, step: float) -> dict[str, Any]:
    return {"stepper": stepper, "step": step} | ({"constraint_frequency": 20.0} if stepper in STABILISED else {})


def angle(simulation: Simulation, rod: int = 0) -> float:
    """Angle of a rod from the vertical [rad]; bodies have four nodes each, in the same order."""
    across, up = simulation.positions[4 * rod + 4] - simulation.positions[4 * rod]
    return float(np.arctan2(across, -up))


def exact(start: float, time: float) -> Array:
    found = solve_ivp(lambda _, y: [y[1], -GRAVITY * np.sin(y[0])], [0, time], [start, 0], rtol=1e-12, atol=1e-13)
    return np.asarray(found.y[:, -1])


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_body_on_parallel_rods_is_a_simple_pendulum(
    scheme: str, pendulum: Callable[..., Any], start: Callable[..., Simulation]
) -> None:
    solver, stepper, step, order = SCHEMES[scheme]
    errors = []
    for h in (step, step / 2):
        simulation = start(solver, pendulum(1.0), **options_of(stepper, h))
        simulation.advance(END, 10**6)
        errors.append(abs(angle(simulation) - exact(1.0, END)[0]))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.25)
    place, speed = exact(1.0, END)
    pull = GRAVITY * np.cos(place) + speed**2  # on each corner's kg, at 1 m
    found = simulation.reactions()
    tensions = [found[f"link.rod0-{k}"] for k in range(4)]
    # tensions belong to the step or its beginning: what they change by in a step, twice over for the reversal of g
    lag = 2.0 * step * 3.0 * GRAVITY * abs(np.sin(place) * speed)
    np.testing.assert_allclose(tensions, pull, rtol=0, atol=lag + errors[1] * 10 * GRAVITY)
    along = np.array([np.sin(place), -np.cos(place)])
    weight = 4.0 * GRAVITY * np.array([0.0, -1.0])  # of the anchor
    np.testing.assert_allclose(found["support.top"], 4.0 * pull * along + weight, atol=4.0 * lag + errors[1] * 400)


def test_the_period_is_that_of_the_elliptic_integral(
    pendulum: Callable[..., Any], start: Callable[..., Simulation]
) -> None:
    simulation = start("truss", pendulum(1.5, duration=3.0), stepper="rk4", step=0.005, constraint_frequency=50.0)
    period = 4.0 * np.sqrt(1.0 / GRAVITY) * ellipk(np.sin(0.75) ** 2)
    before, crossings = angle(simulation), []
    while simulation.time < 2.5:
        simulation.advance(3.0, 1)
        now = angle(simulation)
        if before * now < 0.0:
            crossings.append(simulation.time - 0.005 * now / (now - before))
        before = now
    # straight lines between steps: (h om)^2/12 of a step's share of the way, far below 1e-5 s near the zero
    assert crossings == pytest.approx([period / 4, 3 * period / 4], abs=1e-5)


@pytest.mark.parametrize(
    ("scheme", "more", "order"),
    [
        ("fem midpoint", {}, 2),
        ("fem rk4", {}, 4),
        ("truss semi-implicit", {}, 1),
        ("truss rk4", {"supports": "stabilised"}, 4),
    ],
)
def test_a_moving_anchor_drags_the_pendulum(
    scheme: str, more: dict[str, Any], order: int, pendulum: Callable[..., Any], start: Callable[..., Simulation]
) -> None:
    """th'' = -g sin th - a cos th for an anchor with the acceleration a along x: the cubic ease over 1 m in 1 s."""
    scene = pendulum(0.0)
    scene["supports"]["top"]["motion"] = {
        "times": [0.0, 1.0], "displacement": [[0.0, 0.0], [1.0, 0.0]], "interpolation": "smooth"
    }  # fmt: skip
    end = 0.6

    def rates(time: float, y: Array) -> list[float]:
        return [y[1], -GRAVITY * np.sin(y[0]) - (6.0 - 12.0 * time) * np.cos(y[0])]

    wanted = solve_ivp(rates, [0, end], [0, 0], rtol=1e-12, atol=1e-13).y[0, -1]
    solver, stepper, step, _ = SCHEMES[scheme]
    errors = []
    for h in (step, step / 2):
        simulation = start(solver, scene, **options_of(stepper, h), **more)
        # the anchor has the right speed from the first instant on only if that is zero; its jump in a dies out with om
        simulation.advance(end, 10**6)
        errors.append(abs(angle(simulation) - wanted))
        rod = np.linalg.norm(simulation.positions[4] - simulation.positions[0])
        # R = -h Q/om, as rates are half a step behind positions (less in the other rules); Q = |d'|^2/L < 1 m/s2
        assert abs(rod - 1.0) < h * 1.0 / 20.0
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.3)


def double_energy(simulation: Simulation) -> float:
    """Energy [J] of the squares above that of rest: kinetic, stored, and weight times height."""
    heights = simulation.positions[4:, 1]
    return sum(simulation.energy()[name] for name in ("kinetic", "stored")) + GRAVITY * float(heights.sum())


def test_a_double_pendulum_keeps_its_energy_to_the_order_of_the_rule(
    pendulum: Callable[..., Any], start: Callable[..., Simulation]
) -> None:
    losses, stretch = [], []
    for step in (0.005, 0.0025):
        simulation = start("truss", pendulum(1.0, 1.4), stepper="rk4", step=step, constraint_frequency=50.0)
        before = double_energy(simulation)
        simulation.advance(END, 10**6)
        losses.append(abs(double_energy(simulation) - before))
        stretch.append(abs(np.linalg.norm(simulation.positions[4] - simulation.positions[0]) - 1.0))
    assert np.log2(losses[0] / losses[1]) > 3.7
    assert np.log2(stretch[0] / stretch[1]) == pytest.approx(4.0, abs=0.3)
    assert losses[1] < 1e-7 * 8.0 * GRAVITY


def test_midpoint_links_do_no_work(pendulum: Callable[..., Any], start: Callable[..., Simulation]) -> None:
    """The balance closes with what projected velocities lose, which is of order three."""
    losses = []
    for step in (0.01, 0.005):
        simulation = start("fem", pendulum(1.0, 1.4), stepper="cayley", step=step)
        before = double_energy(simulation)
        simulation.advance(END, 10**6)
        energy = simulation.energy()
        losses.append(energy["impact"])
        assert before - double_energy(simulation) == pytest.approx(energy["impact"] + energy["dissipated"], abs=1e-9)
        assert abs(energy["defect"]) < 1e-9
    assert np.log2(losses[0] / losses[1]) == pytest.approx(3.0, abs=0.3)


def test_both_solvers_take_the_same_path(pendulum: Callable[..., Any], start: Callable[..., Simulation]) -> None:
    """The same rule, the same masses and, without strain, the same forces: rounding apart, the same numbers."""
    runs = [start(solver, pendulum(1.0, 1.4), **options_of("rk4", 0.005)) for solver in ("fem", "truss")]
    for simulation in runs:
        simulation.advance(0.5, 10**6)
    # the solvers stop at residuals of 1e-12; a double pendulum multiplies that by less than ten in half a second
    np.testing.assert_allclose(runs[0].positions, runs[1].positions, rtol=0, atol=1e-10)


@pytest.mark.parametrize("scheme", ["fem midpoint", "fem rk4", "truss semi-implicit", "truss rk4"])
def test_a_restart_repeats_every_bit(
    scheme: str, pendulum: Callable[..., Any], start: Callable[..., Simulation]
) -> None:
    solver, stepper, step, _ = SCHEMES[scheme]
    first, second = (start(solver, pendulum(1.0, 1.4), **options_of(stepper, step)) for _ in range(2))
    first.advance(0.2, 10**6)
    second.restore({name: np.array(array) for name, array in first.save().items()})
    for simulation in (first, second):
        simulation.advance(0.4, 10**6)
    for name, array in first.save().items():
        np.testing.assert_array_equal(array, second.save()[name], err_msg=name)
    for name, force in first.reactions().items():
        np.testing.assert_array_equal(force, second.reactions()[name], err_msg=name)
