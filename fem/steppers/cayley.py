"""Midpoint rule with a Cayley update of the histories: its energy balance is exact (spec 2.3, integrator 2).

As the exponential midpoint rule with d = 1/(1 + x/2), k = (g/2)/(1 + x/2), w_mid = d w + k du, w = 2 w_mid - w. With
E = v'Mv/2 + sum (g_inf u'Ju + w'Jw/g)/2 a free step loses h (w_mid' J w_mid/(g tau) + eta (du/h)' J (du/h)), no more.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rheotwin.fem.steppers.midpoint import midpoint
from rheotwin.fem.steppers.scheme import ChannelStep, Scheme
from rheotwin.materials import Channel


def channel_step(channel: Channel, h: float) -> ChannelStep:
    """Return the coefficients of a channel for step `h` [s]."""
    middle = 1.0 / (1.0 + 0.5 * h / np.array(channel.times))
    gain = 0.5 * np.array(channel.strengths) * middle
    return ChannelStep(
        stiffness=0.5 * channel.equilibrium + float(gain.sum()) + channel.viscosity / h,
        on_displacement=channel.equilibrium,
        on_memory=middle,
        decay=2.0 * middle - 1.0,
        gain=2.0 * gain,
    )


def cayley(h: float) -> Scheme:
    """Return the midpoint rule with Cayley histories for step `h` [s]."""
    return replace(midpoint(h), name="midpoint with Cayley histories", channel=lambda channel: channel_step(channel, h))
