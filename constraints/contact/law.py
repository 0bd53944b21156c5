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
from math import inf
from typing import Literal, get_args

from rheotwin.errors import RheotwinError

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

    def __post_init__(self) -> None:
        """Refuse numbers no contact has: scenes are checked with their places, laws put together in Python here."""
        for name, known in (("law", get_args(LawName)), ("friction_rule", get_args(FrictionRule))):
            if getattr(self, name) not in known:
                raise RheotwinError(f"contact law: {name} is {getattr(self, name)!r}; choose one of {', '.join(known)}")
        for name in ("stiffness", "damping", "integral", "region", "friction", "static_friction", "slip_speed"):
            if not 0.0 <= getattr(self, name) < inf:  # so that nan falls through, too
                raise RheotwinError(f"contact law: {name} is {getattr(self, name)}; give a finite number from 0 on")
        if not 0.0 <= self.restitution <= 1.0:
            raise RheotwinError(f"contact law: restitution is {self.restitution}; give a number from 0 to 1")
        if self.law in ("penalty", "integrated") and self.stiffness == 0.0:
            raise RheotwinError(f"contact law: '{self.law}' needs a stiffness above 0")
        self._check_friction()

    def _check_friction(self) -> None:
        """Refuse a friction whose rule misses its number; the regularised one never sticks."""
        if self.friction_rule == "regularised":
            if self.friction > 0.0 and self.slip_speed == 0.0:
                raise RheotwinError("contact law: regularised friction needs a slip_speed above 0")
        elif self.static_friction < self.friction:
            raise RheotwinError(
                f"contact law: static_friction is {self.static_friction}, below friction {self.friction}; "
                "give at least as much"
            )
