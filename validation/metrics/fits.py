"""Numbers fitted to values: how a number settles on finer meshes, and how something let go rings.

How a number settles as cells are divided: observed order, limit, and how uncertain the finest value is.

    f(h) = f0 + C h^p,    h = 1/refinement

Three meshes determine f0, C and p (Richardson); more are fitted by least squares, which then also tells how far
to trust p. The uncertainty of the finest value follows Roache's grid convergence index: 1.25 |f - f0| where the fit
is a plausible one, 3 times the range of the values where it is not (Eca and Hoekstra 2014).

Frequency, damping and rest of something let go: one damped mode beside one slow creep.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import least_squares, minimize_scalar
from scipy.stats import t as student

from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError

Verdict = Literal["converging", "settled", "oscillating", "not converging", "too few meshes"]

LEAST_ORDER, MOST_ORDER = 0.25, 6.0
"""Orders between which a fit is plausible."""
SETTLED = 1e-9
"""Relative range below which all values are the same."""
SAFETY, WIDE_SAFETY = 1.25, 3.0
BIASED = 1.2
"""What an uncertainty from meshes is widened by before its square is added: its error has one sign. With Roache's 1.25
an interval then covers at least 93 % for any ratio of a discretisation error b to noise of deviation s: of
N(b, s), |x| <= sqrt((1.5 b)^2 + (2 s)^2)."""
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Convergence:
    """Values on finer and finer meshes and what they tend to; None where they do not tell.

    `order_error` is half the 95 % interval of the order, which only four meshes or more give; `uncertainty` is that of
    the last value, in its unit.
    """

    refinements: tuple[int, ...]
    values: tuple[float, ...]
    verdict: Verdict
    order: float | None = None
    order_error: float | None = None
    limit: float | None = None
    uncertainty: float | None = None


def convergence(refinements: Sequence[int], values: Sequence[float]) -> Convergence:
    """Return the convergence of one value per refinement, in any order."""
    placed = sorted(zip(refinements, map(float, values), strict=True))
    meshes, found = tuple(n for n, _ in placed), tuple(value for _, value in placed)
    spread = float(np.ptp(found))
    if len(found) < 2:
        return Convergence(meshes, found, "too few meshes")
    if spread <= SETTLED * max(map(abs, found)):
        return Convergence(meshes, found, "settled", limit=found[-1], uncertainty=spread)
    wide = WIDE_SAFETY * spread
    if len(found) < 3:
        return Convergence(meshes, found, "too few meshes", uncertainty=wide)
    steps = np.diff(found)
    if steps[-1] * steps[-2] < 0.0:
        return Convergence(meshes, found, "oscillating", uncertainty=wide)
    width, value = 1.0 / np.array(meshes, float), np.array(found)
    order = _order(width, value)
    if not LEAST_ORDER < order < MOST_ORDER:
        return Convergence(meshes, found, "not converging", uncertainty=wide)
    (limit, factor), misfit = _fit(width, value, order)
    error = _order_error(width, factor, order, misfit)
    return Convergence(meshes, found, "converging", order, error, limit, SAFETY * abs(found[-1] - limit))


def extrapolated(fine: Array, coarse: Array, ratio: float, order: float) -> Array:
    """Return the Richardson limit of values on two meshes whose widths are h and `ratio` h."""
    return np.asarray(fine + (fine - coarse) / (ratio**order - 1.0))


def _order(width: Array, value: Array) -> float:
    scaled, bounds = value / np.ptp(value), (0.1, 1.05 * MOST_ORDER)
    found = minimize_scalar(
        lambda p: _fit(width, scaled, p)[1], bounds=bounds, method="bounded", options={"xatol": 1e-10}
    )
    return float(found.x)


def _fit(width: Array, value: Array, order: float) -> tuple[tuple[float, float], float]:
    """Return (f0, C) of the best fit with this order, and its sum of squares."""
    columns = np.stack([np.ones_like(width), width**order], axis=1)
    (limit, factor), *_ = np.linalg.lstsq(columns, value, rcond=None)
    return (float(limit), float(factor)), float(np.sum((columns @ (limit, factor) - value) ** 2))


def _order_error(width: Array, factor: float, order: float, misfit: float) -> float | None:
    """Return half the confidence interval of the order, from the linearised least squares."""
    freedom = len(width) - 3
    if freedom < 1:
        return None
    power = width**order
    slopes = np.stack([np.ones_like(width), power, factor * power * np.log(width)], axis=1)
    variance = misfit / freedom * np.linalg.inv(slopes.T @ slopes)[2, 2]
    return float(student.ppf(0.5 + 0.5 * CONFIDENCE, freedom) * np.sqrt(variance))


@dataclass(frozen=True)
class RingDown:
    """A fit of y(t): `frequency` [Hz], `damping` ratio [1], `rest` and amplitude, rms of what is left, in y's unit.

    `frequency_error` [Hz] and `damping_error` [1] are standard deviations from the fit, residuals taken as independent.
    """

    frequency: float
    damping: float
    rest: float
    amplitude: float
    rms: float
    frequency_error: float
    damping_error: float


def ring_down(times: ArrayLike, values: ArrayLike, *, creep: bool = True) -> RingDown:
    """Fit y = rest + exp(-d t)(a cos(w t) + b sin(w t)) + c exp(-t/s), without the last term unless `creep`.

    f = w/(2 pi), damping ratio d/sqrt(w^2 + d^2). For given w, d, s the rest is linear, so only these are searched,
    from the largest line of the spectrum. The record should hold a few periods.
    """
    instants, course = np.asarray(times, dtype=float), np.asarray(values, dtype=float)
    if len(instants) < 8 or not np.ptp(course) > 0.0:
        raise RheotwinError("ring-down: the record is too short or does not move; take at least a few periods of it")
    instants = instants - instants[0]
    guess = [np.log(_main_frequency(instants, course)), 0.0] + [np.log(0.5 * instants[-1])] * creep

    def basis(unknowns: Array) -> Array:
        omega, decay = np.exp(unknowns[0]), unknowns[1]
        swing = np.exp(-decay * instants)
        columns = [np.ones_like(instants), swing * np.cos(omega * instants), swing * np.sin(omega * instants)]
        columns += [np.exp(-instants / np.exp(slow)) for slow in unknowns[2:]]
        return np.stack(columns, axis=1)

    def left(unknowns: Array) -> Array:
        columns = basis(unknowns)
        return np.asarray(columns @ np.linalg.lstsq(columns, course, rcond=None)[0] - course)

    # the slow term must not turn into a straight line or into a jump
    free = [(-np.inf, np.inf)] * 2 + [(np.log(0.05 * instants[-1]), np.log(3.0 * instants[-1]))] * creep
    found = least_squares(left, guess, bounds=tuple(np.transpose(free)), xtol=1e-14, ftol=1e-14, gtol=1e-14)
    omega, decay = float(np.exp(found.x[0])), float(found.x[1])
    parts = np.linalg.lstsq(basis(found.x), course, rcond=None)[0]
    freedom = max(len(instants) - len(found.x) - len(parts), 1)
    spread = np.sqrt(np.diag(np.linalg.pinv(found.jac.T @ found.jac)) * 2.0 * found.cost / freedom)
    return RingDown(
        frequency=omega / (2.0 * np.pi),
        damping=decay / float(np.hypot(omega, decay)),
        rest=float(parts[0]),
        amplitude=float(np.hypot(parts[1], parts[2])),
        rms=float(np.sqrt(np.mean(np.square(found.fun)))),
        frequency_error=float(spread[0]) * omega / (2.0 * np.pi),
        damping_error=float(spread[1]) / float(np.hypot(omega, decay)),
    )


def _main_frequency(times: Array, values: Array) -> float:
    """Return the angular frequency [rad/s] of the largest line of the spectrum, finer than its spacing."""
    even = np.linspace(times[0], times[-1], len(times))
    course = np.interp(even, times, values)
    drift = np.polynomial.Polynomial.fit(even, course, 1)
    lines = np.abs(np.fft.rfft((course - drift(even)) * np.hanning(len(even)), 8 * len(even)))
    step = (even[1] - even[0]) * 8 * len(even)
    return float(2.0 * np.pi * max(int(np.argmax(lines)), 1) / step)
