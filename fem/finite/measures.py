"""What the channels of a law act on at a point: volume change and unit shear stress, functions of the strain (spec 6).

    s = p v + t,    p = r_bulk * theta',    v = d theta/de,    t = r_shear * tau'

where * is the convolution over time. The pressure is a scalar and tau depends on the strain alone, so a law
remembers nothing that turns with the body.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rheotwin.arrays import Array
from rheotwin.fem.finite.kinematics import (
    DEVIATOR,
    ENGINEERING,
    IDENTITY,
    dyad,
    sandwich,
    strain_tensor,
    stress_tensor,
    stress_vector,
)


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


class Isochoric:
    """Law of Simo (1987) and Holzapfel (1996) on Green's strain.

    theta = J - 1, v = J C^-1, tau = J^(-2/3) (I - (tr C/3) C^-1), and for the Newtonian arm
    s = J (2 eta Y + (eta_K - 2 eta/3)(C^-1 : E') C^-1), Y = C^-1 E' C^-1, or
    sigma = 2 eta dev(d) + eta_K tr(d) I.
    """

    symmetric_flow = False

    def drivers(self, strain: Array) -> Drivers:
        """Return J - 1, J C^-1 and tau = 2 J^(-2/3) C^-1 dev(E): in this form small strains keep all their digits."""
        green = strain_tensor(strain)
        volume, inverse = _volume_change(green), _inverse_metric(green)
        ratio = 1.0 + volume
        deviator = green - np.trace(green, axis1=-2, axis2=-1)[..., None, None] / 3.0 * np.eye(3)
        shear = 2.0 * stress_vector(inverse @ deviator) * ratio[..., None] ** (-2.0 / 3.0)
        return Drivers(volume, ratio[..., None] * stress_vector(inverse), shear)

    def slopes(self, strain: Array) -> Slopes:
        """Return J (C^-1 (x) C^-1 - 2 I_C) and the slope of tau, with I_C: e -> C^-1 e C^-1.

        dtau/dE = -2/3 (tau (x) C^-1 + J^(-2/3) C^-1 (x) I) + 2/3 J^(-2/3) tr C I_C
        """
        green = strain_tensor(strain)
        inverse, drivers = _inverse_metric(green), self.drivers(strain)
        vector, mixed = stress_vector(inverse), sandwich(inverse, inverse)
        ratio = (1.0 + drivers.volume)[..., None, None]
        scale = ratio ** (-2.0 / 3.0)
        trace = 3.0 + 2.0 * np.trace(green, axis1=-2, axis2=-1)[..., None, None]
        outer = dyad(drivers.shear, vector) + scale * dyad(vector, IDENTITY)
        return Slopes(ratio * (dyad(vector, vector) - 2.0 * mixed), 2.0 / 3.0 * (scale * trace * mixed - outer))

    def newtonian(self, strain: Array, rate: Array, bulk: float, shear: float) -> tuple[Array, Array, Array]:
        """Return the stress of the Newtonian arm and its slopes by strain and strain rate."""
        green, lame = strain_tensor(strain), bulk - 2.0 / 3.0 * shear
        inverse = _inverse_metric(green)
        ratio = (1.0 + _volume_change(green))[..., None]
        flow = inverse @ strain_tensor(rate) @ inverse
        vector, flow_vector = stress_vector(inverse), stress_vector(flow)
        growth = np.sum(vector * rate, axis=-1)[..., None]
        stress = ratio * (2.0 * shear * flow_vector + lame * growth * vector)
        mixed = sandwich(inverse, inverse)
        by_rate = 2.0 * shear * mixed + lame * dyad(vector, vector)
        turning = -8.0 * shear * sandwich(inverse, flow)
        turning -= 2.0 * lame * (dyad(vector, flow_vector) + growth[..., None] * mixed)
        scale = ratio[..., None]
        return stress, dyad(stress, vector) + scale * turning, scale * by_rate

    def energy(self, strain: Array, bulk: float, shear: float) -> Array:
        """Return K (J - 1)^2/2 + mu (J^(-2/3) tr C - 3)/2."""
        green = strain_tensor(strain)
        volume, trace = _volume_change(green), np.trace(green, axis1=-2, axis2=-1)
        scale = np.expm1(-2.0 / 3.0 * np.log1p(volume))
        return np.asarray(0.5 * bulk * volume**2 + 0.5 * shear * (3.0 * scale + 2.0 * (1.0 + scale) * trace))

    def arm_energy(self, strain: Array, stress: Array) -> Array:
        """Return tr(S C S C), the square of the Kirchhoff stress F S F'; an estimate, exact to leading order."""
        metric = np.eye(3) + 2.0 * strain_tensor(strain)
        product = stress_tensor(stress) @ metric
        return np.asarray(np.sum(product * np.swapaxes(product, -1, -2), axis=(-2, -1)))


def _inverse_metric(green: Array) -> Array:
    """Return C^-1 of C = I + 2 E: cofactors over the determinant, many times quicker than a general inverse."""
    metric = np.eye(3) + 2.0 * green
    first, second, third = metric[..., 0], metric[..., 1], metric[..., 2]
    cofactors = np.stack([np.cross(second, third), np.cross(third, first), np.cross(first, second)], axis=-1)
    return np.asarray(cofactors / np.sum(first * cofactors[..., 0], axis=-1)[..., None, None])


def _volume_change(green: Array) -> Array:
    """Return J - 1 = (det C - 1)/(1 + J) with det C - 1 = 2 tr E + 4 (second invariant of E) + 8 det E."""
    trace = np.trace(green, axis1=-2, axis2=-1)
    second = 0.5 * (trace**2 - np.sum(green**2, axis=(-2, -1)))
    excess = 2.0 * trace + 4.0 * second + 8.0 * np.linalg.det(green)
    return np.asarray(excess / (1.0 + np.sqrt(1.0 + excess)))
