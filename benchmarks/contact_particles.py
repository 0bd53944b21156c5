"""What contact adds to a step of the particles: the reference body on a floor, and one that may touch itself.

225 of 1234 candidates rest on the floor. Free and touching bodies take turns, in CPU time of this thread.
"""

from __future__ import annotations

from math import inf
from statistics import median
from time import thread_time
from typing import Any
from warnings import catch_warnings, simplefilter

from benchmarks.side_by_side import Ratio
from rheotwin.build import build_problem
from rheotwin.particles import TrussSolver
from rheotwin.scene import scene_from_data
from rheotwin.solver import checked_options

KERNELS = ("structured", "unstructured", "general")
FLOOR: dict[str, Any] = {"floor": {"shape": "plane", "center": [0.0, 0.0, 0.0], "normal": [0.0, 0.0, 1.0]}}
SPRINGS = {"law": "penalty", "stiffness": 10.0, "damping": 0.1, "bodies": False}
CASES: dict[str, dict[str, Any]] = {
    "free": {},
    "floor": {"tools": FLOOR},
    "exact": {"tools": FLOOR, "contact": {"law": "exact", "bodies": False}},
    "penalty": {"tools": FLOOR, "contact": SPRINGS},
    "integrated": {"tools": FLOOR, "contact": {**SPRINGS, "law": "integrated", "integral": 1.0, "region": 0.1}},
    "friction": {"tools": FLOOR, "contact": {"law": "exact", "friction": 0.3, "bodies": False}},
    "self": {"tools": FLOOR, "contact": {**SPRINGS, "bodies": True, "self": True}},
}
LIMIT, STEPS, ROUNDS = 1.15, 200, 15


def block(kernel: str, case: dict[str, Any]) -> Any:
    """Return a running truss of 15 x 15 x 16 particles, free or on the floor."""
    law = {"model": "three-element", "young": 12.0, "poisson": 0.25, "voigt_viscosity": 0.5, "series_viscosity": 60.0}
    box = {"shape": "box", "cells": [14, 14, 15], "size": [14.0, 14.0, 15.0], "origin": [0.0, 0.0, -1e-4]}
    data = {"schema": 1, "dimension": 3, "duration": 1e6, "output": {"interval": 1e6}, "gravity": [0.0, 0.0, -1e-3]}
    data |= {"laws": {"stuff": law}, "bodies": {"block": {**box, "law": "stuff", "density": 1.0}}, **case}
    solver = TrussSolver()
    with catch_warnings():
        simplefilter("ignore")  # it begins a little inside of the floor
        problem = build_problem(scene_from_data(data, base=None))
    return solver.start(problem, checked_options(solver, {"kernel": kernel, "volume_term": False}))


def on_floor(kernel: str) -> list[Ratio]:
    """Compare the step on a floor, by today's exact rule and by laws, with the free one."""
    bodies = {name: block(kernel, case) for name, case in CASES.items()}
    spent: dict[str, list[float]] = {name: [] for name in bodies}
    for _ in range(ROUNDS + 1):
        for name, body in bodies.items():
            begin = thread_time()
            body.advance(1e6, STEPS)
            spent[name].append(1e6 * (thread_time() - begin) / STEPS)
    free = spent.pop("free")[1:]
    return [
        Ratio(
            f"{kernel}, {name} / free step",
            median(step / alone for step, alone in zip(times[1:], free, strict=True)),  # machines change their speed
            LIMIT if name != "self" else inf,
            f"{median(free):.1f} -> {median(times[1:]):.1f} us",
        )
        for name, times in spent.items()
    ]


def measure() -> list[Ratio]:
    """Measure every kernel."""
    return [ratio for kernel in KERNELS for ratio in on_floor(kernel)]
