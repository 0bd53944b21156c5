"""Bodies whose particles cannot move sensibly: refused in one sentence that names the place and the remedy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.meshing import build_mesh
from rheotwin.particles.network import build_network
from rheotwin.particles.rest_check import check_network, check_rest_shape

LAW = {"model": "three-element", "young": 12.0, "poisson": 0.25, "voigt_viscosity": 0.5, "series_viscosity": 6.0}


@pytest.fixture
def with_mesh(make_problem: Callable[..., Any]) -> Callable[..., Any]:
    """Return a 2D problem whose triangle mesh is changed after every check of the scene."""

    def build(points: np.ndarray, cells: np.ndarray) -> Any:
        problem = make_problem(2, LAW, body={"size": [1.0, 1.0], "cells": [1, 1]})
        body = replace(problem.bodies[0], mesh=build_mesh("triangle", points.T, cells.T))
        count = len(points)
        return replace(problem, bodies=(body,), points=points, masses=np.ones(count))

    return build


def refusal(call: Callable[[], Any], *parts: str) -> None:
    with pytest.raises(RheotwinError) as caught:
        call()
    sentence = str(caught.value)
    assert "\n" not in sentence
    for part in parts:
        assert part in sentence


SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
HALVES = np.array([[0, 1, 2], [0, 2, 3]])


def test_edge_without_length(with_mesh: Callable[..., Any], start: Callable[..., Any]) -> None:
    points = SQUARE.copy()
    points[1] = points[2]
    problem = with_mesh(points, HALVES)
    refusal(lambda: start(problem), "bodies.block", "edge between nodes 1 and 2 has no length", "merge")


def test_inverted_element(with_mesh: Callable[..., Any], start: Callable[..., Any]) -> None:
    problem = with_mesh(SQUARE, HALVES)
    turned = problem.bodies[0].mesh
    cells = turned.t.copy()
    cells[[1, 2], 1] = cells[[2, 1], 1]
    flipped = SimpleNamespace(body=replace(problem.bodies[0], mesh=_unsorted(turned, cells)))
    problem = replace(problem, bodies=(flipped.body,))
    refusal(lambda: start(problem), "bodies.block", "triangle element 1", "inverted")


def _unsorted(mesh: Any, cells: np.ndarray) -> Any:
    """Return the mesh with the vertex order as given."""
    return replace(mesh, t=cells, sort_t=False)


def test_particle_without_neighbours(with_mesh: Callable[..., Any], start: Callable[..., Any]) -> None:
    problem = with_mesh(np.vstack([SQUARE, [[5.0, 5.0]]]), HALVES)
    refusal(lambda: start(problem), "bodies.block", "node 4 has no neighbours", "connect")


def test_held_particle_needs_no_neighbours(with_mesh: Callable[..., Any]) -> None:
    problem = with_mesh(np.vstack([SQUARE, [[5.0, 5.0]]]), HALVES)
    problem.owners[4] = 0
    check_network(problem, build_network(problem, volume_term=False))


@pytest.mark.parametrize("mass", [0.0, -1.0, np.nan, np.inf])
def test_particle_without_mass(mass: float, with_mesh: Callable[..., Any], start: Callable[..., Any]) -> None:
    problem, masses = with_mesh(SQUARE, HALVES), np.array([1.0, 1.0, mass, 1.0])
    refusal(lambda: start(replace(problem, masses=masses)), "bodies.block", "node 2 has no mass", "density")


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("stiffness", "stiffness"),
        ("viscosity", "viscosity"),
        ("arm_stiffness", "kappa = B^2 k"),
        ("arm_rate", "decay rate (A)"),
    ],
)
def test_constants_that_feed_energy(field: str, words: str, with_mesh: Callable[..., Any]) -> None:
    problem = with_mesh(SQUARE, HALVES)
    network = build_network(problem, volume_term=False)
    check_rest_shape(problem)
    check_network(problem, network)
    values = getattr(network.edge_constants, field).copy()
    values[..., 3] = -0.25
    broken = replace(network, edge_constants=replace(network.edge_constants, **{field: values}))
    refusal(lambda: check_network(problem, broken), "bodies.block", "edge 3", words, "-0.25", "not negative")


@pytest.mark.parametrize("key", ["young", "voigt_viscosity", "series_viscosity"])
def test_negative_parameters_never_reach_the_particles(key: str, make_problem: Callable[..., Any]) -> None:
    with pytest.raises(RheotwinError, match=rf"laws\.stuff\.{key}"):
        make_problem(2, {**LAW, key: -1.0})


def test_step_above_the_bound(with_mesh: Callable[..., Any], start: Callable[..., Any]) -> None:
    problem = with_mesh(SQUARE, HALVES)
    stable = start(problem).stable_step
    refusal(
        lambda: start(problem, step=2.0 * stable),
        "solvers.truss.step",
        f"above the stable step of {stable:.6g} s",
        "kappa lambda h^2/m + 2 eta lambda h/m < 4",
        f"choose at most {0.9 * stable:.3g}",
    )
