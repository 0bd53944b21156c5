"""Rules without inertia: equilibrium at the end of every step (spec 2.3: collocation at t + h), and in the long term.

    sum J_X (g_inf + sum gain + eta/h) du = f(t + h) - sum J_X (g_inf u + sum exp(-x) w)

Histories are exact for displacements linear over the step; so are dashpots, which makes the rule exact where
motions are linear between steps. For curved motions it is of order 2 without a dashpot and of order 1 with one.

What the body settles to under the loads, supports and tools of each time, arms relaxed and dashpots at rest, is

    sum g_inf,X J_X u = f(t)

It needs a finite long-term modulus: a Maxwell or three-element body under load never settles.
"""

from __future__ import annotations

import numpy as np

from rheotwin.errors import Fault, InputFaults
from rheotwin.fem.model import Model
from rheotwin.fem.steppers.scheme import ChannelStep, Scheme
from rheotwin.fem.term import relaxed
from rheotwin.materials import Channel
from rheotwin.solver import asked_of_contact


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
        name="quasi-static",
        channel=lambda channel: end_step(channel, h),
        load_share=1.0,
        velocity=(1.0 / h, 0.0, 0.0),
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
