"""All internal forces of a body, in the order in which a step adds them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.constraint_set import ConstraintSet
from rheotwin.kernels.compiled import compiled
from rheotwin.particles.forces.cells import add_tet_forces, add_triangle_forces
from rheotwin.particles.forces.edges import add_edge_forces
from rheotwin.particles.forces.element_pressure import add_element_pressure
from rheotwin.particles.forces.elements import Elements
from rheotwin.particles.forces.global_pressure import GlobalPressure, add_global_pressure
from rheotwin.particles.forces.nonlinear_edges import NonlinearEdges, add_nonlinear_edge_forces
from rheotwin.particles.forces.particle_on_edge import ParticlesOnEdges, add_particle_on_edge_forces
from rheotwin.particles.forces.topology import Topology, add_topology_forces
from rheotwin.particles.forces.voxel_centre import add_centre_forces
from rheotwin.particles.state import State

Array = NDArray[np.float64]


class Forces(NamedTuple):
    """Every kind of internal force; those a body does not have are empty and cost nothing."""

    edges: Elements
    nonlinear: NonlinearEdges
    cells: Elements
    halves: Elements
    element_pressure: Elements
    global_pressure: GlobalPressure
    topology: Topology
    ties: ParticlesOnEdges
    constraints: ConstraintSet
    """Not among what `add_forces` adds: they need to know the sum of all the others."""


@compiled(inside=True, allocates=True)
def add_forces(forces: Forces, state: State, h: float, force: Array) -> None:
    """Advance all internal variables by a step of `h` [s] with the current velocities, and add all forces [N]."""
    x, v = state.positions, state.velocities
    add_edge_forces(forces.edges, x, v, state.edge_arms, force)
    add_nonlinear_edge_forces(forces.nonlinear, x, v, h, state.nonlinear_edges, force)
    if forces.cells.corners.shape[1] == 3:
        add_triangle_forces(forces.cells, x, v, state.cell_arms, force)
    else:
        add_tet_forces(forces.cells, x, v, state.cell_arms, force)
    add_centre_forces(forces.halves, x, v, state.centre_arms, force)
    add_element_pressure(forces.element_pressure, x, v, force)
    add_global_pressure(forces.global_pressure, x, v, force)
    add_topology_forces(forces.topology, x, v, force)
    add_particle_on_edge_forces(forces.ties, x, v, force)
