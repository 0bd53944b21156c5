"""What is known of the parameters: intervals, flat directions, profiles of the likelihood, bootstrap, bands.

The intervals of the covariance are those of a parabola. A profile fixes one parameter at a value, lets all others find
their best again, and ends where chi2 has risen by 1.96^2 (or Student's number, where the noise is that of the
residuals). The bootstrap fits data made anew from the model and blocks of what it left, so that correlated residuals
stay correlated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import least_squares

from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError, nearest_name
from rheotwin.validation.identification.fit import Problem, central_differences, solve
from rheotwin.validation.identification.order import Judged, series
from rheotwin.validation.identification.record import TimeRecord
from rheotwin.validation.identification.response import respond
from rheotwin.validation.identification.result import Curve, Flat, Parameter

LINEAR_NAMES = ("cubic", "force-zero", "delay")
"""Parameters that are not logarithms."""
FLAT = 2.0
"""A combination known to no better than this factor is called flat."""
PART = 0.25
"""Share of the largest exponent that a parameter needs to be named in a combination."""
FAR = 14.0
"""A profile that has not risen this far (in logarithms) from its best is open."""
BLOCK = 4.0
"""Correlation lengths in a block of a bootstrap."""
CLOSE = 1e-3
"""Relative error of the rise at the end of a profile."""


def names_of(judged: Judged) -> tuple[str, ...]:
    """Return names of the parameters as they are read, then offsets of each record."""
    problem = judged.fit.problem
    many = len(problem.records) > 1
    offsets = [
        f"{offset} {record.name}" if many else offset for record in problem.records for offset in problem.offsets
    ]
    return (*problem.candidate.names, *offsets)


def _sizes(judged: Judged) -> tuple[Array, list[str]]:
    """Return the size of one, and the unit, of every parameter: moduli where a geometry makes them of stiffnesses."""
    problem = judged.fit.problem
    geometry, scale = problem.records[0].geometry, problem.scale
    pascal = geometry.kind != "none"
    sizes, units = [], []
    for name, unit in zip(problem.candidate.names, problem.candidate.units, strict=True):
        size = scale.stiffness if name == "cubic" else 1.0
        if name == "cubic" or unit.endswith("/m"):
            size *= geometry.factor
            unit = {"N s/m": "Pa s"}.get(unit, "Pa") if pascal else "N/m" if name == "cubic" else unit
        elif unit == "N" and pascal:
            size, unit = size / geometry.area, "Pa"
        sizes.append(size)
        units.append(unit)
    for _ in problem.records:
        sizes += [{"force-zero": scale.force, "delay": scale.shortest}[offset] for offset in problem.offsets]
        units += [{"force-zero": geometry.units[1], "delay": "s"}[offset] for offset in problem.offsets]
    return np.array(sizes), units


def parameters(judged: Judged, ends: Array | None = None) -> tuple[Parameter, ...]:
    """Return parameters with 95 % intervals: those of the covariance, or between `ends` (p, 2) in logarithms."""
    read = judged.read
    if ends is None:
        ends = read[:, None] + judged.quantile * judged.errors[:, None] * np.array([-1.0, 1.0])
    sizes, units = _sizes(judged)
    found = []
    for i, name in enumerate(names_of(judged)):
        straight = name.split()[0] in LINEAR_NAMES
        with np.errstate(over="ignore"):
            values = np.array([read[i], *ends[i]])
            value, low, high = map(float, sizes[i] * (values if straight else np.exp(values)))
        found.append(Parameter(name, value, low, high, units[i]))
    return tuple(found)


def correlations(judged: Judged) -> Array:
    """Return the correlations of the parameters' logarithms."""
    errors = np.maximum(judged.errors, 1e-300)
    return np.asarray(judged.read_covariance / np.outer(errors, errors))


def flat(judged: Judged) -> tuple[Flat, ...]:
    """Return combinations of parameters that the data leave open by more than a factor, widest first."""
    candidate = judged.fit.problem.candidate
    logs = [i for i, name in enumerate(candidate.names) if name not in LINEAR_NAMES]
    names = [candidate.names[i] for i in logs]
    found = open_combinations(judged.read_covariance[np.ix_(logs, logs)], names, judged.quantile)
    return tuple(Flat(said, factor, remedy(judged, names[parts[0][0]])) for said, factor, parts in found)


def open_combinations(
    covariance: Array, names: Sequence[str], quantile: float
) -> list[tuple[str, float, list[tuple[int, float]]]]:
    """Return combinations "k1^0.8 b2" known to no better than a factor, that factor, places and powers, widest first.

    `covariance` is that of logarithms, `quantile` half of a 95 % interval in standard deviations.
    """
    if not np.isfinite(covariance).all():
        return []
    found = []
    for variance, direction in zip(*_rising(covariance), strict=True):
        factor = float(np.exp(min(quantile * np.sqrt(max(variance, 0.0)), 700.0)))
        if factor < FLAT:
            continue
        share = direction / direction[np.argmax(np.abs(direction))]
        part = [(int(i), float(share[i])) for i in np.argsort(-np.abs(share), kind="stable") if abs(share[i]) > PART]
        said = " ".join(names[i] if round(power, 2) == 1.0 else f"{names[i]}^{power:.2g}" for i, power in part)
        found.append((said, factor, part))
    return found[::-1]


def _rising(covariance: Array) -> tuple[Array, Array]:
    values, vectors = np.linalg.eigh(covariance)
    return values, vectors.T


def remedy(judged: Judged, name: str) -> str:
    """Return which test would tell a parameter."""
    scale, candidate = judged.fit.problem.scale, judged.fit.problem.candidate
    values = dict(zip(candidate.names, np.exp(judged.read[: len(candidate.names)]), strict=True))
    number = name.lstrip("abgktu")
    stiffness = values.get(f"k{number}", values.get("k", np.inf))
    time = values.get(f"tau{number}", values.get(f"b{number}", np.inf) / stiffness)
    if name == "b_0" or (np.isfinite(time) and time < 3.0 * scale.shortest):
        return f"needs a faster ramp, and samples every {0.3 * min(time, scale.shortest):.2g} s around its ends"
    if np.isfinite(time) and time > 0.3 * scale.duration:
        return f"needs a hold of {3.0 * min(time, 10.0 * scale.duration):.2g} s"
    if name == "k_inf":
        return f"needs a hold of {3.0 * scale.duration:.2g} s"
    return "needs less noise, a second rate, or a law of fewer elements"


def bands(judged: Judged) -> tuple[Curve, ...]:
    """Return data, model and its 95 % band for every series that was fitted."""
    fit = judged.fit
    slopes = fit.slopes * fit.problem.deviations[:, None]
    model = fit.problem.data + fit.residuals * fit.problem.deviations
    return _curves(judged, fit.problem, model, slopes, fitted=True)


def predicted(judged: Judged, record: TimeRecord) -> tuple[Curve, ...]:
    """Return what the model says of a record that was not fitted."""
    problem = judged.fit.problem
    own = len(problem.candidate.bank_names)

    def answer(unknowns: Array) -> Array:
        return respond(problem.candidate.model(unknowns, problem.scale), record)

    at = judged.fit.unknowns[:own]
    slopes = np.zeros((len(record.time), len(judged.fit.unknowns)))
    slopes[:, :own] = central_differences(answer, at)
    other = Problem(problem.candidate, (record,), ((1.0, 1.0),))
    return _curves(judged, other, answer(at), slopes, fitted=False)


def _curves(judged: Judged, problem: Problem, model: Array, slopes: Array, *, fitted: bool) -> tuple[Curve, ...]:
    half = judged.quantile * np.sqrt(np.maximum(np.einsum("ni,ij,nj->n", slopes, judged.covariance, slopes), 0.0))
    time = np.concatenate([record.time for record in problem.records])
    found = []
    for number, force, at in series(problem.records):
        record = problem.records[number]
        unit = record.geometry.units[0 if not force else 1]
        found.append(
            Curve(
                record.name,
                "force" if force else "displacement",
                unit,
                time[at],
                problem.data[at],
                model[at],
                model[at] - half[at],
                model[at] + half[at],
                fitted,
            )
        )
    return tuple(found)


@dataclass(frozen=True)
class Profile:
    """Where the profile of a parameter ends (its 95 % interval, in its unit), and the points it went through."""

    name: str
    low: float
    high: float
    values: Array
    rises: Array
    ends: tuple[float, float]
    """Its ends as the fit has them, most in logarithms."""


def profiles(judged: Judged, names: Sequence[str] = ()) -> tuple[Profile, ...]:
    """Return profiles of parameters, of all by default; an open end is 0 or infinite."""
    known = judged.fit.problem.candidate.names
    for name in names:
        if name not in known:
            raise RheotwinError(f"no parameter '{name}'{nearest_name(name, known)}; choose from {', '.join(known)}")
    return tuple(_profile(judged, known.index(name)) for name in names or known)


def _profile(judged: Judged, index: int) -> Profile:
    problem = judged.fit.problem
    own = len(problem.candidate.names)
    best, covariance = judged.read, judged.read_covariance
    weight = np.ones(judged.data)
    for (_, _, at), length in zip(judged.series, judged.per_datum, strict=True):
        weight[at] /= np.sqrt(length)
    weight /= np.sqrt(judged.noise)
    goal = judged.quantile
    others = np.delete(np.arange(len(best)), index)

    def residuals(free: Array, value: float) -> Array:
        every = np.insert(free, index, value)
        every[:own] = np.clip(every[:own], best[:own] - 3.0 * FAR, best[:own] + 3.0 * FAR)
        with np.errstate(all="ignore"):
            unknowns = np.concatenate([problem.candidate.unread(every[:own]), every[own:]])
        if len(unknowns) != len(judged.fit.unknowns):  # two elements act as one there
            return np.full(judged.data, 1e6)
        return problem.residuals(unknowns) * weight

    least = float(np.sum(residuals(best[others], best[index]) ** 2))
    width = max(float(judged.errors[index]), 1e-12)
    tangent = covariance[others, index] / width**2
    straight = problem.candidate.names[index] in LINEAR_NAMES
    size = _sizes(judged)[0][index]
    values, rises, ends = [float(best[index])], [0.0], []
    for side in (-1.0, 1.0):
        free, reached, root, way = best[others], 0.0, 0.0, tangent * side
        step, beyond, end = goal * min(width, 0.5), np.inf, float(side * np.inf)
        for _ in range(60):
            ahead = reached + step
            found = least_squares(
                residuals,
                free + way * step,
                jac=lambda free, value: central_differences(lambda there: residuals(there, value), free),
                x_scale="jac",
                args=(best[index] + side * ahead,),
                xtol=1e-8,
                ftol=1e-8,
                max_nfev=50,
            )
            rise = float(np.sqrt(max(2.0 * found.cost - least, 0.0)))
            if rise > 2.0 * goal:  # too far to find the best of the others
                beyond, step = ahead, 0.4 * step
                continue
            values.append(float(best[index] + side * ahead))
            rises.append(rise**2)
            if abs(rise - goal) < CLOSE * goal:
                end = values[-1]
                break
            if rise > goal:
                beyond, step = ahead, step * (goal - root) / (rise - root)
                continue
            # the root of the rise is nearly straight: go to where it would end, at most three times as far
            slope, way = (rise - root) / step, (np.asarray(found.x) - free) / step
            free, reached, root = np.asarray(found.x), ahead, rise
            step = min((goal - rise) / slope if slope > 0.0 else np.inf, 2.0 * ahead, 0.5 * (beyond - ahead))
            if ahead > FAR:
                break
        ends.append(end)
    order = np.argsort(values)
    shown, tips = np.array(values)[order], np.array(ends)
    if not straight:
        shown, tips = np.exp(shown), np.exp(tips)
    return Profile(
        problem.candidate.names[index],
        float(size * tips[0]),
        float(size * tips[1]),
        size * shown,
        np.array(rises)[order],
        (ends[0], ends[1]),
    )


def bootstrap(judged: Judged, count: int, seed: int = 0) -> Array:
    """Return parameters as they are read (count, p), in logarithms, of data with blocks of residuals elsewhere."""
    problem, fit = judged.fit.problem, judged.fit
    rng = np.random.default_rng([seed, count])
    model = problem.data + fit.residuals * problem.deviations
    found = []
    for _ in range(count):
        data = model.copy()
        for (_, _, at), length in zip(judged.series, judged.per_datum, strict=True):
            left = -judged.left(at) * np.sqrt(judged.effective / judged.freedom)
            left = left - left.mean()
            block = int(min(np.ceil(BLOCK * length), max(len(at) // 5, 1)))
            starts = rng.integers(0, len(at) - block + 1, -(-len(at) // block))
            data[at] += left[(starts[:, None] + np.arange(block)).ravel()[: len(at)]]
        again = replace(problem, records=_with_data(problem.records, data), peaks=problem.scale)
        found.append(judged.read_of(solve(again, fit.unknowns, 1e-7, 20)))
    return np.stack(found)


def _with_data(records: tuple[TimeRecord, ...], data: Array) -> tuple[TimeRecord, ...]:
    found, start = [], 0
    for record in records:
        part = data[start : start + len(record.time)]
        start += len(record.time)
        seen = record.observed_force
        found.append(
            replace(
                record,
                force=np.where(seen, part, record.force),
                displacement=np.where(seen, record.displacement, part),
            )
        )
    return tuple(found)
