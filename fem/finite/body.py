"""Bodies at large strain: kinematics, law and memory of each part give force, tangent, stress and energy.

Mixed elements have the pressure p as an unknown of its own (spec fem-size 2): Pi = int w + p (J - 1) - p^2/2K is
stationary, so that Newton's method carries p from step to step and never divides a volume's rounding by a small number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.sparse import csr_matrix

from rheotwin.arrays import Array, Indices
from rheotwin.errors import RheotwinError
from rheotwin.fem.body import Term
from rheotwin.fem.finite.channels import channel_share, point_law
from rheotwin.fem.finite.corotational import Corotational
from rheotwin.fem.finite.kinematics import (
    ENGINEERING,
    ElementGeometry,
    Kinematics,
    TotalLagrangian,
    element_geometry,
    strain_vector,
)
from rheotwin.fem.finite.loops import couple, smallest_volume
from rheotwin.fem.finite.measures import Isochoric, Measure, SmallStrain
from rheotwin.fem.finite.point import PointLaw, Response
from rheotwin.fem.incompressible import mixed_basis, pressure_functions, warn_of_locking
from rheotwin.fem.options import FemOptions
from rheotwin.fem.point_laws import is_yielding, von_mises
from rheotwin.fem.space import Space, body_space, mixed_space
from rheotwin.fem.system import body_mass
from rheotwin.materials import Channel, is_incompressible
from rheotwin.problem import Cells, Problem, ProblemBody


class Inverted(ArithmeticError):
    """An element, with a node of it, whose deformation gradient has no positive determinant; numbered in its body."""

    def __init__(self, body: str, element: int, node: int, determinant: float) -> None:
        self.body, self.node = body, node
        super().__init__(f"element {element} of body '{body}' turned inside out (det F = {determinant:.3g})")


@dataclass(frozen=True)
class PointState:
    """What a part carries from step to step, per quadrature point; `strain` follows from the displacement."""

    strain: Array
    """(e, q, 6), engineering shear."""
    volume: Array
    """theta (e, q), in mixed elements that of the pressure."""
    pressures: Array
    """Memories of the bulk channel (arms, e, q) [Pa]."""
    memory: Array
    """State of the law (e, q, width)."""
    stress: Array
    """Conjugate stress of springs and memories (e, q, 6) [Pa]."""
    flow: Array
    """Conjugate stress of the Newtonian arms at the rate of the last step (e, q, 6) [Pa]."""


@dataclass(frozen=True)
class PressureSpace:
    """Unknown pressures of a part: p = sum_k shapes_qk scale u[dofs_ek] [Pa]."""

    dofs: Indices
    shapes: Array
    scale: float
    """Shear modulus over the size of an element [Pa/m]: a pressure is then a length, its equation a force."""
    shared: bool
    """Whether elements have pressures in common."""
    softest: float = 0.0
    """scale^2/(ELIMINATED mu) [Pa/m^2]: compliance at which single pressures are still eliminated without loss."""


@dataclass(frozen=True)
class FinitePart:
    """Cells of one law in a body: kinematics, bulk channel and the law beside it; all functions are pure."""

    body: str
    kinematics: Kinematics
    measure: Measure
    bulk: Channel
    law: PointLaw
    cells: Cells = ...
    pressure: PressureSpace | None = None
    rigid: bool = False
    """Whether the pressures hold the volume in place of the bulk channel."""

    @property
    def geometry(self) -> ElementGeometry:
        """The elements at rest."""
        return self.kinematics.geometry

    @cached_property
    def dofs(self) -> Indices:
        """Components (e, m) of the elements in the body, pressures last."""
        nodal = self.geometry.dofs
        return nodal if self.pressure is None else np.concatenate([nodal, self.pressure.dofs], axis=1)

    @property
    def own(self) -> Indices:
        """Places among them of unknowns that one element alone has and can be eliminated: ZZ strains, pressures."""
        pressure, size = self.pressure, self.geometry.dofs.shape[1]
        if pressure is None or pressure.shared:
            return self.geometry.own
        return np.concatenate([self.geometry.own, np.arange(size, self.dofs.shape[1])])

    @property
    def soft(self) -> Array:
        """What the diagonal entries of `own` should be at least (e, own): pressures of K = ELIMINATED mu."""
        soft = np.zeros((len(self.dofs), len(self.own)))
        if self.pressure is not None and not self.pressure.shared:
            soft[:, len(self.geometry.own) :] = self.pressure.softest * self.geometry.weights.sum(axis=1)[:, None]
        return soft

    def at_rest(self) -> list[Array]:
        """Return what a part remembers that has never moved: `PointState` without its strain."""
        points = self.geometry.weights.shape
        behind = ((), (self.law.width,), (6,), (6,))
        volume, *rest = (np.zeros((*points, *more)) for more in behind)
        return [volume, np.zeros((len(self.bulk.times), *points)), *rest]

    def state(self, u: Array, memories: Sequence[Array]) -> PointState:
        """Return the state at the displacement `u` (size,) [m] of the body with what is remembered."""
        return PointState(self.kinematics.strain(u), *memories)

    def require_upright(self, u: Array) -> None:
        """Raise `Inverted`, naming the element, if det F <= 0 at a quadrature point."""
        worst, determinant = smallest_volume(self.geometry.displacement_gradient(u))
        if not determinant > 0.0:
            element = worst if self.cells is ... else int(self.cells[worst])
            node = int(self.geometry.dofs[worst, 0]) // self.geometry.dimension
            raise Inverted(self.body, element, node, determinant)

    def respond(
        self, state: PointState, start: Array, end: Array, step: float, share: float = 1.0
    ) -> tuple[Array, Array]:
        """Return the nodal forces (e, m) [N] at a share of a step [s] from displacements `start` to `end`.

        With them the tangents d(forces)/d(end) (e, m, m) [N/m] of each element. Rows of pressures are those of
        int N (J - 1 - p/K), so that blocks are as symmetric as the law.

        The strain at the share is interpolated between both ends, so a body that only turns within the step
        meets no stress; share 1 is the end of the step, share 1/2 the middle.
        """
        self.require_upright(end)
        final = self.kinematics.strain(end)
        u, strain = end, final
        if share != 1.0:
            u, strain = start + share * (end - start), state.strain + share * (final - state.strain)
        answer, theta, pressure = self._answer(state, strain, end, share * step)
        stress, modulus = answer.stress if answer.flow is None else answer.stress + answer.flow, answer.modulus
        slope = 0.0 if self.pressure else channel_share(self.bulk, step, share).modulus
        self.measure.add_volume(_flat(strain), pressure.ravel(), slope, stress, modulus)
        if share != 1.0:
            modulus *= share
        stress, modulus = stress.reshape(strain.shape), modulus.reshape(*strain.shape, 6)
        elements, size = self.dofs.shape
        forces, blocks = np.zeros((elements, size)), np.zeros((elements, size, size))
        forces[:, : self.geometry.dofs.shape[1]] = self.kinematics.forces(u, stress)
        self.kinematics.add_tangents(u, end, stress, modulus, share, blocks)
        if self.pressure is not None:
            compliance = 0.0 if self.rigid else 1.0 / channel_share(self.bulk, step, share).modulus
            amiss, geometry = self._volume(strain) - theta, self.geometry
            parts = geometry.columns, geometry.across, geometry.weights, geometry.displacement_gradient(u)
            shapes = self.pressure.scale * self.pressure.shapes
            couple(*parts, shapes, amiss, compliance, forces, blocks)
        return forces, blocks

    def _volume(self, strain: Array) -> Array:
        """Return theta (e, q) of a strain."""
        return self.measure.volume(_flat(strain)).reshape(strain.shape[:2])

    def _answer(self, state: PointState, strain: Array, u: Array, step: float) -> tuple[Response, Array, Array]:
        """Return what the law answers to a step, with volume change theta and pressure (e, q) [Pa] at its end."""
        answer = self.law.respond(_flat(strain), _flat(state.strain), _flat(state.memory), step)
        bulk = channel_share(self.bulk, step)
        if self.pressure is None:
            theta = self._volume(strain)
            return answer, theta, bulk.stress(state.pressures, theta, state.volume)
        pressure = self.pressure.scale * u[self.pressure.dofs] @ self.pressure.shapes.T
        if self.rigid:
            return answer, np.zeros_like(pressure), pressure
        held = bulk.stress(state.pressures, np.zeros_like(pressure), state.volume)
        return answer, (pressure - held) / bulk.modulus, pressure

    def commit(self, state: PointState, end: Array, step: float) -> PointState:
        """Return the state after a step [s] that ended at the displacement `end`."""
        strain = self.kinematics.strain(end)
        answer, theta, pressure = self._answer(state, strain, end, step)
        stress, flow = answer.stress, np.zeros_like(answer.stress) if answer.flow is None else answer.flow
        self.measure.add_volume(_flat(strain), pressure.ravel(), 0.0, stress, answer.modulus)
        return PointState(
            strain=strain,
            volume=theta,
            pressures=channel_share(self.bulk, step).remembered(state.pressures, theta, state.volume),
            memory=answer.state.reshape(state.memory.shape),
            stress=stress.reshape(strain.shape),
            flow=flow.reshape(strain.shape),
        )

    def memory_stress(self, state: PointState) -> Array:
        """Return the conjugate stress (e, q, 6) [Pa] that relaxing memories hold."""
        stress = self.law.relaxing(_flat(state.memory))
        unused = np.zeros((*stress.shape, 6))
        self.measure.add_volume(_flat(state.strain), state.pressures.sum(axis=0).ravel(), 0.0, stress, unused)
        return stress.reshape(state.strain.shape)

    def stress(self, state: PointState) -> Array:
        """Return the whole conjugate stress (e, q, 6) [Pa]."""
        return state.stress + state.flow

    def nodal_force(self, u: Array, stress: Array) -> Array:
        """Return the forces (size,) [N] of a stress, added up at the components of the body."""
        return self.geometry.nodal_sum(self.kinematics.forces(u, stress), len(u))

    def _bulk_energy(self, state: PointState) -> Iterator[tuple[float, Array]]:
        """Iterate over the arms of the bulk channel: relaxation time [s] and energy density p^2/(2 g) [J/m^3]."""
        for g, tau, pressure in zip(self.bulk.strengths, self.bulk.times, state.pressures, strict=True):
            yield tau, 0.5 / g * pressure**2

    def stored(self, state: PointState) -> float:
        """Return the stored energy [J] of springs and arms."""
        density = self.law.stored(_flat(state.strain), _flat(state.memory)).reshape(state.volume.shape)
        density = density + 0.5 * self.bulk.equilibrium * state.volume**2
        return float(np.sum(self.geometry.weights * sum((arm for _, arm in self._bulk_energy(state)), density)))

    def dissipated(self, before: PointState, after: PointState, step: float) -> float:
        """Return the energy [J] that a step lost in arms and sliders, without Newtonian arms."""
        states = _flat(after.memory), _flat(before.memory)
        density = self.law.dissipated(_flat(after.strain), _flat(before.strain), *states, step)
        arms = (step / tau * arm for state in (before, after) for tau, arm in self._bulk_energy(state))
        return float(np.sum(self.geometry.weights * sum(arms, density.reshape(after.volume.shape))))

    def flow_work(self, before: PointState, after: PointState) -> float:
        """Return the work [J] that Newtonian arms took in the step between two states."""
        density = np.sum(after.flow * (after.strain - before.strain), axis=-1)
        return float(np.sum(self.geometry.weights * density))


def _flat(array: Array) -> Array:
    """Return arrays (e, q, k) point by point (e q, k)."""
    return array.reshape(array.shape[0] * array.shape[1], array.shape[2])


@dataclass(frozen=True)
class FiniteBody:
    """A body in large motion, part by part; its memories are those of its parts one after the other."""

    space: Space
    mass: csr_matrix
    parts: tuple[FinitePart, ...]
    terms: tuple[Term, ...] = ()

    def states(self, u: Array, memories: Sequence[Array]) -> list[PointState]:
        """Return the states of the parts."""
        count = len(memories) // len(self.parts)
        return [part.state(u, memories[count * k : count * (k + 1)]) for k, part in enumerate(self.parts)]

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

    def _cauchy(self, u: Array, memories: Sequence[Array], *, memory_only: bool = False) -> Array:
        """Return the Cauchy stress (elements, points, 6) [Pa]."""
        found = np.zeros((self.space.mesh.nelements, self.space.basis.dx.shape[1], 6))
        for part, now in zip(self.parts, self.states(u, memories), strict=True):
            found[part.cells] = part.kinematics.cauchy(u, part.memory_stress(now) if memory_only else part.stress(now))
        return found

    def vertex_stress(self, u: Array, rate: Array, memories: Sequence[Array], *, memory_only: bool = False) -> Array:
        """Return the Cauchy stress, averaged to the vertices with the volumes around."""
        return np.asarray(self.space.averaging @ _flat(self._cauchy(u, memories, memory_only=memory_only)))

    def cell_stress(self, u: Array, rate: Array, memories: Sequence[Array]) -> Array:
        """Return the Cauchy stress, averaged over each cell."""
        weights, stress = self.space.weights.reshape(self.space.mesh.nelements, -1), self._cauchy(u, memories)
        return np.asarray(np.einsum("eq,eqi->ei", weights, stress) / weights.sum(axis=1)[:, None])

    def vertex_strain(self, u: Array) -> Array:
        """Return sym(grad u), as every solver reports it."""
        slope = np.zeros((self.space.mesh.nelements, self.space.basis.dx.shape[1], 3, 3))
        for part in self.parts:
            slope[part.cells] = part.geometry.displacement_gradient(u)
        symmetric = strain_vector(slope) / ENGINEERING
        return np.asarray(self.space.averaging @ _flat(symmetric))


DESCRIPTIONS: dict[str, tuple[Callable[[ElementGeometry], Kinematics], Measure]] = {
    "corotational": (Corotational, SmallStrain()),
    "total-lagrangian": (TotalLagrangian, Isochoric()),
}
"""Descriptions of large motion: the kinematics of some elements, and the law that belongs to its strain."""
ELIMINATED = 5e3
"""Bulk over shear modulus up to which pressures of single cells are eliminated at once."""
FLAT_BULK = 1e6
"""Bulk over shear modulus of a sheet in plane stress that keeps its volume: its thickness follows, to 1e-6."""


def _require_known(body: ProblemBody, problem: Problem, options: FemOptions) -> None:
    """Refuse what a description of large motion does not have."""
    description, place = options.kinematics, "solvers.fem.kinematics"
    if problem.dimension == 1:
        raise RheotwinError(f'{place}: "{description}" needs two or three dimensions; choose "small"')
    flat = problem.dimension == 2
    if description == "corotational" and flat and problem.plane != "strain":
        raise RheotwinError(
            f'{place}: "corotational" knows plane = "strain" only, not "{problem.plane}"; choose that plane, '
            'kinematics = "total-lagrangian" or "small"'
        )
    apart = [law for _, law, _ in body.laws if von_mises(law) and description == "total-lagrangian"]
    if options.pressures is not None and any(is_yielding(law) and law not in apart for _, law, _ in body.laws):
        raise RheotwinError(
            f"solvers.fem.formulation: {options.pressures} takes the pressure from the law, which here yields by it; "
            'use formulation = "displacement"'
        )
    if options.pressures is not None and flat and problem.plane == "stress":
        raise RheotwinError(
            f"solvers.fem.formulation: {options.pressures} holds the volume, which plane stress leaves free; "
            'use formulation = "displacement"'
        )
    warn_of_locking(body, problem, options.order, options.formulation, large=description == "total-lagrangian")


def finite_body(body: ProblemBody, problem: Problem, options: FemOptions) -> FiniteBody:
    """Return a body in large motion, part by part; behind its nodes are unknown strains ZZ, then pressures."""
    _require_known(body, problem, options)
    ring, flat = (problem.dimension == 2 and problem.plane == plane for plane in ("axisymmetric", "stress"))
    kinematics, measure = DESCRIPTIONS[options.kinematics]
    if options.pressures is None:
        where = body.mesh, body.cell, options.order
        space = body_space(*where, axisymmetric=ring, out_of_plane=flat, hanging=body.hanging)
    else:
        basis = mixed_basis(body.mesh, body.cell, options.pressures, axisymmetric=ring)
        space = mixed_space(body.mesh, body.cell, basis, axisymmetric=ring)
    parts, first = [], space.used - space.inner
    follows = space.follows if len(body.hanging) else None
    behind = first + space.inner
    for _, law, cells in body.laws:
        geometry = element_geometry(
            space.basis_in(cells),
            thickness=problem.thickness,
            axisymmetric=ring,
            flat=first if flat else None,
            follows=follows,
        )
        rigid = flat and is_incompressible(law)
        bulk, point = point_law(law, measure, rigid=options.incompressible or rigid)
        shear = Channel.elastic(law.parts[0].shear) if is_yielding(law) else law.channel("shear")
        if rigid:
            bulk = Channel.elastic(FLAT_BULK * shear.instantaneous)
        pressure = None
        if options.pressures is not None:
            stiffness = shear.instantaneous or shear.viscosity / problem.scene.duration
            size = float(geometry.weights.sum(axis=1).mean() / problem.thickness) ** (1.0 / problem.dimension)
            dofs, shapes = pressure_functions(space.basis, body.cell, options.pressures, cells)
            pressure = PressureSpace(
                behind + dofs, shapes, stiffness / size, shapes.shape[1] > 1, stiffness / (ELIMINATED * size**2)
            )
            behind += int(dofs.max()) + 1
        part = FinitePart(
            body.name, kinematics(geometry), measure, bulk, point, cells, pressure, options.incompressible
        )
        parts.append(part)
    space = replace(space, inner=behind - first, given=space.basis)
    return FiniteBody(space, body_mass(body, problem, space, consistent=False), tuple(parts))
