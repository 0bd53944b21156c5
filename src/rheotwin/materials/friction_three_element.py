"""A Voigt unit in series with a dashpot that friction locks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from rheotwin.errors import RheotwinError
from rheotwin.materials.nonlinear_three_element import NonlinearThreeElement


@dataclass(frozen=True)
class FrictionThreeElement(NonlinearThreeElement):
    """Three-element law whose series dashpot slides only while the stress exceeds `friction` [Pa].

    Held at a constant strain its stress falls to `friction` and not to zero (identification spec 2.4).
    """

    name: ClassVar[str] = "three-element with friction"
    friction: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 <= self.friction < math.inf:
            raise RheotwinError(
                f"law {self.name}: friction = {self.friction:g} is not a finite stress of at least 0: choose one"
            )
