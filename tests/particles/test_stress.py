"""Nodal stress of the springs under uniform strain, against the stiffness the springs were matched to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

YOUNG = 12.0
PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))


def strain_tensor(dimension: int) -> np.ndarray:
    """Small enough that second-order terms are below 1e-6 of the stress."""
    tensor = 1e-7 * np.array([[1.0, 0.4, -0.3], [0.4, -0.6, 0.2], [-0.3, 0.2, 0.5]])
    full = np.zeros((3, 3))
    full[:dimension, :dimension] = tensor[:dimension, :dimension]
    return full


def hooke(poisson: float, strain: np.ndarray) -> np.ndarray:
    """s = lambda tr(e) 1 + 2 mu e in the order XX, YY, ZZ, XY, YZ, XZ."""
    lame, shear = YOUNG * poisson / ((1 + poisson) * (1 - 2 * poisson)), 0.5 * YOUNG / (1 + poisson)
    stress = lame * np.trace(strain) * np.eye(3) + 2.0 * shear * strain
    return np.array([stress[a, b] for a, b in PAIRS])


def strained(simulation: Any, problem: Any, put: Callable[..., None], strain: np.ndarray) -> dict[str, np.ndarray]:
    d = problem.dimension
    put(simulation, positions=problem.points @ (np.eye(d) + strain[:d, :d]))
    return dict(simulation.fields())


EXACT_CASES = {
    "quad": (2, "quad", 0.25),
    "hex": (3, "hex", 0.25),
    "equilateral": (2, "equilateral", 0.25),
    "equilateral with volume springs": (2, "equilateral", 0.4),
}


@pytest.mark.parametrize("case", EXACT_CASES)
def test_uniform_strain_gives_hookes_stress_at_every_node(
    case: str,
    make_problem: Callable[..., Any],
    start: Callable[..., Any],
    put: Callable[..., None],
    equilateral: dict[str, Any],
) -> None:
    """Where the match is exact; corners and faces included, and the stress across the plane in plane strain."""
    dimension, cell, poisson = EXACT_CASES[case]
    law = {"model": "elastic", "young": YOUNG, "poisson": poisson}
    problem = make_problem(dimension, law, body=equilateral if cell == "equilateral" else {"cell": cell})
    simulation = start(problem)
    assert simulation.statistics()["material_match"]["block"]["stiffness_misfit"] < 1e-8
    strain = strain_tensor(dimension)
    fields = strained(simulation, problem, put, strain)
    expected = hooke(poisson, strain)
    np.testing.assert_allclose(
        fields["stress"], np.tile(expected, (len(problem.points), 1)), atol=1e-5 * np.abs(expected).max()
    )
    np.testing.assert_allclose(fields["memory_stress"], 0.0)
    mean = expected[:3].sum() / 3.0
    deviator = np.sum((expected[:3] - mean) ** 2) + 2.0 * np.sum(expected[3:] ** 2)
    np.testing.assert_allclose(fields["von_mises_stress"], np.sqrt(1.5 * deviator), rtol=1e-4)


@pytest.mark.parametrize("stretch", [0.5, 2.0])
def test_stress_of_a_bar_is_its_force_per_rest_section(
    stretch: float, make_problem: Callable[..., Any], start: Callable[..., Any], put: Callable[..., None]
) -> None:
    """E (l/l0 - 1), however large: engineering stress, and not that times l/l0. The ridge of the match is 1e-10."""
    problem = make_problem(1, {"model": "elastic", "young": YOUNG, "poisson": 0.0})
    simulation = start(problem)
    put(simulation, positions=stretch * problem.points)
    np.testing.assert_allclose(simulation.fields()["stress"][:, 0], YOUNG * (stretch - 1.0), rtol=1e-9)


def test_plane_stress_has_no_stress_across(
    make_problem: Callable[..., Any],
    start: Callable[..., Any],
    put: Callable[..., None],
    equilateral: dict[str, Any],
) -> None:
    """lambda* = E nu/(1 - nu^2)."""
    poisson, strain = 0.4, strain_tensor(2)
    law = {"model": "elastic", "young": YOUNG, "poisson": poisson}
    problem = make_problem(2, law, body=equilateral, plane="stress", thickness=0.1)
    found = strained(start(problem), problem, put, strain)["stress"]
    lame, shear = YOUNG * poisson / (1.0 - poisson**2), 0.5 * YOUNG / (1.0 + poisson)
    tensor = lame * np.trace(strain) * np.eye(3) + 2.0 * shear * strain
    expected = np.array([tensor[0, 0], tensor[1, 1], 0.0, tensor[0, 1], 0.0, 0.0])
    np.testing.assert_allclose(found, np.tile(expected, (len(found), 1)), atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("pattern", ["se-nw", "alternating", "five", "six"])
def test_average_stress_is_the_derivative_of_the_energy(
    pattern: str,
    make_problem: Callable[..., Any],
    start: Callable[..., Any],
    put: Callable[..., None],
) -> None:
    """Whatever the match: volume-weighted stress : strain = 2 W/V, W from `energy` at the same strain."""
    dimension = 2 if pattern in ("se-nw", "alternating") else 3
    law = {"model": "elastic", "young": YOUNG, "poisson": 0.35}
    problem = make_problem(dimension, law, body={"pattern": pattern})
    simulation = start(problem)
    strain = 100.0 * strain_tensor(dimension)
    fields = strained(simulation, problem, put, strain)
    mean = np.average(fields["stress"], axis=0, weights=problem.masses)
    doubled = np.array([strain[a, b] * (1.0 if a == b else 2.0) for a, b in PAIRS])
    volume = problem.masses.sum()
    assert mean @ doubled == pytest.approx(2.0 * simulation.energy()["stored"] / volume, rel=1e-3)


def test_rigid_turn_has_no_stress_and_turns_the_rest(
    make_problem: Callable[..., Any],
    start: Callable[..., Any],
    put: Callable[..., None],
) -> None:
    problem = make_problem(3, {"model": "elastic", "young": YOUNG, "poisson": 0.35})
    simulation = start(problem)
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    turn *= np.linalg.det(turn)
    put(simulation, positions=problem.points @ turn.T)
    np.testing.assert_allclose(simulation.fields()["stress"], 0.0, atol=1e-12)
    stretch = np.eye(3) + 0.1 * np.diag([1.0, -0.5, 0.2])
    put(simulation, positions=problem.points @ stretch)
    still = simulation.fields()["stress"]
    put(simulation, positions=problem.points @ stretch @ turn.T)
    turned = simulation.fields()["stress"]
    for before, after in zip(still, turned, strict=True):
        tensors = [np.array([[s[0], s[3], s[5]], [s[3], s[1], s[4]], [s[5], s[4], s[2]]]) for s in (before, after)]
        np.testing.assert_allclose(tensors[1], turn @ tensors[0] @ turn.T, atol=1e-11)


def test_memory_stress_decays_as_the_arms(
    make_problem: Callable[..., Any],
    start: Callable[..., Any],
    put: Callable[..., None],
    advance_by: Callable[..., None],
    laws: dict[str, dict[str, Any]],
) -> None:
    """All nodes held at rest with stretched arms: memory stress = 3 C e exp(-t/3) of the one arm E = 12, tau = 1/3."""
    everywhere = {"box": {"x": [-1.0, 9.0]}}
    problem = make_problem(3, laws["maxwell"], supports={"all": {"body": "block", "where": everywhere}})
    simulation = start(problem, step=0.01)
    network = simulation.method.network
    strain = strain_tensor(3)
    vectors = problem.points[network.edges[:, 1]] - problem.points[network.edges[:, 0]]
    lengths = np.linalg.norm(vectors, axis=1)
    put(
        simulation,
        edge_arms=np.einsum("ei,ij,ej->e", vectors, strain, vectors) / lengths,
        cell_arms=np.trace(strain),
    )
    first = simulation.fields()["memory_stress"]
    mean = np.average(first, axis=0, weights=problem.masses)
    assert np.abs(mean).max() > 0.3 * np.abs(hooke(0.35, strain)).max()
    for steps in (1, 30, 100):
        before = simulation.step_count
        advance_by(simulation, steps)
        assert simulation.step_count - before == steps
        decay = np.exp(-3.0 * simulation.time)
        fields = simulation.fields()
        np.testing.assert_allclose(fields["memory_stress"], first * decay, atol=1e-12 * np.abs(first).max())
        np.testing.assert_allclose(fields["stress"], fields["memory_stress"], atol=1e-13 * np.abs(first).max())
