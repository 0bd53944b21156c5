"""The linear law of a small strain, as the channels act on it (spec 1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheotwin.fem.finite.measures import Drivers, Slopes
from rheotwin.fem.finite.voigt import DEVIATOR, ENGINEERING, IDENTITY

Array = NDArray[np.float64]


class SmallStrain:
    """Linear law of a small strain: theta = tr(eps), v = I, tau = 2 dev(eps)."""

    def drivers(self, strain: Array) -> Drivers:
        """Return tr(eps), I and 2 dev(eps)."""
        return Drivers(strain @ IDENTITY, np.broadcast_to(IDENTITY, strain.shape), strain @ DEVIATOR)

    def slopes(self, strain: Array) -> Slopes:
        """Return zero and the deviator."""
        return Slopes(np.zeros((6, 6)), DEVIATOR)

    def newtonian(self, strain: Array, rate: Array, bulk: float, shear: float) -> tuple[Array, Array, Array]:
        """Return s = eta_K tr(eps') I + 2 eta dev(eps')."""
        viscosity = bulk * np.outer(IDENTITY, IDENTITY) + shear * DEVIATOR
        return rate @ viscosity, np.zeros((6, 6)), viscosity

    def energy(self, strain: Array, bulk: float, shear: float) -> Array:
        """Return K tr(eps)^2/2 + mu dev(eps):dev(eps)."""
        volume = strain @ IDENTITY
        return np.asarray(0.5 * bulk * volume**2 + 0.5 * shear * np.sum(strain * (strain @ DEVIATOR), axis=-1))

    def arm_energy(self, strain: Array, stress: Array) -> Array:
        """Return s : s."""
        return np.asarray(np.sum(ENGINEERING * stress**2, axis=-1))
