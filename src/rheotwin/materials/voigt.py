"""A spring parallel to a dashpot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rheotwin.materials.channel import Channel
from rheotwin.materials.moduli import Moduli, Modulus


@dataclass(frozen=True)
class Voigt:
    """Spring [Pa] parallel to dashpot [Pa s]: r(t) = k + b delta(t).

    Parallel parts add in every modulus, so any modulus gives the true tensor law.
    """

    name: ClassVar[str] = "voigt"
    spring: Moduli
    dashpot: Moduli

    @property
    def parts(self) -> tuple[Moduli, ...]:
        """Spring and dashpot."""
        return (self.spring, self.dashpot)

    def channel(self, modulus: Modulus) -> Channel:
        """Relaxation function of one modulus [Pa]."""
        return Channel.voigt(self.spring.value(modulus), self.dashpot.value(modulus))
