"""Bitwise determinism: the same run gives the same positions again, and in another process."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from hashlib import sha256

import numpy as np

from rheotwin.build import build_problem
from rheotwin.registry import find_solver
from rheotwin.scene import load_scene
from rheotwin.solver import checked_options
from rheotwin.validation.baselines import BUILT_IN, load_baselines
from rheotwin.validation.checks.check import Check, Measurement, Quantity

RUNS = {
    "press-2d-fem": "fem",
    "press-2d-truss": "truss",
    "drop-2d-fem": "fem",
    "drop-2d-truss": "truss",
    "pulled-3d-fixed-point": "fixed-point",
}
"""Baselines whose runs are repeated, and their solvers."""


def end_state(identity: str) -> str:
    """Return a digest of positions and velocities at the end of a baseline's run, bit for bit."""
    baseline = load_baselines(BUILT_IN)[identity]
    scene, solver = load_scene(baseline.scene_path), find_solver(baseline.solver)
    options = scene.solvers.get(solver.name, {}) | baseline.options
    simulation = solver.start(build_problem(scene, baseline.case), checked_options(solver, options))
    simulation.advance(scene.duration, 10**12)
    state = np.concatenate([simulation.positions, simulation.velocities])
    return sha256(np.ascontiguousarray(state).tobytes()).hexdigest()


def repeated(identity: str) -> Measurement:
    """Run twice in this process."""
    return Measurement({"runs that differ": float(end_state(identity) != end_state(identity))})


def pooled() -> Measurement:
    """Run here, and in two fresh processes at a time."""
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        elsewhere = list(pool.map(end_state, RUNS))
    differ = sum(end_state(name) != other for name, other in zip(RUNS, elsewhere, strict=True))
    return Measurement({"runs that differ": float(differ)})


def _same(identity: str, title: str, compute: partial[Measurement], solver: str, *, quick: bool) -> Check:
    return Check(
        f"same.{identity}",
        f"same-{identity}",
        title,
        (Quantity("runs that differ", 0.0),),
        compute,
        quick=quick,
        solvers=(solver,),
    )


CHECKS = (
    *(
        _same(n, f"the same run twice, {n}: identical bits", partial(repeated, n), solver, quick=True)
        for n, solver in RUNS.items()
    ),
    _same("pool", "here and in a pool of processes: identical bits", partial(pooled), "fem", quick=False),
)
