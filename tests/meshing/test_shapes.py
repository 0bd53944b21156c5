"""Boxes, discs, balls, cylinders and L-shapes: measures, numbering, symmetry, quality, finer cells, refusals."""

from collections.abc import Callable

import numpy as np
import pytest

from rheotwin import meshing
from rheotwin.errors import RheotwinError
from rheotwin.meshing import BoxShape, CylinderShape, GridShape, LShape, Mesh, ShapeSpec, SphereShape, TriangleShape
from rheotwin.meshing.round import extruded, unit_ball

X, Y, Z = [0.0, 0.3, 1.0, 1.1], [0.0, 0.5, 0.6], [0.0, 0.2, 1.0]
RADIUS, HEIGHT = 0.7, 1.4
BUILD: dict[str, tuple[Callable[[int, str], ShapeSpec], float]] = {
    "disc": (lambda n, cell: SphereShape(RADIUS, n, cell), np.pi * RADIUS**2),
    "ball": (lambda n, cell: SphereShape(RADIUS, n, cell), 4.0 / 3.0 * np.pi * RADIUS**3),
    "cylinder": (lambda n, cell: CylinderShape(RADIUS, HEIGHT, (n, n), cell), np.pi * RADIUS**2 * HEIGHT),
}
ROUND = [(shape, cell) for shape in BUILD for cell in (("triangle", "quad") if shape == "disc" else ("tet", "hex"))]


def picture(mesh: Mesh, mirror: float | None = None) -> set[frozenset[tuple[float, ...]]]:
    """Elements as sets of their vertices' coordinates, mirrored at x = mirror if that is given."""
    points = mesh.p.T.copy()
    if mirror is not None:
        points[:, 0] = 2.0 * mirror - points[:, 0]
    points = np.round(points, 9) + 0.0
    return {frozenset(map(tuple, points[cell].tolist())) for cell in mesh.t.T}


def test_graded_grids_fill_their_box_in_order_and_in_equal_parts() -> None:
    meshes = [meshing.triangle_grid(X, Y, pattern=pattern) for pattern in ("se-nw", "sw-ne", "alternating")]
    meshes += [
        meshing.quad_grid(X, Y),
        meshing.hex_grid(X, Y, Z),
        *(meshing.tet_grid(X, Y, Z, split=split) for split in ("five", "six")),
    ]
    assert [meshing.element_measures(mesh).sum() for mesh in meshes] == pytest.approx([0.66] * 7, rel=1e-14)
    assert meshing.element_measures(meshing.line(X)).sum() == pytest.approx(1.1, rel=1e-14)
    assert meshing.hex_grid(X, Y, Z).p[:, 2 + 4 * (1 + 3 * 2)] == pytest.approx([X[2], Y[1], Z[2]])
    volumes = meshing.element_measures(meshing.tet_grid([0, 1, 2], [0, 1, 2], [0, 1, 2])).reshape(8, 5)
    assert volumes == pytest.approx(np.tile([1 / 3, 1 / 6, 1 / 6, 1 / 6, 1 / 6], (8, 1)), rel=1e-13)
    mesh = meshing.tet_grid(*[np.arange(5.0)] * 3)
    degree = np.bincount(meshing.truss_edges(mesh).ravel())
    inside = ((mesh.p > 0) & (mesh.p < 4)).all(axis=0)
    even = mesh.p.sum(axis=0) % 2 == 0
    assert (set(degree[inside & even]), set(degree[inside & ~even])) == ({18}, {6})


@pytest.mark.parametrize(
    ("pattern", "cells"),
    [
        ("se-nw", [[0, 1, 3], [1, 4, 3], [1, 2, 4], [2, 5, 4]]),  # the papers' mesh: SW, SE, NW and SE, NE, NW
        ("sw-ne", [[0, 1, 4], [0, 4, 3], [1, 2, 5], [1, 5, 4]]),
        ("alternating", [[0, 1, 3], [1, 4, 3], [1, 2, 5], [1, 5, 4]]),
    ],
)
def test_patterns_of_triangles(pattern: str, cells: list[list[int]]) -> None:
    assert meshing.triangle_grid([0, 1, 2], [0, 1], pattern=pattern).t.T.tolist() == cells


@pytest.mark.parametrize("split", ["five", "six"])
def test_face_diagonals_of_neighbours_match(split: str) -> None:
    """Conforming: every face belongs to two tets, or to one and then lies in a side of the box."""
    mesh = meshing.tet_grid(X, Y, Z, split=split)
    counts = np.bincount(mesh.t2f.ravel())
    assert set(counts.tolist()) == {1, 2}
    boundary = mesh.p[:, mesh.facets[:, counts == 1]]
    flat = [(boundary[axis] == bound).all(axis=0) for axis in range(3) for bound in (0.0, (1.1, 0.6, 1.0)[axis])]
    assert np.any(flat, axis=0).all()


@pytest.mark.parametrize(
    ("cells", "pattern", "mirrored"),
    [
        ((4, 2), "alternating", True),
        ((4, 2), "se-nw", False),
        ((3, 2), "alternating", False),
        ((4, 2, 2), "five", True),
        ((3, 2, 2), "five", False),
        ((4, 2, 2), "six", False),
    ],
)
def test_odd_particle_counts_keep_mirror_symmetry(cells: tuple[int, ...], pattern: str, mirrored: bool) -> None:
    mesh = meshing.make_shape(BoxShape(tuple(float(count) for count in cells), cells, pattern=pattern))
    assert (picture(mesh, 0.5 * cells[0]) == picture(mesh)) is mirrored


@pytest.mark.parametrize("axis", [[0.0], [0.0, 0.0], [1.0, 0.5], [0.0, np.nan], [[0.0, 1.0]]])
def test_axes_that_do_not_increase_are_refused(axis: list[float]) -> None:
    with pytest.raises(RheotwinError, match="along y must be at least two finite numbers, strictly increasing"):
        meshing.quad_grid([0.0, 1.0], axis)


@pytest.mark.parametrize(("shape", "cell"), ROUND)
def test_round_bodies_converge_with_order_two_of_good_elements(shape: str, cell: str) -> None:
    """Vertices on the rim leave chords, whose missing measure shrinks with h^2."""
    build, exact = BUILD[shape]
    counts = np.array([8, 16, 24])
    errors = np.array([exact - meshing.element_measures(meshing.make_shape(build(n, cell))).sum() for n in counts])
    assert np.all(errors > 0.0)
    # the next term is h^4: relative size below 5 % at 8 cells
    assert -np.polyfit(np.log(counts), np.log(errors), 1)[0] == pytest.approx(2.0, abs=0.05)
    bound = {"triangle": 0.43, "quad": 0.5, "tet": 0.44, "hex": 0.56}[cell]
    for cells in range(1, 13):
        mesh = meshing.make_shape(BUILD[shape][0](cells, cell))
        meshing.check_elements(mesh, shape)
        assert meshing.quality_report(mesh).quality_min > bound, cells


@pytest.mark.parametrize("cell", ["triangle", "quad", "tet", "hex"])
def test_boundary_nodes_lie_on_the_circle_or_sphere(cell: str) -> None:
    mesh = meshing.make_shape(SphereShape(RADIUS, 8, cell))
    distance, rim = np.linalg.norm(mesh.p, axis=0), meshing.boundary_nodes(mesh)
    assert distance[rim] == pytest.approx(RADIUS, rel=1e-14) and np.delete(distance, rim).max() < 0.9 * RADIUS
    if cell in ("triangle", "tet"):
        assert picture(mesh, 0.0) == picture(mesh)


@pytest.mark.parametrize("cells", [4, 7, 8])
def test_the_rim_of_a_disc_is_a_regular_polygon(cells: int) -> None:
    mesh = meshing.make_shape(SphereShape(RADIUS, cells, "quad"))
    x, y = mesh.p[:, meshing.boundary_nodes(mesh)]
    np.testing.assert_allclose(np.diff(np.sort(np.arctan2(y, x))), 2.0 * np.pi / len(x), rtol=1e-12)


def test_flat_cylinders_are_discs_boxes_are_grids_and_edges_join_even_and_odd() -> None:
    mesh = meshing.make_shape(CylinderShape(RADIUS, HEIGHT, (6, 4), "hex"))
    assert mesh.p.min(axis=1) == pytest.approx([-RADIUS, -RADIUS, 0.0])
    assert mesh.p.max(axis=1) == pytest.approx([RADIUS, RADIUS, HEIGHT])
    disc = meshing.make_shape(CylinderShape(0.5, None, (6,), "quad"))
    assert np.array_equal(disc.p, meshing.make_shape(SphereShape(0.5, 6, "quad")).p)
    disc, ball = unit_ball(7, 2), unit_ball(7, 3)
    tower = extruded(disc, np.linspace(0.0, 1.0, 4))
    found = ((disc, disc.mesh("quad").facets), (ball, ball.mesh("hex").edges), (tower, tower.mesh("hex").edges))
    for grid, pairs in found:
        assert np.all(grid.odd[pairs[0]] != grid.odd[pairs[1]])
    box = meshing.make_shape(BoxShape((2.0, 1.0), (4, 1), cell="quad"))
    grid = meshing.make_shape(GridShape(([0.0, 0.5, 1.0, 1.5, 2.0], [0.0, 1.0]), cell="quad"))
    assert np.array_equal(box.p, grid.p) and np.array_equal(box.t, grid.t)
    fine = meshing.with_finer_cells(GridShape(([0.0, 0.1, 0.4],)), 2)
    assert isinstance(fine, GridShape) and fine.coordinates[0] == pytest.approx([0.0, 0.05, 0.1, 0.25, 0.4])


@pytest.mark.parametrize(("cells", "core", "rings"), [(1, 1, 0), (2, 2, 0), (3, 1, 1), (8, 4, 2), (11, 5, 3)])
def test_numbers_of_cells_in_round_shapes(cells: int, core: int, rings: int) -> None:
    assert core + 2 * rings == cells and unit_ball(cells, 2).cells.shape[1] == core**2 + 4 * core * rings
    assert unit_ball(cells, 3).cells.shape[1] == core**3 + 6 * core**2 * rings


@pytest.mark.parametrize("cell", ["triangle", "quad", "tet", "hex"])
def test_l_shape_is_the_box_without_the_cut(cell: str) -> None:
    deep = cell in ("tet", "hex")
    mesh = meshing.make_shape(LShape((2.0, 3.0, 0.8)[: 2 + deep], (5, 4, 2)[: 2 + deep], (0.5, 1.3), cell=cell))
    assert meshing.element_measures(mesh).sum() == pytest.approx((6.0 - 0.65) * (0.8 if deep else 1.0), rel=1e-13)
    assert not np.any((mesh.p[0] > 1.5 + 1e-9) & (mesh.p[1] > 1.7 + 1e-9))
    assert np.any(np.isclose(mesh.p[0], 1.5) & np.isclose(mesh.p[1], 1.7))


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        (BoxShape((1.0, 1.0), (2, 2), cell="tet"), "'tet' does not fill a shape of dimension 2.*triangle or quad"),
        (BoxShape((1.0, 1.0), (2, 2), cell="quads"), r"cell 'quads'.*did you mean 'quad'"),
        (BoxShape((1.0, 1.0), (2, 2), pattern="se-ne"), r"pattern 'se-ne' is unknown \(did you mean"),
        (BoxShape((1.0, 1.0), (2, 2), pattern="five"), "pattern 'five' is unknown"),
        (BoxShape((1.0, 1.0), (2, 2), cell="quad", pattern="se-nw"), "does not apply to cell 'quad': leave it out"),
        (BoxShape((1.0, -1.0), (2, 2)), "size of a shape must be positive"),
        (BoxShape((1.0, 1.0), (2, 0)), "at least 1"),
        (BoxShape((1.0, 1.0), (2,)), "2 whole number"),
        (BoxShape((1.0,) * 4, (1,) * 4), "1, 2 or 3 dimensions"),
        (GridShape(([0.0, 1.0], [1.0, 0.0])), "along y must be"),
        (CylinderShape(0.0, 1.0, (4, 4)), "radius of a shape must be positive"),
        (CylinderShape(1.0, None, (4, 4)), "needs a height"),
        (CylinderShape(1.0, 1.0, (4,)), "2 whole number"),
        (SphereShape(1.0, 0), "at least 1"),
        (SphereShape(1.0, 4, "line"), "does not fill a round shape"),
        (LShape((1.0, 1.0), (4, 4), (1.0, 0.5)), "each smaller than the size"),
        (LShape((1.0, 1.0), (1, 4), (0.5, 0.5)), "at least 2 cells"),
        (LShape((1.0,), (4,), (0.5, 0.5)), "two lengths"),
    ],
)
def test_impossible_shapes_are_refused_in_one_sentence(spec: ShapeSpec, sentence: str) -> None:
    with pytest.raises(RheotwinError, match=sentence) as caught:
        meshing.make_shape(spec)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "spec",
    [
        BoxShape((1.0, 2.0), (2, 3), cell="triangle"),
        BoxShape((1.0, 2.0, 1.0), (1, 2, 1), cell="hex"),
        GridShape(([0.0, 0.1, 0.4], [0.0, 1.0]), cell="quad"),
        LShape((2.0, 2.0), (4, 4), (1.0, 1.0)),
        CylinderShape(1.0, 2.0, (4, 2)),
        SphereShape(1.0, 4),
        TriangleShape(base=1.0, height=1.0, cells=3),
    ],
)
@pytest.mark.parametrize("parts", [2, 3])
def test_finer_cells_are_so_many_more_and_keep_the_shape(spec: ShapeSpec, parts: int) -> None:
    coarse, fine = meshing.make_shape(spec), meshing.make_shape(meshing.with_finer_cells(spec, parts))
    assert fine.t.shape[1] == parts ** coarse.p.shape[0] * coarse.t.shape[1]
    if not isinstance(spec, CylinderShape | SphereShape):
        corners = {tuple(point) for point in np.round(fine.p.T, 12)}
        assert corners >= {tuple(point) for point in np.round(coarse.p.T, 12)}, "old nodes are new ones, too"
    assert np.ptp(fine.p, axis=1) == pytest.approx(np.ptp(coarse.p, axis=1), rel=1e-12)
