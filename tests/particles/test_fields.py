"""Nodal stress of the springs against the stiffness they were matched to; strain as finite elements average it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheotwin.particles.truss import TrussSimulation
from rheotwin.problem import Problem
from rheotwin.validation.checks.running import block, problem_of, put, scene_of, start, truss

YOUNG = 12.0
PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))


def elastic(poisson: float) -> dict[str, Any]:
    return {"model": "elastic", "young": YOUNG, "poisson": poisson}


def packed(tensor: np.ndarray) -> np.ndarray:
    return np.array([tensor[pair] for pair in PAIRS])


def unpacked(s: np.ndarray) -> np.ndarray:
    return np.array([[s[0], s[3], s[5]], [s[3], s[1], s[4]], [s[5], s[4], s[2]]])


def strain_tensor(dimension: int) -> np.ndarray:
    tensor = 1e-7 * np.array([[1.0, 0.4, -0.3], [0.4, -0.6, 0.2], [-0.3, 0.2, 0.5]])
    tensor[dimension:], tensor[:, dimension:] = 0.0, 0.0
    return tensor


def hooke(poisson: float, strain: np.ndarray, plane: str = "strain") -> np.ndarray:
    """s = lambda tr(e) 1 + 2 mu e; in plane stress lambda* = E nu/(1 - nu^2) and nothing across."""
    flat = plane == "stress"
    lame = YOUNG * poisson / (1.0 - poisson**2 if flat else (1 + poisson) * (1 - 2 * poisson))
    unit = np.diag([1.0, 1.0, 0.0]) if flat else np.eye(3)
    return packed(lame * np.trace(strain) * unit + YOUNG / (1 + poisson) * strain)


def strained(simulation: TrussSimulation, problem: Problem, strain: np.ndarray) -> dict[str, np.ndarray]:
    d = problem.dimension
    put(simulation, positions=problem.points @ (np.eye(d) + strain[:d, :d]))
    return dict(simulation.fields())


@pytest.mark.parametrize(
    ("dimension", "cell", "poisson", "plane"),
    [
        (2, "quad", 0.25, "strain"),
        (3, "hex", 0.25, "strain"),
        (2, "equilateral", 0.25, "strain"),
        (2, "equilateral", 0.4, "strain"),
        (2, "equilateral", 0.4, "stress"),
    ],
)
def test_uniform_strain_gives_hookes_stress_at_every_node(
    dimension: int, cell: str, poisson: float, plane: str, equilateral: dict[str, Any]
) -> None:
    """Where the match is exact; corners and faces included, and the stress across the plane in plane strain."""
    body = equilateral if cell == "equilateral" else {"cell": cell}
    sheet = {"plane": "stress", "thickness": 0.1} if plane == "stress" else {}
    problem = block(dimension, elastic(poisson), body, **sheet)
    simulation = truss(problem)
    assert simulation.statistics()["material_match"]["block"]["stiffness_misfit"] < 1e-8
    fields = strained(simulation, problem, strain_tensor(dimension))
    expected = hooke(poisson, strain_tensor(dimension), plane)
    every = np.tile(expected, (len(problem.points), 1))
    np.testing.assert_allclose(fields["stress"], every, atol=1e-5 * np.abs(expected).max())
    np.testing.assert_allclose(fields["memory_stress"], 0.0)
    deviator = unpacked(expected) - expected[:3].sum() / 3.0 * np.eye(3)
    np.testing.assert_allclose(fields["von_mises_stress"], np.sqrt(1.5 * np.sum(deviator**2)), rtol=1e-4)


@pytest.mark.parametrize("pattern", ["se-nw", "alternating", "five", "six"])
def test_average_stress_is_the_derivative_of_the_energy(pattern: str) -> None:
    """Whatever the match: volume-weighted stress : strain = 2 W/V, W from `energy` at the same strain."""
    dimension = 2 if pattern in ("se-nw", "alternating") else 3
    problem = block(dimension, elastic(0.35), {"pattern": pattern})
    simulation, strain = truss(problem), 100.0 * strain_tensor(dimension)
    stress = strained(simulation, problem, strain)["stress"]
    mean = unpacked(np.average(stress, axis=0, weights=problem.masses))
    assert np.sum(mean * strain) == pytest.approx(2.0 * simulation.energy()["stored"] / problem.masses.sum(), rel=1e-3)


def test_rigid_turn_has_no_stress_and_turns_the_rest() -> None:
    problem = block(3, elastic(0.35))
    simulation = truss(problem)
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    turn *= np.linalg.det(turn)
    stretch = np.eye(3) + 0.1 * np.diag([1.0, -0.5, 0.2])
    turned, still, both = (
        strained(simulation, problem, move - np.eye(3))["stress"] for move in (turn.T, stretch, stretch @ turn.T)
    )
    np.testing.assert_allclose(turned, 0.0, atol=1e-12)
    for before, after in zip(still, both, strict=True):
        np.testing.assert_allclose(unpacked(after), turn @ unpacked(before) @ turn.T, atol=1e-11)


def test_memory_stress_decays_as_the_arms() -> None:
    """All nodes held at rest with stretched arms: memory stress = 3 C e exp(-3 t) of the one arm E = 12, tau = 1/3."""
    everywhere = {"all": {"body": "block", "where": {"box": {"x": [-1.0, 9.0]}}}}
    problem = block(3, {"model": "maxwell", "young": YOUNG, "viscosity": 4.0, "poisson": 0.35}, supports=everywhere)
    simulation, strain = truss(problem, step=0.01), strain_tensor(3)
    edges = simulation.method.network.edges
    vectors = problem.points[edges[:, 1]] - problem.points[edges[:, 0]]
    stretch = np.einsum("ei,ij,ej->e", vectors, strain, vectors) / np.linalg.norm(vectors, axis=1)
    put(simulation, edge_arms=stretch, cell_arms=np.trace(strain))
    first = simulation.fields()["memory_stress"]
    assert np.abs(np.average(first, axis=0, weights=problem.masses)).max() > 0.3 * np.abs(hooke(0.35, strain)).max()
    scale = np.abs(first).max()
    for steps in (1, 30, 100):
        simulation.advance(1e9, steps)
        fields = simulation.fields()
        decayed = first * np.exp(-3.0 * simulation.time)
        np.testing.assert_allclose(fields["memory_stress"], decayed, atol=1e-12 * scale)
        np.testing.assert_allclose(fields["stress"], fields["memory_stress"], atol=1e-13 * scale)
    assert simulation.step_count == 131


CELLS = {
    "line": ([2.0], [4]),
    "triangle": ([2.0, 1.0], [4, 2]),
    "quad": ([2.0, 1.0], [4, 2]),
    "tet": ([2.0, 1.0, 1.0], [2, 1, 1]),
    "hex": ([2.0, 1.0, 1.0], [2, 1, 1]),
}
Move = Callable[[np.ndarray], np.ndarray]


def strains(cell: str, move: Move, **more: Any) -> tuple[np.ndarray, np.ndarray]:
    """Put the truss and finite elements into one displaced state of two bodies; return the strain each reports."""
    size, cells = CELLS[cell]
    law = {"model": "elastic", "young": 100.0, "poisson": 0.3}
    scene = scene_of(law, {"shape": "box", "size": size, "cells": cells, "cell": cell}, dimension=len(size), **more)
    scene["bodies"]["far"] = {**scene["bodies"]["block"], "origin": [5.0, 0.0, 0.0][: len(size)]}
    problem = problem_of(scene)
    springs, elements = truss(problem), start(problem, step=0.1)
    put(springs, positions=problem.points + move(problem.points))
    elements.restore(elements.save() | {"u": move(problem.points).ravel()})
    return springs.fields()["strain"], elements.fields()["strain"]


PLANES = [*((cell, {}) for cell in CELLS), ("triangle", {"plane": "stress"}), ("quad", {"plane": "stress"})]


@pytest.mark.parametrize(("cell", "plane"), PLANES)
def test_strain_is_exact_of_linear_fields_and_that_of_finite_elements_of_others(
    cell: str, plane: dict[str, Any]
) -> None:
    """Infinitesimal strain of large displacement gradients, too; a sheet thins: e_zz = -nu/(1 - nu) (e_xx + e_yy)."""
    d, full = len(CELLS[cell][0]), np.zeros((3, 3))
    full[:d, :d] = 0.3 * np.random.default_rng(1).uniform(-1, 1, (d, d))
    found, _ = strains(cell, lambda x: x @ full[:d, :d].T, **plane)
    if plane:
        full[2, 2] = -0.3 / 0.7 * (full[0, 0] + full[1, 1])
    np.testing.assert_allclose(found, np.tile(packed(0.5 * (full + full.T)), (len(found), 1)), atol=1e-14)
    found, fem = strains(cell, lambda x: 0.01 * np.random.default_rng(2).normal(size=x.shape), **plane)
    assert np.abs(fem).max() > 0.01
    np.testing.assert_allclose(found, fem, atol=1e-14)


@pytest.mark.parametrize("stretch", [0.5, 2.0])
def test_stress_of_a_bar_is_its_force_per_rest_section(stretch: float) -> None:
    """E (l/l0 - 1), however large: engineering stress, and not that times l/l0. The ridge of the match is 1e-10."""
    problem = block(1, {"model": "elastic", "young": 300.0, "poisson": 0.0})
    simulation = put(truss(problem), positions=stretch * problem.points)
    np.testing.assert_allclose(simulation.fields()["stress"][:, 0], 300.0 * (stretch - 1.0), rtol=1e-9)
