"""The largest stable step of a pure dashpot network of unit masses, from its geometry alone (R10)."""

from __future__ import annotations

from itertools import product
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rheotwin.meshing import tet_grid, truss_edges
from rheotwin.particles.stability import edge_matrix, largest_eigenvalue
from rheotwin.particles.steppers.bounds import ModeLaw, explicit_limit
from rheotwin.problem import Problem
from rheotwin.validation.checks.check import Measurement, check
from rheotwin.validation.checks.running import HELD, Data, box_scene, problem_of
from rheotwin.validation.checks.truss_runs import begin

Array = NDArray[np.float64]

DASHPOT: Data = {"model": "voigt", "young": 0.0, "viscosity": 1.0, "viscous_poisson": 0.0, "poisson": 0.0}
RULES: dict[str, Literal["rk4", "euler"]] = {"RK4": "rk4", "Euler": "euler"}
SYSTEMS: dict[str, Data] = {
    "wall": {"cells": [1], "supports": HELD},
    "pair": {"cells": [1]},
    "chain": {"cells": [300]},
    "17x7": {"cells": [16, 6], "pattern": "se-nw"},
    "7x7x6": {"cells": [6, 6, 5]},
    "15x15x16": {"cells": [14, 14, 15]},
}
"""Unit edges along the axes; one diagonal per square, five tetrahedra per cube."""


def scene(cells: list[int], **more: object) -> Data:
    """Return the scene of a system."""
    mass = float(np.prod(np.array(cells) + 1))
    size = [float(count) for count in cells]
    return box_scene(DASHPOT, size=size, cells=cells, mass=mass, mass_sharing="equal", duration=1.0, **more)


def eigenvalue(problem: Problem) -> float:
    """Return the largest eigenvalue of the unit-mass edge Laplacian of a problem's truss."""
    points, edges = problem.points, truss_edges(problem.bodies[0].mesh).astype(np.int64)
    free = (problem.owners < 0).ravel()
    return largest_eigenvalue(edge_matrix(points, edges, np.ones(len(edges))), np.ones(points.size), free)


def infinite() -> float:
    """Return the same of an endless lattice: Bloch waves of a cell of 2 x 2 x 2 cubes, over a grid of wave vectors."""
    line = np.arange(5.0)
    mesh = tet_grid(line, line, line)
    ends = mesh.p.T[truss_edges(mesh).astype(np.int64)]
    ends = ends[(ends.min(axis=1) < 2.0).all(axis=1)]  # edges that begin in the first cell: each class once
    wrapped = np.mod(ends, 2.0).astype(np.int64)
    node = wrapped @ np.array([1, 2, 4])
    shift = (ends - wrapped)[:, 1] - (ends - wrapped)[:, 0]
    along = (ends[:, 1] - ends[:, 0]) / np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)[:, None]
    blocks, largest = along[:, :, None] * along[:, None, :], 0.0
    for wave in product(np.linspace(0.0, 0.5 * np.pi, 5), repeat=3):
        matrix = np.zeros((8, 3, 8, 3), dtype=complex)
        for (i, j), block, turn in zip(node, blocks, np.exp(1j * (shift @ np.array(wave))), strict=True):
            matrix[i, :, i] += block
            matrix[j, :, j] += block
            matrix[i, :, j] -= turn * block
            matrix[j, :, i] -= np.conj(turn) * block
        largest = max(largest, float(np.linalg.eigvalsh(matrix.reshape(24, 24))[-1]))
    return largest


def stable_steps() -> Measurement:
    """Compute R10: eta T/m from the advisor of the solver, and the eigenvalue behind it."""
    found = {}
    for name, system in SYSTEMS.items():
        data = scene(**system)
        found[f"{name}, lambda"] = eigenvalue(problem_of(data))
        for rule, stepper in RULES.items():
            found[f"{name}, {rule}"] = begin(data, stepper=stepper).stable_step
    found["infinite, lambda"] = limit = infinite()
    none = np.zeros(0)
    for rule, stepper in RULES.items():
        found[f"infinite, {rule}"] = explicit_limit(stepper, ModeLaw(0.0, 1.0, none, none), np.array([limit])).step
    return Measurement(found)


CHECKS = (check("truss.R10", stable_steps, name="stable-dashpots", solvers=("truss",)),)
