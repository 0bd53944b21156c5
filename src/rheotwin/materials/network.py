"""The 1D network that makes an edge the same material as a continuum law (particles spec 2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rheotwin.materials.channel import Channel


@dataclass(frozen=True)
class EdgeNetwork:
    """Force of an edge, tension positive: f = K dd + sum_a kappa_a z_a + eta ldot, z_a' = ldot - A_a z_a.

    dd is the extension [m] and ldot its rate [m/s]; `stiffness` K and `arm_stiffness` kappa_a [N/m],
    `arm_rate` A_a [1/s], `viscosity` eta [N s/m]. The states z_a [m] start at 0 (rest).
    """

    stiffness: float
    arm_stiffness: tuple[float, ...]
    arm_rate: tuple[float, ...]
    viscosity: float

    @classmethod
    def from_channel(cls, channel: Channel, *, section: float = 1.0, length: float = 1.0) -> EdgeNetwork:
        """Network of an edge, cross section [m2] and rest length [m]: kappa = g section/length, A = 1/tau."""
        edge = channel.scaled(section / length)
        return cls(edge.equilibrium, edge.strengths, tuple(1 / tau for tau in edge.times), edge.viscosity)

    def force(self, extension: ArrayLike, rate: ArrayLike, arms: ArrayLike) -> NDArray[np.float64]:
        """Tension [N] at extension [m] and its rate [m/s]; the last axis of `arms` holds the z_a [m]."""
        stretched = np.asarray(arms, dtype=float) @ np.array(self.arm_stiffness)
        elastic = self.stiffness * np.asarray(extension, dtype=float)
        return np.asarray(elastic + stretched + self.viscosity * np.asarray(rate, dtype=float))

    def advance(self, arms: ArrayLike, rate: ArrayLike, step: float) -> NDArray[np.float64]:
        """Arm states [m] after a step h [s] of constant rate [m/s]: z exp(-A h) + ldot (1 - exp(-A h))/A."""
        rates = np.array(self.arm_rate)
        decayed = np.exp(-rates * step) * np.asarray(arms, dtype=float)
        return np.asarray(decayed - np.expm1(-rates * step) / rates * np.asarray(rate, dtype=float)[..., None])
