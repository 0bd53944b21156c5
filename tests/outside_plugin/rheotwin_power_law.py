"""A law from a package of its own: relaxation by a power of time, as of gels, dough and silicone.
E(t) = E (t/1 s)^-a = E/Gamma(a) int s^a exp(-s t) d(ln s)
The integral is taken by the trapezoidal rule with `arms` points from 1/longest to 1/shortest, evenly spaced in ln
s: between these times it is a Prony series of few arms."""

from dataclasses import dataclass
from math import gamma, log
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from rheotwin.materials import Channel, Moduli
from rheotwin.materials.moduli import Modulus
from rheotwin.scene.base import Number, SceneModel
from rheotwin.scene.moduli import PoissonRatio
from rheotwin.scene.quantities import Modulus as ModulusField
from rheotwin.scene.quantities import PositiveTime


@dataclass(frozen=True)
class PowerLaw:
    """Stiffness after one second [Pa], exponent, and the times [s] between which it holds."""

    name: ClassVar[str] = "power-law"
    stiffness: Moduli
    exponent: float
    shortest: float
    longest: float
    arms: int

    @property
    def parts(self) -> tuple[Moduli, ...]:
        return (self.stiffness,)

    def channel(self, modulus: Modulus) -> Channel:
        """Relaxation function of one modulus [Pa]."""
        rates = np.geomspace(1.0 / self.longest, 1.0 / self.shortest, self.arms)
        spacing = log(self.longest / self.shortest) / (self.arms - 1)
        strengths = self.stiffness.value(modulus) / gamma(self.exponent) * rates**self.exponent * spacing
        return Channel.prony(0.0, tuple(map(float, strengths)), tuple(map(float, 1.0 / rates)))


class PowerLawSpec(SceneModel):
    """Relaxes by a power of time."""

    model: Literal["power-law"]
    """Kind of law."""
    young: ModulusField
    """Relaxation modulus after one second."""
    poisson: PoissonRatio
    """Poisson's ratio."""
    exponent: Annotated[Number, Field(gt=0.0, lt=1.0)]
    """Power of time, between 0 (elastic) and 1 (liquid)."""
    shortest: PositiveTime
    """Shortest time at which it holds."""
    longest: PositiveTime
    """Longest time at which it holds."""
    arms: Annotated[int, Field(ge=2)]
    """Maxwell arms that stand for it."""

    def law(self) -> PowerLaw:
        stiffness = Moduli.from_young(self.young, self.poisson)
        return PowerLaw(stiffness, self.exponent, self.shortest, self.longest, self.arms)
