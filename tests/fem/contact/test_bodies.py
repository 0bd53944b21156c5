"""Bodies that push on each other and on themselves: forces pass through, momentum stays, nothing interpenetrates."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rheotwin.problem import Problem
from rheotwin.solver import Simulation

Data = dict[str, Any]
Scene = Callable[..., Data]
Start = Callable[..., Simulation]
RunTo = Callable[[Simulation, float], None]

ELASTIC: Data = {"model": "elastic", "young": 1e5, "poisson": 0.3}
CONSTRAINED = 1e5 * 0.7 / (1.3 * 0.4)
"""Modulus [Pa] of `ELASTIC` that cannot give way sideways."""


def confined(dimension: int) -> Data:
    """Both blocks held sideways, the floor up and down, and the top pressed by 0.01."""
    up, sides = dimension - 1, [("left", "right", "x"), ("front", "back", "y")][: dimension - 1]
    supports: Data = {
        f"{body}-{side}": {"body": body, "where": {"side": side}, "fix": [axis]}
        for body in ("lower", "upper")
        for *pair, axis in sides
        for side in pair
    }
    axis, down = "xyz"[up], [*[0.0] * up, -0.01]
    supports["floor"] = {"body": "lower", "where": {"side": "bottom"}, "fix": [axis]}
    press = {"times": [0.0, 1.0], "displacement": [[0.0] * dimension, down]}
    supports["press"] = {"body": "upper", "where": {"side": "top"}, "fix": [axis], "motion": press}
    return supports


def cube(cells: int, dimension: int, height: float = 0.0) -> Data:
    """Half a unit cube, with every second of its layers."""
    flat = [1.0] * (dimension - 1)
    box = {"size": [*flat, 0.5], "cells": [cells] * (dimension - 1) + [max(1, cells // 2)], "density": 100.0}
    return box | {"origin": [*[0.0] * (dimension - 1), height]}


@pytest.mark.parametrize("friction", [0.0, 0.3])
@pytest.mark.parametrize("cells", [4, 5, 7, 3])
def test_a_uniform_pressure_passes_between_any_meshes_in_2d(
    cells: int, friction: float, two_blocks: Scene, start: Start, run_to: RunTo
) -> None:
    """The stress is M times the strain of 0.01 everywhere, to the compliance that shares redundant contacts."""
    data = two_blocks(
        ELASTIC, {"friction": friction}, lower=cube(4, 2), upper=cube(cells, 2, 0.5), supports=confined(2)
    )
    simulation = start(data, step=0.5, stepper="quasi-static")
    run_to(simulation, 1.0)
    np.testing.assert_allclose(simulation.fields()["stress"][:, 1], -0.01 * CONSTRAINED, rtol=1e-6)
    assert simulation.reactions()["support.press"][1] == pytest.approx(0.01 * CONSTRAINED, rel=1e-6)


def test_bubbles_behind_the_vertices_take_no_part(two_blocks: Scene, start: Start, run_to: RunTo) -> None:
    """Mixed elements have rows that are no vertices, so rows of the model are not nodes of the problem."""
    data = two_blocks(ELASTIC, {}, lower=cube(4, 2), upper=cube(5, 2, 0.5), supports=confined(2))
    simulation = start(data, step=1.0, stepper="quasi-static", formulation="mini")
    run_to(simulation, 1.0)
    np.testing.assert_allclose(simulation.fields()["stress"][:, 1], -0.01 * CONSTRAINED, rtol=1e-6)


@pytest.mark.parametrize(
    ("cell", "cells", "share"), [("hex", (3, 3), 1e-6), ("hex", (4, 6), 0.08), ("tet", (4, 6), 1e-6)]
)
def test_a_uniform_pressure_passes_between_meshes_in_3d(
    cell: str, cells: tuple[int, int], share: float, two_blocks: Scene, start: Start, run_to: RunTo
) -> None:
    """Exactly where vertices meet vertices; quads that meet others are split into triangles, which shifts shares."""
    lower, upper = (cube(n, 3, z) | {"cell": cell} for n, z in zip(cells, (0.0, 0.5), strict=True))
    simulation = start(two_blocks(ELASTIC, {}, lower=lower, upper=upper, supports=confined(3)), step=1.0,
                       stepper="quasi-static")  # fmt: skip
    run_to(simulation, 1.0)
    np.testing.assert_allclose(simulation.fields()["stress"][:, 2], -0.01 * CONSTRAINED, rtol=share)
    force = simulation.reactions()
    assert force["support.press"][2] == pytest.approx(0.01 * CONSTRAINED, rel=1e-2)
    assert force["support.press"][2] == pytest.approx(-force["support.floor"][2], rel=1e-9)
    np.testing.assert_allclose(simulation.fields()["contact_force"].sum(axis=0), 0.0, atol=1e-9)


def test_two_stacked_blocks_sink_like_one(scene: Scene, two_blocks: Scene, start: Start, run_to: RunTo) -> None:
    """Confined sideways under their weight: the top by rho g/(2 M), as one block's, and the floor bears it."""
    supports = {name: table for name, table in confined(2).items() if name != "press"}
    held = {"upper-rail": {"body": "upper", "where": {"side": "left"}, "fix": ["x"]}}
    damped = {"model": "voigt", "young": 1e5, "poisson": 0.3, "viscosity": 2e4}
    data = two_blocks(damped, {}, lower=cube(4, 2), upper=cube(6, 2, 0.5), supports=supports | held,
                      gravity=[0.0, -10.0], duration=4.0)  # fmt: skip
    simulation = start(data, step=0.02)
    run_to(simulation, 4.0)
    top = np.isclose(simulation.positions[:, 1], 1.0, atol=0.1)
    sunk = simulation.fields()["displacement"][top, 1]
    assert sunk.mean() == pytest.approx(-100.0 * 10.0 * 0.5 / CONSTRAINED, rel=0.02)
    assert simulation.reactions()["support.floor"][1] == pytest.approx(-1000.0, rel=1e-4)


@pytest.mark.parametrize(
    "contact",
    [{}, {"friction": 0.3}, {"law": "penalty", "stiffness": 500.0, "friction": 0.3},
     {"law": "impulse", "restitution": 0.8}],
    ids=["exact", "rough", "penalty", "impulse"],
)  # fmt: skip
def test_colliding_bodies_keep_their_momentum_and_gain_no_energy(
    contact: Data, two_blocks: Scene, problem_of: Callable[[Data], Problem], thrown: Callable[..., Simulation]
) -> None:
    lower = {"size": [0.4, 0.3], "cells": [4, 3], "density": 10.0}
    upper = {"size": [0.3, 0.3], "cells": [4, 4], "density": 20.0, "origin": [0.5, 0.13], "rotation": 0.3}
    data = two_blocks(ELASTIC | {"young": 1e4}, contact, lower=lower, upper=upper, duration=0.3)
    simulation = thrown(data, [1.0, 0.0], count=20, step=0.002)
    masses = problem_of(data).masses
    momentum, energy, pushed = masses @ simulation.velocities, simulation.energy()["kinetic"], 0
    for k in range(1, 151):
        simulation.advance(0.002 * k, 1)
        np.testing.assert_allclose(masses @ simulation.velocities, momentum, atol=1e-12 * masses.sum())
        force = simulation.fields()["contact_force"]
        if force.any():
            pushed += 1
            scale = np.abs(force).max()
            np.testing.assert_allclose(force.sum(axis=0), 0.0, atol=1e-12 * scale)
            if not contact.get("friction"):  # which acts by the gap apart
                moment = np.cross(np.pad(simulation.positions, ((0, 0), (0, 1))), force)[:, 2].sum()
                assert abs(moment) < 1e-9 * scale
        now = simulation.energy()
        assert now["kinetic"] + now["stored"] < energy + 1e-3 * energy * (contact.get("law") == "penalty") + 1e-12
        assert now["defect"] == pytest.approx(-energy, abs=1e-9)
    assert pushed > 3
    assert (masses[20:] @ simulation.velocities[20:, 0]) / masses[20:].sum() > 0.4


@pytest.mark.parametrize("contact", [{"self": True}, {"self": True, "friction": 0.2}, {"self": False}])
def test_lips_meet_and_do_not_pass(contact: Data, mouth: Path, start: Start) -> None:
    """Pressed by 0.08 at the free end of its upper side the slot closes; without `self` its lips pass each other."""
    push = {"times": [0.0, 1.0], "displacement": [[0.0, 0.0], [0.0, -0.08]]}
    jaw = {"body": "jaw", "where": {"box": {"x": [0.75, 1.0], "y": [1.0, 1.0]}}, "fix": ["y"], "motion": push}
    data = {
        "schema": 1,
        "dimension": 2,
        "duration": 1.0,
        "laws": {"stuff": ELASTIC},
        "bodies": {"jaw": {"shape": "file", "path": str(mouth), "law": "stuff", "density": 1.0}},
        "supports": {"floor": {"body": "jaw", "where": {"side": "bottom"}}, "jaw": jaw},
        "contact": contact,
        "output": {"interval": 1.0},
    }
    simulation = start(data, step=0.1, stepper="quasi-static")
    rest = simulation.positions.copy()
    upper, lower = (np.flatnonzero((rest[:, 0] > 0.35) & np.isclose(rest[:, 1], y)) for y in (0.5, 0.45))
    simulation.advance(1.0, 10)
    x, force = simulation.positions, simulation.fields()["contact_force"]
    lower, upper = (lip[np.argsort(x[lip, 0])] for lip in (lower, upper))
    above = x[upper[x[upper, 0] <= x[lower[-1], 0]]]  # what overhangs the other lip cannot meet it
    gap = above[:, 1] - np.interp(above[:, 0], x[lower, 0], x[lower, 1])
    np.testing.assert_allclose(force.sum(axis=0), 0.0, atol=1e-9)
    if not contact["self"]:
        assert gap.min() < -0.005
        assert not force.any()
        return
    assert gap.min() > -1e-8
    assert force[upper, 1].max() > 0.0
    assert set(np.flatnonzero(np.abs(force).max(axis=1) > 1e-9)) <= {*upper, *lower}
