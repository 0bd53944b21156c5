"""Manufactured solution u(x, t) = U(x) q(t) of the rheological continuum, q = 1 - exp(-t/T) (T7).

    U_i = a_i phi,   phi = prod_j sin(pi x_j)               on the unit interval, square or cube, zero on its boundary

The body force that makes it a solution is a sum of a factor of time and a field of space for each modulus,

    f = kappa_lam(t) F_lam + kappa_mu(t) F_mu + rho q'' U,    F_lam = -grad div U,    F_mu = -(lap U + grad div U)

where kappa is the answer of the modulus' channel to q:

    kappa(t) = g_inf q + eta q' + sum (g/T) (exp(-t/T) - exp(-t/tau))/(1/tau - 1/T)

With bulk and shear modulus as channels the fields are F_K = -grad div U and F_mu = -(lap U + grad div U/3).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rheotwin.materials import Channel

Array = NDArray[np.float64]


@dataclass(frozen=True)
class SineField:
    """U(x) with the amplitudes a_i [m], one per space dimension; positions come and vectors go as (d, ...)."""

    amplitudes: tuple[float, ...]

    @property
    def dimension(self) -> int:
        """Number of space dimensions."""
        return len(self.amplitudes)

    def displacement(self, x: ArrayLike) -> Array:
        """Return U [m]."""
        return self._along(np.prod(np.sin(np.pi * np.asarray(x, dtype=float)), axis=0))

    def gradient(self, x: ArrayLike) -> Array:
        """Return dU_i/dx_j [1] as (d, d, ...)."""
        slopes = np.stack([self._derivative(x, j) for j in range(self.dimension)])
        return np.stack([amplitude * slopes for amplitude in self.amplitudes])

    def laplacian(self, x: ArrayLike) -> Array:
        """Return lap U = -d pi^2 U [1/m]."""
        return -self.dimension * np.pi**2 * self.displacement(x)

    def gradient_of_divergence(self, x: ArrayLike) -> Array:
        """Return grad div U [1/m]: component i is sum_j a_j d2 phi/(dx_i dx_j)."""
        return np.stack(
            [
                np.sum([a * self._derivative(x, i, j) for j, a in enumerate(self.amplitudes)], axis=0)
                for i in range(self.dimension)
            ]
        )

    def lame_field(self, x: ArrayLike) -> Array:
        """Return F_lam = F_K [1/m], the body force per unit of lambda (or of the bulk modulus)."""
        return -self.gradient_of_divergence(x)

    def shear_field(self, x: ArrayLike) -> Array:
        """Return F_mu [1/m], the body force per unit of mu beside lambda."""
        return -(self.laplacian(x) + self.gradient_of_divergence(x))

    def deviator_field(self, x: ArrayLike) -> Array:
        """Return F_mu [1/m], the body force per unit of mu beside the bulk modulus."""
        return self.shear_field(x) - 2.0 / 3.0 * self.lame_field(x)

    def _along(self, scalar: Array) -> Array:
        return np.stack([amplitude * scalar for amplitude in self.amplitudes])

    def _derivative(self, x: ArrayLike, *axes: int) -> Array:
        """Return the derivative of phi along the given axes: each turns sin to pi cos and that to -pi^2 sin."""
        product = np.ones(np.asarray(x).shape[1:])
        for axis, coordinate in enumerate(np.asarray(x, dtype=float)):
            count = axes.count(axis)
            product = product * np.pi**count * np.sin(np.pi * coordinate + 0.5 * np.pi * count)
        return product


@dataclass(frozen=True)
class SaturatingTime:
    """q(t) = 1 - exp(-t/T) with T [s]; all functions take times t >= 0 [s]."""

    time: float

    def value(self, t: ArrayLike) -> Array:
        """Return q [1]."""
        return np.asarray(-np.expm1(-np.asarray(t, dtype=float) / self.time))

    def rate(self, t: ArrayLike) -> Array:
        """Return q' [1/s]."""
        return np.asarray(np.exp(-np.asarray(t, dtype=float) / self.time) / self.time)

    def second_rate(self, t: ArrayLike) -> Array:
        """Return q'' [1/s2]."""
        return -self.rate(t) / self.time

    def kappa(self, channel: Channel, t: ArrayLike) -> Array:
        """Return the channel's answer to q [Pa]."""
        times = np.asarray(t, dtype=float)
        found = channel.equilibrium * self.value(times) + channel.viscosity * self.rate(times)
        for strength, tau in zip(channel.strengths, channel.times, strict=True):
            # Both exponentials may be (nearly) the same one: the difference quotient is taken without cancellation.
            slow, gap = min(1.0 / tau, 1.0 / self.time), abs(1.0 / tau - 1.0 / self.time)
            quotient = times if gap == 0.0 else -np.expm1(-gap * times) / gap
            found = found + strength / self.time * np.exp(-slow * times) * quotient
        return np.asarray(found)
