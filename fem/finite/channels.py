"""Laws of channels at points in large motion: what relaxes acts on the unit shear stress of a measure.

A channel is exact over a step for a driver that changes at constant rate (Taylor-Pister-Goudreau 1970; spec 6): at the
share theta of a step h, with x = theta h/tau and phi = (1 - exp(-x))/x, a memory is

    Q = exp(-x) Q_n + g phi (d - d_n),      stress = g_inf d + sum_a Q_a
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rheotwin.arrays import Array
from rheotwin.fem.body import relaxed
from rheotwin.fem.finite.measures import Isochoric, Measure, SmallStrain
from rheotwin.fem.finite.point import PointLaw, Response
from rheotwin.fem.point_laws import is_yielding, large_strain_law
from rheotwin.materials import Channel, Hyperelastic, Law


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
    return ChannelShare(channel.equilibrium, *relaxed(channel, share * step))


@dataclass(frozen=True)
class ChannelLaw:
    """A shear channel on the tau of a measure, and a Newtonian fluid beside it; a state is tau and one Q per arm."""

    measure: Measure
    shear: Channel
    bulk_viscosity: float = 0.0

    @property
    def width(self) -> int:
        """Numbers a point remembers."""
        arms = len(self.shear.times)
        return 6 * (arms + 1) if arms else 0

    @property
    def viscous(self) -> bool:
        """Whether there is a Newtonian arm."""
        return bool(self.bulk_viscosity or self.shear.viscosity)

    @property
    def symmetric(self) -> bool:
        """Whether the slope of the stress is."""
        return self.measure.symmetric_flow or not self.viscous

    def _memories(self, state: Array) -> Array:
        """Return tau and the memories (1 + arms, p, 6) [Pa] of a state."""
        return np.moveaxis(state.reshape(len(state), -1, 6), 1, 0)

    def respond(self, strain: Array, before: Array, state: Array, step: float) -> Response:
        """Return g_inf tau + sum Q, and the flow of the Newtonian arm."""
        driver, modulus = self.measure.shear(strain)
        share = channel_share(self.shear, step)
        modulus *= share.modulus
        stress, new = share.equilibrium * driver, state
        if len(share.gains):
            old = self._memories(state)
            memories = share.remembered(old[1:], driver, old[0])
            stress += memories.sum(axis=0)
            new = np.concatenate([driver, *memories], axis=1)
        if not self.viscous:
            return Response(stress, modulus, new)
        rate = (strain - before) / step
        flow, by_strain, by_rate = self.measure.newtonian(strain, rate, self.bulk_viscosity, self.shear.viscosity)
        return Response(stress, modulus + by_strain + by_rate / step, new, flow)

    def relaxing(self, state: Array) -> Array:
        """Return sum Q."""
        return np.asarray(self._memories(state)[1:].sum(axis=0)) if self.width else np.zeros((len(state), 6))

    def _arms(self, strain: Array, state: Array) -> Iterator[tuple[float, Array]]:
        """Iterate over all arms: relaxation time [s] and energy density s : s/(4 g) [J/m^3]."""
        if self.width:
            arms = zip(self.shear.strengths, self.shear.times, self._memories(state)[1:], strict=True)
            for g, tau, memory in arms:
                yield tau, 0.25 / g * self.measure.arm_energy(strain, memory)

    def stored(self, strain: Array, state: Array) -> Array:
        """Return the energy of spring and arms."""
        found = self.measure.energy(strain, 0.0, self.shear.equilibrium)
        return found + sum(energy for _, energy in self._arms(strain, state))

    def dissipated(self, strain: Array, before: Array, state: Array, old: Array, step: float) -> Array:
        """Return what arms lose by the trapezoidal rule: twice their energy over the relaxation time."""
        ends = (*self._arms(strain, state), *self._arms(before, old))
        return np.zeros(len(strain)) + sum(step / tau * energy for tau, energy in ends)


def point_law(law: Law, measure: Measure, *, rigid: bool = False) -> tuple[Channel, PointLaw]:
    """Return the bulk channel of a law, which a `rigid` volume replaces, and what it is at a point beside it."""
    if is_yielding(law):
        return large_strain_law(law, small=isinstance(measure, SmallStrain), rigid=rigid)
    shear, bulk = law.channel("shear"), Channel.elastic(0.0) if rigid else law.channel("bulk")
    if isinstance(law, Hyperelastic):
        terms = tuple((modulus / law.shear, exponent) for modulus, exponent in law.principal)
        c10, c01, c20, c30 = (factor / law.shear for factor in law.coefficients)
        measure = Isochoric((c10, c01, c20, c30), terms)
    return bulk, ChannelLaw(measure, shear, bulk.viscosity)
