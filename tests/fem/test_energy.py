"""The account of energy: closes to rounding or with the order of its rule, whatever happens (spec 2.3)."""

from typing import Any

import numpy as np
import pytest

from rheotwin.observers.outputs import probe_columns, probe_values
from rheotwin.observers.protocol import Watched
from rheotwin.solver import Simulation
from rheotwin.validation.checks.running import EQUAL_RATIO, Data, box_scene, path, problem_of, put, run_to, side, start
from rheotwin.validation.checks.scenes import press_scene

ELASTIC = EQUAL_RATIO["elastic"]
UNEQUAL = EQUAL_RATIO["three-element"] | {
    "young": 300.0,
    "voigt_viscosity": 60.0,
    "series_viscosity": 90.0,
    "viscous_poisson": 0.1,
}
BLOCK: Data = {"size": [2.0, 1.0], "cells": [4, 2], "density": 30.0}
MASSES = ("lumped", "consistent")
RAMP: Data = {"times": [0.0, 1.0], "factor": [0.0, 1.0]}


def mechanical(simulation: Simulation) -> float:
    energy = simulation.energy()
    return energy["kinetic"] + energy["stored"]


def flung(law: Data, duration: float, **options: Any) -> Simulation:
    simulation = start(box_scene(law, duration=duration, **BLOCK), **options)
    put(simulation, v=np.random.default_rng(4).normal(size=simulation.positions.size))
    return simulation


def defects(simulation: Simulation, end: float) -> tuple[np.ndarray, float, dict[str, float]]:
    """Defect of energy [J] after every step, the largest energy that was about, and the last account."""
    found, scale = [], 0.0
    while simulation.time < end * (1 - 1e-9):
        simulation.advance(end, 1)
        energy = simulation.energy()
        found.append(energy["defect"])
        scale = max(scale, *(abs(value) for value in energy.values()))
    return np.array(found), scale, energy


def driven(law: Data, cell: str, **options: Any) -> Simulation:
    """A heavy body under gravity and a changing force, one side driven to and fro."""
    d = 3 if cell in ("tet", "hex") else 2
    grip = path([0.0, 0.3, 0.7, 1.0], [[0.0] * d, [0.1] * d, [-0.1] * d, [0.0] * d])
    push = side("right", total=[5.0] * d, times=[0.0, 0.4, 1.0], factor=[0.0, 1.0, -1.0])
    more: Data = {"supports": {"grip": side("left", motion=grip)}, "forces": {"push": push}, "density": 30.0}
    shape: Data = {"size": [2.0, 1.0, 1.0][:d], "cells": [3, 1, 1][:d], "cell": cell}
    return start(box_scene(law, gravity=[0.0] * (d - 1) + [-3.0], **shape, **more), step=0.05, **options)


SOLID = [pytest.param(cell, marks=pytest.mark.exhaustive) for cell in ("quad", "hex")]


@pytest.mark.parametrize("cell", ["triangle", "tet", *SOLID])
@pytest.mark.parametrize("mass", MASSES)
def test_driven_loaded_and_heavy(cell: str, mass: str, any_law: Data) -> None:
    """Work of supports, weight and loads = energy, what dashpots took and what sudden changes of speed cost."""
    found, scale, energy = defects(driven(any_law, cell, stepper="cayley", mass=mass), 1.0)
    assert np.abs(found).max() < 1e-12 * scale and energy["external"] != 0.0


@pytest.mark.parametrize("options", [{"order": 2}, {"history": "quadrature"}, {"split": "lame"}])
def test_unequal_ratios_and_quadratic_elements(options: Data) -> None:
    found, scale, _ = defects(driven(UNEQUAL, "triangle", stepper="cayley", **options), 1.0)
    assert np.abs(found).max() < 1e-12 * scale


@pytest.mark.parametrize("mass", [30.0, 3000.0])
def test_press_and_release(mass: float, any_law: Data) -> None:
    """Contact: the bar's work is in the account, and impacts have their own entry."""
    data = press_scene(any_law, mass=mass) | {"gravity": [0.0, -0.01]}
    data["tools"]["bar"]["motion"] = path([0.0, 3.0, 4.0, 20.0], [[0.0, 0.0], [0.0, -3.0], [0.0, 0.0], [0.0, 0.0]])
    found, scale, energy = defects(start(data, step=0.1, stepper="cayley"), 6.0)
    assert np.abs(found).max() < 1e-11 * scale and energy["impact"] > 0.0 and energy["external"] > 0.0


def course_of_energy(simulation: Simulation, end: float) -> np.ndarray:
    history = [mechanical(simulation)]
    while simulation.time < end:
        simulation.advance(end, 1)
        history.append(mechanical(simulation))
    return np.array(history)


@pytest.mark.parametrize("mass", MASSES)
def test_midpoint_rule_conserves_elastic_energy(mass: str) -> None:
    """It keeps quadratic invariants at any step."""
    history = course_of_energy(flung(ELASTIC, 10.0, step=0.05, mass=mass), 10.0)
    np.testing.assert_allclose(history, history[0], rtol=1e-11)


def test_energy_never_grows_without_load(any_law: Data) -> None:
    """A step may gain at most the defect of the exponential update, O(h^2) of what there is (spec 2.3)."""
    history = course_of_energy(flung(any_law, 3.0, step=0.01), 3.0)
    assert (np.diff(history) / history[:-1]).max() < (1e-12 if any_law["model"] in ("elastic", "voigt") else 1e-6)
    if any_law["model"] != "elastic":
        assert history[-1] < 0.9 * history[0]


def test_voigt_loses_what_its_dashpot_takes() -> None:
    """One cell between wall and free end: loss per step = h eta (dv/dx)^2 V with the mid-step rate du/h, exactly."""
    law = EQUAL_RATIO["voigt"]
    simulation = start(
        box_scene(law, size=[2.0], cells=[1], section=0.5, density=30.0, supports={"left": side("left")}), step=0.05
    )
    put(simulation, v=[0.0, 1.0])
    for _ in range(20):
        energy, length = mechanical(simulation), simulation.positions[1, 0]
        simulation.advance(1.0, 1)
        rate = (simulation.positions[1, 0] - length) / 0.05 / 2.0
        assert (energy - mechanical(simulation)) == pytest.approx(0.05 * 60.0 * rate**2 * 1.0, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("pattern", "thickness", "stepper"),
    [("se-nw", 1.0, "midpoint"), ("alternating", 0.3, "midpoint"), ("se-nw", 1.0, "quasi-static")],
)
def test_work_of_the_bar_is_stored(pattern: str, thickness: float, stepper: str) -> None:
    """Without inertia the force is linear in the depth, so the trapezoid is exact: work = stored = F d/2."""
    data = press_scene(ELASTIC, pattern=pattern, thickness=thickness)
    simulation = start(data, step=0.5, stepper=stepper)
    work, force = 0.0, 0.0
    for k in range(1, 21):
        run_to(simulation, 0.5 * k)
        before, force = force, simulation.reactions()["tool.bar"][1]
        work += 0.5 * (before + force) * 0.5
        assert simulation.energy()["stored"] == pytest.approx(work, rel=1e-8)
    assert work == pytest.approx(0.5 * force * 10.0, rel=1e-8)
    if stepper == "quasi-static":
        assert simulation.energy()["external"] == pytest.approx(work, rel=1e-9)
    run_to(simulation, 20.0)
    assert simulation.energy()["stored"] < 1e-9 * work


RISING = {"supports": {"left": side("left")}, "forces": {"push": side("right", total=[10.0, 5.0], **RAMP)}}
SHAKEN = {
    "supports": {"grip": side("left", motion=path([0.0, 1.0], [[0.0, 0.0], [0.2, 0.1]]) | {"interpolation": "smooth"})},
    "forces": {"push": side("right", total=[5.0, 5.0])},
}


@pytest.mark.parametrize(
    ("stepper", "viscosity", "steps", "more"), [("midpoint", 60.0, 20, SHAKEN), ("quasi-static", 500.0, 25, RISING)]
)
def test_defect_is_of_order_two(stepper: str, viscosity: float, steps: int, more: Data) -> None:
    """The exponential midpoint rule (spec 2.3), and the trapezoid of rules without inertia, however heavy the body."""
    data, found = box_scene(EQUAL_RATIO["maxwell"] | {"viscosity": viscosity}, **BLOCK, **more), []
    for count in (steps, 2 * steps, 4 * steps):
        energy = run_to(start(data, step=1.0 / count, stepper=stepper), 1.0).energy()
        assert stepper == "midpoint" or energy["kinetic"] == 0.0
        found.append(abs(energy["defect"]) / energy["external"])
    np.testing.assert_allclose(np.log2(np.divide(found[:-1], found[1:])), 2.0, atol=0.1)
    assert stepper == "midpoint" or found[0] < 1e-4


@pytest.mark.parametrize("law", ["elastic", "voigt"])
def test_midpoint_rule_is_exact_without_arms(law: str) -> None:
    """Springs and dashpots alone balance to rounding, contact and impact included."""
    simulation = start(press_scene(EQUAL_RATIO[law], mass=30.0), step=0.1)
    for _ in range(120):
        simulation.advance(12.0, 1)
        energy = simulation.energy()
        assert abs(energy["defect"]) < 1e-11 * energy["external"]


def test_probe_tables_tell_the_defect_if_there_is_an_account() -> None:
    problem = problem_of(press_scene(EQUAL_RATIO["three-element"], mass=30.0))
    simulation = start(problem, step=0.1, stepper="cayley")
    columns = probe_columns(problem, simulation.energy())
    run_to(simulation, 4.0)
    row = probe_values(Watched(problem, simulation, 20.0))
    assert row.keys() == columns.keys() and row["energy.stored"] == simulation.energy()["stored"] > 0.0
    account = {name: row[f"energy.{name}"] for name in ("kinetic", "stored", "dissipated", "impact", "external")}
    missing = account.pop("external") - sum(account.values())
    assert row["energy.defect"] == pytest.approx(missing, abs=1e-12 * row["energy.external"])
    assert columns["energy.defect"] == "J"
    simulation = start(press_scene(ELASTIC), step=0.5, energy_balance=False)
    assert simulation.energy().keys() == {"kinetic", "stored"}
