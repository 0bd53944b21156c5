"""Generalised-alpha rule (Chung and Hulbert 1993): order 2, damps what the step does not resolve.

With the spectral radius rho at infinite frequency, am = (2 rho - 1)/(rho + 1), af = rho/(rho + 1),
gamma = 1/2 - am + af, beta = (1 - am + af)^2/4:

    M ((1 - am) a1 + am a) + (1 - af) F1 + af F = (1 - af) f1 + af f  (loads at t + (1 - af) h)
    a1 = du/(beta h^2) - v/(beta h) - (1/(2 beta) - 1) a,      v1 = v + h ((1 - gamma) a + gamma a1)

where F = sum J (g_inf u + sum w + eta v) with the exponential update of w.
"""

from __future__ import annotations

from rheotwin.fem.steppers.scheme import ChannelStep, Scheme
from rheotwin.fem.term import relaxed
from rheotwin.materials import Channel


def generalized_alpha(h: float, spectral_radius: float) -> Scheme:
    """Return the rule for step `h` [s]; `spectral_radius` 1 damps nothing, 0 kills unresolved modes in a step."""
    rho = spectral_radius
    am, af = (2.0 * rho - 1.0) / (rho + 1.0), rho / (rho + 1.0)
    gamma, beta = 0.5 - am + af, 0.25 * (1.0 - am + af) ** 2
    acceleration = (1.0 / (beta * h**2), -1.0 / (beta * h), 1.0 - 0.5 / beta)
    velocity = (gamma / (beta * h), 1.0 - gamma / beta, h * (1.0 - 0.5 * gamma / beta))

    def channel_step(channel: Channel) -> ChannelStep:
        decay, gain = relaxed(channel, h)
        eta, end = channel.viscosity, 1.0 - af
        return ChannelStep(
            stiffness=end * (channel.equilibrium + float(gain.sum()) + eta * velocity[0]),
            on_displacement=channel.equilibrium,
            on_memory=end * decay + af,
            decay=decay,
            gain=gain,
            on_velocity=eta * (end * velocity[1] + af),
            on_acceleration=eta * end * velocity[2],
        )

    return Scheme(
        name="generalised alpha",
        channel=channel_step,
        load_share=1.0 - af,
        inertia=((1.0 - am) * acceleration[0], -(1.0 - am) * acceleration[1], -(1.0 - am) * acceleration[2] - am),
        velocity=velocity,
        acceleration=acceleration,
        acceleration_per_velocity=1.0 / (gamma * h),
        rate_is_velocity=True,
    )
