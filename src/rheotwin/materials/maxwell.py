"""A spring in series with a dashpot: the viscoplastic law of the papers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rheotwin.materials.channel import Channel
from rheotwin.materials.law import require_present
from rheotwin.materials.moduli import Moduli, Modulus


@dataclass(frozen=True)
class Maxwell:
    """Spring [Pa] in series with dashpot [Pa s]: r(t) = k exp(-k t/b).

    For unequal Poisson ratios only bulk and shear make the true tensor series connection (E19); "young" is
    the 1D rule an edge uses.
    """

    name: ClassVar[str] = "maxwell"
    spring: Moduli
    dashpot: Moduli

    def __post_init__(self) -> None:
        require_present(self.name, spring=self.spring, dashpot=self.dashpot)

    @property
    def parts(self) -> tuple[Moduli, ...]:
        """Spring and dashpot."""
        return (self.spring, self.dashpot)

    def channel(self, modulus: Modulus) -> Channel:
        """Relaxation function of one modulus [Pa]."""
        return Channel.maxwell(self.spring.value(modulus), self.dashpot.value(modulus))
