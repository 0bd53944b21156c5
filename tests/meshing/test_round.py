"""Discs, balls and cylinders: exact rims, second-order measures, bounded quality."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from rheotwin.meshing import (
    CylinderShape,
    SphereShape,
    boundary_nodes,
    check_elements,
    element_measures,
    make_shape,
    quality_report,
)
from rheotwin.meshing.round import extruded, unit_ball

RADIUS, HEIGHT = 0.7, 1.4
BUILD: dict[str, tuple[Callable[[int, str], object], float]] = {
    "disc": (lambda n, cell: SphereShape(RADIUS, n, cell), np.pi * RADIUS**2),
    "ball": (lambda n, cell: SphereShape(RADIUS, n, cell), 4.0 / 3.0 * np.pi * RADIUS**3),
    "cylinder": (lambda n, cell: CylinderShape(RADIUS, HEIGHT, (n, n), cell), np.pi * RADIUS**2 * HEIGHT),
}
KINDS = [
    ("disc", "triangle"),
    ("disc", "quad"),
    ("ball", "tet"),
    ("ball", "hex"),
    ("cylinder", "tet"),
    ("cylinder", "hex"),
]


@pytest.mark.parametrize(("shape", "cell"), KINDS)
def test_measure_converges_with_order_two(shape: str, cell: str) -> None:
    """Vertices on the rim leave chords, whose missing measure shrinks with h^2."""
    build, exact = BUILD[shape]
    counts = np.array([8, 16, 24])
    errors = np.array([exact - element_measures(make_shape(build(n, cell))).sum() for n in counts])
    assert np.all(errors > 0.0)
    order = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
    # the next term is h^4: relative size below 5 % at 8 cells
    assert order == pytest.approx(2.0, abs=0.05)


@pytest.mark.parametrize("cells", range(1, 13))
@pytest.mark.parametrize(("shape", "cell"), KINDS)
def test_every_element_is_good_at_any_resolution(shape: str, cell: str, cells: int) -> None:
    # measured minima over 1..24 cells: triangle 0.451, quad 0.515, tet 0.456, hex 0.579
    bound = {"triangle": 0.43, "quad": 0.5, "tet": 0.44, "hex": 0.56}[cell]
    mesh = make_shape(BUILD[shape][0](cells, cell))
    check_elements(mesh, shape)
    assert quality_report(mesh).quality_min > bound


@pytest.mark.parametrize("cell", ["triangle", "quad", "tet", "hex"])
def test_boundary_nodes_lie_on_the_circle_or_sphere(cell: str) -> None:
    mesh = make_shape(SphereShape(RADIUS, 8, cell))
    distance = np.linalg.norm(mesh.p, axis=0)
    rim = boundary_nodes(mesh)
    assert distance[rim] == pytest.approx(RADIUS, rel=1e-14)
    assert np.delete(distance, rim).max() < 0.9 * RADIUS


@pytest.mark.parametrize("cells", [4, 7, 8])
def test_the_rim_of_a_disc_is_a_regular_polygon(cells: int) -> None:
    mesh = make_shape(SphereShape(RADIUS, cells, "quad"))
    x, y = mesh.p[:, boundary_nodes(mesh)]
    turns = np.diff(np.sort(np.arctan2(y, x)))
    np.testing.assert_allclose(turns, 2.0 * np.pi / len(x), rtol=1e-12)


def test_cylinder_stands_on_the_origin() -> None:
    mesh = make_shape(CylinderShape(RADIUS, HEIGHT, (6, 4), "hex"))
    assert mesh.p.min(axis=1) == pytest.approx([-RADIUS, -RADIUS, 0.0])
    assert mesh.p.max(axis=1) == pytest.approx([RADIUS, RADIUS, HEIGHT])


@pytest.mark.parametrize(("cells", "core", "rings"), [(1, 1, 0), (2, 2, 0), (3, 1, 1), (8, 4, 2), (11, 5, 3)])
def test_numbers_of_cells(cells: int, core: int, rings: int) -> None:
    assert core + 2 * rings == cells
    assert unit_ball(cells, 2).cells.shape[1] == core**2 + 4 * core * rings
    assert unit_ball(cells, 3).cells.shape[1] == core**3 + 6 * core**2 * rings


@pytest.mark.parametrize("dimension", [2, 3])
def test_every_edge_joins_an_even_and_an_odd_vertex(dimension: int) -> None:
    grid = unit_ball(7, dimension)
    edges = grid.mesh("quad" if dimension == 2 else "hex")
    pairs = edges.facets if dimension == 2 else edges.edges
    assert np.all(grid.odd[pairs[0]] != grid.odd[pairs[1]])
    if dimension == 2:
        tower = extruded(grid, np.linspace(0.0, 1.0, 4))
        pairs = tower.mesh("hex").edges
        assert np.all(tower.odd[pairs[0]] != tower.odd[pairs[1]])


@pytest.mark.parametrize("cell", ["triangle", "tet"])
def test_even_counts_are_mirror_symmetric(cell: str) -> None:
    mesh = make_shape(SphereShape(RADIUS, 8, cell))
    pictures = []
    for sign in (1.0, -1.0):
        points = np.round(mesh.p.T * np.array([sign, *[1.0] * (mesh.p.shape[0] - 1)]), 9) + 0.0
        pictures.append({frozenset(map(tuple, points[cell].tolist())) for cell in mesh.t.T})
    assert pictures[0] == pictures[1]
