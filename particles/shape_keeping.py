"""What keeps a body's shape beside its edges: the options, and what they add to step, energy and stress."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from pydantic import BaseModel, Field, model_validator
from pydantic_core import PydanticCustomError
from scipy.sparse import csr_matrix

from rheotwin.arrays import Array, Indices
from rheotwin.errors import RheotwinError
from rheotwin.meshing import boundary_faces
from rheotwin.particles.edge_laws import LawOptions, voxel_laws
from rheotwin.particles.forces.cells import (
    cell_volumes,
    element_pressure_energy,
    element_pressure_matrices,
    element_tension,
    make_element_pressure,
)
from rheotwin.particles.forces.elements import Elements
from rheotwin.particles.forces.global_pressure import (
    GlobalPressure,
    body_volumes,
    global_pressure_energy,
    global_pressure_rate,
    make_global_pressure,
    pressures,
)
from rheotwin.particles.forces.topology import Topology, contacts, make_topology, topology_energy, topology_matrix
from rheotwin.particles.forces.voxel_centre import diagonal_edges, half_vectors
from rheotwin.particles.network import Constants, TrussNetwork, stack_constants
from rheotwin.particles.state import State
from rheotwin.particles.virial import averaging, edge_virial, isotropic, response, stored_energy
from rheotwin.problem import Problem
from rheotwin.tensors import INDEX_PAIRS, padded


class ShapeOptions(BaseModel):
    """Shape-keeping forces beside edges and volume springs; all are off by default (spec sections 4, 5)."""

    topology_stiffness: float = Field(
        default=0.0,
        ge=0.0,
        allow_inf_nan=False,
        description="stiffness [N/m] that pushes vertices of triangles and tets back to their side of the opposite "
        "edge or face; 0: off",
    )
    topology_damping: float | None = Field(
        default=None,
        ge=0.0,
        allow_inf_nan=False,
        description="damping [N s/m] of vertices while they are pushed back; default: half critical, sqrt(K m) with "
        "the mean mass; without it, cells pressed flat gain energy",
    )
    topology_distance: float | None = Field(
        default=None,
        ge=0.0,
        allow_inf_nan=False,
        description="distance [m] at which pushing begins; default: 0.05 of each vertex's rest height",
    )
    global_pressure: float = Field(
        default=0.0,
        ge=0.0,
        allow_inf_nan=False,
        description="pressure per change of a body's volume [Pa/m3] (area [Pa/m2] in 2D) on its surface; 0: off",
    )
    global_pressure_damping: float = Field(
        default=0.0, ge=0.0, allow_inf_nan=False, description="the same per rate of change [Pa s/m3] ([Pa s/m2] in 2D)"
    )
    element_pressure: float = Field(
        default=0.0,
        ge=0.0,
        allow_inf_nan=False,
        description="pressure per change of volume of each tet [Pa/m3] or area of each triangle [Pa/m2]; it remembers "
        "the rest shape, so flowing bodies should use global_pressure; 0: off",
    )
    element_pressure_damping: float = Field(
        default=0.0, ge=0.0, allow_inf_nan=False, description="the same per rate of change [Pa s/m3] ([Pa s/m2] in 2D)"
    )
    local_volume: bool = Field(
        default=False,
        description="diagonals of quads and hexahedra give way to half elements between corners and centre",
    )
    local_volume_scale: float = Field(
        default=0.5,
        gt=0.0,
        allow_inf_nan=False,
        description="constants of a half element per those of the diagonal; 0.5 as published, 2 keeps the stiffness "
        "of uniform strain",
    )

    @property
    def has_topology(self) -> bool:
        """Whether vertices are kept on their side."""
        return self.topology_stiffness > 0.0

    @property
    def has_global_pressure(self) -> bool:
        """Whether bodies keep their volume as a whole."""
        return self.global_pressure > 0.0 or self.global_pressure_damping > 0.0

    @property
    def has_element_pressure(self) -> bool:
        """Whether each cell keeps its volume."""
        return self.element_pressure > 0.0 or self.element_pressure_damping > 0.0

    @property
    def keeps_shape(self) -> bool:
        """Whether any of these forces is on."""
        return self.has_topology or self.has_global_pressure or self.has_element_pressure or self.local_volume

    @model_validator(mode="after")
    def _topology_needs_stiffness(self) -> Self:
        for name in ("topology_damping", "topology_distance"):
            if getattr(self, name) and not self.has_topology:
                raise PydanticCustomError(
                    "topology", f"`{name}` has no effect without `topology_stiffness`; give both or neither"
                )
        return self


DISTANCE = 0.05
"""Default share of its rest height at which a vertex is pushed off the opposite feature (spec section 4)."""


@dataclass(frozen=True)
class HalfElements:
    """Half elements from the corners of voxels to their centre in the place of a lattice's diagonals (calibration M2).

    Cells (nC, 2^d) in global node numbers, and one rest length [m] and one set of constants for each corner:
    those of the law of its voxel, times the share of its diagonal, times a scale.
    """

    cells: Indices
    length: Array
    constants: Constants


@dataclass(frozen=True)
class ShapeKeeping:
    """Shape-keeping forces of all bodies; None are off."""

    topology: Topology | None
    global_pressure: GlobalPressure | None
    element_pressure: Elements | None
    halves: HalfElements

    def stiffness_and_viscosity(self, problem: Problem) -> list[tuple[csr_matrix, float]]:
        """Return for stiffness and for viscosity a matrix on the components (N*d) and a bound of the rest of M^-1 K.

        All but the half elements. The matrix is that of the shape at rest, with all topology contacts active. The
        global pressure couples all particles of a surface, so its one eigenvalue is given apart [1/s^2] and [1/s].
        """
        rest, dimension = padded(problem.points), problem.dimension
        stiffness = viscosity = csr_matrix((problem.points.size, problem.points.size))
        topology, pressure = self.topology, self.global_pressure
        if self.element_pressure is not None:
            stiffness, viscosity = element_pressure_matrices(self.element_pressure, rest, dimension)
        if topology is not None:
            contact = topology_matrix(topology, rest, dimension)
            stiffness, viscosity = stiffness + topology.stiffness * contact, viscosity + topology.damping * contact
        if pressure is None:
            return [(stiffness, 0.0), (viscosity, 0.0)]
        rate = global_pressure_rate(pressure, rest, problem.masses, padded((problem.owners < 0).astype(float)) > 0.0)
        return [(stiffness, pressure.stiffness * rate), (viscosity, pressure.damping * rate)]

    def energy(self, state: State) -> float:
        """Return the energy [J] stored in all of it."""
        x, found = state.positions, 0.0
        if self.topology is not None:
            found += topology_energy(self.topology, x)
        if self.global_pressure is not None:
            found += global_pressure_energy(self.global_pressure, x)
        if self.element_pressure is not None:
            found += element_pressure_energy(self.element_pressure, x)
        if len(self.halves.cells):
            lengths = np.linalg.norm(half_vectors(self.halves.cells, x), axis=1)
            found += stored_energy(self.halves.constants, state.centre_arms, lengths - self.halves.length, 1.0)
        return found

    def stresses(self, state: State, volumes: Array, problem: Problem) -> tuple[Array, Array]:
        """Return its part of the memory stress and of the whole stress at the nodes (N, 6) [Pa].

        `volumes` (N,) [m^3] are the nodes' shares of the rest volume.
        """
        memory, total = np.zeros((2, len(volumes), 6))
        half_cells = self.halves.cells
        if len(half_cells):
            for stress, virial in zip((memory, total), self._half_virials(state), strict=True):
                stress += averaging(half_cells, np.ones(len(half_cells)), volumes) @ virial
        cells = self.element_pressure
        if cells is not None:
            pull = element_tension(cells, state.positions, state.velocities)
            total += isotropic(averaging(cells.corners, cells.rest, volumes) @ pull, problem.dimension)
        if self.global_pressure is not None:
            found = pressures(self.global_pressure, state.positions, state.velocities) / problem.thickness
            for body, pressure in zip(problem.bodies, found, strict=True):
                total[body.nodes, : problem.dimension] -= pressure
        if self.topology is not None:
            total += self._contact_stress(self.topology, state, volumes)
        return memory, total

    def cell_stresses(self, state: State, volumes: Array, problem: Problem) -> Array:
        """Return its part of the stress of cells of `volumes` (C,) [m^3] (C, 6) [Pa], without topology forces."""
        total = np.zeros((len(volumes), 6))
        if len(self.halves.cells):
            total += self._half_virials(state)[1] / volumes[:, None]
        cells = self.element_pressure
        if cells is not None:
            pull = element_tension(cells, state.positions, state.velocities)
            total += isotropic(pull, problem.dimension) / problem.thickness
        if self.global_pressure is not None:
            found = pressures(self.global_pressure, state.positions, state.velocities) / problem.thickness
            counts = [body.mesh.t.shape[1] for body in problem.bodies]
            total[:, : problem.dimension] -= np.repeat(found, counts)[:, None]
        return total

    def _half_virials(self, state: State) -> tuple[Array, Array]:
        """Return sum f l0 (e (x) e) of each cell's half elements (nC, 6) [N m], of the arms and in total."""
        halves = self.halves
        vectors = half_vectors(halves.cells, state.positions)
        lengths = np.linalg.norm(vectors, axis=1)
        rates = np.einsum("hk,hk->h", half_vectors(halves.cells, state.velocities), vectors) / lengths
        tensions = response(halves.constants, state.centre_arms, lengths - halves.length, rates)
        memory, total = (
            edge_virial(vectors, halves.length, tension).reshape(*halves.cells.shape, 6).sum(axis=1)
            for tension in tensions
        )
        return memory, total

    def _contact_stress(self, topology: Topology, state: State, volumes: Array) -> Array:
        """Return the virial -f d (n (x) n) of the topology's pushes, shared by their particles (N, 6) [Pa]."""
        push, distance, normal, _ = contacts(topology, state.positions, state.velocities)
        virial = np.stack([-push * distance * normal[:, a] * normal[:, b] for a, b in INDEX_PAIRS], axis=1)
        nodes = np.column_stack([topology.vertex, topology.feature])
        return np.asarray(averaging(nodes, np.ones(len(nodes)), volumes) @ np.nan_to_num(virial))

    def statistics(self, state: State, problem: Problem) -> dict[str, Any]:
        """Return how many of each there are, inverted cells, and the volume of each body that is kept."""
        found: dict[str, Any] = {}
        if problem.bodies[0].cell in ("triangle", "tet"):
            volumes, _ = cell_volumes(state.positions, simplices(problem))
            found["inverted_cells"] = int(np.count_nonzero(volumes <= 0.0))
        if self.topology is not None:
            found["topology_contacts"] = len(self.topology.vertex)
        if len(self.halves.cells):
            found["half_elements"] = self.halves.cells.size
        if self.global_pressure is not None:
            ratio = body_volumes(self.global_pressure, state.positions) / self.global_pressure.rest
            found["volume_ratio"] = {b.name: float(r) for b, r in zip(problem.bodies, ratio, strict=True)}
        return found


def simplices(problem: Problem) -> Indices:
    """Return the cells of all bodies (nC, corners) in global node numbers."""
    return np.concatenate([body.mesh.t.T.astype(np.int64) + body.first_node for body in problem.bodies])


def build_shape_keeping(
    problem: Problem, options: ShapeOptions, network: TrussNetwork, laws: LawOptions
) -> tuple[TrussNetwork, ShapeKeeping]:
    """Build the forces the options ask for; half elements take the place of the network's diagonals."""
    _check(problem, options)
    rest, dimension = padded(problem.points), problem.dimension
    cells = simplices(problem)
    halves = _no_half_elements(network, dimension)
    if options.local_volume:
        network, halves = _halve_diagonals(problem, network, cells, rest, options.local_volume_scale, laws)
    thickness = problem.thickness
    return network, ShapeKeeping(
        topology=make_topology(
            rest,
            cells,
            stiffness=options.topology_stiffness,
            damping=_topology_damping(problem, options),
            distance=options.topology_distance,
            share=DISTANCE,
        )
        if options.has_topology
        else None,
        global_pressure=make_global_pressure(
            rest,
            [boundary_faces(body.mesh).astype(np.int64) + body.first_node for body in problem.bodies],
            stiffness=options.global_pressure * thickness,
            damping=options.global_pressure_damping * thickness,
        )
        if options.has_global_pressure
        else None,
        element_pressure=make_element_pressure(
            rest,
            cells,
            stiffness=options.element_pressure * thickness,
            damping=options.element_pressure_damping * thickness,
        )
        if options.has_element_pressure
        else None,
        halves=halves,
    )


def _topology_damping(problem: Problem, options: ShapeOptions) -> float:
    """Return the damping C [N s/m] asked for, or half the critical one of a particle of mean mass.

    With feet clamped to the feature the elastic pushes have no potential and can feed a collapsing body with energy.
    """
    if options.topology_damping is not None:
        return options.topology_damping
    return float(np.sqrt(options.topology_stiffness * problem.masses.mean()))


def _check(problem: Problem, options: ShapeOptions) -> None:
    """Refuse forces that the cells of this problem cannot have."""
    cell = problem.bodies[0].cell
    if problem.dimension == 1 and options.keeps_shape:
        raise RheotwinError("solvers.truss: lines have no shape to keep; leave the shape-keeping options out in 1D")
    for wanted, key, able in (
        (options.has_topology, "topology_stiffness", ("triangle", "tet")),
        (options.has_element_pressure, "element_pressure", ("triangle", "tet")),
        (options.local_volume, "local_volume", ("quad", "hex")),
    ):
        if wanted and cell not in able:
            raise RheotwinError(
                f"solvers.truss.{key}: it needs {' or '.join(able)} cells, the bodies have {cell} cells; "
                f"leave it out or set `cell` of the bodies"
            )


def _no_half_elements(network: TrussNetwork, dimension: int) -> HalfElements:
    """Return none, with as many arms as edges have."""
    none = np.zeros((0, 2**dimension), np.int64)
    return HalfElements(none, np.zeros(0), _chosen(network.edge_constants, none.ravel()))


def _halve_diagonals(
    problem: Problem, network: TrussNetwork, cells: Indices, rest: Array, scale: float, laws: LawOptions
) -> tuple[TrussNetwork, HalfElements]:
    """Return the network without the diagonals of all `cells` (nC, 2^d) and the half elements in their place."""
    diagonal = diagonal_edges(cells, network.edges)
    own_cells = [body.mesh.t.T.astype(np.int64) for body in problem.bodies]
    voxels = [np.repeat(own, own.shape[1], axis=0) for own in own_cells]
    constants = stack_constants(voxel_laws(problem, laws), voxels, scale * network.edge_share[diagonal])
    kept = np.setdiff1d(np.arange(len(network.edges)), diagonal)
    without = replace(
        network,
        edges=np.ascontiguousarray(network.edges[kept]),
        rest_length=network.rest_length[kept],
        edge_share=network.edge_share[kept],
        edge_constants=_chosen(network.edge_constants, kept),
        cell_share=network.cell_share[:, kept],
        node_share=network.node_share[:, kept],
    )
    return without, HalfElements(cells, np.linalg.norm(half_vectors(cells, rest), axis=1), constants)


def _chosen(constants: Constants, chosen: Indices) -> Constants:
    """Return the constants of chosen elements."""
    return Constants(
        stiffness=constants.stiffness[chosen],
        viscosity=constants.viscosity[chosen],
        arm_stiffness=np.ascontiguousarray(constants.arm_stiffness[:, chosen]),
        arm_rate=np.ascontiguousarray(constants.arm_rate[:, chosen]),
    )
