"""Shape difference S: distances to surfaces, their sum, the count of far points."""

from __future__ import annotations

import numpy as np
import pytest
import skfem

from rheotwin.record.grid import GridTopology
from rheotwin.validation.metrics import shape_difference, surface_distance, surface_of

ROUNDING = 1e-9  # VTK keeps these coordinates in double precision; its locator rounds a little more


def vtk_cells(mesh: skfem.Mesh, kind: str) -> np.ndarray:
    cells = mesh.t.T.astype(np.int64)
    return GridTopology(cells, kind, np.zeros(len(cells), dtype=np.int64), mesh.p.shape[1]).vtk_cells()  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["tet", "hex"])
def test_distances_to_a_cube_inside_and_outside(kind: str) -> None:
    mesh = {"tet": skfem.MeshTet, "hex": skfem.MeshHex}[kind]().refined(1)
    surface = surface_of(np.ascontiguousarray(mesh.p.T), vtk_cells(mesh, kind), kind)
    points = [[0.5, 0.5, 1.3], [0.5, 0.5, 0.9], [2.0, 2.0, 2.0], [0.3, 0.0, 0.6]]
    np.testing.assert_allclose(surface_distance(points, surface), [0.3, 0.1, np.sqrt(3.0), 0.0], atol=ROUNDING)
    assert len(surface_distance(np.zeros((0, 3)), surface)) == 0


@pytest.mark.parametrize("kind", ["triangle", "quad"])
def test_in_a_plane_the_surface_is_the_outline(kind: str) -> None:
    mesh = {"triangle": skfem.MeshTri, "quad": skfem.MeshQuad}[kind]().refined(2)
    nodes = np.zeros((mesh.p.shape[1], 3))
    nodes[:, :2] = mesh.p.T
    surface = surface_of(nodes, vtk_cells(mesh, kind), kind)
    distances = surface_distance([[0.5, 0.5, 0.0], [0.5, 1.2, 0.0], [0.9, 0.5, 0.0]], surface)
    np.testing.assert_allclose(distances, [0.5, 0.2, 0.1], atol=ROUNDING)


def test_small_distances_do_not_count_and_far_ones_are_counted_per_time() -> None:
    # 0.05 cm counts, less does not; far is above 0.25 cm (calibration spec, 6)
    first = np.array([0.04e-2, 0.05e-2, 0.25e-2, 0.30e-2])
    second = np.array([0.01e-2, 0.50e-2])
    found = shape_difference([first, second])
    assert found.total == pytest.approx(1.10e-2, abs=1e-15)
    assert found.per_time == pytest.approx((0.60e-2, 0.50e-2), abs=1e-15)
    assert found.far == (1, 1)
    assert found.points == 6
    assert found.mean == pytest.approx(1.10e-2 / 6.0, abs=1e-15)


def test_noise_of_a_perfect_model_leaves_the_published_floor() -> None:
    # N(0, 0.05 sqrt(pi/2)): the mean of the distances from 0.05 on is 0.05 exp(-1/pi) = 0.03637 cm
    noise = np.abs(np.random.default_rng(0).normal(0.0, 0.05e-2 * np.sqrt(np.pi / 2.0), 200_000))
    found = shape_difference([noise])
    spread = 0.06e-2 / np.sqrt(200_000)  # sd of one term is below 0.06 cm
    assert found.mean == pytest.approx(0.05e-2 * np.exp(-1.0 / np.pi), abs=4.0 * spread)
