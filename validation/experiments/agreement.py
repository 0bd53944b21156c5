"""How well a run repeats an experiment: shape difference, tracked points, force, volume."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError
from rheotwin.validation.experiments.record import ExperimentRecord, Frame
from rheotwin.validation.metrics import (
    ShapeDifference,
    at_times,
    common_times,
    force_curve_error,
    shape_difference,
    surface_distance,
    surface_of,
    transfer,
)
from rheotwin.validation.run_view import RunView, bodies_with_volume, vector

ALIKE, NEAR = 0.9, 0.2
"""Cosine from which two force curves have one form; relative difference from a factor between units."""
FACTORS = (1e3, 1e-3, 1e6, 1e-6, 9.80665, 1.0 / 9.80665)
"""Ratios of units of force that are easily mistaken: N, mN, kN, kgf."""
BODY_TOLERANCE = 0.01
"""Difference of bounding boxes, as a share of their diagonal, above which bodies are not the same."""


@dataclass(frozen=True)
class TrackedError:
    """Distances [m] of tracked points from where the run has them: root mean square and largest, at a time [s].

    `moved` [m] is the root mean square of the measured displacement itself.
    """

    time: float
    rms: float
    largest: float
    moved: float


@dataclass(frozen=True)
class Agreement:
    """The errors of a run against an experiment; None where the record or the run lacks what it takes.

    `shape` is S of all untracked points, `tracked` one entry per frame with known rest positions, `force` the error of
    the force curve [1], `volume` the largest |V - V_measured|/V_measured [1].
    """

    run: str
    experiment: str
    shape: ShapeDifference | None
    tracked: tuple[TrackedError, ...]
    force: float | None
    volume: float | None
    span: tuple[float, float] | None = None
    """From when to when [s] forces were compared."""
    hint: str = ""
    """What may be wrong with the measured force, where it is like that of the run but for a sign or a unit."""


def agreement(run: RunView, record: ExperimentRecord, *, tool: str | None = None) -> Agreement:
    """Hold a run against an experiment, at the record's times; both must be about the same body in the same axes."""
    check_same_body(run, record)
    for frame in record.frames:
        _check_time(run, frame)
    places = {frame.time: _place(run, frame.time) for frame in record.frames}
    clouds = [frame for frame in record.frames if frame.rest is None]
    distances = [surface_distance(frame.points, _surface(run, places[frame.time])) for frame in clouds]
    return Agreement(
        run=run.label,
        experiment=record.id,
        shape=shape_difference(distances) if clouds else None,
        tracked=tuple(_tracked(run, frame, places[frame.time]) for frame in record.frames if frame.rest is not None),
        volume=_volume(run, record),
        **_force(run, record, tool),
    )


def check_same_body(run: RunView, record: ExperimentRecord) -> None:
    """Refuse a run of another body than the experiment's, or of the same body in other axes."""
    least, most = record.specimen.box
    mine = run.rest.min(axis=0), run.rest.max(axis=0)
    axes = slice(0, len(record.specimen.size))
    off = max(float(np.abs(mine[0] - least)[axes].max()), float(np.abs(mine[1] - most)[axes].max()))
    if off > BODY_TOLERANCE * float(np.linalg.norm(most - least)) or run.dimension != len(record.specimen.size):
        raise RheotwinError(
            f"experiment '{record.id}' is about a body from {_shown(least, axes)} to {_shown(most, axes)} m, run "
            f"'{run.label}' about one from {_shown(mine[0], slice(0, run.dimension))} to "
            f"{_shown(mine[1], slice(0, run.dimension))} m; compare the same body in the same axes"
        )


def _shown(corner: Array, axes: slice) -> str:
    return "(" + ", ".join(f"{value:.4g}" for value in corner[axes]) + ")"


def _check_time(run: RunView, frame: Frame) -> None:
    slack = 1e-6 * max(1.0, float(run.times[-1]))
    if not run.times[0] - slack <= frame.time <= run.times[-1] + slack:
        raise RheotwinError(
            f"the frame at t = {frame.time:g} s lies outside the run '{run.label}' ({run.times[0]:g} to "
            f"{run.times[-1]:g} s); run the scene as long as the experiment took"
        )


def _place(run: RunView, time: float) -> Array:
    return np.asarray(run.rest + at_times(run.times, run.displacement, np.array([time]))[0])


def _surface(run: RunView, place: Array) -> object:
    return surface_of(place, run.cells, run.cell_kind)


def _tracked(run: RunView, frame: Frame, place: Array) -> TrackedError:
    assert frame.rest is not None
    carried = transfer(run.rest, run.cells, run.cell_kind, frame.rest)
    lengths = np.linalg.norm(frame.rest + carried(place - run.rest) - frame.points, axis=1)
    moved = np.linalg.norm(frame.points - frame.rest, axis=1)
    return TrackedError(frame.time, _rms(lengths), float(lengths.max()), _rms(moved))


def _rms(lengths: Array) -> float:
    return float(np.sqrt(np.mean(np.square(lengths))))


def _force(run: RunView, record: ExperimentRecord, tool: str | None) -> dict[str, Any]:
    sources = run.pushers
    if record.force is None or not sources:
        return {"force": None}
    kind, name = next((source for source in sources if source[1] == tool), sources[0])
    exerted = -vector(run.probes, kind, name, "force")
    common = common_times(run.probe_times, record.force.times)
    mine, seen = (
        at_times(times, values, common)
        for times, values in ((run.probe_times, exerted), (record.force.times, record.force.values))
    )
    error = force_curve_error(run.probe_times, exerted, record.force.times, record.force.values)
    return {"force": error, "span": (float(common[0]), float(common[-1])), "hint": _hint(mine, seen)}


def _hint(mine: Array, seen: Array) -> str:
    """Say what sign or unit may be wrong where curves are alike in form: seen = s mine with s < 0 or a known factor."""
    product, sizes = float(np.sum(mine * seen)), float(np.linalg.norm(mine) * np.linalg.norm(seen))
    if not abs(product) > ALIKE * sizes:
        return ""
    said = ["the measured force has the other sign: see --push and --flip-force of its import"] if product < 0.0 else []
    ratio = float(np.linalg.norm(seen) / np.linalg.norm(mine))
    factor = next((size for size in FACTORS if abs(ratio / size - 1.0) < NEAR), None)
    if factor is not None:
        said.append(f"the measured force is some {factor:.4g} times that of the run: look at its unit")
    return "; ".join(said)


def _volume(run: RunView, record: ExperimentRecord) -> float | None:
    bodies = bodies_with_volume(run.probes)
    if record.volume is None or not bodies:
        return None
    mine = np.sum([run.probes[f"volume.{body}"] for body in bodies], axis=0)
    common = common_times(run.probe_times, record.volume.times)
    seen = at_times(record.volume.times, record.volume.values, common)
    return float(np.abs(at_times(run.probe_times, mine, common) / seen - 1.0).max())
