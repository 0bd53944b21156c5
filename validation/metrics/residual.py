"""What a body keeps of its deformation after release, and what it gives back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rheotwin.validation.metrics.fields import nodal_norm
from rheotwin.validation.metrics.over_time import RESIDUAL_WINDOW, lengths, time_mean, window_start


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
