"""Runs that give again what they gave: baselines, and the same bits.

Baselines as checks: each runs its scene and holds the numbers against those blessed last.

Bitwise determinism: the same run gives the same positions again, and in another process.
"""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from hashlib import sha256
from pathlib import Path

import numpy as np

from rheotwin.build import build_problem
from rheotwin.errors import RheotwinError
from rheotwin.scene import load_scene
from rheotwin.validation.baselines import BUILT_IN, Baseline, load_baselines, measure
from rheotwin.validation.checks.check import Check, Compute, Values
from rheotwin.validation.checks.running import run_to, start
from rheotwin.validation.references.catalogue import Quantity


def measured(baseline: Baseline) -> Values:
    """Run a baseline; a number that is not there any more is said in words."""
    values = measure(baseline).values
    missing = [value.name for value in baseline.values if value.name not in values]
    if missing:
        raise RheotwinError(f"{baseline.path}: the run gives no {missing[0]!r} any more; bless it anew with a reason")
    return values


def baseline_checks(folder: Path) -> tuple[Check, ...]:
    """Return the checks of all baselines of a folder."""
    return tuple(_check(baseline) for baseline in load_baselines(folder).values())


def _check(baseline: Baseline) -> Check:
    waits = "" if baseline.values else f"has no values yet; rheotwin validate --bless {baseline.id} --reason ..."
    return Check(
        f"baseline.{baseline.id}",
        f"baseline-{baseline.id}",
        baseline.title,
        tuple(Quantity(v.name, v.value, v.tolerance, v.bound, v.unit) for v in baseline.values),
        None if waits else partial(measured, baseline),
        quick=baseline.quick,
        waits_for=waits,
        short=baseline.id,
        kind="measured",
        solvers=(baseline.solver,),
        theme="baseline",
    )


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
    scene = load_scene(baseline.scene_path)
    options = scene.solvers.get(baseline.solver, {}) | baseline.options
    simulation = start(build_problem(scene, baseline.case), baseline.solver, **options)
    run_to(simulation, scene.duration)
    state = np.concatenate([simulation.positions, simulation.velocities])
    return sha256(np.ascontiguousarray(state).tobytes()).hexdigest()


def repeated(identity: str) -> Values:
    """Run twice in this process."""
    return {"runs that differ": float(end_state(identity) != end_state(identity))}


def pooled() -> Values:
    """Run here, and in two fresh processes at a time."""
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        elsewhere = list(pool.map(end_state, RUNS))
    differ = sum(end_state(name) != other for name, other in zip(RUNS, elsewhere, strict=True))
    return {"runs that differ": float(differ)}


def _same(identity: str, title: str, compute: Compute, solver: str, *, quick: bool) -> Check:
    none = (Quantity("runs that differ", 0.0),)
    return Check(f"same.{identity}", f"same-{identity}", title, none, compute, quick=quick, solvers=(solver,))


CHECKS = {
    "determinism": (
        *(
            _same(name, f"the same run twice, {name}: identical bits", partial(repeated, name), solver, quick=True)
            for name, solver in RUNS.items()
        ),
        _same("pool", "here and in a pool of processes: identical bits", pooled, "fem", quick=False),
    )
}
