"""The few numbers that stand for a run, how far they spread over repeats, steps and threads, and their blessing.

Blessing is the one way to change a baseline: it runs it, measures its spread anew, and writes value and reason.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from rheotwin import __version__
from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError, nearest_name
from rheotwin.record import open_record
from rheotwin.running import RunRequest, run_scene
from rheotwin.scene import load_scene
from rheotwin.solver import find_solver
from rheotwin.validation.baselines.files import Baseline, Blessing, Value, save_baseline

UNITS = {"peak": "N", "largest": "m", "mean": "m", "kinetic": "J", "stored": "J"}
"""Unit of a metric by the first word of its name."""


def run_metrics(folder: Path) -> dict[str, float]:
    """Return the metrics of a record, by name.

    Peak force [N] of every tool and support over the probe times, largest and mean displacement [m] and energies [J]
    at the end.
    """
    record = open_record(folder)
    probes = record.probes
    parts: dict[str, list[Array]] = {}
    for column, samples in probes.items():
        part, _, axis = column.rpartition(".force_")
        if part and axis in ("x", "y", "z"):
            parts.setdefault(part, []).append(samples)
    found = {
        f"peak force, {part}": float(np.linalg.norm(np.stack(forces), axis=0).max()) for part, forces in parts.items()
    }
    moved = np.linalg.norm(record.positions(len(record.times) - 1) - record.rest_positions, axis=1)
    found |= {"largest displacement": float(moved.max()), "mean displacement": float(moved.mean())}
    for name in ("kinetic", "stored"):
        if f"energy.{name}" in probes:
            found[f"{name} energy"] = float(probes[f"energy.{name}"][-1])
    return found


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


def bless(known: Mapping[str, Baseline], identity: str, *, reason: str, date: str) -> Baseline:
    """Measure a baseline anew and write it with the reason; returns it as it is now."""
    if not reason.strip():
        raise RheotwinError('--bless needs a reason that says why the numbers may change: --reason "..."')
    if identity not in known:
        raise RheotwinError(
            f"--bless: there is no baseline {identity!r}{nearest_name(identity, known)}; there are "
            + (", ".join(known) or "none")
        )
    baseline = known[identity]
    found = measure(baseline)
    values = blessed_values(found, spread(baseline, found))
    entry = Blessing(date, " ".join(reason.split()), __version__, {value.name: value.value for value in values})
    changed = replace(baseline, values=values, history=(*baseline.history, entry))
    save_baseline(changed)
    return changed
