"""Midpoint rules for the channel form, of order 2 (spec 2.3): integrator 1, and 2 whose energy balance is exact.

With x = h/tau, d = exp(-x/2), k = g (1 - exp(-x/2))/x and kappa_X = g_inf/2 + sum k + eta/h the exponential rule is

    [2 M/h^2 + sum kappa_X J_X] du = f_mid + (2/h) M v - sum J_X (g_inf u + sum d w)
    u += du,   v = 2 du/h - v,   w = exp(-x) w + g (1 - exp(-x))/x du

The midpoint velocity 2 du/h - v of a stiff viscous mode alternates about du/h, so forces that used it would too;
end stresses use du/h, the velocity the rule itself put into the viscous stress.

With Cayley's update of the histories d = 1/(1 + x/2), k = (g/2)/(1 + x/2), w_mid = d w + k du, w = 2 w_mid - w. With
E = v'Mv/2 + sum (g_inf u'Ju + w'Jw/g)/2 a free step loses h (w_mid' J w_mid/(g tau) + eta (du/h)' J (du/h)), no more.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rheotwin.fem.steppers.scheme import ChannelStep, Scheme
from rheotwin.fem.term import relaxed
from rheotwin.materials import Channel


def exponential_step(channel: Channel, h: float) -> ChannelStep:
    """Return kappa, d, exp(-x) and g (1 - exp(-x))/x of a channel for step `h` [s]."""
    strengths, x = np.array(channel.strengths), h / np.array(channel.times)
    decay, gain = relaxed(channel, h)
    return ChannelStep(
        stiffness=0.5 * channel.equilibrium
        + float(np.sum(-strengths * np.expm1(-0.5 * x) / x))
        + channel.viscosity / h,
        on_displacement=channel.equilibrium,
        on_memory=np.exp(-0.5 * x),
        decay=decay,
        gain=gain,
    )


def cayley_step(channel: Channel, h: float) -> ChannelStep:
    """Return kappa, d, 2 d - 1 and 2 k of a channel for step `h` [s]."""
    middle = 1.0 / (1.0 + 0.5 * h / np.array(channel.times))
    gain = 0.5 * np.array(channel.strengths) * middle
    return ChannelStep(
        stiffness=0.5 * channel.equilibrium + float(gain.sum()) + channel.viscosity / h,
        on_displacement=channel.equilibrium,
        on_memory=middle,
        decay=2.0 * middle - 1.0,
        gain=2.0 * gain,
    )


def midpoint(h: float) -> Scheme:
    """Return the exponential midpoint rule for step `h` [s]."""
    return Scheme(
        name="exponential midpoint",
        channel=lambda channel: exponential_step(channel, h),
        load_share=0.5,
        inertia=(2.0 / h**2, 2.0 / h, 0.0),
        velocity=(2.0 / h, -1.0, 0.0),
        acceleration=(2.0 / h**2, -2.0 / h, 0.0),
        acceleration_per_velocity=1.0 / h,
    )


def cayley(h: float) -> Scheme:
    """Return the midpoint rule with Cayley histories for step `h` [s]."""
    return replace(midpoint(h), name="midpoint with Cayley histories", channel=lambda channel: cayley_step(channel, h))
