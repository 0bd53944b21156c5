"""Measures with their sign, reorientation, and refusal of elements without measure."""

from __future__ import annotations

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.meshing import (
    Mesh,
    SphereShape,
    build_mesh,
    check_elements,
    element_measures,
    hex_grid,
    make_shape,
    oriented,
    quad_grid,
)


def test_measures_of_single_elements() -> None:
    assert element_measures(build_mesh("line", [[1.0, 3.5]], [[0], [1]])) == pytest.approx([2.5])
    assert element_measures(build_mesh("triangle", [[0, 2, 0], [0, 0, 3]], [[0], [1], [2]])) == pytest.approx([3.0])
    corner = build_mesh("tet", [[0, 1, 0, 0], [0, 0, 2, 0], [0, 0, 0, 3]], [[0], [1], [2], [3]])
    assert element_measures(corner) == pytest.approx([1.0])


def test_measure_of_a_skewed_quad_is_the_shoelace_area() -> None:
    x, y = np.array([0.0, 2.0, 3.0, 0.5]), np.array([0.0, 0.2, 1.5, 1.0])
    shoelace = 0.5 * float((x * np.roll(y, -1) - np.roll(x, -1) * y).sum())
    assert element_measures(build_mesh("quad", [x, y], [[0], [1], [2], [3]])) == pytest.approx([shoelace])


def test_measure_of_a_sheared_brick_is_its_determinant() -> None:
    brick = hex_grid([0, 1], [0, 1], [0, 1])
    shear = np.array([[2.0, 0.3, 0.1], [0.0, 1.0, 0.4], [0.2, 0.0, 0.7]])
    assert element_measures(build_mesh("hex", shear @ brick.p, brick.t)) == pytest.approx([np.linalg.det(shear)])


@pytest.mark.parametrize("cell", ["triangle", "tet"])
def test_reversed_simplices_are_reordered_and_good_ones_kept(cell: str) -> None:
    good = make_shape(SphereShape(1.0, 4, cell))
    cells = good.t.copy()
    cells[:2, ::3] = cells[1::-1, ::3]
    mixed = build_mesh(cell, good.p, cells)
    assert np.count_nonzero(element_measures(mixed) < 0.0) == len(range(0, good.t.shape[1], 3))
    again = oriented(mixed)
    assert element_measures(again) == pytest.approx(element_measures(good), rel=1e-12)
    assert np.array_equal(np.sort(again.t, axis=0), np.sort(good.t, axis=0))
    assert np.array_equal(again.t[:, 1::3], good.t[:, 1::3])


def test_reversed_lines_are_reordered() -> None:
    assert oriented(build_mesh("line", [[0.0, 1.0]], [[1], [0]])).t.ravel().tolist() == [0, 1]


def test_vertex_order_survives_construction() -> None:
    # scikit-fem would sort the vertices of triangles and lose their orientation
    assert build_mesh("triangle", [[0, 1, 0], [0, 0, 1]], [[2], [0], [1]]).t.ravel().tolist() == [2, 0, 1]


FLAT_TRIANGLES = build_mesh("triangle", [[0, 1, 0, 2], [0, 0, 1, 0]], [[0, 0], [1, 1], [2, 3]])
FLAT_TET = build_mesh("tet", [[0, 1, 0, 1], [0, 0, 1, 1], [0, 0, 0, 0]], [[0], [1], [2], [3]])
DOUBLE_POINT = build_mesh("line", [[0.0, 1.0, 1.0]], [[0, 1], [1, 2]])
CLOCKWISE = build_mesh("quad", [[0, 1, 1, 0], [0, 0, 1, 1]], [[0], [3], [2], [1]])
ARROW = build_mesh("quad", [[0, 1, 0.2, 0], [0, 0, 0.2, 1]], [[0], [1], [2], [3]])
MIRRORED = build_mesh("hex", -hex_grid([0, 1], [0, 1], [0, 1]).p, hex_grid([0, 1], [0, 1], [0, 1]).t)


@pytest.mark.parametrize(
    ("mesh", "sentence"),
    [
        (FLAT_TRIANGLES, "triangle element 1 is degenerate, its area is 0 m2: move its vertices apart"),
        (FLAT_TET, "tet element 0 is degenerate, its volume is 0 m3"),
        (DOUBLE_POINT, "line element 1 is degenerate, its length is 0 m:"),
        (CLOCKWISE, "quad element 0 is inverted, its area is -1 m2: every corner must be convex"),
        (ARROW, "quad element 0 is inverted, its area is 0.2 m2"),
        (MIRRORED, "hex element 0 is inverted, its volume is -1 m3"),
    ],
)
def test_bad_elements_are_named_with_their_measure(mesh: Mesh, sentence: str) -> None:
    with pytest.raises(RheotwinError, match=f"^bodies.block: {sentence}"):
        check_elements(mesh, "bodies.block")


def test_the_number_of_further_bad_elements_is_told() -> None:
    grid = quad_grid([0, 1, 2], [0, 1])
    with pytest.raises(RheotwinError, match=r"quad element 0 \(and 1 more\) is inverted"):
        check_elements(build_mesh("quad", grid.p, grid.t[::-1]), "file")


def test_small_but_well_shaped_elements_pass() -> None:
    ball = make_shape(SphereShape(1e-6, 4, "tet"))
    check_elements(ball, "grain")
