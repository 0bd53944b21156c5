"""One channel over one step: exact for a driver that changes at constant rate (Taylor-Pister-Goudreau 1970; spec 6).

At the share theta of a step h, with x = theta h/tau and phi = (1 - exp(-x))/x, a memory is

    Q = exp(-x) Q_n + g phi (d - d_n),      stress = g_inf d + sum_a Q_a
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rheotwin.materials import Channel

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ChannelShare:
    """A channel prepared for a share of a step; arrays run over its arms."""

    equilibrium: float
    decays: Array
    gains: Array

    @property
    def modulus(self) -> float:
        """Change of stress per change of driver [Pa]."""
        return self.equilibrium + float(self.gains.sum())

    def remembered(self, memories: Array, driver: Array, before: Array) -> Array:
        """Return the memories (arms, ...) [Pa] for a driver that went from `before` to `driver`."""
        shape = (-1, *(1,) * driver.ndim)
        return self.decays.reshape(shape) * memories + self.gains.reshape(shape) * (driver - before)

    def stress(self, memories: Array, driver: Array, before: Array) -> Array:
        """Return g_inf d + sum Q [Pa]."""
        return np.asarray(self.equilibrium * driver + self.remembered(memories, driver, before).sum(axis=0))


def channel_share(channel: Channel, step: float, share: float = 1.0) -> ChannelShare:
    """Return the factors of a channel at a share of a step [s]."""
    x = share * step / np.array(channel.times)
    return ChannelShare(channel.equilibrium, np.exp(-x), -np.array(channel.strengths) * np.expm1(-x) / x)
