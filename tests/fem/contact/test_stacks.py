"""Bodies on bodies: aligned stacks, whose contacts are redundant, and a bounce in which corners meet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rheotwin.solver import Simulation

Data = dict[str, Any]
RUBBER: Data = {"model": "voigt", "young": 2.0e4, "poisson": 0.25, "viscosity": 200.0}
FLOOR: Data = {"floor": {"shape": "plane", "center": [0.0, 0.0], "normal": [0.0, 1.0]}}
WEIGHT = 300.0 * 0.1 * 0.1 * 9.8
"""[N] of one block, per metre of thickness."""


def block(x: float, y: float, **more: Any) -> Data:
    return {"size": [0.1, 0.1], "cells": [3, 3], "origin": [x, y], "density": 300.0, **more}


def test_an_aligned_stack_with_friction_runs(two_blocks: Callable[..., Data], start: Callable[..., Simulation]) -> None:
    """Every vertex between the blocks is at a vertex of the other, and asks for the same as that does."""
    scene = two_blocks(
        RUBBER,
        {"law": "exact", "friction": 0.5},
        lower=block(0.0, 0.0),
        upper=block(0.0, 0.1),
        tools=FLOOR,
        gravity=[0.0, -9.8],
    )
    simulation = start(scene, step=1e-3)
    simulation.advance(5e-3, 100)
    energy = simulation.energy()
    # Internal forces of contact do no net work: the account closes to rounding of what was turned over.
    assert abs(energy["defect"]) < 1e-12 * energy["external"]
    assert 0.0 < -simulation.reactions()["tool.floor"][1] < 3.0 * WEIGHT


def test_three_aligned_blocks_without_friction_run(
    two_blocks: Callable[..., Data], start: Callable[..., Simulation]
) -> None:
    scene = two_blocks(
        RUBBER, {"law": "exact"}, lower=block(0.0, 0.0), upper=block(0.0, 0.1), tools=FLOOR, gravity=[0.0, -9.8]
    )
    scene["bodies"]["third"] = {"shape": "box", "law": "stuff", **block(0.0, 0.2)}
    simulation = start(scene, step=1e-3)
    simulation.advance(5e-3, 100)
    assert abs(simulation.energy()["defect"]) < 1e-12 * simulation.energy()["external"]


def test_a_corner_that_meets_a_corner_settles(
    two_blocks: Callable[..., Data], start: Callable[..., Simulation]
) -> None:
    """Elastic blocks fall on each other and on the floor: at 0.168 s corners meet, whose faces take turns."""
    scene = two_blocks(
        {"model": "elastic", "young": 2.0e4, "poisson": 0.25},
        {"law": "exact"},
        lower=block(0.0, 0.0301),
        upper=block(0.031, 0.1502, rotation=0.3),
        tools=FLOOR,
        gravity=[0.0, -9.8],
    )
    simulation = start(scene, step=1e-3)
    simulation.advance(0.18, 1000)
    energy = simulation.energy()
    assert np.isfinite(simulation.positions).all()
    assert energy["impact"] > 0.0
    assert abs(energy["defect"]) < 1e-12 * energy["external"]
