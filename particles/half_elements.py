"""Half elements from the corners of voxels to their centre in the place of a lattice's diagonals (calibration M2).

A half element has the constants of the law of its voxel, times the share of its diagonal, times a scale.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rheotwin.particles.edge_laws import voxel_laws
from rheotwin.particles.forces.voxel_centre import diagonal_edges, half_vectors
from rheotwin.particles.law_options import LawOptions
from rheotwin.particles.network import Constants, TrussNetwork, stack_constants
from rheotwin.problem import Problem

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class HalfElements:
    """Cells (nC, 2^d) in global node numbers, and one rest length [m] and one set of constants for each corner."""

    cells: Indices
    length: Array
    constants: Constants


def no_half_elements(network: TrussNetwork, dimension: int) -> HalfElements:
    """Return none, with as many arms as edges have."""
    none = np.zeros((0, 2**dimension), np.int64)
    return HalfElements(none, np.zeros(0), _chosen(network.edge_constants, none.ravel()))


def halve_diagonals(
    problem: Problem, network: TrussNetwork, cells: Indices, rest: Array, scale: float, laws: LawOptions
) -> tuple[TrussNetwork, HalfElements]:
    """Return the network without the diagonals of all `cells` (nC, 2^d) and the half elements in their place."""
    diagonal = diagonal_edges(cells, network.edges)
    own_cells = [body.mesh.t.T.astype(np.int64) for body in problem.bodies]
    voxels = [np.repeat(own, own.shape[1], axis=0) for own in own_cells]
    constants = stack_constants(voxel_laws(problem, laws), voxels, scale * network.edge_share[diagonal])
    kept = np.setdiff1d(np.arange(len(network.edges)), diagonal)
    without = replace(
        network,
        edges=np.ascontiguousarray(network.edges[kept]),
        rest_length=network.rest_length[kept],
        edge_share=network.edge_share[kept],
        edge_constants=_chosen(network.edge_constants, kept),
        node_share=network.node_share[:, kept],
    )
    return without, HalfElements(cells, np.linalg.norm(half_vectors(cells, rest), axis=1), constants)


def _chosen(constants: Constants, chosen: Indices) -> Constants:
    """Return the constants of chosen elements."""
    return Constants(
        stiffness=constants.stiffness[chosen],
        viscosity=constants.viscosity[chosen],
        arm_stiffness=np.ascontiguousarray(constants.arm_stiffness[:, chosen]),
        arm_rate=np.ascontiguousarray(constants.arm_rate[:, chosen]),
    )
