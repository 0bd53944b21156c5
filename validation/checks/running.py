"""Scenes as data, solvers started on them, laws of the reference numbers: what all checks share."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from scipy.spatial.transform import Rotation

from rheotwin.arrays import Array, Reals
from rheotwin.build import build_problem
from rheotwin.errors import InputFaults
from rheotwin.fem import FemSolver
from rheotwin.particles import TrussSolver
from rheotwin.particles.truss import TrussSimulation
from rheotwin.phases import start_simulation
from rheotwin.problem import Problem
from rheotwin.scene import scene_from_data
from rheotwin.solver import Simulation, checked_options, find_solver
from rheotwin.validation.checks.check import Compute, Measurement, Unavailable, Values
from rheotwin.validation.experiments.datasets import missing
from rheotwin.validation.metrics.fits import BIASED, convergence

Data = dict[str, Any]
Found = TypeVar("Found")
Started = TypeVar("Started", bound=Simulation)

LAWS: Data = tomllib.loads((Path(__file__).parent / "laws.toml").read_text(encoding="utf-8"))
"""The material laws of the reference numbers, as tables of a scene (spec 8 and 10)."""
EQUAL_RATIO: dict[str, Data] = LAWS["equal-ratio"]
"""One law of every kind whose parts share one Poisson ratio: T8 holds for all of them."""
ELASTIC: Data = EQUAL_RATIO["elastic"]
VISCOPLASTIC: Data = EQUAL_RATIO["maxwell"]
RHEOLOGICAL: Data = EQUAL_RATIO["three-element"]
"""F-VP and F-RH."""
WEIGHTLESS = 1e-12
"""Density [kg/m3] for bodies without inertia in schemes that need a mass."""


def side(name: str, **more: Any) -> Data:
    """Return the table of a support or a load on one side of the block."""
    return {"body": "block", "where": {"side": name}, **more}


def path(times: Sequence[float], places: Sequence[Sequence[float]]) -> Data:
    """Return the table of a motion: displacements [m] at times [s]."""
    return {"times": list(times), "displacement": [list(place) for place in places]}


HELD: Data = {"left": side("left")}
FLOOR: Data = {"floor": side("bottom")}
"""Supports: of the left side, where a bar is held; of the bottom, where a block stands."""


def scene_of(law: Data, shape: Data, *, dimension: int, duration: float = 1.0, **more: Any) -> Data:
    """Return scene data of one body `block` made of `law`; keywords of the body and of the scene are told apart.

    `equal_mass` [kg] is the body's mass, the same for every node.
    """
    body = shape | {
        key: more.pop(key)
        for key in ("cell", "pattern", "origin", "mass", "density", "velocity", "spin")
        if key in more
    }
    if "equal_mass" in more:
        body |= {"mass": more.pop("equal_mass"), "mass_sharing": "equal"}
    if not {"mass", "density"} & set(body):
        body["density"] = WEIGHTLESS
    return {
        "schema": 1,
        "dimension": dimension,
        "duration": duration,
        "laws": {"stuff": law},
        "bodies": {"block": body | {"law": "stuff"}},
        "output": {"interval": duration},
        **more,
    }


def box_scene(law: Data, *, cells: list[int], size: list[float] | None = None, **more: Any) -> Data:
    """Return the scene of a box, by default of unit cells; for the keywords see `scene_of`."""
    extent = [float(count) for count in cells] if size is None else size
    return scene_of(law, {"shape": "box", "size": extent, "cells": cells}, dimension=len(cells), **more)


def row(law: Data, *, edges: int = 1, mass: float = 1.0, **scene: Any) -> Data:
    """Return edges of length 1 in a row, held at the left, particles of equal mass [kg]."""
    return box_scene(
        {"poisson": 0.0, **law}, cells=[edges], equal_mass=(edges + 1) * mass, **{"supports": HELD} | scene
    )


def pull(force: float, times: tuple[float, ...] = (), factor: tuple[float, ...] = ()) -> Data:
    """Return the table of forces of a scene: `force` [N] on the right end, held or times a table of factors."""
    table = {"times": list(times), "factor": list(factor)} if times else {}
    return {"pull": side("right", total=[force], **table)}


def ends_at(time: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the table of a force that ends at a time [s], half of it there: a rule of any order takes all of it."""
    return (0.0, time - 1e-9, time + 1e-9), (1.0, 1.0, 0.0)


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


def with_data(name: str, compute: Compute) -> Compute:
    """Return a computation that is unavailable, with the reason, where the data set `name` is not there."""

    def guarded() -> Measurement | Values:
        if reason := missing(name):
            raise Unavailable(f"could not run: {reason}")
        return compute()

    return guarded


def problem_of(data: Data) -> Problem:
    """Return the problem of a scene given as data."""
    return build_problem(scene_from_data(data))


def start(what: Data | Problem, solver: str = "fem", **options: Any) -> Simulation:
    """Start a solver on a scene or a problem."""
    problem, chosen = what if isinstance(what, Problem) else problem_of(what), find_solver(solver)
    return start_simulation(chosen, problem, checked_options(chosen, options))


def block(dimension: int, law: Data, body: Data | None = None, **scene: Any) -> Problem:
    """Return a box of 3 (x 2 (x 2)) unit cells and density 1; `body` changes its entries, None removes one."""
    data = box_scene(law, cells=[3, 2, 2][:dimension], density=1.0, **scene)
    if "bodies" not in scene:
        box = data["bodies"]["block"] | (body or {})
        data["bodies"]["block"] = {key: value for key, value in box.items() if value is not None}
    return problem_of(data)


def truss(what: Data | Problem, **options: Any) -> TrussSimulation:
    """Start the truss on a scene or a problem."""
    solver, problem = TrussSolver(), what if isinstance(what, Problem) else problem_of(what)
    return solver.start(problem, checked_options(solver, options))


def begin(data: Data, **options: Any) -> TrussSimulation:
    """Start the truss on a scene; the law's numbers are those of every edge."""
    return truss(data, match="edge", **options)


def put(simulation: Started, **values: Any) -> Started:
    """Overwrite parts of the state and return it; positions [m] and velocities [m/s] are (N, d)."""
    state = simulation.save()
    for name, value in values.items():
        if name in ("positions", "velocities"):
            state[name][:, : np.shape(value)[1]] = value
        else:
            state[name][...] = value
    simulation.restore(state)
    return simulation


def run_to(simulation: Started, time: float) -> Started:
    """Advance to `time` [s], however many steps that takes, and return the simulation."""
    simulation.advance(float(time), 10**12)
    return simulation


def seen(simulation: Simulation, times: Iterable[float], look: Callable[[], Found]) -> list[Found]:
    """Return what `look` finds at each of the times [s]."""
    found = []
    for time in times:
        run_to(simulation, time)
        found.append(look())
    return found


def named(pattern: str, names: Iterable[object], values: Iterable[float]) -> dict[str, float]:
    """Return values by names made of a pattern: "u({:g})" and times, "u{}" and numbers."""
    return {pattern.format(name): float(value) for name, value in zip(names, values, strict=True)}


def moved(simulation: Simulation, time: float) -> float:
    """Return how far the right end of a row has moved [m] at a time [s]."""
    run_to(simulation, time)
    return float(simulation.positions[-1, 0] - (len(simulation.positions) - 1.0))


def peak(simulation: TrussSimulation, times: Reals) -> tuple[float, float]:
    """Return when [s] the right end of a row turns back within `times`, and how far [m] it gets."""
    found = [(moved(simulation, time), -float(simulation.velocities[-1, 0])) for time in times]
    return float(np.interp(0.0, [speed for _, speed in found], times)), max(way for way, _ in found)


def displacements(simulation: Simulation, problem: Problem, times: Iterable[float]) -> Array:
    """Return the displacements (F, N, 3) [m] of the nodes at `times` [s]."""
    return np.array(seen(simulation, times, lambda: simulation.positions - problem.points))


def last_order(sizes: Sequence[float], errors: Sequence[float]) -> float:
    """Return the slope of log(error) over log(size) between the last two entries."""
    return float(np.log(errors[-2] / errors[-1]) / np.log(sizes[-2] / sizes[-1]))


def orders(sizes: Sequence[float], errors: Sequence[float]) -> list[float]:
    """Return the slopes of log(error) over log(size) between neighbours."""
    return [last_order(*pair) for pair in zip(pairwise(sizes), pairwise(errors), strict=True)]


def refined(compute: Callable[[int], Values], refinements: Sequence[int]) -> Measurement:
    """Return the values of the last of these meshes, and how uncertain each is by the others, widened for a verdict."""
    found = [compute(refinement) for refinement in refinements]
    settled = {name: convergence(refinements, [values[name] for values in found]) for name in found[-1]}
    known = {name: BIASED * item.uncertainty for name, item in settled.items() if item.uncertainty is not None}
    return Measurement(found[-1], uncertainties=known)


def aligned(points: Array, target: Array) -> Array:
    """Return points (M, 3) [m] turned and shifted as a rigid body to lie as close to `target` as they can."""
    middle, wanted = points.mean(axis=0), target.mean(axis=0)
    turn, _ = Rotation.align_vectors(target - wanted, points - middle)
    return np.asarray(turn.apply(points - middle) + wanted)


def rms(vectors: Array) -> float:
    """Return the root mean square length of vectors (M, 3), in their unit."""
    return float(np.sqrt(np.mean(np.sum(np.square(vectors), axis=1))))
