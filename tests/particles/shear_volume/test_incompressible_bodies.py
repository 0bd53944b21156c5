"""Constant volume in `shear-volume`: in space, alone in it, on other meshes, at a Poisson ratio of one half."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheotwin.constraints.measure import measure_constraints
from rheotwin.constraints.patches import PatchKind, patches
from rheotwin.errors import InputFaults, RheotwinError
from rheotwin.fem.solver import FemSolver
from rheotwin.particles.shear_volume.solver import ShearVolumeSimulation
from rheotwin.particles.truss import TrussSolver
from rheotwin.problem import Problem
from rheotwin.solver import Simulation, check_capabilities, checked_options

Start = Callable[..., ShearVolumeSimulation]
Make = Callable[..., Problem]
HALF: dict[str, Any] = {"model": "voigt", "young": 3.0, "viscosity": 1.5, "poisson": 0.5}
"""Shear modulus one, shear viscosity one half."""
FLOOR: dict[str, Any] = {"floor": {"body": "block", "where": {"side": "bottom"}}}
TETS: dict[str, Any] = {"size": [4.0] * 3, "cells": [4] * 3, "cell": "tet", "pattern": "six"}


def pressed(make: Make, dimension: int, depth: float, **body: Any) -> Problem:
    """Return a body, four high, under a plate that comes down in ten seconds."""
    down = [[0.0] * dimension, [0.0] * (dimension - 1) + [-depth]]
    upright = np.eye(dimension)[-1]
    plate = {"shape": "plane", "center": (4.0 * upright).tolist(), "normal": (-upright).tolist()}
    tools = {"plate": plate | {"motion": {"times": [0.0, 10.0], "displacement": down}}}
    return make(dimension, HALF, body=body, supports=FLOOR, tools=tools, duration=10.0)


def error_of(problem: Problem, simulation: Simulation, kind: PatchKind) -> np.ndarray:
    """Return R over the rest measure of all patches."""
    rows = measure_constraints(patches(kind, problem.bodies[0].mesh.t.T, problem.points), problem.points)
    return np.asarray(rows.value(np.ascontiguousarray(simulation.positions)) / rows.rest)


@pytest.mark.parametrize(("body", "kind"), [(TETS, "cell"), (TETS | {"pattern": "five"}, "cell"), (TETS, "node")])
def test_a_cube_keeps_its_volumes_under_a_press(
    body: dict[str, Any], kind: PatchKind, make_problem: Make, start: Start
) -> None:
    problem = pressed(make_problem, 3, 1.2, **body)
    simulation = start(problem, step=0.02, incompressible=kind)
    simulation.advance(10.0, 10**6)
    assert simulation.positions[:, 2].max() == pytest.approx(2.8, abs=1e-3)
    assert np.abs(error_of(problem, simulation, kind)).max() < 1e-6
    assert simulation.statistics()["largest_volume_error"] < 1e-6
    reactions = simulation.reactions()
    assert reactions["tool.plate"][2] == pytest.approx(-reactions["support.floor"][2], rel=0.01)


def test_unstructured_meshes_have_cells_and_nodes(make_problem: Make, start: Start) -> None:
    for kind in ("cell", "node"):
        body = {"shape": "sphere", "origin": [0.0, 2.0], "radius": 2.0, "size": None, "cells": 4, "cell": "triangle"}
        low = {"floor": {"body": "block", "where": {"box": {"x": [-1.0, 1.0], "y": [-0.1, 0.2]}}}}
        problem = pressed(make_problem, 2, 1.0, **body)
        problem = make_problem(
            2, HALF, body=body, supports=low, tools={"plate": problem.scene.tools["plate"].model_dump()}, duration=10.0
        )
        simulation = start(problem, step=0.01, incompressible=kind)
        simulation.advance(10.0, 10**6)
        assert np.abs(error_of(problem, simulation, kind)).max() < 1e-6  # type: ignore[arg-type]


@pytest.fixture
def tumbling(make_problem: Make, start: Start) -> tuple[Problem, ShearVolumeSimulation]:
    """A cube of six tets without supports, spinning, stretched and breathing, 0.2 % too large."""
    body = {"size": [1.0] * 3, "cells": [1] * 3, "cell": "tet", "pattern": "six"}
    problem = make_problem(3, HALF, body=body, duration=4.0)
    simulation = start(problem, step=0.002, incompressible="cell", constraint_frequency=10.0, volume_tolerance=1e-13)
    state = simulation.save()
    moves = np.array([[0.3, -0.8, 0.2], [0.5, 0.1, -0.4], [-0.6, 0.3, 0.2]])
    state["positions"] *= 1.002 ** (1.0 / 3.0)
    state["velocities"] += state["positions"] @ moves.T + [0.1, 0.2, -0.1]
    simulation.restore(state)
    return problem, simulation


def test_momenta_stay(tumbling: tuple[Problem, ShearVolumeSimulation]) -> None:
    problem, simulation = tumbling
    mass = problem.masses[:, None]
    before = [
        (mass * simulation.velocities).sum(axis=0),
        np.cross(simulation.positions, mass * simulation.velocities).sum(0),
    ]
    simulation.advance(4.0, 10**6)
    after = [
        (mass * simulation.velocities).sum(axis=0),
        np.cross(simulation.positions, mass * simulation.velocities).sum(0),
    ]
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-12)


def test_what_is_off_dies_out_critically(tumbling: tuple[Problem, ShearVolumeSimulation]) -> None:
    """R'' + 2 om R' + om^2 R = 0 with the Q of E8: in R and R' there is no trace of how the body tumbles."""
    problem, simulation = tumbling
    om = 10.0
    rows = measure_constraints(patches("cell", problem.bodies[0].mesh.t.T, problem.points), problem.points)
    x = np.ascontiguousarray(simulation.positions)
    first = float(rows.value(x)[0])
    rate = float((rows.gradient(x) @ simulation.velocities.ravel())[0])
    for time in (0.1, 0.2, 0.5):
        simulation.advance(time, 10**6)
        exact = (first + (rate + om * first) * time) * np.exp(-om * time)
        found = float(rows.value(np.ascontiguousarray(simulation.positions))[0])
        # semi-implicit, order one: om h = 0.02 of what there was
        assert found == pytest.approx(exact, abs=0.02 * max(abs(first), abs(rate) / om))
    simulation.advance(4.0, 10**6)
    # half of Q missing would leave Q/(2 om^2), some 1e-3; what is left is of third order, h det(grad v)/om^2
    assert np.abs(error_of(problem, simulation, "cell")).max() < 1e-7


def test_one_half_is_the_limit_of_the_law(make_problem: Make, start: Start) -> None:
    """G = E/3 and G_vis = E_vis/3 (E10): the volume law plays no part."""
    runs = []
    for law in (
        HALF,
        HALF | {"shear": 1.0, "bulk": 7.0, "young": None, "poisson": None, "viscosity": {"shear": 0.5, "bulk": 2.0}},
    ):
        problem = make_problem(
            2,
            {k: v for k, v in law.items() if v is not None},
            body={"cell": "triangle"},
            supports=FLOOR,
            gravity=[0.1, 0.0],
        )
        simulation = start(problem, step=0.01, incompressible="cell")
        simulation.advance(1.0, 10**6)
        runs.append(simulation.positions)
    np.testing.assert_allclose(runs[0], runs[1], rtol=0, atol=1e-14)
    assert np.abs(runs[0] - problem.points).max() > 1e-3


def test_pressures_carry_the_weight(make_problem: Make, start: Start) -> None:
    """A column in a rigid groove carries its weight by pressure alone: rho g (H - y), both signs and amount."""
    sides = {side: {"body": "block", "where": {"side": side}, "fix": ["x"]} for side in ("left", "right")}
    body = {"size": [2.0, 4.0], "cells": [4, 8], "cell": "triangle"}
    problem = make_problem(2, HALF, body=body, supports=FLOOR | sides, gravity=[0.0, -0.01], duration=60.0)
    density = problem.masses.sum() / 8.0
    simulation = start(problem, step=0.02, incompressible="cell")
    simulation.advance(60.0, 10**6)
    stress, height = simulation.fields()["stress"], problem.points[:, 1]
    inside = (height > 0.1) & (height < 3.9) & (np.abs(problem.points[:, 0] - 1.0) < 0.9)
    # the mean of the six triangles around a node is that of the cells left and right, above and below
    expected = np.repeat(-0.01 * density * (4.0 - height[inside])[:, None], 3, axis=1)
    np.testing.assert_allclose(stress[inside][:, :3], expected, atol=0.01 * 0.01 * 4.0)


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        ("shear-volume", {}, "poisson = 0.5 leaves no finite bulk modulus: choose less than 0.5, or options that keep"),
        ("fem", {}, r"0.5 is incompressible, which needs a pressure space: use formulation = \"taylor-hood\""),
        ("fem", {"formulation": "taylor-hood"}, "poisson = 0.5 leaves no finite bulk modulus"),
        ("fem", {"kinematics": "total-lagrangian", "stepper": "quasi-static"}, "incompressible"),
    ],
)
def test_one_half_is_refused_where_nothing_keeps_volumes(
    name: str, options: dict[str, Any], sentence: str, make_problem: Make, start: Start
) -> None:
    problem = make_problem(2, HALF, body={"cell": "triangle"}, supports=FLOOR)
    with pytest.raises(RheotwinError, match=sentence):
        if name == "fem":
            FemSolver().start(problem, checked_options(FemSolver(), options))
        else:
            start(problem, **options)


def test_one_half_is_beyond_a_truss_and_within_mixed_elements(make_problem: Make) -> None:
    problem = make_problem(2, HALF, body={"cell": "triangle"}, supports=FLOOR, gravity=[0.1, 0.0])
    with pytest.raises(
        InputFaults, match=r"0\.5 keeps the volume, which is beyond this solver; choose less, or the solver"
    ):
        check_capabilities(TrussSolver(), problem)
    solver = FemSolver()
    check_capabilities(solver, problem)
    options = {"formulation": "taylor-hood", "incompressible": True, "step": 0.1, "stepper": "quasi-static"}
    simulation = solver.start(problem, checked_options(solver, options))
    simulation.advance(1.0, 100)
    assert 1e-3 < np.abs(simulation.positions - problem.points).max() < 1.0


@pytest.mark.parametrize(
    ("dimension", "body", "sentence"),
    [
        (2, {"cell": "quad"}, "constant volumes need triangles"),
        (3, {"cell": "tet"}, '"pair" means the two triangles of a square; use "cell" in three dimensions'),
    ],
)
def test_pairs_are_pairs_of_triangles(
    dimension: int, body: dict[str, Any], sentence: str, make_problem: Make, start: Start
) -> None:
    with pytest.raises(RheotwinError, match=sentence):
        start(make_problem(dimension, HALF, body=body, supports=FLOOR), incompressible="pair")
