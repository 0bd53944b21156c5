"""Run the scene of a baseline and take its numbers, and how far they spread over repeats, steps and threads."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rheotwin.errors import RheotwinError
from rheotwin.record import open_record
from rheotwin.registry import find_solver
from rheotwin.run import RunRequest, run_scene
from rheotwin.scene import load_scene
from rheotwin.validation.baselines.baseline import Baseline, Value
from rheotwin.validation.run_metrics import UNITS, run_metrics

REPEATS = 2
ROUNDING = 1e-9
"""Share of a number that other machines and libraries may differ in: rounding, after thousands of steps."""
STEP_SHARE = 0.1
"""Share of the change by half a step that may pass: a tenth of what the scheme itself leaves open."""
ZERO = 1e-9
"""Share of its scale below which a number is nothing but rounding."""


@dataclass(frozen=True)
class Measured:
    """Metrics of one run with the scales they are small against, in their units, and the step [s] it took."""

    values: dict[str, float]
    scales: dict[str, float]
    step: float | None


@dataclass(frozen=True)
class Spread:
    """Largest differences of each number over repeated runs, half the step and two threads, in its unit."""

    repeats: dict[str, float]
    half_step: dict[str, float] = field(default_factory=dict)
    threads: dict[str, float] = field(default_factory=dict)


def measure(baseline: Baseline, extra: Mapping[str, Any] | None = None) -> Measured:
    """Run a baseline's scene, with its options and those of `extra`, and return its metrics."""
    scene = load_scene(baseline.scene_path)
    options = scene.solvers.get(baseline.solver, {}) | baseline.options | dict(extra or {})
    with tempfile.TemporaryDirectory(prefix="rheotwin-") as place:
        folder = Path(place) / "record"
        outcome = run_scene(RunRequest(scene, baseline.solver, folder, case=baseline.case, options=options))
        if outcome.status != "complete":
            raise RheotwinError(f"{baseline.path}: the run ended as {outcome.status}: {outcome.message}")
        values = run_metrics(folder)
        record = open_record(folder)
        extent = float(np.linalg.norm(np.ptp(record.rest_positions, axis=0)))
        step = record.manifest.step.size
    strongest = max((value for name, value in values.items() if name.startswith("peak")), default=0.0)
    # forces do work over displacements: the scale of energies where nothing moves any more
    work = max(strongest * extent, values.get("stored energy", 0.0))
    scales = {"peak": strongest, "largest": extent, "mean": extent, "kinetic": work, "stored": work}
    return Measured(values, {name: scales[name.split()[0]] for name in values}, step)


def spread(baseline: Baseline, found: Measured) -> Spread:
    """Run again: as before, with half the step, and with two threads where the solver has them."""
    fields = find_solver(baseline.solver).options.model_fields
    again = [measure(baseline).values for _ in range(REPEATS - 1)]
    repeats = {name: max(abs(run[name] - value) for run in again) for name, value in found.values.items()}
    halved = _differences(baseline, found, {"step": 0.5 * found.step}) if "step" in fields and found.step else {}
    threads: dict[str, float] = {}
    if "threads" in fields:
        try:
            threads = _differences(baseline, found, {"threads": 2})
        except RheotwinError:  # not with this stepper, or not on this machine
            threads = {}
    return Spread(repeats, halved, threads)


def _differences(baseline: Baseline, found: Measured, extra: Mapping[str, Any]) -> dict[str, float]:
    other = measure(baseline, extra).values
    return {name: abs(other[name] - value) for name, value in found.values.items()}


def blessed_values(found: Measured, spreads: Spread) -> tuple[Value, ...]:
    """Return numbers with tolerances from their spread; near zero an upper bound takes the place of a value."""
    values = []
    for name, value in found.values.items():
        repeats, half, threads = (part.get(name) for part in (spreads.repeats, spreads.half_step, spreads.threads))
        unit, zero = UNITS[name.split()[0]], ZERO * found.scales[name]
        if abs(value) <= zero:
            bound = max(zero, 10.0 * abs(value))
            values.append(Value(name, bound, 0.0, unit, "at most", repeats or 0.0, half, threads))
            continue
        tolerance = max(STEP_SHARE * (half or 0.0), 2.0 * max(repeats or 0.0, threads or 0.0), ROUNDING * abs(value))
        values.append(Value(name, value, tolerance, unit, "absolute", repeats or 0.0, half, threads))
    return tuple(values)
