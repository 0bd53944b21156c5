"""What the channels of a law act on at a point: volume change and unit shear stress, functions of the strain (spec 6).

    s = p v + t,    p = r_bulk * theta',    v = d theta/de,    t = r_shear * tau'

where * is the convolution over time. The pressure is a scalar and tau depends on the strain alone, so a law
remembers nothing that turns with the body. tau is the slope of an isochoric energy of unit shear modulus.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rheotwin.arrays import Array
from rheotwin.fem.finite.energies import by_invariants, by_stretches
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
from rheotwin.fem.finite.loops import add_volume, volume_change


class Measure(Protocol):
    """Strains are (p, 6) with engineering shear."""

    @property
    def symmetric_flow(self) -> bool:
        """Whether the tangent of a Newtonian arm is symmetric."""

    def volume(self, strain: Array) -> Array:
        """Return theta (p,)."""

    def shear(self, strain: Array) -> tuple[Array, Array]:
        """Return tau (p, 6) and its slope (p, 6, 6), which the caller may change."""

    def add_volume(self, strain: Array, pressure: Array, bulk: float, stress: Array, modulus: Array) -> None:
        """Add p v to the stress (p, 6) and k v (x) v + p dv/de to the modulus (p, 6, 6), k = `bulk` [Pa]."""

    def newtonian(self, strain: Array, rate: Array, bulk: float, shear: float) -> tuple[Array, Array, Array]:
        """Return the stress of a Newtonian arm (viscosities [Pa s]) and its slopes by strain and by strain rate."""

    def energy(self, strain: Array, bulk: float, shear: float) -> Array:
        """Return the stored energy density [J/m^3] of springs with these moduli [Pa]."""

    def arm_energy(self, strain: Array, stress: Array) -> Array:
        """Return s_a : s_a of a shear arm [Pa^2], taken in the current frame; over 4 g it is the arm's energy."""


class SmallStrain:
    """Linear law of a small strain: theta = tr(eps), v = I, tau = 2 dev(eps) (spec 1)."""

    symmetric_flow = True

    def volume(self, strain: Array) -> Array:
        """Return tr(eps)."""
        return np.asarray(strain @ IDENTITY)

    def shear(self, strain: Array) -> tuple[Array, Array]:
        """Return 2 dev(eps) and the deviator."""
        return strain @ DEVIATOR, np.tile(DEVIATOR, (*strain.shape[:-1], 1, 1))

    def add_volume(self, strain: Array, pressure: Array, bulk: float, stress: Array, modulus: Array) -> None:
        """Add p I and k I (x) I."""
        stress += pressure[..., None] * IDENTITY
        modulus += bulk * np.outer(IDENTITY, IDENTITY)

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


@dataclass(frozen=True)
class Isochoric:
    """Law of Simo (1987) and Holzapfel (1996) on Green's strain, with any energy of `energies` of unit shear modulus.

    theta = J - 1, v = J C^-1, tau = dw/dE, for neo-Hooke J^(-2/3) (I - (tr C/3) C^-1), and for the Newtonian arm
    s = J (2 eta Y + (eta_K - 2 eta/3)(C^-1 : E') C^-1), Y = C^-1 E' C^-1, or
    sigma = 2 eta dev(d) + eta_K tr(d) I.
    """

    coefficients: tuple[float, float, float, float] = (0.5, 0.0, 0.0, 0.0)
    """c10, c01, c20, c30 over the shear modulus; neo-Hooke unless given."""
    principal: tuple[tuple[float, float], ...] = ()
    """Terms in principal stretches: shear modulus over that of the energy, and exponent."""

    symmetric_flow = False

    def volume(self, strain: Array) -> Array:
        """Return J - 1."""
        change = np.empty(len(strain))
        volume_change(np.ascontiguousarray(strain), change)
        return change

    def shear(self, strain: Array) -> tuple[Array, Array]:
        """Return tau and its slope, in a form in which small strains keep all their digits."""
        stress, slope = np.empty((len(strain), 6)), np.empty((len(strain), 6, 6))
        if self.principal:
            moduli, exponents = (np.array(column, dtype=float) for column in zip(*self.principal, strict=True))
            by_stretches(np.ascontiguousarray(strain), moduli, exponents, stress, slope)
        else:
            by_invariants(np.ascontiguousarray(strain), *self.coefficients, stress, slope)
        return stress, slope

    def add_volume(self, strain: Array, pressure: Array, bulk: float, stress: Array, modulus: Array) -> None:
        """Add p J C^-1 and its slope."""
        add_volume(np.ascontiguousarray(strain), np.ascontiguousarray(pressure), bulk, stress, modulus)

    def newtonian(self, strain: Array, rate: Array, bulk: float, shear: float) -> tuple[Array, Array, Array]:
        """Return the stress of the Newtonian arm and its slopes by strain and strain rate."""
        green, lame = strain_tensor(strain), bulk - 2.0 / 3.0 * shear
        inverse = _inverse_metric(green)
        ratio = np.sqrt(np.linalg.det(np.eye(3) + 2.0 * green))[..., None]
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
        """Return K (J - 1)^2/2 + mu w, for neo-Hooke w = (J^(-2/3) tr C - 3)/2."""
        green = strain_tensor(strain)
        volume = self.volume(strain.reshape(-1, 6)).reshape(strain.shape[:-1])
        if self.principal:
            logs = 0.5 * np.log1p(2.0 * np.linalg.eigvalsh(green))
            logs -= logs.mean(axis=-1, keepdims=True)
            terms = (2.0 * m / a**2 * np.expm1(a * logs).sum(axis=-1) for m, a in self.principal)
            return np.asarray(0.5 * bulk * volume**2 + shear * sum(terms))
        trace, scale = np.trace(green, axis1=-2, axis2=-1), np.expm1(-2.0 / 3.0 * np.log1p(volume))
        x = 3.0 * scale + 2.0 * (1.0 + scale) * trace
        minors = 2.0 * (trace**2 - np.sum(green**2, axis=(-2, -1))) + 4.0 * trace
        y = 3.0 * scale * (2.0 + scale) + (1.0 + scale) ** 2 * minors
        c10, c01, c20, c30 = self.coefficients
        return np.asarray(0.5 * bulk * volume**2 + shear * (x * (c10 + x * (c20 + x * c30)) + c01 * y))

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
