"""Thick cylinder under a step of internal pressure: elastic bulk, Maxwell shear, plane strain (T5).

u(r, t) = p a^2/(b^2 - a^2) [ r J(t)/2 + b^2 (1/mu + t/mu_v)/(2 r) ]
J(t) = (1/K) (1 - (mu/3)/(K + mu/3) exp(-K (mu/mu_v) t/(K + mu/3)))
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ThickCylinder:
    """Radii [m], internal pressure [Pa], bulk and shear modulus [Pa] and shear viscosity [Pa s]."""

    inner: float
    outer: float
    pressure: float
    bulk: float
    shear: float
    shear_viscosity: float

    def area_compliance(self, t: ArrayLike) -> Array:
        """Return J(t) [1/Pa], the answer of K + mu(t)/3 to a unit step of stress."""
        stiff, third = self.bulk + self.shear / 3.0, self.shear / 3.0
        rate = self.bulk * (self.shear / self.shear_viscosity) / stiff
        decay = np.exp(-rate * np.asarray(t, dtype=float))
        return np.asarray((1.0 - third / stiff * decay) / self.bulk)

    def radial_displacement(self, radius: ArrayLike, t: ArrayLike) -> Array:
        """Return u(r, t) [m] at radii [m] and times [s] after the pressure has stepped up."""
        r, times = np.asarray(radius, dtype=float), np.asarray(t, dtype=float)
        share = self.pressure * self.inner**2 / (self.outer**2 - self.inner**2)
        shearing = self.outer**2 * (1.0 / self.shear + times / self.shear_viscosity) / (2.0 * r)
        return np.asarray(share * (0.5 * r * self.area_compliance(times) + shearing))
