"""Stress and energy of shear and volume elements, from their own forces.

An element taken alone pulls at its corners with F_a; its stress is sigma V0 = -sum_a F_a (x) x_a, the virial over the
rest volume as truss edges have it, whatever the element. At a node it is the average over the elements around it.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from rheotwin.arrays import Array
from rheotwin.particles import virial
from rheotwin.particles.shear_volume.elements import AllElements, Elements, measures
from rheotwin.particles.shear_volume.forces import (
    SIMPLICES,
    Forces,
    State,
    add_element_forces,
    exploded,
    pack_forces,
)
from rheotwin.particles.shear_volume.simplices import stored_energy
from rheotwin.problem import Problem
from rheotwin.tensors import INDEX_PAIRS, padded


class Stresses:
    """The elements of a problem, each alone, and how their stresses average to nodes."""

    def __init__(self, problem: Problem, elements: AllElements) -> None:
        points = padded(problem.points)
        own, alone, self._node = exploded(elements, points)
        self._forces = pack_forces(own, alone, 0.0)
        self._springless = self._forces.without_springs()
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
        force, forces = np.zeros_like(x), self._springless if memory_only else self._forces
        add_element_forces(forces, state.copied(), x, 0.0 * v if memory_only else v, 0.0, force)
        virial = np.stack([-0.5 * (force[:, a] * x[:, b] + force[:, b] * x[:, a]) for a, b in INDEX_PAIRS], axis=1)
        stress = np.asarray(self._average @ ((self._sums @ virial) / self._size[:, None]))
        stress[:, 2] += self._out_of_plane * (stress[:, 0] + stress[:, 1])
        return stress


def stored(forces: Forces, state: State, elements: AllElements) -> float:
    """Return the energy in springs and arms [J]; the papers' shear has no potential, only its volume counts."""
    x, found = state.positions, 0.0
    for name, group in forces.groups.items():
        if group.number:
            found += stored_energy(SIMPLICES[name], group, getattr(state, name), x)
    for kind, arms, voigt in (
        (elements.seed_simplices, state.cell_arms, state.cell_voigt),
        (elements.seed_quadrilaterals, state.quadrilateral_arms, state.quadrilateral_voigt),
    ):
        if len(kind):
            strain = _ratios(elements, kind, x) - 1.0
            found += virial.stored_energy(kind.volume, arms[: len(kind.volume.arm_stiffness)], strain, 1.0)
            if kind.soft_volume is not None:
                found += float(0.5 * np.sum(kind.soft_volume.size * kind.soft_volume.spring * voigt**2))
    return found


def _ratios(elements: AllElements, kind: Elements, x: Array) -> Array:
    """Return V/V0 (E,) at positions (N, 3) [m]."""
    plane = kind is elements.seed_quadrilaterals
    return measures(x, kind.cells, 2 if plane else kind.cells.shape[1] - 1) / kind.rest


def smallest_ratio(elements: AllElements, positions: Array) -> float:
    """Return the least V/V0 of all elements at positions (N, 3) [m]."""
    kinds = [kind for kind in elements.kinds.values() if len(kind)]
    return min((float(_ratios(elements, kind, positions).min()) for kind in kinds), default=np.inf)
