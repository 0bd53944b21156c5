"""Block-row assembly of linear tetrahedra against scikit-fem."""

from typing import Any

import numpy as np
import pytest
from skfem import Basis, BilinearForm, ElementTetP1, ElementVector, MeshTet
from skfem.helpers import ddot, div, sym_grad

from rheotwin.errors import RheotwinError
from rheotwin.fem.fast.assembly import block_pattern, stiffness, tet_geometry


@pytest.fixture(scope="module")
def mesh() -> MeshTet:
    """A cube whose inner nodes have moved, in which no two elements are alike."""
    regular = MeshTet.init_tensor(*[np.linspace(0.0, 1.0, 5)] * 3)
    points = regular.p.copy()
    inner = np.setdiff1d(np.arange(points.shape[1]), regular.boundary_nodes())
    points[:, inner] += 0.05 * np.random.default_rng(0).uniform(-1, 1, (3, len(inner)))
    return MeshTet(points, regular.t)


@pytest.fixture(scope="module")
def moduli(mesh: MeshTet) -> Any:
    """Lame's constants of every element."""
    return np.random.default_rng(1).uniform(0.5, 2.0, (2, mesh.t.shape[1]))


@pytest.fixture(scope="module")
def reference(mesh: MeshTet, moduli: Any) -> Any:
    form = BilinearForm(lambda u, v, w: w.lame * div(u) * div(v) + 2.0 * w.shear * ddot(sym_grad(u), sym_grad(v)))
    basis = Basis(mesh, ElementVector(ElementTetP1()), intorder=0)
    return form.assemble(basis, lame=moduli[0][:, None], shear=moduli[1][:, None]).tocsr()


def test_equals_scikit_fem(mesh: MeshTet, moduli: Any, reference: Any) -> None:
    pattern = block_pattern(mesh.t.T, mesh.p.shape[1])
    matrix = stiffness(pattern, tet_geometry(mesh.p.T, mesh.t.T), *moduli).to_sparse().tocsr()
    assert abs(matrix - reference).max() <= 1e-12 * abs(reference).max()
    for i in range(mesh.p.shape[1]):
        row = pattern.indices[pattern.indptr[i] : pattern.indptr[i + 1]]
        around = np.unique(mesh.t[:, np.any(mesh.t == i, axis=0)])
        np.testing.assert_array_equal(row, around)


def test_orientation_does_not_matter(mesh: MeshTet, moduli: Any, reference: Any) -> None:
    swapped = mesh.t.T[:, [1, 0, 2, 3]]
    matrix = stiffness(block_pattern(swapped, mesh.p.shape[1]), tet_geometry(mesh.p.T, swapped), *moduli)
    assert abs(matrix.to_sparse().tocsr() - reference).max() <= 1e-12 * abs(reference).max()


def test_a_flat_tetrahedron_is_named() -> None:
    points = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]])
    with pytest.raises(RheotwinError, match="tetrahedron 1 has no volume"):
        tet_geometry(points, np.array([[0, 1, 2, 4], [0, 1, 2, 3]]))
