"""Homogeneous bar without inertia: creep, relaxation and piecewise linear strain of any law (T1).

Stress of a strain history e(t) that starts at rest is the superposition of ramps, one per kink of the history:

    s(t) = sum_k (rate_k - rate_(k-1)) R(t - t_k),    R(t) = g_inf t + sum g tau (1 - exp(-t/tau)) + eta
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rheotwin.materials import Channel

Array = NDArray[np.float64]


def creep_strain(channel: Channel, stress: float, t: ArrayLike) -> Array:
    """Return the strain [1] at times t [s] after a step of the stress [Pa] at t = 0."""
    return stress * channel.creep(t)


def relaxation_stress(channel: Channel, strain: float, t: ArrayLike) -> Array:
    """Return the stress [Pa] at times t > 0 [s] after a step of the strain [1] at t = 0 (its impulse left out)."""
    return strain * channel.relaxation(t)


def driven_stress(
    channel: Channel,
    times: ArrayLike,
    strains: ArrayLike,
    t: ArrayLike,
    *,
    side: Literal["before", "after"] = "after",
) -> Array:
    """Return the stress [Pa] at times t [s] of a strain [1] that is linear between `times` [s] and constant after.

    Where the rate jumps, the viscous part of the stress jumps too: `side` says which of the two values is meant.
    """
    kinks = np.asarray(times, dtype=float)
    rates = np.append(np.diff(np.asarray(strains, dtype=float)) / np.diff(kinks), 0.0)
    jumps = np.diff(rates, prepend=0.0)
    elapsed = np.asarray(t, dtype=float)[..., None] - kinks
    begun = elapsed > 0.0 if side == "before" else elapsed >= 0.0
    return np.asarray(np.where(begun, channel.ramp(np.maximum(elapsed, 0.0)), 0.0) @ jumps)
