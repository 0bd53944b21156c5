"""Refinement by error, from a scene file to its record: goal, parts, memory, restarts, and what it refuses."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.fem.options import FemOptions
from rheotwin.fem.refine import refined_problem
from rheotwin.meshing import element_measures
from rheotwin.validation.checks.running import problem_of
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
