"""What shape-keeping forces leave alone: momentum, angular momentum, energy, rotation, and saved states."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import meshio
import numpy as np
import pytest

from rheotwin.scene.motion import Rotation

ELASTIC = {"model": "elastic", "young": 12.0, "poisson": 0.25}
THREE = {"model": "three-element", "young": 12.0, "voigt_viscosity": 0.5, "series_viscosity": 6.0, "poisson": 0.25}
SPEED = 0.3

TOPOLOGY = {"topology_stiffness": 20.0, "topology_damping": 0.3}
GLOBAL = {"global_pressure": 5.0, "global_pressure_damping": 0.2}
ELEMENT = {"element_pressure": 40.0, "element_pressure_damping": 0.5}
LOCAL = {"local_volume": True}

CASES = {
    "global-triangle": (2, {}, GLOBAL),
    "global-quad": (2, {"cell": "quad"}, GLOBAL),
    "global-tet": (3, {}, GLOBAL),
    "global-hex": (3, {"cell": "hex"}, GLOBAL),
    "element-triangle": (2, {}, ELEMENT),
    "element-tet": (3, {}, ELEMENT),
    "local-quad": (2, {"cell": "quad"}, LOCAL),
    "local-hex": (3, {"cell": "hex"}, LOCAL),
    "all-triangle": (2, "equilateral", {**TOPOLOGY, "topology_distance": 0.95, **GLOBAL, **ELEMENT}),
    "topology-tet": (3, "regular", {**TOPOLOGY, "topology_distance": 0.9}),
    "all-hex": (3, {"cell": "hex"}, {**GLOBAL, **LOCAL}),
}


@pytest.fixture
def regular(tmp_path: Path) -> dict[str, Any]:
    """Return body entries of two regular tets of side 1 that share a face: all feet lie well inside."""
    base = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, np.sqrt(0.75), 0.0]])
    tip = base.mean(axis=0) + np.array([0.0, 0.0, np.sqrt(2.0 / 3.0)])
    points = np.vstack([base, tip, tip * [1.0, 1.0, -1.0]])
    meshio.Mesh(points, [("tetra", np.array([[0, 1, 2, 3], [0, 2, 1, 4]]))]).write(tmp_path / "regular.vtu")
    return {"shape": "file", "path": str(tmp_path / "regular.vtu"), "size": None, "cells": None}


def kicks(problem: Any, speed: float = SPEED) -> np.ndarray:
    return speed * np.random.default_rng(0).standard_normal(problem.points.shape)


def momenta(simulation: Any, masses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    state = simulation.save()
    x, momentum = state["positions"], masses[:, None] * state["velocities"]
    return momentum.sum(axis=0), np.cross(x, momentum).sum(axis=0)


@pytest.mark.parametrize("name", list(CASES))
def test_free_body_keeps_momentum_and_angular_momentum(
    name: str,
    make_problem: Callable[..., Any],
    start: Callable[..., Any],
    put: Callable[..., None],
    request: pytest.FixtureRequest,
) -> None:
    """Contacts of these topology cases are active all the time, with their feet inside."""
    dimension, body, options = CASES[name]
    body = request.getfixturevalue(body) if isinstance(body, str) else body
    problem = make_problem(dimension, THREE, body=body)
    simulation = start(problem, safety=0.3, **options)
    put(simulation, velocities=kicks(problem, 0.05 if "topology_stiffness" in options else SPEED))
    linear, angular = momenta(simulation, problem.masses)
    for _ in range(10):
        simulation.advance(simulation.time + 200.4 * simulation.step_size, 200)
        if "topology_stiffness" in options:
            assert np.count_nonzero(pushes(simulation)) > 0
    later, turned = momenta(simulation, problem.masses)
    reach = np.abs(simulation.positions).max()
    scale = np.abs(problem.masses[:, None] * kicks(problem)).sum()
    np.testing.assert_allclose(later, linear, atol=1e-12 * scale)
    np.testing.assert_allclose(turned, angular, atol=1e-12 * scale * reach)
    assert np.abs(simulation.positions - problem.points).max() > 0.01


def pushes(simulation: Any) -> np.ndarray:
    from rheotwin.particles.forces.topology import contacts

    state = simulation.save()
    return contacts(simulation.method.forces.topology, state["positions"], state["velocities"])[0]


@pytest.mark.parametrize("dimension", [2, 3])
def test_inverting_body_keeps_its_linear_momentum(
    dimension: int, make_problem: Callable[..., Any], start: Callable[..., Any], put: Callable[..., None]
) -> None:
    """Violent kicks, feet outside their features: linear momentum exact, angular momentum not."""
    problem = make_problem(dimension, ELASTIC)
    simulation = start(problem, volume_term=False, safety=0.3, **TOPOLOGY)
    put(simulation, velocities=kicks(problem, 6.0))
    linear, angular = momenta(simulation, problem.masses)
    for _ in range(100):
        simulation.advance(simulation.time + 5.4 * simulation.step_size, 5)
    later, turned = momenta(simulation, problem.masses)
    scale = np.abs(problem.masses[:, None] * kicks(problem, 6.0)).sum()
    np.testing.assert_allclose(later, linear, atol=1e-12 * scale)
    assert np.abs(turned - angular).max() > 1e-6 * scale


@pytest.mark.parametrize("name", [name for name in CASES if "topology" not in name and "all-tri" not in name])
def test_undamped_forces_store_what_they_take(
    name: str, make_problem: Callable[..., Any], start: Callable[..., Any], put: Callable[..., None]
) -> None:
    """Energy only ripples, at every time half as much with half the step: nothing is made or lost but by the scheme."""
    dimension, body, options = CASES[name]
    undamped = {key: value for key, value in options.items() if "damping" not in key}
    problem = make_problem(dimension, ELASTIC, body=body)
    coarse = 1.0 / np.ceil(20.0 / start(problem, **undamped).stable_step)
    ripples = []
    for step in (coarse, 0.5 * coarse):
        simulation = start(problem, step=float(step), **undamped)
        put(simulation, velocities=kicks(problem, 0.1))
        energies = [sum(simulation.energy().values())]
        for sample in range(1, 41):
            simulation.advance(sample * coarse, 10**9)
            assert simulation.time == pytest.approx(sample * coarse, rel=1e-12)
            energies.append(sum(simulation.energy().values()))
        ripples.append(np.array(energies) / energies[0] - 1.0)
    largest = np.abs(ripples[0]).max()
    assert largest < 0.1
    np.testing.assert_allclose(ripples[0], 2.0 * ripples[1], atol=0.2 * largest)


@pytest.mark.parametrize("name", list(CASES))
def test_damped_forces_only_take_energy(
    name: str,
    make_problem: Callable[..., Any],
    start: Callable[..., Any],
    put: Callable[..., None],
    request: pytest.FixtureRequest,
) -> None:
    dimension, body, options = CASES[name]
    body = request.getfixturevalue(body) if isinstance(body, str) else body
    problem = make_problem(dimension, THREE, body=body)
    simulation = start(problem, safety=0.1, **options)
    put(simulation, velocities=kicks(problem, 0.1))
    energies = [sum(simulation.energy().values())]
    for _ in range(100):
        simulation.advance(simulation.time + 10.4 * simulation.step_size, 10)
        energies.append(sum(simulation.energy().values()))
    assert np.all(np.array(energies) <= np.minimum.accumulate(energies) + 0.02 * energies[0])
    assert energies[-1] < 0.9 * energies[0]


@pytest.mark.parametrize("name", list(CASES))
def test_rotating_the_body_rotates_the_trajectory(
    name: str,
    make_problem: Callable[..., Any],
    start: Callable[..., Any],
    put: Callable[..., None],
    request: pytest.FixtureRequest,
) -> None:
    dimension, body, options = CASES[name]
    body = request.getfixturevalue(body) if isinstance(body, str) else body
    entry: Any = 0.7
    turn = np.array([[np.cos(0.7), -np.sin(0.7)], [np.sin(0.7), np.cos(0.7)]])
    if dimension == 3:
        entry = {"axis": [0.48, -0.6, 0.64], "angle": 0.7}
        turn = np.array(Rotation(**entry).matrix())
    found = []
    for matrix, turned in ((np.eye(dimension), {}), (turn, {"rotation": entry})):
        problem = make_problem(dimension, THREE, body={**body, **turned})
        simulation = start(problem, match="length", step=0.002, **options)
        put(simulation, velocities=kicks(problem) @ matrix.T)
        simulation.advance(1.0, 10**9)
        found.append(simulation.positions)
    np.testing.assert_allclose(found[1], found[0] @ turn.T, atol=1e-11 * np.abs(found[0]).max())


@pytest.mark.parametrize("name", ["all-triangle", "topology-tet", "all-hex", "element-tet"])
def test_two_halves_are_the_whole(
    name: str, make_problem: Callable[..., Any], start: Callable[..., Any], request: pytest.FixtureRequest
) -> None:
    """Pressed by a plane and saved on the way: bit for bit the same, whatever was watched before."""
    dimension, body, options = CASES[name]
    body = request.getfixturevalue(body) if isinstance(body, str) else body
    down = -np.eye(dimension)[-1]
    probe = make_problem(dimension, THREE, body=body)
    top = probe.points[np.argmax(probe.points[:, -1])]
    stroke = {"times": [0.0, 0.6, 1.0], "displacement": [list(0.0 * down), list(0.6 * down), list(0.0 * down)]}
    problem = make_problem(
        dimension,
        THREE,
        body=body,
        supports={"floor": {"body": "block", "where": {"side": "bottom"}}},
        tools={"plate": {"shape": "plane", "center": list(top), "normal": list(down), "motion": stroke}},
    )
    whole, first, second = (start(problem, step=0.002, **options) for _ in range(3))
    whole.advance(0.8, 10**9)
    first.advance(0.4, 10**9)
    saved = first.save()
    assert np.abs(saved["contact.exerted.tool_force"]).max() > 0.0
    second.advance(0.1, 10**9)
    second.restore(saved)
    second.advance(0.8, 10**9)
    np.testing.assert_equal(second.save(), whole.save())
    assert second.energy() == whole.energy()
    np.testing.assert_equal(second.fields(), whole.fields())
