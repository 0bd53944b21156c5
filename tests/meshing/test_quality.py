"""Element quality against ideal and known shapes."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rheotwin.meshing import (
    BoxShape,
    Mesh,
    build_mesh,
    element_quality,
    hex_grid,
    line,
    make_shape,
    quad_grid,
    quality_report,
)

EQUILATERAL = build_mesh("triangle", [[0, 1, 0.5], [0, 0, np.sqrt(0.75)]], [[0], [1], [2]])
REGULAR_TET = build_mesh("tet", [[1, 1, -1, -1], [1, -1, 1, -1], [1, -1, -1, 1]], [[0], [2], [1], [3]])


@pytest.mark.parametrize(("mesh", "angle"), [(EQUILATERAL, 60.0), (REGULAR_TET, np.degrees(np.arccos(1.0 / 3.0)))])
def test_ideal_simplices_have_quality_one(mesh: Mesh, angle: float) -> None:
    report = quality_report(mesh)
    assert report.quality_min == pytest.approx(1.0, abs=1e-14)
    assert report.edge_ratio_min == pytest.approx(1.0)
    assert (report.angle_min, report.angle_max) == (pytest.approx(angle), pytest.approx(angle))


@pytest.mark.parametrize("mesh", [quad_grid([0, 2], [0, 2]), hex_grid([0, 3], [0, 3], [0, 3])])
def test_squares_and_cubes_have_quality_one_and_right_angles(mesh: Mesh) -> None:
    report = quality_report(mesh)
    assert report.quality_min == pytest.approx(1.0)
    assert (report.angle_min, report.angle_max) == (pytest.approx(90.0), pytest.approx(90.0))


def test_right_isosceles_triangle() -> None:
    # mean ratio 4 sqrt(3) A / (l1^2 + l2^2 + l3^2) = 4 sqrt(3) / 2 / 4
    mesh = build_mesh("triangle", [[0, 1, 0], [0, 0, 1]], [[0], [1], [2]])
    assert element_quality(mesh) == pytest.approx([np.sqrt(3.0) / 2.0])
    report = quality_report(mesh)
    assert (report.angle_min, report.angle_max) == (pytest.approx(45.0), pytest.approx(90.0))
    assert report.edge_ratio_min == pytest.approx(np.sqrt(0.5))


def test_stretched_rectangle_and_brick() -> None:
    # d det^(2/d) / |F|^2 with sides 1 and a: 2 a / (1 + a^2), and 3 a^(2/3) / (2 + a^2) in 3D
    assert element_quality(quad_grid([0, 4], [0, 1])) == pytest.approx([8.0 / 17.0])
    assert element_quality(hex_grid([0, 4], [0, 1], [0, 1])) == pytest.approx([3.0 * 4.0 ** (2.0 / 3.0) / 18.0])


def test_central_and_corner_tets_of_the_five_split() -> None:
    # central tet regular; corner tet 12 (3 V)^(2/3) / sum l^2 with V = 1/6 and sum l^2 = 9
    quality = element_quality(make_shape(BoxShape((1.0, 1.0, 1.0), (1, 1, 1))))
    assert quality == pytest.approx([1.0, *[12.0 * 0.5 ** (2.0 / 3.0) / 9.0] * 4])


def test_inverted_element_has_quality_zero() -> None:
    assert element_quality(build_mesh("triangle", [[0, 1, 0], [0, 0, 1]], [[0], [2], [1]])) == pytest.approx([0.0])


def test_worst_elements_come_first_and_lines_have_no_angles() -> None:
    report = quality_report(quad_grid([0, 1, 5, 7], [0, 1]))
    assert [element for element, _ in report.worst] == [1, 2, 0]
    plain = quality_report(line([0.0, 1.0, 3.0]))
    assert (plain.quality_min, plain.angle_min, plain.measure_total) == (1.0, None, 3.0)


def test_report_is_json_and_a_table_with_units() -> None:
    report = quality_report(make_shape(BoxShape((1.0, 1.0, 1.0), (1, 1, 1))))
    data = json.loads(json.dumps(report.as_dict()))
    assert data["elements"] == 5
    assert data["worst"][0].keys() == {"element", "quality"}
    text = report.as_text()
    assert "volume [m3]" in text
    assert "dihedral angle [deg]" in text
