"""Cubes of linear tetrahedra on a floor, as matrices."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from skfem import MeshTet

from rheotwin.fem.space import lame_matrix, shear_matrix, vector_basis

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Block:
    """A stiffness [N/m] of Lame's constants 1.5 and 1 on its free components."""

    points: Array
    free: NDArray[np.int64]
    matrix: csr_matrix


@pytest.fixture
def block() -> Callable[..., Block]:
    """Return a unit cube of `cells` along its edges; its floor is `held`, `rollers` hold y on one side as well."""

    def build(cells: int, *, rollers: bool = False, held: bool = True) -> Block:
        mesh = MeshTet.init_tensor(*[np.linspace(0.0, 1.0, cells + 1)] * 3)
        basis = vector_basis(mesh, "tet")
        points = np.ascontiguousarray(mesh.p.T)
        fixed = np.repeat(((points[:, 2] == 0.0) & held)[:, None], 3, axis=1)
        if rollers:
            fixed[points[:, 1] == 0.0, 1] = True
        free = np.flatnonzero(~fixed.ravel())
        matrix = (1.5 * lame_matrix(basis) + shear_matrix(basis)).tocsr()
        return Block(points, free, matrix[free][:, free])

    return build
