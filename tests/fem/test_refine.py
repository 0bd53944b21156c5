"""Refinement by error, from a scene file to its record: goal, parts, memory, restarts, and what it refuses.

Finer cells next to coarser ones: nodes on their edges follow, so that nothing shows where the mesh changes.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rheotwin.constraints.motion import Motion
from rheotwin.errors import RheotwinError
from rheotwin.fem.options import FemOptions
from rheotwin.fem.refine import refined_problem
from rheotwin.meshing import element_measures
from rheotwin.problem import Prescribed, Problem
from rheotwin.validation.checks.running import ELASTIC, box_scene, problem_of, run_to, side, start
from tests.conftest import Data, command, cut_off, write_scene

BLOCK: Data = {"shape": "box", "size": [0.2, 0.1], "cells": [4, 2], "cell": "triangle", "law": "gel", "density": 1e3}
PUSHED: Data = {
    "schema": 1,
    "dimension": 2,
    "duration": 0.2,
    "laws": {
        "gel": {"model": "elastic", "young": 1e4, "poisson": 0.3},
        "dough": {
            "model": "three-element",
            "young": 2e4,
            "poisson": 0.3,
            "voigt_viscosity": 2e3,
            "series_viscosity": 5e3,
        },
    },
    "bodies": {
        "block": {"shape": "box", "size": [0.2, 0.1], "cells": [4, 2], "cell": "triangle", "law": "gel", "density": 1e3}
    },
    "supports": {
        "floor": {"body": "block", "where": {"side": "bottom"}},
        "press": {
            "body": "block",
            "where": {"box": {"x": [0.05, 0.1], "y": [0.1, 0.1]}},
            "motion": {"times": [0.0, 0.2], "displacement": [[0.0, 0.0], [0.0, -0.005]]},
        },
    },
    "output": {"interval": 0.1, "checkpoint_interval": 0.1},
    "solvers": {"fem": {"stepper": "static", "step": 0.1, "order": 2}},
}
PART: Data = {"half": {"where": {"box": {"x": [0.1, 0.2]}}, "law": "dough"}}


def pushed(**options: Any) -> Data:
    fem = {"stepper": "quasi-static", "step": 0.05, **options}
    return PUSHED | {"bodies": {"block": BLOCK | {"parts": PART}}, "solvers": {"fem": fem}}


def test_a_scene_is_refined_until_its_goal_and_goes_on_after_a_stop(own_folder: Path) -> None:
    scene = write_scene(pushed())
    said = command("run", scene, "--refine", "until 4 %", "--output", "whole")
    assert said.code == 0, said.err
    manifest = json.loads(Path("whole/manifest.json").read_text())
    found = manifest["statistics"]["refinement"]
    assert found["reached"] and found["estimated_error"] <= 0.04 < found["rounds"][0]["estimated_error"]
    assert len(found["rounds"]) >= 3 and found["rounds"][-1]["unknowns"] == manifest["statistics"]["unknowns"]
    assert manifest["solver"]["options"]["refine"] == "until 4 %" and manifest["mesh"]["cells"] > 16
    command("run", scene, "--refine", "until 4 %", "--output", "again")
    cut_off(Path("again"))
    assert command("run", "--resume", "again").code == 0
    whole, again = (np.genfromtxt(f"{name}/probes.csv", delimiter=",", skip_header=1) for name in ("whole", "again"))
    np.testing.assert_array_equal(again, whole)


def test_parts_and_supports_go_on_to_the_halves() -> None:
    start = problem_of(pushed())
    options = FemOptions(stepper="quasi-static", step=0.1, refine="until 6 %")
    problem = refined_problem(start, options)
    (old,), (new,) = start.bodies, problem.bodies
    assert new.mesh.nelements > 2 * old.mesh.nelements
    for body in (old, new):
        np.testing.assert_allclose(element_measures(body.mesh)[body.parts[0].cells].sum(), 0.01, rtol=1e-12)
        assert body.mesh.p[0, body.mesh.t[:, body.parts[0].cells]].min() == 0.1
    points = problem.points
    press = next(item for item in problem.prescribed if item.name == "press")
    on_top = (points[:, 1] == 0.1) & (points[:, 0] >= 0.05) & (points[:, 0] <= 0.1)
    np.testing.assert_array_equal(np.sort(press.nodes), np.flatnonzero(on_top))
    assert len(press.nodes) > 2  # cells are halved at its edge, where the stress is singular
    np.testing.assert_allclose(problem.masses.sum(), start.masses.sum(), rtol=1e-12)


def test_it_says_when_memory_ends_it_and_what_it_cannot_refine() -> None:
    options = FemOptions(stepper="static", step=0.2, order=2, refine="until 0.5 %", refine_memory=201.0)
    with pytest.warns(UserWarning, match=r"% of error are left by estimate on \d+ unknowns.*refine_memory = 201"):
        problem = refined_problem(problem_of(PUSHED), options)
    assert problem.refinement is not None and not problem.refinement["reached"]
    squares = PUSHED | {"bodies": {"block": BLOCK | {"cell": "quad"}}}
    with pytest.raises(RheotwinError, match=r"cells of kind quad \(bodies.block\) would leave hanging nodes"):
        refined_problem(problem_of(squares), options)
    for wrong in ({"stepper": "midpoint"}, {"stepper": "static", "refine": "1 %"}):
        with pytest.raises(ValueError, match="refine"):
            FemOptions.model_validate({"refine": "until 1 %", **wrong})


FLAT = [{"x": [0.5, 1.5], "y": [0.5, 1.5], "levels": 2}]
GRADED: dict[str, tuple[list[float], list[int], list[Data]]] = {
    "quad": ([2.0, 1.5], [4, 3], FLAT),
    "triangle": ([2.0, 1.5], [4, 3], FLAT),
    "hex": ([1.0, 1.0, 1.0], [3, 3, 2], [{"x": [0.0, 0.6]}]),
    "tet": ([1.0, 1.0, 1.0], [2, 2, 2], [{"x": [0.0, 0.5]}]),
}


def graded(cell: str, **more: Any) -> Data:
    size, cells, finer = GRADED[cell]
    data = box_scene(ELASTIC, cells=cells, size=size, cell=cell, duration=1.0, **more)
    return data | {"bodies": {"block": data["bodies"]["block"] | {"finer": finer}}}


def stretched(problem: Problem, size: list[float], gradient: np.ndarray) -> Problem:
    """Distort the mesh, edges with nodes on them as a whole, and let the nodes of its sides follow x + gradient x t."""
    (body,), points = problem.bodies, problem.points
    follows, kept = body.hanging.followed(len(points))
    outside = np.any(np.isclose(points, 0.0) | np.isclose(points, size), axis=1)[kept]
    moves = 0.03 * np.random.default_rng(7).uniform(-1, 1, (len(kept), len(size)))
    points = points + follows @ np.where(outside[:, None], 0.0, moves)
    held = (
        Prescribed(
            f"node-{node}",
            np.array([node]),
            tuple(range(len(size))),
            Motion(np.array([0.0, 1.0]), np.array([0.0 * points[node], gradient @ points[node]])),
        )
        for node in kept[outside]
    )
    body = replace(body, mesh=replace(body.mesh, doflocs=np.ascontiguousarray(points.T)))
    return replace(problem, points=points, bodies=(body,), prescribed=tuple(held))


@pytest.mark.parametrize(
    ("options", "plane"),
    [
        ({}, {}),
        ({"history": "quadrature"}, {"plane": "stress", "thickness": 0.2}),
        ({"kinematics": "total-lagrangian"}, {}),
        ({"kinematics": "total-lagrangian"}, {"plane": "stress"}),
    ],
)
@pytest.mark.parametrize("cell", GRADED)
def test_uniform_stress_where_fine_cells_meet_coarse_ones(cell: str, options: Data, plane: Data) -> None:
    size = GRADED[cell][0]
    if plane and len(size) == 3:
        return
    gradient = 0.03 * np.random.default_rng(5).uniform(-1, 1, (len(size), len(size)))
    problem = stretched(problem_of(graded(cell, **plane)), size, gradient)
    assert len(problem.bodies[0].hanging) > 8
    fields = run_to(start(problem, stepper="quasi-static", step=0.5, **options), 1.0).fields()
    moved, stress = fields["displacement"][:, : len(size)], fields["stress"]
    np.testing.assert_allclose(moved, problem.points @ gradient.T, atol=1e-12)
    np.testing.assert_allclose(stress, np.tile(stress[0], (len(stress), 1)), atol=1e-12 * np.abs(stress).max())


@pytest.mark.parametrize("cell", ["quad", "hex"])
def test_weights_loads_and_reactions_of_finer_cells_balance(cell: str) -> None:
    """Pulled down by its weight and to the side by a load on its top, a body rests on its floor with both, at rest."""
    d = len(GRADED[cell][0])
    down, aside = np.eye(d)[-1] * -9.0, np.eye(d)[0] * 3.0
    pulled = graded(
        cell,
        density=2.0,
        gravity=down.tolist(),
        supports={"floor": side("bottom")},
        forces={"drag": side("top", total=aside.tolist())},
    )
    problem = problem_of(pulled)
    found = run_to(start(problem, stepper="quasi-static", step=0.5), 1.0).reactions()["support.floor"]
    np.testing.assert_allclose(found, problem.masses.sum() * down + aside, rtol=1e-9, atol=1e-9)
    follows, kept = problem.bodies[0].hanging.followed(len(problem.points))
    implicit, explicit = start(problem, stepper="cayley", step=1e-3), start(problem, stepper="central-difference")
    for simulation in (implicit, explicit):
        run_to(simulation, 0.1)
        moved = simulation.fields()["displacement"]
        np.testing.assert_allclose(moved, follows @ moved[kept], atol=1e-15)
    energy = implicit.energy()
    assert abs(energy["defect"]) < 1e-12 * energy["external"]
    near = np.abs(explicit.positions - implicit.positions).max()
    assert near < 0.02 * np.abs(implicit.positions - problem.points).max()


def test_what_hanging_nodes_do_not_know_is_refused() -> None:
    problem = problem_of(graded("quad", supports={"floor": side("bottom")}))
    for options in ({"order": 2}, {"formulation": "b-bar"}):
        with pytest.raises(RheotwinError, match=r"bodies.block.finer: .* leave `finer` out"):
            start(problem, **options)
    half = {"body": "block", "where": {"box": {"x": [0.0, 0.3]}}}
    with pytest.raises(RheotwinError, match=r"supports.half: node \d+ hangs on an edge of a coarser cell"):
        data = graded("quad", supports={"half": half})
        data["bodies"]["block"]["finer"] = [{"x": [0.0, 1.0], "y": [0.0, 0.5]}]
        start(problem_of(data))
    steep = graded("tet", supports={"floor": side("bottom")})
    steep["bodies"]["block"]["finer"] = [{"x": [0.0, 0.5], "levels": 2}]
    with pytest.raises(RheotwinError, match="a layer of cells between the levels"):
        start(problem_of(steep))
    with pytest.raises(RheotwinError, match="has finer cells already"):
        refined_problem(problem, FemOptions(stepper="static", refine="until 5 %"))
