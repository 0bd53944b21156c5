"""Least squares of a law to records: weighted residuals, slopes in the logarithms, many starts.

    minimise sum ((model - data)/sigma)^2 over the logarithms of the law's numbers, and offsets where they are asked for

Starts are random times, log-uniform over the record; the moduli that go with them are a non-negative linear problem.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.optimize import least_squares, nnls
from threadpoolctl import threadpool_limits

from rheotwin.arrays import Array
from rheotwin.materials import VoigtChain
from rheotwin.materials.voigt_chain import Spectrum, spectrum_of_chain
from rheotwin.validation.identification.candidate import Candidate, Scale, scale_of
from rheotwin.validation.identification.record import Phase, TimeRecord
from rheotwin.validation.identification.response import LawModel, respond

Offset = Literal["force-zero", "delay"]
STEP = 3e-5
"""Step of central differences in logarithms: their error is 1e-9 of the slope."""
STARTS = 10
ROUGH, ROUGH_STEPS = 1e-5, 30
"""Tolerance and most iterations from each start; the best is then refined."""
FINE = 1e-14
REACH = 25.0
"""Logarithms stay within this of the scale."""
LEAST = 1e-3
"""Least modulus that a start has, as a share of the largest."""
Sigmas = tuple[float, float]


@dataclass(frozen=True)
class Problem:
    """A candidate and the records that it is to describe; `sigma` of force [N] and displacement [m] of each.

    Unknowns are those of the candidate, then per record the zero of its force (in peaks) and its delay (in steps).
    """

    candidate: Candidate
    records: tuple[TimeRecord, ...]
    sigma: tuple[Sigmas, ...]
    offsets: tuple[Offset, ...] = ()
    peaks: Scale | None = None
    """The scale that numbers refer to, if not that of these records."""

    @cached_property
    def scale(self) -> Scale:
        """Peaks and times of the records."""
        return self.peaks or scale_of(self.records)

    @cached_property
    def leading(self) -> list[TimeRecord]:
        """The parts of prescribed displacement with which records begin."""
        return [_first_phase(record) for record in self.records if record.phases[0].drive == "displacement"]

    @cached_property
    def deviations(self) -> Array:
        """Standard deviation of every datum."""
        pairs = zip(self.records, self.sigma, strict=True)
        return np.concatenate([np.where(record.observed_force, *sigma) for record, sigma in pairs])

    @cached_property
    def data(self) -> Array:
        """All that was observed."""
        return np.concatenate([record.observed for record in self.records])

    def model(self, unknowns: Array) -> Array:
        """Return what the law shows where data are."""
        own = len(self.candidate.bank_names)
        law = self.candidate.model(unknowns[:own], self.scale)
        extra = iter(unknowns[own:])
        found = []
        for record in self.records:
            shift = {offset: float(next(extra)) for offset in self.offsets}
            seen = record
            if "delay" in shift:
                seen = delayed(record, shift["delay"] * self.scale.shortest)
            zero = shift.get("force-zero", 0.0) * self.scale.force
            if zero:
                seen = replace(seen, force=seen.force - zero)
            found.append(respond(law, seen) + zero * record.observed_force)
        return np.concatenate(found)

    def residuals(self, unknowns: Array) -> Array:
        """Return (model - data)/sigma; 1e12 where the law is out of reach."""
        try:
            with np.errstate(all="ignore"):
                left = (self.model(unknowns) - self.data) / self.deviations
        except np.linalg.LinAlgError:  # numbers too far apart for eigenvectors
            left = np.full(len(self.data), 1e12)
        return np.nan_to_num(np.clip(left, -1e12, 1e12), nan=1e12)

    def slopes(self, unknowns: Array) -> Array:
        """Return the derivatives of the residuals by the unknowns."""
        return central_differences(self.residuals, unknowns)

    @property
    def bounds(self) -> tuple[Array, Array]:
        """Limits of the unknowns."""
        scale, middle, reach = self.scale, [], []
        slow, fast = np.log(1e3 * scale.duration), np.log(1e-2 * scale.shortest)
        kinds = {"k": scale.stiffness, "g": scale.stiffness, "b": scale.stiffness * scale.duration, "a": scale.force}
        for name in self.candidate.bank_names:
            if name[0] in kinds:
                middle.append(np.log(kinds[name[0]]))
                reach.append(REACH)
            else:
                low, high = {"t": (fast, slow), "p": (-2.0, 2.0), "c": (-100.0, 100.0)}[name[0]]
                middle.append(0.5 * (low + high))
                reach.append(0.5 * (high - low))
        for _ in self.records:
            middle += [0.0] * len(self.offsets)
            reach += [{"force-zero": 1.0, "delay": 50.0}[offset] for offset in self.offsets]
        return np.subtract(middle, reach), np.add(middle, reach)


@dataclass(frozen=True)
class Fit:
    """The best unknowns of a problem, its weighted residuals there and their slopes."""

    problem: Problem
    unknowns: Array
    residuals: Array
    slopes: Array

    @property
    def chi2(self) -> float:
        """Weighted sum of squares."""
        return float(self.residuals @ self.residuals)


def central_differences(function: Callable[[Array], Array], at: Array, step: float = STEP) -> Array:
    """Return the derivatives of a function of values near 1, of second order."""
    columns = []
    for i in range(len(at)):
        aside = np.zeros_like(at)
        aside[i] = step
        columns.append((function(at + aside) - function(at - aside)) / (2.0 * step))
    return np.stack(columns, axis=1)


def delayed(record: TimeRecord, delay: float) -> TimeRecord:
    """Return the record with what was prescribed coming later [s] than it says."""
    then = record.time - delay
    return replace(
        record,
        displacement=np.interp(then, record.time, record.displacement),
        force=np.interp(then, record.time, record.force),
    )


def solve(problem: Problem, start: Array, tolerance: float = FINE, most: int = 200) -> Array:
    """Return the unknowns of the least squares that one start leads to."""
    low, high = problem.bounds
    inside = np.clip(start, low + 1e-6, high - 1e-6)
    found = least_squares(
        problem.residuals,
        inside,
        jac=problem.slopes,
        bounds=(low, high),
        x_scale="jac",
        xtol=tolerance,
        ftol=tolerance,
        gtol=tolerance,
        max_nfev=most,
    )
    return np.asarray(found.x)


def fit(problem: Problem, seed: int = 0, starts: int = STARTS, first: Array | None = None) -> Fit:
    """Return the best fit of many starts; `first` is one more of them."""
    rng = np.random.default_rng([seed, *problem.candidate.name.encode()])
    with threadpool_limits(1):  # matrices are slim
        tried = [start_of(problem, rng) for _ in range(starts)] + ([] if first is None else [first])
        found = [solve(problem, start, ROUGH, ROUGH_STEPS) for start in tried]
        costs = [float(np.sum(problem.residuals(unknowns) ** 2)) for unknowns in found]
        return fitted(problem, solve(problem, found[int(np.argmin(costs))]))


def fitted(problem: Problem, unknowns: Array) -> Fit:
    """Return the fit at known unknowns."""
    return Fit(problem, unknowns, problem.residuals(unknowns), problem.slopes(unknowns))


def start_of(problem: Problem, rng: np.random.Generator) -> Array:
    """Return random times with the moduli that suit them best."""
    candidate, scale = problem.candidate, problem.scale
    offsets = np.zeros(len(problem.offsets) * len(problem.records))
    shortest, longest = np.log(scale.shortest), np.log(scale.duration)
    if candidate.friction:
        stiff, share = scale.stiffness * 10.0 ** rng.uniform(0.0, 1.5), 10.0 ** rng.uniform(-1.5, -0.1)
        own = np.log(stiff) + np.sort(rng.uniform(shortest, longest, 2))
        return np.concatenate([[np.log(stiff)], own, [np.log(share * scale.force)], offsets])
    power = float(np.exp(rng.uniform(-0.3, 0.7))) if candidate.power else 1.0
    leading = problem.leading
    units = candidate.arms if leading else candidate.arms - 1 + candidate.equilibrium + candidate.viscosity
    times = np.exp(np.sort(rng.uniform(shortest, longest, units)))
    if leading:
        bank = _pulled_start(leading, candidate, times, power, scale)
    else:
        bank = _loaded_start(problem.records, candidate, times, power, scale)
    return np.concatenate([candidate.unknowns(bank, power), offsets])


def _moduli(columns: list[list[Array]], data: list[Array]) -> Array:
    """Return non-negative factors of columns (per part, per record), none of them nought."""
    matrix = np.stack([np.concatenate(column) for column in columns], axis=1)
    size = np.abs(matrix).max(axis=0)
    found, _ = nnls(matrix / size, np.concatenate(data))
    return np.asarray(np.maximum(found, LEAST * max(found.max(), 1e-300)) / size)


def _pulled_start(
    pulled: list[TimeRecord], candidate: Candidate, times: Array, power: float, scale: Scale, least: float = LEAST
) -> Spectrum:
    """Return the bank of these times whose force is nearest under prescribed displacements."""
    none = np.zeros(0)
    parts = [Spectrum(1.0, none, none, 0.0)] * candidate.equilibrium + [
        Spectrum(0.0, none, none, 1.0)
    ] * candidate.viscosity
    parts += [Spectrum(0.0, np.ones(1), np.array([time]), 0.0) for time in times]
    columns = [[respond(LawModel(part, power, 0.0, scale.depth), one) for one in pulled] for part in parts]
    found = _moduli(columns, [one.force for one in pulled])
    beside = candidate.equilibrium + candidate.viscosity
    return Spectrum(
        float(found[0]) if candidate.equilibrium else 0.0,
        found[beside:],
        times,
        float(found[beside - 1]) if candidate.viscosity else 0.0,
    )


def _first_phase(record: TimeRecord) -> TimeRecord:
    end = record.phases[0].end
    return TimeRecord(
        record.name,
        record.time[:end],
        record.displacement[:end],
        record.force[:end],
        (Phase("displacement", end),),
    )


def _loaded_start(
    records: tuple[TimeRecord, ...], candidate: Candidate, times: Array, power: float, scale: Scale
) -> Spectrum:
    """Return a bank from a chain of compliances, which are the linear ones where the force is prescribed."""
    units = [(1.0, 0.0)] * (not candidate.viscosity) + [(0.0, 1.0)] * (not candidate.equilibrium)
    units += [(1.0, float(time)) for time in times]
    none = np.zeros(0)
    columns = [[respond(LawModel(Spectrum(k, none, none, b)), record) for record in records] for k, b in units]
    straight = LawModel(Spectrum(1.0, none, none, 0.0), power, 0.0, scale.depth)
    compliances = _moduli(columns, [straight.drive(record.displacement) for record in records])
    ks, bs = zip(*[(k / c, b / c) for (k, b), c in zip(units, compliances, strict=True)], strict=True)
    return spectrum_of_chain(VoigtChain(ks, bs))
