"""Exponential midpoint rule for the channel form (spec 2.3, integrator 1); order 2.

With x = h/tau, d = exp(-x/2), k = g (1 - exp(-x/2))/x and kappa_X = g_inf/2 + sum k + eta/h:

    [2 M/h^2 + sum kappa_X J_X] du = f_mid + (2/h) M v - sum J_X (g_inf u + sum d w)
    u += du,   v = 2 du/h - v,   w = exp(-x) w + g (1 - exp(-x))/x du

The midpoint velocity 2 du/h - v of a stiff viscous mode alternates about du/h, so forces that used it would too;
end stresses use du/h, the velocity the rule itself put into the viscous stress.
"""

from __future__ import annotations

import numpy as np

from rheotwin.fem.steppers.scheme import ChannelStep, Scheme
from rheotwin.materials import Channel


def channel_step(channel: Channel, h: float) -> ChannelStep:
    """Return kappa, d, exp(-x) and g (1 - exp(-x))/x of a channel for step `h` [s]."""
    strengths, x = np.array(channel.strengths), h / np.array(channel.times)
    relaxed = float(np.sum(-strengths * np.expm1(-0.5 * x) / x))
    return ChannelStep(
        stiffness=0.5 * channel.equilibrium + relaxed + channel.viscosity / h,
        on_displacement=channel.equilibrium,
        on_memory=np.exp(-0.5 * x),
        decay=np.exp(-x),
        gain=-strengths * np.expm1(-x) / x,
    )


def midpoint(h: float) -> Scheme:
    """Return the exponential midpoint rule for step `h` [s]."""
    return Scheme(
        name="exponential midpoint",
        load_share=0.5,
        inertia=(2.0 / h**2, 2.0 / h, 0.0),
        velocity=(2.0 / h, -1.0, 0.0),
        acceleration=(2.0 / h**2, -2.0 / h, 0.0),
        acceleration_per_velocity=1.0 / h,
        rate_is_velocity=False,
        channel=lambda channel: channel_step(channel, h),
    )
