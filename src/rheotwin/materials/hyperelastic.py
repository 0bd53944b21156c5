"""Laws of rubber-like bodies: an energy of large strain whose isochoric part relaxes, and a volume that does not.

    W = w(C^) + K (J - 1)^2/2,      C^ = J^(-2/3) C,      I1, I2 invariants and l^ principal stretches of C^

    neo-hooke, mooney-rivlin, yeoh    w = c10 (I1 - 3) + c01 (I2 - 3) + c20 (I1 - 3)^2 + c30 (I1 - 3)^3
    ogden                             w = sum_p 2 mu_p/a_p^2 (l^_1^a_p + l^_2^a_p + l^_3^a_p - 3)

w holds at once; of its stress the shares g_a relax with the times tau_a (Simo 1987, Holzapfel 1996). At small strain
all are linear: shear modulus 2 (c10 + c01) + sum mu_p, bulk modulus K.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from rheotwin.errors import RheotwinError
from rheotwin.materials.channel import Channel
from rheotwin.materials.moduli import Moduli, Modulus


@dataclass(frozen=True)
class Hyperelastic:
    """An energy: `coefficients` c10, c01, c20, c30 [Pa], `principal` terms (mu_p [Pa], a_p), `bulk` K [Pa] or inf."""

    name: ClassVar[str] = "hyperelastic"
    coefficients: tuple[float, float, float, float]
    principal: tuple[tuple[float, float], ...]
    bulk: float
    shares: tuple[float, ...] = ()
    times: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not 0.0 < self.shear < math.inf:
            raise RheotwinError(
                f"law {self.name}: its shear modulus at rest, 2 (c10 + c01) + sum of the terms' shear moduli, is "
                f"{self.shear:g} Pa: give an energy whose tangent is positive at rest"
            )
        if not self.bulk > 0.0:
            raise RheotwinError(
                f"law {self.name}: bulk = {self.bulk:g} leaves the volume free: give a positive modulus"
            )
        if min(self.shares, default=1.0) <= 0.0 or math.fsum(self.shares) > 1.0:
            raise RheotwinError(f"law {self.name}: shares of relaxation must be positive and at most 1 in sum")

    @property
    def shear(self) -> float:
        """Shear modulus at rest, at once [Pa]."""
        return 2.0 * sum(self.coefficients[:2]) + sum(modulus for modulus, _ in self.principal)

    @property
    def parts(self) -> tuple[Moduli, ...]:
        """The spring that the energy is at small strain."""
        keeps = self.bulk == math.inf
        return (Moduli.from_young(3.0 * self.shear, 0.5) if keeps else Moduli.from_bulk(self.bulk, self.shear),)

    def channel(self, modulus: Modulus) -> Channel:
        """Relaxation function at small strain [Pa]; all moduli but the bulk one relax, by the shares of shear."""
        value = self.parts[0].value(modulus)
        if modulus == "bulk":
            return Channel.elastic(value)
        left = max(1.0 - math.fsum(self.shares), 0.0)
        return Channel.prony(left * value, [share * value for share in self.shares], self.times)


class NeoHooke(Hyperelastic):
    """w = mu/2 (I1 - 3)."""

    name: ClassVar[str] = "neo-hooke"


class MooneyRivlin(Hyperelastic):
    """w = c10 (I1 - 3) + c01 (I2 - 3)."""

    name: ClassVar[str] = "mooney-rivlin"


class Yeoh(Hyperelastic):
    """w = c10 (I1 - 3) + c20 (I1 - 3)^2 + c30 (I1 - 3)^3."""

    name: ClassVar[str] = "yeoh"


class Ogden(Hyperelastic):
    """w = sum 2 mu/a^2 (l1^a + l2^a + l3^a - 3)."""

    name: ClassVar[str] = "ogden"
