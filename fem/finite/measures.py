"""What the channels of a law act on at a point: a volume change and a unit shear stress, as functions of the strain.

    s = p v + t,    p = r_bulk * theta',    v = d theta/de,    t = r_shear * tau'

where * is the convolution over time. The pressure is a scalar and tau depends on the strain alone, so a law
remembers nothing that turns with the body.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rheotwin.arrays import Array
from rheotwin.fem.finite.voigt import DEVIATOR, ENGINEERING, IDENTITY


@dataclass(frozen=True)
class Drivers:
    """theta (e, q), v = d theta/de (e, q, 6) and tau (e, q, 6) at given strains."""

    volume: Array
    direction: Array
    shear: Array


@dataclass(frozen=True)
class Slopes:
    """dv/de and dtau/de (..., 6, 6)."""

    direction: Array
    shear: Array


class Measure(Protocol):
    """Strains are (..., 6) with engineering shear."""

    @property
    def symmetric_flow(self) -> bool:
        """Whether the tangent of a Newtonian arm is symmetric."""

    def drivers(self, strain: Array) -> Drivers:
        """Return what the channels act on."""

    def slopes(self, strain: Array) -> Slopes:
        """Return the derivatives of the drivers."""

    def newtonian(self, strain: Array, rate: Array, bulk: float, shear: float) -> tuple[Array, Array, Array]:
        """Return the stress of a Newtonian arm (viscosities [Pa s]) and its slopes by strain and by strain rate."""

    def energy(self, strain: Array, bulk: float, shear: float) -> Array:
        """Return the stored energy density [J/m^3] of springs with these moduli [Pa]."""

    def arm_energy(self, strain: Array, stress: Array) -> Array:
        """Return s_a : s_a of a shear arm [Pa^2], taken in the current frame; over 4 g it is the arm's energy."""


class SmallStrain:
    """Linear law of a small strain: theta = tr(eps), v = I, tau = 2 dev(eps) (spec 1)."""

    symmetric_flow = True

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
