"""A Voigt unit in series with a dashpot: the rheological law of the papers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from rheotwin.materials.channel import Channel
from rheotwin.materials.law import require_present
from rheotwin.materials.moduli import Moduli, Modulus


@dataclass(frozen=True)
class ThreeElement:
    """Voigt unit (spring k [Pa], dashpot c1 [Pa s]) in series with dashpot c2 [Pa s].

    r(t) = k B^2 exp(-k t/(c1 + c2)) + B c1 delta(t), B = c2/(c1 + c2). `seed_printed` takes the gain k B as
    printed (E15), for comparison runs only. An absent spring leaves the dashpot c1 c2/(c1 + c2). For unequal
    Poisson ratios only bulk and shear make the true tensor series connection (E19); "young" is the 1D rule an
    edge uses.
    """

    name: ClassVar[str] = "three-element"
    spring: Moduli
    voigt_dashpot: Moduli
    series_dashpot: Moduli
    seed_printed: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        require_present(self.name, series_dashpot=self.series_dashpot)
        if self.spring.is_absent:
            require_present(self.name, voigt_dashpot=self.voigt_dashpot)

    @property
    def parts(self) -> tuple[Moduli, ...]:
        """Spring, Voigt dashpot, series dashpot."""
        return (self.spring, self.voigt_dashpot, self.series_dashpot)

    def channel(self, modulus: Modulus) -> Channel:
        """Relaxation function of one modulus [Pa]."""
        constants = (part.value(modulus) for part in self.parts)
        return Channel.three_element(*constants, seed_printed=self.seed_printed)
