"""Creep under uniaxial stress when springs and dashpots have different Poisson ratios (T4).

The true tensor series connection relaxes bulk and shear modulus separately, so for any law

    e(t)/s0 = J_K(t)/9 + J_mu(t)/3           from 1/E = 1/(9 K) + 1/(3 mu) in the Laplace domain,

with the creep functions J of the two channels. The papers' rule relaxes the two Lame constants instead. For a
Maxwell law it gives, with a = lam_e/lam_v, b = mu_e/mu_v,

    P = lam_e + mu_e,  Q = lam_e b + mu_e a,  R = 3 lam_e + 2 mu_e,  S = 3 lam_e b + 2 mu_e a,  r = S/R
    e/s0 = c0 + c1 t + c2 exp(-r t),   c1 = Q b/(mu_e S),  c2 = (Q - P r)(b - r)/(mu_e r^2 R),  c0 = P/(mu_e R) - c2
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rheotwin.materials import Law, Maxwell

Array = NDArray[np.float64]


def tensor_creep(law: Law, t: ArrayLike) -> Array:
    """Return e(t)/s0 [1/Pa] at times t [s] of the true tensor law (split by bulk and shear)."""
    return law.channel("bulk").creep(t) / 9.0 + law.channel("shear").creep(t) / 3.0


@dataclass(frozen=True)
class LameCreep:
    """Coefficients of e/s0 = constant + flow t + relaxing exp(-rate t): [1/Pa], [1/(Pa s)], [1/Pa], [1/s]."""

    constant: float
    flow: float
    relaxing: float
    rate: float

    @classmethod
    def of(cls, law: Maxwell) -> LameCreep:
        """Derive the coefficients from the Lame constants of spring and dashpot."""
        lame, shear = law.spring.lame, law.spring.shear
        a, b = lame / law.dashpot.lame, shear / law.dashpot.shear
        p, q = lame + shear, lame * b + shear * a
        r, s = 3.0 * lame + 2.0 * shear, 3.0 * lame * b + 2.0 * shear * a
        rate = s / r
        relaxing = (q - p * rate) * (b - rate) / (shear * rate**2 * r)
        return cls(p / (shear * r) - relaxing, q * b / (shear * s), relaxing, rate)

    def at(self, t: ArrayLike) -> Array:
        """Return e(t)/s0 [1/Pa] at times t [s] after the step of stress."""
        times = np.asarray(t, dtype=float)
        return np.asarray(self.constant + self.flow * times + self.relaxing * np.exp(-self.rate * times))
