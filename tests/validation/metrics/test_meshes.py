"""Between meshes exact for what the elements can represent; distances to surfaces, their sum, far points."""

import numpy as np
import pytest
import skfem

from rheotwin.errors import RheotwinError
from rheotwin.record.grid import GridTopology
from rheotwin.validation.metrics import displacement_error, shape_difference, surface_distance, surface_of, transfer

ROUNDING = 1e-12  # of some dozen operations on numbers of order one


def as_record(mesh: skfem.Mesh, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Nodes (N, 3) and VTK cells of a mesh, as a record has them."""
    nodes = np.zeros((mesh.p.shape[1], 3))
    nodes[:, : mesh.p.shape[0]] = mesh.p.T
    cells = mesh.t.T.astype(np.int64)
    return nodes, GridTopology(cells, kind, np.zeros(len(cells), dtype=np.int64), len(nodes)).vtk_cells()  # type: ignore[arg-type]


MESHES = {
    "line": skfem.MeshLine().refined(3),
    "triangle": skfem.MeshTri().refined(2),
    "quad": skfem.MeshQuad().refined(2),
    "tet": skfem.MeshTet().refined(1),
    "hex": skfem.MeshHex().refined(1),
}


def shaken(mesh: skfem.Mesh, seed: int = 1) -> skfem.Mesh:
    """Move inner nodes, so that elements are no longer parallelepipeds."""
    inner = np.ones(mesh.p.shape[1], dtype=bool)
    inner[mesh.boundary_nodes()] = False
    moved = mesh.p.copy()
    moved[:, inner] += 0.05 * np.random.default_rng(seed).uniform(-1, 1, (mesh.p.shape[0], inner.sum()))
    return type(mesh)(moved, mesh.t)


@pytest.mark.parametrize("kind", MESHES)
def test_linear_fields_arrive_exactly_at_any_point(kind: str) -> None:
    mesh = shaken(MESHES[kind])
    nodes, cells = as_record(mesh, kind)
    axes = mesh.p.shape[0]
    points = np.zeros((200, 3))
    points[:, :axes] = np.random.default_rng(2).uniform(0.0, 1.0, (200, axes))
    there = transfer(nodes, cells, kind, points)  # type: ignore[arg-type]
    slope = np.array([[1.0, -2.0, 0.5], [0.3, 4.0, -1.0], [2.0, 0.1, 1.0]])
    frames = np.stack([nodes @ slope + 0.7, 3.0 * nodes @ slope])
    np.testing.assert_allclose(there(frames), np.stack([points @ slope + 0.7, 3.0 * points @ slope]), atol=ROUNDING)
    assert there.distance.max() == 0.0


@pytest.mark.parametrize("kind", MESHES)
def test_inside_an_element_it_is_the_elements_own_field(kind: str) -> None:
    mesh = shaken(MESHES[kind])
    nodes, cells = as_record(mesh, kind)
    element = {"line": skfem.ElementLineP1, "triangle": skfem.ElementTriP1, "quad": skfem.ElementQuad1}
    element |= {"tet": skfem.ElementTetP1, "hex": skfem.ElementHex1}
    basis = skfem.Basis(mesh, element[kind](), intorder=3)
    values = np.random.default_rng(3).normal(size=mesh.p.shape[1])
    points = np.zeros((basis.nelems * basis.X.shape[-1], 3))
    x = np.asarray(basis.global_coordinates())
    points[:, : len(x)] = x.reshape(len(x), -1).T
    expected = np.asarray(basis.interpolate(values)).ravel()
    there = transfer(nodes, cells, kind, points)  # type: ignore[arg-type]
    np.testing.assert_allclose(there(values[:, None])[:, 0], expected, atol=1e-10)  # Newton's step inverts the map


def test_its_own_nodes_give_the_nodal_values() -> None:
    nodes, cells = as_record(shaken(MESHES["hex"]), "hex")
    values = np.random.default_rng(4).normal(size=(len(nodes), 6))
    np.testing.assert_allclose(transfer(nodes, cells, "hex", nodes)(values), values, atol=1e-10)


def test_a_point_outside_takes_the_nearest_value_and_says_how_far_it_is() -> None:
    nodes, cells = as_record(MESHES["triangle"], "triangle")
    there = transfer(nodes, cells, "triangle", [[1.5, 0.25, 0.0], [0.5, 0.5, 0.0]])
    np.testing.assert_allclose(there.distance, [0.5, 0.0], atol=ROUNDING)
    np.testing.assert_allclose(there(nodes), [[1.0, 0.25, 0.0], [0.5, 0.5, 0.0]], atol=ROUNDING)


def test_points_that_are_not_finite_are_refused() -> None:
    nodes, cells = as_record(MESHES["triangle"], "triangle")
    with pytest.raises(RheotwinError, match="not finite"):
        transfer(nodes, cells, "triangle", [[np.nan, 0.0, 0.0]])


def test_two_meshes_of_one_linear_motion_have_no_error_between_them() -> None:
    coarse, cells = as_record(MESHES["quad"], "quad")
    fine, _ = as_record(skfem.MeshTri().refined(4), "triangle")
    times = np.array([0.0, 1.0, 2.0])
    motion = times[:, None, None] * (coarse @ np.diag([0.1, -0.2, 0.0]))
    reference = times[:, None, None] * (fine @ np.diag([0.1, -0.2, 0.0]))
    error = displacement_error(transfer(coarse, cells, "quad", fine)(motion), reference, np.ones(len(fine)))
    np.testing.assert_allclose(error, 0.0, atol=ROUNDING)


LOCATED = 1e-9  # VTK keeps these coordinates in double precision; its locator rounds a little more


def vtk_cells(mesh: skfem.Mesh, kind: str) -> np.ndarray:
    cells = mesh.t.T.astype(np.int64)
    return GridTopology(cells, kind, np.zeros(len(cells), dtype=np.int64), mesh.p.shape[1]).vtk_cells()  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["tet", "hex"])
def test_distances_to_a_cube_inside_and_outside(kind: str) -> None:
    mesh = {"tet": skfem.MeshTet, "hex": skfem.MeshHex}[kind]().refined(1)
    surface = surface_of(np.ascontiguousarray(mesh.p.T), vtk_cells(mesh, kind), kind)
    points = [[0.5, 0.5, 1.3], [0.5, 0.5, 0.9], [2.0, 2.0, 2.0], [0.3, 0.0, 0.6]]
    np.testing.assert_allclose(surface_distance(points, surface), [0.3, 0.1, np.sqrt(3.0), 0.0], atol=LOCATED)
    assert len(surface_distance(np.zeros((0, 3)), surface)) == 0


@pytest.mark.parametrize("kind", ["triangle", "quad"])
def test_in_a_plane_the_surface_is_the_outline(kind: str) -> None:
    mesh = {"triangle": skfem.MeshTri, "quad": skfem.MeshQuad}[kind]().refined(2)
    nodes = np.zeros((mesh.p.shape[1], 3))
    nodes[:, :2] = mesh.p.T
    surface = surface_of(nodes, vtk_cells(mesh, kind), kind)
    distances = surface_distance([[0.5, 0.5, 0.0], [0.5, 1.2, 0.0], [0.9, 0.5, 0.0]], surface)
    np.testing.assert_allclose(distances, [0.5, 0.2, 0.1], atol=LOCATED)


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
