"""A truss on its way: state, results, energy and checkpoints around the compiled loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError
from scipy.sparse import diags

from rheotwin.constraints.contact.loose import warn_of_loose_contacts
from rheotwin.constraints.contact.lumped import look_back
from rheotwin.constraints.contact.pack import grown, restore_contact, save_contact
from rheotwin.errors import RheotwinError
from rheotwin.particles.boundary_report import contact_forces, reactions, tool_poses
from rheotwin.particles.cell_volume import cell_volumes, volume_rates
from rheotwin.particles.chosen_step import chosen_step
from rheotwin.particles.constraint_options import ConstraintOptions, build_constraints
from rheotwin.particles.contact_bounds import check_contact, with_contact, with_contact_reason
from rheotwin.particles.contact_report import contact_statistics
from rheotwin.particles.edge_laws import check_nonlinear_edges
from rheotwin.particles.edge_motion import edge_motion
from rheotwin.particles.element_match import Method
from rheotwin.particles.forces.all_forces import Forces
from rheotwin.particles.forces.nonlinear_edges import nonlinear_edges, nonlinear_energy, relaxing_tension
from rheotwin.particles.forces.outside import add_outside_matrices, outside_forces
from rheotwin.particles.forces.particle_on_edge import add_tie_matrices, make_ties, tie_energy, tie_statistics
from rheotwin.particles.kernel_choice import KernelOptions, fast_body
from rheotwin.particles.law_options import LawOptions
from rheotwin.particles.mirror import Mirror
from rheotwin.particles.network import build_network
from rheotwin.particles.packing import kernel_elements, pack_boundary, pack_held
from rheotwin.particles.response import response, stored_energy
from rheotwin.particles.rest_check import check_network, check_rest_shape
from rheotwin.particles.shape_keeping import build_shape_keeping
from rheotwin.particles.shape_options import ShapeOptions
from rheotwin.particles.state import TENSION, State
from rheotwin.particles.steppers.advisor import step_bound
from rheotwin.particles.steppers.bounds import StepBound
from rheotwin.particles.steppers.choose import STEPS_IN_A_RUN, StepperName, make_stepper
from rheotwin.particles.steppers.families import half_family, network_families
from rheotwin.particles.virial import (
    averaging,
    edge_virial,
    isotropic,
    nodal_volumes,
    out_of_plane_ratio,
    strain_ratio,
)
from rheotwin.problem import Problem
from rheotwin.schedule import time_of
from rheotwin.solver import RUNAWAY, check_same_step
from rheotwin.strain import VertexStrain, vertex_strain
from rheotwin.tensors import padded, von_mises

Array = NDArray[np.float64]


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
        default_factory=dict, description="forces of other packages, by name, each with its options"
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
    def _voxel_laws_need_voxels(self) -> Self:
        for name in ("voxel_laws", "voxel_surface_laws"):
            if getattr(self, name) and not self.local_volume:
                raise PydanticCustomError(
                    "voxel_laws", f"`{name}` has no effect without the half elements of `local_volume = true`"
                )
        return self


class TrussSimulation:
    """Positions and velocities are (N, 3), arm states (arms, elements); everything else is constant."""

    def __init__(self, problem: Problem, options: TrussOptions) -> None:
        self._problem = problem
        rest = padded(problem.points)
        check_rest_shape(problem)
        network = build_network(
            problem, volume_term=options.volume_term is not False, method=options.match, laws=options
        )
        check_nonlinear_edges(network.nonlinear, local_volume=options.local_volume)
        self._network, self._shape = network, shape = build_shape_keeping(problem, options, network, options)
        check_network(problem, network)
        ties = make_ties(problem, network, stiffness=options.tie_stiffness, damping=options.tie_damping)
        others = add_tie_matrices(shape.stiffness_and_viscosity(problem), ties, problem)
        self._outside = outside_forces(problem, options.forces)
        others = add_outside_matrices(others, self._outside)
        check_contact(problem, options.stepper)
        others = with_contact(others, problem)
        bound = step_bound(
            problem, network_families(problem, network), half_family(problem, shape), options.stepper, others
        )
        bound = with_contact_reason(bound, problem)
        self.stable_step = bound.step
        self._step = chosen_step(problem, options, bound, lambda: _default_step(problem, options, bound))
        self.step_size = float(self._step)
        self.step_count = 0
        self._held = pack_held(problem)
        self._constrained = build_constraints(problem, options, options.stepper, self.step_size)
        eliminated = problem if options.supports == "eliminated" else replace(problem, prescribed=())
        self._boundary = pack_boundary(eliminated, RUNAWAY * problem.extent)
        self._forces = Forces(
            edges=kernel_elements(*network.linear_part, self.step_size),
            nonlinear=nonlinear_edges(network.nonlinear, self.step_size),
            cells=kernel_elements(network.cells, network.rest_volume, network.cell_constants, self.step_size),
            halves=kernel_elements(shape.halves.cells, shape.halves.length, shape.halves.constants, self.step_size),
            element_pressure=shape.element_pressure,
            global_pressure=shape.global_pressure,
            topology=shape.topology,
            ties=ties,
            constraints=self._constrained.packed,
            outside=self._outside,
        )
        state = State(
            positions=rest.copy(),
            velocities=np.zeros_like(rest),
            edge_arms=np.zeros_like(self._forces.edges.arm_stiffness),
            nonlinear_edges=np.zeros((2, len(network.edges) - network.linear_edges)),
            cell_arms=np.zeros_like(self._forces.cells.arm_stiffness),
            centre_arms=np.zeros_like(self._forces.halves.arm_stiffness),
            force=np.zeros_like(rest),
            contact_force=np.zeros((len(self._boundary.tools.candidate), 3)),
            reaction=np.zeros_like(rest),
            multipliers=np.zeros(self._constrained.count),
        )
        self._options = options
        self._bind(state)
        self.advance(0.0, 0)  # compiles the loop, so that set-up and not the first step pays for it
        self._nodal_volumes = volumes = nodal_volumes(problem)
        self._edge_average = diags(1.0 / volumes) @ network.node_share
        self._cell_average = averaging(network.cells, network.rest_volume, volumes)
        self._out_of_plane = out_of_plane_ratio(problem)

    def _bind(self, state: State) -> None:
        """Bind the state and the boundary, as they are now, to the loop that steps them."""
        stepper = self._options.stepper
        self._stepper = make_stepper(stepper, self._forces, state, self._boundary, self.step_size)
        body = fast_body(self._options, stepper, self._forces, state, self._boundary, self.step_size)
        self._mirror = Mirror(state, self._stepper.take, body)

    @property
    def _state(self) -> State:
        return self._mirror.state

    @property
    def time(self) -> float:
        """Time reached [s]."""
        return time_of(self._step, self.step_count)

    @property
    def positions(self) -> Array:
        """Current node positions (N, d) [m]."""
        return self._mirror.look("positions")[:, : self._problem.dimension]

    @property
    def velocities(self) -> Array:
        """Current node velocities (N, d) [m/s]."""
        return self._mirror.look("velocities")[:, : self._problem.dimension]

    def _take(self, count: int) -> int:
        look_back(self._boundary.contact, self.velocities)
        return self._mirror.take(self.step_count, count)

    def advance(self, until: float, max_steps: int) -> None:
        """Step towards `until` [s], at most `max_steps` steps."""
        wanted = round(until / self.step_size) - self.step_count
        count = max(0, min(wanted, max_steps))
        contact = self._boundary.contact
        if contact is None or contact.bodies is None:
            self.step_count += self._take(count)
            warn_of_loose_contacts(contact, "truss")
            return
        before = self.save()
        taken = self._take(count)
        while contact.full[0]:  # lists of neighbours outgrew their room: take the steps again with more
            contact = grown(contact)
            self._boundary = self._boundary._replace(contact=contact)
            self.restore(before)
            self._bind(self._state)
            taken = self._take(count)
        self.step_count += taken
        warn_of_loose_contacts(contact, "truss")

    def _edge_tension(self) -> tuple[Array, Array, Array]:
        """Return edge vectors (M, 3) [m], tension of the relaxing arms and total tension [N]."""
        x, v = self._state.positions, self._state.velocities
        vectors, lengths, rates = edge_motion(x, v, self._network.edges)
        _, rest_length, constants = self._network.linear_part
        linear = len(rest_length)
        extension = lengths[:linear] - rest_length
        memory, total = response(constants, self._state.edge_arms, extension, rates[:linear])
        springs = relaxing_tension(self._network.nonlinear, self._state.nonlinear_edges)
        tension = self._state.nonlinear_edges[TENSION]
        return vectors, np.concatenate([memory, springs]), np.concatenate([total, tension])

    def _cell_tension(self) -> tuple[Array, Array]:
        """Return the arms' share of each cell's tension (minus its pressure) and all of it [Pa m^(3-d)]."""
        network = self._network
        volumes, gradients = cell_volumes(self._state.positions, network.cells)
        rates = volume_rates(gradients, self._state.velocities, network.cells) / network.rest_volume
        strain = volumes / network.rest_volume - 1.0
        return response(network.cell_constants, self._state.cell_arms, strain, rates)

    def _stresses(self) -> tuple[Array, Array]:
        """Return the memory stress and the whole stress, averaged to nodes (N, 6) [Pa]."""
        vectors, *edge = self._edge_tension()
        memory, total = (
            self._edge_average @ edge_virial(vectors, self._network.rest_length, tension)
            + isotropic(self._cell_average @ pull, self._problem.dimension)
            for tension, pull in zip(edge, self._cell_tension(), strict=True)
        )
        kept = self._shape.stresses(self._state, self._nodal_volumes, self._problem)
        for stress, part in zip((memory, total), kept, strict=True):
            stress += part
            stress[:, 2] += self._out_of_plane * (stress[:, 0] + stress[:, 1])
        return memory, total

    @cached_property
    def _strains(self) -> tuple[VertexStrain, ...]:
        """Maps from the displacements of each body to the strains of its cells, made when first asked for."""
        problem = self._problem
        return tuple(vertex_strain(b.mesh, b.cell, out_of_plane=strain_ratio(b, problem)) for b in problem.bodies)

    def _strain(self, displacement: Array) -> Array:
        """Return the small strain of the mesh cells, averaged to nodes (N, 6)."""
        pairs = zip(self._strains, self._problem.bodies, strict=True)
        return np.concatenate([strain.of(displacement[body.nodes]) for strain, body in pairs])

    def fields(self) -> dict[str, Array]:
        """Return the nodal results under their common names."""
        memory, stress = self._stresses()
        displacement = self._state.positions - self._boundary.nodes.rest
        return {
            "displacement": displacement,
            "velocity": self._state.velocities.copy(),
            "stress": stress,
            "strain": self._strain(displacement[:, : self._problem.dimension]),
            "von_mises_stress": von_mises(stress),
            "memory_stress": memory,
            "contact_force": contact_forces(self._boundary, self._state),
        }

    def reactions(self) -> dict[str, Array]:
        """Return the force (d,) [N] the bodies exert on each tool and support."""
        found = reactions(self._problem, self._boundary, self._held, self._state)
        return found | self._constrained.tensions(self._problem, self._state.positions, self._state.multipliers)

    def energy(self) -> dict[str, float]:
        """Return kinetic and stored energy [J]: m v^2/2 and (k dd^2 + sum kappa z^2)/2 of edges and cells."""
        network, state = self._network, self._state
        _, lengths, _ = edge_motion(state.positions, state.velocities, network.edges)
        volumes, _ = cell_volumes(state.positions, network.cells)
        _, rest_length, constants = network.linear_part
        linear = len(rest_length)
        stored = stored_energy(constants, state.edge_arms, lengths[:linear] - rest_length, 1.0)
        stored += nonlinear_energy(network.nonlinear, state.nonlinear_edges, lengths[linear:])
        stored += stored_energy(
            network.cell_constants, state.cell_arms, volumes / network.rest_volume - 1.0, network.rest_volume
        )
        stored += self._shape.energy(state) + tie_energy(self._forces.ties, state.positions)
        stored += sum(force.energy(state.positions) for force in self._outside)
        kinetic = 0.5 * np.sum(self._boundary.nodes.mass[:, None] * state.velocities**2)
        return {"kinetic": float(kinetic), "stored": float(stored)}

    def statistics(self) -> dict[str, Any]:
        """Return the size of the truss and how well its elements match the law."""
        return {
            **self._stepper.statistics(self.step_count),
            **self._mirror.statistics(self._forces, self._boundary),
            **self._constrained.statistics(self.step_count),
            **contact_statistics(self._boundary.contact),
            "edges": len(self._network.edges),
            "volume_cells": len(self._network.cells),
            "material_match": self._network.matches,
            **tie_statistics(self._forces.ties, self._state.positions),
        } | self._shape.statistics(self._state, self._problem)

    def tool_poses(self) -> Array:
        """Return where the tools are: (T, 4) [m, m, m, rad]."""
        return tool_poses(self._problem, self._boundary, self.time)

    def save(self) -> dict[str, Array]:
        """Return the complete state."""
        state = {name: array.copy() for name, array in self._state._asdict().items()}
        if self._boundary.contact is not None:
            state |= save_contact(self._boundary.contact)
        return state | {"step_count": np.array(self.step_count), "step_size": np.array(self.step_size)}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Take over a saved state."""
        check_same_step(state, self.step_size)
        for name, array in self._state._asdict().items():
            array[...] = state[name]
        if self._boundary.contact is not None:
            contact = restore_contact(self._boundary.contact, state)
            if contact is not self._boundary.contact:
                self._boundary = self._boundary._replace(contact=contact)
                self._bind(self._state)
        self.step_count = int(state["step_count"])


def _default_step(problem: Problem, options: TrussOptions, bound: StepBound) -> float:
    """Return the step [s] unless the options have one; a rule that is not stable at any has none."""
    if bound.step == 0.0:
        raise RheotwinError(
            f"solvers.truss.stepper: {options.stepper!r} diverges at any step, because of {bound.reason}; give the law "
            'a viscosity beside its springs or use stepper = "semi-implicit"'
        )
    default = options.safety * min(bound.step, problem.scene.duration)
    return min(default, problem.scene.duration / STEPS_IN_A_RUN) if options.stepper == "implicit" else default
