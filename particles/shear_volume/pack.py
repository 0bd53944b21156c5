"""Elements as the arrays of the compiled loop, for steps of one size, and what their arms remember at rest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rheotwin.kernels.vectors import aligned, aligned_copy
from rheotwin.particles.base import at_rest
from rheotwin.particles.forces.elements import Elements as KernelElements
from rheotwin.particles.network import Constants
from rheotwin.particles.packing import kernel_elements
from rheotwin.particles.shear_volume import (
    cotangent_triangle,
    neo_hooke_triangle,
    seed_corners,
    seed_tetrahedron,
    tet_shear,
)
from rheotwin.particles.shear_volume.elements import AllElements, Elements
from rheotwin.particles.shear_volume.forces import Forces
from rheotwin.particles.shear_volume.group import Group, Memory, Room
from rheotwin.particles.shear_volume.lanes import CHUNK, corners_in_chunks, in_chunks
from rheotwin.particles.shear_volume.memory import pack_network
from rheotwin.particles.shear_volume.recovery import pack_recovery
from rheotwin.particles.shear_volume.seed_softening import pack_rows, with_room
from rheotwin.particles.shear_volume.softening import pack_softening
from rheotwin.particles.shear_volume.softening_constants import SofteningConstants, joined
from rheotwin.particles.shear_volume.state import State
from rheotwin.particles.shear_volume.triangle_corners import EDGES, SHAPE

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


def pack_forces(
    elements: AllElements, points: Array, h: float, stable: float = np.inf, recovery: float = np.inf
) -> Forces:
    """Pack all elements with rest points (N, 3) [m] for steps of `h` [s]; with h = 0 arms stay as they are.

    `stable` [s] is the stable step at rest, which tells where steps have to be divided, `recovery` [s] that of the
    dashpots of inverted bodies; infinite without any.
    """
    stretch, haste = h / stable, h / recovery
    simplices, quadrilaterals = elements.seed_simplices, elements.seed_quadrilaterals
    return Forces(
        cotangent=_group(elements.cotangent, _cotangent_rows(elements.cotangent, points), h, stretch),
        neo_hooke=_group(elements.neo_hooke, _metric_rows(elements.neo_hooke, points), h, stretch, haste),
        tets=_group(elements.tets, _metric_rows(elements.tets, points), h, stretch, haste),
        seed=_seed(simplices, quadrilaterals, points, h),
        cells=_pressures(simplices, h),
        quadrilaterals=_pressures(quadrilaterals, h),
        soft_seed=pack_rows(_soft_corners(simplices, quadrilaterals), h),
        soft_cells=pack_rows(_soft_pressures(simplices), h),
        soft_quadrilaterals=pack_rows(_soft_pressures(quadrilaterals), h),
        inverted=np.zeros(len(elements.channels), np.bool_),
        room=Room(aligned(SHAPE * CHUNK, float), aligned(EDGES * CHUNK, float), aligned(4 * CHUNK, float)),
    )


def without_springs(forces: Forces) -> Forces:
    """Return forces whose arms act alone, for the stress they remember."""
    changed = {}
    springs = {"cotangent": slice(cotangent_triangle.SHEAR, None), "neo_hooke": slice(4, None), "tets": slice(7, None)}
    for name, rows in springs.items():
        group = getattr(forces, name)
        constants = group.constants.reshape(len(group.constants), group.constants.shape[1] // CHUNK, CHUNK).copy()
        constants[:, rows] = 0.0
        changed[name] = group._replace(constants=constants.reshape(group.constants.shape), viscous=False)
    for name in ("seed", "cells", "quadrilaterals"):
        part = getattr(forces, name)
        changed[name] = part._replace(stiffness=0.0 * part.stiffness, viscosity=0.0 * part.viscosity)
        changed[f"soft_{name}"] = getattr(forces, f"soft_{name}")._replace(viscous=False)
    return forces._replace(**changed)


def exploded(elements: AllElements, points: Array) -> tuple[AllElements, Array, Indices]:
    """Return elements that share no nodes, their points, and the node (n,) each of their corners was."""
    changed: dict[str, Any] = {}
    nodes, first = [np.zeros(0, np.int64)], 0
    for name, kind in elements.kinds.items():
        changed[name] = replace(kind, cells=first + np.arange(kind.cells.size).reshape(kind.cells.shape))
        nodes.append(kind.cells.ravel())
        first += kind.cells.size
    node = np.concatenate(nodes)
    return replace(elements, **changed), points[node], node


def rest_state(forces: Forces, rest: Array, candidates: int = 0, multipliers: int = 0) -> State:
    """Return the state at rest positions (N, 3) [m], with room for as many candidates of contact and multipliers."""
    return State(
        **at_rest(rest, candidates),
        multipliers=np.zeros((2, multipliers)),
        part=np.zeros(1),
        divided=np.zeros(1, np.int64),
        cotangent=_no_memory(forces.cotangent, cotangent_triangle.STRAINS),
        neo_hooke=_no_memory(forces.neo_hooke, neo_hooke_triangle.STRAINS),
        tets=_no_memory(forces.tets, tet_shear.STRAINS),
        seed_arms=np.zeros_like(forces.seed.arm_stiffness),
        cell_arms=np.zeros_like(forces.cells.arm_stiffness),
        quadrilateral_arms=np.zeros_like(forces.quadrilaterals.arm_stiffness),
        seed_voigt=np.zeros_like(forces.soft_seed.size),
        cell_voigt=np.zeros_like(forces.soft_cells.size),
        quadrilateral_voigt=np.zeros_like(forces.soft_quadrilaterals.size),
    )


def _no_memory(group: Group, strains: int) -> Memory:
    """Return what a group remembers at rest: nothing."""
    chunks = len(group.constants)
    return Memory(
        np.zeros((chunks, group.shear.arm_stiffness.shape[1], strains, CHUNK)),
        np.zeros((chunks, strains, CHUNK)),
        np.zeros((chunks, group.volume.arm_stiffness.shape[1], 1, CHUNK)),
        np.zeros((chunks, 1, CHUNK)),
        np.zeros((len(group.soft_shear.size), strains, CHUNK)),
        np.zeros((len(group.soft_volume.size), 1, CHUNK)),
    )


def _group(elements: Elements, rows: Array, h: float, stretch: float, haste: float = 0.0) -> Group:
    springs = np.vstack([elements.shear.stiffness, elements.volume.stiffness])
    constants = np.concatenate([in_chunks(rows), in_chunks(springs, forces=True)], axis=1)
    shear, volume = _with_needed_arms(elements.shear), _with_needed_arms(elements.volume)
    softens = elements.soft_shear is not None or elements.soft_volume is not None
    viscous = bool(shear.viscosity.any() or volume.viscosity.any()) or softens
    short = stretch if viscous else stretch**2
    return Group(
        number=len(elements),
        corners=corners_in_chunks(elements.cells),
        constants=aligned_copy(constants, float).reshape(len(constants), constants.shape[1] * CHUNK),
        shear=pack_network(shear, h),
        volume=pack_network(volume, h),
        viscous=viscous,
        remembers=bool(shear.arm_stiffness.size or volume.arm_stiffness.size) or softens,
        stretch=stretch,
        limit=1.0 / short if short > 0.0 else np.inf,
        softens=softens,
        soft_shear=pack_softening(elements.soft_shear, h),
        soft_volume=pack_softening(elements.soft_volume, h),
        together=elements.together,
        recovery=pack_recovery(elements.recovery, elements.body, haste),
    )


def _with_needed_arms(constants: Constants) -> Constants:
    """Leave out arms that no element has."""
    used = constants.arm_stiffness.any(axis=1)
    return replace(constants, arm_stiffness=constants.arm_stiffness[used], arm_rate=constants.arm_rate[used])


def _cotangent_rows(elements: Elements, points: Array) -> Array:
    rest = cotangent_triangle.corner_cotangents(points, elements.cells)
    weights = np.maximum(cotangent_triangle.corner_weights(rest), 0.0)
    return np.vstack([0.5 / elements.rest, rest, weights])


def _metric_rows(elements: Elements, points: Array) -> Array:
    """Return 1/(d! V0) and the inverse metric of rest edges: 11, 22, 33, 12, 23, 13, and in the plane 11, 12, 22."""
    dimension = elements.cells.shape[1] - 1
    edges = (points[elements.cells[:, 1:]] - points[elements.cells[:, :1]])[:, :, :dimension]
    metric = np.linalg.inv(edges @ edges.transpose(0, 2, 1))
    pairs = ((0, 0), (0, 1), (1, 1)) if dimension == 2 else ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))
    scale = (0.5 if dimension == 2 else 1.0 / 6.0) / elements.rest
    return np.vstack([scale, *(metric[:, a, b] for a, b in pairs)])


def _per_size(constants: Constants, elements: Elements, times: int = 1) -> Constants:
    """Return constants divided by rest measures, each `times` over."""
    share = 1.0 / elements.rest
    return Constants(
        np.repeat(constants.stiffness * share, times),
        np.repeat(constants.viscosity * share, times),
        np.repeat(constants.arm_stiffness * share, times, axis=1),
        np.repeat(constants.arm_rate, times, axis=1),
    )


def _pressures(elements: Elements, h: float) -> KernelElements:
    found = kernel_elements(elements.cells, elements.rest, _per_size(elements.volume, elements), h)
    return with_room(found, _soft_pressures(elements))


def _soft_pressures(elements: Elements) -> SofteningConstants | None:
    """Return what softens of volumes, its measure over that of the elements."""
    soft = elements.soft_volume
    return None if soft is None else soft.repeated(1, elements.size / elements.rest)


def _soft_corners(simplices: Elements, quadrilaterals: Elements) -> SofteningConstants | None:
    """Return what softens of the papers' corners, in the order of their rows."""
    sorts = ((simplices, 24 if simplices.cells.shape[1] == 4 else 3), (quadrilaterals, 4))
    return joined(
        [
            (
                None if kind.soft_shear is None else kind.soft_shear.repeated(times, kind.size / kind.rest),
                times * len(kind),
            )
            for kind, times in sorts
        ]
    )


def _joined(parts: tuple[Constants, Constants]) -> Constants:
    arms = max(len(part.arm_stiffness) for part in parts)
    return Constants(
        np.concatenate([part.stiffness for part in parts]),
        np.concatenate([part.viscosity for part in parts]),
        np.concatenate([_with_arms(part.arm_stiffness, arms, 0.0) for part in parts], axis=1),
        np.concatenate([_with_arms(part.arm_rate, arms, 1.0) for part in parts], axis=1),
    )


def _with_arms(rows: Array, arms: int, unused: float) -> Array:
    """Return rows (arms, n) filled up with arms that do nothing."""
    return np.pad(rows, ((0, arms - len(rows)), (0, 0)), constant_values=unused)


def _seed(simplices: Elements, quadrilaterals: Elements, points: Array, h: float) -> KernelElements:
    if simplices.cells.shape[1] == 4:
        corners = seed_tetrahedron.tetrahedron_corners(simplices.cells)
        rest = seed_tetrahedron.shear_strains(points, corners)
        found = kernel_elements(corners, rest, _per_size(simplices.shear, simplices, 24), h)
        return with_room(found, _soft_corners(simplices, quadrilaterals))
    corners = np.concatenate(
        [
            seed_corners.triangle_corners(simplices.cells),
            seed_corners.quadrilateral_corners(quadrilaterals.cells),
        ]
    )
    constants = _joined((_per_size(simplices.shear, simplices, 3), _per_size(quadrilaterals.shear, quadrilaterals, 4)))
    found = kernel_elements(corners, seed_corners.corner_cotangents(points, corners), constants, h)
    return with_room(found, _soft_corners(simplices, quadrilaterals))
