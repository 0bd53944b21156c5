"""A spring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rheotwin.materials.channel import Channel
from rheotwin.materials.moduli import Moduli, Modulus


@dataclass(frozen=True)
class Elastic:
    """Spring [Pa]: r(t) = k."""

    name: ClassVar[str] = "elastic"
    spring: Moduli

    @property
    def parts(self) -> tuple[Moduli, ...]:
        """The spring."""
        return (self.spring,)

    def channel(self, modulus: Modulus) -> Channel:
        """Relaxation function of one modulus [Pa]."""
        return Channel.elastic(self.spring.value(modulus))
