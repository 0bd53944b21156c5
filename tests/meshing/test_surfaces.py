"""Surfaces of tools from files: quadrilaterals split, repeated points merged, flat triangles dropped."""

from __future__ import annotations

from pathlib import Path

import meshio
import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.meshing import read_surface

CORNERS = np.array([[x, y, z] for z in (0.0, 1.0) for y in (0.0, 1.0) for x in (0.0, 1.0)])
CUBE = np.array([[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]])


def volume(vertices: np.ndarray, triangles: np.ndarray) -> float:
    a, b, c = vertices[triangles].transpose(1, 0, 2)
    return float(np.sum(a * np.cross(b, c))) / 6.0


def test_quadrilaterals_become_triangles_that_look_the_same_way(tmp_path: Path) -> None:
    meshio.Mesh(CORNERS, [("quad", CUBE)]).write(tmp_path / "cube.vtk")
    vertices, triangles = read_surface(tmp_path / "cube.vtk")
    assert triangles.shape == (12, 3)
    assert volume(vertices, triangles) == pytest.approx(1.0, rel=1e-14)


def test_repeated_points_are_one(tmp_path: Path) -> None:
    halves = np.concatenate([CUBE[:, [0, 1, 2]], CUBE[:, [0, 2, 3]]])
    soup = CORNERS[halves].reshape(-1, 3)
    cells = np.arange(len(soup)).reshape(-1, 3)
    flat = np.array([[0, 1, 1], [3, 3, 3]])
    meshio.Mesh(soup, [("triangle", np.vstack([cells, flat]))]).write(tmp_path / "cube.vtk")
    vertices, triangles = read_surface(tmp_path / "cube.vtk")
    assert (len(vertices), len(triangles)) == (8, 12)
    assert volume(vertices, triangles) == pytest.approx(1.0, rel=1e-14)


def test_points_that_no_triangle_uses_are_left_out(tmp_path: Path) -> None:
    meshio.Mesh(np.vstack([[[9.0, 9.0, 9.0]], CORNERS]), [("quad", CUBE + 1)]).write(tmp_path / "cube.vtk")
    vertices, _ = read_surface(tmp_path / "cube.vtk")
    assert vertices.max() == 1.0


def test_a_file_without_triangles_is_refused(tmp_path: Path) -> None:
    meshio.Mesh(CORNERS, [("hexahedron", [[0, 1, 3, 2, 4, 5, 7, 6]])]).write(tmp_path / "cube.vtk")
    with pytest.raises(RheotwinError, match="no triangles"):
        read_surface(tmp_path / "cube.vtk")
