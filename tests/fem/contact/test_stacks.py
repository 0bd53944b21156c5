"""Bodies on bodies: aligned stacks, whose contacts are redundant, and a bounce in which corners meet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rheotwin.overlap import deepest_overlap
from rheotwin.problem import Problem
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


def tower(two_blocks: Callable[..., Data], friction: float) -> Data:
    scene = two_blocks(
        RUBBER,
        {"law": "exact", "friction": friction},
        lower=block(0.0, 0.0),
        upper=block(0.0, 0.1),
        tools=FLOOR,
        gravity=[0.0, -9.8],
    )
    scene["bodies"]["third"] = {"shape": "box", "law": "stuff", **block(0.0, 0.2)}
    return scene


@pytest.mark.parametrize(("friction", "step", "steps"), [(0.5, 1e-4, 60), (0.1, 1e-3, 50)])
def test_three_aligned_blocks_with_friction_are_solved(
    friction: float,
    step: float,
    steps: int,
    two_blocks: Callable[..., Data],
    problem_of: Callable[[Data], Problem],
    start: Callable[..., Simulation],
) -> None:
    """Six corners that share two places, stick and slide: laws hold, and nothing overlaps that no contact saw."""
    problem = problem_of(tower(two_blocks, friction))
    simulation = start(problem, step=step)
    simulation.advance(step * steps, steps)
    found = simulation.statistics()
    assert found["contacts_missed"] < 1e-9 * problem.extent
    assert found["contacts_closed"] < 1e-9 * problem.extent
    assert found["contacts_loose"] == 0
    now = [replace(body.mesh, doflocs=simulation.positions[body.nodes].T.copy()) for body in problem.bodies]
    bodies = tuple(replace(body, mesh=mesh) for body, mesh in zip(problem.bodies, now, strict=True))
    assert deepest_overlap(bodies) is None
    energy = simulation.energy()
    assert energy["friction"] > -1e-9 * energy["external"]
    assert energy["impact"] > -1e-8 * energy["external"]


def bounce(two_blocks: Callable[..., Data], contact: Data) -> Data:
    return two_blocks(
        {"model": "elastic", "young": 2.0e4, "poisson": 0.25},
        contact,
        lower=block(0.0, 0.0301),
        upper=block(0.031, 0.1502, rotation=0.3),
        tools=FLOOR,
        gravity=[0.0, -9.8],
    )


@pytest.mark.filterwarnings("ignore:contact. bodies overlap")
@pytest.mark.parametrize(
    "contact", [{"law": "exact"}, {"law": "impulse", "restitution": 1.0}], ids=["exact", "elastic"]
)
def test_a_frictionless_bounce_gains_no_energy_but_at_corners(
    contact: Data,
    two_blocks: Callable[..., Data],
    problem_of: Callable[[Data], Problem],
    start: Callable[..., Simulation],
) -> None:
    """Where corners meet the normal turns within a step: what is gained there falls faster than the step."""
    problem = problem_of(bounce(two_blocks, contact))
    weight = 9.8 * problem.masses
    gains = []
    for step in (1e-3, 5e-4):
        simulation = start(problem, step=step)
        before, largest, begin = 0.0, 0.0, weight @ simulation.positions[:, 1]
        for k in range(1, round(0.2 / step) + 1):
            simulation.advance(k * step, 1)
            energy = simulation.energy()
            now = energy["kinetic"] + energy["stored"] + weight @ simulation.positions[:, 1] - begin
            before, largest = now, max(largest, now - before)
        gains.append(largest)
        assert before < 0.0
        assert abs(energy["defect"]) < 1e-12 * energy["external"]
    assert gains[0] < 1e-3 * energy["external"]
    assert gains[1] < 0.5 * gains[0]


def test_a_light_plate_between_heavy_blocks(two_blocks: Callable[..., Data], start: Callable[..., Simulation]) -> None:
    """A driven tool a thousand times lighter than what it bears: sweeps alone creep."""
    scene = two_blocks(
        RUBBER,
        {"law": "exact", "friction": 0.3},
        lower=block(0.0, 0.0),
        upper=block(0.0, 0.1102),
        gravity=[0.0, -9.8],
        tools=FLOOR
        | {
            "plate": {
                "shape": "box",
                "center": [0.05, 0.1051],
                "size": [0.1, 0.01],
                "drive": {"mass": 3e-3, "moment_of_inertia": 3e-6, "free": ["x", "y", "angle"]},
            }
        },
    )
    simulation = start(scene, step=1e-3)
    simulation.advance(0.1, 1000)
    found = simulation.statistics()
    assert found["contacts_missed"] < 1e-9 * 0.2
    assert found["contacts_closed"] < 1e-9 * 0.2
    energy = simulation.energy()
    assert abs(energy["defect"]) < 1e-12 * energy["external"]
