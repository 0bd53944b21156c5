"""Inf-sup constants on the unit square: bounded for the stable pairs, falling with h for the others (spec 5)."""

import numpy as np
import pytest

from rheotwin.fem.incompressible import mixed_form
from rheotwin.meshing.box import hex_grid, quad_grid, tet_grid, triangle_grid
from rheotwin.validation.checks.incompressible import inf_sup_constants, inf_sup_values

SIZES = pytest.mark.parametrize("sizes", [(4, 8), pytest.param((8, 16), marks=pytest.mark.exhaustive)])


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
    found, free = inf_sup_constants(name, sizes, held=held)
    assert free == [int(held == "all")] * 2  # the constant pressure of an enclosed body
    assert lowest < min(found) <= max(found) < highest
    assert found[1] > 0.95 * found[0]


@SIZES
@pytest.mark.parametrize(("name", "free_pressures"), [("node", 2), ("cell", 0)])
def test_patches_have_a_constant_that_falls_with_the_mesh_size(
    name: str, free_pressures: int, sizes: tuple[int, ...]
) -> None:
    found, free = inf_sup_constants(name, sizes, held="one side")
    assert free == [free_pressures] * 2
    assert np.log2(found[0] / found[1]) == pytest.approx(1.0, abs=0.15)


def test_an_enclosed_body_has_eight_free_pressures_per_node_and_two_per_pair() -> None:
    assert inf_sup_constants("node", (4, 8), held="all")[1] == [8, 8]
    assert inf_sup_constants("cell", (4, 8), held="all")[1] == [2, 2]


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
