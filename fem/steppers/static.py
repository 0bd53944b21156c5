"""Long-term equilibrium: what the body settles to under the loads, supports and tools of each time.

    sum g_inf,X J_X u = f(t),      arms relaxed, dashpots at rest

Needs a finite long-term modulus: a Maxwell or three-element body under load never settles.
"""

from __future__ import annotations

import numpy as np

from rheotwin.errors import Fault, InputFaults
from rheotwin.fem.model import Model
from rheotwin.fem.steppers.scheme import ChannelStep, Scheme
from rheotwin.materials import Channel


def channel_step(channel: Channel) -> ChannelStep:
    """Return the coefficients of a relaxed channel."""
    none = np.zeros(len(channel.times))
    return ChannelStep(
        stiffness=channel.equilibrium,
        on_displacement=channel.equilibrium,
        on_memory=none,
        decay=none,
        gain=none,
    )


def static() -> Scheme:
    """Return the rule; its step only says how often it is asked."""
    return Scheme(
        name="static, long-term moduli",
        load_share=1.0,
        inertia=(0.0, 0.0, 0.0),
        velocity=(0.0, 0.0, 0.0),
        acceleration=(0.0, 0.0, 0.0),
        acceleration_per_velocity=0.0,
        rate_is_velocity=True,
        channel=channel_step,
    )


def require_long_term_moduli(model: Model) -> None:
    """Refuse bodies that flow for ever."""
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
    if faults:
        raise InputFaults("the static analysis", faults)
