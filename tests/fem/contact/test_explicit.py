"""Contact by laws in central differences: the same closed forms, balances and restarts as in other steppers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.solver import Simulation
from rheotwin.tensors import padded

Data = dict[str, Any]
Scene = Callable[..., Data]
Start = Callable[..., Simulation]
RunTo = Callable[[Simulation, float], None]

G = 9.8
FIRM: Data = {"model": "voigt", "young": 1e5, "poisson": 0.3, "viscosity": 100.0}
EXPLICIT: Data = {"stepper": "central-difference"}
LAWS: dict[str, Data] = {
    "exact": {"law": "exact"},
    "penalty": {"law": "penalty", "stiffness": 500.0, "damping": 0.5},
    "impulse": {"law": "impulse", "restitution": 0.8},
}


def square(mass: float = 4.0) -> Data:
    return {"size": [0.1, 0.1], "cells": [1, 1], "cell": "quad", "mass": mass, "gravity": [0.0, -G]}


@pytest.mark.parametrize(
    ("law", "height"),
    [
        ({"law": "exact"}, 0.0),
        ({"law": "penalty", "stiffness": 1000.0, "damping": 40.0}, -0.0196),
        ({"law": "integrated", "stiffness": 1000.0, "damping": 60.0, "integral": 5e3, "region": 0.01}, 0.0),
        (
            {
                "law": "integrated",
                "stiffness": 1e3,
                "damping": 60.0,
                "integral": 5e3,
                "region": 0.03,
                "offset": True,
            },
            0.0104,
        ),
    ],
    ids=["exact", "penalty", "integrated", "offset"],
)
def test_it_rests_where_its_law_says(law: Data, height: float, on_floor: Scene, start: Start, run_to: RunTo) -> None:
    """R12, R13: two nodes below, each with m g/K = 0.0196; the floor bears the weight."""
    simulation = start(on_floor(FIRM, law, duration=10.0, **square()), step=1e-3, **EXPLICIT)
    run_to(simulation, 10.0)
    np.testing.assert_allclose(np.sort(simulation.positions[:, 1])[:2], height, atol=1e-6)
    found = simulation.reactions()
    np.testing.assert_allclose(found["tool.floor"], [0.0, -4.0 * G], rtol=1e-6, atol=1e-6)
    assert found["tool.floor.moment"][0] == pytest.approx(-4.0 * G * 0.05, rel=1e-5)
    assert simulation.fields()["contact_force"].sum(axis=0)[1] == pytest.approx(4.0 * G, rel=1e-6)


@pytest.mark.parametrize("law", [{"law": "exact"}, {"law": "penalty", "stiffness": 1e4, "damping": 50.0}])
def test_a_sliding_block_stops_where_its_energy_is_spent(
    law: Data, on_floor: Scene, thrown: Callable[..., Simulation], run_to: RunTo
) -> None:
    """R15: v0^2/(2 mu g) = 0.68027, friction takes m v0^2/2, and the balance closes to the order of the step."""
    data = on_floor(FIRM, law | {"friction": 0.3}, cells=[4, 2], density=2.0, gravity=[0.0, -G])
    simulation = thrown(data, [2.0, 0.0], step=1e-4, **EXPLICIT)
    before = simulation.positions[:, 0].mean()
    run_to(simulation, 1.0)
    assert simulation.positions[:, 0].mean() - before == pytest.approx(2.0**2 / (2 * 0.3 * G), rel=2e-3)
    energy = simulation.energy()
    assert energy["friction"] == pytest.approx(2.0, rel=4e-3)
    taken = sum(energy[name] for name in ("kinetic", "stored", "dissipated", "impact", "friction"))
    assert taken == pytest.approx(energy["external"] + 2.0, rel=2e-3)


def test_a_bounce_sends_back_its_share(on_floor: Scene, start: Start, run_to: RunTo) -> None:
    """Nodes that nothing holds together fall by 0.1 and come back to e^2 of it: v_0 + e v_0 of the step at most off."""
    loose = {"model": "elastic", "young": 1e-9, "poisson": 0.3}
    data = on_floor(loose, {"law": "impulse", "restitution": 0.5}, floor={"center": [0.0, -0.1]}, **square())
    simulation = start(data, step=1e-4, **EXPLICIT)
    low = np.flatnonzero(simulation.positions[:, 1] == 0.0)
    highest, landed = -1.0, np.sqrt(0.2 / G)
    run_to(simulation, landed + 0.01)
    assert simulation.energy()["impact"] == pytest.approx(0.75 * 2.0 * G * 0.1, rel=2e-3)
    for time in landed + np.arange(0.01, 0.12, 0.002):
        run_to(simulation, time)
        highest = max(highest, simulation.positions[low, 1].min())
    assert highest == pytest.approx(-0.1 + 0.25 * 0.1, abs=1e-4 * 1.5 * np.sqrt(0.2 * G))


def gap_above(lower: np.ndarray, upper: np.ndarray) -> float:
    """Return the least height of nodes above the nodes of the top, straight between them, in 2D."""
    top = lower[lower[:, 1] > 0.4]
    inside = upper[(upper[:, 0] > top[0, 0]) & (upper[:, 0] < top[-1, 0])]
    return float(np.min(inside[:, 1] - np.interp(inside[:, 0], top[:, 0], top[:, 1])))


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("law", [{"law": "exact"}, {"law": "penalty", "stiffness": 2e3}], ids=["exact", "penalty"])
def test_bodies_exchange_momentum_and_do_not_pass(
    law: Data, dimension: int, two_blocks: Scene, thrown: Callable[..., Simulation]
) -> None:
    """One block flies at another with friction: their momentum stays to rounding."""
    flat = [1.0] * (dimension - 1)
    lower: Data = {"size": [*flat, 0.5], "cells": [2] * dimension, "density": 100.0}
    upper = lower | {"cells": [3] * (dimension - 1) + [2], "origin": [0.2] * (dimension - 1) + [0.51]}
    data = two_blocks(FIRM, law | {"friction": 0.3}, lower=lower, upper=upper)
    simulation = thrown(data, [0.3] + [0.0] * (dimension - 2) + [-1.0], step=2e-4, **EXPLICIT)
    nodes = len(simulation.positions)
    count = 3**dimension
    v = np.zeros((nodes, dimension))
    v[count:] = [0.3] + [0.0] * (dimension - 2) + [-1.0]
    simulation.restore(simulation.save() | {"v": v.ravel()})
    mass = simulation._problem.masses  # type: ignore[attr-defined]
    before = mass @ simulation.velocities
    apart = []
    for k in range(1, 11):
        simulation.advance(0.01 * k, 10**9)
        if dimension == 2:
            apart.append(gap_above(simulation.positions[:count], simulation.positions[count:]))
        np.testing.assert_allclose(mass @ simulation.velocities, before, atol=1e-12 * np.abs(before).max())
    if law["law"] == "exact" and dimension == 2:
        assert min(apart) > -1e-4
    assert simulation.velocities[count:, -1].mean() > -0.5
    energy = simulation.energy()
    start_energy = 0.5 * mass[count:].sum() * (0.09 + 1.0)
    taken = sum(energy[name] for name in ("kinetic", "stored", "dissipated", "impact", "friction"))
    assert taken == pytest.approx(start_energy + energy["external"], rel=0.01)
    assert abs(energy["external"]) < 0.01 * start_energy


@pytest.mark.parametrize("friction", [0.0, 0.3])
@pytest.mark.parametrize("law", ["exact", "penalty", "impulse"])
@pytest.mark.parametrize("dimension", [2, 3])
def test_contact_turns_nothing(
    dimension: int, law: str, friction: float, two_blocks: Scene, thrown: Callable[..., Simulation]
) -> None:
    """Angular momentum of bodies without elastic forces could change by contact alone, but does not."""
    deep, cells = [0.3] * (dimension - 2), [2] * dimension
    loose = {"model": "elastic", "young": 1e-9, "poisson": 0.3}
    turn: Any = 0.3 if dimension == 2 else {"axis": [1.0, 2.0, 3.0], "angle": 0.6}
    lower = {"size": [0.4, 0.3, *deep], "cells": cells, "density": 10.0}
    upper = lower | {"size": [0.3, 0.3, *deep], "density": 20.0, "rotation": turn}
    upper["origin"] = [0.5, 0.13, *[0.11] * (dimension - 2)]
    data = two_blocks(loose, LAWS[law] | ({"friction": friction} if friction else {}), lower=lower, upper=upper)
    simulation = thrown(data, [1.0, 0.1, 0.0][:dimension], count=3**dimension, step=2e-3, **EXPLICIT)
    mass = simulation._problem.masses[:, None]  # type: ignore[attr-defined]
    start, pushed = spin(simulation, mass), 0
    for _ in range(50):
        simulation.advance(1.0, 1)
        size = np.linalg.norm(mass * simulation.velocities, axis=1) @ np.linalg.norm(simulation.positions, axis=1)
        touching = bool(simulation.fields()["contact_force"].any())
        pushed += touching
        if law != "impulse" or not touching:  # velocities are those of the middle of an impact, places are not
            np.testing.assert_allclose(spin(simulation, mass), start, atol=1e-12 * size)
    assert pushed > (1 if law == "impulse" else 3)


def spin(simulation: Simulation, mass: np.ndarray) -> np.ndarray:
    """Return the angular momentum [kg m2/s]; moving by h v leaves it as it is."""
    x, p = padded(simulation.positions), padded(mass * simulation.velocities)
    return np.asarray(np.cross(x, p).sum(axis=0))


def test_a_mass_put_on_a_block_comes_to_rest_on_it(scene: Scene, start: Start, run_to: RunTo) -> None:
    """The block bears the weight of 3 kg, and the tool stands where the block gives way to it; restarts are bitwise."""
    brick = {"shape": "box", "center": [0.5, 0.6], "size": [0.44, 0.2], "drive": {"mass": 3.0, "free": ["y"]}}
    floor: Data = {"floor": {"body": "block", "where": {"side": "bottom"}}}
    law = {"model": "voigt", "young": 1e4, "poisson": 0.3, "viscosity": 200.0}
    data = scene(law, size=[1.0, 0.5], cells=[10, 4], density=10.0, gravity=[0.0, -G], supports=floor,
                 tools={"brick": brick}, duration=4.0)  # fmt: skip
    simulation = start(data, **EXPLICIT)
    run_to(simulation, 1.0)
    saved, step = simulation.save(), simulation.step_size
    run_to(simulation, 4.0)
    again = start(data, step=step, **EXPLICIT)
    again.restore(saved)
    run_to(again, 4.0)
    for name, array in simulation.save().items():
        np.testing.assert_array_equal(again.save()[name], array, err_msg=name)
    np.testing.assert_allclose(simulation.reactions()["tool.brick"], [0.0, 3.0 * G], rtol=1e-4, atol=1e-3)
    pose = simulation.tool_poses()[0, 1]  # type: ignore[attr-defined]
    middle = np.abs(simulation.positions[:, 0] - 0.5) < 0.21
    assert pose == pytest.approx(simulation.positions[middle, 1].max() - 0.5, abs=1e-6)


def test_what_central_differences_refuse_of_contact(on_floor: Scene, start: Start) -> None:
    law = {"law": "penalty", "stiffness": 1e8}
    data = on_floor(FIRM, law, **square())
    with pytest.raises(RheotwinError, match="above the stable step"):
        start(data, step=1e-3, **EXPLICIT)
    with pytest.raises(RheotwinError, match=r"solvers\.fem\.order"):
        start(on_floor(FIRM, {"law": "exact"}, **square()), order=2, **EXPLICIT)
