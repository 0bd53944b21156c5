"""Block rows: products as scipy's for every block size and precision, and tetrahedra of both orders as scikit-fem's."""

import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import bsr_matrix, diags, random_array
from skfem import BilinearForm, MeshHex, MeshTet
from skfem.helpers import ddot, div, sym_grad

from rheotwin.errors import RheotwinError
from rheotwin.fem.fast.block_rows import BlockRows, block_pattern, multiply_rows, tet_geometry
from rheotwin.fem.fast.solids import SolidStiffness
from rheotwin.fem.space import body_space, mass_matrix, vector_basis
from rheotwin.strain import averaging_operator


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


def moved_cube(kind: Any, cells: int) -> Any:
    """Return a cube whose inner nodes have moved, in which no two elements are alike."""
    regular = kind.init_tensor(*[np.linspace(0.0, 1.0, cells + 1)] * 3)
    points = regular.p.copy()
    inner = np.setdiff1d(np.arange(points.shape[1]), regular.boundary_nodes())
    points[:, inner] += 0.05 * np.random.default_rng(0).uniform(-1, 1, (3, len(inner)))
    return kind(points, regular.t)


@pytest.fixture(scope="module")
def mesh() -> MeshTet:
    return moved_cube(MeshTet, 4)


@pytest.mark.parametrize("cell", ["tet", "hex"])
@pytest.mark.parametrize("order", [1, 2])
def test_solids_equal_scikit_fem(cell: str, order: Any) -> None:
    """Matrix, product, diagonal, strains and masses, with other moduli in every cell, and components that are held."""
    mesh = moved_cube(MeshTet if cell == "tet" else MeshHex, 3)
    space = body_space(mesh, cell, order)
    solids, basis = space.solids, vector_basis(mesh, cell, order)
    assert solids is not None and space.nodes * 3 == basis.N
    random = np.random.default_rng(1)
    lame, shear = random.uniform(0.5, 2.0, (2, mesh.t.shape[1]))
    form = BilinearForm(lambda u, v, w: w.lame * div(u) * div(v) + 2.0 * w.shear * ddot(sym_grad(u), sym_grad(v)))
    expected = form.assemble(basis, lame=lame[:, None], shear=shear[:, None]).tocsr()
    found, x = SolidStiffness(solids, space.nodes, lame, shear), random.standard_normal(basis.N)
    size = abs(expected).max()
    assert abs(found.tocsr() - expected).max() <= 1e-12 * size
    np.testing.assert_allclose(found @ x, expected @ x, rtol=0.0, atol=1e-12 * size * np.abs(x).sum())
    mass, held = random.uniform(0.0, size, basis.N), random.random(basis.N) < 0.2
    fixed = replace(found, diagonal=mass, held=held)
    free = np.where(held, 0.0, x)
    answer = np.where(held, 0.0, (expected + diags(mass)) @ free)
    for product in (fixed @ free, fixed.assembled @ free):
        np.testing.assert_allclose(product, answer, rtol=0.0, atol=1e-12 * size * np.abs(x).sum())
    np.testing.assert_allclose(fixed.inverse_diagonal(), np.where(held, 0.0, 1.0 / (expected.diagonal() + mass)))
    np.testing.assert_allclose(space.points, basis.doflocs[:, ::3].T, atol=1e-15)
    strain = (space.strain @ x).reshape(-1, 6)
    np.testing.assert_allclose(space.strains_in(...)(x), strain, atol=1e-12 * np.abs(strain).max())
    averaging = averaging_operator(basis, cell)
    np.testing.assert_allclose((space.averaging - averaging).toarray(), 0.0, atol=1e-14)
    masses = mass_matrix(mesh, cell, order).diagonal()[::3]
    np.testing.assert_allclose(space.mass_shares(), masses, rtol=1e-12)
    np.testing.assert_array_equal(space.boundary, replace(space, given=basis).boundary)


def test_the_pattern_lists_neighbours_and_flat_cells_are_refused(mesh: MeshTet) -> None:
    pattern = block_pattern(mesh.t.T, mesh.p.shape[1])
    for i in range(mesh.p.shape[1]):
        row = pattern.indices[pattern.indptr[i] : pattern.indptr[i + 1]]
        np.testing.assert_array_equal(row, np.unique(mesh.t[:, np.any(mesh.t == i, axis=0)]))
    np.testing.assert_array_equal(
        pattern.indices[pattern.places], np.broadcast_to(mesh.t.T[:, None], (mesh.nelements, 4, 4))
    )
    points = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]])
    with pytest.raises(RheotwinError, match="tetrahedron 1 has no volume"):
        tet_geometry(points, np.array([[0, 1, 2, 4], [0, 1, 2, 3]]))
