"""Elements of one kind as the bounds of steps see them: constants, and the matrix any constants make at rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from scipy.sparse import csr_matrix

from rheotwin.arrays import Array
from rheotwin.particles.cell_volume import volume_matrix
from rheotwin.particles.forces.voxel_centre import half_matrix
from rheotwin.particles.network import Constants, TrussNetwork
from rheotwin.particles.shape_keeping import ShapeKeeping
from rheotwin.particles.stability import edge_matrix
from rheotwin.problem import Problem
from rheotwin.tensors import padded


@dataclass(frozen=True)
class Family:
    """Elements e with the rows g_e of their strains at rest: `matrix` (n,) -> sum_e c_e g_e g_e^T on components (N*d).

    Constants are those of the network: force per extension [N/m], or pressure per volume ratio [Pa m^(3-d)].
    """

    constants: Constants
    matrix: Callable[[Array], csr_matrix]

    def __len__(self) -> int:
        return len(self.constants.stiffness)


def network_families(problem: Problem, network: TrussNetwork) -> list[Family]:
    """Return the edges and the volume springs of a network."""
    rest, dimension = padded(problem.points), problem.dimension
    return [
        Family(network.edge_constants, lambda c: edge_matrix(problem.points, network.edges, c)),
        Family(
            network.cell_constants, lambda c: volume_matrix(rest, network.cells, c / network.rest_volume, dimension)
        ),
    ]


def half_family(problem: Problem, shape: ShapeKeeping) -> Family:
    """Return the half elements of voxels."""
    rest, dimension = padded(problem.points), problem.dimension
    halves = shape.halves
    return Family(halves.constants, lambda c: half_matrix(halves.cells, rest, c, dimension))
