"""A new particle method in a few lines: every node on a spring of its own to its rest place."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from rheotwin.kernels.blocks import STEP
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.stage import Stage
from rheotwin.particles.base import ParticleSimulation, Steps, at_rest
from rheotwin.particles.placed import PlacedBody
from rheotwin.particles.stability import StepBound, chosen_step, stable_step
from rheotwin.particles.state import drift
from rheotwin.particles.steps import Boundary, Surroundings
from rheotwin.problem import Problem
from rheotwin.solver import Simulation
from rheotwin.validation.checks.running import FLOOR, block, path, put, run_to, truss

Array = NDArray[np.float64]
RATE = 400.0
"""k/m [1/s2] of every node."""
LAW = {"model": "elastic", "young": 1.0, "poisson": 0.3}


class Moving(NamedTuple):
    """What a step changes; `way` (1,) is the longest way of a node from rest so far [m]."""

    positions: Array
    velocities: Array
    force: Array
    reaction: Array
    way: Array


@compiled
def pull_back(rest: Array, mass: Array, positions: Array, way: Array, force: Array) -> None:
    """Add -k (x - X) [N] and note the longest way."""
    for node in range(rest.shape[0]):
        square = 0.0
        for c in range(3):
            moved = positions[node, c] - rest[node, c]
            force[node, c] -= RATE * mass[node] * moved
            square += moved * moved
        way[0] = max(way[0], np.sqrt(square))


@dataclass(frozen=True)
class Nests:
    """m u'' = -k u for every node, u = x - X."""

    problem: Problem
    step: Fraction
    name = "nests"
    stable_step = stable_step(RATE, 0.0)
    holds_supports = False

    def rest_state(self, boundary: Boundary) -> Moving:
        return Moving(**at_rest(boundary.nodes.rest), way=np.zeros(1))

    def bind(self, state: Moving, boundary: Boundary) -> Steps:
        around, nodes = Surroundings(boundary, state), boundary.nodes
        stages = [
            *around.begin_forces(),
            Stage(pull_back, (nodes.rest, nodes.mass, state.positions, state.way, state.force)),
            *around.kick(),
            Stage(drift, (state.velocities, STEP, state.positions)),
            *around.last_look(),
        ]
        return Steps(state, around.bind(stages, float(self.step)))

    def _moved(self, state: Moving) -> Array:
        return state.positions[:, : self.problem.dimension] - self.problem.points

    def stresses(self, state: Moving) -> tuple[Array, Array]:
        none = np.zeros((2, len(state.positions), 6))
        return none[0], none[1]

    def stored(self, state: Moving) -> float:
        return float(0.5 * RATE * np.sum(self.problem.masses[:, None] * self._moved(state) ** 2))

    def reactions(self, state: Moving) -> dict[str, Array]:
        return {"nests": RATE * (self.problem.masses @ self._moved(state))}

    def statistics(self, state: Moving, steps: int) -> dict[str, Any]:
        return {"longest_way": float(state.way[0])}


@dataclass(frozen=True)
class Choice:
    """Options of the step."""

    step: float | None = None
    safety: float = 0.5
    unstable: Any = "refuse"


def nests(problem: Problem, **options: Any) -> ParticleSimulation[Nests]:
    step = chosen_step(problem, Choice(**options), StepBound(Nests.stable_step, "springs"), "solvers.nests")
    return ParticleSimulation(problem, Nests(problem, step))


def test_every_node_swings_as_the_recurrence_says() -> None:
    """v' = v - h w^2 u, u' = u + h v' from u = 0: u_n = h v0 sin(n t)/sin t, 1 - cos t = (w h)^2/2."""
    problem = block(2, LAW)
    simulation = nests(problem)
    assert isinstance(simulation, Simulation) and simulation.stable_step == pytest.approx(2.0 / np.sqrt(RATE))
    start = np.random.default_rng(0).standard_normal(problem.points.shape)
    put(simulation, velocities=start)
    h = simulation.step_size
    turn = np.arccos(1.0 - 0.5 * RATE * h**2)
    kept = simulation.energy()["kinetic"]
    for steps in (1, 6, 500):
        simulation.advance(1e9, steps)
        swing = h * start * np.sin(simulation.step_count * turn) / np.sin(turn)
        np.testing.assert_allclose(simulation.positions - problem.points, swing, atol=1e-12)
        np.testing.assert_allclose(simulation.fields()["displacement"][:, :2], swing, atol=1e-12)
        np.testing.assert_allclose(simulation.reactions()["nests"], RATE * problem.masses @ swing, atol=1e-10)
        energy, virial = simulation.energy(), np.sum(problem.masses[:, None] * swing * simulation.velocities)
        assert energy["kinetic"] + energy["stored"] - 0.5 * h * RATE * virial == pytest.approx(kept, rel=1e-11)
    assert simulation.statistics()["longest_way"] >= np.linalg.norm(swing, axis=1).max()
    assert simulation.time == pytest.approx(507 * h)


def between_bodies() -> Problem:
    """Return two blocks with contact, one held at its bottom, under a plane that comes down."""
    box = {"shape": "box", "size": [3.0, 2.0], "cells": [3, 2], "law": "stuff", "density": 1.0}
    down = path([0.0, 1.0], [[0.0, 0.0], [0.0, -0.2]])
    return block(
        2,
        LAW,
        bodies={"block": box, "lid": box | {"size": [2.0, 1.0], "origin": [0.45, 2.01]}},
        gravity=[0.0, -1.0],
        contact={"bodies": True, "friction": 0.2},
        supports=FLOOR,
        tools={"press": {"shape": "plane", "center": [0.0, 3.02], "normal": [0.0, -1.0], "motion": down}},
    )


@pytest.mark.parametrize("grows", [False, True])
def test_halves_are_the_whole_bit_for_bit(grows: bool) -> None:
    """With all that the base keeps: memory, supports, tools, lists of neighbours, also where these outgrow their room.
    What a step has done to the state when it finds too little room is undone."""
    problem = between_bodies()
    whole, first, second = (nests(problem) for _ in range(3))
    run_to(whole, 1.0)
    run_to(first, 0.5)
    if grows:
        contact, take = first.boundary.contact, first._steps.take

        def too_little_room(start: int, count: int) -> int:
            contact.full[0] = 1
            return take(start, count)

        object.__setattr__(first._steps, "take", too_little_room)
        run_to(first, 0.7)
        assert first.boundary.contact is not contact
    second.restore(first.save())
    for simulation in (first, second):
        run_to(simulation, 1.0)
        np.testing.assert_equal(simulation.fields(), whole.fields())
        np.testing.assert_equal(simulation.reactions(), whole.reactions())
        assert simulation.energy() == whole.energy()
    np.testing.assert_equal(second.save(), first.save())
    assert whole.reactions()["tool.press"][1] > 0.0
    held = problem.owners[:, 1] >= 0
    assert whole.reactions()["support.floor"][1] == pytest.approx(-problem.masses[held].sum())
    assert whole.statistics()["active_contacts"] > 0


@pytest.mark.parametrize("kernel", ["structured", "unstructured"])
def test_steps_one_by_one_gather_no_state(kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where particles lie in places of their own, watching them costs positions and velocities alone."""
    problem = block(3, {"model": "voigt", "young": 12.0, "poisson": 0.3, "viscosity": 0.5}, supports={})
    watched, whole = (truss(problem, kernel=kernel) for _ in range(2))
    for simulation in (watched, whole):
        put(simulation, velocities=np.random.default_rng(0).standard_normal(problem.points.shape))
    with monkeypatch.context() as patch:
        patch.setattr(PlacedBody, "store", None)
        patch.setattr(PlacedBody, "load", None)
        for _ in range(5):
            watched.advance(1e9, 1)
            seen = watched.positions, watched.velocities
    whole.advance(1e9, 5)
    np.testing.assert_equal(watched.save(), whole.save())
    np.testing.assert_equal(seen, (whole.positions, whole.velocities))
    assert np.abs(seen[0] - problem.points).max() > 1e-3
