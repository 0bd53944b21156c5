"""Finite linear viscoelasticity with an isochoric-volumetric split, as the channels act on it (spec 6)."""

from __future__ import annotations

import numpy as np

from rheotwin.arrays import Array
from rheotwin.fem.finite.measures import Drivers, Slopes
from rheotwin.fem.finite.voigt import IDENTITY, dyad, sandwich, strain_tensor, stress_tensor, stress_vector


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
