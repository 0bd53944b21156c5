"""Constant area and volume in the truss by constraint stabilisation (spec 5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheotwin.constraints.measure import measure_constraints
from rheotwin.constraints.patches import patches
from rheotwin.errors import RheotwinError
from rheotwin.problem import Problem
from rheotwin.solver import Simulation

LAW = {"model": "voigt", "young": 100.0, "poisson": 0.3, "viscosity": 20.0}


@pytest.fixture
def pressed() -> Callable[..., dict[str, Any]]:
    """Return a block on a fixed bottom whose top comes down by a fifth of its height."""

    def build(dimension: int, **body: Any) -> dict[str, Any]:
        down = [0.0] * (dimension - 1) + [-0.2]
        motion = {"times": [0.0, 0.8], "displacement": [[0.0] * dimension, down], "interpolation": "smooth"}
        box = {"size": [1.0] * dimension, "cells": [6 - dimension] * dimension, "law": "stuff", "mass": 1.0}
        return {
            "schema": 1,
            "dimension": dimension,
            "duration": 1.0,
            "laws": {"stuff": LAW},
            "bodies": {"block": {"shape": "box", **box, **body}},
            "supports": {
                "floor": {"body": "block", "where": {"side": "bottom"}},
                "press": {"body": "block", "where": {"side": "top"}, "fix": ["xyz"[dimension - 1]], "motion": {
                    "times": motion["times"], "interpolation": "smooth", "displacement": motion["displacement"]}},
            },
            "output": {"interval": 1.0},
        }  # fmt: skip

    return build


def changes(problem: Problem, simulation: Simulation, kind: str) -> np.ndarray:
    """Return R of every patch over its rest measure."""
    constraints = measure_constraints(patches(kind, problem.bodies[0].mesh.t.T, problem.points), problem.points)
    return np.asarray(np.abs(constraints.value(simulation.positions) / constraints.rest))


@pytest.mark.parametrize(("dimension", "kind"), [(2, "cell"), (2, "node"), (3, "cell"), (3, "node")])
def test_the_volume_of_every_patch_is_kept(
    dimension: int,
    kind: str,
    pressed: Callable[..., Any],
    problem_of: Callable[..., Problem],
    start: Callable[..., Simulation],
) -> None:
    problem = problem_of(pressed(dimension))
    free, kept = (
        start("truss", problem, step=0.001, **options)
        for options in ({"kernel": "general"}, {"incompressible": kind, "constraint_frequency": 100.0})
    )
    for simulation in (free, kept):
        simulation.advance(0.8, 10**6)
    assert changes(problem, free, kind).max() > 0.02
    # of order h: R = -h s''' dR/ds/(2 om^2) with s''' = 12 s/T^3 = 5 m/s3 and dR/ds = 1 per metre of height, at most
    assert changes(problem, kept, kind).max() < 2.0 * 0.001 * 5.0 / (2.0 * 100.0**2) * 40.0
    found = kept.statistics()
    assert found["constraint_rank"] <= found["constraints"]
    assert found["constraint_iterations_per_step"] > 0.0


def test_constraints_per_element_warn_of_locking(pressed: Callable[..., Any], start: Callable[..., Simulation]) -> None:
    with pytest.warns(UserWarning, match=r"solvers\.truss\.incompressible: seed mode .* expect locking"):
        start("truss", pressed(2), incompressible="element")


def test_lattices_have_no_simplices(pressed: Callable[..., Any], start: Callable[..., Simulation]) -> None:
    with pytest.raises(RheotwinError, match="need triangles"):
        start("truss", pressed(2, cell="quad"), incompressible="cell")
