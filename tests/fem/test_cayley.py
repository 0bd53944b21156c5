"""Midpoint rule with Cayley histories: the account of energy closes to rounding, whatever happens (spec 2.3)."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheotwin.fem.steppers.midpoint import cayley_step
from rheotwin.materials import Channel
from rheotwin.solver import Simulation

Data = dict[str, Any]
Start = Callable[..., Simulation]
UNEQUAL = {
    "model": "three-element",
    "young": 300.0,
    "poisson": 0.35,
    "voigt_viscosity": 60.0,
    "series_viscosity": 90.0,
    "viscous_poisson": 0.1,
}


def test_factors_of_a_channel() -> None:
    """w_mid = w/(1 + x/2) + (g/2)/(1 + x/2) du and w' = 2 w_mid - w."""
    step = cayley_step(Channel(3.0, (2.0, 5.0), (0.5, 4.0), 0.7), 0.2)
    x, g = np.array([0.4, 0.05]), np.array([2.0, 5.0])
    middle = 1 / (1 + x / 2)
    assert step.stiffness == pytest.approx(1.5 + np.sum(g / 2 * middle) + 3.5, rel=1e-14)
    np.testing.assert_allclose(step.on_memory, middle, rtol=1e-15)
    np.testing.assert_allclose(step.decay, 2 * middle - 1, rtol=1e-14)
    np.testing.assert_allclose(step.gain, g * middle, rtol=1e-14)


def defects(simulation: Simulation, end: float) -> tuple[np.ndarray, float, dict[str, float]]:
    """Defect of energy [J] after every step, the largest energy that was about, and the last account."""
    found, scale = [], 0.0
    while simulation.time < end * (1 - 1e-9):
        simulation.advance(end, 1)
        energy = simulation.energy()
        found.append(energy["defect"])
        scale = max(scale, *(abs(value) for value in energy.values()))
    return np.array(found), scale, energy


@pytest.mark.parametrize("history", ["nodal", "quadrature"])
@pytest.mark.parametrize("mass", ["lumped", "consistent"])
def test_free_motion(
    mass: str,
    history: str,
    any_law: Data,
    scene: Callable[..., Data],
    start: Start,
    with_state: Callable[..., None],
) -> None:
    """A body flung apart: what its motion and springs lose, its dashpots have taken."""
    data = scene(any_law, size=[2.0, 1.0], cells=[4, 2], density=30.0, duration=2.0)
    simulation = start(data, step=0.05, stepper="cayley", mass=mass, history=history)
    with_state(simulation, v=np.random.default_rng(4).normal(size=simulation.positions.size))
    before = simulation.energy()["defect"]
    found, scale, energy = defects(simulation, 2.0)
    assert np.abs(found - before).max() < 1e-12 * scale
    if any_law["model"] != "elastic":
        assert energy["dissipated"] > 0.05 * scale


@pytest.fixture
def driven(scene: Callable[..., Data], start: Start) -> Callable[..., Simulation]:
    """A heavy body under gravity and a changing force, one side driven to and fro."""

    def build(law: Data, cell: str, **options: Any) -> Simulation:
        d = 3 if cell in ("tet", "hex") else 2
        where = {"times": [0.0, 0.3, 0.7, 1.0], "displacement": [[0.0] * d, [0.1] * d, [-0.1] * d, [0.0] * d]}
        supports = {"grip": {"body": "block", "where": {"side": "left"}, "motion": where}}
        push: Data = {"body": "block", "where": {"side": "right"}, "total": [5.0] * d}
        push |= {"times": [0.0, 0.4, 1.0], "factor": [0.0, 1.0, -1.0]}
        data = scene(
            law,
            size=[2.0, 1.0, 1.0][:d],
            cells=[3, 1, 1][:d],
            cell=cell,
            density=30.0,
            duration=1.0,
            gravity=[0.0] * (d - 1) + [-3.0],
            supports=supports,
            forces={"push": push},
        )
        return start(data, step=0.05, stepper="cayley", **options)

    return build


@pytest.mark.parametrize("cell", ["triangle", "quad", "tet", "hex"])
@pytest.mark.parametrize("mass", ["lumped", "consistent"])
def test_driven_loaded_and_heavy(cell: str, mass: str, any_law: Data, driven: Callable[..., Simulation]) -> None:
    """Work of supports, weight and loads = energy, what dashpots took and what sudden changes of speed cost."""
    found, scale, energy = defects(driven(any_law, cell, mass=mass), 1.0)
    assert np.abs(found).max() < 1e-12 * scale
    assert energy["external"] != 0.0


@pytest.mark.parametrize("options", [{"order": 2}, {"history": "quadrature"}, {"split": "lame"}])
def test_unequal_ratios_and_quadratic_elements(options: Data, driven: Callable[..., Simulation]) -> None:
    found, scale, _ = defects(driven(UNEQUAL, "triangle", **options), 1.0)
    assert np.abs(found).max() < 1e-12 * scale


@pytest.mark.parametrize("mass", [30.0, 3000.0])
def test_press_and_release(mass: float, any_law: Data, press: Callable[..., Data], start: Start) -> None:
    """Contact: the bar's work is in the account, and impacts have their own entry."""
    data = press(any_law, mass=mass) | {"gravity": [0.0, -0.01]}
    data["tools"]["bar"]["motion"] = {
        "times": [0.0, 3.0, 4.0, 20.0],
        "displacement": [[0.0, 0.0], [0.0, -3.0], [0.0, 0.0], [0.0, 0.0]],
    }
    simulation = start(data, step=0.1, stepper="cayley")
    found, scale, energy = defects(simulation, 6.0)
    assert np.abs(found).max() < 1e-11 * scale
    assert energy["impact"] > 0.0
    assert energy["external"] > 0.0
