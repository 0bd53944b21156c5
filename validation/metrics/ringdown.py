"""Frequency, damping and rest of something let go: one damped mode beside one slow creep."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import least_squares

from rheotwin.errors import RheotwinError
from rheotwin.validation.metrics.over_time import Array


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
