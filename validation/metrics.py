"""Every number a comparison states, each defined once: pure functions on arrays, SI units.

An undefined value (a relative error against an all-zero reference, a rate without a wall time) is nan.
"""

from __future__ import annotations

from dataclasses import dataclass

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


def nodal_norm(field: ArrayLike, weights: ArrayLike) -> Array:
    """Return |u|(t) = sqrt(sum_n w_n |u_n|^2 / sum_n w_n), one value per frame, in the unit of the field."""
    values, shares = np.asarray(field, dtype=float), np.asarray(weights, dtype=float)
    squares = np.einsum("fnc,fnc->fn", values, values)
    return np.asarray(np.sqrt(squares @ shares / shares.sum()))


def field_error(field: ArrayLike, reference: ArrayLike, weights: ArrayLike) -> Array:
    """Return e(t) = |u - u_ref|(t) / max_t |u_ref|(t), one value per frame [1].

    The norm is `nodal_norm` with tributary volumes; the largest reference norm in time is the scale,
    so that a body back at rest does not divide by zero.
    """
    difference = np.asarray(field, dtype=float) - np.asarray(reference, dtype=float)
    return nodal_norm(difference, weights) / _scale(nodal_norm(reference, weights).max())


def displacement_error(displacement: ArrayLike, reference: ArrayLike, weights: ArrayLike) -> Array:
    """Return the relative L2 displacement error per frame [1]; see `field_error`."""
    return field_error(displacement, reference, weights)


def velocity_error(velocity: ArrayLike, reference: ArrayLike, weights: ArrayLike) -> Array:
    """Return the relative L2 velocity error per frame [1]; see `field_error`."""
    return field_error(velocity, reference, weights)


def time_mean(times: Array, values: ArrayLike) -> Array:
    """Return (1/T) integral of `values` (F, ...) over `times` (F,) [s] by the trapezoidal rule."""
    samples = np.asarray(values, dtype=float)
    if len(times) == 1:
        return np.asarray(samples[0])
    return np.asarray(trapezoid(samples, times, axis=0) / (times[-1] - times[0]))


def root_mean_square(times: Array, values: ArrayLike) -> float:
    """Return sqrt((1/T) integral v^2 dt) in the unit of the values."""
    return float(np.sqrt(time_mean(times, np.square(values))))


def force_curve_error(times: ArrayLike, force: ArrayLike, ref_times: ArrayLike, reference: ArrayLike) -> float:
    """Return sqrt(integral |f - f_ref|^2 dt / integral |f_ref|^2 dt) [1], forces (F, components) [N].

    Both curves are read on the reference's times within the common span, by linear interpolation.
    """
    common = common_times(times, ref_times)
    mine, theirs = at_times(times, force, common), at_times(ref_times, reference, common)
    size = np.sum(np.square(theirs).reshape(len(common), -1), axis=1)
    gap = np.sum(np.square(mine - theirs).reshape(len(common), -1), axis=1)
    return float(np.sqrt(time_mean(common, gap)) / _scale(float(np.sqrt(time_mean(common, size)))))


@dataclass(frozen=True)
class Residual:
    """What remains of the largest displacement at the end of a record.

    `node` is the node that moved most, `peak` its largest displacement [m]; `at_node` and `rms` are the
    displacement that remains there and over the body, relative to their peaks [1]; `oscillation` is the
    largest departure of that node from its mean within the window, relative to the peak [1].
    """

    node: int
    peak: float
    at_node: float
    rms: float
    oscillation: float


def residual_displacement(
    times: ArrayLike, displacement: ArrayLike, weights: ArrayLike, *, window: float = RESIDUAL_WINDOW
) -> Residual:
    """Return what remains after release, u_bar = mean of u over the last `window` of the record.

    at_node = |u_bar_n| / max_t |u_n|, rms = |u_bar| / max_t |u|(t) (`nodal_norm`),
    oscillation = max_t |u_n - u_bar_n| / max_t |u_n|, the last maximum within the window.
    The mean is taken of the vector, so that an oscillation about the rest shape leaves no residual.
    A body that never moved has nothing to keep: all its values are 0.
    """
    instants, motion = np.asarray(times, dtype=float), np.asarray(displacement, dtype=float)
    start, node = window_start(instants, window), int(np.argmax(_lengths(motion).max(axis=0)))
    mean = time_mean(instants[start:], motion[start:])
    peak = float(_lengths(motion[:, node]).max())
    swing = float(_lengths(motion[start:, node] - mean[node]).max())
    overall = float(nodal_norm(motion, weights).max())
    return Residual(
        node=node,
        peak=peak,
        at_node=float(np.linalg.norm(mean[node])) / (peak or 1.0),
        rms=float(nodal_norm(mean[None], weights)[0]) / (overall or 1.0),
        oscillation=swing / (peak or 1.0),
    )


def window_start(times: Array, window: float) -> int:
    """Return the first index whose time lies within the last `window` part of the record."""
    begin = times[-1] - window * (times[-1] - times[0])
    return int(min(np.searchsorted(times, begin - 1e-9 * max(1.0, abs(begin))), len(times) - 1))


def bounce(residual: Residual) -> float:
    """Return the part of the largest displacement given back after release, 1 - residual at that node [1]."""
    return 1.0 - residual.at_node


def held_force(times: ArrayLike, force: ArrayLike, *, window: float = RESIDUAL_WINDOW) -> float:
    """Return |mean force over the last `window`| / max_t |force| [1]: 0 means that the tool let go."""
    instants, load = np.asarray(times, dtype=float), np.asarray(force, dtype=float)
    start = window_start(instants, window)
    mean = time_mean(instants[start:], load[start:])
    return float(np.linalg.norm(mean)) / _scale(_lengths(load).max())


def volume_drift(volume: ArrayLike) -> float:
    """Return max_t |V(t)/V(0) - 1| [1]."""
    values = np.asarray(volume, dtype=float)
    return float(np.abs(values - values[0]).max()) / _scale(abs(values[0]))


def real_time_factor(simulated: float, wall: float | None) -> float:
    """Return simulated seconds per wall second [1]: 1 keeps pace with the clock, more is faster."""
    return simulated / wall if wall else float("nan")


def step_rate(steps: int | None, wall: float | None) -> float:
    """Return steps per wall second [1/s]."""
    return steps / wall if wall and steps is not None else float("nan")


def _lengths(vectors: Array) -> Array:
    return np.asarray(np.linalg.norm(vectors, axis=-1))


def _scale(value: float) -> float:
    return float(value) if value > 0.0 else float("nan")
