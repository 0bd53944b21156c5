"""All forces of elements, one after the other; kinds without elements cost nothing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.kernels.compiled import compiled
from rheotwin.particles.forces import cells
from rheotwin.particles.forces.elements import Elements
from rheotwin.particles.shear_volume.cotangent_triangle import add_cotangent_forces
from rheotwin.particles.shear_volume.group import Group, Room
from rheotwin.particles.shear_volume.neo_hooke_triangle import (
    add_neo_hooke_forces,
    add_triangle_recovery,
    mark_inverted_triangles,
)
from rheotwin.particles.shear_volume.quadrilateral_area import (
    add_quadrilateral_forces,
    soften_quadrilaterals,
)
from rheotwin.particles.shear_volume.seed_corners import add_corner_forces, soften_corners
from rheotwin.particles.shear_volume.seed_softening import SofteningRows, soften_simplices
from rheotwin.particles.shear_volume.seed_tetrahedron import (
    add_tetrahedron_shear_forces,
    soften_tetrahedra,
)
from rheotwin.particles.shear_volume.state import State
from rheotwin.particles.shear_volume.tet_shear import add_tet_forces, add_tet_recovery, mark_inverted_tets

Array = NDArray[np.float64]


class Forces(NamedTuple):
    """Elements by kind. `seed` are the papers' corners, with area or volume in `cells` and `quadrilaterals`.

    `soft_` are what softens of these; those of the other kinds are in the groups.
    `inverted` (bodies,) and `room` are scratch.
    """

    cotangent: Group
    neo_hooke: Group
    tets: Group
    seed: Elements
    cells: Elements
    quadrilaterals: Elements
    soft_seed: SofteningRows
    soft_cells: SofteningRows
    soft_quadrilaterals: SofteningRows
    inverted: NDArray[np.bool_]
    room: Room


@compiled
def add_element_forces(forces: Forces, state: State, x: Array, v: Array, part: float, force: Array) -> float:
    """Advance arms to positions `x` (N, 3) [m], add all forces at velocities `v` [m/s].

    `part` [s] is the step that led here, 0 for a whole one. Returns into how many parts the next has to be divided.
    """
    parts = 0.0
    if forces.cotangent.number > 0:
        parts = max(parts, add_cotangent_forces(forces.cotangent, state.cotangent, x, v, part, forces.room, force))
    if forces.neo_hooke.number > 0:
        parts = max(parts, add_neo_hooke_forces(forces.neo_hooke, state.neo_hooke, x, v, part, forces.room, force))
    if forces.tets.number > 0:
        parts = max(parts, add_tet_forces(forces.tets, state.tets, x, v, part, force))
    if forces.seed.corners.shape[0] > 0:
        add_seed_forces(forces, state, x, v, force)
    # Inverted elements ask for a look at the step, so that without any there is nothing to do.
    return max(parts, add_recovery_forces(forces, x, v, force)) if parts > 0.0 else parts


@compiled(inside=True, allocates=True)
def add_recovery_forces(forces: Forces, x: Array, v: Array, force: Array) -> float:
    """Damp bodies with inverted elements; return into how many parts the step has to be divided for that."""
    parts, inverted = 0.0, forces.inverted
    inverted[:] = False
    mark_inverted_triangles(forces.neo_hooke, x, inverted)
    mark_inverted_tets(forces.tets, x, inverted)
    if inverted.any():
        parts = max(parts, add_triangle_recovery(forces.neo_hooke, inverted, x, v, force))
        parts = max(parts, add_tet_recovery(forces.tets, inverted, x, v, force))
    return parts


@compiled(allocates=True)
def add_seed_forces(forces: Forces, state: State, x: Array, v: Array, force: Array) -> None:
    """Add the forces of the papers' elements, a corner of which has two neighbours in the plane and three in space."""
    plane = forces.seed.corners.shape[1] == 3
    if len(forces.soft_seed.size):
        if plane:
            soften_corners(forces.seed, forces.soft_seed, x, v, state.seed_voigt, state.seed_arms)
        else:
            soften_tetrahedra(forces.seed, forces.soft_seed, x, v, state.seed_voigt, state.seed_arms)
    if len(forces.soft_cells.size):
        soften_simplices(forces.cells, forces.soft_cells, x, v, state.cell_voigt, state.cell_arms)
    if len(forces.soft_quadrilaterals.size):
        soften_quadrilaterals(
            forces.quadrilaterals,
            forces.soft_quadrilaterals,
            x,
            v,
            state.quadrilateral_voigt,
            state.quadrilateral_arms,
        )
    if plane:
        add_corner_forces(forces.seed, state.seed_arms, x, v, force)
        cells.add_triangle_forces(forces.cells, x, v, state.cell_arms, force)
        add_quadrilateral_forces(forces.quadrilaterals, state.quadrilateral_arms, x, v, force)
    else:
        add_tetrahedron_shear_forces(forces.seed, state.seed_arms, x, v, force)
        cells.add_tet_forces(forces.cells, x, v, state.cell_arms, force)
