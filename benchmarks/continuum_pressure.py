"""The cost of constant volume beside that of the elements: a slowly pressed cube of 20,250 tets, one thread.

`shear-volume` takes the same steps with and without `incompressible = "cell"`, in turns; the difference is what
pressures cost, with multipliers as they come from the step before. A Voigt law lets the cube come to rest under the
plate, an elastic one goes on ringing, so that every step has more to correct.
"""

from __future__ import annotations

from statistics import median
from time import thread_time
from typing import Any

from rheotwin.build import build_problem
from rheotwin.particles.shear_volume.solver import ShearVolumeSolver
from rheotwin.scene import scene_from_data
from rheotwin.solver import checked_options

CELLS = 15
STEP = 0.03
WARM = 300
ROUNDS = 9
COUNTED = 20
"""Steps of a round."""
LAWS: dict[str, dict[str, Any]] = {
    "voigt": {"model": "voigt", "young": 3.0, "viscosity": 1.5, "poisson": 0.3},
    "elastic": {"model": "elastic", "young": 3.0, "poisson": 0.3},
}
LIMIT = 3.0
"""What pressures may cost, in explicit steps of the same body (issue 7)."""


def pressed_cube(law: str = "voigt", **options: Any) -> Any:
    """Return a cube of Kuhn cells of 1 m under a plate that comes down by a tenth of its height in 1000 steps."""
    height, duration = float(CELLS), 1000.0 * STEP
    motion = {"times": [0.0, duration], "displacement": [[0.0] * 3, [0.0, 0.0, -0.1 * height]]}
    data = {
        "schema": 1,
        "dimension": 3,
        "duration": duration,
        "laws": {"stuff": LAWS[law]},
        "bodies": {
            "cube": {"shape": "box", "size": [height] * 3, "cells": [CELLS] * 3, "law": "stuff", "density": 1.0}
            | {"pattern": "six"}
        },
        "supports": {"floor": {"body": "cube", "where": {"side": "bottom"}}},
        "tools": {"plate": {"shape": "plane", "center": [0.0, 0.0, height], "normal": [0.0, 0.0, -1.0]}},
        "output": {"interval": duration},
    }
    data["tools"]["plate"]["motion"] = motion  # type: ignore[index]
    solver = ShearVolumeSolver()
    return solver.start(build_problem(scene_from_data(data)), checked_options(solver, {"step": STEP, **options}))


def seconds_of(simulation: Any) -> float:
    """Return the CPU time [s] of the steps of a round."""
    begin = thread_time()
    simulation.advance((simulation.step_count + COUNTED) * STEP, COUNTED)
    return thread_time() - begin


def pressure_cost(law: str) -> dict[str, float]:
    """Return milliseconds a step without and for pressures, their ratio, and iterations and volume error."""
    free, kept = pressed_cube(law), pressed_cube(law, incompressible="cell")
    for simulation in (free, kept):
        simulation.advance(WARM * STEP, WARM)
    rounds = [(seconds_of(free), seconds_of(kept)) for _ in range(ROUNDS)]
    plain, whole = (1e3 * median(times) / COUNTED for times in zip(*rounds, strict=True))
    ratio = median((both - alone) / alone for alone, both in rounds)  # of neighbours: machines change their speed
    found = kept.statistics()
    return {
        "explicit_step_ms": plain,
        "pressure_ms": whole - plain,
        "ratio": ratio,
        "iterations_per_step": found["constraint_iterations_per_step"],
        "largest_volume_error": found["largest_volume_error"],
    }


if __name__ == "__main__":
    for name in LAWS:
        print(name, pressure_cost(name))
