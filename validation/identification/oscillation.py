"""Prony terms of storage and loss together, and the shifts of temperatures, from records over frequency.

Residuals are relative, of storage and loss alike; terms and shifts (`sweeps`) are found together. BIC chooses number
of terms and kind of shift, with the noise that the longest series of all leaves, on the number of rows that count:
residuals that hang together in a sweep count less.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import get_args

import numpy as np
from scipy.stats import t as student
from threadpoolctl import threadpool_limits

from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError
from rheotwin.materials import Channel
from rheotwin.validation.identification.intervals import open_combinations
from rheotwin.validation.identification.order import runs_probability
from rheotwin.validation.identification.record import OscillationRecord
from rheotwin.validation.identification.result import Adequacy, Curve, Flat, Identified, LawTable, OrderRow, Parameter
from rheotwin.validation.identification.spectrum import Refined, refined, series
from rheotwin.validation.identification.sweeps import (
    GAS,
    LN10,
    ZERO,
    ShiftKind,
    Sweeps,
    effective_rows,
    grid_of,
    numbers_of,
    overlapped,
    temperature_of,
)

BEYOND = 3.0
"""Time over that of the lowest frequency from which an arm cannot be told from a spring."""
UNBOUNDED = 1e300
"""Factor within which something is known of which nothing is known."""
MOST_FLAT, MOST_NAMES = 3, 6
"""Flat directions that are named, and parameters in one: those of a broad spectrum have many."""


@dataclass(frozen=True)
class Found:
    """The best series with one kind of shift."""

    sweeps: Sweeps
    fit: Refined
    effective: float
    noise: float

    @property
    def name(self) -> str:
        """Name of the candidate: "bank-5", "bank-20 free"."""
        kind = "" if self.sweeps.kind == "none" else f" {self.sweeps.kind}"
        return f"bank-{len(self.fit.terms.log_times)}{kind}"

    @property
    def criterion(self) -> float:
        """BIC on the effective number of rows."""
        return self.fit.criterion(self.effective, self.noise)


def identify_oscillation(
    record: OscillationRecord,
    *,
    shift: ShiftKind | None = None,
    reference: float | None = None,
    terms: int | None = None,
    poisson: float = 0.0,
) -> Identified:
    """Return the Prony series of a record, with shifts of a kind (None: the best) to `reference` [Celsius].

    `terms` fixes their number. The law is that at the reference temperature, by default the middle one.
    """
    _check(record)
    levels = np.unique(temperature_of(record))
    level = float(levels[len(levels) // 2]) if reference is None else reference
    several = len(levels) > 1
    kinds = (get_args(ShiftKind)[1:] if several else ("none",)) if shift is None else (shift,)
    if several and "none" in kinds:
        raise RheotwinError(f"{record.name}: it has {len(levels)} temperatures; choose a shift: free, wlf, arrhenius")
    if "free" in kinds and level not in levels:
        if shift == "free":
            raise RheotwinError(
                f"{record.name}: free shifts refer to a measured temperature, and {level:g} is none; "
                f"choose one of {', '.join(f'{one:g}' for one in levels)}, or shift wlf"
            )
        kinds = tuple(kind for kind in kinds if kind != "free")
    with threadpool_limits(limits=1, user_api="blas"):
        paths = _paths(record, kinds, level)
    least = min((fit for path in paths.values() for fit in path), key=lambda fit: fit.noise)
    effective = effective_rows(next(iter(paths)), least.residuals)
    noise = record.sigma or least.noise
    candidates = [Found(sweeps, fit, effective, noise) for sweeps, path in paths.items() for fit in path]
    chosen = _choose(record, candidates, terms)
    return _result(record, chosen, candidates, poisson)


def _check(record: OscillationRecord) -> None:
    columns = record.frequency, record.storage, record.loss
    for name, values in zip(("frequency", "storage", "loss"), columns, strict=False):
        bad = np.flatnonzero(~(np.isfinite(values) & (values > 0.0)))
        if len(bad):
            raise RheotwinError(
                f"{record.name}: {name} is {values[bad[0]]:g} in row {bad[0] + 1}; residuals are relative, so give "
                "values above 0 and leave out rows without any"
            )
    levels, counts = np.unique(temperature_of(record), return_counts=True)
    if counts.min() < 4:
        few = levels[int(np.argmin(counts))]
        raise RheotwinError(f"{record.name}: {counts.min()} rows at {few:g} Celsius; a sweep needs four frequencies")


def _paths(record: OscillationRecord, kinds: Sequence[ShiftKind], level: float) -> dict[Sweeps, list[Refined]]:
    """Return the series of every number of terms for each kind of shift: one is found, the others start from it."""
    levels = np.unique(temperature_of(record))
    if len(levels) == 1:
        sweeps = Sweeps(record, "none", level)
        return {sweeps: series(sweeps, grid_of(record.frequency), np.zeros(0))}
    near = overlapped(record)
    near -= np.interp(level, levels, near)
    lead = next((kind for kind in kinds if kind == "free"), kinds[0])
    first = Sweeps(record, lead, level)
    begin = numbers_of(first, near)
    paths = {first: series(first, grid_of(first.reduced(begin)), begin)}
    for kind in kinds:
        if kind == lead:
            continue
        sweeps = Sweeps(record, kind, level)
        starts = [
            replace(fit.terms, shift=numbers_of(sweeps, first.shifts(fit.terms.shift)[0])) for fit in paths[first]
        ]
        paths[sweeps] = [refined(sweeps, start) for start in starts]
    return paths


def _choose(record: OscillationRecord, candidates: Sequence[Found], terms: int | None) -> Found:
    asked = [one for one in candidates if terms in (None, len(one.fit.terms.log_times))]
    if not asked:
        counts = [len(one.fit.terms.log_times) for one in candidates]
        raise RheotwinError(
            f"{record.name}: {terms} terms cannot be told apart in these data; ask for {min(counts)} to {max(counts)}"
        )
    good = [one for one in asked if not one.fit.rejection]
    return min(good or asked, key=lambda one: one.criterion)


@dataclass(frozen=True)
class _Known:
    """Values, standard errors of logs (of shifts: of themselves), names and units of a series' unknowns."""

    found: Found

    @property
    def quantile(self) -> float:
        """Student's factor of a 95 % interval."""
        rows, count = self.found.fit.jacobian.shape
        return float(student.ppf(0.975, max(rows - count, 1)))

    @cached_property
    def covariance(self) -> Array:
        """Covariance of the unknowns, wider as fewer rows count."""
        fit = self.found.fit
        inverse = np.linalg.pinv(fit.jacobian.T @ fit.jacobian, hermitian=True)
        return np.asarray(inverse * fit.noise**2 * len(fit.residuals) / self.found.effective)

    @property
    def named(self) -> list[tuple[str, str]]:
        """Names and units of moduli and times."""
        beside = zip((("g_inf", "Pa"), ("eta", "Pa s")), self.found.fit.terms.constants, strict=False)
        numbers = range(1, len(self.found.fit.terms.log_times) + 1)
        arms = [(f"{name}{k}", unit) for name, unit in (("g", "Pa"), ("tau", "s")) for k in numbers]
        return [name for name, value in beside if value > 0.0] + arms

    def flat(self) -> tuple[Flat, ...]:
        """Return combinations of moduli and times that are known to no better than a factor, the widest few."""
        names = [name for name, _ in self.named]
        many = len(names)
        found = open_combinations(self.covariance[:many, :many], names, self.quantile)
        widest = [(said, factor, names[parts[0][0]]) for said, factor, parts in found[:MOST_FLAT]]
        named = [Flat(_shortened(said), factor, self._remedy(first)) for said, factor, first in widest]
        return (*self._slow(), *named)

    def _slow(self) -> tuple[Flat, ...]:
        """Name an arm that stands for the spring: slower than all frequencies it acts as g_inf + g and g/tau only."""
        last, slowest = len(self.times), self.found.sweeps.reduced(self.found.fit.terms.shift).min()
        if self.found.fit.terms.constants[0] > 0.0 or slowest * self.times[-1] < BEYOND:
            return ()
        said = f"g_inf^-1 g{last} tau{last} (their g_inf + g{last} and g{last}/tau{last} are known)"
        return (Flat(said, UNBOUNDED, self._remedy(f"tau{last}")),)

    def _remedy(self, name: str) -> str:
        reduced = self.found.sweeps.reduced(self.found.fit.terms.shift)
        times = {f"{kind}{k}": t for k, t in enumerate(self.times, start=1) for kind in ("g", "tau")}
        rate = {"g_inf": 0.0, "eta": np.inf}.get(name, 1.0 / times.get(name, 1.0))
        if rate > reduced.max():
            return f"needs frequencies above {reduced.max():.2g} rad/s, or a lower temperature"
        if rate < reduced.min():
            return f"needs frequencies below {reduced.min():.2g} rad/s, or a higher temperature"
        return "needs less noise, or fewer terms"

    @property
    def times(self) -> Array:
        """Relaxation times [s]."""
        return np.asarray(np.exp(self.found.fit.terms.log_times))

    def parameters(self) -> tuple[Parameter, ...]:
        """Return all parameters with their intervals: moduli and times, shifts."""
        terms = self.found.fit.terms
        named = self.named
        values, half = terms.unknowns, self.quantile * np.sqrt(np.diag(self.covariance))
        found = [_interval(*one, values[k], half[k], np.exp) for k, one in enumerate(named)]
        return (*found, *self._shifts(values[len(named) :], half[len(named) :]))

    def _shifts(self, values: Array, half: Array) -> list[Parameter]:
        sweeps = self.found.sweeps
        above = sweeps.temperatures - sweeps.reference
        if sweeps.kind == "free":
            others = sweeps.temperatures[above != 0.0]
            rows = zip(others, values, half, strict=True)
            return [_interval(f"log10 a({t:g} C)", "1", v, h, lambda q: q / LN10) for t, v, h in rows]
        if sweeps.kind == "wlf":
            first = _interval("C1", "1", values[0], half[0])
            return [first, _interval("C2", "K", values[1], half[1], lambda q: float(np.exp(q) - above.min()))]
        if sweeps.kind == "arrhenius":
            scale = GAS * (sweeps.reference + ZERO)
            return [_interval("activation energy", "J/mol", values[0], half[0], lambda q: scale * np.exp(q))]
        return []

    def band(self) -> Array:
        """Return half the 95 % band of the model, relative to the data (2 F,)."""
        jacobian = self.found.fit.jacobian
        variance = np.sum((jacobian @ self.covariance) * jacobian, axis=1)
        return np.asarray(self.quantile * np.sqrt(np.maximum(variance, 0.0)))

    def correlations(self) -> Array:
        """Return the correlations of the unknowns."""
        size = np.sqrt(np.maximum(np.diag(self.covariance), 1e-300))
        return np.asarray(self.covariance / np.outer(size, size))


def _shortened(combination: str) -> str:
    words = combination.split()
    return (
        combination
        if len(words) <= MOST_NAMES
        else f"{' '.join(words[:MOST_NAMES])} and {len(words) - MOST_NAMES} more"
    )


def _interval(name: str, unit: str, value: float, half: float, turned: Callable[[float], float] = np.exp) -> Parameter:
    low, middle, high = (float(turned(value + side * min(half, 50.0))) for side in (-1.0, 0.0, 1.0))
    return Parameter(name, middle, low, high, unit)


def _adequacy(record: OscillationRecord, found: Found) -> Adequacy:
    order = np.lexsort((record.frequency, found.sweeps.place))
    halves = np.split(found.fit.residuals, 2)
    runs = min(runs_probability(half[order]) for half in halves)
    largest = float(np.abs(found.fit.residuals).max())
    rms = np.sqrt(found.fit.misfit / len(found.fit.residuals))
    free = max(len(found.fit.residuals) - found.fit.jacobian.shape[1], 1)
    chi2 = found.fit.misfit / free / record.sigma**2 if record.sigma else 1.0
    fits = chi2 < 1.5 if record.sigma else bool(rms < 0.1)
    words = f"leaves {100 * rms:.2g} % rms of storage and loss, {100 * largest:.2g} % at most"
    known = f"{chi2:.2g} times the variance of the noise" if record.sigma else "the noise was not given"
    hang = "; what is left hangs together over frequency" if runs < 0.01 else ""
    return Adequacy(fits, chi2, largest, runs, f"the series {words} ({known}){hang}")


def _result(record: OscillationRecord, found: Found, candidates: Sequence[Found], poisson: float) -> Identified:
    known, sweeps, terms = _Known(found), found.sweeps, found.fit.terms
    levels = sweeps.temperatures
    place = f" at {sweeps.reference:g} C" if record.temperature is not None else ""
    tables = tuple(_row(one, found) for one in candidates)
    equilibrium, eta = (*terms.constants, 0.0)[:2]
    strengths, times = tuple(terms.strengths.tolist()), tuple(np.exp(terms.log_times).tolist())
    channel = Channel(float(equilibrium), strengths, times, float(eta))
    scale = 1.0 if record.modulus == "young" else 2.0 * (1.0 + poisson)
    band = known.band()
    uncertainty = float(f"{min(np.median(band), 0.99):.2g}")
    law = LawTable("generalized-maxwell", channel.scaled(scale), poisson, uncertainty)
    notes = [f"the law is that of {sweeps.reference:g} Celsius"] if len(levels) > 1 else []
    if len(levels) > 1 and not min(levels) <= sweeps.reference <= max(levels):
        notes[0] += f", beyond the measured {min(levels):g} to {max(levels):g}: intervals hold only if the shift does"
    for kind in dict.fromkeys(one.sweeps.kind for one in candidates if one.sweeps.kind != sweeps.kind):
        best = min((one for one in candidates if one.sweeps.kind == kind), key=lambda one: one.criterion)
        notes.append(f"{best.name} leaves {_row(best, found).misfit:.2%} (rms of what is relative)")
    return Identified(
        title=record.name,
        model=found.name,
        parameters=known.parameters(),
        correlations=known.correlations(),
        orders=tables,
        flat=known.flat(),
        adequacy=_adequacy(record, found),
        curves=_curves(record, found, band, place),
        law=law,
        notes=tuple(notes),
        provenance={"source": record.source, "effective_rows": found.effective, "rows": 2 * len(record.frequency)},
    )


def _row(one: Found, chosen: Found) -> OrderRow:
    count, rows = one.fit.jacobian.shape[1], one.effective
    misfit = np.sqrt(one.fit.misfit / len(one.fit.residuals))
    aic = one.criterion - count * np.log(rows) + 2.0 * count
    verdict = "chosen" if one is chosen else one.fit.rejection or "possible"
    sigma = one.sweeps.record.sigma
    chi2 = one.fit.misfit / max(len(one.fit.residuals) - count, 1) / sigma**2 if sigma else 1.0
    parameters = _Known(one).parameters() if one.sweeps is chosen.sweeps else ()
    return OrderRow(one.name, parameters, float(misfit), chi2, float(aic), one.criterion, rows, verdict)


def _curves(record: OscillationRecord, found: Found, band: Array, place: str) -> tuple[Curve, ...]:
    """Return storage and loss over reduced frequency, all temperatures in one."""
    at = found.sweeps.reduced(found.fit.terms.shift)
    order = np.argsort(at, kind="stable")
    models = np.split(1.0 + found.fit.residuals, 2)
    made = []
    pairs = (("storage modulus", record.storage), ("loss modulus", record.loss))
    for (quantity, values), model, half in zip(pairs, models, np.split(band, 2), strict=True):
        low, middle, high = ((values * (model + side * half))[order] for side in (-1.0, 0.0, 1.0))
        made.append(Curve(record.name + place, quantity, "Pa", at[order], values[order], middle, low, high))
    return tuple(made)
