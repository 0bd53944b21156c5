"""Equilibrium at the end of every step, without inertia (spec 2.3: collocation at t + h).

    sum J_X (g_inf + sum gain + eta/h) du = f(t + h) - sum J_X (g_inf u + sum exp(-x) w)

Histories are exact for displacements linear over the step; so are dashpots, which makes the rule exact where
motions are linear between steps. For curved motions it is of order 2 without a dashpot and of order 1 with one.
"""

from __future__ import annotations

import numpy as np

from rheotwin.fem.steppers.scheme import ChannelStep, Scheme
from rheotwin.materials import Channel


def channel_step(channel: Channel, h: float) -> ChannelStep:
    """Return the coefficients of a channel for step `h` [s]."""
    strengths, x = np.array(channel.strengths), h / np.array(channel.times)
    decay, gain = np.exp(-x), -strengths * np.expm1(-x) / x
    return ChannelStep(
        stiffness=channel.equilibrium + float(gain.sum()) + channel.viscosity / h,
        on_displacement=channel.equilibrium,
        on_memory=decay,
        decay=decay,
        gain=gain,
    )


def quasi_static(h: float) -> Scheme:
    """Return the quasi-static rule for step `h` [s]."""
    return Scheme(
        name="quasi-static",
        load_share=1.0,
        inertia=(0.0, 0.0, 0.0),
        velocity=(1.0 / h, 0.0, 0.0),
        acceleration=(0.0, 0.0, 0.0),
        acceleration_per_velocity=0.0,
        rate_is_velocity=False,
        channel=lambda channel: channel_step(channel, h),
    )
