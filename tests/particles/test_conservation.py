"""What the scheme keeps exactly: momentum, angular momentum, indifference to rotation and numbering; and energy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rheotwin.meshing import build_mesh
from rheotwin.particles.base import ParticleSimulation
from rheotwin.particles.forces.elements import Elements
from rheotwin.scene.motion import Rotation
from rheotwin.validation.checks.running import block, put, truss

SPEED = 0.2


def kicks(problem: Any, seed: int = 0) -> np.ndarray:
    return SPEED * np.random.default_rng(seed).standard_normal(problem.points.shape)


def momenta(simulation: Any, masses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    state = simulation.save()
    x, v = state["positions"], state["velocities"]
    return (masses[:, None] * v).sum(axis=0), np.cross(x, masses[:, None] * v).sum(axis=0)


@pytest.mark.parametrize("volume_term", [True, False])
@pytest.mark.parametrize("dimension", [2, 3])
def test_free_body_keeps_momentum_and_angular_momentum(dimension: int, volume_term: bool, law: dict[str, Any]) -> None:
    problem = block(dimension, law)
    simulation = truss(problem, volume_term=volume_term)
    assert (simulation.statistics()["volume_cells"] > 0) == volume_term
    put(simulation, velocities=kicks(problem))
    linear, angular = momenta(simulation, problem.masses)
    simulation.advance(2000 * simulation.step_size, 2000)
    assert simulation.step_count == 2000
    later, turned = momenta(simulation, problem.masses)
    scale = SPEED * problem.masses.sum()
    np.testing.assert_allclose(later, linear, atol=1e-12 * scale)
    reach = np.abs(simulation.positions).max()
    np.testing.assert_allclose(turned, angular, atol=1e-12 * scale * reach)
    assert np.abs(simulation.positions - problem.points).max() > 0.05


def total(simulation: Any) -> float:
    return float(sum(simulation.energy().values()))


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_energy_of_an_elastic_body_only_ripples(dimension: int) -> None:
    """The scheme is symplectic without damping: no drift, and a ripple that halves with the step."""
    problem = block(dimension, {"model": "elastic", "young": 12.0, "poisson": 0.35})
    ripples = []
    for safety in (0.1, 0.05):
        simulation = truss(problem, step=safety * truss(problem).stable_step)
        put(simulation, velocities=0.1 * kicks(problem))
        begin = total(simulation)
        energies = []
        for _ in range(400):
            simulation.advance(simulation.time + 20.4 * simulation.step_size, 20)
            energies.append(total(simulation))
        assert simulation.step_count == 8000
        ripples.append(np.abs(np.array(energies) / begin - 1.0).max())
        assert np.mean(energies[200:]) == pytest.approx(np.mean(energies[:200]), rel=0.5 * ripples[-1])
    assert ripples[0] < 0.1
    assert ripples[0] / ripples[1] == pytest.approx(2.0, abs=0.5)


@pytest.mark.parametrize("name", ["voigt", "maxwell", "three-element", "generalized-voigt", "generalized-maxwell"])
def test_damping_only_takes_energy(name: str, laws: dict[str, dict[str, Any]]) -> None:
    """Energy falls but for the scheme's ripple, and what is left is the rigid motion (and slow arms)."""
    problem = block(3, laws[name])
    simulation = truss(problem, safety=0.1)
    put(simulation, velocities=0.1 * kicks(problem))
    energies = [total(simulation)]
    for _ in range(200):
        simulation.advance(simulation.time + 10.4 * simulation.step_size, 10)
        energies.append(total(simulation))
    lowest = np.minimum.accumulate(energies)
    assert np.all(np.array(energies) <= lowest + 0.05 * energies[0])
    assert energies[-1] < 0.5 * energies[0]


def rotation(dimension: int) -> tuple[Any, np.ndarray]:
    """Return a turn as a scene writes it and as a matrix."""
    if dimension == 2:
        c, s = np.cos(0.7), np.sin(0.7)
        return 0.7, np.array([[c, -s], [s, c]])
    entry = {"axis": [0.48, -0.6, 0.64], "angle": 0.7}
    return entry, np.array(Rotation(**entry).matrix())


@pytest.mark.parametrize("dimension", [2, 3])
def test_rotating_the_scene_rotates_the_trajectory(dimension: int, law: dict[str, Any]) -> None:
    """Body, gravity, a pressing plane, a force and the first velocities turn together."""
    entry, turn = rotation(dimension)
    up = np.eye(dimension)[-1]
    found = []
    for matrix, body in ((np.eye(dimension), {}), (turn, {"rotation": entry})):
        problem = block(
            dimension,
            law,
            body=body,
            gravity=list(matrix @ (-0.5 * up)),
            tools={"floor": {"shape": "plane", "center": [0.0] * dimension, "normal": list(matrix @ up)}},
            forces={
                "pull": {"body": "block", "where": {"nearest": [0.0] * dimension}, "total": list(matrix[:, 0] * 0.3)}
            },
        )
        simulation = truss(problem, step=0.004)
        put(simulation, velocities=kicks(problem) @ matrix.T)
        simulation.advance(1.0, 10**9)
        assert np.abs(simulation.fields()["contact_force"]).max() > 0.0
        found.append((simulation.positions, simulation.velocities))
    (x, v), (turned_x, turned_v) = found
    np.testing.assert_allclose(turned_x, x @ turn.T, atol=1e-11 * np.abs(x).max())
    np.testing.assert_allclose(turned_v, v @ turn.T, atol=1e-11 * np.abs(v).max() / 0.004)


def shuffled(elements: Elements, order: np.ndarray) -> Elements:
    return Elements(
        *(
            np.ascontiguousarray(a[order] if name == "corners" else a[..., order])
            for name, a in elements._asdict().items()
        )
    )


@pytest.mark.parametrize("dimension", [2, 3])
def test_order_of_elements_does_not_matter(dimension: int, law: dict[str, Any]) -> None:
    problem = block(dimension, law)
    found = []
    for shuffle in (False, True):
        simulation = truss(problem, step=0.004)
        if shuffle:
            rng = np.random.default_rng(4)
            forces = simulation.method.forces
            edges, cells = (shuffled(own, rng.permutation(len(own.rest))) for own in (forces.edges, forces.cells))
            method = replace(simulation.method, forces=forces._replace(edges=edges, cells=cells))
            simulation = ParticleSimulation(problem, method)
        put(simulation, velocities=kicks(problem))
        simulation.advance(1.0, 10**9)
        found.append(simulation.positions)
    np.testing.assert_allclose(found[1], found[0], atol=1e-11)


@pytest.mark.parametrize("dimension", [2, 3])
def test_numbering_of_particles_does_not_matter(dimension: int, law: dict[str, Any]) -> None:
    problem = block(dimension, law)
    order = np.random.default_rng(6).permutation(len(problem.points))
    new_number = np.argsort(order)
    body = problem.bodies[0]
    mesh = build_mesh(body.cell, body.mesh.p[:, order], new_number[body.mesh.t])
    renamed = replace(
        problem,
        bodies=(replace(body, mesh=mesh),),
        points=np.ascontiguousarray(problem.points[order]),
        masses=problem.masses[order],
        probes={},
    )
    found = []
    for case, velocities in ((problem, kicks(problem)), (renamed, kicks(problem)[order])):
        simulation = truss(case, step=0.004)
        put(simulation, velocities=velocities)
        simulation.advance(1.0, 10**9)
        found.append(simulation.positions)
    np.testing.assert_allclose(found[1], found[0][order], atol=1e-11)
