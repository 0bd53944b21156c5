"""All internal forces of a body, in the order in which a step adds them.

Forces of other packages: what a plug-in of the entry-point group `rheotwin.forces` is, and how it is found.

A package announces a class. `options` is its table of options (a pydantic model); it is made of a problem and these,
and then adds stages to every program of the truss, its stiffness and viscosity to the stable step, and its energy to
the account. Its kernels are declared by `rheotwin.kernels.compiled.compiled` and follow their sources as ours do.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, ClassVar, NamedTuple, Protocol, cast

from pydantic import BaseModel, ValidationError
from scipy.sparse import csr_matrix

from rheotwin.arrays import Array
from rheotwin.constraints.constraint_set import ConstraintSet
from rheotwin.errors import InputFaults, RheotwinError, nearest_name
from rheotwin.kernels.stage import Stage
from rheotwin.particles.forces.cells import linear_cells
from rheotwin.particles.forces.edges import linear_edges
from rheotwin.particles.forces.elements import ElementGroup, Elements, group_stage
from rheotwin.particles.forces.global_pressure import GlobalPressure, add_global_pressure
from rheotwin.particles.forces.particle_on_edge import ParticlesOnEdges, add_particle_on_edge_forces
from rheotwin.particles.forces.topology import Topology, add_topology_forces
from rheotwin.particles.forces.voxel_centre import add_centre_forces
from rheotwin.particles.state import State
from rheotwin.problem import Problem
from rheotwin.scene.faults import option_faults

GROUP = "rheotwin.forces"


class OutsideForce(Protocol):
    """A force on particles; arrays of positions, velocities and forces are (N, 3), padded with zeros."""

    options: ClassVar[type[BaseModel]]

    def __init__(self, problem: Problem, options: Any) -> None: ...

    def matrices(self) -> tuple[csr_matrix, csr_matrix]:
        """Return stiffness [N/m] and viscosity [N s/m] on the components (N*d), or what bounds them."""

    def stages(self, x: Array, v: Array, force: Array) -> list[Stage]:
        """Return the stages that add the force [N] at positions [m] and velocities [m/s]."""

    def energy(self, x: Array) -> float:
        """Return the energy stored at positions (N, 3) [J]."""


def outside_forces(problem: Problem, asked: Mapping[str, Mapping[str, Any]]) -> tuple[OutsideForce, ...]:
    """Make the forces asked for by name, each with its options; `extra` is last, because it reads all others."""
    return tuple(_force(problem, name, asked[name]) for name in sorted(asked, key="extra".__eq__))


def _force(problem: Problem, name: str, options: Mapping[str, Any]) -> OutsideForce:
    place, known = f"solvers.truss.forces.{name}", {point.name: point for point in entry_points(group=GROUP)}
    known.setdefault("extra", EntryPoint("extra", f"{__package__}.extra:ExtraForces", GROUP))
    if name not in known:
        there = f"; installed: {', '.join(sorted(known))}"
        raise RheotwinError(f"{place}: no force is named {name!r}{nearest_name(name, known)}{there}")
    try:
        made: Any = known[name].load()
    except Exception as error:
        raise RheotwinError(f"{place}: its package cannot be loaded: {type(error).__name__}: {error}") from error
    try:
        checked = made.options.model_validate(dict(options))
    except ValidationError as error:
        raise InputFaults("solver options", option_faults(error, place, made.options.model_fields)) from None
    return cast(OutsideForce, made(problem, checked))


def add_outside_matrices(
    others: list[tuple[csr_matrix, float]], forces: tuple[OutsideForce, ...]
) -> list[tuple[csr_matrix, float]]:
    """Add stiffness and viscosity of these forces to those of what is not in the network."""
    for force in forces:
        others = [(matrix + own, bound) for (matrix, bound), own in zip(others, force.matrices(), strict=True)]
    return others


class Forces(NamedTuple):
    """Every kind of internal force; those a body does not have are empty or None and cost nothing."""

    edges: Elements
    nonlinear: tuple[ElementGroup, ...]
    cells: Elements
    halves: Elements
    element_pressure: Elements | None
    global_pressure: GlobalPressure | None
    topology: Topology | None
    ties: ParticlesOnEdges | None
    constraints: ConstraintSet
    """Not among `force_stages`: they need to know the sum of all the others."""
    outside: tuple[OutsideForce, ...] = ()
    """Forces of other packages; no compiled code sees them."""


def element_groups(forces: Forces) -> list[ElementGroup]:
    """Return what runs in every layout: edges of all laws, cells and their pressures."""
    groups = [linear_edges(forces.edges)] if len(forces.edges.corners) else []
    groups += forces.nonlinear
    cells = ((forces.cells, "cell_arms"), (forces.element_pressure, None))
    return groups + [linear_cells(kind, state) for kind, state in cells if kind is not None and len(kind.corners)]


def other_stages(forces: Forces, state: State, force: Array) -> list[Stage]:
    """Return the stages that add all forces [N] but those of `element_groups`."""
    x, v = state.positions, state.velocities
    kinds: list[tuple[Any, ...]] = [
        (add_global_pressure, forces.global_pressure),
        (add_topology_forces, forces.topology),
        (add_particle_on_edge_forces, forces.ties),
    ]
    stages = [Stage(add, (kind, x, v, force)) for add, kind in kinds if kind is not None]
    if len(forces.halves.corners):
        stages.insert(0, Stage(add_centre_forces, (forces.halves, x, v, state.centre_arms, force)))
    return stages + [stage for other in forces.outside for stage in other.stages(x, v, force)]


def force_stages(forces: Forces, state: State, force: Array | None = None) -> list[Stage]:
    """Return the stages that advance all internal variables by a step and add all forces [N] to those of the state."""
    x, v, force = state.positions, state.velocities, state.force if force is None else force
    elements = [group_stage(group, x, v, group.states_of(state), force) for group in element_groups(forces)]
    return [*elements, *other_stages(forces, state, force)]
