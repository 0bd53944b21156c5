"""Start the truss on scene data, put it into a state, and build rows of edges: what checks of particles share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rheotwin.particles import TrussSolver
from rheotwin.particles.truss import TrussSimulation
from rheotwin.solver import checked_options
from rheotwin.validation.checks.running import HELD, Data, box_scene, problem_of, run_to


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
