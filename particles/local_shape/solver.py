"""The solver `local-shape`: particles held by polyhedra that pull back to their own rest shape.

The stress of an element is the virial of its forces over its rest volume, sigma V = -sum_a f_a (x) r_a, symmetrised.
"""

from __future__ import annotations

from collections.abc import Iterator
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
    add_spurious_turns,
)
from rheotwin.particles.local_shape.options import OPTIONS, LocalShapeOptions
from rheotwin.particles.network import check_rest_shape
from rheotwin.particles.shear_volume.corners import CHUNK, in_chunks, in_elements
from rheotwin.particles.stability import chosen_step
from rheotwin.particles.state import drift
from rheotwin.particles.steps import SEMI_IMPLICIT_SCHEME, Boundary, Surroundings
from rheotwin.particles.virial import averaging, nodal_volumes, out_of_plane_ratio
from rheotwin.problem import Problem
from rheotwin.solver import ALL_CONTACT, SOLID_TOOLS, Capabilities
from rheotwin.tensors import INDEX_PAIRS


class State(NamedTuple):
    """Vectors (N, 3), rotations as quaternions (chunks, 4, CHUNK), rest shapes (rows, CHUNK) where they creep.

    `spurious` (chunks, 3, CHUNK) are sum, sum of squares and largest of the turns that no moment explains (option).
    """

    positions: Array
    velocities: Array
    force: Array
    reaction: Array
    turns: Array
    shapes: Array
    spurious: Array


@dataclass(frozen=True)
class Block:
    """Elements of equally many corners: packed, with their rest shapes at the start, and where their memory begins."""

    elements: ShapeElements
    group: Group
    shapes: Array
    first_turn: int
    first_row: int

    @cached_property
    def apart(self) -> Group:
        """The elements without common nodes."""
        corners = np.arange(self.group.corners.size, dtype=self.group.corners.dtype).reshape(self.group.corners.shape)
        return self.group._replace(corners=corners)

    def turns_in(self, state: State) -> Array:
        """Return the rotations of the block."""
        return state.turns[self.first_turn : self.first_turn + len(self.group.numbers)]

    def shapes_in(self, state: State) -> Array:
        """Return the rest shapes of the block (blocks, 3 n, CHUNK)."""
        if not self.elements.needs.creeps:
            return self.shapes
        rows = len(self.shapes) * self.shapes.shape[1]
        return state.shapes[self.first_row : self.first_row + rows].reshape(self.shapes.shape)

    def forces(self, state: State, factors: dict[int, Any] | None = None) -> tuple[Array, Array, Array]:
        """Return forces [N], offsets from the centroids and rest offsets [m] of elements, (E, n, 3) each.

        Some rows of constants are taken times `factors` of elements (E,).
        """
        nodes, count = self.group.corners.ravel(), self.group.number
        numbers = self.group.numbers.copy()
        for row, factor in (factors or {}).items():
            numbers[:, row] *= in_chunks(np.broadcast_to(factor, count))
        x, v = state.positions[nodes], state.velocities[nodes]
        force, shapes = np.zeros_like(x), self.shapes_in(state).copy()
        turns = self.turns_in(state).copy()
        add_forces(self.elements.needs)(self.apart._replace(numbers=numbers), turns, shapes, x, v, force)
        places = x.reshape(-1, self.elements.needs.corners, 3)[:count]
        rest = in_elements(shapes[self.group.shape_of], count).T.reshape(count, -1, 3)
        return force.reshape(-1, *places.shape[1:])[:count], places - places.mean(axis=1, keepdims=True), rest

    def stress(self, state: State, *, memory_only: bool) -> Array:
        """Return the stress of elements, or what springs that relax have of it, (E, 6) [Pa]."""
        relaxes = self.elements.creeps.astype(float)
        only = {STIFFNESS: relaxes, BULK: relaxes} | dict.fromkeys((VISCOSITY, DAMPING, SWELLING), 0.0)
        f, r, _ = self.forces(state, only if memory_only else {})
        pairs = [-0.5 * np.sum(f[:, :, a] * r[:, :, b] + f[:, :, b] * r[:, :, a], axis=1) for a, b in INDEX_PAIRS]
        return np.stack(pairs, axis=1) / self.elements.volumes[:, None]

    def stored(self, state: State, dimension: int) -> float:
        """Return k sum d^2/2 + lambda V (J - 1)^2/2 [J]."""
        elements, springs = self.elements, dict.fromkeys((VISCOSITY, DAMPING, BULK, SWELLING), 0.0)
        f, r, rest = self.forces(state, springs | {STIFFNESS: 1.0 / elements.share})
        moved, offsets = r[:, :, :dimension], rest[:, :, :dimension]
        ratio = np.linalg.det(np.einsum("eai,eaj->eij", moved, offsets))
        ratio /= np.linalg.det(np.einsum("eai,eaj->eij", offsets, offsets))
        return float(0.5 * np.sum(np.sum(f**2, axis=(1, 2)) / elements.spring + elements.bulk * (ratio - 1.0) ** 2))


@dataclass(frozen=True)
class LocalShape:
    """Shape-keeping elements as a method of `rheotwin.particles.base`, for steps of `step` [s]."""

    problem: Problem
    step: Fraction
    stable_step: float
    blocks: tuple[Block, ...]
    matches: dict[str, Any]
    counts_turns: bool

    name: ClassVar[str] = "local-shape"
    holds_supports: ClassVar[bool] = False

    def rest_state(self, boundary: Boundary) -> State:
        """Return the state at rest."""
        turns = np.zeros((sum(len(block.group.numbers) for block in self.blocks), 4, CHUNK))
        turns[:, 0] = 1.0
        creeping = [block.shapes.reshape(-1, CHUNK) for block in self.blocks if block.elements.needs.creeps]
        shapes = np.concatenate([np.zeros((0, CHUNK)), *creeping])
        spurious = np.zeros((len(turns) * self.counts_turns, 3, CHUNK))
        return State(**at_rest(boundary.nodes.rest), turns=turns, shapes=shapes, spurious=spurious)

    def bind(self, state: State, boundary: Boundary) -> Steps:
        """Bind a state and the boundary to the program that steps them."""
        around, x, v, force = Surroundings(boundary, state), state.positions, state.velocities, state.force
        stages = [
            *around.begin_forces(),
            *(
                Stage(
                    add_forces(block.elements.needs),
                    (block.group, block.turns_in(state), block.shapes_in(state), x, v, force),
                )
                for block in self.blocks
            ),
            *(self._account(state) if self.counts_turns else ()),
            *around.kick(),
            Stage(drift, (v, STEP, x)),
            *around.last_look(),
        ]
        return Steps(state, around.bind(stages, float(self.step)))

    def _account(self, state: State) -> Iterator[Stage]:
        """Yield the stages that account for spurious turns, I = sum m |Ro|^2 (14)."""
        for block in self.blocks:
            elements, first = block.elements, block.first_turn
            inertia = np.einsum("ea,eac->e", self.problem.masses[elements.corners], elements.offsets**2)
            rates = in_chunks(elements.share * elements.spring / inertia)
            found = state.spurious[first : first + len(rates)]
            given = (block.group, block.turns_in(state), block.shapes_in(state), state.positions, rates, found)
            yield Stage(add_spurious_turns(elements.needs), given)

    def spurious_turns(self, state: State, steps: int) -> tuple[Array, Array, Array]:
        """Return mean, standard deviation and largest spurious angular acceleration of the elements (E,) [1/s2]."""
        found = np.empty((3, sum(block.group.number for block in self.blocks)))
        for block in self.blocks:
            own = state.spurious[block.first_turn : block.first_turn + len(block.group.numbers)]
            found[:, block.elements.cells] = in_elements(own, block.group.number)
        mean = found[0] / max(steps, 1)
        return mean, np.sqrt(np.maximum(found[1] / max(steps, 1) - mean**2, 0.0)), found[2]

    def stresses(self, state: State) -> tuple[Array, Array]:
        """Return the memory stress and the whole stress, averaged to nodes (N, 6) [Pa]."""
        volumes = nodal_volumes(self.problem)
        memory, whole = np.zeros((len(volumes), 6)), np.zeros((len(volumes), 6))
        for block in self.blocks:
            average = averaging(block.elements.corners, block.elements.volumes, volumes)
            memory += average @ self._stress(block, state, memory_only=True)
            whole += average @ self._stress(block, state)
        return memory, whole

    def cell_stress(self, state: State) -> Array:
        """Return the stress of the elements (E, 6) [Pa]."""
        found = np.empty((sum(block.group.number for block in self.blocks), 6))
        for block in self.blocks:
            found[block.elements.cells] = self._stress(block, state)
        return found

    def _stress(self, block: Block, state: State, *, memory_only: bool = False) -> Array:
        """Return the stress of a block with that out of the plane."""
        stress = block.stress(state, memory_only=memory_only)
        ratio = out_of_plane_ratio(self.problem)[block.elements.corners[:, 0]]
        stress[:, 2] += ratio * (stress[:, 0] + stress[:, 1])
        return stress

    def stored(self, state: State) -> float:
        """Return the energy of all elements [J]."""
        return sum(block.stored(state, self.problem.dimension) for block in self.blocks)

    def reactions(self, state: State) -> dict[str, Array]:
        """Return nothing: there are forces on tools and supports only."""
        return {}

    def statistics(self, state: State, steps: int) -> dict[str, Any]:
        """Return how well the elements match the law, and how they find their rotations."""
        needs = self.blocks[0].elements.needs
        about: dict[str, Any] = {"rotation": needs.rotation, "passes": needs.passes} if needs.dimension == 3 else {}
        if self.counts_turns:
            mean, deviation, largest = self.spurious_turns(state, steps)
            over_all = {"mean": mean.mean(), "deviation": deviation.mean(), "largest": largest.max()}
            about["spurious_turns"] = {name: float(value) for name, value in over_all.items()}
        return {
            "scheme": SEMI_IMPLICIT_SCHEME,
            "elements": sum(block.group.number for block in self.blocks),
            **about,
        } | {"material_match": self.matches}


LocalShapeSimulation = ParticleSimulation[LocalShape]


def local_shape(problem: Problem, options: LocalShapeOptions) -> LocalShape:
    """Return the elements of a problem, with the step that the options ask for."""
    check_rest_shape(problem)
    found, matches = find_elements(problem, options)
    bound = step_bound(problem, found)
    step = chosen_step(problem, options, bound, OPTIONS)
    blocks: list[Block] = []
    turns = rows = 0
    for elements in found:
        group, shapes = elements.packed(float(step)), elements.rest_shapes()[0]
        blocks.append(Block(elements, group, shapes, turns, rows))
        turns, rows = turns + len(group.numbers), rows + len(shapes) * shapes.shape[1]
    return LocalShape(problem, step, bound.step, tuple(blocks), matches, options.spurious_turns)


class LocalShapeSolver:
    """Plug-in: polyhedra that pull back to their rest shape, explicit, compiled."""

    name: ClassVar[str] = "local-shape"
    description: ClassVar[str] = "polyhedra that pull back to their own rest shape, which may creep; explicit, compiled"
    options: ClassVar[type[BaseModel]] = LocalShapeOptions
    capabilities: ClassVar[Capabilities] = Capabilities(
        dimensions=frozenset({2, 3}),
        cells=frozenset({"triangle", "quad", "tet", "hex", "mixed"}),
        laws=frozenset({"elastic", "voigt", "maxwell", "three-element"}),
        tools=SOLID_TOOLS,
        contact=ALL_CONTACT,
        grabs=True,
        parts=True,
        cell_stress=True,
    )

    def start(self, problem: Problem, options: BaseModel) -> LocalShapeSimulation:
        """Set up the particles at time zero."""
        assert isinstance(options, LocalShapeOptions)
        return ParticleSimulation(problem, local_shape(problem, options))
