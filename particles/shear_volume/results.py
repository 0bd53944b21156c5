"""Stress and energy of shear and volume elements, from their own forces.

An element taken alone pulls at its corners with F_a; its stress is sigma V0 = -sum_a F_a (x) x_a, the virial over the
rest volume as truss edges have it, whatever the element. At a node it is the average over the elements around it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from rheotwin.particles.cell_volume import cell_volumes
from rheotwin.particles.shear_volume.cotangent_triangle import cotangent_energy
from rheotwin.particles.shear_volume.elements import AllElements, Elements
from rheotwin.particles.shear_volume.forces import Forces, add_element_forces
from rheotwin.particles.shear_volume.neo_hooke_triangle import neo_hooke_energy
from rheotwin.particles.shear_volume.pack import exploded, pack_forces, without_springs
from rheotwin.particles.shear_volume.quadrilateral_area import quadrilateral_areas
from rheotwin.particles.shear_volume.state import State, copied
from rheotwin.particles.shear_volume.tet_shear import tet_energy
from rheotwin.particles.virial import stored_energy
from rheotwin.problem import Problem
from rheotwin.tensors import INDEX_PAIRS, padded

Array = NDArray[np.float64]


class Stresses:
    """The elements of a problem, each alone, and how their stresses average to nodes."""

    def __init__(self, problem: Problem, elements: AllElements) -> None:
        points = padded(problem.points)
        own, alone, self._node = exploded(elements, points)
        self._forces = pack_forces(own, alone, 0.0)
        self._springless = without_springs(self._forces)
        kinds = [kind for kind in elements.kinds.values() if len(kind)]
        size = np.concatenate([kind.size for kind in kinds])
        corners = np.repeat([kind.cells.shape[1] for kind in kinds], [len(kind) for kind in kinds])
        element = np.repeat(np.arange(len(size)), corners)
        share = (size / corners)[element]
        volumes = np.bincount(self._node, share, minlength=len(points))
        self._sums = csr_matrix((np.ones(len(element)), (element, np.arange(len(element)))))
        self._size = size
        self._average = csr_matrix((share / volumes[self._node], (self._node, element)), shape=(len(points), len(size)))
        ratios = [
            own.poisson if problem.dimension == 2 and problem.plane == "strain" else 0.0 for own in elements.channels
        ]
        self._out_of_plane = np.repeat(ratios, [body.mesh.p.shape[1] for body in problem.bodies])

    def of(self, state: State, *, memory_only: bool) -> Array:
        """Return the stress, or the share of it that arms remember, averaged to nodes (N, 6) [Pa]."""
        x, v = state.positions[self._node], state.velocities[self._node]
        force = np.zeros_like(x)
        add_element_forces(self._springless if memory_only else self._forces, copied(state), x, v, 0.0, force)
        virial = np.stack([-0.5 * (force[:, a] * x[:, b] + force[:, b] * x[:, a]) for a, b in INDEX_PAIRS], axis=1)
        stress = np.asarray(self._average @ ((self._sums @ virial) / self._size[:, None]))
        stress[:, 2] += self._out_of_plane * (stress[:, 0] + stress[:, 1])
        return stress


def stored(forces: Forces, state: State, elements: AllElements) -> float:
    """Return the energy in springs and arms [J]; the papers' shear has no potential, only its volume counts."""
    x, found = state.positions, 0.0
    if forces.cotangent.number:
        found += cotangent_energy(forces.cotangent, state.cotangent, x)
    if forces.neo_hooke.number:
        found += neo_hooke_energy(forces.neo_hooke, state.neo_hooke, x)
    if forces.tets.number:
        found += tet_energy(forces.tets, state.tets, x)
    if len(elements.seed_simplices):
        kind = elements.seed_simplices
        strain = cell_volumes(x, kind.cells)[0] / kind.rest - 1.0
        found += stored_energy(kind.volume, _arms(state.cell_arms, kind), strain, 1.0)
        found += _voigt_energy(kind, state.cell_voigt)
    if len(elements.seed_quadrilaterals):
        kind = elements.seed_quadrilaterals
        strain = quadrilateral_areas(x, kind.cells) / kind.rest - 1.0
        found += stored_energy(kind.volume, _arms(state.quadrilateral_arms, kind), strain, 1.0)
        found += _voigt_energy(kind, state.quadrilateral_voigt)
    return found


def _arms(arms: Array, kind: Elements) -> Array:
    """Return arms of volumes without the stress of softening networks behind them."""
    return arms[: len(kind.volume.arm_stiffness)]


def _voigt_energy(kind: Elements, d: Array) -> float:
    """Return the energy k d^2/2 [J] of Voigt parts of softening volumes."""
    soft = kind.soft_volume
    return 0.0 if soft is None else float(0.5 * np.sum(soft.size * soft.spring * d**2))


def smallest_ratio(elements: AllElements, positions: Array) -> float:
    """Return the least V/V0 of all elements at positions (N, 3) [m]."""
    ratios = [np.inf]
    for kind in elements.kinds.values():
        if len(kind):
            plane = kind is elements.seed_quadrilaterals
            measure = quadrilateral_areas(positions, kind.cells) if plane else cell_volumes(positions, kind.cells)[0]
            ratios.append(float((measure / kind.rest).min()))
    return min(ratios)
