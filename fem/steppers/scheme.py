"""Implicit one-solve rules as coefficients: each is one linear system per step with a constant matrix.

    [m M + sum kappa_X J_X] du = f(t + share h) + M (m_v v + m_a a) - sum J_X (e_u u + sum e_w w + e_v v + e_a a)
    u += du,  w = decay w + gain du,  v and a linear in (du, v, a)

The files beside this one say where each rule gets its coefficients from.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rheotwin.arrays import Array
from rheotwin.materials import Channel

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
