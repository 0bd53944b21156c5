"""The one entry for all shapes: measures, defaults, and refusals in one sentence."""

from __future__ import annotations

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.meshing import (
    BoxShape,
    CylinderShape,
    GridShape,
    LShape,
    Mesh,
    ShapeSpec,
    SphereShape,
    TriangleShape,
    cell_kind,
    check_elements,
    element_measures,
    make_shape,
    with_finer_cells,
)


def test_every_shape_has_positive_elements_and_no_unused_nodes(any_mesh: Mesh) -> None:
    check_elements(any_mesh, "shape")
    assert np.all(element_measures(any_mesh) > 0.0)
    assert len(np.unique(any_mesh.t)) == any_mesh.p.shape[1]


@pytest.mark.parametrize(("dimension", "kind"), [(1, "line"), (2, "triangle"), (3, "tet")])
def test_default_cell_follows_the_dimension(dimension: int, kind: str) -> None:
    assert cell_kind(make_shape(BoxShape((1.0,) * dimension, (2,) * dimension))) == kind


def test_a_box_is_a_grid_with_even_coordinates() -> None:
    box = make_shape(BoxShape((2.0, 1.0), (4, 1), cell="quad"))
    grid = make_shape(GridShape(([0.0, 0.5, 1.0, 1.5, 2.0], [0.0, 1.0]), cell="quad"))
    assert np.array_equal(box.p, grid.p)
    assert np.array_equal(box.t, grid.t)


@pytest.mark.parametrize("cell", ["triangle", "quad"])
def test_l_shape_has_the_area_of_the_box_without_the_cut(cell: str) -> None:
    mesh = make_shape(LShape((2.0, 3.0), (5, 4), (0.5, 1.3), cell=cell))
    assert element_measures(mesh).sum() == pytest.approx(2.0 * 3.0 - 0.5 * 1.3, rel=1e-13)
    removed = (mesh.p[0] > 1.5 + 1e-9) & (mesh.p[1] > 1.7 + 1e-9)
    assert not removed.any()
    assert np.any(np.isclose(mesh.p[0], 1.5) & np.isclose(mesh.p[1], 1.7))


@pytest.mark.parametrize("cell", ["tet", "hex"])
def test_extruded_l_shape_has_the_volume_of_the_box_without_the_cut(cell: str) -> None:
    mesh = make_shape(LShape((2.0, 3.0, 0.8), (5, 4, 2), (0.5, 1.3), cell=cell))
    assert element_measures(mesh).sum() == pytest.approx((6.0 - 0.65) * 0.8, rel=1e-13)


def test_disc_from_a_cylinder_needs_no_height() -> None:
    disc = make_shape(CylinderShape(0.5, None, (6,), "quad"))
    assert disc.p.shape[0] == 2
    assert np.array_equal(disc.p, make_shape(SphereShape(0.5, 6, "quad")).p)


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        (
            BoxShape((1.0, 1.0), (2, 2), cell="tet"),
            "cell 'tet' does not fill a shape of dimension 2.*triangle or quad",
        ),
        (BoxShape((1.0, 1.0), (2, 2), cell="quads"), r"cell 'quads'.*did you mean 'quad'"),
        (BoxShape((1.0, 1.0), (2, 2), pattern="se-ne"), r"pattern 'se-ne' is unknown \(did you mean"),
        (BoxShape((1.0, 1.0), (2, 2), pattern="five"), "pattern 'five' is unknown"),
        (
            BoxShape((1.0, 1.0), (2, 2), cell="quad", pattern="se-nw"),
            "does not apply to cell 'quad': leave it out",
        ),
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
        make_shape(spec)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "spec",
    [
        BoxShape(size=(1.0, 2.0), cells=(2, 3), cell="triangle"),
        BoxShape(size=(1.0, 2.0, 1.0), cells=(1, 2, 1), cell="hex"),
        GridShape(coordinates=([0.0, 0.1, 0.4], [0.0, 1.0]), cell="quad"),
        LShape(size=(2.0, 2.0), cells=(4, 4), cut=(1.0, 1.0)),
        CylinderShape(radius=1.0, height=2.0, cells=(4, 2)),
        SphereShape(radius=1.0, cells=4),
        TriangleShape(base=1.0, height=1.0, cells=3),
    ],
)
@pytest.mark.parametrize("parts", [2, 3])
def test_finer_cells_are_so_many_more_and_keep_the_shape(spec: ShapeSpec, parts: int) -> None:
    coarse, fine = make_shape(spec), make_shape(with_finer_cells(spec, parts))
    assert fine.t.shape[1] == parts ** coarse.p.shape[0] * coarse.t.shape[1]
    if not isinstance(spec, CylinderShape | SphereShape):
        corners = {tuple(point) for point in np.round(fine.p.T, 12)}
        assert corners >= {tuple(point) for point in np.round(coarse.p.T, 12)}, "old nodes are new ones, too"
    assert np.ptp(fine.p, axis=1) == pytest.approx(np.ptp(coarse.p, axis=1), rel=1e-12)


def test_finer_grid_lines_divide_each_gap_evenly() -> None:
    fine = with_finer_cells(GridShape(coordinates=([0.0, 0.1, 0.4],)), 2)
    assert isinstance(fine, GridShape)
    assert fine.coordinates[0] == pytest.approx([0.0, 0.05, 0.1, 0.25, 0.4])
