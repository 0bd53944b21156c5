"""Inf-sup constants on the unit square: bounded for the stable pairs, falling with h for the others (spec 5).
beta = min_p max_u int p div(u) / (|p| |grad u|): beta^2 is an eigenvalue of B H^-1 B^T p = beta^2 C p,
H the matrix of int grad u : grad v on the free components. Vanishing values are pressures that no displacement
feels (the constant of an enclosed body, checkerboards); the constant is the smallest of the others."""

from typing import Any

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import splu
from skfem import BilinearForm
from skfem.helpers import ddot, grad

from rheotwin.fem.incompressible import MixedForm, mixed_form
from rheotwin.meshing.box import hex_grid, quad_grid, tet_grid, triangle_grid

SIZES = pytest.mark.parametrize("sizes", [(4, 8), pytest.param((8, 16), marks=pytest.mark.exhaustive)])


@BilinearForm
def _gradients(u: Any, v: Any, w: Any) -> Any:
    return ddot(grad(u), grad(v))


def inf_sup_values(form: MixedForm, held: np.ndarray) -> np.ndarray:
    """Return all values beta [-] in rising order with the components `held` fixed (dense: for small meshes)."""
    free = np.setdiff1d(np.arange(form.gradient.shape[1]), held)
    norm = csc_matrix(_gradients.assemble(form.basis).tocsr()[free][:, free])
    rows = form.gradient[:, free].toarray()
    squared = eigh(rows @ splu(norm).solve(rows.T), form.mass.toarray(), eigvals_only=True)
    return np.asarray(np.sqrt(np.maximum(squared, 0.0)))


def constants(name: str, sizes: tuple[int, ...], *, held: str) -> tuple[list[float], list[int]]:
    """The inf-sup constant and the number of free pressures on each mesh, held at one side or all around."""
    found, free = [], []
    for n in sizes:
        form = mixed_form(triangle_grid(*[np.linspace(0.0, 1.0, n + 1)] * 2), "triangle", name)
        mesh = form.basis.mesh
        facets = mesh.boundary_facets() if held == "all" else mesh.facets_satisfying(lambda x: np.isclose(x[0], 0.0))
        values = inf_sup_values(form, form.basis.get_dofs(facets).all())
        # values are square roots: rounding leaves 1e-8 of a zero, and the smallest true one is above 1e-3
        zeros = int(np.count_nonzero(values < 1e-5))
        free.append(zeros)
        found.append(float(values[zeros]))
    return found, free


@SIZES
@pytest.mark.parametrize(
    ("name", "held", "lowest", "highest"),
    [
        ("mini", "all", 0.31, 0.32),
        ("mini", "one side", 0.38, 0.41),
        ("taylor-hood", "all", 0.36, 0.37),
        ("taylor-hood", "one side", 0.61, 0.62),
    ],
)
def test_stable_pairs_have_a_constant_independent_of_the_mesh(
    name: str, held: str, lowest: float, highest: float, sizes: tuple[int, ...]
) -> None:
    found, free = constants(name, sizes, held=held)
    assert free == [int(held == "all")] * 2  # the constant pressure of an enclosed body
    assert lowest < min(found) <= max(found) < highest and found[1] > 0.95 * found[0]


@SIZES
@pytest.mark.parametrize(("name", "free_pressures"), [("node", 2), ("cell", 0)])
def test_patches_have_a_constant_that_falls_with_the_mesh_size(
    name: str, free_pressures: int, sizes: tuple[int, ...]
) -> None:
    found, free = constants(name, sizes, held="one side")
    assert free == [free_pressures] * 2 and np.log2(found[0] / found[1]) == pytest.approx(1.0, abs=0.15)


def test_an_enclosed_body_has_eight_free_pressures_per_node_and_two_per_pair() -> None:
    assert constants("node", (4, 8), held="all")[1] == [8, 8]
    assert constants("cell", (4, 8), held="all")[1] == [2, 2]


@pytest.mark.parametrize(
    ("name", "cell", "sizes"),
    [
        ("taylor-hood", "quad", (4, 8)),
        pytest.param("taylor-hood", "tet", (2, 4), marks=pytest.mark.exhaustive),
        pytest.param("taylor-hood", "hex", (2, 4), marks=pytest.mark.exhaustive),
        ("mini", "tet", (2, 4)),
        ("p2-p0", "triangle", (4, 8)),
    ],
)
def test_the_other_stable_pairs_keep_their_constant(name: str, cell: str, sizes: tuple[int, int]) -> None:
    grids = {"quad": quad_grid, "tet": tet_grid, "hex": hex_grid, "triangle": triangle_grid}
    found = []
    for n in sizes:
        mesh = grids[cell](*[np.linspace(0.0, 1.0, n + 1)] * (2 if cell in ("quad", "triangle") else 3))
        form = mixed_form(mesh, cell, name)
        bottom = mesh.facets_satisfying(lambda x: np.isclose(x[0], 0.0))
        found.append(float(inf_sup_values(form, form.basis.get_dofs(bottom).all())[0]))
    assert found[1] > 0.9 * found[0] > 0.2
