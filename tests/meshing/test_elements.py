"""Signed measures, orientation and quality of elements against known shapes; hashes that identify meshes."""

import json

import numpy as np
import pytest

from rheotwin import meshing
from rheotwin.errors import RheotwinError
from rheotwin.meshing import BoxShape, Mesh, SphereShape, build_mesh, hex_grid, line, make_shape, quad_grid

RIGHT = build_mesh("triangle", [[0, 1, 0], [0, 0, 1]], [[0], [1], [2]])
EQUILATERAL = build_mesh("triangle", [[0, 1, 0.5], [0, 0, np.sqrt(0.75)]], [[0], [1], [2]])
REGULAR_TET = build_mesh("tet", [[1, 1, -1, -1], [1, -1, 1, -1], [1, -1, -1, 1]], [[0], [2], [1], [3]])
FIVE = make_shape(BoxShape((1.0, 1.0, 1.0), (1, 1, 1)))
BRICK = hex_grid([0, 1], [0, 1], [0, 1])


def test_measures_of_single_elements_and_reversed_lines() -> None:
    """Length, area, volume; a skewed quad has the shoelace area and a sheared brick its determinant."""
    assert meshing.element_measures(build_mesh("line", [[1.0, 3.5]], [[0], [1]])) == pytest.approx([2.5])
    assert meshing.element_measures(build_mesh("triangle", [[0, 2, 0], [0, 0, 3]], [[0], [1], [2]])) == pytest.approx(
        [3.0]
    )
    corner = build_mesh("tet", [[0, 1, 0, 0], [0, 0, 2, 0], [0, 0, 0, 3]], [[0], [1], [2], [3]])
    assert meshing.element_measures(corner) == pytest.approx([1.0])
    x, y = np.array([0.0, 2.0, 3.0, 0.5]), np.array([0.0, 0.2, 1.5, 1.0])
    shoelace = 0.5 * float((x * np.roll(y, -1) - np.roll(x, -1) * y).sum())
    assert meshing.element_measures(build_mesh("quad", [x, y], [[0], [1], [2], [3]])) == pytest.approx([shoelace])
    shear = np.array([[2.0, 0.3, 0.1], [0.0, 1.0, 0.4], [0.2, 0.0, 0.7]])
    assert meshing.element_measures(build_mesh("hex", shear @ BRICK.p, BRICK.t)) == pytest.approx(
        [np.linalg.det(shear)]
    )
    assert meshing.oriented(build_mesh("line", [[0.0, 1.0]], [[1], [0]])).t.ravel().tolist() == [0, 1]
    # scikit-fem would sort the vertices of triangles and lose their orientation
    assert build_mesh("triangle", RIGHT.p, [[2], [0], [1]]).t.ravel().tolist() == [2, 0, 1]
    meshing.check_elements(make_shape(SphereShape(1e-6, 4, "tet")), "grain")


@pytest.mark.parametrize("cell", ["triangle", "tet"])
def test_reversed_simplices_are_reordered_and_good_ones_kept(cell: str) -> None:
    good = make_shape(SphereShape(1.0, 4, cell))
    cells = good.t.copy()
    cells[:2, ::3] = cells[1::-1, ::3]
    mixed = build_mesh(cell, good.p, cells)
    assert np.count_nonzero(meshing.element_measures(mixed) < 0.0) == len(range(0, good.t.shape[1], 3))
    again = meshing.oriented(mixed)
    assert meshing.element_measures(again) == pytest.approx(meshing.element_measures(good), rel=1e-12)
    assert np.array_equal(np.sort(again.t, axis=0), np.sort(good.t, axis=0))
    assert np.array_equal(again.t[:, 1::3], good.t[:, 1::3])


FLAT_TRIANGLES = build_mesh("triangle", [[0, 1, 0, 2], [0, 0, 1, 0]], [[0, 0], [1, 1], [2, 3]])
FLAT_TET = build_mesh("tet", [[0, 1, 0, 1], [0, 0, 1, 1], [0, 0, 0, 0]], [[0], [1], [2], [3]])
DOUBLE_POINT = build_mesh("line", [[0.0, 1.0, 1.0]], [[0, 1], [1, 2]])
CLOCKWISE = build_mesh("quad", [[0, 1, 1, 0], [0, 0, 1, 1]], [[0], [3], [2], [1]])
ARROW = build_mesh("quad", [[0, 1, 0.2, 0], [0, 0, 0.2, 1]], [[0], [1], [2], [3]])
ROW = quad_grid([0, 1, 2], [0, 1])


@pytest.mark.parametrize(
    ("mesh", "sentence"),
    [
        (FLAT_TRIANGLES, "triangle element 1 is degenerate, its area is 0 m2: move its vertices apart"),
        (FLAT_TET, "tet element 0 is degenerate, its volume is 0 m3"),
        (DOUBLE_POINT, "line element 1 is degenerate, its length is 0 m:"),
        (CLOCKWISE, "quad element 0 is inverted, its area is -1 m2: every corner must be convex"),
        (ARROW, "quad element 0 is inverted, its area is 0.2 m2"),
        (build_mesh("hex", -BRICK.p, BRICK.t), "hex element 0 is inverted, its volume is -1 m3"),
        (build_mesh("quad", ROW.p, ROW.t[::-1]), r"quad element 0 \(and 1 more\) is inverted"),
    ],
)
def test_bad_elements_are_named_with_their_measure(mesh: Mesh, sentence: str) -> None:
    with pytest.raises(RheotwinError, match=f"^bodies.block: {sentence}"):
        meshing.check_elements(mesh, "bodies.block")


@pytest.mark.parametrize(
    ("mesh", "quality", "angles", "edge_ratio"),
    [
        (EQUILATERAL, [1.0], (60.0, 60.0), 1.0),
        (REGULAR_TET, [1.0], (np.degrees(np.arccos(1.0 / 3.0)),) * 2, 1.0),
        (quad_grid([0, 2], [0, 2]), [1.0], (90.0, 90.0), 1.0),
        (hex_grid([0, 3], [0, 3], [0, 3]), [1.0], (90.0, 90.0), 1.0),
        # mean ratio 4 sqrt(3) A / (l1^2 + l2^2 + l3^2) = 4 sqrt(3) / 2 / 4
        (RIGHT, [np.sqrt(3.0) / 2.0], (45.0, 90.0), np.sqrt(0.5)),
        # d det^(2/d) / |F|^2 with sides 1 and a: 2 a / (1 + a^2), and 3 a^(2/3) / (2 + a^2) in 3D
        (quad_grid([0, 4], [0, 1]), [8.0 / 17.0], (90.0, 90.0), 0.25),
        (hex_grid([0, 4], [0, 1], [0, 1]), [3.0 * 4.0 ** (2.0 / 3.0) / 18.0], (90.0, 90.0), 0.25),
        # central tet regular; corner tet 12 (3 V)^(2/3) / sum l^2 with V = 1/6 and sum l^2 = 9
        (FIVE, [1.0, *[12.0 * 0.5 ** (2.0 / 3.0) / 9.0] * 4], None, None),
        (build_mesh("triangle", RIGHT.p, [[0], [2], [1]]), [0.0], None, None),
    ],
    ids=["equilateral", "regular", "square", "cube", "right", "rectangle", "brick", "five", "inverted"],
)
def test_quality_of_known_shapes(
    mesh: Mesh, quality: list[float], angles: tuple[float, float] | None, edge_ratio: float | None
) -> None:
    report = meshing.quality_report(mesh)
    assert meshing.element_quality(mesh) == pytest.approx(quality, abs=1e-12)
    assert report.quality_min == pytest.approx(min(quality), abs=1e-12)
    assert angles is None or (report.angle_min, report.angle_max) == pytest.approx(angles)
    assert edge_ratio is None or report.edge_ratio_min == pytest.approx(edge_ratio)


def test_the_report_begins_with_the_worst_and_has_units() -> None:
    report = meshing.quality_report(quad_grid([0, 1, 5, 7], [0, 1]))
    assert [element for element, _ in report.worst] == [1, 2, 0]
    plain = meshing.quality_report(line([0.0, 1.0, 3.0]))
    assert (plain.quality_min, plain.angle_min, plain.measure_total) == (1.0, None, 3.0)
    report = meshing.quality_report(FIVE)
    data = json.loads(json.dumps(report.as_dict()))
    assert data["elements"] == 5 and data["worst"][0].keys() == {"element", "quality"}
    assert "volume [m3]" in report.as_text() and "dihedral angle [deg]" in report.as_text()


def test_hash_follows_content_and_kind_but_not_storage() -> None:
    mesh = make_shape(BoxShape((1.0, 1.0), (3, 2)))
    same = build_mesh("triangle", np.asfortranarray(mesh.p), mesh.t.astype(np.int64))
    assert meshing.mesh_hash(same) == meshing.mesh_hash(mesh)
    for first, equal in ((1e-300, False), (-0.0, True)):
        moved = mesh.p.copy()
        moved[0, 0] = first
        assert (meshing.mesh_hash(build_mesh("triangle", moved, mesh.t)) == meshing.mesh_hash(mesh)) is equal
    assert meshing.mesh_hash(build_mesh("triangle", mesh.p, mesh.t[[1, 2, 0]])) != meshing.mesh_hash(mesh)
    quad = make_shape(BoxShape((1.0, 1.0), (1, 1), cell="quad"))
    assert meshing.mesh_hash(build_mesh("tet", np.vstack([quad.p, [0, 0, 0, 1]]), quad.t)) != meshing.mesh_hash(quad)
    # Stored value: the hash identifies meshes across machines and releases.
    assert meshing.mesh_hash(RIGHT) == "57302b165e20b526d0e82725a44ab0b40e6e7d4c5c3f1593bdad3df1c88ac7b4"
