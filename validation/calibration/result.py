"""What a calibration came to: parameters with intervals, their ratios, what stays open, and how good the set is.

Intervals are those of least squares, cov = s2 (J^T J)^-1 with s2 = max(1, r^T r/(N - n)) in the parameters' logarithms:
what noise, and what the model leaves, allow. What the model leaves is common to a record: where R of them are fitted,
(t/1.96)^2 R/(R - 1) sum_r d_r d_r^T comes to it, d_r = (J^T J)^-1 J_r^T r_r where each alone would go, t that
of Student for R - 1. Beside the intervals stands how far the searches from several seeds lie apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from scipy.stats import t as student

from rheotwin.arrays import Array
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
EQUAL = 1e-9
"""Relative difference of numbers that are one."""
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
        return self.low <= self.least * (1.0 + EQUAL) and self.largest <= self.high * (1.0 + EQUAL)


@dataclass(frozen=True)
class Flat:
    """A product of powers of parameters that is known to a factor only, and what would tell it."""

    combination: str
    factor: float
    remedy: str
    names: tuple[str, ...] = ()
    """The parameters in it."""


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
    promise: float = 0.0
    """Share by which one more step of least squares should lower their sum, 0 where the search has come to its end."""

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
    sums = normal_at(problem, space, best)
    slopes = _slopes_by_record(problem, space, best) if len(records["fit"]) > 1 and sums is not None else []
    covariance, noise = covariance_of(sums, len(best), slopes)
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
        promise(space, sums, best, noise) if found[0].by_squares and sums is not None else 0.0,
    )


def promise(space: Space, sums: Normal, theta: Array, noise: float) -> float:
    """Return the share by which a step of Gauss and Newton should lower the squares; 0 if by no more than noise does.

    Steps across a bound do not count, nor those along what is hardly known.
    """
    here, low, high = space.linear(theta), space.linear(space.low), space.linear(space.high)
    near = AT_BOUND * (high - low)
    free = ~(((here < low + near) & (sums.vector > 0.0)) | ((here > high - near) & (sums.vector < 0.0)))
    if not free.any():
        return 0.0
    values, vectors = np.linalg.eigh(sums.matrix[np.ix_(free, free)])
    along = vectors.T @ sums.vector[free]
    less = float(np.sum(along[values > RISE] ** 2 / values[values > RISE]))
    return less / sums.squares if less > RISE * noise else 0.0


def _around(space: Space, theta: Array) -> tuple[Array, Array]:
    """Return a set and those beside it in `linear` coordinates, and the steps to these."""
    here = space.linear(theta)
    steps = np.where(space.unlinear(here + DIFFERENCE) > space.high, -DIFFERENCE, DIFFERENCE)
    return np.vstack([theta, space.unlinear(here + np.diag(steps))]), steps


def _slopes_by_record(problem: CalibrationProblem, space: Space, theta: Array) -> list[Array]:
    """Return J_r^T r_r (n,) of every record."""
    sets, steps = _around(space, theta)
    left = [own for own in problem.by_record(sets) if own is not None]
    return [
        np.array([(there - at[0]) / step for there, step in zip(at[1:], steps, strict=True)]) @ at[0]
        for at in zip(*left, strict=True)
    ]


def normal_at(problem: Problem, space: Space, theta: Array) -> Normal | None:
    """Return the sums around a set in `linear` coordinates, None without a result."""
    (sums,) = answer(problem, [Task(*_around(space, theta))])
    return sums if isinstance(sums, Normal) else None


def covariance_of(sums: Normal | None, count: int, by_record: Sequence[Array] = ()) -> tuple[Array, float]:
    """Return the covariance (n, n) of the `linear` coordinates, huge where nothing is known, and s2."""
    if sums is None:
        return np.diag(np.full(count, MOST**2)), 1.0
    values, vectors = np.linalg.eigh(sums.matrix)
    noise = max(1.0, sums.squares / max(sums.count - count, 1))
    values = np.maximum(values, 1e-12 * values[-1] + 1e-300)
    found = (vectors * np.minimum(noise / values, MOST**2)) @ vectors.T
    if (records := len(by_record)) > 1:
        apart = np.clip(np.array(by_record) @ vectors / values, -MOST, MOST) @ vectors.T
        found += (float(student.ppf(0.975, records - 1)) / NORMAL) ** 2 * records / (records - 1) * apart.T @ apart
    return np.asarray(found), float(noise)


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
        Flat(
            said,
            factor,
            _remedy([items[k].place for k, _ in part], np.array([power for _, power in part])),
            tuple(items[k].name for k, _ in part),
        )
        for said, factor, part in found
    )


def _remedy(places: Sequence[str], shares: Array) -> str:
    """Return what would tell a combination."""
    scale = len(places) > 1 and np.all(shares > 0.5) and all(place.startswith("laws.") for place in places)
    if scale or all(place.endswith(".young") for place in places):
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
    said = [_of_bound(item, found.flat) for item in found.parameters if item.bound]
    if found.promise:
        said.append(
            f"the search ended too soon: one more step promises a sum of squares {100.0 * found.promise:.2g} % lower; "
            "give a larger --budget"
        )
    close = sum(run["close"] for run in found.seeds)
    if close < len(found.seeds):
        worst = 100.0 * max(run["cost"] for run in found.seeds)
        ended = (
            f"ended at costs up to {worst:.4g} cm" if np.isfinite(worst) else "ended above, or began where nothing runs"
        )
        said.append(f"{close} of {len(found.seeds)} seeds came as far as the best, the others {ended}")
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
        shape = f"S = {100.0 * own.shape:.4g} cm, S/N = {100.0 * own.per_point:.4g} cm of {own.points} points{noise}; "
        said.append(
            f"{own.part}: {shape if own.points else ''}cost {100.0 * own.cost:.4g} cm{better}"
            + (f"; {own.reason}" if own.reason else "")
        )
    return said


def _of_bound(item: Number, flats: Sequence[Flat]) -> str:
    """Say what to do about a parameter on its bound: widen it, but not where nothing tells the parameter."""
    lies = f"{item.name} lies on its {item.bound} bound"
    along = next((open_ for open_ in flats if item.name in open_.names), None)
    if along is None:
        return f"{lies}: widen it"
    fixed = "fix it" if len(along.names) == 1 else f"fix one of {', '.join(along.names)}"
    return f"{lies}, along {along.combination}, which the records leave open: {along.remedy}; or {fixed}"


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
