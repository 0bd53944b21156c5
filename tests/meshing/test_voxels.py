"""Bodies in equal squares and cubes: counts of the papers' lattices, volumes, what stays out."""

from math import pi
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pyvista

from rheotwin import meshing
from rheotwin.build import build_problem
from rheotwin.errors import RheotwinError
from rheotwin.scene import SphereBody, scene_from_data
from rheotwin.scene.bodies import mesher_shape
from rheotwin.validation.checks.running import ELASTIC, scene_of

UNIT = ([0.0, 1.0],) * 3


def test_voxelised_boxes_and_l_shapes() -> None:
    """Same points and cells as the grid of the same spacing, numbered the same."""
    axes = [0.5 * np.arange(count) for count in (5, 4, 3)]
    grid, mesh = meshing.hex_grid(*axes), meshing.voxelised(meshing.tet_grid(*axes), 0.5)
    np.testing.assert_allclose(mesh.p, grid.p, atol=1e-15)
    np.testing.assert_array_equal(mesh.t, grid.t)
    mesh = meshing.voxelised(meshing.l_shape(size=(2.0, 2.0, 1.0), cells=(2, 2, 1), cut=(1.0, 1.0), cell="tet"), 0.25)
    assert mesh.t.shape[1] == 3 * 4**3
    assert len(meshing.boundary_faces(mesh)) == 3 * 2 * 16 + (2 + 2 + 1 + 1 + 1 + 1) * 16
    # 0.1 + 0.1 + 0.1 is a little more than 0.3, and three spacings all the same.
    mesh = meshing.voxelised(meshing.quad_grid([0.0, 1.0], [0.0, 1.0]), 0.4)
    np.testing.assert_allclose([mesh.p.min(), mesh.p.max()], [-0.1, 1.1])
    assert mesh.t.shape[1] == 9
    side = 0.1 + 0.1 + 0.1
    assert side / 0.1 > 3.0 and meshing.voxelised(meshing.quad_grid([0.0, side], [0.0, side]), 0.1).t.shape[1] == 9


@pytest.mark.parametrize("spacing", [0.2, 0.1, 0.05])
@pytest.mark.parametrize("cell", ["triangle", "quad"])
def test_disc_fills_up_as_the_spacing_shrinks(cell: str, spacing: float) -> None:
    """Cells are kept or dropped along the circle: the area is off by at most half a cell for each cell it crosses."""
    mesh = meshing.voxelised(meshing.disc(radius=1.0, cells=60, cell=cell), spacing)
    assert meshing.cell_kind(mesh) == "quad"
    meshing.check_elements(mesh, "disc")
    assert meshing.element_measures(mesh).sum() == pytest.approx(pi, abs=0.5 * 8.0 * spacing)
    assert np.hypot(*mesh.p[:, mesh.t].mean(axis=1)).max() <= 1.0
    every = 0.5 * spacing + spacing * np.arange(-int(1 / spacing), int(1 / spacing))
    well_inside = np.hypot(*np.meshgrid(every, every)) < np.cos(pi / 60) - 1e-9
    assert mesh.t.shape[1] >= well_inside.sum()


@pytest.mark.parametrize("cell", ["tet", "hex"])
def test_ball_is_symmetric(cell: str) -> None:
    mesh = meshing.voxelised(meshing.ball(radius=1.0, cells=8, cell=cell), 0.25)
    centres = np.round(mesh.p[:, mesh.t].mean(axis=1).T, 6) + 0.0
    for axis in range(3):
        mirrored = centres * np.where(np.arange(3) == axis, -1.0, 1.0) + 0.0
        assert set(map(tuple, mirrored.tolist())) == set(map(tuple, centres.tolist()))
    assert meshing.element_measures(mesh).sum() == pytest.approx(4 * pi / 3, rel=0.15)
    # A face whose two sides are split differently would be on the boundary, inside the body.
    split = meshing.voxelised(meshing.ball(radius=1.0, cells=8, cell=cell), 0.25, cell="tet")
    assert len(meshing.boundary_faces(split)) == 2 * len(meshing.boundary_faces(mesh))


@pytest.mark.parametrize(("cell", "pieces", "edges"), [("triangle", 2, 5), ("tet", 5, 18)])
def test_voxels_split_into_simplices(cell: str, pieces: int, edges: int) -> None:
    mesh = meshing.voxelised(
        meshing.quad_grid(*UNIT[:2]) if cell == "triangle" else meshing.hex_grid(*UNIT), 1.0, cell=cell
    )
    assert (mesh.t.shape[1], len(meshing.truss_edges(mesh))) == (pieces, edges)
    assert np.all(meshing.element_measures(mesh) > 0.0)


@pytest.mark.parametrize(
    ("spacing", "words"),
    [
        (1.0, "no voxel"),
        (10.0, "larger than the body"),
        (1e-4, "larger spacing"),
        (0.0, "must be positive"),
        (-1.0, "positive"),
    ],
)
def test_what_is_refused(spacing: float, words: str) -> None:
    corner = meshing.build_mesh("tet", np.hstack([np.zeros((3, 1)), np.eye(3)]), np.arange(4)[:, None])
    with pytest.raises(RheotwinError, match=words):
        meshing.voxelised(corner, spacing)
    with pytest.raises(RheotwinError, match="two or three dimensions"):
        meshing.voxelised(meshing.line([0.0, 1.0]), 0.1)


def test_voxels_of_a_mesh_file_are_laid_in_its_scaled_size(tmp_path: Path) -> None:
    """A disc of 10 units drawn in millimetres, in voxels of 2.5 mm, somewhere else in the scene."""
    meshing.write_mesh(tmp_path / "disc.vtu", meshing.disc(radius=10.0, cells=12, cell="triangle"))
    body = {"shape": "file", "path": "disc.vtu", "scale": 1e-3, "voxels": 2.5e-3, "origin": [0.1, 0.2]}
    data = scene_of(ELASTIC, body, dimension=2)
    problem = build_problem(scene_from_data(data, base=tmp_path))
    assert problem.bodies[0].cell == "quad"
    np.testing.assert_allclose(problem.points.mean(axis=0), [0.1, 0.2], atol=1e-12)
    np.testing.assert_allclose(meshing.element_measures(problem.bodies[0].mesh), 2.5e-3**2, rtol=1e-9)
    where = {"body": "block", "where": {"region": "rim"}}
    with pytest.raises(RheotwinError, match="region"):
        build_problem(scene_from_data({**data, "supports": {"held": where}}, base=tmp_path))


@pytest.mark.parametrize(("more", "kind"), [({}, "hex"), ({"cell": "tet"}, "tet")])
def test_the_mesh_under_voxels_is_of_simplices(more: dict[str, Any], kind: str) -> None:
    """Hexahedra with curved sides leave gaps when they are split, in which a centre could be missed."""
    shape = {"shape": "sphere", "radius": 1.0, "cells": 6, "voxels": 0.5, **more}
    scene = scene_from_data(scene_of(ELASTIC, shape, dimension=3))
    body = scene.bodies["block"]
    assert isinstance(body, SphereBody) and mesher_shape(body).cell == "tet"
    assert build_problem(scene).bodies[0].cell == kind


def capsule(a: list[float], b: list[float], radius: float) -> meshing.Solid:
    return meshing.Solid(np.array([a, b]), radius, np.ones(3))


def test_solids_fill_their_volume_or_a_number_of_cubes(tmp_path: Path) -> None:
    """An ellipsoid, 4/3 pi a b c, with a capsule that sticks out of it by a piece of its axis and half a ball."""
    ball = meshing.Solid(np.zeros((2, 3)), 1.0, np.array([1.0, 0.8, 0.6]))
    spacing, radius = 0.04, 0.2
    volume = 4.0 / 3.0 * pi * 0.48
    mesh = meshing.make_shape(meshing.SolidsShape([ball], spacing))
    assert mesh.t.shape[1] * spacing**3 == pytest.approx(volume, rel=0.01)
    arm = capsule([0.0, 0.0, 0.0], [2.0, 0.0, 0.0], radius)
    both = meshing.make_shape(meshing.SolidsShape([ball, arm], spacing))
    added = pi * radius**2 * 1.0 + 2.0 / 3.0 * pi * radius**3
    assert (both.t.shape[1] - mesh.t.shape[1]) * spacing**3 == pytest.approx(added, rel=0.1)
    assert both.p[0].max() == pytest.approx(2.2, abs=spacing)
    counted = meshing.make_shape(meshing.SolidsShape([ball, arm], None, 5000))
    assert counted.t.shape[1] == pytest.approx(5000, rel=1e-3)
    solids = [{"center": [0.0, 0.0, 0.0], "radii": [1.0, 0.8, 0.6]}, {"between": [[0, 0, 0], [2, 0, 0]], "radius": 0.2}]
    data = scene_of(ELASTIC, {"shape": "solids", "solids": solids, "voxels": spacing}, dimension=3)
    (body,) = build_problem(scene_from_data(data)).bodies
    np.testing.assert_array_equal(body.mesh.t, both.t)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"voxels": None}, "exactly one of `voxels`"),
        ({"solids": [{"center": [0.0, 0.0, 0.0], "radius": 1.0}]}, "an ellipsoid"),
        ({"solids": []}, "solids"),
        ({"voxels": 3.0}, "larger than the body"),
    ],
)
def test_solids_that_are_none_are_refused(change: dict[str, Any], words: str) -> None:
    solids = [{"center": [0.0, 0.0, 0.0], "radii": [1.0, 1.0, 1.0]}]
    shape = {"shape": "solids", "solids": solids, "voxels": 0.1, **change}
    shape = {key: value for key, value in shape.items() if value is not None}
    with pytest.raises(RheotwinError, match=words):
        build_problem(scene_from_data(scene_of(ELASTIC, shape, dimension=3)))


def test_a_closed_surface_is_filled_and_an_open_one_refused(tmp_path: Path) -> None:
    """A ball inside a ball: its shell where the inner one faces inwards; the triangles may face either way."""
    outer, inner = (pyvista.Sphere(radius=r, theta_resolution=40, phi_resolution=40) for r in (1.0, 0.5))
    shell = outer.merge(inner.flip_faces())
    for surface, volume in ((outer, 1.0), (outer.flip_faces(), 1.0), (shell, 1.0 - 0.125)):
        surface.save(tmp_path / "ball.ply")
        shape = {"shape": "file", "path": "ball.ply", "scale": 2.0, "voxels": 0.1}
        problem = build_problem(scene_from_data(scene_of(ELASTIC, shape, dimension=3), base=tmp_path))
        cells = problem.bodies[0].mesh.t.shape[1]
        assert cells * 0.1**3 == pytest.approx(volume * 8.0 * 4.0 / 3.0 * pi, rel=0.01)
    outer.remove_cells([0]).save(tmp_path / "ball.ply")
    with pytest.raises(RheotwinError, match="not closed"):
        build_problem(scene_from_data(scene_of(ELASTIC, shape, dimension=3), base=tmp_path))
