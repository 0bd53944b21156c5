"""All forces of elements, one after the other; kinds without elements cost nothing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.kernels.blocks import Now
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.program import Clock, Program
from rheotwin.kernels.stage import Stage
from rheotwin.particles.forces.cells import linear_cells
from rheotwin.particles.forces.elements import Elements, group_stage
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


PARTS = 5
"""Kinds that say into how many parts a step has to be divided: elements of three kinds, and two that are inverted."""


def element_stages(
    forces: Forces, state: State, x: Array, v: Array, part: Array, force: Array, parts: Array
) -> list[Stage]:
    """Return the stages that advance arms to positions `x` (N, 3) [m] and add all forces at velocities `v` [m/s].

    `part` (1,) [s] is the step that led here, 0 for a whole one. `parts` (PARTS,) takes into how many parts the next
    has to be divided; it is zero before.
    """
    before = Now(part)
    groups = (
        (forces.cotangent, add_cotangent_forces, (state.cotangent, x, v, before, forces.room, force)),
        (forces.neo_hooke, add_neo_hooke_forces, (state.neo_hooke, x, v, before, forces.room, force)),
        (forces.tets, add_tet_forces, (state.tets, x, v, before, force)),
    )
    stages = [
        Stage(add(group.remembers, group.viscous, group.softens), (group, *arguments), into=parts[kind : kind + 1])
        for kind, (group, add, arguments) in enumerate(groups)
        if group.number
    ]
    stages += softening_stages(forces, state, x, v)
    stages += seed_stages(forces, state, x, v, force)
    recovering = (
        (forces.neo_hooke, mark_inverted_triangles, add_triangle_recovery),
        (forces.tets, mark_inverted_tets, add_tet_recovery),
    )
    there = [(kind, *rest) for kind, rest in enumerate(recovering, start=3) if rest[0].number]
    if there:
        inverted, marks = forces.inverted, [Stage(mark, (group, x, forces.inverted)) for _, group, mark, _ in there]
        add = [Stage(add, (group, inverted, x, v, force), into=parts[kind : kind + 1]) for kind, group, _, add in there]
        # Inverted elements ask for a look at the step: without such a look there is nothing to do.
        stages += [Stage(pass_unless_asked, (parts, inverted, len(marks) + 1 + len(add))), *marks]
        stages += [Stage(pass_unless_inverted, (inverted, len(add))), *add]
    return stages


@compiled
def pass_unless_asked(parts: Array, inverted: NDArray[np.bool_], ahead: int) -> int:
    """Skip so many stages if no element has asked for a look at the step; nothing is known to be inverted yet."""
    for body in range(inverted.shape[0]):
        inverted[body] = False
    for kind in range(parts.shape[0]):
        if parts[kind] > 0.0:
            return 0
    return ahead


@compiled
def pass_unless_inverted(inverted: NDArray[np.bool_], ahead: int) -> int:
    """Skip so many stages if no body has inverted elements."""
    for body in range(inverted.shape[0]):
        if inverted[body]:
            return 0
    return ahead


def seed_stages(forces: Forces, state: State, x: Array, v: Array, force: Array) -> list[Stage]:
    """Return the stages of the papers' elements: corners with two neighbours in the plane, three in space; volumes."""
    seed, quads, found = forces.seed, forces.quadrilaterals, []
    if len(seed.corners):
        add = add_corner_forces if seed.corners.shape[1] == 3 else add_tetrahedron_shear_forces
        found.append(Stage(add, (seed, state.seed_arms, x, v, force)))
    if len(forces.cells.corners):
        found.append(group_stage(linear_cells(forces.cells, "cell_arms"), x, v, state.cell_arms, force))
    if len(quads.corners):
        found.append(Stage(add_quadrilateral_forces, (quads, state.quadrilateral_arms, x, v, force)))
    return found


def softening_stages(forces: Forces, state: State, x: Array, v: Array) -> list[Stage]:
    """Return the stages that advance the Voigt parts of the papers' elements, before their forces are added."""
    soften = soften_corners if forces.seed.corners.shape[1] == 3 else soften_tetrahedra
    kinds = (
        (soften, forces.seed, forces.soft_seed, state.seed_voigt, state.seed_arms),
        (soften_simplices, forces.cells, forces.soft_cells, state.cell_voigt, state.cell_arms),
        (
            soften_quadrilaterals,
            forces.quadrilaterals,
            forces.soft_quadrilaterals,
            state.quadrilateral_voigt,
            state.quadrilateral_arms,
        ),
    )
    return [
        Stage(add, (elements, soft, x, v, voigt, arms)) for add, elements, soft, voigt, arms in kinds if len(soft.size)
    ]


def add_element_forces(forces: Forces, state: State, x: Array, v: Array, part: float, force: Array) -> float:
    """Take those stages once; return into how many parts the next step has to be divided."""
    parts = np.zeros(PARTS)
    Program(element_stages(forces, state, x, v, np.array([part]), force, parts), 0.0, Clock()).run(0, 1)
    return float(parts.max())


def add_seed_forces(forces: Forces, state: State, x: Array, v: Array, force: Array) -> None:
    """Add the forces of the papers' elements alone."""
    stages = [*softening_stages(forces, state, x, v), *seed_stages(forces, state, x, v, force)]
    Program(stages, 0.0, Clock()).run(0, 1)
