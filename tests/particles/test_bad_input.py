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
from rheotwin.validation.checks.running import block, truss

LAW = {"model": "three-element", "young": 12.0, "poisson": 0.25, "voigt_viscosity": 0.5, "series_viscosity": 6.0}


def with_mesh(points: np.ndarray, cells: np.ndarray) -> Any:
    """Return a 2D problem whose triangle mesh is changed after every check of the scene."""
    problem = block(2, LAW, body={"size": [1.0, 1.0], "cells": [1, 1]})
    body = replace(problem.bodies[0], mesh=build_mesh("triangle", points.T, cells.T))
    count = len(points)
    return replace(problem, bodies=(body,), points=points, masses=np.ones(count))


def refusal(call: Callable[[], Any], *parts: str) -> None:
    with pytest.raises(RheotwinError) as caught:
        call()
    sentence = str(caught.value)
    assert "\n" not in sentence
    for part in parts:
        assert part in sentence


SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
HALVES = np.array([[0, 1, 2], [0, 2, 3]])


def test_edge_without_length() -> None:
    points = SQUARE.copy()
    points[1] = points[2]
    problem = with_mesh(points, HALVES)
    refusal(lambda: truss(problem), "bodies.block", "edge between nodes 1 and 2 has no length", "merge")


def test_inverted_element() -> None:
    problem = with_mesh(SQUARE, HALVES)
    turned = problem.bodies[0].mesh
    cells = turned.t.copy()
    cells[[1, 2], 1] = cells[[2, 1], 1]
    flipped = SimpleNamespace(body=replace(problem.bodies[0], mesh=_unsorted(turned, cells)))
    problem = replace(problem, bodies=(flipped.body,))
    refusal(lambda: truss(problem), "bodies.block", "triangle element 1", "inverted")


def _unsorted(mesh: Any, cells: np.ndarray) -> Any:
    """Return the mesh with the vertex order as given."""
    return replace(mesh, t=cells, sort_t=False)


def test_particle_without_neighbours() -> None:
    problem = with_mesh(np.vstack([SQUARE, [[5.0, 5.0]]]), HALVES)
    refusal(lambda: truss(problem), "bodies.block", "node 4 has no neighbours", "connect")


def test_held_particle_needs_no_neighbours() -> None:
    problem = with_mesh(np.vstack([SQUARE, [[5.0, 5.0]]]), HALVES)
    problem.owners[4] = 0
    check_network(problem, build_network(problem, volume_term=False))


@pytest.mark.parametrize("mass", [0.0, -1.0, np.nan, np.inf])
def test_particle_without_mass(mass: float) -> None:
    problem, masses = with_mesh(SQUARE, HALVES), np.array([1.0, 1.0, mass, 1.0])
    refusal(lambda: truss(replace(problem, masses=masses)), "bodies.block", "node 2 has no mass", "density")


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("stiffness", "stiffness"),
        ("viscosity", "viscosity"),
        ("arm_stiffness", "kappa = B^2 k"),
        ("arm_rate", "decay rate (A)"),
    ],
)
def test_constants_that_feed_energy(field: str, words: str) -> None:
    problem = with_mesh(SQUARE, HALVES)
    network = build_network(problem, volume_term=False)
    check_rest_shape(problem)
    check_network(problem, network)
    values = getattr(network.edge_constants, field).copy()
    values[..., 3] = -0.25
    broken = replace(network, edge_constants=replace(network.edge_constants, **{field: values}))
    refusal(lambda: check_network(problem, broken), "bodies.block", "edge 3", words, "-0.25", "not negative")


@pytest.mark.parametrize("key", ["young", "voigt_viscosity", "series_viscosity"])
def test_negative_parameters_never_reach_the_particles(key: str) -> None:
    with pytest.raises(RheotwinError, match=rf"laws\.stuff\.{key}"):
        block(2, {**LAW, key: -1.0})


def test_step_above_the_bound() -> None:
    problem = with_mesh(SQUARE, HALVES)
    stable = truss(problem).stable_step
    refusal(
        lambda: truss(problem, step=2.0 * stable),
        "solvers.truss.step",
        f"above the stable step of {stable:.6g} s",
        "kappa lambda h^2/m + 2 eta lambda h/m < 4",
        f"choose at most {0.9 * stable:.3g}",
    )
