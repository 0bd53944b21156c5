"""Strain of a truss: that of the mesh cells around its nodes, the same average as the finite elements report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheotwin.build import build_problem
from rheotwin.fem import FemSolver
from rheotwin.particles import TrussSolver
from rheotwin.scene import scene_from_data
from rheotwin.solver import checked_options

CELLS = {
    "line": ([2.0], [4]),
    "triangle": ([2.0, 1.0], [4, 2]),
    "quad": ([2.0, 1.0], [4, 2]),
    "tet": ([2.0, 1.0, 1.0], [2, 1, 1]),
    "hex": ([2.0, 1.0, 1.0], [2, 1, 1]),
}


def both(cell: str, move: Callable[[np.ndarray], np.ndarray], **more: Any) -> tuple[Any, np.ndarray, np.ndarray]:
    """Put both solvers into one displaced state; return the points and the strain each reports."""
    size, cells = CELLS[cell]
    data = {
        "schema": 1,
        "dimension": len(size),
        "duration": 1.0,
        "laws": {"gel": {"model": "elastic", "young": 100.0, "poisson": 0.3}},
        "bodies": {
            name: {"shape": "box", "size": size, "cells": cells, "cell": cell, "law": "gel", "density": 1.0}
            for name in ("near", "far")
        },
        **more,
    }
    data["bodies"]["far"]["origin"] = [5.0, *[0.0] * (len(size) - 1)]
    problem = build_problem(scene_from_data(data))
    shift = move(problem.points)
    truss = TrussSolver().start(problem, checked_options(TrussSolver, {}))
    positions = truss.save()["positions"]
    positions[:, : len(size)] += shift
    truss.restore(truss.save() | {"positions": positions})
    fem = FemSolver().start(problem, checked_options(FemSolver, {"step": 0.1}))
    fem.restore(fem.save() | {"u": shift.ravel()})
    return problem, truss.fields()["strain"], fem.fields()["strain"]


@pytest.mark.parametrize("cell", CELLS)
def test_linear_fields_are_exact(cell: str) -> None:
    """Infinitesimal strain of large displacement gradients, too: it is linear in the displacements."""
    d = len(CELLS[cell][0])
    gradient = 0.3 * np.random.default_rng(1).uniform(-1, 1, (d, d))
    _, truss, _ = both(cell, lambda x: x @ gradient.T)
    full = np.zeros((3, 3))
    full[:d, :d] = 0.5 * (gradient + gradient.T)
    expected = [full[pair] for pair in ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))]
    np.testing.assert_allclose(truss, np.tile(expected, (len(truss), 1)), atol=1e-14)


@pytest.mark.parametrize("cell", CELLS)
def test_any_displacement_has_the_same_strain_in_both_solvers(cell: str) -> None:
    _, truss, fem = both(cell, lambda x: 0.01 * np.random.default_rng(2).normal(size=x.shape))
    assert np.abs(fem).max() > 0.01
    np.testing.assert_allclose(truss, fem, atol=1e-14)


@pytest.mark.parametrize("cell", ["triangle", "quad"])
def test_a_sheet_becomes_thinner(cell: str) -> None:
    """Plane stress: e_zz = -nu/(1 - nu) (e_xx + e_yy) in both solvers."""
    _, truss, fem = both(cell, lambda x: 0.01 * np.random.default_rng(2).normal(size=x.shape), plane="stress")
    np.testing.assert_allclose(truss, fem, atol=1e-14)
    np.testing.assert_allclose(fem[:, 2], -0.3 / 0.7 * (fem[:, 0] + fem[:, 1]), atol=1e-15)
