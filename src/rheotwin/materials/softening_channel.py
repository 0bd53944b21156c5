"""One modulus of a three-element law whose series dashpot softens: the nonlinear counterpart of a channel."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rheotwin.materials.channel import Channel


@dataclass(frozen=True)
class SofteningChannel:
    """Voigt unit (k [Pa], c1 [Pa s]) in series with a dashpot c2(s) [Pa s] for one modulus.

    c2 = `series_viscosity` for |s| <= `from_stress`, `soft_viscosity` for |s| >= `to_stress` [Pa], exponential between.
    s is the stress of that modulus itself: a shear stress for the shear modulus, a pressure for the bulk modulus.
    """

    spring: float
    voigt_viscosity: float
    series_viscosity: float
    soft_viscosity: float
    from_stress: float
    to_stress: float

    @property
    def exponent(self) -> float:
        """B of c2 = c_max exp(-B (|s| - from_stress)) [1/Pa]."""
        return math.log(self.series_viscosity / self.soft_viscosity) / (self.to_stress - self.from_stress)

    @property
    def unsoftened(self) -> Channel:
        """Relaxation function below `from_stress`, where the law is linear."""
        return Channel.three_element(self.spring, self.voigt_viscosity, self.series_viscosity)

    @property
    def tangent(self) -> tuple[float, float]:
        """Largest stiffness k B^2 [Pa] and viscosity c1 B [Pa s], B = c_max/(c1 + c_max), that it can show.

        The stress f of the driving g = k d + c1 g' has df/dg <= B, and with it the Voigt part d' <= B times the rate.
        """
        gain = self.series_viscosity / (self.voigt_viscosity + self.series_viscosity)
        return self.spring * gain**2, self.voigt_viscosity * gain
