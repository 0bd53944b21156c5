"""Laws of contact at a floor: where bodies rest, how they bounce, slide and stick (R12-R15), and where energy goes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from rheotwin.errors import RheotwinError
from rheotwin.problem import Problem
from rheotwin.solver import Simulation

Data = dict[str, Any]
Scene = Callable[..., Data]
Start = Callable[..., Simulation]
RunTo = Callable[[Simulation, float], None]

G = 9.8
STIFF: Data = {"model": "elastic", "young": 1e7, "poisson": 0.3}
DAMPED: Data = {"model": "voigt", "young": 1e6, "poisson": 0.3, "viscosity": 1e4}
LOOSE: Data = {"model": "elastic", "young": 1e-9, "poisson": 0.3}
LAWS: dict[str, Data] = {
    "exact": {"law": "exact"},
    "penalty": {"law": "penalty", "stiffness": 1e5, "damping": 100.0},
}


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("stepper", ["midpoint", "generalized-alpha"])
def test_plain_penalty_sinks_in_and_integrated_ends_at_zero(
    dimension: int, stepper: str, on_floor: Scene, start: Start, run_to: RunTo
) -> None:
    """R12: a square or cube whose lower nodes carry 2 kg each rests at -m g/K, or at 0 with J = -m g/I."""
    law, mass, up = {"stiffness": 1000.0, "damping": 40.0}, 2.0, dimension - 1
    block = {"size": [0.1] * dimension, "cells": [1] * dimension, "cell": "quad" if dimension == 2 else "hex"}
    block |= {"mass": mass * 2 ** (dimension - 1), "gravity": [*[0.0] * up, -G]}
    plain = start(on_floor(DAMPED, {"law": "penalty"} | law, duration=2.0, **block), step=0.005, stepper=stepper)
    run_to(plain, 2.0)
    low = np.sort(plain.positions[:, up])[: 2**up]
    np.testing.assert_allclose(low, -mass * G / 1000.0, atol=1e-6)
    settling = {"law": "integrated", "integral": 4000.0, "region": 0.01} | law
    exact = start(on_floor(DAMPED, settling, duration=20.0, **block), step=0.02, stepper=stepper)
    run_to(exact, 20.0)
    low = np.sort(exact.positions[:, up])[: 2**up]
    np.testing.assert_allclose(low, 0.0, atol=1e-9)
    weight = -block["mass"] * G
    assert exact.reactions()["tool.floor"][up] == pytest.approx(weight, rel=1e-8)
    integral = exact.save()["touch_past_integral"]
    np.testing.assert_allclose(integral[integral != 0.0], -mass * G / 4000.0, rtol=1e-6)


@pytest.mark.parametrize("stepper", ["midpoint", "generalized-alpha", "central-difference"])
def test_a_block_sinks_into_a_viscous_floor(stepper: str, on_floor: Scene, start: Start, run_to: RunTo) -> None:
    """At m g/C for each of its two lower nodes, which bear 2 kg each, once e^(-C t/m) is gone."""
    block = {"size": [0.1, 0.1], "cells": [1, 1], "cell": "quad", "mass": 4.0, "gravity": [0.0, -G]}
    scene = on_floor(DAMPED, {"law": "viscous", "damping": 100.0}, duration=0.4, **block)
    simulation = start(scene, stepper=stepper, **({} if stepper == "central-difference" else {"step": 0.005}))
    run_to(simulation, 0.4)
    np.testing.assert_allclose(simulation.velocities[:, 1], -2.0 * G / 100.0, rtol=1e-6)
    assert simulation.reactions()["tool.floor"][1] == pytest.approx(-4.0 * G, rel=1e-6)


@pytest.mark.parametrize("region", [0.01, 0.0196, 0.03])
def test_the_offset_form_rests_inside_its_region(region: float, on_floor: Scene, start: Start, run_to: RunTo) -> None:
    """R13: max(0, delta - m g/K) with m g/K = 0.0196."""
    law = {"law": "integrated", "stiffness": 1e3, "damping": 40.0, "integral": 4e3, "region": region, "offset": True}
    block = {"size": [0.1, 0.1], "cells": [1, 1], "cell": "quad", "mass": 4.0, "gravity": [0.0, -G]}
    simulation = start(on_floor(DAMPED, law, duration=20.0, **block), step=0.02)
    run_to(simulation, 20.0)
    assert simulation.positions[:, 1].min() == pytest.approx(max(0.0, region - 0.0196), abs=1e-6)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("stepper", ["midpoint", "cayley", "generalized-alpha"])
@pytest.mark.parametrize("rule", [{}, {"friction_rule": "regularised", "slip_speed": 1e-3}], ids=["exact", "regular"])
def test_a_sliding_block_stops_where_its_energy_is_spent(
    law: str, stepper: str, rule: Data, on_floor: Scene, thrown: Callable[..., Simulation], run_to: RunTo
) -> None:
    """R15: v0^2/(2 mu g) = 0.68027; friction takes m v0^2/2 = 2 J but for what elastic waves keep."""
    contact = LAWS[law] | {"friction": 0.3} | rule
    data = on_floor(DAMPED, contact, cells=[4, 2], density=2.0, gravity=[0.0, -G])
    simulation = thrown(data, [2.0, 0.0], step=0.005, stepper=stepper)
    before = simulation.positions[:, 0].mean()
    run_to(simulation, 1.0)
    assert simulation.positions[:, 0].mean() - before == pytest.approx(2.0**2 / (2 * 0.3 * G), rel=2e-3)
    assert np.abs(simulation.velocities).max() < 1e-3
    energy = simulation.energy()
    assert energy["friction"] == pytest.approx(2.0, rel=2e-3)
    if stepper != "generalized-alpha":  # which takes what it does not resolve
        assert energy["defect"] == pytest.approx(-2.0, rel=1e-9)  # what the throw put in is not booked


@pytest.mark.parametrize("law", LAWS)
def test_an_incline_accelerates_by_what_friction_leaves(law: str, on_floor: Scene, start: Start, run_to: RunTo) -> None:
    """30 degrees, mu = 0.3: g (sin - mu cos) = 2.3539; with mu = 0.6 > tan 30 it stays; mu = 0 slides farther (R14)."""
    slope, moved = np.pi / 6.0, {}
    gravity = [G * np.sin(slope), -G * np.cos(slope)]
    for mu in (0.0, 0.3, 0.6):
        contact = LAWS[law] | {"friction": mu}
        simulation = start(on_floor(DAMPED, contact, cells=[4, 2], density=2.0, gravity=gravity), step=0.005)
        before = simulation.positions[:, 0].mean()
        run_to(simulation, 1.0)
        moved[mu] = simulation.positions[:, 0].mean() - before
    assert 2.0 * moved[0.3] == pytest.approx(2.3539, rel=1e-3)
    assert 0.0 < moved[0.6] < 1e-3
    assert moved[0.0] > moved[0.3]


def test_it_sticks_to_the_static_coefficient_and_slides_with_the_kinetic_one(
    on_floor: Scene, start: Start, run_to: RunTo
) -> None:
    """A push growing to 0.45 of the weight at 1 s: mu_s = 0.9 holds; 0.4 lets go, and mu = 0.2 remains.

    On two nodes: more of them let go one by one, since an elastic block spreads the push unevenly.
    """
    growing = {"times": [0.0, 1.0], "factor": [0.0, 1.0]}
    push = {"push": {"body": "block", "where": {"side": "left"}, "total": [0.45 * G, 0.0]} | growing}
    moved, speed = {}, {}
    for static in (0.9, 0.4):
        contact = {"law": "exact", "friction": 0.2, "static_friction": static}
        block = {"cells": [1, 1], "cell": "quad", "density": 2.0, "gravity": [0.0, -G], "forces": push}
        data = on_floor(DAMPED | {"poisson": 0.0}, contact, duration=2.0, **block)
        simulation = start(data, step=0.005)
        before = simulation.positions[:, 0].mean()
        run_to(simulation, 1.5)
        moved[static] = simulation.positions[:, 0].mean() - before
        earlier = simulation.velocities[:, 0].mean()
        run_to(simulation, 2.0)
        speed[static] = simulation.velocities[:, 0].mean() - earlier
    assert abs(moved[0.9]) < 1e-3
    assert moved[0.4] > 0.1
    assert speed[0.4] == pytest.approx(0.5 * 0.25 * G, rel=5e-3)


@pytest.mark.parametrize("stepper", ["midpoint", "cayley"])
def test_a_frictionless_bounce_on_springs_keeps_its_energy(
    stepper: str, on_floor: Scene, problem_of: Callable[[Data], Problem], start: Start
) -> None:
    """A block falls askew on penalty springs and flies up again: the total is constant to rounding at a coarse step."""
    contact = {"law": "penalty", "stiffness": 2e3}
    floor = {"center": [0.0, -0.1], "normal": [0.05, 1.0]}
    soft = STIFF | {"young": 1e5}
    data = on_floor(soft, contact, cells=[4, 2], density=2.0, gravity=[0.0, -G], duration=1.0, floor=floor)
    problem = problem_of(data)
    simulation = start(problem, step=0.01, stepper=stepper)
    pushed, lowest = 0, np.inf
    initial = G * problem.masses @ problem.points[:, 1]
    for k in range(1, 101):
        simulation.advance(0.01 * k, 1)
        energy = simulation.energy()
        total = energy["kinetic"] + energy["stored"] + G * problem.masses @ simulation.positions[:, 1]
        assert total == pytest.approx(initial, abs=1e-9)
        pushed += bool(np.any(simulation.reactions()["tool.floor"]))
        lowest = min(lowest, simulation.positions[:, 1].min())
    assert 3 < pushed < 90
    assert lowest < -0.1


def test_the_bounce_on_springs_is_of_second_order(on_floor: Scene, start: Start) -> None:
    """One node on one spring for its whole stay and a little longer: errors of the velocity fall by four."""
    contact = {"law": "penalty", "stiffness": 400.0, "damping": 1.0}

    def motion(_: float, y: np.ndarray) -> list[float]:
        force = max(0.0, -400.0 * y[0] - y[1]) if y[0] < 0.0 else 0.0
        return [y[1], force - G]

    def closing(_: float, y: np.ndarray) -> float:
        return float(y[0])

    def parting(_: float, y: np.ndarray) -> float:
        return float(-400.0 * y[0] - y[1])

    exact, begin = np.array([0.1, 0.0]), 0.0
    for event in (closing, parting, None):  # flight, contact, flight
        if event is not None:
            event.terminal = True  # type: ignore[attr-defined]
        found = solve_ivp(motion, (begin, 0.5), exact.copy(), events=event, rtol=1e-12, atol=1e-14, max_step=1e-3)
        exact, begin = found.y[:, -1], found.t[-1]
    assert begin == 0.5

    def error(steps: int) -> float:
        data = on_floor(LOOSE, contact, size=[1.0], cells=[1], mass=2.0, gravity=[-G], duration=0.5,
                        floor={"center": [-0.1], "normal": [1.0]})  # fmt: skip
        simulation = start(data, step=0.5 / steps)
        simulation.advance(0.5, steps)
        return abs(float(simulation.velocities[0, 0]) - float(exact[1]))

    # where in a step contact begins and ends changes from grid to grid: the slope is that of the fit
    steps = np.array([50, 100, 200, 400, 800])
    slope = np.polyfit(np.log(steps), np.log([error(int(n)) for n in steps]), 1)[0]
    assert slope < -1.7


@pytest.mark.parametrize(("restitution", "tolerance"), [(1.0, 1e-8), (0.8, 0.03), (0.5, 0.1)])
def test_impulses_send_back_by_the_restitution(
    restitution: float, tolerance: float, on_floor: Scene, start: Start
) -> None:
    """Bounce heights e^2, e^4 of the drop; the grid of steps is off by h v/height."""
    contact = {"law": "impulse", "restitution": restitution}
    floor = {"center": [-0.5], "normal": [1.0]}
    data = on_floor(LOOSE, contact, size=[1.0], cells=[1], mass=2.0, gravity=[-G], duration=1.6, floor=floor)
    simulation = start(data, step=0.0025)
    heights = []
    for k in range(1, 641):
        simulation.advance(0.0025 * k, 1)
        heights.append(simulation.positions[0, 0] + 0.5)
    assert min(heights) > -1e-12
    found = np.array(heights)
    peaks = found[1:-1][(found[1:-1] >= found[:-2]) & (found[1:-1] > found[2:])][:2]
    np.testing.assert_allclose(peaks, 0.5 * restitution ** np.array([2, 4]), rtol=tolerance)


def test_restitution_needs_velocities(on_floor: Scene, start: Start) -> None:
    data = on_floor(STIFF, {"law": "impulse", "restitution": 0.5}, cells=[2, 1])
    for stepper in ("quasi-static", "generalized-alpha"):
        with pytest.raises(RheotwinError, match=r"contact\.restitution: .* choose midpoint or cayley"):
            start(data, stepper=stepper, step=0.1)


@pytest.mark.parametrize("options", [{"stepper": "rk4"}, {"kinematics": "corotational"}])
def test_other_rules_refuse_laws_and_keep_exact_tools(options: Data, on_floor: Scene, start: Start) -> None:
    block, soft = {"cells": [2, 1], "density": 2.0}, DAMPED | {"young": 1e3, "viscosity": 1.0}
    with pytest.raises(RheotwinError, match="exact frictionless tools only"):
        start(on_floor(STIFF, LAWS["exact"] | {"friction": 0.1}, **block), **options)
    simulation = start(on_floor(soft, LAWS["exact"], gravity=[0.0, -G], **block), step=1e-4, **options)
    simulation.advance(2e-3, 20)
    assert simulation.reactions()["tool.floor"][1] < 0.0


@pytest.mark.parametrize("law", [*LAWS.values(), {"law": "integrated", "stiffness": 1e5, "damping": 1e2,
                                                 "integral": 1e5, "region": 0.01}])  # fmt: skip
def test_a_restart_repeats_every_bit(
    law: Data, on_floor: Scene, thrown: Callable[..., Simulation], start: Start
) -> None:
    data = on_floor(DAMPED, law | {"friction": 0.3}, cells=[4, 2], density=2.0, gravity=[0.0, -G])
    whole = thrown(data, [1.0, -0.2], step=0.01)
    whole.advance(0.2, 20)
    resumed = start(data, step=0.01)
    resumed.restore(whole.save())
    for simulation in (whole, resumed):
        simulation.advance(0.4, 20)
    assert whole.reactions()["tool.floor"][1] < 0.0
    for name, array in whole.save().items():
        np.testing.assert_array_equal(array, resumed.save()[name], err_msg=name)
    for name, force in whole.reactions().items():
        np.testing.assert_array_equal(force, resumed.reactions()[name], err_msg=name)


def test_the_integral_follows_the_gap(on_floor: Scene, start: Start) -> None:
    """J of a node pressed in: the sum of mean gaps of its steps, from the instant it entered."""
    law = {"law": "integrated", "stiffness": 400.0, "damping": 1.0, "integral": 10.0}
    data = on_floor(
        LOOSE, law, size=[1.0], cells=[1], mass=2.0, gravity=[-G], floor={"center": [-0.1], "normal": [1.0]}
    )
    simulation, gaps = start(data, step=0.005), [0.1]
    for k in range(1, 37):
        simulation.advance(0.005 * k, 1)
        gaps.append(float(simulation.positions[0, 0]) + 0.1)
    closed = np.array(gaps)
    first = int(np.argmax(closed < 0.0))
    assert 5 < len(gaps) - first < 15
    assert closed[first:].max() < 0.0
    entry = -0.5 * 0.005 * closed[first] ** 2 / (closed[first - 1] - closed[first])
    expected = entry + 0.005 * (closed[first:].sum() - 0.5 * (closed[first] + closed[-1]))
    assert simulation.save()["touch_past_integral"][0] == pytest.approx(expected, rel=1e-12)


def test_a_static_analysis_refuses_what_carries_nothing_at_rest(on_floor: Scene, start: Start) -> None:
    data = on_floor(STIFF, {"law": "viscous", "damping": 1.0}, cells=[2, 1])
    with pytest.raises(RheotwinError, match='viscous contact carries nothing at rest; use stepper = "quasi-static"'):
        start(data, stepper="static")
