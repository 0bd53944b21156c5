"""All internal forces of a body, in the order in which a step adds them."""

from __future__ import annotations

from typing import Any, NamedTuple

from rheotwin.arrays import Array
from rheotwin.constraints.constraint_set import ConstraintSet
from rheotwin.kernels.stage import Stage
from rheotwin.particles.forces.cells import linear_cells
from rheotwin.particles.forces.edges import linear_edges
from rheotwin.particles.forces.elements import ElementGroup, Elements, group_stage
from rheotwin.particles.forces.global_pressure import GlobalPressure, add_global_pressure
from rheotwin.particles.forces.outside import OutsideForce
from rheotwin.particles.forces.particle_on_edge import ParticlesOnEdges, add_particle_on_edge_forces
from rheotwin.particles.forces.topology import Topology, add_topology_forces
from rheotwin.particles.forces.voxel_centre import add_centre_forces
from rheotwin.particles.state import State


class Forces(NamedTuple):
    """Every kind of internal force; those a body does not have are empty and cost nothing."""

    edges: Elements
    nonlinear: tuple[ElementGroup, ...]
    cells: Elements
    halves: Elements
    element_pressure: Elements
    global_pressure: GlobalPressure
    topology: Topology
    ties: ParticlesOnEdges
    constraints: ConstraintSet
    """Not among `force_stages`: they need to know the sum of all the others."""
    outside: tuple[OutsideForce, ...] = ()
    """Forces of other packages; no compiled code sees them."""


def element_groups(forces: Forces) -> list[ElementGroup]:
    """Return what runs in every layout: edges of all laws, cells and their pressures."""
    groups = [linear_edges(forces.edges)] if len(forces.edges.corners) else []
    groups += forces.nonlinear
    cells = ((forces.cells, "cell_arms"), (forces.element_pressure, None))
    return groups + [linear_cells(kind, state) for kind, state in cells if len(kind.corners)]


def other_stages(forces: Forces, state: State, force: Array) -> list[Stage]:
    """Return the stages that add all forces [N] but those of `element_groups`."""
    x, v = state.positions, state.velocities
    kinds: list[tuple[Any, ...]] = [
        (forces.halves.corners, add_centre_forces, (forces.halves, x, v, state.centre_arms)),
        (forces.global_pressure.rest, add_global_pressure, (forces.global_pressure, x, v)),
        (forces.topology.vertex, add_topology_forces, (forces.topology, x, v)),
        (forces.ties.particle, add_particle_on_edge_forces, (forces.ties, x, v)),
    ]
    stages = [Stage(add, (*arguments, force)) for acts_on, add, arguments in kinds if len(acts_on)]
    return stages + [stage for other in forces.outside for stage in other.stages(x, v, force)]


def force_stages(forces: Forces, state: State, force: Array | None = None) -> list[Stage]:
    """Return the stages that advance all internal variables by a step and add all forces [N] to those of the state."""
    x, v, force = state.positions, state.velocities, state.force if force is None else force
    elements = [group_stage(group, x, v, group.states_of(state), force) for group in element_groups(forces)]
    return [*elements, *other_stages(forces, state, force)]
