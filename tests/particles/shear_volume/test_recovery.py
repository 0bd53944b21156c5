"""Inverted and flattened bodies come back as they were: dashpots while an element is inverted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheotwin.particles.shear_volume.solver import ShearVolumeSimulation
from rheotwin.problem import Problem

Start = Callable[..., ShearVolumeSimulation]
Make = Callable[..., Problem]
FLOOR: dict[str, Any] = {"floor": {"body": "block", "where": {"side": "bottom"}}}
ELASTIC: dict[str, Any] = {"model": "elastic", "young": 12.0, "poisson": 0.35}
PAPERS: dict[str, Any] = {
    "stuff": {
        "model": "three-element",
        "shear": 1.0,
        "lame": 0.0,
        "voigt_viscosity": {"shear": 1.0, "lame": 0.0},
        "series_viscosity": {"shear": 1.0e5, "lame": 0.0},
    },
    "area": {"model": "voigt", "young": 10.0, "viscosity": 1.0, "poisson": 0.0},
}
"""P-EL: G = 1 Pa with 1 Pa s beside and 1e5 Pa s behind it, K = 10 Pa and 1 Pa s."""


def block(size: list[float], cells: list[int], mass: float, **more: Any) -> dict[str, Any]:
    cell = "triangle" if len(size) == 2 else "tet"
    return {"shape": "box", "size": size, "cells": cells, "cell": cell, "mass": mass, "density": None, **more}


def turn(simulation: ShearVolumeSimulation, height: float, noise: float = 0.0, seed: int = 1) -> None:
    """Squeeze a body onto its floor (0) or through it (-1), particles off by `noise` [m]."""
    state, problem = simulation.save(), simulation._problem
    free, d = problem.owners[:, 0] < 0, problem.dimension
    state["positions"][:, d - 1] *= height
    state["positions"][free, :d] += noise * np.random.default_rng(seed).uniform(-1.0, 1.0, (free.sum(), d))
    simulation.restore(state)


@pytest.mark.parametrize(("height", "noise"), [(-1.0, 0.0), (-1.0, 0.5), (0.0, 0.0), (0.0, 0.5)])
@pytest.mark.parametrize("cells", [[16, 6], [6, 5], [4, 3]])
def test_the_papers_elastic_body_returns(
    make_problem: Make, start: Start, height: float, noise: float, cells: list[int]
) -> None:
    """Figure 4.15 against 4.18. Without recovery 16 x 6 squares end wound up, 12 to 17 m off."""
    body = block([80.0, 30.0], cells, 30.0)
    problem = make_problem(2, PAPERS["stuff"], body=body, laws=PAPERS, supports=FLOOR, duration=120.0)
    simulation = start(problem, volume_law="area")
    turn(simulation, height, noise)
    simulation.advance(120.0, 10**9)
    assert np.abs(simulation.positions - problem.points).max() < 0.01
    assert simulation.statistics()["smallest_volume_ratio"] > 0.999


@pytest.mark.parametrize(("size", "cells"), [([4.0, 3.0], [4, 3]), ([3.0, 2.0, 2.0], [3, 2, 2])])
@pytest.mark.parametrize("height", [-1.0, 0.0])
def test_a_body_without_any_damping_is_upright_again(
    make_problem: Make, start: Start, size: list[float], cells: list[int], height: float
) -> None:
    """What is left when the last element is upright goes on swinging: about the rest shape, not about another.

    Elements may turn over for a moment again, and are damped again. Every start ends differently, down to the last
    digit: of five, the middle is looked at. Without recovery bodies in the plane are off by a fifth of their size or
    more and those in space rarely upright. One in eight of these ends with elements at J = -0.44 for good.
    """
    problem = make_problem(len(size), ELASTIC, body=block(size, cells, 10.0), supports=FLOOR, duration=120.0)
    ends = np.array([swing(start(problem), height, seed) for seed in range(1, 6)])
    upright, off, energy = np.median(ends, axis=0)
    assert upright > 0.75
    assert off < 0.16 * max(size)
    assert energy < 0.3


def swing(simulation: ShearVolumeSimulation, height: float, seed: int) -> tuple[float, float, float]:
    """Let a turned body swing for 80 s, and look at the last 20.

    Returns the share of them in which all of it is upright, how far its mean is off [m], and the share of energy left.
    """
    points, looks = simulation._problem.points, 200
    turn(simulation, height, 0.02, seed)
    first = sum(simulation.energy().values())
    simulation.advance(60.0, 10**9)
    mean, upright = np.zeros_like(points), 0
    for _ in range(looks):
        simulation.advance(simulation.time + 0.1, 10**9)
        mean += simulation.positions / looks
        upright += simulation.statistics()["smallest_volume_ratio"] > 0.0
    return upright / looks, float(np.abs(mean - points).max()), sum(simulation.energy().values()) / first


@pytest.mark.parametrize("dimension", [2, 3])
def test_recovery_keeps_momenta(make_problem: Make, start: Start, dimension: int) -> None:
    """A free body, inverted at random, on its way and turning."""
    size, cells = [3.0, 2.0, 2.0][:dimension], [3, 2, 2][:dimension]
    problem = make_problem(dimension, ELASTIC, body=block(size, cells, 10.0), duration=10.0)
    simulation, random = start(problem), np.random.default_rng(3)
    state = simulation.save()
    state["positions"][:, :dimension] += random.uniform(-1.0, 1.0, problem.points.shape)
    state["velocities"][:, :dimension] = random.uniform(-1.0, 1.0, problem.points.shape)
    simulation.restore(state)
    assert simulation.statistics()["smallest_volume_ratio"] < 0.0

    def momenta() -> np.ndarray[Any, Any]:
        m = problem.masses[:, None]
        x, v = simulation.save()["positions"], simulation.save()["velocities"]
        return np.concatenate([(m * v).sum(axis=0), np.cross(x, m * v).sum(axis=0)])

    before, energy = momenta(), sum(simulation.energy().values())
    simulation.advance(0.2, 10**9)
    assert momenta() == pytest.approx(before, rel=0.0, abs=1e-12 * np.abs(before).max() * 100)
    assert sum(simulation.energy().values()) < 0.9 * energy


def test_nobody_upright_feels_recovery(make_problem: Make, start: Start) -> None:
    """Alone bit for bit, beside an inverted body but for its divided steps; damped, a swing of .3 m would end."""
    one = block([4.0, 3.0], [4, 3], 10.0) | {"law": "stuff"}
    bodies = {"block": one, "other": one | {"origin": [10.0, 0.0]}}
    problem, found = make_problem(2, ELASTIC, bodies=bodies, duration=10.0), {}
    for recovery, height in ((1.0, -1.0), (0.0, -1.0), (1.0, 1.0), (0.0, 1.0)):
        simulation = start(problem, recovery=recovery)
        state = simulation.save()
        state["positions"][problem.bodies[0].nodes, 1] *= height
        state["positions"][problem.bodies[1].nodes, 1] *= 1.1
        simulation.restore(state)
        simulation.advance(0.5, 10**9)
        found[recovery, height] = simulation.positions[problem.bodies[1].nodes].copy()
    assert np.array_equal(found[1.0, 1.0], found[0.0, 1.0])
    assert found[1.0, -1.0] == pytest.approx(found[1.0, 1.0], abs=0.03)
    assert found[0.0, -1.0] == pytest.approx(found[1.0, 1.0], abs=0.03)
