"""Run scenes of measured specimens with any solver, and read what was measured on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from rheotwin.build import build_problem
from rheotwin.problem import Problem
from rheotwin.registry import find_solver
from rheotwin.scene import scene_from_data
from rheotwin.solver import Simulation, checked_options
from rheotwin.validation.checks.check import Measurement, Unavailable
from rheotwin.validation.experiments.datasets import missing

Array = NDArray[np.float64]
Data = dict[str, Any]
MANY = 10**12
"""More steps than any of these runs takes."""


def with_data(name: str, compute: Callable[[], Measurement]) -> Callable[[], Measurement]:
    """Return a computation that is unavailable, with the reason, where the data set `name` is not there."""

    def guarded() -> Measurement:
        reason = missing(name)
        if reason:
            raise Unavailable(f"could not run: {reason}")
        return compute()

    return guarded


def problem_of(data: Data) -> Problem:
    """Return the problem of a scene given as data."""
    return build_problem(scene_from_data(data))


def started(solver: str, problem: Problem, options: Data) -> Simulation:
    """Start a solver, by name, on a problem."""
    chosen = find_solver(solver)
    return chosen.start(problem, checked_options(chosen, options))


def displacements(simulation: Simulation, problem: Problem, times: Sequence[float] | Array) -> Array:
    """Return the displacements (F, N, 3) [m] of the nodes at `times` [s]."""
    found = []
    for time in times:
        simulation.advance(float(time), MANY)
        found.append(simulation.positions - problem.points)
    return np.array(found)


def aligned(points: Array, target: Array) -> Array:
    """Return points (M, 3) [m] turned and shifted as a rigid body to lie as close to `target` as they can."""
    middle, wanted = points.mean(axis=0), target.mean(axis=0)
    turn, _ = Rotation.align_vectors(target - wanted, points - middle)
    return np.asarray(turn.apply(points - middle) + wanted)


def rms(vectors: Array) -> float:
    """Return the root mean square length of vectors (M, 3), in their unit."""
    return float(np.sqrt(np.mean(np.sum(np.square(vectors), axis=1))))
