"""Scenes as data, solvers started on them, laws of the reference numbers: what all checks share.

Start the finite-element solver on scene data, and fit orders to errors: what all checks share.

The material laws of the reference numbers, as tables of a scene (spec 8 and 10).

Start the truss on scene data, put it into a state, and build rows of edges: what checks of particles share.

Run scenes of measured specimens with any solver, and read what was measured on them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from rheotwin.arrays import Array
from rheotwin.build import build_problem
from rheotwin.errors import InputFaults
from rheotwin.fem import FemSolver
from rheotwin.particles import TrussSolver
from rheotwin.particles.truss import TrussSimulation
from rheotwin.problem import Problem
from rheotwin.registry import find_solver
from rheotwin.scene import scene_from_data
from rheotwin.solver import Simulation, checked_options
from rheotwin.validation.checks.check import Measurement, Unavailable
from rheotwin.validation.experiments.datasets import missing

Data = dict[str, Any]

HELD: Data = {"left": {"body": "block", "where": {"side": "left"}}}
"""Support of the left side of the block, where a bar is held."""
WEIGHTLESS = 1e-12
"""Density [kg/m3] for bodies without inertia in schemes that need a mass."""


def missing_option(options: Mapping[str, Any]) -> str:
    """Return a sentence if the `fem` solver lacks one of these options or its value; nothing otherwise."""
    taken: dict[str, Any] = {}
    for name, value in options.items():
        taken[name] = value
        try:
            checked_options(FemSolver, taken)
        except InputFaults:
            return f"the fem solver does not take {name} = {value}"
    return ""


def problem_of(data: Data) -> Problem:
    """Return the problem of a scene given as data."""
    return build_problem(scene_from_data(data))


def start(what: Data | Problem, **options: Any) -> Simulation:
    """Start the finite-element solver on a scene or a problem."""
    problem = what if isinstance(what, Problem) else problem_of(what)
    return FemSolver().start(problem, checked_options(FemSolver, options))


def run_to(simulation: Simulation, time: float) -> None:
    """Advance to `time` [s], however many steps that takes."""
    simulation.advance(time, 10**12)


def box_scene(law: Data, *, size: list[float], cells: list[int], duration: float, **more: Any) -> Data:
    """Return scene data of one box `block` made of `law`; keywords of the body and of the scene are told apart."""
    keys = ("cell", "pattern", "mass", "density", "mass_sharing")
    body = {key: more.pop(key) for key in keys if key in more}
    if not {"mass", "density"} & set(body):
        body["density"] = WEIGHTLESS
    return {
        "schema": 1,
        "dimension": len(size),
        "duration": duration,
        "laws": {"stuff": law},
        "bodies": {"block": {"shape": "box", "size": size, "cells": cells, "law": "stuff", **body}},
        "output": {"interval": duration},
        **more,
    }


def last_order(sizes: Sequence[float], errors: Sequence[float]) -> float:
    """Return the slope of log(error) over log(size) between the last two entries."""
    return float(np.log(errors[-2] / errors[-1]) / np.log(sizes[-2] / sizes[-1]))


def orders(sizes: Sequence[float], errors: Sequence[float]) -> list[float]:
    """Return the slopes of log(error) over log(size) between neighbours."""
    return [last_order(*pair) for pair in zip(pairwise(sizes), pairwise(errors), strict=True)]


ELASTIC: Data = {"model": "elastic", "young": 300.0, "poisson": 0.35}
VISCOPLASTIC: Data = {"model": "maxwell", "young": 300.0, "poisson": 0.35, "viscosity": 500.0}
"""F-VP."""
RHEOLOGICAL: Data = {
    "model": "three-element",
    "young": 30.0,
    "poisson": 0.35,
    "voigt_viscosity": 20.0,
    "series_viscosity": 500.0,
}
"""F-RH."""
UNEQUAL: Data = VISCOPLASTIC | {"viscous_poisson": 0.25}
"""R13: the dashpot has another Poisson ratio than the spring."""
EQUAL_RATIO: dict[str, Data] = {
    "elastic": ELASTIC,
    "voigt": {"model": "voigt", "young": 300.0, "poisson": 0.35, "viscosity": 60.0},
    "maxwell": VISCOPLASTIC,
    "three-element": RHEOLOGICAL,
    "generalized-voigt": {
        "model": "generalized-voigt",
        "units": [
            {"young": 300.0, "poisson": 0.35},
            {"young": 100.0, "poisson": 0.35, "viscosity": 80.0},
            {"young": 40.0, "poisson": 0.35, "viscosity": 400.0},
        ],
    },
    "generalized-maxwell": {
        "model": "generalized-maxwell",
        "units": [
            {"young": 150.0, "poisson": 0.35, "viscosity": 40.0},
            {"young": 80.0, "poisson": 0.35, "viscosity": 400.0},
        ],
        "equilibrium": 20.0,
        "viscosity": 15.0,
        "poisson": 0.35,
    },
}
"""One law of every kind whose parts share one Poisson ratio: T8 holds for all of them."""


def begin(data: Data, **options: Any) -> TrussSimulation:
    """Start the truss on a scene; the law's numbers are those of every edge."""
    solver = TrussSolver()
    return solver.start(problem_of(data), checked_options(solver, {"match": "edge", **options}))


def put(simulation: TrussSimulation, **values: Any) -> None:
    """Overwrite parts of the state; positions [m] and velocities [m/s] are (N, d)."""
    state = simulation.save()
    for name, value in values.items():
        if name in ("positions", "velocities"):
            state[name][:, : np.shape(value)[1]] = value
        else:
            state[name][...] = value
    simulation.restore(state)


def row(law: Data, *, edges: int = 1, mass: float = 1.0, duration: float = 1.0, **scene: Any) -> Data:
    """Return edges of length 1 in a row, held at the left, particles of equal mass [kg]."""
    more = {"supports": HELD} | scene
    return box_scene(
        {"poisson": 0.0, **law},
        size=[float(edges)],
        cells=[edges],
        mass=(edges + 1) * mass,
        mass_sharing="equal",
        duration=duration,
        **more,
    )


def pull(force: float, times: tuple[float, ...] = (), factor: tuple[float, ...] = ()) -> Data:
    """Return the table of forces of a scene: `force` [N] on the right end, held or times a table of factors."""
    table = {"times": list(times), "factor": list(factor)} if times else {}
    return {"pull": {"body": "block", "where": {"side": "right"}, "total": [force], **table}}


def ends_at(time: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the table of a force that ends at a time [s], half of it there: a rule of any order takes all of it."""
    return (0.0, time - 1e-9, time + 1e-9), (1.0, 1.0, 0.0)


def moved(simulation: TrussSimulation, time: float) -> float:
    """Return how far the right end of a row has moved [m] at a time [s]."""
    run_to(simulation, time)
    return float(simulation.positions[-1, 0] - (len(simulation.positions) - 1.0))


def peak(simulation: TrussSimulation, times: NDArray[np.floating[Any]]) -> tuple[float, float]:
    """Return when [s] the right end of a row turns back within `times`, and how far [m] it gets."""
    path, speed = [], []
    for time in times:
        path.append(moved(simulation, time))
        speed.append(-float(simulation.velocities[-1, 0]))
    return float(np.interp(0.0, speed, times)), max(path)


def with_data(name: str, compute: Callable[[], Measurement]) -> Callable[[], Measurement]:
    """Return a computation that is unavailable, with the reason, where the data set `name` is not there."""

    def guarded() -> Measurement:
        reason = missing(name)
        if reason:
            raise Unavailable(f"could not run: {reason}")
        return compute()

    return guarded


def started(solver: str, problem: Problem, options: Data) -> Simulation:
    """Start a solver, by name, on a problem."""
    chosen = find_solver(solver)
    return chosen.start(problem, checked_options(chosen, options))


def displacements(simulation: Simulation, problem: Problem, times: Sequence[float] | Array) -> Array:
    """Return the displacements (F, N, 3) [m] of the nodes at `times` [s]."""
    found = []
    for time in times:
        run_to(simulation, float(time))
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
