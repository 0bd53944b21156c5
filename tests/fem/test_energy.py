"""Energy: free motion, and the work of a tool."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheotwin.observers.outputs import probe_columns, probe_values
from rheotwin.observers.protocol import Watched
from rheotwin.solver import Simulation

Data = dict[str, Any]
Start = Callable[..., Simulation]


def mechanical(simulation: Simulation) -> float:
    energy = simulation.energy()
    return energy["kinetic"] + energy["stored"]


@pytest.fixture
def free_history(
    scene: Callable[..., Data], start: Start, with_state: Callable[..., None]
) -> Callable[..., np.ndarray]:
    """Total energy of a free block with random velocities, at every step."""

    def run(law: Data, *, step: float, steps: int, mass: str = "lumped") -> np.ndarray:
        data = scene(law, size=[2.0, 1.0], cells=[4, 2], density=30.0, duration=step * steps)
        simulation = start(data, step=step, mass=mass)
        with_state(simulation, v=np.random.default_rng(4).normal(size=simulation.positions.size))
        energies = [mechanical(simulation)]
        for _ in range(steps):
            simulation.advance(step * steps, 1)
            energies.append(mechanical(simulation))
        return np.array(energies)

    return run


@pytest.mark.parametrize("mass", ["lumped", "consistent"])
def test_elastic_energy_is_conserved(mass: str, free_history: Callable[..., Any], laws: dict[str, Data]) -> None:
    """The midpoint rule keeps quadratic invariants at any step."""
    history = free_history(laws["elastic"], step=0.05, steps=200, mass=mass)
    np.testing.assert_allclose(history, history[0], rtol=1e-11)


def test_energy_never_grows_without_load(any_law: Data, free_history: Callable[..., Any]) -> None:
    """A step may gain at most the defect of the exponential update, O(h^2) of what there is (spec 2.3)."""
    history = free_history(any_law, step=0.01, steps=300)
    gain = np.diff(history) / history[:-1]
    assert gain.max() < (1e-12 if any_law["model"] in ("elastic", "voigt") else 1e-6)
    if any_law["model"] != "elastic":
        assert history[-1] < 0.9 * history[0]


def test_voigt_loses_what_its_dashpot_takes(
    scene: Callable[..., Data], start: Start, with_state: Callable[..., None], laws: dict[str, Data]
) -> None:
    """One cell between wall and free end: loss per step = h eta (dv/dx)^2 V with the mid-step rate du/h, exactly."""
    wall = {"wall": {"body": "block", "where": {"side": "left"}}}
    data = scene(laws["voigt"], size=[2.0], cells=[1], section=0.5, density=30.0, duration=1.0, supports=wall)
    simulation = start(data, step=0.05)
    with_state(simulation, v=[0.0, 1.0])
    for _ in range(20):
        energy, length = mechanical(simulation), simulation.positions[1, 0]
        simulation.advance(1.0, 1)
        rate = (simulation.positions[1, 0] - length) / 0.05 / 2.0
        loss = energy - mechanical(simulation)
        assert loss == pytest.approx(0.05 * 60.0 * rate**2 * 1.0, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("pattern", "thickness"), [("se-nw", 1.0), ("alternating", 0.3)])
def test_work_of_the_bar_is_stored(
    pattern: str, thickness: float, press: Callable[..., Data], start: Start, laws: dict[str, Data]
) -> None:
    """Without inertia the force is linear in the depth, so the trapezoid is exact: work = stored = F d/2."""
    simulation = start(press(laws["elastic"], pattern) | {"thickness": thickness}, step=0.5)
    work, force = 0.0, 0.0
    for k in range(1, 21):
        simulation.advance(0.5 * k, 10**9)
        before, force = force, simulation.reactions()["tool.bar"][1]
        work += 0.5 * (before + force) * 0.5
        assert simulation.energy()["stored"] == pytest.approx(work, rel=1e-8)
    assert work == pytest.approx(0.5 * force * 10.0, rel=1e-8)
    simulation.advance(20.0, 10**9)
    assert simulation.energy()["stored"] < 1e-9 * work


def test_work_on_a_block_with_inertia_converges(
    press: Callable[..., Data], start: Start, laws: dict[str, Data]
) -> None:
    """Work of the bar on an elastic block of 30 kg = stored + kinetic energy, to the order 1 of end-of-step forces.

    The bar starts smoothly: a sudden start would be an impact, which is inelastic and costs energy.
    """
    data = press(laws["elastic"], mass=30.0)
    data["tools"]["bar"]["motion"]["interpolation"] = "smooth"
    misses = []
    for step in (0.02, 0.01):
        simulation, work, height = start(data, step=step), 0.0, 0.0
        for k in range(1, round(2.0 / step) + 1):
            simulation.advance(step * k, 10**9)
            share = step * k / 10.0
            depth = 10.0 * share**2 * (3 - 2 * share)
            work += simulation.reactions()["tool.bar"][1] * (depth - height)
            height = depth
        misses.append(abs(mechanical(simulation) / work - 1))
    assert misses[0] < 0.03
    assert misses[1] < 0.6 * misses[0]


def test_defect_of_the_exponential_update_is_of_order_two(
    scene: Callable[..., Data], start: Start, laws: dict[str, Data]
) -> None:
    """Spec 2.3: the balance of the exponential midpoint rule closes as h^2; a driven and loaded body."""
    motion = {"times": [0.0, 1.0], "displacement": [[0.0, 0.0], [0.2, 0.1]], "interpolation": "smooth"}
    grip = {"body": "block", "where": {"side": "left"}, "motion": motion}
    push = {"body": "block", "where": {"side": "right"}, "total": [5.0, 5.0]}
    found = []
    for steps in (20, 40, 80):
        data = scene(
            laws["maxwell"] | {"viscosity": 60.0},
            size=[2.0, 1.0],
            cells=[4, 2],
            density=30.0,
            duration=1.0,
            supports={"grip": grip},
            forces={"push": push},
        )
        simulation = start(data, step=1.0 / steps)
        simulation.advance(1.0, 10**9)
        found.append(abs(simulation.energy()["defect"]))
    orders = np.log2(np.divide(found[:-1], found[1:]))
    np.testing.assert_allclose(orders, 2.0, atol=0.1)


@pytest.mark.parametrize("law", ["elastic", "voigt"])
def test_midpoint_rule_is_exact_without_arms(
    law: str, press: Callable[..., Data], start: Start, laws: dict[str, Data]
) -> None:
    """Springs and dashpots alone balance to rounding, contact and impact included."""
    data = press(laws[law], mass=30.0)
    simulation = start(data, step=0.1)
    for _ in range(120):
        simulation.advance(12.0, 1)
        energy = simulation.energy()
        assert abs(energy["defect"]) < 1e-11 * energy["external"]


def test_every_row_of_the_probe_table_tells_the_defect(
    press: Callable[..., Data], problem_of: Callable[[Data], Any], start: Start, laws: dict[str, Data]
) -> None:
    problem = problem_of(press(laws["three-element"], mass=30.0))
    simulation = start(problem, step=0.1, stepper="cayley")
    columns = probe_columns(problem, simulation.energy())
    simulation.advance(4.0, 10**9)
    row = probe_values(Watched(problem, simulation, 20.0))
    assert row.keys() == columns.keys()
    assert row["energy.stored"] == simulation.energy()["stored"] > 0.0
    account = {name: row[f"energy.{name}"] for name in ("kinetic", "stored", "dissipated", "impact", "external")}
    missing = account.pop("external") - sum(account.values())
    assert row["energy.defect"] == pytest.approx(missing, abs=1e-12 * row["energy.external"])
    assert columns["energy.defect"] == "J"


def test_no_account_no_columns(press: Callable[..., Data], start: Start, laws: dict[str, Data]) -> None:
    simulation = start(press(laws["elastic"]), step=0.5, energy_balance=False)
    assert simulation.energy().keys() == {"kinetic", "stored"}


def test_balance_without_inertia(scene: Callable[..., Data], start: Start, laws: dict[str, Data]) -> None:
    """No kinetic energy, however heavy the body; work by the trapezoid: exact for springs, of order 2 for memories."""
    defects: dict[str, list[float]] = {"elastic": [], "maxwell": []}
    for name, found in defects.items():
        for step in (0.04, 0.02):
            data = scene(
                laws[name],
                size=[2.0, 1.0],
                cells=[4, 2],
                density=30.0,
                duration=1.0,
                supports={"wall": {"body": "block", "where": {"side": "left"}}},
                forces={
                    "push": {
                        "body": "block",
                        "where": {"side": "right"},
                        "total": [10.0, 5.0],
                        "times": [0.0, 1.0],
                        "factor": [0.0, 1.0],
                    }
                },
            )
            simulation = start(data, step=step, stepper="quasi-static")
            simulation.advance(1.0, 10**9)
            energy = simulation.energy()
            assert energy["kinetic"] == 0.0
            found.append(abs(energy["defect"]) / energy["external"])
    assert max(defects["elastic"]) < 1e-12
    assert defects["maxwell"][0] < 1e-4
    assert defects["maxwell"][1] == pytest.approx(defects["maxwell"][0] / 4.0, rel=0.1)
