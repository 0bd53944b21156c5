"""The truss: particles joined by rheological edges, with volume springs and whatever else keeps their shape."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError
from scipy.sparse import csr_matrix, diags

from rheotwin.arrays import Array
from rheotwin.constraints.contact.springs import has_soft_contact
from rheotwin.errors import RheotwinError
from rheotwin.meshing import element_measures
from rheotwin.particles.base import ParticleSimulation, Steps, at_rest
from rheotwin.particles.constraint_options import Constrained, ConstraintOptions, build_constraints
from rheotwin.particles.edge_laws import LawOptions, check_nonlinear_edges
from rheotwin.particles.element_match import Method, Springs
from rheotwin.particles.forces.all_forces import Forces, add_outside_matrices, outside_forces
from rheotwin.particles.forces.cells import cell_volumes, volume_rates
from rheotwin.particles.forces.nonlinear_edges import nonlinear_edges, nonlinear_energy, relaxing_tension
from rheotwin.particles.forces.particle_on_edge import add_tie_matrices, make_ties, tie_energy, tie_statistics
from rheotwin.particles.network import TrussNetwork, build_network, check_network, check_rest_shape, kernel_elements
from rheotwin.particles.placed import KernelOptions, fast_body
from rheotwin.particles.shape_keeping import ShapeKeeping, ShapeOptions, build_shape_keeping
from rheotwin.particles.stability import StepBound, chosen_step, with_contact, with_contact_reason
from rheotwin.particles.state import TENSION, State
from rheotwin.particles.steppers.advisor import half_family, network_families, step_bound
from rheotwin.particles.steppers.choose import STEPS_IN_A_RUN, StepperName, make_stepper
from rheotwin.particles.steps import SEMI_IMPLICIT_SCHEME, Boundary
from rheotwin.particles.virial import (
    averaging,
    edge_motion,
    edge_virial,
    isotropic,
    nodal_volumes,
    out_of_plane_ratio,
    response,
    stored_energy,
)
from rheotwin.population import Population
from rheotwin.problem import Problem
from rheotwin.solver import ALL_CELLS, ALL_CONTACT, ALL_LAWS, EDGE_LAWS, SOLID_TOOLS, Capabilities


class TrussOptions(ConstraintOptions, ShapeOptions, LawOptions, KernelOptions):
    """Options of the truss solver."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    step: float | None = Field(
        default=None,
        gt=0.0,
        description="step [s]; default: `safety` times the stable step (of `implicit`: 1/1000 of the duration)",
    )
    stepper: StepperName = Field(
        default="semi-implicit",
        description="rule in time: `semi-implicit` takes internal variables first and is the fastest; `euler` and "
        "`rk4` are the papers' explicit rules; `implicit` is stable at any step, for stiff bodies",
    )
    safety: float = Field(default=0.5, gt=0.0, le=1.0, description="share of the stable step used by default")
    volume_term: bool | None = Field(
        default=None,
        description="volume springs in simplices, for Poisson ratios springs alone cannot have; default: true, but for "
        "match `edge`, which has none",
    )
    match: Method = Field(
        default="element",
        description="springs from the law: `element` fits the stiffness tensor and `stiffness` the stiffness matrix of "
        "each element, `length` takes k = E A/l with one A; `edge`: the law's numbers are those of each edge",
    )
    springs: Springs = Field(
        default="edges+face+body",
        description="springs of squares and cubes: along edges, with those across faces or all (12, 24, 28 of a cube); "
        'fewer than all with match = "edge" only',
    )
    tie_stiffness: float = Field(
        default=4.0,
        gt=0.0,
        allow_inf_nan=False,
        description="stiffness that ties hanging particles (`finer` of a body) to their edges, per what all edges "
        "around the particle resist",
    )
    tie_damping: float = Field(
        default=0.2, ge=0.0, allow_inf_nan=False, description="damping of these ties, as a share of the critical one"
    )
    forces: dict[str, dict[str, Any]] = Field(
        default_factory=dict,
        description="forces of other packages, and `extra` of the papers' model M3E, by name, each with its options",
    )
    unstable: Literal["refuse", "substep"] = Field(
        default="refuse", description="what to do with a step above the stable one"
    )

    @model_validator(mode="after")
    def _edges_have_no_volume_springs(self) -> Self:
        if self.match == "edge" and self.volume_term:
            raise PydanticCustomError(
                "volume_term",
                'with match = "edge" the law\'s numbers are those of edges and volume springs have none; leave '
                "`volume_term` out, or keep volumes with `global_pressure` or `element_pressure`",
            )
        return self

    @model_validator(mode="after")
    def _fewer_springs_match_nothing(self) -> Self:
        if self.springs != "edges+face+body" and self.match != "edge":
            raise PydanticCustomError(
                "springs",
                "fewer springs than all cannot match a law; leave `springs` out, or give the numbers of springs by "
                'match = "edge"',
            )
        return self

    @model_validator(mode="after")
    def _voxel_laws_need_voxels(self) -> Self:
        for name in ("voxel_laws", "voxel_surface_laws"):
            if getattr(self, name) and not self.local_volume:
                raise PydanticCustomError(
                    "voxel_laws", f"`{name}` has no effect without the half elements of `local_volume = true`"
                )
        return self


@dataclass(frozen=True)
class Truss:
    """A truss as a method of `rheotwin.particles.base`: its network and its forces for steps of `step` [s]."""

    problem: Problem
    options: TrussOptions
    step: Fraction
    stable_step: float
    network: TrussNetwork
    shape: ShapeKeeping
    constrained: Constrained
    forces: Forces

    name: ClassVar[str] = "truss"

    @property
    def holds_supports(self) -> bool:
        """Whether supports are constraints among the forces."""
        return self.options.supports == "stabilised"

    def rest_state(self, boundary: Boundary) -> State:
        """Return the state at rest."""
        forces, network = self.forces, self.network
        return State(
            **at_rest(boundary.nodes.rest),
            edge_arms=np.zeros_like(forces.edges.arm_stiffness),
            nonlinear_edges=np.zeros((2, len(network.edges) - network.linear_edges)),
            cell_arms=np.zeros_like(forces.cells.arm_stiffness),
            centre_arms=np.zeros_like(forces.halves.arm_stiffness),
            multipliers=np.zeros(self.constrained.count),
            touching=np.zeros((len(boundary.nodes.rest) if self.options.stepper == "rk4" else 0, 3)),
        )

    def bind(self, state: State, boundary: Boundary) -> Steps:
        """Bind a state and the boundary to the rule in time, or to the fast loop that does the same."""
        options, forces, h = self.options, self.forces, float(self.step)
        body = fast_body(options, options.stepper, forces, state, boundary, h)
        if body is None:
            stepper = make_stepper(options.stepper, forces, state, boundary, h)
            loop = _general_loop(forces, state, boundary)
            return Steps(state, stepper.take, lambda steps: stepper.statistics(steps) | loop)
        about = {
            "scheme": SEMI_IMPLICIT_SCHEME,
            "kernel": body.name,
            "precision": body.precision,
            "bytes_per_edge": round(body.bytes_per_edge, 1),
        }
        return Steps(state, body.take, lambda _: about, body)

    def _edge_tension(self, state: State) -> tuple[Array, Array, Array]:
        """Return edge vectors (M, 3) [m], tension of the relaxing arms and total tension [N]."""
        vectors, lengths, rates = edge_motion(state.positions, state.velocities, self.network.edges)
        _, rest_length, constants = self.network.linear_part
        linear = len(rest_length)
        extension = lengths[:linear] - rest_length
        memory, total = response(constants, state.edge_arms, extension, rates[:linear])
        springs = relaxing_tension(self.network.nonlinear, state.nonlinear_edges)
        tension = state.nonlinear_edges[TENSION]
        return vectors, np.concatenate([memory, springs]), np.concatenate([total, tension])

    def _cell_tension(self, state: State) -> tuple[Array, Array]:
        """Return the arms' share of each cell's tension (minus its pressure) and all of it [Pa m^(3-d)]."""
        network = self.network
        volumes, gradients = cell_volumes(state.positions, network.cells)
        rates = volume_rates(gradients, state.velocities, network.cells) / network.rest_volume
        strain = volumes / network.rest_volume - 1.0
        return response(network.cell_constants, state.cell_arms, strain, rates)

    @cached_property
    def _averages(self) -> tuple[Array, csr_matrix, csr_matrix, Array]:
        """Return volumes of nodes (N,) [m^3], averages of edges and of cells to nodes, and s_zz/(s_xx + s_yy) there."""
        problem, network = self.problem, self.network
        volumes = nodal_volumes(problem)
        cells = averaging(network.cells, network.rest_volume, volumes)
        return volumes, diags(1.0 / volumes) @ network.node_share, cells, out_of_plane_ratio(problem)

    def stresses(self, state: State) -> tuple[Array, Array]:
        """Return the memory stress and the whole stress, averaged to nodes (N, 6) [Pa]."""
        volumes, edge_average, cell_average, out_of_plane = self._averages
        vectors, *edge = self._edge_tension(state)
        memory, total = (
            edge_average @ edge_virial(vectors, self.network.rest_length, tension)
            + isotropic(cell_average @ pull, self.problem.dimension)
            for tension, pull in zip(edge, self._cell_tension(state), strict=True)
        )
        kept = self.shape.stresses(state, volumes, self.problem)
        for stress, part in zip((memory, total), kept, strict=True):
            stress += part
            stress[:, 2] += out_of_plane * (stress[:, 0] + stress[:, 1])
        return memory, total

    def cell_stress(self, state: State) -> Array:
        """Return the virial of each cell's parts of its edges over its volume and what keeps it (C, 6) [Pa].

        Forces of topology are left out: they act between a vertex and what it must not pass.
        """
        problem, network = self.problem, self.network
        volumes = np.concatenate([element_measures(body.mesh) for body in problem.bodies]) * problem.thickness
        vectors, _, tension = self._edge_tension(state)
        stress = network.cell_share @ edge_virial(vectors, network.rest_length, tension) / volumes[:, None]
        pull = self._cell_tension(state)[1] / problem.thickness
        stress[network.cell_number] += isotropic(pull, problem.dimension)
        stress += self.shape.cell_stresses(state, volumes, problem)
        corner = np.concatenate([body.mesh.t[0] + body.first_node for body in problem.bodies])
        stress[:, 2] += out_of_plane_ratio(problem)[corner] * (stress[:, 0] + stress[:, 1])
        return np.asarray(stress)

    def stored(self, state: State) -> float:
        """Return the energy [J]: (k dd^2 + sum kappa z^2)/2 of edges and cells, and what other forces store."""
        network, forces = self.network, self.forces
        _, lengths, _ = edge_motion(state.positions, state.velocities, network.edges)
        volumes, _ = cell_volumes(state.positions, network.cells)
        _, rest_length, constants = network.linear_part
        linear = len(rest_length)
        found = stored_energy(constants, state.edge_arms, lengths[:linear] - rest_length, 1.0)
        found += nonlinear_energy(network.nonlinear, state.nonlinear_edges, lengths[linear:])
        found += stored_energy(
            network.cell_constants, state.cell_arms, volumes / network.rest_volume - 1.0, network.rest_volume
        )
        found += self.shape.energy(state) + tie_energy(forces.ties, state.positions)
        return found + sum(force.energy(state.positions) for force in forces.outside)

    def reactions(self, state: State) -> dict[str, Array]:
        """Return the tension [N] of each link."""
        return self.constrained.tensions(self.problem, state.positions, state.multipliers)

    def statistics(self, state: State, steps: int) -> dict[str, Any]:
        """Return the size of the truss and how well its elements match the law."""
        return {
            **self.constrained.statistics(steps),
            "edges": len(self.network.edges),
            "volume_cells": len(self.network.cells),
            "material_match": self.network.matches,
            **tie_statistics(self.forces.ties, state.positions),
        } | self.shape.statistics(state, self.problem)


TrussSimulation = ParticleSimulation[Truss]


def truss(problem: Problem, options: TrussOptions) -> Truss:
    """Return the truss of a problem, with the step that the options ask for."""
    check_rest_shape(problem)
    simplices = [body for body in problem.bodies if body.cell not in ("quad", "hex")]
    if options.springs != "edges+face+body" and simplices:
        raise RheotwinError(
            f"solvers.truss.springs: {simplices[0].cell} cells have edges only; leave it out, or use quad or hex cells"
        )
    network = build_network(
        problem,
        volume_term=options.volume_term is not False,
        method=options.match,
        laws=options,
        springs=options.springs,
    )
    check_nonlinear_edges(network.nonlinear, local_volume=options.local_volume)
    network, shape = build_shape_keeping(problem, options, network, options)
    check_network(problem, network)
    ties = make_ties(problem, network, stiffness=options.tie_stiffness, damping=options.tie_damping)
    others = add_tie_matrices(shape.stiffness_and_viscosity(problem), ties, problem)
    outside = outside_forces(problem, options.forces)
    if "extra" in options.forces and options.stepper != "semi-implicit":
        raise RheotwinError('solvers.truss.forces.extra: it reads all other forces; use stepper = "semi-implicit"')
    _check_contact(problem, options.stepper)
    others = with_contact(add_outside_matrices(others, outside), problem)
    families = network_families(problem, network)
    bound = step_bound(problem, families, half_family(problem, shape), options.stepper, others)
    bound = with_contact_reason(bound, problem)
    step = chosen_step(problem, options, bound, "solvers.truss", lambda: _default_step(problem, options, bound))
    h = float(step)
    constrained = build_constraints(problem, options, options.stepper, h)
    forces = Forces(
        edges=kernel_elements(*network.linear_part, h),
        nonlinear=nonlinear_edges(network.nonlinear, h),
        cells=kernel_elements(network.cells, network.rest_volume, network.cell_constants, h),
        halves=kernel_elements(shape.halves.cells, shape.halves.length, shape.halves.constants, h),
        element_pressure=shape.element_pressure,
        global_pressure=shape.global_pressure,
        topology=shape.topology,
        ties=ties,
        constraints=constrained.packed,
        outside=outside,
    )
    return Truss(problem, options, step, bound.step, network, shape, constrained, forces)


def _check_contact(problem: Problem, stepper: StepperName) -> None:
    """Refuse laws of contact that a rule in time does not know.

    The explicit rules settle contact after their own step, by moving nodes; springs must not move them, and what
    sticks would creep.
    """
    if problem.contact is None or stepper == "semi-implicit":
        return
    if stepper == "implicit":
        raise RheotwinError(
            'solvers.truss.stepper: "implicit" knows exact, frictionless tools only; leave [contact] and the `contact` '
            'and `drive` of tools out, or use stepper = "semi-implicit"'
        )
    laws = (problem.contact.law, *problem.contact.tool_laws)
    if has_soft_contact(problem) or any(law.static_friction > 0.0 for law in laws):
        raise RheotwinError(
            f"solvers.truss.stepper: {stepper!r} knows the contact laws exact and impulse only, without friction; "
            'choose one of them, or stepper = "semi-implicit"'
        )


def _default_step(problem: Problem, options: TrussOptions, bound: StepBound) -> float:
    """Return the step [s] unless the options have one; a rule that is not stable at any has none."""
    if bound.step == 0.0:
        raise RheotwinError(
            f"solvers.truss.stepper: {options.stepper!r} diverges at any step, because of {bound.reason}; give the law "
            'a viscosity beside its springs or use stepper = "semi-implicit"'
        )
    default = options.safety * min(bound.step, problem.scene.duration)
    return min(default, problem.scene.duration / STEPS_IN_A_RUN) if options.stepper == "implicit" else default


def _general_loop(forces: Forces, state: State, boundary: Boundary) -> dict[str, Any]:
    """Return what to tell about the general loop: bytes per edge that its edges and particles take up."""
    moved = (state.edge_arms, state.nonlinear_edges, state.positions, state.velocities, state.force)
    others = (array for group in forces.nonlinear for array in (group.corners, group.numbers))
    arrays = [*forces.edges, *others, *boundary.nodes, *moved]
    size = sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))
    count = len(forces.edges.rest) + sum(len(group.corners) for group in forces.nonlinear)
    found = {"kernel": "general", "precision": "float64"}
    return found | ({"bytes_per_edge": round(size / count, 1)} if count else {})


class TrussSolver:
    """Plug-in: three-element (and any other) edges on a truss or lattice, compiled by numba."""

    name: ClassVar[str] = "truss"
    description: ClassVar[str] = "particles joined by rheological edges, on any mesh; explicit or implicit, compiled"
    options: ClassVar[type[BaseModel]] = TrussOptions
    capabilities: ClassVar[Capabilities] = Capabilities(
        dimensions=frozenset({1, 2, 3}),
        cells=ALL_CELLS,
        laws=ALL_LAWS | EDGE_LAWS,
        tools=SOLID_TOOLS,
        hanging_nodes=True,
        links=True,
        grabs=True,
        parts=True,
        cell_stress=True,
        contact=ALL_CONTACT,
    )

    def start(self, problem: Problem, options: BaseModel) -> TrussSimulation:
        """Set up the truss at time zero."""
        assert isinstance(options, TrussOptions)
        return ParticleSimulation(problem, truss(problem, options))

    def population(self, problem: Problem, options: BaseModel) -> Population:
        """Return the truss for many sets of laws at a time; raises with the reason where it has something else."""
        from rheotwin.particles.populations import TrussPopulation  # which needs the truss of this module

        assert isinstance(options, TrussOptions)
        return TrussPopulation(problem, options)
