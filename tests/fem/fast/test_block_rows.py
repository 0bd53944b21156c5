"""Block rows: products as scipy's for every block size and precision, and their assembly for linear tetrahedra."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
from scipy.sparse import bsr_matrix, random_array
from skfem import Basis, BilinearForm, ElementTetP1, ElementVector, MeshTet
from skfem.helpers import ddot, div, sym_grad

from rheotwin.errors import RheotwinError
from rheotwin.fem.fast.block_rows import BlockRows, block_pattern, multiply_rows, stiffness, tet_geometry


def some_matrix(dimension: int, rows: int = 61, columns: int = 61, seed: int = 3) -> bsr_matrix:
    """Random blocks, with rows that have none (the first and the last among them)."""
    generator = np.random.default_rng(seed)
    pattern = random_array((rows, columns), density=0.1, format="csr", random_state=generator).toarray() != 0.0
    pattern[[0, 7, rows - 1]] = False
    blocks = np.where(pattern[:, None, :, None], generator.standard_normal((rows, dimension, columns, dimension)), 0.0)
    return bsr_matrix(blocks.reshape(rows * dimension, -1), blocksize=(dimension, dimension))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_product_is_that_of_scipy(dimension: int, dtype: type) -> None:
    """A row sums at most 61 d products of size about one: d 61 eps |A||x| bounds the rounding of any order."""
    matrix = some_matrix(dimension)
    x = np.random.default_rng(0).standard_normal(61 * dimension)
    found = BlockRows.from_sparse(matrix, dimension, dtype).product(x.astype(dtype))
    bound = dimension * 61 * np.finfo(dtype).eps * (abs(matrix) @ np.abs(x))
    assert found.dtype == dtype and np.all(np.abs(found - matrix @ x) <= bound)


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_there_and_back(dimension: int) -> None:
    matrix = some_matrix(dimension)
    rows = BlockRows.from_sparse(matrix, dimension)
    np.testing.assert_array_equal(rows.to_sparse().toarray(), matrix.toarray())
    np.testing.assert_array_equal(BlockRows.from_sparse(rows.to_sparse(), dimension).values[:-1], rows.values[:-1])
    assert rows.indptr.dtype == rows.indices.dtype == np.int32 and rows.rows == 61


def test_wide_matrices_single_rows_and_no_allocation() -> None:
    """[K_1 K_2] of an explicit step has more columns than rows."""
    matrix = some_matrix(3, columns=122)
    x = np.random.default_rng(0).standard_normal(366)
    out = np.full(183, np.nan)
    BlockRows.from_sparse(matrix, 3).product(x, out)
    np.testing.assert_allclose(out, matrix @ x, atol=1e-13)
    matrix = some_matrix(3)
    rows, x, out = BlockRows.from_sparse(matrix, 3), np.ones(183), np.full(183, 7.0)
    multiply_rows(3, rows.indptr, rows.indices, rows.values, x, out, 5, 20)
    np.testing.assert_allclose(out[15:60], (matrix @ x)[15:60], atol=1e-13)
    assert np.all(out[:15] == 7.0) and np.all(out[60:] == 7.0)
    matrix = some_matrix(3)
    rows, x, out = BlockRows.from_sparse(matrix, 3), np.ones(183), np.empty(183)
    rows.product(x, out)
    tracemalloc.start()
    for _ in range(100):
        rows.product(x, out)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < out.nbytes


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
    return np.random.default_rng(1).uniform(0.5, 2.0, (2, mesh.t.shape[1]))


@pytest.fixture(scope="module")
def reference(mesh: MeshTet, moduli: Any) -> Any:
    form = BilinearForm(lambda u, v, w: w.lame * div(u) * div(v) + 2.0 * w.shear * ddot(sym_grad(u), sym_grad(v)))
    basis = Basis(mesh, ElementVector(ElementTetP1()), intorder=0)
    return form.assemble(basis, lame=moduli[0][:, None], shear=moduli[1][:, None]).tocsr()


def test_equals_scikit_fem_in_any_orientation(mesh: MeshTet, moduli: Any, reference: Any) -> None:
    pattern = block_pattern(mesh.t.T, mesh.p.shape[1])
    matrix = stiffness(pattern, tet_geometry(mesh.p.T, mesh.t.T), *moduli).to_sparse().tocsr()
    assert abs(matrix - reference).max() <= 1e-12 * abs(reference).max()
    for i in range(mesh.p.shape[1]):
        row = pattern.indices[pattern.indptr[i] : pattern.indptr[i + 1]]
        np.testing.assert_array_equal(row, np.unique(mesh.t[:, np.any(mesh.t == i, axis=0)]))
    swapped = mesh.t.T[:, [1, 0, 2, 3]]
    matrix = stiffness(block_pattern(swapped, mesh.p.shape[1]), tet_geometry(mesh.p.T, swapped), *moduli)
    assert abs(matrix.to_sparse().tocsr() - reference).max() <= 1e-12 * abs(reference).max()
    points = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]])
    with pytest.raises(RheotwinError, match="tetrahedron 1 has no volume"):
        tet_geometry(points, np.array([[0, 1, 2, 4], [0, 1, 2, 3]]))
