"""Constant area and volume in the truss by constraint stabilisation (spec 5)."""

from typing import Any

import numpy as np
import pytest

from rheotwin.constraints.measure import measure_constraints
from rheotwin.constraints.patches import PatchKind, patches
from rheotwin.errors import RheotwinError
from rheotwin.problem import Problem
from rheotwin.solver import Simulation
from rheotwin.validation.checks.running import FLOOR, box_scene, path, problem_of, run_to, side, start

LAW = {"model": "voigt", "young": 100.0, "poisson": 0.3, "viscosity": 20.0}


def pressed(dimension: int, **body: Any) -> Problem:
    down = path([0.0, 0.8], [[0.0] * dimension, [0.0] * (dimension - 1) + [-0.2]]) | {"interpolation": "smooth"}
    press = {"press": side("top", fix=["xyz"[dimension - 1]], motion=down)}
    unit = {"cells": [6 - dimension] * dimension, "size": [1.0] * dimension, "mass": 1.0}
    return problem_of(box_scene(LAW, supports=FLOOR | press, **unit, **body))


def changes(problem: Problem, simulation: Simulation, kind: PatchKind) -> float:
    rows = measure_constraints(patches(kind, problem.bodies[0].mesh.t.T, problem.points), problem.points)
    return float(np.abs(rows.value(simulation.positions) / rows.rest).max())


@pytest.mark.parametrize(("dimension", "kind"), [(2, "cell"), (2, "node"), (3, "cell"), (3, "node")])
def test_the_volume_of_every_patch_is_kept(dimension: int, kind: PatchKind) -> None:
    problem = pressed(dimension)
    free = start(problem, "truss", step=0.001, kernel="general")
    kept = start(problem, "truss", step=0.001, incompressible=kind, constraint_frequency=100.0)
    for simulation in (free, kept):
        run_to(simulation, 0.8)
    assert changes(problem, free, kind) > 0.02
    # of order h: R = -h s''' dR/ds/(2 om^2) with s''' = 12 s/T^3 = 5 m/s3 and dR/ds = 1 per metre of height, at most
    assert changes(problem, kept, kind) < 2.0 * 0.001 * 5.0 / (2.0 * 100.0**2) * 40.0
    found = kept.statistics()
    assert found["constraint_rank"] <= found["constraints"] and found["constraint_iterations_per_step"] > 0.0


def test_constraints_per_element_warn_of_locking_and_lattices_have_no_simplices() -> None:
    with pytest.warns(UserWarning, match=r"solvers\.truss\.incompressible: seed mode .* expect locking"):
        start(pressed(2), "truss", incompressible="element")
    with pytest.raises(RheotwinError, match="need triangles"):
        start(pressed(2, cell="quad"), "truss", incompressible="cell")
