"""The contact law of one pair of partners: its name, its numbers, and those of its friction (spec 8).

What normal force belongs to a gap says each file in `laws`. Friction: |t| <= mu lambda; sticking up to
`static_friction`, sliding against the slip with `friction`. `exact` projects on the cone, `regularised` takes
mu lambda v_t/max(|v_t|, slip_speed).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Literal, get_args

from rheotwin.errors import RheotwinError
from rheotwin.scene.contact import NEEDED, LawName

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
        for name in NEEDED.get(self.law, ())[:1]:
            if getattr(self, name) == 0.0:
                raise RheotwinError(f"contact law: '{self.law}' needs a {name} above 0")
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
