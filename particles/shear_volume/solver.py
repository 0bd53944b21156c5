"""The solver `shear-volume`: particles that resist shear and change of volume as a continuum does.

An element taken alone pulls at its corners with F_a; its stress is sigma V0 = -sum_a F_a (x) x_a, the virial over the
rest volume as truss edges have it, whatever the element. At a node it is the average over the elements around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from pydantic import BaseModel
from scipy.sparse import csr_matrix, diags

from rheotwin.arrays import Array, Indices
from rheotwin.constraints.tools import pack_tools
from rheotwin.materials import SofteningThreeElement
from rheotwin.particles import virial
from rheotwin.particles.base import ParticleSimulation, Steps
from rheotwin.particles.network import check_rest_shape
from rheotwin.particles.shear_volume.constant_volume import Incompressible, build_incompressible, require_plane_strain
from rheotwin.particles.shear_volume.elements import AllElements, Elements, find_elements, measures
from rheotwin.particles.shear_volume.forces import (
    SIMPLICES,
    Forces,
    State,
    add_element_forces,
    exploded,
    pack_forces,
    rest_state,
)
from rheotwin.particles.shear_volume.loop import shear_volume_steps
from rheotwin.particles.shear_volume.options import OPTIONS, ShearVolumeOptions
from rheotwin.particles.shear_volume.seed import seed_matrices
from rheotwin.particles.shear_volume.simplices import stored_energy
from rheotwin.particles.shear_volume.stability import recovery_step, stable_step
from rheotwin.particles.stability import chosen_step
from rheotwin.particles.steps import SEMI_IMPLICIT_SCHEME, Boundary, Surroundings
from rheotwin.problem import Problem
from rheotwin.solver import ALL_CONTACT, ALL_LAWS, SOLID_TOOLS, Capabilities
from rheotwin.tensors import INDEX_PAIRS, padded


class Stresses:
    """The elements of a problem, each alone, and how their stresses average to nodes."""

    def __init__(self, problem: Problem, elements: AllElements) -> None:
        points = padded(problem.points)
        own, alone, self._node = exploded(elements, points)
        self._forces = pack_forces(own, alone, 0.0)
        self._springless = self._forces.without_springs()
        kinds = [kind for kind in elements.kinds.values() if len(kind)]
        size = np.concatenate([kind.size for kind in kinds])
        corners = np.repeat([kind.cells.shape[1] for kind in kinds], [len(kind) for kind in kinds])
        element = np.repeat(np.arange(len(size)), corners)
        share = (size / corners)[element]
        volumes = np.bincount(self._node, share, minlength=len(points))
        self._sums = csr_matrix((np.ones(len(element)), (element, np.arange(len(element)))))
        self._size = size
        self._average = csr_matrix((share / volumes[self._node], (self._node, element)), shape=(len(points), len(size)))
        in_plane_strain = problem.dimension == 2 and problem.plane == "strain"
        ratios = np.array([own.poisson if in_plane_strain else 0.0 for own in elements.channels])
        self._out_of_plane = ratios[np.concatenate([kind.law for kind in kinds if kind.law is not None])]

        self._cells = _averages_of_cells(problem, kinds, size)

    def of(self, state: State, *, memory_only: bool) -> Array:
        """Return the stress, or the share of it that arms remember, averaged to nodes (N, 6) [Pa]."""
        return np.asarray(self._average @ self._of_elements(state, memory_only=memory_only))

    def of_cells(self, state: State) -> Array:
        """Return the stress of the cells (C, 6) [Pa]."""
        return np.asarray(self._cells @ self._of_elements(state, memory_only=False))

    def _of_elements(self, state: State, *, memory_only: bool) -> Array:
        """Return the stress, or the share of it that arms remember, of each element alone (E, 6) [Pa]."""
        x, v = state.positions[self._node], state.velocities[self._node]
        force, forces = np.zeros_like(x), self._springless if memory_only else self._forces
        add_element_forces(forces, state.copied(), x, 0.0 * v if memory_only else v, 0.0, force)
        virial = np.stack([-0.5 * (force[:, a] * x[:, b] + force[:, b] * x[:, a]) for a, b in INDEX_PAIRS], axis=1)
        stress = (self._sums @ virial) / self._size[:, None]
        stress[:, 2] += self._out_of_plane * (stress[:, 0] + stress[:, 1])
        return np.asarray(stress)


def _incidence(elements: Sequence[Indices], nodes: int) -> csr_matrix:
    """Return 1 where an element of arrays (n, corners) has a node (all elements, N)."""
    ends = np.cumsum([0, *(row for array in elements for row in (array.shape[1],) * len(array))])
    corners = np.concatenate([array.ravel() for array in elements])
    return csr_matrix((np.ones(len(corners)), corners, ends), shape=(len(ends) - 1, nodes))


def _averages_of_cells(problem: Problem, kinds: Sequence[Elements], size: Array) -> csr_matrix:
    """Return the map (C, E) that averages elements, with their sizes, to the cell that has all their corners."""
    cells = [body.mesh.t.T + body.first_node for body in problem.bodies]
    own = _incidence([kind.cells for kind in kinds], len(problem.points))
    common = csr_matrix(_incidence(cells, len(problem.points)) @ own.T)
    whole = common.data == np.asarray(own.sum(axis=1)).ravel()[common.indices]
    common.data = np.where(whole, size[common.indices], 0.0)
    return csr_matrix(diags(1.0 / np.asarray(common.sum(axis=1)).ravel()) @ common)


def stored(forces: Forces, state: State, elements: AllElements) -> float:
    """Return the energy in springs and arms [J]; the papers' shear has no potential, only its volume counts."""
    x, found = state.positions, 0.0
    for name, group in forces.groups.items():
        if group.number:
            found += stored_energy(SIMPLICES[name], group, getattr(state, name), x)
    for kind, arms, voigt in (
        (elements.kinds["seed_simplices"], state.cell_arms, state.cell_voigt),
        (elements.kinds["seed_quadrilaterals"], state.quadrilateral_arms, state.quadrilateral_voigt),
    ):
        if len(kind):
            strain = _ratios(elements, kind, x) - 1.0
            found += virial.stored_energy(kind.volume, arms[: len(kind.volume.arm_stiffness)], strain, 1.0)
            if kind.soft_volume is not None:
                found += float(0.5 * np.sum(kind.soft_volume.stiffness * voigt**2))
    return found


def _ratios(elements: AllElements, kind: Elements, x: Array) -> Array:
    """Return V/V0 (E,) at positions (N, 3) [m]."""
    plane = kind is elements.kinds["seed_quadrilaterals"]
    return measures(x, kind.cells, 2 if plane else kind.cells.shape[1] - 1) / kind.rest


def smallest_ratio(elements: AllElements, positions: Array) -> float:
    """Return the least V/V0 of all elements at positions (N, 3) [m]."""
    kinds = [kind for kind in elements.kinds.values() if len(kind)]
    return min((float(_ratios(elements, kind, positions).min()) for kind in kinds), default=np.inf)


@dataclass(frozen=True)
class ShearVolume:
    """Elements of shear and volume as a method of `rheotwin.particles.base`, for steps of `step` [s]."""

    problem: Problem
    step: Fraction
    stable_step: float
    elements: AllElements
    forces: Forces
    incompressible: Incompressible | None

    name: ClassVar[str] = "shear-volume"
    holds_supports: ClassVar[bool] = False

    def rest_state(self, boundary: Boundary) -> State:
        """Return the state at rest."""
        count = 0 if self.incompressible is None else self.incompressible.count
        return rest_state(self.forces, boundary.nodes.rest, count)

    def bind(self, state: State, boundary: Boundary) -> Steps:
        """Bind a state and the boundary to the program that steps them."""
        pressure = None if self.incompressible is None else self.incompressible.packed
        take = shear_volume_steps(self.forces, pressure, Surroundings(boundary, state), float(self.step))
        return Steps(state, take)

    def internal_force(self, positions: Array) -> Array:
        """Return the forces (N, d) [N] of all elements that have been brought from rest to positions (N, d) [m]."""
        x, state = padded(positions), rest_state(self._still, padded(self.problem.points))
        force = np.zeros_like(x)
        add_element_forces(self._still, state, x, np.zeros_like(x), 0.0, force)
        return force[:, : self.problem.dimension]

    @cached_property
    def _still(self) -> Forces:
        """Elements whose arms stay as they are."""
        return pack_forces(self.elements, padded(self.problem.points), 0.0)

    @cached_property
    def _stresses(self) -> Stresses:
        return Stresses(self.problem, self.elements)

    def stresses(self, state: State) -> tuple[Array, Array]:
        """Return the memory stress and the whole stress, averaged to nodes (N, 6) [Pa]."""
        memory, stress = (self._stresses.of(state, memory_only=only) for only in (True, False))
        if self.incompressible is not None:
            stress[:, :3] -= self.incompressible.pressure(state.multipliers, self.problem)[:, None]
        return memory, stress

    def cell_stress(self, state: State) -> Array:
        """Return the stress of the cells (C, 6) [Pa]; the pressure of constant volume is that of their corners."""
        stress = self._stresses.of_cells(state)
        if self.incompressible is not None:
            at_nodes = self.incompressible.pressure(state.multipliers, self.problem)
            own = [at_nodes[body.mesh.t + body.first_node].mean(axis=0) for body in self.problem.bodies]
            stress[:, :3] -= np.concatenate(own)[:, None]
        return stress

    def stored(self, state: State) -> float:
        """Return the energy in springs and arms [J]; the papers' shear elements store none that could be told."""
        return stored(self.forces, state, self.elements)

    def reactions(self, state: State) -> dict[str, Array]:
        """Return nothing: there are forces on tools and supports only."""
        return {}

    def statistics(self, state: State, steps: int) -> dict[str, Any]:
        """Return which elements there are, and how much of their measure the smallest one has kept."""
        return {
            "scheme": SEMI_IMPLICIT_SCHEME,
            "elements": {name: len(kind) for name, kind in self.elements.kinds.items() if len(kind)},
            "smallest_volume_ratio": smallest_ratio(self.elements, state.positions),
            "divided_steps": int(state.divided[0]),
            **({} if self.incompressible is None else self.incompressible.statistics()),
        }


ShearVolumeSimulation = ParticleSimulation[ShearVolume]


def shear_volume(problem: Problem, options: ShearVolumeOptions) -> ShearVolume:
    """Return the elements of a problem, with the step that the options ask for."""
    rest = padded(problem.points)
    check_rest_shape(problem)
    require_plane_strain(problem, options)
    elements = find_elements(problem, options)
    bound = stable_step(problem, elements, seed_matrices(elements, rest))
    step = chosen_step(problem, options, bound, OPTIONS)
    forces = pack_forces(elements, rest, float(step), bound.step, recovery_step(problem, elements))
    incompressible = build_incompressible(problem, options, pack_tools(problem.tools).candidate, float(step))
    return ShearVolume(problem, step, bound.step, elements, forces, incompressible)


class ShearVolumeSolver:
    """Plug-in: shear and volume elements between particles, explicit, compiled."""

    name: ClassVar[str] = "shear-volume"
    description: ClassVar[str] = "continuum particles: elements of shear and volume by the law's own moduli, explicit"
    options: ClassVar[type[BaseModel]] = ShearVolumeOptions
    capabilities: ClassVar[Capabilities] = Capabilities(
        dimensions=frozenset({2, 3}),
        cells=frozenset({"triangle", "quad", "tet"}),
        laws=ALL_LAWS | {SofteningThreeElement.name},
        tools=SOLID_TOOLS,
        contact=ALL_CONTACT,
        incompressible=True,
        grabs=True,
        parts=True,
        cell_stress=True,
    )

    def start(self, problem: Problem, options: BaseModel) -> ShearVolumeSimulation:
        """Set up the particles at time zero."""
        assert isinstance(options, ShearVolumeOptions)
        return ParticleSimulation(problem, shear_volume(problem, options))
