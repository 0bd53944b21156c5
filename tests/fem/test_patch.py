"""Patch tests on distorted meshes: a driven linear field gives the closed-form uniform stress (T3, E19)."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheotwin.problem import Problem
from rheotwin.solver import Simulation
from rheotwin.validation.checks.running import EQUAL_RATIO, Data, box_scene, problem_of, run_to, start

BOXES: dict[str, tuple[list[float], list[int]]] = {
    "triangle": ([2.0, 1.5], [4, 3]),
    "quad": ([2.0, 1.5], [4, 3]),
    "tet": ([1.0, 1.0, 1.0], [2, 2, 2]),
    "hex": ([1.0, 1.0, 1.0], [3, 3, 2]),
}
UNEQUAL: dict[str, Data] = {
    "maxwell": EQUAL_RATIO["maxwell"] | {"viscous_poisson": 0.25},
    "three-element": EQUAL_RATIO["three-element"] | {"viscous_poisson": 0.2},
}
LAWS = EQUAL_RATIO | {f"unequal {name}": law for name, law in UNEQUAL.items()}
TIME, STEP = 3.0, 0.5
Patch = Callable[..., tuple[Problem, Simulation]]


def some(first: str, *others: str) -> list[Any]:
    return [first, "unequal three-element", *(pytest.param(name, marks=pytest.mark.exhaustive) for name in others)]


def rate(dimension: int) -> np.ndarray:
    return 0.01 * np.random.default_rng(5).uniform(-1, 1, (dimension, dimension))


def components(tensor: np.ndarray) -> list[float]:
    return [tensor[pair] for pair in ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))]


def strain_rate(gradient: np.ndarray) -> np.ndarray:
    full = np.zeros((3, 3))
    full[: len(gradient), : len(gradient)] = 0.5 * (gradient + gradient.T)
    return full


def ramp_stress(law: Any, strain: np.ndarray) -> np.ndarray:
    trace = np.trace(strain) * np.eye(3)
    return law.channel("bulk").ramp(TIME) * trace + law.channel("shear").ramp(TIME) * 2 * (strain - trace / 3)


@pytest.fixture
def patch(distorted: Any, driven_boundary: Any) -> Patch:
    """Drive the boundary of a distorted box linearly up to TIME."""

    def run(law: Data, cell: str, *, split: str = "bulk-shear", **more: Any) -> tuple[Problem, Simulation]:
        size, cells = BOXES[cell]
        data = box_scene(law, size=size, cells=cells, cell=cell, duration=TIME, **more)
        problem = driven_boundary(distorted(problem_of(data), spacing=0.3), rate(len(size)))
        simulation = run_to(start(problem, step=STEP, split=split), TIME)
        return problem, simulation

    return run


def check_uniform(problem: Problem, simulation: Simulation, stress: np.ndarray, atol: float = 1e-11 * 300) -> None:
    gradient, fields = rate(problem.dimension) * TIME, simulation.fields()
    moved = fields["displacement"][:, : problem.dimension]
    np.testing.assert_allclose(moved, problem.points @ gradient.T, atol=1e-12)
    np.testing.assert_allclose(fields["stress"], np.tile(components(stress), (len(moved), 1)), atol=atol)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("cell", ["line", *BOXES])
@pytest.mark.parametrize("name", some("three-element", "elastic", "generalized-voigt", "unequal maxwell"))
def test_uniform_stress_at_every_order(
    name: str, cell: str, order: int, distorted: Any, affine: Any, point_stress: Any
) -> None:
    """T3: all nodes follow, the stress is uniform at every quadrature point and inner nodes are without force."""
    size, cells = BOXES.get(cell, ([2.0], [4]))
    data = box_scene(LAWS[name], size=size, cells=cells, cell=cell, duration=TIME)
    problem = distorted(problem_of(data), spacing=0.3)
    gradient = rate(len(size))
    model, state = affine(problem, gradient, course=lambda t: t, steps=6, order=order)
    np.testing.assert_allclose(state.u.reshape(-1, len(size)), model.points @ gradient.T * TIME, atol=1e-12)
    body_law = problem.bodies[0].law
    stress = components(ramp_stress(body_law, strain_rate(gradient)))
    if cell == "line":
        stress = [float(body_law.channel("young").ramp(TIME, gradient[0, 0])), *[0.0] * 5]
    found = point_stress(model, state)
    np.testing.assert_allclose(found, np.tile(stress, (len(found), 1)), atol=1e-11 * 300)
    forces = state.internal_force(model)
    assert np.abs(forces[model.free]).max() < 1e-11 * np.abs(forces).max()


@pytest.mark.parametrize("cell", ["triangle", "quad"])
def test_uniform_plane_stress(cell: str, any_law: Data, patch: Patch) -> None:
    """s = r_E/(1 - nu^2) [(1 - nu) e + nu tr(e) I] in the plane, nothing out of it; thickness cancels."""
    nu = 0.35
    problem, simulation = patch(any_law, cell, plane="stress", thickness=0.2)
    strain, plane = strain_rate(rate(2)), np.diag([1.0, 1.0, 0.0])
    scale = problem.bodies[0].law.channel("young").ramp(TIME) / (1 - nu**2)
    check_uniform(problem, simulation, scale * ((1 - nu) * strain + nu * np.trace(strain) * plane))
    assert not simulation.fields()["stress"][:, [2, 4, 5]].any()


def test_memory_stress_is_what_the_arms_hold(patch: Patch) -> None:
    """For a generalized Maxwell law: all stress but the equilibrium spring's and the dashpot's."""
    _, simulation = patch(EQUAL_RATIO["generalized-maxwell"], "triangle")
    nu, strain = 0.35, strain_rate(rate(2))
    beside = (20.0 * TIME + 15.0) / (1 + nu) * (strain + nu / (1 - 2 * nu) * np.trace(strain) * np.eye(3))
    held = simulation.fields()["stress"] - simulation.fields()["memory_stress"]
    np.testing.assert_allclose(held, np.tile(components(beside), (len(held), 1)), atol=1e-9)


@pytest.mark.parametrize("cell", ["triangle", "hex"])
def test_reactions_are_tractions_times_areas(cell: str, patch: Patch) -> None:
    """All boundary forces cancel, and their virial sum f x' is volume times stress (thickness included)."""
    more = {"thickness": 0.2} if cell == "triangle" else {}
    problem, simulation = patch(EQUAL_RATIO["three-element"], cell, **more)
    forces = [-simulation.reactions()[f"support.{item.name}"] for item in problem.prescribed]
    places, d = [problem.points[item.nodes[0]] for item in problem.prescribed], problem.dimension
    volume = np.prod(BOXES[cell][0]) * more.get("thickness", 1.0)
    stress = ramp_stress(problem.bodies[0].law, strain_rate(rate(d)))[:d, :d]
    np.testing.assert_allclose(np.sum(forces, axis=0), 0, atol=1e-10)
    np.testing.assert_allclose(np.transpose(forces) @ places, volume * stress, atol=1e-10)


def test_splits_coincide_for_equal_poisson(patch: Patch, any_law: Data) -> None:
    found = [patch(any_law, "triangle", split=split)[1].fields()["stress"] for split in ("lame", "bulk-shear")]
    np.testing.assert_allclose(found[0], found[1], atol=1e-10)


def test_lame_split_relaxes_each_constant(patch: Patch) -> None:
    """E19: r_K of the papers' rule is r_lambda + 2/3 r_mu: 113.4, 5.00 at 1, 5 s instead of 122.6, 2.25."""
    problem, simulation = patch(UNEQUAL["maxwell"], "triangle", split="lame")
    law = problem.bodies[0].law
    lame, shear, bulk = (law.channel(name) for name in ("lame", "shear", "bulk"))
    np.testing.assert_allclose(lame.relaxation([1, 5]) + 2 / 3 * shear.relaxation([1, 5]), [113.4, 5.0], rtol=1e-3)
    np.testing.assert_allclose(bulk.relaxation([1, 5]), [122.6, 2.25], rtol=2e-3)
    strain = strain_rate(rate(2))
    stress = lame.ramp(TIME) * np.trace(strain) * np.eye(3) + shear.ramp(TIME) * 2 * strain
    check_uniform(problem, simulation, stress, atol=1e-9)
    other = patch(UNEQUAL["maxwell"], "triangle")[1]
    mean, series = (np.mean(run.fields()["stress"][:, :3]) for run in (simulation, other))
    assert abs(mean - series) > 0.03 * abs(series)
