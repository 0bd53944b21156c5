"""Direct solvers: the same answers from each, and a sentence where one is missing."""

import sys
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix, diags

from rheotwin.errors import InputFaults, RheotwinError
from rheotwin.fem.linear import PARDISO_PAYS, factorise
from rheotwin.validation.checks.running import ELASTIC, RHEOLOGICAL, run_to, start
from rheotwin.validation.checks.scenes import press_scene


@pytest.fixture
def matrix() -> csr_matrix:
    """A well-conditioned SPD matrix of 200 unknowns with an irregular pattern."""
    root = np.random.default_rng(0).normal(size=(200, 200)) * (np.random.default_rng(1).random((200, 200)) < 0.03)
    return csr_matrix(root @ root.T + 5 * np.eye(200))


@pytest.mark.parametrize("choice", ["splu", "pardiso", "auto"])
def test_solves(choice: Any, matrix: csr_matrix) -> None:
    if choice == "pardiso":
        pytest.importorskip("pypardiso")
    factor = factorise(matrix, choice)
    assert choice in ("auto", factor.solver)
    for _ in range(2):
        expected = np.random.default_rng(2).normal(size=200)
        np.testing.assert_allclose(factor.solve(matrix @ expected), expected, atol=1e-12)


def test_two_factors_live_side_by_side(matrix: csr_matrix) -> None:
    first, second = factorise(matrix), factorise(diags(np.arange(1.0, 201.0)).tocsr())
    ones = np.ones(200)
    np.testing.assert_allclose(second.solve(ones), 1 / np.arange(1.0, 201.0), rtol=1e-12)
    np.testing.assert_allclose(first.solve(matrix @ ones), ones, atol=1e-12)


def test_auto_takes_pardiso_for_large_systems_only(matrix: csr_matrix) -> None:
    """On 238 unknowns a pardiso solve takes 20 to 40 times as long as SuperLU's, on 15,000 they are even."""
    pytest.importorskip("pypardiso")
    assert factorise(matrix).solver == "splu"
    large = factorise(diags(np.arange(1.0, PARDISO_PAYS + 2.0)).tocsr())
    assert large.solver == "pardiso"
    np.testing.assert_allclose(large.solve(np.ones(PARDISO_PAYS + 1))[:2], [1.0, 0.5], rtol=1e-14)


def test_missing_pardiso_is_said_in_words(matrix: csr_matrix, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypardiso", None)
    with pytest.raises(RheotwinError, match=r'pardiso is not installed; pip install "rheotwin\[pardiso\]" or .*splu'):
        factorise(matrix, "pardiso")
    assert factorise(diags(np.ones(PARDISO_PAYS + 1)).tocsr(), "auto").solver == "splu"


def test_runs_agree() -> None:
    pytest.importorskip("pypardiso")
    found = []
    for choice in ("splu", "pardiso"):
        simulation = start(press_scene(RHEOLOGICAL, mass=30.0), step=0.2, linear_solver=choice, mass="consistent")
        run_to(simulation, 12.0)
        assert simulation.statistics()["linear_solver"] == choice
        found.append(simulation)
    np.testing.assert_allclose(found[0].positions, found[1].positions, atol=1e-9)
    np.testing.assert_allclose(found[0].reactions()["support.floor"], found[1].reactions()["support.floor"], atol=1e-6)


def test_unknown_solver_lists_what_exists() -> None:
    with pytest.raises(InputFaults, match=r"solvers\.fem\.linear_solver: .*auto, splu, pardiso, cholmod or amg"):
        start(press_scene(ELASTIC), linear_solver="umfpack")
