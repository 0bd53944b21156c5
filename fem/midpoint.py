"""Exponential midpoint rule for the channel form (spec 2.3, integrator 1); order 2, constant SPD matrix.

With x = h/tau, d = exp(-x/2), k = g (1 - exp(-x/2))/x and kappa_X = g_inf/2 + sum k + eta/h:

    [2 M/h^2 + sum kappa_X J_X] du = f_mid + (2/h) M v - sum J_X (g_inf u + sum d w)
    u += du,   v = 2 du/h - v,   w = exp(-x) w + g (1 - exp(-x))/x du
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from rheotwin.fem.system import BodySystem, Term
from rheotwin.materials import Channel

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ChannelStep:
    """The factors of one channel for a fixed step; arrays run over its arms."""

    equilibrium: float
    stiffness: float
    mid_decay: Array
    decay: Array
    gain: Array


def channel_step(channel: Channel, h: float) -> ChannelStep:
    """Return the factors d, kappa, exp(-x) and g (1 - exp(-x))/x of a channel for step `h` [s]."""
    strengths, x = np.array(channel.strengths), h / np.array(channel.times)
    return ChannelStep(
        equilibrium=channel.equilibrium,
        stiffness=0.5 * channel.equilibrium
        + float(np.sum(-strengths * np.expm1(-0.5 * x) / x))
        + channel.viscosity / h,
        mid_decay=np.exp(-0.5 * x),
        decay=np.exp(-x),
        gain=-strengths * np.expm1(-x) / x,
    )


@dataclass(frozen=True)
class BodyStep:
    """One body prepared for a fixed step."""

    system: BodySystem
    channels: tuple[ChannelStep, ...]
    h: float

    @property
    def matrix(self) -> csr_matrix:
        """The left-hand side [N/m]."""
        matrix = 2.0 / self.h**2 * self.system.mass
        for channel, term in zip(self.channels, self.system.terms, strict=True):
            matrix = matrix + channel.stiffness * term.matrix
        return matrix.tocsr()

    def history_force(self, u: Array, v: Array, memories: list[Array]) -> Array:
        """Return (2/h) M v - sum J (g_inf u + sum d w): everything on the right but the loads [N]."""
        right: Array = 2.0 / self.h * (self.system.mass @ v)
        for channel, term, memory in zip(self.channels, self.system.terms, memories, strict=True):
            right -= term.matrix @ (channel.equilibrium * u + channel.mid_decay @ memory)
        return right

    def update_memories(self, du: Array, memories: list[Array]) -> None:
        """Advance w in place: w <- exp(-x) w + g (1 - exp(-x))/x du."""
        for channel, memory in zip(self.channels, memories, strict=True):
            memory *= channel.decay[:, None]
            memory += channel.gain[:, None] * du


def prepare(system: BodySystem, h: float) -> BodyStep:
    """Fix the step of one body."""
    return BodyStep(system, tuple(channel_step(term.channel, h) for term in system.terms), h)


def stress_state(term: Term, u: Array, rate: Array, memory: Array) -> Array:
    """Return s = g_inf u + sum w + eta u' of one term."""
    state: Array = term.channel.equilibrium * u + memory.sum(axis=0) + term.channel.viscosity * rate
    return state
