"""The two isotropic moduli of one part (a spring or a dashpot) of a material law."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Literal, get_args

from rheotwin.errors import RheotwinError, nearest_name

Modulus = Literal["lame", "shear", "bulk", "young", "area"]
"""Which scalar of an isotropic part is meant."""


@dataclass(frozen=True)
class Moduli:
    """Isotropic moduli of a spring [Pa] or a dashpot [Pa s], kept as the two Lame constants.

    The same map from (young, poisson) serves both. Zero moduli mean an absent part. A part may carry
    bulk only (shear = 0) or shear only (bulk = 0); a negative bulk or shear modulus is refused. At a Poisson
    ratio of 0.5 lame, bulk and area are infinite: such a part keeps its volume, shear = young/3 is all it has.
    """

    lame: float
    shear: float

    def __post_init__(self) -> None:
        if not (self.is_incompressible and self.shear > 0):
            _require_finite(lame=self.lame)
        _require_finite(shear=self.shear)
        if self.shear < 0:
            raise RheotwinError(f"shear = {self.shear:g} is negative: choose zero (absent part) or a positive value")
        if self.bulk < 0:
            raise RheotwinError(
                f"lame = {self.lame:g} with shear = {self.shear:g} makes the bulk modulus lame + 2/3 shear "
                f"negative (poisson below -1): choose lame of at least {-2 * self.shear / 3:g}"
            )

    @classmethod
    def from_young(cls, young: float, poisson: float) -> Moduli:
        """Young modulus E [Pa or Pa s] and Poisson ratio nu.

        lame = E nu/((1 + nu)(1 - 2 nu)), shear = E/(2(1 + nu)); infinity and E/3 at nu = 1/2
        """
        _require_finite(young=young, poisson=poisson)
        if young < 0:
            raise RheotwinError(f"young = {young:g} is negative: choose zero (absent part) or a positive value")
        if poisson > 0.5:
            raise RheotwinError(f"poisson = {poisson:g} is beyond incompressible: choose at most 0.5")
        if poisson <= -1:
            raise RheotwinError(f"poisson = {poisson:g} is not above -1: choose more, and at most 0.5")
        if poisson == 0.5:
            return cls(lame=math.inf if young > 0 else 0.0, shear=young / 3)
        return cls(lame=young * poisson / ((1 + poisson) * (1 - 2 * poisson)), shear=young / (2 * (1 + poisson)))

    @classmethod
    def from_lame(cls, lame: float, shear: float) -> Moduli:
        """Lame constants lambda and mu [Pa or Pa s]."""
        return cls(lame=float(lame), shear=float(shear))

    @classmethod
    def from_bulk(cls, bulk: float, shear: float) -> Moduli:
        """Bulk modulus K (3D) and shear modulus mu [Pa or Pa s]: lame = K - 2/3 mu."""
        _require_finite(bulk=bulk, shear=shear)
        if bulk < 0:
            raise RheotwinError(f"bulk = {bulk:g} is negative: choose zero (absent part) or a positive value")
        return cls(lame=bulk - 2 * shear / 3, shear=float(shear))

    @classmethod
    def absent(cls) -> Moduli:
        """A part that carries nothing."""
        return cls(lame=0.0, shear=0.0)

    @property
    def is_absent(self) -> bool:
        """Whether both moduli are zero."""
        return self.lame == 0 and self.shear == 0

    @property
    def is_incompressible(self) -> bool:
        """Whether the part keeps its volume: Poisson ratio 0.5."""
        return self.lame == math.inf

    @property
    def bulk(self) -> float:
        """Bulk modulus of the 3D body, lame + 2/3 shear [Pa or Pa s]."""
        bulk = self.lame + 2 * self.shear / 3
        # Both terms cancel for a shear-only part: what is left there is rounding.
        return bulk if abs(bulk) > 4 * sys.float_info.epsilon * self.shear else 0.0

    @property
    def area(self) -> float:
        """Area modulus of plane strain, lame + shear [Pa or Pa s]."""
        return self.lame + self.shear

    @property
    def young(self) -> float:
        """Young modulus, 3 mu K/(lame + shear) [Pa or Pa s]; 3 mu where K is infinite."""
        if self.is_incompressible:
            return 3 * self.shear
        return 3 * self.shear * self.bulk / self.area if self.area else 0.0

    @property
    def poisson(self) -> float:
        """Poisson ratio, lame/(2(lame + shear)); 0 for an absent part."""
        if self.is_incompressible:
            return 0.5
        return self.lame / (2 * self.area) if self.area else 0.0

    def value(self, modulus: Modulus) -> float:
        """The modulus of that name [Pa or Pa s]."""
        if modulus not in get_args(Modulus):
            known = get_args(Modulus)
            raise RheotwinError(
                f"no modulus is called '{modulus}'{nearest_name(modulus, known)}: choose one of {', '.join(known)}"
            )
        found = float(getattr(self, modulus))
        if found == math.inf:
            raise RheotwinError(
                f"poisson = 0.5 leaves no finite {modulus} modulus: choose less than 0.5, or options that keep volumes "
                '(shear-volume: incompressible = "cell"; fem: formulation = "taylor-hood" and incompressible = true)'
            )
        return found


def _require_finite(**values: float) -> None:
    for name, value in values.items():
        if not math.isfinite(value):
            raise RheotwinError(f"{name} = {value} is not a finite number: give a finite value")
