"""How a dashpot gives way to force: stiff against small ones, soft against large ones."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rheotwin.errors import RheotwinError


@dataclass(frozen=True)
class Softening:
    """Viscosity c2(s) of a series dashpot under the stress s (particles spec 3).

    c2 = c_max for |s| <= `from_stress`, `viscosity` c_min for |s| >= `to_stress` [Pa], and A exp(-B |s|) through
    both ends in between: B = ln(c_max/c_min)/(to - from). c_max is the law's own series viscosity [Pa s].
    """

    viscosity: float
    from_stress: float
    to_stress: float

    def __post_init__(self) -> None:
        if not all(map(math.isfinite, (self.viscosity, self.from_stress, self.to_stress))):
            raise RheotwinError("softening: a constant is not a finite number: give finite values")
        if self.viscosity <= 0.0:
            raise RheotwinError(f"softening: viscosity = {self.viscosity:g} is not positive: give a positive viscosity")
        if not 0.0 <= self.from_stress < self.to_stress:
            raise RheotwinError(
                f"softening: from_stress = {self.from_stress:g} and to_stress = {self.to_stress:g} are no range: "
                "choose 0 <= from_stress < to_stress"
            )
