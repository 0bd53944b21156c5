"""Wave in a half-infinite Maxwell bar whose end is suddenly loaded by a stress s0 (T9).

    s_tt + s_t/tau = c^2 s_xx,     c = sqrt(E/rho),  tau = viscosity/E,  a = 1/(2 tau)

a telegraph equation. Behind the front x = c t, with z = x/c,

    s/s0 = exp(-a z) + a z int_z^t exp(-a y) I_1(a sqrt(y^2 - z^2))/sqrt(y^2 - z^2) dy

so the front runs at c and decays like exp(-E t/(2 viscosity)). The end moves at

    v(0, t) = (s0/(rho c)) exp(-a t) [(1 + 2 a t) I_0(a t) + 2 a t I_1(a t)]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ive

Array = NDArray[np.float64]

_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(48)


@dataclass(frozen=True)
class MaxwellBarWave:
    """A bar of Young's modulus [Pa], viscosity [Pa s] and density [kg/m3] under a step of end stress [Pa]."""

    young: float
    viscosity: float
    density: float
    stress_step: float = 1.0

    @property
    def speed(self) -> float:
        """Speed of the front, sqrt(E/rho) [m/s]."""
        return float(np.sqrt(self.young / self.density))

    @property
    def decay(self) -> float:
        """Rate a = E/(2 viscosity) at which the front decays [1/s]."""
        return 0.5 * self.young / self.viscosity

    def front_stress(self, t: ArrayLike) -> Array:
        """Return the stress [Pa] just behind the front at times t [s]."""
        return np.asarray(self.stress_step * np.exp(-self.decay * np.asarray(t, dtype=float)))

    def stress(self, x: ArrayLike, t: ArrayLike) -> Array:
        """Return the stress [Pa] at distances x [m] from the end and times t [s]; zero ahead of the front."""
        z, times = np.broadcast_arrays(np.asarray(x, dtype=float) / self.speed, np.asarray(t, dtype=float))
        reached = times >= z
        # With y = z + (t - z) p^2 the integrand is smooth in p and Gauss points converge fast.
        p = 0.5 * (_POINTS + 1.0)
        span = np.maximum(times - z, 0.0)[..., None]
        y = z[..., None] + span * p**2
        root = np.sqrt(span * p**2 * (y + z[..., None]))
        a = self.decay
        # exp(-a y) I_1(a root)/root, written so that neither factor over- nor underflows and root may be zero.
        safe = np.where(root > 0.0, root, 1.0)
        kernel = np.where(root > 0.0, np.exp(-a * (y - root)) * ive(1, a * root) / safe, 0.5 * a * np.exp(-a * y))
        integral = np.sum(0.5 * _WEIGHTS * 2.0 * p * span * kernel, axis=-1)
        return np.asarray(np.where(reached, self.stress_step * (np.exp(-a * z) + a * z * integral), 0.0))

    def end_velocity(self, t: ArrayLike) -> Array:
        """Return the velocity [m/s] of the loaded end at times t [s], positive along the load."""
        at = self.decay * np.asarray(t, dtype=float)
        impedance = self.density * self.speed
        return np.asarray(self.stress_step / impedance * ((1.0 + 2.0 * at) * ive(0, at) + 2.0 * at * ive(1, at)))

    def end_displacement(self, t: ArrayLike) -> Array:
        """Return the displacement [m] of the loaded end at times t [s], the integral of its velocity."""
        times = np.asarray(t, dtype=float)
        y = 0.5 * (_POINTS + 1.0) * times[..., None]
        return np.asarray(0.5 * times * np.sum(_WEIGHTS * self.end_velocity(y), axis=-1))
