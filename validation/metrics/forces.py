"""Force curves: how far two lie apart, and what still presses at the end."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rheotwin.validation.metrics.over_time import (
    RESIDUAL_WINDOW,
    at_times,
    common_times,
    lengths,
    scale,
    time_mean,
    window_start,
)


def force_curve_error(times: ArrayLike, force: ArrayLike, ref_times: ArrayLike, reference: ArrayLike) -> float:
    """Return sqrt(integral |f - f_ref|^2 dt / integral |f_ref|^2 dt) [1], forces (F, components) [N].

    Both curves are read on the reference's times within the common span, by linear interpolation.
    """
    common = common_times(times, ref_times)
    mine, theirs = at_times(times, force, common), at_times(ref_times, reference, common)
    size = np.sum(np.square(theirs).reshape(len(common), -1), axis=1)
    gap = np.sum(np.square(mine - theirs).reshape(len(common), -1), axis=1)
    return float(np.sqrt(time_mean(common, gap)) / scale(float(np.sqrt(time_mean(common, size)))))


def held_force(times: ArrayLike, force: ArrayLike, *, window: float = RESIDUAL_WINDOW) -> float:
    """Return |mean force over the last `window`| / max_t |force| [1]: 0 means that the tool let go."""
    instants, load = np.asarray(times, dtype=float), np.asarray(force, dtype=float)
    start = window_start(instants, window)
    mean = time_mean(instants[start:], load[start:])
    return float(np.linalg.norm(mean)) / scale(lengths(load).max())
