"""One body at large strain: kinematics, law and memory together give force, tangent, stress and energy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rheotwin.fem.finite.geometry import ElementGeometry
from rheotwin.fem.finite.kinematics import Kinematics
from rheotwin.fem.finite.measures import Drivers, Measure
from rheotwin.fem.finite.memory import channel_share
from rheotwin.fem.finite.voigt import dyad
from rheotwin.materials import Channel

Array = NDArray[np.float64]


class Inverted(ArithmeticError):
    """An element whose deformation gradient has no positive determinant."""

    def __init__(self, body: str, element: int, determinant: float) -> None:
        self.body, self.element, self.determinant = body, element, determinant
        super().__init__(f"element {element} of body '{body}' turned inside out (det F = {determinant:.3g})")


@dataclass(frozen=True)
class BodyState:
    """What a body carries from step to step, per quadrature point."""

    strain: Array
    """(e, q, 6), engineering shear."""
    drivers: Drivers
    pressures: Array
    """Memories of the bulk channel (arms, e, q) [Pa]."""
    shears: Array
    """Memories of the shear channel (arms, e, q, 6) [Pa]."""
    rate: Array
    """Strain rate of the last step (e, q, 6) [1/s]."""


@dataclass(frozen=True)
class Response:
    """Nodal forces (e, m) [N] and tangents (e, m, m) [N/m] of each element."""

    forces: Array
    blocks: Array


@dataclass(frozen=True)
class FiniteBody:
    """A body with its bulk and shear channel; all functions are pure."""

    name: str
    kinematics: Kinematics
    measure: Measure
    bulk: Channel
    shear: Channel

    @property
    def geometry(self) -> ElementGeometry:
        """The elements at rest."""
        return self.kinematics.geometry

    @property
    def viscous(self) -> bool:
        """Tell whether the law has a Newtonian arm."""
        return bool(self.bulk.viscosity or self.shear.viscosity)

    def at_rest(self, u: Array) -> BodyState:
        """Return the state of a body that has been at the displacement `u` (size,) for ever, without memories."""
        strain = self.kinematics.strain(u)
        pressures = np.zeros((len(self.bulk.times), *strain.shape[:2]))
        shears = np.zeros((len(self.shear.times), *strain.shape))
        return BodyState(strain, self.measure.drivers(strain), pressures, shears, np.zeros_like(strain))

    def require_upright(self, u: Array) -> None:
        """Raise `Inverted`, naming the element, if det F <= 0 at a quadrature point."""
        determinants = np.linalg.det(self.geometry.deformation_gradient(u)).min(axis=1)
        worst = int(np.argmin(determinants))
        if not determinants[worst] > 0.0:
            raise Inverted(self.name, worst, float(determinants[worst]))

    def respond(self, state: BodyState, start: Array, end: Array, step: float, share: float = 1.0) -> Response:
        """Return the forces at a share of a step [s] from displacements `start` to `end`, and d(forces)/d(end).

        The strain at the share is interpolated between both ends, so a body that only turns within the step
        meets no stress; share 1 is the end of the step, share 1/2 the middle.
        """
        self.require_upright(end)
        final = self.kinematics.strain(end)
        u, strain = end, final
        if share != 1.0:
            u, strain = start + share * (end - start), state.strain + share * (final - state.strain)
        stress, modulus = self._stress_at(state, strain, (final - state.strain) / step, step, share)
        operator = self.kinematics.operator(u)
        weighted = self.geometry.weights[..., None, None] * operator
        forces = np.sum(weighted @ stress[..., None], axis=1)[..., 0]
        final_operator = operator if share == 1.0 else self.kinematics.operator(end)
        blocks = np.sum(weighted @ modulus @ np.swapaxes(final_operator, -1, -2), axis=1)
        return Response(forces, blocks + share * self.kinematics.geometric(u, stress))

    def _stress_at(
        self, state: BodyState, strain: Array, rate: Array, step: float, share: float
    ) -> tuple[Array, Array]:
        """Return the stress (e, q, 6) [Pa] at a share of a step and its derivative by the strain at the end."""
        drivers, slopes = self.measure.drivers(strain), self.measure.slopes(strain)
        bulk, shear = channel_share(self.bulk, step, share), channel_share(self.shear, step, share)
        pressure = bulk.stress(state.pressures, drivers.volume, state.drivers.volume)[..., None]
        stress = pressure * drivers.direction + shear.stress(state.shears, drivers.shear, state.drivers.shear)
        modulus = bulk.modulus * dyad(drivers.direction, drivers.direction)
        modulus = modulus + pressure[..., None] * slopes.direction + shear.modulus * slopes.shear
        if not self.viscous:
            return stress, share * modulus
        flow, by_strain, by_rate = self.measure.newtonian(strain, rate, self.bulk.viscosity, self.shear.viscosity)
        return stress + flow, share * (modulus + by_strain) + by_rate / step

    def commit(self, state: BodyState, end: Array, step: float) -> BodyState:
        """Return the state after a step [s] that ended at the displacement `end`."""
        strain = self.kinematics.strain(end)
        drivers = self.measure.drivers(strain)
        bulk, shear = channel_share(self.bulk, step), channel_share(self.shear, step)
        return BodyState(
            strain=strain,
            drivers=drivers,
            pressures=bulk.remembered(state.pressures, drivers.volume, state.drivers.volume),
            shears=shear.remembered(state.shears, drivers.shear, state.drivers.shear),
            rate=(strain - state.strain) / step,
        )

    def memory_stress(self, state: BodyState) -> Array:
        """Return the conjugate stress (e, q, 6) [Pa] that relaxing memories hold."""
        return np.asarray(state.pressures.sum(axis=0)[..., None] * state.drivers.direction + state.shears.sum(axis=0))

    def solid_stress(self, state: BodyState) -> Array:
        """Return the conjugate stress (e, q, 6) [Pa] of springs and memories."""
        drivers = state.drivers
        pressure = self.bulk.equilibrium * drivers.volume[..., None]
        return pressure * drivers.direction + self.shear.equilibrium * drivers.shear + self.memory_stress(state)

    def flow_stress(self, state: BodyState) -> Array:
        """Return the conjugate stress (e, q, 6) [Pa] of the Newtonian arms, at the rate of the last step."""
        if not self.viscous:
            return np.zeros_like(state.strain)
        return self.measure.newtonian(state.strain, state.rate, self.bulk.viscosity, self.shear.viscosity)[0]

    def stress(self, state: BodyState) -> Array:
        """Return the whole conjugate stress (e, q, 6) [Pa]."""
        return self.solid_stress(state) + self.flow_stress(state)

    def forces(self, u: Array, stress: Array) -> Array:
        """Return the nodal forces (e, m) [N] of a stress at the displacement `u`."""
        weighted = self.geometry.weights[..., None] * stress
        return np.asarray(np.sum(self.kinematics.operator(u) @ weighted[..., None], axis=1)[..., 0])

    def _arms(self, state: BodyState) -> Iterator[tuple[float, Array]]:
        """Iterate over all arms: relaxation time [s] and energy density p^2/(2 g) or s : s/(4 g) [J/m^3]."""
        for g, tau, pressure in zip(self.bulk.strengths, self.bulk.times, state.pressures, strict=True):
            yield tau, 0.5 / g * pressure**2
        for g, tau, shear in zip(self.shear.strengths, self.shear.times, state.shears, strict=True):
            yield tau, 0.25 / g * self.measure.arm_energy(state.strain, shear)

    def stored(self, state: BodyState) -> float:
        """Return the stored energy [J] of springs and arms."""
        density = self.measure.energy(state.strain, self.bulk.equilibrium, self.shear.equilibrium)
        return float(np.sum(self.geometry.weights * sum((energy for _, energy in self._arms(state)), density)))

    def relaxing_power(self, state: BodyState) -> float:
        """Return the power [W] that arms lose to their dashpots: twice their energy over the relaxation time."""
        power = sum((2.0 / tau * energy for tau, energy in self._arms(state)), np.zeros(state.strain.shape[:2]))
        return float(np.sum(self.geometry.weights * power))

    def flow_work(self, before: BodyState, after: BodyState) -> float:
        """Return the work [J] that Newtonian arms took in the step between two states."""
        density = np.sum(self.flow_stress(after) * (after.strain - before.strain), axis=-1)
        return float(np.sum(self.geometry.weights * density))
