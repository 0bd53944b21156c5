"""Bodies at large strain: kinematics, law and memory of each part give force, tangent, stress and energy.

A channel is exact over a step for a driver that changes at constant rate (Taylor-Pister-Goudreau 1970; spec 6): at the
share theta of a step h, with x = theta h/tau and phi = (1 - exp(-x))/x, a memory is

    Q = exp(-x) Q_n + g phi (d - d_n),      stress = g_inf d + sum_a Q_a
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError
from rheotwin.fem.body import Term, relaxed
from rheotwin.fem.finite.corotational import Corotational
from rheotwin.fem.finite.kinematics import ElementGeometry, Kinematics, TotalLagrangian, dyad, element_geometry
from rheotwin.fem.finite.measures import Drivers, Isochoric, Measure, SmallStrain
from rheotwin.fem.incompressible import warn_of_locking
from rheotwin.fem.space import Space, body_space
from rheotwin.fem.system import body_mass
from rheotwin.materials import Channel
from rheotwin.problem import Cells, Problem, ProblemBody


class Inverted(ArithmeticError):
    """An element, with a node of it, whose deformation gradient has no positive determinant; numbered in its body."""

    def __init__(self, body: str, element: int, node: int, determinant: float) -> None:
        self.body, self.node = body, node
        super().__init__(f"element {element} of body '{body}' turned inside out (det F = {determinant:.3g})")


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
class PointState:
    """What a part carries from step to step, per quadrature point."""

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
class FinitePart:
    """Cells of one law in a body, with its bulk and shear channel; all functions are pure."""

    body: str
    kinematics: Kinematics
    measure: Measure
    bulk: Channel
    shear: Channel
    cells: Cells = ...

    @property
    def geometry(self) -> ElementGeometry:
        """The elements at rest."""
        return self.kinematics.geometry

    @property
    def viscous(self) -> bool:
        """Tell whether the law has a Newtonian arm."""
        return bool(self.bulk.viscosity or self.shear.viscosity)

    def at_rest(self) -> list[Array]:
        """Return the memories of a part that has never moved: pressures, shears and strain rate of `PointState`."""
        points = self.geometry.weights.shape
        shapes = ((len(self.bulk.times), *points), (len(self.shear.times), *points, 6), (*points, 6))
        return [np.zeros(shape) for shape in shapes]

    def state(self, u: Array, memories: Sequence[Array]) -> PointState:
        """Return the state at the displacement `u` (size,) [m] of the body with what is remembered."""
        strain = self.kinematics.strain(u)
        return PointState(strain, self.measure.drivers(strain), *memories)

    def require_upright(self, u: Array) -> None:
        """Raise `Inverted`, naming the element, if det F <= 0 at a quadrature point."""
        determinants = np.linalg.det(self.geometry.deformation_gradient(u)).min(axis=1)
        worst = int(np.argmin(determinants))
        if not determinants[worst] > 0.0:
            element = worst if self.cells is ... else int(self.cells[worst])
            node = int(self.geometry.dofs[worst, 0]) // self.geometry.dimension
            raise Inverted(self.body, element, node, float(determinants[worst]))

    def respond(
        self, state: PointState, start: Array, end: Array, step: float, share: float = 1.0
    ) -> tuple[Array, Array]:
        """Return the nodal forces (e, m) [N] at a share of a step [s] from displacements `start` to `end`.

        With them the tangents d(forces)/d(end) (e, m, m) [N/m] of each element.

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
        return forces, blocks + share * self.kinematics.geometric(u, stress)

    def _stress_at(
        self, state: PointState, strain: Array, rate: Array, step: float, share: float
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

    def commit(self, state: PointState, end: Array, step: float) -> PointState:
        """Return the state after a step [s] that ended at the displacement `end`."""
        strain = self.kinematics.strain(end)
        drivers = self.measure.drivers(strain)
        bulk, shear = channel_share(self.bulk, step), channel_share(self.shear, step)
        return PointState(
            strain=strain,
            drivers=drivers,
            pressures=bulk.remembered(state.pressures, drivers.volume, state.drivers.volume),
            shears=shear.remembered(state.shears, drivers.shear, state.drivers.shear),
            rate=(strain - state.strain) / step,
        )

    def memory_stress(self, state: PointState) -> Array:
        """Return the conjugate stress (e, q, 6) [Pa] that relaxing memories hold."""
        return np.asarray(state.pressures.sum(axis=0)[..., None] * state.drivers.direction + state.shears.sum(axis=0))

    def solid_stress(self, state: PointState) -> Array:
        """Return the conjugate stress (e, q, 6) [Pa] of springs and memories."""
        drivers = state.drivers
        pressure = self.bulk.equilibrium * drivers.volume[..., None]
        return pressure * drivers.direction + self.shear.equilibrium * drivers.shear + self.memory_stress(state)

    def flow_stress(self, state: PointState) -> Array:
        """Return the conjugate stress (e, q, 6) [Pa] of the Newtonian arms, at the rate of the last step."""
        if not self.viscous:
            return np.zeros_like(state.strain)
        return self.measure.newtonian(state.strain, state.rate, self.bulk.viscosity, self.shear.viscosity)[0]

    def stress(self, state: PointState) -> Array:
        """Return the whole conjugate stress (e, q, 6) [Pa]."""
        return self.solid_stress(state) + self.flow_stress(state)

    def forces(self, u: Array, stress: Array) -> Array:
        """Return the nodal forces (e, m) [N] of a stress at the displacement `u`."""
        weighted = self.geometry.weights[..., None] * stress
        return np.asarray(np.sum(self.kinematics.operator(u) @ weighted[..., None], axis=1)[..., 0])

    def nodal_force(self, u: Array, stress: Array) -> Array:
        """Return the forces (size,) [N] of a stress, added up at the components of the body."""
        return self.geometry.nodal_sum(self.forces(u, stress), len(u))

    def _arms(self, state: PointState) -> Iterator[tuple[float, Array]]:
        """Iterate over all arms: relaxation time [s] and energy density p^2/(2 g) or s : s/(4 g) [J/m^3]."""
        for g, tau, pressure in zip(self.bulk.strengths, self.bulk.times, state.pressures, strict=True):
            yield tau, 0.5 / g * pressure**2
        for g, tau, shear in zip(self.shear.strengths, self.shear.times, state.shears, strict=True):
            yield tau, 0.25 / g * self.measure.arm_energy(state.strain, shear)

    def stored(self, state: PointState) -> float:
        """Return the stored energy [J] of springs and arms."""
        density = self.measure.energy(state.strain, self.bulk.equilibrium, self.shear.equilibrium)
        return float(np.sum(self.geometry.weights * sum((energy for _, energy in self._arms(state)), density)))

    def relaxing_power(self, state: PointState) -> float:
        """Return the power [W] that arms lose to their dashpots: twice their energy over the relaxation time."""
        power = sum((2.0 / tau * energy for tau, energy in self._arms(state)), np.zeros(state.strain.shape[:2]))
        return float(np.sum(self.geometry.weights * power))

    def flow_work(self, before: PointState, after: PointState) -> float:
        """Return the work [J] that Newtonian arms took in the step between two states."""
        density = np.sum(self.flow_stress(after) * (after.strain - before.strain), axis=-1)
        return float(np.sum(self.geometry.weights * density))


@dataclass(frozen=True)
class FiniteBody:
    """A body in large motion, part by part; its memories are those of its parts one after the other."""

    space: Space
    mass: csr_matrix
    parts: tuple[FinitePart, ...]
    terms: tuple[Term, ...] = ()

    def states(self, u: Array, memories: Sequence[Array]) -> list[PointState]:
        """Return the states of the parts."""
        return [part.state(u, memories[3 * k : 3 * k + 3]) for k, part in enumerate(self.parts)]

    def at_rest(self) -> list[Array]:
        """Return what the parts remember that have never moved."""
        return [memory for part in self.parts for memory in part.at_rest()]

    def internal_force(self, u: Array, rate: Array, memories: Sequence[Array]) -> Array:
        """Return the nodal forces (size,) [N]; Newtonian arms flow at the strain rate of the last step."""
        force = np.zeros(len(u))
        for part, now in zip(self.parts, self.states(u, memories), strict=True):
            force += part.nodal_force(u, part.stress(now))
        return force

    def stored(self, u: Array, memories: Sequence[Array]) -> float:
        """Return the energy [J] of springs and arms."""
        return sum(part.stored(now) for part, now in zip(self.parts, self.states(u, memories), strict=True))

    def vertex_stress(self, u: Array, rate: Array, memories: Sequence[Array], *, memory_only: bool = False) -> Array:
        """Return the Cauchy stress, averaged to the vertices with the volumes of the elements around."""
        total, volume, d = np.zeros((self.space.vertices, 6)), np.zeros(self.space.vertices), self.space.dimension
        for part, now in zip(self.parts, self.states(u, memories), strict=True):
            weights, nodes = part.geometry.weights, part.geometry.dofs[:, ::d] // d
            stress = part.kinematics.cauchy(u, part.memory_stress(now) if memory_only else part.stress(now))
            np.add.at(total, nodes, np.einsum("eq,eqi->ei", weights, stress)[:, None])
            np.add.at(volume, nodes, weights.sum(axis=1)[:, None])
        return np.asarray(total / volume[:, None])

    def cell_stress(self, u: Array, rate: Array, memories: Sequence[Array]) -> Array:
        """Return the Cauchy stress, averaged over each cell."""
        found = np.zeros((self.space.mesh.nelements, 6))
        for part, now in zip(self.parts, self.states(u, memories), strict=True):
            weights, stress = part.geometry.weights, part.kinematics.cauchy(u, part.stress(now))
            found[part.cells] = np.einsum("eq,eqi->ei", weights, stress) / weights.sum(axis=1)[:, None]
        return found

    def vertex_strain(self, u: Array) -> Array:
        """Return sym(grad u), as every solver reports it."""
        return self.space.vertex_strain(u)


DESCRIPTIONS: dict[str, tuple[Callable[[ElementGeometry], Kinematics], Measure]] = {
    "corotational": (Corotational, SmallStrain()),
    "total-lagrangian": (TotalLagrangian, Isochoric()),
}
"""Descriptions of large motion: the kinematics of some elements, and the law that belongs to its strain."""


def finite_body(body: ProblemBody, problem: Problem, description: str) -> FiniteBody:
    """Return a body of linear elements in large motion, whose parts have laws of their own."""
    if problem.dimension == 1:
        raise RheotwinError(f'solvers.fem.kinematics: "{description}" needs two or three dimensions; choose "small"')
    if problem.dimension == 2 and problem.plane != "strain":
        raise RheotwinError(
            f'solvers.fem.kinematics: "{description}" knows plane = "strain" only, not "{problem.plane}"; '
            'choose that plane or kinematics = "small"'
        )
    warn_of_locking(body, problem, 1, "displacement")
    kinematics, measure = DESCRIPTIONS[description]
    parts = []
    for _, law, cells in body.laws:
        geometry = element_geometry(body.mesh, body.cell, thickness=problem.thickness, cells=cells)
        channels = law.channel("bulk"), law.channel("shear")
        parts.append(FinitePart(body.name, kinematics(geometry), measure, *channels, cells))
    space = body_space(body.mesh, body.cell, 1)
    return FiniteBody(space, body_mass(body, problem, space, consistent=False), tuple(parts))
