"""A slider: the share of an element's length that its Voigt part may have."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rheotwin.errors import RheotwinError


@dataclass(frozen=True)
class Slider:
    """Bounds `least` l <= l_voigt <= `most` l on the Voigt part's share of an element of length l (particles spec 6).

    `natural` is its share at rest. The series dashpot flows only between the bounds; least = most = 1 leaves
    the Voigt unit alone.
    """

    natural: float = 0.5
    least: float = 0.0
    most: float = 1.0

    def __post_init__(self) -> None:
        if not all(map(math.isfinite, (self.natural, self.least, self.most))):
            raise RheotwinError("slider: a share of the length is not a finite number: give finite values")
        if not 0.0 <= self.least <= self.most <= 1.0:
            raise RheotwinError(
                f"slider: least = {self.least:g} and most = {self.most:g} are no bounds of a share of the length: "
                "choose 0 <= least <= most <= 1"
            )
        if not self.least <= self.natural <= self.most or self.natural == 0.0:
            raise RheotwinError(
                f"slider: natural = {self.natural:g} is not between least = {self.least:g} and most = {self.most:g}: "
                "choose a positive natural share within the bounds"
            )
