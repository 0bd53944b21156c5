"""Every number a comparison states, each defined once: pure functions on arrays, SI units.

Here: errors of curves and fields over time, what remains after release, what is conserved, what a run costs. `meshes`
takes values from one mesh to another and measures distances to a surface, `fits` finds limits, orders, frequencies,
`scatter` compares distributions.
An undefined value (a relative error against an all-zero reference, a rate without a wall time) is nan.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import cumulative_trapezoid, trapezoid
from scipy.interpolate import make_interp_spline

from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError
from rheotwin.validation.metrics.fits import RingDown as RingDown
from rheotwin.validation.metrics.fits import ring_down as ring_down
from rheotwin.validation.metrics.meshes import ShapeDifference as ShapeDifference
from rheotwin.validation.metrics.meshes import Transfer as Transfer
from rheotwin.validation.metrics.meshes import shape_difference as shape_difference
from rheotwin.validation.metrics.meshes import surface_distance as surface_distance
from rheotwin.validation.metrics.meshes import surface_of as surface_of
from rheotwin.validation.metrics.meshes import transfer as transfer
from rheotwin.validation.metrics.scatter import area_metric as area_metric

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


_TWICE = np.array([1.0, 1.0, 1.0, 2.0, 2.0, 2.0])
"""How often XX, YY, ZZ, XY, YZ, XZ occur in sigma : sigma."""


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
    return nodal_norm(difference, weights) / scale(nodal_norm(reference, weights).max())


def displacement_error(displacement: ArrayLike, reference: ArrayLike, weights: ArrayLike) -> Array:
    """Return the relative L2 displacement error per frame [1]; see `field_error`."""
    return field_error(displacement, reference, weights)


def velocity_error(velocity: ArrayLike, reference: ArrayLike, weights: ArrayLike) -> Array:
    """Return the relative L2 velocity error per frame [1]; see `field_error`."""
    return field_error(velocity, reference, weights)


def stress_error(stress: ArrayLike, reference: ArrayLike, weights: ArrayLike) -> Array:
    """Return the relative L2 error per frame [1] of stresses (F, N, 6) [Pa], XX, YY, ZZ, XY, YZ, XZ.

    `field_error` in the norm sigma : sigma of the tensor, which no turn of the axes changes: shears count twice.
    """
    root = np.sqrt(_TWICE)
    return field_error(np.asarray(stress) * root, np.asarray(reference) * root, weights)


@dataclass(frozen=True)
class Match:
    """How a course f matches a reference r: f = (1 + `error`) r + what is left, `rest` its size over that of r [1].

    error^2 + rest^2 is the square of the relative L2 error.
    """

    error: float
    rest: float


def curve_match(
    times: ArrayLike, force: ArrayLike, ref_times: ArrayLike, reference: ArrayLike, *, noisy: bool = False
) -> Match:
    """Return error = int f.r dt / int r.r dt - 1 of forces (F, components) [N], read as in `force_curve_error`.

    Of a `noisy` reference the power of the noise would count as force, so then error = int f.f dt / int f.r dt - 1.
    """
    common, mine, theirs = _on_common_times(times, force, ref_times, reference)
    if not noisy:
        return _matched(common, mine, theirs)
    found = _matched(common, theirs, mine)  # of the data on the model, which has no noise
    return Match(-found.error / (1.0 + found.error), found.rest)


def field_match(times: Array, field: Array, reference: Array, weights: Array) -> Match:
    """Return the match of fields (F, N, components) on common times, nodes weighted by their volume."""
    root = np.sqrt(weights)[None, :, None]
    return _matched(times, (field * root).reshape(len(times), -1), (reference * root).reshape(len(times), -1))


def _matched(times: Array, mine: Array, theirs: Array) -> Match:
    size = scale(float(time_mean(times, np.sum(theirs**2, axis=1))))
    error = float(time_mean(times, np.sum(mine * theirs, axis=1))) / size - 1.0
    left = float(time_mean(times, np.sum(np.square(mine - (1.0 + error) * theirs), axis=1))) / size
    return Match(error, float(np.sqrt(left)))


def force_curve_error(times: ArrayLike, force: ArrayLike, ref_times: ArrayLike, reference: ArrayLike) -> float:
    """Return sqrt(integral |f - f_ref|^2 dt / integral |f_ref|^2 dt) [1], forces (F, components) [N].

    Both curves are read on the reference's times within the common span, by linear interpolation.
    """
    common, mine, theirs = _on_common_times(times, force, ref_times, reference)
    size = time_mean(common, np.sum(np.square(theirs), axis=1))
    gap = time_mean(common, np.sum(np.square(mine - theirs), axis=1))
    return float(np.sqrt(gap) / scale(float(np.sqrt(size))))


def _on_common_times(
    times: ArrayLike, force: ArrayLike, ref_times: ArrayLike, reference: ArrayLike
) -> tuple[Array, Array, Array]:
    """Return the reference's times in the common span and both curves there, as (F, components)."""
    common = common_times(times, ref_times)
    mine, theirs = at_times(times, force, common), at_times(ref_times, reference, common)
    return common, mine.reshape(len(common), -1), theirs.reshape(len(common), -1)


def held_force(times: ArrayLike, force: ArrayLike, *, window: float = RESIDUAL_WINDOW) -> float:
    """Return |mean force over the last `window`| / max_t |force| [1]: 0 means that the tool let go."""
    instants, load = np.asarray(times, dtype=float), np.asarray(force, dtype=float)
    start = window_start(instants, window)
    mean = time_mean(instants[start:], load[start:])
    return float(np.linalg.norm(mean)) / scale(lengths(load).max())


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
    start, node = window_start(instants, window), int(np.argmax(lengths(motion).max(axis=0)))
    mean = time_mean(instants[start:], motion[start:])
    peak = float(lengths(motion[:, node]).max())
    swing = float(lengths(motion[start:, node] - mean[node]).max())
    overall = float(nodal_norm(motion, weights).max())
    return Residual(
        node=node,
        peak=peak,
        at_node=float(np.linalg.norm(mean[node])) / (peak or 1.0),
        rms=float(nodal_norm(mean[None], weights)[0]) / (overall or 1.0),
        oscillation=swing / (peak or 1.0),
    )


def bounce(residual: Residual) -> float:
    """Return the part of the largest displacement given back after release, 1 - residual at that node [1]."""
    return 1.0 - residual.at_node


SINKS = ("kinetic", "stored", "dissipated", "impact")
"""Where external work goes, as probes name it."""


def volume_drift(volume: ArrayLike) -> float:
    """Return max_t |V(t)/V(0) - 1| [1]."""
    values = np.asarray(volume, dtype=float)
    return float(np.abs(values - values[0]).max()) / scale(abs(values[0]))


def momentum(masses: ArrayLike, velocity: ArrayLike) -> Array:
    """Return P(t) = sum_n m_n v_n [kg m/s] of masses (N,) [kg] and velocities (F, N, 3) [m/s], as (F, 3)."""
    return np.asarray(np.einsum("n,fnc->fc", np.asarray(masses, dtype=float), np.asarray(velocity, dtype=float)))


def angular_momentum(masses: ArrayLike, positions: ArrayLike, velocity: ArrayLike) -> Array:
    """Return L(t) = sum_n m_n x_n x v_n [kg m2/s] about the origin, as (F, 3)."""
    moments = np.cross(np.asarray(positions, dtype=float), np.asarray(velocity, dtype=float))
    return np.asarray(np.einsum("n,fnc->fc", np.asarray(masses, dtype=float), moments))


def momentum_defect(times: ArrayLike, carried: ArrayLike, applied: ArrayLike | None = None) -> float:
    """Return max_t |P(t) - P(0) - integral_0^t F dt| / (max_t |P| + integral_0^T |F| dt) [1].

    `carried` (F, 3) is P [kg m/s] (or L, about the point the moments are about), `applied` (F, 3) the sum of all
    outer forces [N] (or moments [N m]): weights, loads, reactions of supports and tools; None for a free body.
    The integral is trapezoidal, so frames must resolve the force.
    """
    instants, now = np.asarray(times, dtype=float), np.asarray(carried, dtype=float)
    force = np.zeros_like(now) if applied is None else np.asarray(applied, dtype=float)
    impulse = cumulative_trapezoid(force, instants, axis=0, initial=0.0)
    size = lengths(now).max() + cumulative_trapezoid(lengths(force), instants, initial=0.0)[-1]
    return float(lengths(now - now[0] - impulse).max()) / scale(float(size))


def energy_defect(energies: Mapping[str, ArrayLike]) -> float:
    """Return max_t |W(t) - W(0)| / max_t (|work| + sum |E|) [1], W = external - kinetic - stored - dissipated - impact.

    `energies` maps these names to their course over time [J], as the probes `energy.NAME` have them; what a
    solver does not account for counts as nothing, but without `external` there is no balance, and the value is nan.
    """
    if "external" not in energies:
        return float("nan")
    work = np.asarray(energies["external"], dtype=float)
    parts = np.array([np.asarray(energies[name], dtype=float) for name in SINKS if name in energies])
    missing = work - parts.sum(axis=0)
    size = np.abs(work) + np.abs(parts).sum(axis=0)
    return float(np.abs(missing - missing[0]).max()) / scale(float(size.max()))


def real_time_factor(simulated: float, wall: float | None) -> float:
    """Return simulated seconds per wall second [1]: 1 keeps pace with the clock, more is faster."""
    return simulated / wall if wall else float("nan")


def step_rate(steps: int | None, wall: float | None) -> float:
    """Return steps per wall second [1/s]."""
    return steps / wall if wall and steps is not None else float("nan")


def state_memory(state: Mapping[str, object]) -> int:
    """Return the size [byte] of a saved state, `Simulation.save()`: what a model must remember, whatever it runs on."""
    return sum(np.asarray(values).nbytes for values in state.values())


def peak_memory() -> int:
    """Return the most memory [byte] this process has held so far; 0 where the system does not tell (Windows).

    It only grows, and includes the interpreter and its libraries (about 150 MB): compare runs of one process each.
    """
    try:
        import resource
    except ImportError:
        return 0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(most if sys.platform == "darwin" else most * 1024)
