"""Trusses on each other with coincident faces, the loop with everything at once, and rounds that do not settle."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

Data = dict[str, Any]
Build = Callable[..., Any]

FLOOR: Data = {"shape": "plane", "center": [0.0, 0.0], "normal": [0.0, 1.0]}
WEIGHT = 9.8 * 400.0 * 0.1 * 0.05


@pytest.fixture
def tower(make_problem: Build) -> Build:
    """Blocks of 0.1 m x 0.05 m on each other: faces coincide from the start, node on node, sides flush."""

    def build(count: int, **more: Any) -> Any:
        block = {"shape": "box", "size": [0.1, 0.05], "cells": [2, 1], "pattern": "alternating", "density": 400.0}
        block |= {"law": "stuff"}
        return make_problem(
            2,
            {"model": "voigt", "young": 4e4, "poisson": 0.25, "viscosity": 400.0},
            bodies={f"b{k}": block | {"origin": [0.0, 0.05 * k]} for k in range(count)},
            tools={"floor": FLOOR},
            gravity=[0.0, -9.8],
            contact={"law": "exact", "friction": 0.3},
            **more,
        )

    return build


def test_a_tower_of_seven_blocks_stands(tower: Build, start: Build) -> None:
    """It settles in half a second and stands still in the next; each seam bears what lies above it."""
    problem = tower(7, duration=1.0)
    simulation = start(problem)
    simulation.advance(0.5, 10**9)
    settled = simulation.positions.copy()
    simulation.advance(1.0, 10**9)
    np.testing.assert_allclose(simulation.positions, settled, rtol=0.0, atol=1e-4)
    np.testing.assert_allclose(
        simulation.reactions()["tool.floor"], [0.0, -7.0 * WEIGHT], rtol=1e-3, atol=1e-3 * WEIGHT
    )
    x, force, rest = simulation.positions, simulation.fields()["contact_force"], problem.points
    below = problem.bodies[0]
    for k, body in enumerate(problem.bodies[1:], start=1):
        low = body.first_node + np.flatnonzero(rest[body.nodes, 1] < 0.05 * k + 1e-9)
        high = below.first_node + np.flatnonzero(rest[below.nodes, 1] > 0.05 * k - 1e-9)
        assert force[low, 1].sum() == pytest.approx((7 - k) * WEIGHT, rel=1e-3)
        np.testing.assert_allclose(x[low, 1], x[high, 1], rtol=0.0, atol=1e-7)
        np.testing.assert_allclose(x[low, 0], x[high, 0], rtol=0.0, atol=1e-4)
        below = body
    found = simulation.statistics()
    assert 1.0 <= found["mean_contact_rounds"] < 40.0
    assert found["most_contact_rounds"] < 100
    assert found["contacts_loose"] == 0


def test_rounds_that_do_not_settle_are_counted_and_warned_of_once(tower: Build, start: Build) -> None:
    problem = tower(2, duration=0.1)
    simulation = start(problem)
    simulation.advance(0.01, 10**9)
    state = simulation.save()
    state["contact.rounds"][4] = 3
    simulation.restore(state)
    with pytest.warns(UserWarning, match=r"did not settle .* Reduce solvers\.truss\.step"):
        simulation.advance(0.02, 10**9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulation.advance(0.03, 10**9)
    assert simulation.statistics()["contacts_loose"] == 3


def test_a_checkpoint_from_before_rounds_were_counted_is_taken_over(tower: Build, start: Build) -> None:
    problem = tower(2, duration=0.1)
    simulation, again = start(problem), start(problem)
    simulation.advance(0.02, 10**9)
    state = simulation.save()
    del state["contact.rounds"]
    again.restore(state)
    for one in (simulation, again):
        one.advance(0.03, 10**9)
    np.testing.assert_array_equal(again.positions, simulation.positions)
    assert again.statistics()["mean_contact_rounds"] >= 1.0


def test_softening_topology_and_a_floor_together(make_problem: Build, start: Build, advance_by: Build) -> None:
    """The loop of boxes with general forces and laws of contact is the general loop, and so is a restart in it."""
    dough = {"model": "three-element", "young": 12.0, "poisson": 0.25, "voigt_viscosity": 0.5, "series_viscosity": 6.0}
    softening = dough | {"softening": {"viscosity": 1.0, "from_stress": 0.05, "to_stress": 0.5}}
    law = {"law": "integrated", "stiffness": 2.0, "damping": 0.05, "integral": 0.4, "region": 0.05, "friction": 0.3}
    problem = make_problem(
        3,
        softening,
        body={"size": [5.0, 4.0, 4.0], "cells": [10, 8, 8], "origin": [0.0, 0.0, 0.01]},
        tools={"floor": {"shape": "plane", "center": [0.0, 0.0, 0.0], "normal": [0.1, 0.0, 1.0]}},
        gravity=[0.0, 0.0, -1.0],
        contact=law,
        duration=2.0,
    )
    kernels = ("structured", "structured", "general")
    whole, halves, theirs = (start(problem, kernel=name, topology_stiffness=1.0, step=0.004) for name in kernels)
    assert whole.statistics()["kernel"] == "structured"
    for simulation in (whole, theirs):
        advance_by(simulation, 250)
    advance_by(halves, 99)
    halves.restore(halves.save())
    advance_by(halves, 151)
    np.testing.assert_equal(halves.save(), whole.save())
    assert whole.statistics()["active_contacts"] > 20
    np.testing.assert_allclose(whole.positions, theirs.positions, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(whole.reactions()["tool.floor"], theirs.reactions()["tool.floor"], rtol=1e-6, atol=1e-9)
