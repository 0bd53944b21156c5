"""Evaluations of parameter sets in lanes, with their shape difference, beside set after set: milliseconds a set.

The papers' lattices of 6 x 4 x 6 and 11 x 7 x 11 particles under their push of 4 s, 15,235 points at four times.
The error is that of S over published sets against steps that need no raised masses.
"""

from __future__ import annotations

from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from benchmarks.side_by_side import Ratio, seconds
from rheotwin.executor import opened
from rheotwin.scene import Scene, load_scene
from rheotwin.validation.calibration import CalibrationProblem, twin
from rheotwin.validation.calibration.campaign import Task, answer

Array = Any
SCENES = Path(__file__).parents[1] / "scenes"
NUMBERS = ("young", "voigt_viscosity", "series_viscosity")
PUBLISHED = ("R2-M1", "R7-GA", "R7-RA", "R4-start", "R4-weak", "R4-strong", "R5-M1", "R3-M3E")
CALLS = 100
"""Calls of eight sets, some 20 ms each, that two processes share."""
TIMES = (1.0, 3.3, 3.6, 4.0)


def marked(scene: str, case: str, **solver: object) -> Scene:
    """Return a scene of the papers whose laws of surface and core are to be found."""
    places = [f"laws.{law}.{number}" for law in (case, f"{case}-core") for number in NUMBERS]
    changes: dict[str, Any] = {"calibrate": {place: {"low": 50.0, "high": 20_000.0} for place in places}}
    changes |= {f"solvers.truss.{name}": value for name, value in solver.items()}
    return load_scene(SCENES / f"{scene}.toml", changes).with_case(case)


def published() -> Array:
    """Return eight published sets of the small lattice: numbers of the surface, then of the core."""
    laws = load_scene(SCENES / "calibrated-lattice-3d.toml").model_dump()["laws"]
    pairs = [(name, f"{name}-core" if f"{name}-core" in laws else name) for name in PUBLISHED]
    return np.array([[laws[law][number] for law in pair for number in NUMBERS] for pair in pairs])


def two_processes(problem: CalibrationProblem, sets: Array) -> Ratio:
    """Measure a population of many calls by two processes and by one; it means something on an idle machine only."""
    items = [[Task(sets)] for _ in range(CALLS)]
    with opened("processes:1") as one, opened("processes:2") as two:
        work = {
            "one": lambda: list(one.each(answer, problem, items)),
            "two": lambda: list(two.each(answer, problem, items)),
        }
        spent = seconds(work, rounds=3)
    times = spent["one"] / spent["two"]
    return Ratio("6 x 4 x 6, two processes over one", spent["two"] / spent["one"], 1.0 / 1.8, f"{times:.2f} times")


def measure() -> list[Ratio]:
    """Measure lanes of both precisions and sizes, the error of S, and what a second process brings."""
    truth = load_scene(SCENES / "calibrated-lattice-3d.toml").with_case("R2-M1")
    record, _ = twin(truth, "truss", TIMES, scale=2.0, points=15_235)
    sets, small = published(), marked("calibrated-lattice-3d", "R7-GA")
    slow = CalibrationProblem(small, "truss", [record], lanes=False)
    wanted = np.array([found.total for found in slow.evaluate(sets)])
    lanes = CalibrationProblem(small, "truss", [record])
    found = np.array([found.total for found in lanes.evaluate(sets)])
    spent = seconds(
        {"lanes": lambda: lanes.evaluate(sets), "one": lambda: slow.evaluate(sets)}, rounds=3, clock=process_time
    )
    each = 1e3 * spent["lanes"] / len(sets)
    ratio = spent["one"] / spent["lanes"]
    ratios = [
        Ratio("6 x 4 x 6, ms a set with S", each, 3.0, f"{ratio:.0f} times faster than set after set"),
        Ratio("6 x 4 x 6, largest error of S", float(np.abs(found / wanted - 1.0).max()), 0.02, "8 published sets"),
    ]
    for name, scene, case, options, limit in (
        ("6 x 4 x 6 single, ms a set with S", "calibrated-lattice-3d", "R7-GA", {"precision": "single"}, 3.0),
        ("11 x 7 x 11, ms a set with S", "calibrated-fine-3d", "R12-lattice", {}, 20.0),
    ):
        problem = CalibrationProblem(marked(scene, case, **options), "truss", [record])
        many = np.vstack([sets, sets])
        spent = seconds({"lanes": lambda p=problem, m=many: p.evaluate(m)}, rounds=3, clock=process_time)  # type: ignore[misc]
        ratios.append(Ratio(name, 1e3 * spent["lanes"] / len(many), limit))
    return [*ratios, two_processes(lanes, sets)]
