"""Maxwell arms in parallel."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import ClassVar

from rheotwin.errors import RheotwinError
from rheotwin.materials.channel import Channel
from rheotwin.materials.law import require_pairs, require_present
from rheotwin.materials.moduli import Moduli, Modulus


@dataclass(frozen=True)
class GeneralizedMaxwell:
    """Maxwell arms in parallel, with an optional spring and dashpot beside them.

    r(t) = k_inf + sum k_i exp(-k_i t/b_i) + b_0 delta(t): springs k_i [Pa], dashpots b_i [Pa s],
    `equilibrium` k_inf [Pa], `dashpot` b_0 [Pa s]. For unequal Poisson ratios within an arm only bulk and
    shear make the true tensor series connection (E19); "young" is the 1D rule an edge uses.
    """

    name: ClassVar[str] = "generalized-maxwell"
    springs: tuple[Moduli, ...]
    dashpots: tuple[Moduli, ...]
    equilibrium: Moduli | None = None
    dashpot: Moduli | None = None

    def __post_init__(self) -> None:
        require_pairs(self.name, self.springs, self.dashpots)
        if not self.parts:
            raise RheotwinError(f"law {self.name} is empty: give at least one spring and dashpot")
        for arm, (spring, dashpot) in enumerate(zip(self.springs, self.dashpots, strict=True), start=1):
            require_present(f"{self.name}, arm {arm}", spring=spring, dashpot=dashpot)

    @property
    def parts(self) -> tuple[Moduli, ...]:
        """All springs, all dashpots, then the parts beside the arms."""
        beside = tuple(part for part in (self.equilibrium, self.dashpot) if part is not None)
        return self.springs + self.dashpots + beside

    def channel(self, modulus: Modulus) -> Channel:
        """Relaxation function of one modulus [Pa]."""
        pairs = zip(self.springs, self.dashpots, strict=True)
        arms = (Channel.maxwell(spring.value(modulus), dashpot.value(modulus)) for spring, dashpot in pairs)
        beside = Channel.voigt(*(part.value(modulus) if part else 0.0 for part in (self.equilibrium, self.dashpot)))
        return reduce(add, arms, beside)
