"""The contact law: what normal force belongs to a gap, and what friction to a normal force (spec 8).

    penalty      lambda = max(0, -K g - C g')                           rests at g = -m g/K
    integrated   lambda = max(0, -K g - C g' - I J),  J = int g dt <= 0 rests at g = 0; needs I < C K/m
      `region`   J goes on while g <= delta outside of the surface and is forgotten beyond
      `offset`   -K (g - delta) instead of -K g, active for g < delta   rests at max(0, delta - m g/K)
    exact        g >= 0, lambda >= 0, lambda g = 0 at the end of each step
    impulse      exact, and what closes with g' < 0 parts with -e g'

Friction: |t| <= mu lambda; sticking up to `static_friction`, sliding against the slip with `friction`. `exact`
projects on the cone, `regularised` takes mu lambda v_t/max(|v_t|, slip_speed).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

LawName = Literal["exact", "penalty", "integrated", "impulse"]
FrictionRule = Literal["exact", "regularised"]


@dataclass(frozen=True)
class ContactLaw:
    """Parameters of the contact of one pair of partners; per node, not per area."""

    law: LawName = "exact"
    stiffness: float = 0.0
    """K [N/m]"""
    damping: float = 0.0
    """C [N s/m]"""
    integral: float = 0.0
    """I [N/(m s)]"""
    region: float = 0.0
    """delta [m]"""
    offset: bool = False
    restitution: float = 0.0
    friction: float = 0.0
    """Kinetic coefficient mu."""
    static_friction: float = 0.0
    """Coefficient up to which contacts stick; at least `friction`."""
    friction_rule: FrictionRule = "exact"
    slip_speed: float = 0.0
    """v_eps [m/s] of the regularised rule."""
