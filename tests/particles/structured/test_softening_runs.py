"""Softening edges in vectors are the edges of the general loop: same roots, same steps, same restarts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.particles.state import EXTENSION, TENSION

BASE = {"model": "three-element", "young": 12.0, "poisson": 0.25, "voigt_viscosity": 0.5, "series_viscosity": 6.0}
SOFTENING = {"viscosity": 1.0, "from_stress": 0.05, "to_stress": 0.5}
SLIDER = {"natural": 0.5, "least": 0.45, "most": 0.55}
LAWS: dict[str, dict[str, Any]] = {
    "softening": {**BASE, "softening": SOFTENING},
    "slider": {**BASE, "softening": SOFTENING, "slider": SLIDER},
    "from nothing": {**BASE, "softening": {"viscosity": 0.1, "from_stress": 0.0, "to_stress": 2.0}},
    "steep": {**BASE, "series_viscosity": 1.0e5, "softening": {"viscosity": 0.1, "from_stress": 0.5, "to_stress": 0.6}},
    "not softening": {**BASE, "softening": {"viscosity": 6.0, "from_stress": 0.05, "to_stress": 0.5}},
    "plastic": {**BASE, "young": 0.0, "softening": SOFTENING},
}
BOX = {"size": [5.0, 4.0, 4.0], "cells": [10, 8, 8]}


@pytest.fixture(params=list(LAWS))
def softening(request: pytest.FixtureRequest) -> dict[str, Any]:
    return LAWS[request.param]


def test_one_step_finds_the_tension_at_any_rate(
    softening: dict[str, Any],
    make_problem: Callable[..., Any],
    start: Callable[..., Any],
    advance_by: Callable[..., None],
    put: Callable[..., None],
) -> None:
    """Rates of nine decades, below, between and above the thresholds; a second step begins from a poor guess."""
    problem = make_problem(3, softening, body=BOX)
    random = np.random.default_rng(3)
    size = 10.0 ** random.uniform(-6.0, 3.0, len(problem.points))
    found = []
    for kernel in ("structured", "general"):
        simulation = start(problem, kernel=kernel, step=1e-6)
        for turn in range(2):
            velocities = np.random.default_rng(turn).standard_normal(problem.points.shape) * size[:, None]
            put(simulation, velocities=velocities)
            advance_by(simulation, 1)
        found.append(simulation.save()["nonlinear_edges"])
    ours, theirs = found
    stress = np.abs(theirs[TENSION])
    assert stress.min() < 0.01 * stress.max()
    # Ends move 1e-3 of an edge at most, and its rate has ten roundings of the ends' velocities.
    rounding = 20.0 * 2.0**-52 * np.abs(theirs).max(axis=1)
    for row in (EXTENSION, TENSION):
        np.testing.assert_allclose(ours[row], theirs[row], rtol=1e-12, atol=rounding[row])


@pytest.mark.parametrize("match", ["element", "edge"])
def test_a_body_moves_as_in_the_general_kernel(
    match: str, softening: dict[str, Any], make_problem: Callable[..., Any], start: Callable[..., Any]
) -> None:
    pulled = make_problem(
        3,
        softening,
        body=BOX,
        supports={"wall": {"body": "block", "where": {"side": "left"}}},
        forces={"pull": {"body": "block", "where": {"side": "right"}, "total": [2.0, 0.5, 0.0]}},
    )
    ours, theirs = (start(pulled, kernel=kernel, match=match, step=0.002) for kernel in ("structured", "general"))
    assert ours.statistics()["kernel"] == "structured, with general forces"
    for simulation in (ours, theirs):
        simulation.advance(0.5, 10**9)
    assert np.abs(theirs.positions - pulled.points).max() > 1e-3
    np.testing.assert_allclose(ours.positions, theirs.positions, atol=1e-11)
    for name, values in theirs.save().items():
        scale = max(1.0, np.abs(values).max(initial=0.0))
        np.testing.assert_allclose(ours.save()[name], values, atol=1e-9 * scale, err_msg=name)
    assert ours.energy()["stored"] == pytest.approx(theirs.energy()["stored"], rel=1e-9)


@pytest.mark.parametrize("skin", ["friction", "slider", "linear", "softer"])
def test_edges_of_other_laws_keep_their_place_beside(
    skin: str, make_problem: Callable[..., Any], start: Callable[..., Any], advance_by: Callable[..., None]
) -> None:
    """The general state lists edges by kind of law, the lanes those that soften last; halves are the same as whole."""
    skins = {
        "friction": {**BASE, "friction": 0.2},
        "slider": {**BASE, "slider": SLIDER},
        "linear": BASE,
        "softer": {**BASE, "young": 6.0, "softening": {**SOFTENING, "viscosity": 0.2}, "slider": SLIDER},
    }
    problem = make_problem(
        3,
        LAWS["softening"],
        body=BOX,
        laws={"stuff": LAWS["softening"], "skin": skins[skin]},
        supports={"wall": {"body": "block", "where": {"side": "left"}}},
        forces={"pull": {"body": "block", "where": {"side": "right"}, "total": [2.0, 0.5, 0.0]}},
    )
    extras = {"surface_laws": {"block": "skin"}, "element_pressure": 0.5, "topology_stiffness": 1.0, "step": 0.002}
    whole, halves, theirs = (start(problem, kernel=name, **extras) for name in ("structured", "structured", "general"))
    for simulation in (whole, theirs):
        advance_by(simulation, 200)
    advance_by(halves, 77)
    halves.restore(halves.save())
    advance_by(halves, 123)
    np.testing.assert_equal(halves.save(), whole.save())
    assert np.abs(theirs.positions - problem.points).max() > 1e-3
    for name, values in theirs.save().items():
        scale = max(1.0, np.abs(values).max(initial=0.0))
        np.testing.assert_allclose(whole.save()[name], values, atol=1e-9 * scale, err_msg=name)


def test_single_precision_says_what_it_cannot(make_problem: Callable[..., Any], start: Callable[..., Any]) -> None:
    problem = make_problem(3, LAWS["softening"], body=BOX)
    with pytest.raises(RheotwinError, match=r"solvers\.truss\.precision.*three-element with softening edges; leave"):
        start(problem, precision="single")
