"""Storage and loss over frequency as a dictionary of arms, with the shifts of temperatures.

    G*(w, T) = G_inf + sum_a g_a i w a_T tau_a/(1 + i w a_T tau_a) + i w a_T eta,     ln a_T = s(T), s(reference) = 0

Shifts are one number per temperature ("free"), or

    WLF         log10 a_T = -C1 (T - T_r)/(C2 + T - T_r)
    Arrhenius   ln a_T = E/R (1/T - 1/T_r)          absolute temperatures
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.optimize import least_squares

from rheotwin.arrays import Array, Indices
from rheotwin.validation.identification.record import OscillationRecord
from rheotwin.validation.identification.spectrum import Columns

ShiftKind = Literal["none", "free", "wlf", "arrhenius"]
GAS = 8.314462618
"""Gas constant [J/(mol K)]."""
ZERO = 273.15
"""0 Celsius [K]."""
LN10 = float(np.log(10.0))
PER_DECADE = 40
"""Times of the grid in each decade of reduced frequency; it goes on by half a decade at either end."""
LEAST_OVERLAP = 0.2
"""Share of a sweep on which two temperatures must overlap to be laid over each other."""


@dataclass(frozen=True, eq=False)
class Sweeps:
    """A record as a dictionary of arms: rows of storage, then of loss, both over their values.

    `shift` numbers are ln a of each temperature but the reference; (ln C1, ln(C2 + T_min - T_r)); or ln(E/(R T_r)).
    """

    record: OscillationRecord
    kind: ShiftKind
    reference: float
    viscous: bool = True

    @cached_property
    def temperatures(self) -> Array:
        """Temperatures [Celsius], ascending."""
        return np.unique(temperature_of(self.record))

    @cached_property
    def place(self) -> Indices:
        """Place of each row's temperature among them (F,)."""
        return np.searchsorted(self.temperatures, temperature_of(self.record)).astype(np.int64)

    @property
    def data(self) -> Array:
        """Ones: residuals are relative."""
        return np.ones(2 * len(self.record.frequency))

    def shifts(self, numbers: Array) -> tuple[Array, Array]:
        """Return ln a of each temperature (k,), and its slopes (k, e) by the numbers that make it."""
        above = self.temperatures - self.reference
        if self.kind == "free":
            others = np.flatnonzero(above != 0.0)
            slopes = np.eye(len(above))[:, others]
            return slopes @ numbers, slopes
        if self.kind == "wlf":
            first, past = np.exp(numbers)
            second = past - above.min()
            ratio = above / (second + above)
            values = -LN10 * first * ratio
            return values, np.stack([values, -values * past / (second + above)], axis=1)
        if self.kind == "arrhenius":
            absolute = self.reference + ZERO
            values = np.exp(numbers[0]) * (absolute / (self.temperatures + ZERO) - 1.0)
            return values, values[:, None]
        return np.zeros(len(above)), np.zeros((len(above), 0))

    def reduced(self, numbers: Array) -> Array:
        """Return reduced frequencies w a_T [rad/s] of all rows (F,)."""
        return np.asarray(self.record.frequency * np.exp(self.shifts(numbers)[0][self.place]))

    def columns(self, log_times: Array, shift: Array) -> Columns:
        """Return answers relative to the data: x^2/(1 + x^2) and x/(1 + x^2) with x = w a_T tau."""
        frequency = self.reduced(shift)
        x = frequency[:, None] * np.exp(log_times)
        below = 1.0 / (1.0 + x * x)
        nothing = np.zeros_like(frequency)
        over = (1.0 / np.concatenate([self.record.storage, self.record.loss]))[:, None]
        constants = [np.concatenate([nothing + 1.0, nothing])]
        slopes = [np.concatenate([nothing, nothing])]
        if self.viscous:
            constants.append(np.concatenate([nothing, frequency]))
            slopes.append(constants[1])
        drift = self.shifts(shift)[1][self.place]
        return Columns(
            over * np.concatenate([x * x * below, x * below]),
            over * np.concatenate([2.0 * (x * below) ** 2, x * (1.0 - x * x) * below**2]),
            over * np.stack(constants, axis=1),
            over * np.stack(slopes, axis=1),
            np.concatenate([drift, drift]),
        )


def temperature_of(record: OscillationRecord) -> Array:
    """Return the temperature of every row (F,) [Celsius], 0 if there is none."""
    return np.zeros(len(record.frequency)) if record.temperature is None else record.temperature


def overlapped(record: OscillationRecord) -> Array:
    """Return ln a of each temperature (k,), the lowest 0, by laying each sweep over its neighbour.

    The shift d makes log storage and log loss differ least where the two sweeps overlap.
    """
    temperature = temperature_of(record)
    levels = np.unique(temperature)
    found = np.zeros(len(levels))
    for number in range(1, len(levels)):
        cold, warm = (_sweep(record, temperature == level) for level in levels[number - 1 : number + 1])
        width = min(np.ptp(cold[0]), np.ptp(warm[0]))
        tried = np.linspace(-0.5, 1.0 - LEAST_OVERLAP, 261) * width
        apart = [_apart(cold, (warm[0] - shift, *warm[1:])) for shift in tried]
        found[number] = found[number - 1] - tried[int(np.argmin(apart))]
    return found


def _sweep(record: OscillationRecord, rows: Array) -> tuple[Array, Array, Array]:
    order = np.argsort(record.frequency[rows])
    frequency, storage, loss = (np.log(one[rows][order]) for one in (record.frequency, record.storage, record.loss))
    return frequency, storage, loss


def _apart(one: Sequence[Array], other: Sequence[Array]) -> float:
    low, high = max(one[0][0], other[0][0]), min(one[0][-1], other[0][-1])
    at = np.linspace(low, max(high, low), 20)
    pairs = zip(one[1:], other[1:], strict=True)
    return float(sum(np.mean((np.interp(at, one[0], a) - np.interp(at, other[0], b)) ** 2) for a, b in pairs))


def grid_of(reduced: Array) -> Array:
    """Return log times from half a decade below 1/w to half a decade above."""
    low, high = -np.log(reduced.max()) - LN10 / 2.0, -np.log(reduced.min()) + LN10 / 2.0
    return np.linspace(low, high, int(PER_DECADE * (high - low) / LN10) + 1)


def numbers_of(sweeps: Sweeps, logs: Array) -> Array:
    """Return the numbers of a kind of shift that come nearest to ln a of the temperatures (k,)."""
    above = sweeps.temperatures - sweeps.reference
    if sweeps.kind == "free":
        return np.asarray((logs - logs[above == 0.0])[above != 0.0])
    guesses = {"wlf": np.log([10.0, 50.0]), "arrhenius": np.log([50.0])}
    start = guesses.get(sweeps.kind, np.zeros(0))
    return least_squares(lambda q: sweeps.shifts(q)[0] - logs, start, bounds=(-10.0, 12.0)).x if len(start) else start


def effective_rows(sweeps: Sweeps, residuals: Array) -> float:
    """Return N (1 - r)/(1 + r), r the correlation of neighbours in frequency among a sweep's residuals (0 at least)."""
    order = np.lexsort((sweeps.record.frequency, sweeps.place))
    same = np.diff(sweeps.place[order]) == 0
    halves = (half[order] for half in np.split(residuals, 2))
    products = np.concatenate([(half[1:] * half[:-1])[same] for half in halves])
    r = max(float(np.mean(products) / np.mean(residuals**2)), 0.0)
    return max(len(residuals) * (1.0 - r) / (1.0 + r), 8.0)
