"""Patch test: a distorted mesh whose boundary follows u = H x f(t) deforms and is stressed uniformly (T3)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints import Motion
from rheotwin.problem import Prescribed, Problem
from rheotwin.validation.checks.check import Measurement, check
from rheotwin.validation.checks.laws import RHEOLOGICAL
from rheotwin.validation.checks.running import Data, box_scene, problem_of, run_to, start

Array = NDArray[np.float64]

GRADIENT = np.array([[0.02, 0.013, -0.007], [-0.005, 0.011, 0.017], [0.009, -0.004, -0.015]])
"""H at the end of the run."""
CELLS, SHAKEN, END = 3, 0.2, 1.0
"""Cells a side; share of the spacing by which inner nodes are moved; end of the run [s]."""


def distorted_problem(cell: str, law: Data = RHEOLOGICAL) -> Problem:
    """Return the unit square or cube with inner nodes moved at random and every boundary node driven by H."""
    dimension = 3 if cell in ("tet", "hex") else 2
    regular = problem_of(box_scene(law, size=[1.0] * dimension, cells=[CELLS] * dimension, duration=END, cell=cell))
    body, points = regular.bodies[0], regular.points.copy()
    boundary = body.mesh.boundary_nodes()
    inner = np.setdiff1d(np.arange(len(points)), boundary)
    points[inner] += SHAKEN / CELLS * np.random.default_rng(5).uniform(-1.0, 1.0, (len(inner), dimension))
    mesh = replace(body.mesh, doflocs=np.ascontiguousarray(points.T))
    gradient = GRADIENT[:dimension, :dimension]
    driven = tuple(
        Prescribed(
            f"node-{node}",
            np.array([node]),
            tuple(range(dimension)),
            Motion(np.array([0.0, END]), np.stack([np.zeros(dimension), gradient @ points[node]])),
        )
        for node in boundary
    )
    return replace(regular, points=points, bodies=(replace(body, mesh=mesh),), prescribed=driven)


def patch(cell: str) -> Measurement:
    """Return how far displacements and stresses are from uniform, relative to their size."""
    problem = distorted_problem(cell)
    dimension = problem.dimension
    simulation = start(problem, step=0.25 * END)
    run_to(simulation, END)
    moved = simulation.positions - problem.points
    exact = problem.points @ GRADIENT[:dimension, :dimension].T
    stress = simulation.fields()["stress"]
    forces = simulation.reactions()
    total = np.abs(sum(forces.values())).max() / max(np.abs(force).max() for force in forces.values())
    values = {
        "displacement": float(np.abs(moved - exact).max() / np.abs(exact).max()),
        "stress": float(np.ptp(stress, axis=0).max() / np.abs(stress).max()),
        "sum of the boundary forces": float(total),
    }
    return Measurement(values)


CHECKS = tuple(
    check(f"fem.T3/{cell}", partial(patch, cell), name=f"patch-{cell}", quick=True)
    for cell in ("triangle", "quad", "tet", "hex")
)
