"""What a calibration came to: parameters with intervals, their ratios, what stays open, and how good the set is.

Intervals are those of least squares, cov = s2 (J^T J)^-1 with s2 = max(1, r^T r/(N - n)) in the parameters' logarithms:
what noise, and what the model leaves, allow. Beside them stands how far the searches from several seeds lie apart.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from rheotwin.arrays import Array
from rheotwin.scene import Scene
from rheotwin.validation.baselines.files import toml
from rheotwin.validation.calibration.campaign import Found, Problem, Task, answer
from rheotwin.validation.calibration.problem import CalibrationProblem, Part
from rheotwin.validation.calibration.searches import DIFFERENCE, Normal, Space
from rheotwin.validation.experiments.record import ExperimentRecord
from rheotwin.validation.identification.intervals import open_combinations
from rheotwin.validation.metrics.meshes import NOISE

NORMAL = 1.96
"""Half width of a 95 % interval, in standard deviations."""
AT_BOUND = 1e-3
"""A parameter this close to a bound, as a share of their distance in `linear`, lies on it."""
CLOSE, RISE = 0.01, 12.0
"""A seed has found the same as the best where its cost is higher by this share, its squares by so much noise."""
MOST = 700.0
"""Largest logarithm that is a number."""


@dataclass(frozen=True)
class Number:
    """A number that was found: its 95 % interval, its range over the close seeds, the bound it lies on."""

    name: str
    value: float
    low: float
    high: float
    least: float
    largest: float
    bound: Literal["", "low", "high"] = ""

    @property
    def agrees(self) -> bool:
        """Whether the seeds lie within the interval."""
        return self.low <= self.least and self.largest <= self.high


@dataclass(frozen=True)
class Flat:
    """A product of powers of parameters that is known to a factor only, and what would tell it."""

    combination: str
    factor: float
    remedy: str


@dataclass(frozen=True)
class Quality:
    """How well records are met: cost at the result and at the start [m], S [m] of N points, S/N, S/N of noise alone."""

    part: Part
    cost: float
    start: float
    shape: float
    points: int
    per_point: float
    floor: float | None
    reason: str | None = None
    powers: tuple[float, ...] = ()
    """Sums of squares [m2], cubes [m3] and fourth powers [m4] of the distances in S."""


@dataclass(frozen=True)
class Result:
    """All of a calibration."""

    parameters: tuple[Number, ...]
    ratios: tuple[Number, ...]
    flat: tuple[Flat, ...]
    qualities: tuple[Quality, ...]
    seeds: tuple[Mapping[str, Any], ...]
    """Of every seed, the best first: its number, cost [m], evaluations, parameters by name."""

    @property
    def theta(self) -> Array:
        """The parameters (n,)."""
        return np.array([item.value for item in self.parameters])

    def to_data(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {"schema": 1, **asdict(self)}


def result(
    problem: CalibrationProblem, records: Mapping[Part, Sequence[ExperimentRecord]], found: list[Found]
) -> Result:
    """Return what searches came to; records for validation choose among the seeds, others are only predicted."""
    space, best = Space(problem.parameters), found[0].best.theta
    if records.get("validate"):
        validated = problem.evaluate(np.array([run.best.theta for run in found]), "validate")
        best = found[int(np.argmin([item.total for item in validated]))].best.theta
    names = [item.name for item in space.parameters]
    covariance, noise = covariance_at(problem, space, best)
    close = [run.value - found[0].value <= (RISE * noise if run.by_squares else CLOSE * run.value) for run in found]
    spread = np.array([run.best.theta for run, near in zip(found, close, strict=True) if near])
    return Result(
        tuple(_parameters(space, best, spread, covariance)),
        tuple(_ratios(space, best, spread, covariance)),
        flat(space, covariance),
        tuple(_quality(problem, space, best, part, own) for part, own in records.items() if own),
        tuple(
            {"seed": run.seed, "cost": run.best.total, "spent": run.spent, "close": near}
            | {"parameters": dict(zip(names, map(float, run.best.theta), strict=True))}
            for run, near in zip(found, close, strict=True)
        ),
    )


def normal_at(problem: Problem, space: Space, theta: Array) -> Normal | None:
    """Return the sums around a set in `linear` coordinates, None without a result."""
    here = space.linear(theta)
    steps = np.where(space.unlinear(here + DIFFERENCE) > space.high, -DIFFERENCE, DIFFERENCE)
    (sums,) = answer(problem, [Task(np.vstack([theta, space.unlinear(here + np.diag(steps))]), steps)])
    return sums if isinstance(sums, Normal) else None


def covariance_at(problem: Problem, space: Space, theta: Array) -> tuple[Array, float]:
    """Return the covariance (n, n) of the `linear` coordinates at a set, huge where nothing is known, and s2."""
    sums, count = normal_at(problem, space, theta), len(theta)
    if sums is None:
        return np.diag(np.full(count, MOST**2)), 1.0
    values, vectors = np.linalg.eigh(sums.matrix)
    noise = max(1.0, sums.squares / max(sums.count - count, 1))
    variances = np.minimum(noise / np.maximum(values, 1e-12 * values[-1] + 1e-300), MOST**2)
    return np.asarray((vectors * variances) @ vectors.T), float(noise)


def _parameters(space: Space, best: Array, spread: Array, covariance: Array) -> list[Number]:
    middle, low, high = space.linear(best), space.linear(space.low), space.linear(space.high)
    wide = NORMAL * np.sqrt(np.diag(covariance))
    ends = np.stack([space.clipped(space.unlinear(np.clip(middle + side * wide, low, high))) for side in (-1.0, 1.0)])
    near = AT_BOUND * (high - low)
    return [
        Number(
            *(item.name, float(best[k]), float(ends[0, k]), float(ends[1, k])),
            *(float(spread[:, k].min()), float(spread[:, k].max())),
            "low" if middle[k] < low[k] + near[k] else "high" if middle[k] > high[k] - near[k] else "",
        )
        for k, item in enumerate(space.parameters)
    ]


def _ratios(space: Space, best: Array, spread: Array, covariance: Array) -> list[Number]:
    """Return the times viscosity/modulus [s] of every law: shapes alone tell these, and no moduli."""
    places = {item.place: k for k, item in enumerate(space.parameters)}
    found = []
    for place, k in places.items():
        law, _, word = place.rpartition(".")
        base = places.get(f"{law}.young")
        if base is None or "viscosity" not in word or not (space.logs[k] and space.logs[base]):
            continue
        value, seeds = float(best[k] / best[base]), spread[:, k] / spread[:, base]
        variance = covariance[k, k] + covariance[base, base] - 2.0 * covariance[k, base]
        factor = float(np.exp(min(NORMAL * np.sqrt(max(variance, 0.0)), MOST)))
        name = f"{space.parameters[k].name}/{space.parameters[base].name}"
        found.append(Number(name, value, value / factor, value * factor, float(seeds.min()), float(seeds.max())))
    return found


def flat(space: Space, covariance: Array) -> tuple[Flat, ...]:
    """Return combinations of parameters that the records leave open by more than a factor, widest first."""
    logs = np.flatnonzero(space.logs)
    items = [space.parameters[k] for k in logs]
    found = open_combinations(covariance[np.ix_(logs, logs)], [item.name for item in items], NORMAL)
    return tuple(
        Flat(said, factor, _remedy([items[k].place for k, _ in part], np.array([power for _, power in part])))
        for said, factor, part in found
    )


def _remedy(places: Sequence[str], shares: Array) -> str:
    """Return what would tell a combination."""
    if len(places) > 1 and np.all(shares > 0.5) and all(place.startswith("laws.") for place in places):
        return "only a force, or the weight of the body, tells the scale of all"
    if any("voigt_viscosity" in place for place in places):
        return "needs a frame within a tenth of a second after the release, or a second speed"
    return "needs a longer hold, or another push"


def floor(records: Sequence[ExperimentRecord]) -> float | None:
    """Return S/N of a perfect model [m]: m exp(-e^2/(pi m^2)) for normal errors of mean size m, e on counted."""
    sizes = [record.uncertainty.mean_abs for record in records]
    counts = [record.points for record in records]
    if None in sizes or not sum(counts):
        return None
    alone = [m * np.exp(-(NOISE**2) / (np.pi * m**2)) if m else 0.0 for m in sizes if m is not None]
    return float(np.average(alone, weights=counts))


def _quality(
    problem: CalibrationProblem, space: Space, best: Array, part: Part, records: Sequence[ExperimentRecord]
) -> Quality:
    at, start = problem.evaluate(np.array([best, space.start]), part)
    points = problem.points(part)
    each = at.shape / points if points else 0.0
    return Quality(part, at.total, start.total, at.shape, points, each, floor(records), at.reason, at.powers)


def sentences(found: Result) -> list[str]:
    """Return what a reader should know beside the table."""
    said = [f"{item.name} lies on its {item.bound} bound: widen it" for item in found.parameters if item.bound]
    close = sum(run["close"] for run in found.seeds)
    if close < len(found.seeds):
        said.append(
            f"{close} of {len(found.seeds)} seeds came as far as the best, the others ended at costs up to "
            f"{100.0 * max(run['cost'] for run in found.seeds):.4g} cm"
        )
    said += [
        f"{item.name}: the seeds lie between {item.least:.4g} and {item.largest:.4g}, further apart than the interval "
        f"{item.low:.4g} to {item.high:.4g}: trust it only after a larger budget, or where a flat direction explains it"
        for item in (*found.parameters, *found.ratios)
        if not item.agrees
    ]
    for open_ in found.flat:
        wide = "any factor" if open_.factor > 1e6 else f"a factor of {open_.factor:.2g}"
        said.append(f"{open_.combination} is open by {wide}: {open_.remedy}")
    for own in found.qualities:
        noise = "" if own.floor is None else f", of noise alone {100.0 * own.floor:.4g} cm"
        gain = 100.0 * (1.0 - own.cost / own.start) if np.isfinite(own.start) and own.start > 0.0 else np.nan
        better = f", {gain:.0f} % better than the start" if np.isfinite(gain) else ""
        said.append(
            f"{own.part}: S = {100.0 * own.shape:.4g} cm, S/N = {100.0 * own.per_point:.4g} cm of {own.points} "
            f"points{noise}; cost {100.0 * own.cost:.4g} cm{better}" + (f"; {own.reason}" if own.reason else "")
        )
    return said


def model_rows(models: Mapping[str, Result]) -> list[dict[str, Any]]:
    """Return a row for each model calibrated on the same records, with the same parameters, budget and seeds.

    The interval of S is that of another sample of as many points, 1.96 sqrt(N) times the spread of what each adds.
    """
    rows = []
    for name, found in models.items():
        fit = found.qualities[0]
        spread = fit.powers[0] - fit.shape**2 / fit.points if fit.points and fit.powers else 0.0
        wide, costs = NORMAL * np.sqrt(max(spread, 0.0)), [run["cost"] for run in found.seeds]
        row: dict[str, Any] = {
            "model": name,
            "parameters": len(found.parameters),
            "evaluations": sum(run["spent"] for run in found.seeds),
            "S [cm]": 100.0 * fit.shape,
            "S low [cm]": 100.0 * (fit.shape - wide),
            "S high [cm]": 100.0 * (fit.shape + wide),
            "S/N [cm]": 100.0 * fit.per_point,
            "least cost [cm]": 100.0 * min(costs),
            "cost of the worst seed [cm]": 100.0 * max(costs),
        }
        rows.append(row | {f"{own.part} S [cm]": 100.0 * own.shape for own in found.qualities[1:]})
    return rows


def scene_text(scene: Scene, remark: str) -> str:
    """Return a scene as TOML, in SI units, defaults left out."""
    lines = [*(f"# {line}" for line in remark.splitlines())]
    data = scene.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    for name, value in data.items():
        if isinstance(value, dict) and all(isinstance(entry, dict) for entry in value.values()):
            lines += ["", f"[{name}]", *(f"{json.dumps(key)} = {toml(entry)}" for key, entry in value.items())]
        else:
            lines.insert(_first_table(lines), f"{name} = {toml(value)}")
    return "\n".join(lines) + "\n"


def _first_table(lines: Sequence[str]) -> int:
    return next((k for k, line in enumerate(lines) if not line), len(lines))
