"""The solver `local-shape`: particles held by polyhedra that pull back to their own rest shape.

The stress of an element is the virial of its forces over its rest volume, sigma V = -sum_a f_a (x) r_a, symmetrised.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from pydantic import BaseModel

from rheotwin.arrays import Array
from rheotwin.kernels.blocks import STEP
from rheotwin.kernels.stage import Stage
from rheotwin.particles.base import ParticleSimulation, Steps, at_rest
from rheotwin.particles.local_shape.elements import ShapeElements, find_elements, step_bound
from rheotwin.particles.local_shape.forces import (
    BULK,
    DAMPING,
    STIFFNESS,
    SWELLING,
    VISCOSITY,
    Group,
    add_forces,
)
from rheotwin.particles.local_shape.options import OPTIONS, LocalShapeOptions
from rheotwin.particles.network import check_rest_shape
from rheotwin.particles.shear_volume.corners import in_chunks, in_elements
from rheotwin.particles.stability import chosen_step
from rheotwin.particles.state import drift
from rheotwin.particles.steps import SEMI_IMPLICIT_SCHEME, Boundary, Surroundings
from rheotwin.particles.virial import averaging, nodal_volumes, out_of_plane_ratio
from rheotwin.problem import Problem
from rheotwin.solver import ALL_CONTACT, SOLID_TOOLS, Capabilities
from rheotwin.tensors import INDEX_PAIRS


class State(NamedTuple):
    """Vectors (N, 3), rotations as quaternions (chunks, 4, CHUNK), and rest shapes where they creep."""

    positions: Array
    velocities: Array
    force: Array
    reaction: Array
    turns: Array
    shapes: Array


@dataclass(frozen=True)
class LocalShape:
    """Shape-keeping elements as a method of `rheotwin.particles.base`, for steps of `step` [s]."""

    problem: Problem
    step: Fraction
    stable_step: float
    elements: ShapeElements
    group: Group
    shapes: Array
    """Rest shapes at the start."""

    name: ClassVar[str] = "local-shape"
    holds_supports: ClassVar[bool] = False

    def rest_state(self, boundary: Boundary) -> State:
        """Return the state at rest."""
        turns = np.zeros((len(self.group.numbers), 4, self.shapes.shape[2]))
        turns[:, 0] = 1.0
        shapes = self.shapes.copy() if self.elements.needs.creeps else np.zeros((0, *self.shapes.shape[1:]))
        return State(**at_rest(boundary.nodes.rest), turns=turns, shapes=shapes)

    def bind(self, state: State, boundary: Boundary) -> Steps:
        """Bind a state and the boundary to the program that steps them."""
        around, x, v, force = Surroundings(boundary, state), state.positions, state.velocities, state.force
        stages = [
            *around.begin_forces(),
            Stage(add_forces(self.elements.needs), (self.group, state.turns, self._shapes(state), x, v, force)),
            *around.kick(),
            Stage(drift, (v, STEP, x)),
            *around.last_look(),
        ]
        return Steps(state, around.bind(stages, float(self.step)))

    def _shapes(self, state: State) -> Array:
        return state.shapes if self.elements.needs.creeps else self.shapes

    @cached_property
    def _apart(self) -> Group:
        """The elements without common nodes."""
        corners = np.arange(self.group.corners.size, dtype=self.group.corners.dtype).reshape(self.group.corners.shape)
        return self.group._replace(corners=corners)

    def forces(self, state: State, group: Group | None = None) -> tuple[Array, Array, Array]:
        """Return forces [N], offsets from the centroids and rest offsets [m] of elements, (E, n, 3) each."""
        group, nodes, count = self._apart if group is None else group, self.group.corners.ravel(), self.group.number
        x, v = state.positions[nodes], state.velocities[nodes]
        force, shapes = np.zeros_like(x), self._shapes(state).copy()
        add_forces(self.elements.needs)(group, state.turns.copy(), shapes, x, v, force)
        places = x.reshape(-1, self.elements.needs.corners, 3)[:count]
        rest = in_elements(shapes[group.shape_of], count).T.reshape(count, -1, 3)
        return force.reshape(-1, *places.shape[1:])[:count], places - places.mean(axis=1, keepdims=True), rest

    def _of_parts(self, state: State, factors: dict[int, Any]) -> tuple[Array, Array, Array]:
        """Return `forces` with some constants times factors of elements (E,)."""
        numbers = self.group.numbers.copy()
        for row, factor in factors.items():
            numbers[:, row] *= in_chunks(np.broadcast_to(factor, self.group.number))
        return self.forces(state, self._apart._replace(numbers=numbers))

    def stresses(self, state: State) -> tuple[Array, Array]:
        """Return the memory stress and the whole stress, averaged to nodes (N, 6) [Pa]."""
        average = averaging(self.elements.corners, self.elements.volumes, nodal_volumes(self.problem))
        return average @ self._stress(state, memory_only=True), average @ self.cell_stress(state)

    def cell_stress(self, state: State) -> Array:
        """Return the stress of the elements (E, 6) [Pa]."""
        return self._stress(state, memory_only=False)

    def _stress(self, state: State, *, memory_only: bool) -> Array:
        """Return the stress of elements, or what springs that relax have of it, (E, 6) [Pa]."""
        relaxes = self.elements.creeps.astype(float)
        only = {STIFFNESS: relaxes, BULK: relaxes} | dict.fromkeys((VISCOSITY, DAMPING, SWELLING), 0.0)
        f, r, _ = self._of_parts(state, only if memory_only else {})
        pairs = [-0.5 * np.sum(f[:, :, a] * r[:, :, b] + f[:, :, b] * r[:, :, a], axis=1) for a, b in INDEX_PAIRS]
        stress = np.stack(pairs, axis=1) / self.elements.volumes[:, None]
        stress[:, 2] += out_of_plane_ratio(self.problem)[self.elements.corners[:, 0]] * (stress[:, 0] + stress[:, 1])
        return np.asarray(stress)

    def stored(self, state: State) -> float:
        """Return k sum d^2/2 + lambda V (J - 1)^2/2 of all elements [J]."""
        elements, d = self.elements, self.problem.dimension
        springs = dict.fromkeys((VISCOSITY, DAMPING, BULK, SWELLING), 0.0)
        f, r, rest = self._of_parts(state, springs | {STIFFNESS: 1.0 / elements.share})
        moved, offsets = r[:, :, :d], rest[:, :, :d]
        ratio = np.linalg.det(np.einsum("eai,eaj->eij", moved, offsets))
        ratio /= np.linalg.det(np.einsum("eai,eaj->eij", offsets, offsets))
        return float(0.5 * np.sum(np.sum(f**2, axis=(1, 2)) / elements.spring + elements.bulk * (ratio - 1.0) ** 2))

    def reactions(self, state: State) -> dict[str, Array]:
        """Return nothing: there are forces on tools and supports only."""
        return {}

    def statistics(self, state: State, steps: int) -> dict[str, Any]:
        """Return how well the elements match the law, and how they find their rotations."""
        needs = self.elements.needs
        about = {"rotation": needs.rotation, "passes": needs.passes} if needs.dimension == 3 else {}
        return {"scheme": SEMI_IMPLICIT_SCHEME, "elements": self.group.number, **about} | {
            "material_match": self.elements.matches
        }


LocalShapeSimulation = ParticleSimulation[LocalShape]


def local_shape(problem: Problem, options: LocalShapeOptions) -> LocalShape:
    """Return the elements of a problem, with the step that the options ask for."""
    check_rest_shape(problem)
    elements = find_elements(problem, options)
    bound = step_bound(problem, elements)
    step = chosen_step(problem, options, bound, OPTIONS)
    return LocalShape(problem, step, bound.step, elements, elements.packed(float(step)), elements.rest_shapes()[0])


class LocalShapeSolver:
    """Plug-in: polyhedra that pull back to their rest shape, explicit, compiled."""

    name: ClassVar[str] = "local-shape"
    description: ClassVar[str] = "polyhedra that pull back to their own rest shape, which may creep; explicit, compiled"
    options: ClassVar[type[BaseModel]] = LocalShapeOptions
    capabilities: ClassVar[Capabilities] = Capabilities(
        dimensions=frozenset({2, 3}),
        cells=frozenset({"triangle", "quad", "tet", "hex"}),
        laws=frozenset({"elastic", "voigt", "maxwell", "three-element"}),
        tools=SOLID_TOOLS,
        contact=ALL_CONTACT,
        parts=True,
        cell_stress=True,
    )

    def start(self, problem: Problem, options: BaseModel) -> LocalShapeSimulation:
        """Set up the particles at time zero."""
        assert isinstance(options, LocalShapeOptions)
        return ParticleSimulation(problem, local_shape(problem, options))
