"""Voigt units in series."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rheotwin.errors import RheotwinError
from rheotwin.materials.channel import Channel
from rheotwin.materials.law import require_pairs
from rheotwin.materials.moduli import Moduli, Modulus


@dataclass(frozen=True)
class GeneralizedVoigt:
    """Series of Voigt units, springs [Pa] and dashpots [Pa s]; its creep is the sum of (1 - exp(-k t/b))/k.

    A unit with an absent spring is a free dashpot, one with an absent dashpot a free spring. For unequal
    Poisson ratios only bulk and shear make the true tensor series connection (E19); "young" is the 1D rule
    an edge uses.
    """

    name: ClassVar[str] = "generalized-voigt"
    springs: tuple[Moduli, ...]
    dashpots: tuple[Moduli, ...]

    def __post_init__(self) -> None:
        require_pairs(self.name, self.springs, self.dashpots)
        if not self.springs:
            raise RheotwinError(f"law {self.name} has no unit: give at least one spring and dashpot")
        for unit, (spring, dashpot) in enumerate(zip(self.springs, self.dashpots, strict=True), start=1):
            if spring.is_absent and dashpot.is_absent:
                raise RheotwinError(
                    f"law {self.name}: spring and dashpot of unit {unit} are both zero, so no stress passes: "
                    "drop the unit or give one of them a positive young"
                )

    @property
    def parts(self) -> tuple[Moduli, ...]:
        """All springs, then all dashpots."""
        return self.springs + self.dashpots

    def channel(self, modulus: Modulus) -> Channel:
        """Relaxation function of one modulus [Pa]."""
        springs = [spring.value(modulus) for spring in self.springs]
        return Channel.voigt_chain(springs, [dashpot.value(modulus) for dashpot in self.dashpots])
