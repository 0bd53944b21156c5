"""Start the finite-element solver on scene data, and fit orders to errors: what all checks share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rheotwin.build import build_problem
from rheotwin.errors import InputFaults
from rheotwin.fem import FemSolver
from rheotwin.problem import Problem
from rheotwin.scene import scene_from_data
from rheotwin.solver import Simulation, checked_options

Array = NDArray[np.float64]
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
