"""Implicit one-solve rules as coefficients: each is one linear system per step with a constant matrix.

    [m M + sum kappa_X J_X] du = f(t + share h) + M (m_v v + m_a a) - sum J_X (e_u u + sum e_w w + e_v v + e_a a)
    u += du,  w = decay w + gain du,  v and a linear in (du, v, a)

Midpoint rules, of order 2 (spec 2.3): integrator 1, and 2 whose energy balance is exact.

With x = h/tau, d = exp(-x/2), k = g (1 - exp(-x/2))/x and kappa_X = g_inf/2 + sum k + eta/h the exponential rule is

    [2 M/h^2 + sum kappa_X J_X] du = f_mid + (2/h) M v - sum J_X (g_inf u + sum d w)
    u += du,   v = 2 du/h - v,   w = exp(-x) w + g (1 - exp(-x))/x du

The midpoint velocity 2 du/h - v of a stiff viscous mode alternates about du/h, so forces that used it would too;
end stresses use du/h, the velocity the rule itself put into the viscous stress.

With Cayley's update of the histories d = 1/(1 + x/2), k = (g/2)/(1 + x/2), w_mid = d w + k du, w = 2 w_mid - w. With
E = v'Mv/2 + sum (g_inf u'Ju + w'Jw/g)/2 a free step loses h (w_mid' J w_mid/(g tau) + eta (du/h)' J (du/h)), no more.

Generalised alpha (Chung and Hulbert 1993): order 2, damps what the step does not resolve.

With the spectral radius rho at infinite frequency, am = (2 rho - 1)/(rho + 1), af = rho/(rho + 1),
gamma = 1/2 - am + af, beta = (1 - am + af)^2/4:

    M ((1 - am) a1 + am a) + (1 - af) F1 + af F = (1 - af) f1 + af f  (loads at t + (1 - af) h)
    a1 = du/(beta h^2) - v/(beta h) - (1/(2 beta) - 1) a,      v1 = v + h ((1 - gamma) a + gamma a1)

where F = sum J (g_inf u + sum w + eta v) with the exponential update of w.

Rules without inertia: equilibrium at the end of every step (spec 2.3: collocation at t + h), and in the long term.

    sum J_X (g_inf + sum gain + eta/h) du = f(t + h) - sum J_X (g_inf u + sum exp(-x) w)

Histories are exact for displacements linear over the step; so are dashpots, which makes the rule exact where
motions are linear between steps. For curved motions it is of order 2 without a dashpot and of order 1 with one.

What the body settles to under the loads, supports and tools of each time, arms relaxed and dashpots at rest, is

    sum g_inf,X J_X u = f(t)

It needs a finite long-term modulus: a Maxwell or three-element body under load never settles.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from rheotwin.arrays import Array
from rheotwin.errors import Fault, InputFaults
from rheotwin.fem.body import relaxed
from rheotwin.fem.model import Model
from rheotwin.materials import Channel
from rheotwin.solver import asked_of_contact

Coefficients = tuple[float, float, float]
NONE: Coefficients = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class ChannelStep:
    """One channel's coefficients for a fixed step; arrays run over its arms."""

    stiffness: float
    """kappa: weight of du in the balanced stress [Pa]."""
    on_displacement: float
    on_memory: Array
    decay: Array
    gain: Array
    on_velocity: float = 0.0
    on_acceleration: float = 0.0


@dataclass(frozen=True)
class Scheme:
    """One implicit rule for a fixed step."""

    name: str
    channel: Callable[[Channel], ChannelStep]
    load_share: float
    """Where in the step loads act: 0 start, 1/2 middle, 1 end."""
    inertia: Coefficients = NONE
    """(m, m_v, m_a) [1/s2, 1/s, 1]; zero without inertia."""
    velocity: Coefficients = NONE
    """v after the step from (du, v, a)."""
    acceleration: Coefficients = NONE
    """a after the step from (du, v, a)."""
    acceleration_per_velocity: float = 0.0
    """Change of a [1/s] per change of v that an impulse at the end of the step makes."""
    rate_is_velocity: bool = False
    """Whether end stresses use v; du/h otherwise."""

    @property
    def dynamic(self) -> bool:
        """Whether the rule has inertia."""
        return self.inertia[0] != 0.0


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


def end_step(channel: Channel, h: float) -> ChannelStep:
    """Return the coefficients of a channel that is balanced at the end of the step of `h` [s]."""
    decay, gain = relaxed(channel, h)
    stiffness = channel.equilibrium + float(gain.sum()) + channel.viscosity / h
    return ChannelStep(stiffness, on_displacement=channel.equilibrium, on_memory=decay, decay=decay, gain=gain)


def settled_step(channel: Channel) -> ChannelStep:
    """Return the coefficients of a relaxed channel."""
    none, settled = np.zeros(len(channel.times)), channel.equilibrium
    return ChannelStep(settled, on_displacement=settled, on_memory=none, decay=none, gain=none)


def quasi_static(h: float) -> Scheme:
    """Return the quasi-static rule for step `h` [s]."""
    return Scheme(
        name="quasi-static", channel=lambda channel: end_step(channel, h), load_share=1.0, velocity=(1.0 / h, 0.0, 0.0)
    )


def static() -> Scheme:
    """Return the long-term rule; its step only says how often it is asked."""
    return Scheme(name="static, long-term moduli", channel=settled_step, load_share=1.0, rate_is_velocity=True)


def require_long_term_moduli(model: Model) -> None:
    """Refuse bodies that flow for ever, and contact that carries nothing at rest."""
    faults = [
        Fault(
            place,
            f"a {law.name} law relaxes to nothing, so no static equilibrium exists; "
            'use stepper = "quasi-static", or a law with a long-term modulus (elastic, voigt, '
            "generalized-maxwell with `equilibrium`)",
        )
        for body in model.problem.bodies
        for place, law, _ in body.laws
        if law.channel("shear").equilibrium <= 0.0
    ]
    faults += [
        Fault(place, 'viscous contact carries nothing at rest; use stepper = "quasi-static", or another law of contact')
        for place, word in asked_of_contact(model.problem)
        if word == "viscous"
    ]
    if faults:
        raise InputFaults("the static analysis", faults)
