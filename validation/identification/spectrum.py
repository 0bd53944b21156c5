"""Sparse spectra: few relaxation times found among several hundred.

Data are linear in non-negative strengths, y = sum_a g_a c(tau_a, s) + sum_m d_m c_m(s): c is the answer of one arm, c_m
that of what has no time of its own (spring, dashpot), s are shifts, if any. Non-negative least squares on a dense grid
of times give clusters of neighbours; each becomes one term (sum of strengths, their mean log time), whose strength,
time and the shifts are then refined together, in logs. Terms are taken out or put together one by one, as long as any
are left; BIC chooses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
from scipy.optimize import least_squares, nnls

from rheotwin.arrays import Array

TRIED = 2
"""How many of the shorter series, the best at fixed times, are refined."""
FAR = 15.0
"""How far a refined number may go from its start, as a natural logarithm."""
DUBIOUS = 0.5
"""Relative error above which a constant is left out where BIC is lower without it."""
CLOSEST = 1.1
"""Two times within this ratio cannot be told apart (spec 7)."""


class Columns(NamedTuple):
    """Answers of unit strengths in units of the noise: of `arms` (R, n), of `constants` (R, m), and their slopes.

    `arm_slopes` (R, n) are derivatives by log time, which are also those by the shift ln a of a row; so are
    `constant_slopes` (R, m). `drift` (R, e) is how the shift of a row follows the e numbers that make shifts.
    """

    arms: Array
    arm_slopes: Array
    constants: Array
    constant_slopes: Array
    drift: Array


class Dictionary(Protocol):
    """What a spectrum is found in: `data` (R,) in units of its noise, and the answers of arms."""

    @property
    def data(self) -> Array:
        """Return the data over their noise."""
        ...

    def columns(self, log_times: Array, shift: Array) -> Columns:
        """Return answers for natural logarithms of relaxation times [s] and the numbers that make shifts."""
        ...


@dataclass(frozen=True)
class Terms:
    """A series: natural logarithms of relaxation times (n,), ascending; strengths (n,); constants (m,); shifts (e,)."""

    log_times: Array
    strengths: Array
    constants: Array
    shift: Array

    @property
    def unknowns(self) -> Array:
        """Logarithms of the constants that are there, of strengths, of times; and shifts."""
        there = self.constants > 0.0
        return np.concatenate([np.log(self.constants[there]), np.log(self.strengths), self.log_times, self.shift])

    def moved(self, unknowns: Array) -> Terms:
        """Return the series of other values of the unknowns."""
        there, n = self.constants > 0.0, len(self.strengths)
        parts = np.split(unknowns, np.cumsum([int(there.sum()), n, n]))
        constants = self.constants.copy()
        constants[there] = np.exp(parts[0])
        return Terms(parts[2], np.exp(parts[1]), constants, parts[3])

    def ordered(self) -> Terms:
        """Return the same series, times ascending."""
        order = np.argsort(self.log_times, kind="stable")
        return replace(self, log_times=self.log_times[order], strengths=self.strengths[order])


@dataclass(frozen=True)
class Refined:
    """A series that fits best: residuals (R,) in units of the noise and their Jacobian (R, p) by the unknowns."""

    terms: Terms
    residuals: Array
    jacobian: Array

    @property
    def misfit(self) -> float:
        """Sum of squared residuals [1]."""
        return float(self.residuals @ self.residuals)

    @property
    def standard_errors(self) -> Array:
        """Standard errors of the unknowns, noise taken from the residuals; infinite along flat directions."""
        inverse = np.linalg.pinv(self.jacobian.T @ self.jacobian, hermitian=True)
        return np.asarray(self.noise * np.sqrt(np.maximum(np.diag(inverse), 0.0)))

    def criterion(self, rows: float, noise: float) -> float:
        """Return BIC = N RSS/(R noise^2) + p ln N of an effective number N of the R rows."""
        return float(rows * self.misfit / (len(self.residuals) * noise**2) + self.jacobian.shape[1] * np.log(rows))

    @property
    def noise(self) -> float:
        """Noise that the residuals speak of, in their unit: sqrt(RSS/(R - p))."""
        rows, count = self.jacobian.shape
        return float(np.sqrt(self.misfit / max(rows - count, 1)))

    @property
    def rejection(self) -> str:
        """Why the series is not acceptable (spec 7); empty if it is."""
        times, count = self.terms.log_times, len(self.terms.log_times)
        if count > 1 and np.diff(times).min() < np.log(CLOSEST):
            return "two times are closer than 10 %"
        there = int(np.count_nonzero(self.terms.constants))
        if self.standard_errors[: there + 2 * count].max() > 1.0:
            return "a parameter is uncertain by more than 100 %"
        return ""


def residuals_of(dictionary: Dictionary, terms: Terms) -> tuple[Array, Array]:
    """Return what a series leaves of the data (R,), and the derivatives by its unknowns (R, p)."""
    found = dictionary.columns(terms.log_times, terms.shift)
    there = terms.constants > 0.0
    model = found.arms @ terms.strengths + found.constants @ terms.constants
    by_shift = found.arm_slopes @ terms.strengths + found.constant_slopes @ terms.constants
    slopes = (
        found.constants[:, there] * terms.constants[there],
        found.arms * terms.strengths,
        found.arm_slopes * terms.strengths,
        by_shift[:, None] * found.drift,
    )
    return model - dictionary.data, np.concatenate(slopes, axis=1)


def refined(dictionary: Dictionary, start: Terms, rounds: int = 100) -> Refined:
    """Return the best series near a start: strengths, times and shifts together, in logs."""
    first = start.unknowns
    found = least_squares(
        lambda unknowns: residuals_of(dictionary, start.moved(unknowns))[0],
        first,
        jac=lambda unknowns: residuals_of(dictionary, start.moved(unknowns))[1],
        bounds=(first - FAR, first + FAR),
        x_scale="jac",
        max_nfev=rounds,
        xtol=1e-9,
        ftol=1e-9,
        gtol=1e-9,
    )
    terms = start.moved(found.x).ordered()
    return Refined(terms, *residuals_of(dictionary, terms))


def without_idle_constants(dictionary: Dictionary, fit: Refined) -> Refined:
    """Leave out each spring or dashpot that the data do not ask for: known badly, and BIC is lower without it."""
    rows = float(len(fit.residuals))
    for constant in np.flatnonzero(fit.terms.constants):
        place = int(np.count_nonzero(fit.terms.constants[:constant]))
        if fit.standard_errors[place] > DUBIOUS:
            rest = fit.terms.constants.copy()
            rest[constant] = 0.0
            less = refined(dictionary, replace(fit.terms, constants=rest))
            fit = less if less.criterion(rows, fit.noise) < fit.criterion(rows, fit.noise) else fit
    return fit


def on_grid(dictionary: Dictionary, log_times: Array, shift: Array) -> tuple[Terms, float]:
    """Return the series of non-negative least squares at given times, terms of no strength dropped, and its misfit."""
    found = dictionary.columns(log_times, shift)
    matrix = np.concatenate([found.constants, found.arms], axis=1)
    sizes = np.linalg.norm(matrix, axis=0)
    sizes[sizes == 0.0] = 1.0
    weights, left = nnls(matrix / sizes, dictionary.data, maxiter=30 * matrix.shape[1])
    values = weights / sizes
    count = found.constants.shape[1]
    kept = values[count:] > 0.0
    return Terms(log_times[kept], values[count:][kept], values[:count], shift), float(left) ** 2


def merged(terms: Terms, closer_than: float) -> Terms:
    """Put terms whose log times lie closer together than that into one: sum of strengths, their mean log time."""
    starts = np.flatnonzero(np.diff(terms.log_times, prepend=-np.inf) > closer_than)
    sums = np.add.reduceat(terms.strengths, starts)
    means = np.add.reduceat(terms.strengths * terms.log_times, starts) / sums
    return replace(terms, log_times=means, strengths=sums)


def _shorter(dictionary: Dictionary, terms: Terms) -> Iterator[tuple[float, Terms]]:
    """Yield each series with one term less, one taken out or two put together, and its misfit at fixed times."""
    n = len(terms.log_times)
    tried = [np.delete(terms.log_times, gone) for gone in range(n)]
    for first in range(n - 1):
        pair = slice(first, first + 2)
        mean = np.average(terms.log_times[pair], weights=terms.strengths[pair])
        tried.append(np.concatenate([terms.log_times[:first], [mean], terms.log_times[first + 2 :]]))
    for times in tried:
        found, misfit = on_grid(dictionary, times, terms.shift)
        if len(found.log_times):
            yield misfit, found


def series(dictionary: Dictionary, grid: Array, shift: Array, rounds: int = 30) -> list[Refined]:
    """Return the best series of every number of terms, from what the grid of log times gives down to one.

    The grid should be dense (10 to 50 a decade): what lies on neighbouring points is one term.
    """
    spacing = float(np.diff(grid).mean())
    first, _ = on_grid(dictionary, grid, shift)
    now = refined(dictionary, merged(first, 1.5 * spacing), rounds)
    found = [now]
    while len(now.terms.log_times) > 1:
        nearest = sorted(_shorter(dictionary, now.terms), key=lambda pair: pair[0])[:TRIED]
        if not nearest:
            break
        now = min((refined(dictionary, terms, rounds) for _, terms in nearest), key=lambda fit: fit.misfit)
        found.append(now)
    return [without_idle_constants(dictionary, fit) for fit in reversed(found)]
