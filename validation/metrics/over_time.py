"""Reading curves at common times and averaging over time: what all other metrics share, SI units."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import trapezoid
from scipy.interpolate import make_interp_spline

from rheotwin.errors import RheotwinError

Array = NDArray[np.float64]

RESIDUAL_WINDOW = 0.1
"""Part of a record, at its end, over which what remains after release is averaged [1]."""


def common_times(times: ArrayLike, reference_times: ArrayLike) -> Array:
    """Return the reference's times [s] within the span that both records cover."""
    mine, theirs = np.asarray(times, dtype=float), np.asarray(reference_times, dtype=float)
    # Output times of two solvers differ by rounding only; a last frame must not be lost to it.
    slack = 1e-9 * max(1.0, abs(theirs[-1]))
    common: Array = theirs[(theirs >= mine[0] - slack) & (theirs <= mine[-1] + slack)]
    if common.size == 0:
        raise RheotwinError("the two records share no time; compare records of the same duration")
    return common


def at_times(times: ArrayLike, values: ArrayLike, wanted: Array) -> Array:
    """Return `values` (F, ...) linearly interpolated at the `wanted` times [s]; constant beyond the ends."""
    known, samples = np.asarray(times, dtype=float), np.asarray(values, dtype=float)
    if known.size == 1:
        return np.repeat(samples, len(wanted), axis=0)
    inside = np.clip(wanted, known[0], known[-1])
    return np.asarray(make_interp_spline(known, samples, k=1)(inside))


def time_mean(times: Array, values: ArrayLike) -> Array:
    """Return (1/T) integral of `values` (F, ...) over `times` (F,) [s] by the trapezoidal rule."""
    samples = np.asarray(values, dtype=float)
    if len(times) == 1:
        return np.asarray(samples[0])
    return np.asarray(trapezoid(samples, times, axis=0) / (times[-1] - times[0]))


def root_mean_square(times: Array, values: ArrayLike) -> float:
    """Return sqrt((1/T) integral v^2 dt) in the unit of the values."""
    return float(np.sqrt(time_mean(times, np.square(values))))


def window_start(times: Array, window: float) -> int:
    """Return the first index whose time lies within the last `window` part of the record."""
    begin = times[-1] - window * (times[-1] - times[0])
    return int(min(np.searchsorted(times, begin - 1e-9 * max(1.0, abs(begin))), len(times) - 1))


def lengths(vectors: Array) -> Array:
    """Return |v| of vectors (..., components), in their unit."""
    return np.asarray(np.linalg.norm(vectors, axis=-1))


def scale(value: float) -> float:
    """Return what an error is divided by: the value, nan where it is zero."""
    return float(value) if value > 0.0 else float("nan")
