"""Between meshes exact for what the elements can represent; distances to surfaces, their sum, far points."""

import numpy as np
import pytest
import skfem

from rheotwin.errors import RheotwinError
from rheotwin.record.grid import GridTopology
from rheotwin.validation.metrics import displacement_error, shape_difference, surface_distance, surface_of, transfer

ROUNDING = 1e-12  # of some dozen operations on numbers of order one
LOCATED = 1e-9  # VTK keeps these coordinates in double precision; its locator rounds a little more
MESHES = {
    "line": (skfem.MeshLine().refined(3), skfem.ElementLineP1),
    "triangle": (skfem.MeshTri().refined(2), skfem.ElementTriP1),
    "quad": (skfem.MeshQuad().refined(2), skfem.ElementQuad1),
    "tet": (skfem.MeshTet().refined(1), skfem.ElementTetP1),
    "hex": (skfem.MeshHex().refined(1), skfem.ElementHex1),
}


def in_space(points: np.ndarray) -> np.ndarray:
    return np.pad(points, ((0, 3 - len(points)), (0, 0))).T.copy()


def as_record(mesh: skfem.Mesh, kind: str) -> tuple[np.ndarray, np.ndarray]:
    nodes, cells = in_space(mesh.p), mesh.t.T.astype(np.int64)
    return nodes, GridTopology(cells, kind, np.zeros(len(cells), dtype=np.int64), len(nodes)).vtk_cells()  # type: ignore[arg-type]


def shaken(kind: str) -> skfem.Mesh:
    """A mesh with inner nodes moved, so that elements are no longer parallelepipeds."""
    mesh = MESHES[kind][0]
    inner = np.setdiff1d(np.arange(mesh.p.shape[1]), mesh.boundary_nodes())
    moved = mesh.p.copy()
    moved[:, inner] += 0.05 * np.random.default_rng(1).uniform(-1, 1, (mesh.p.shape[0], len(inner)))
    return type(mesh)(moved, mesh.t)


@pytest.mark.parametrize("kind", MESHES)
def test_fields_of_the_elements_arrive_exactly_at_any_point(kind: str) -> None:
    """Linear ones everywhere, and inside an element its own field of nodal values."""
    mesh, chance = shaken(kind), np.random.default_rng(2)
    nodes, cells = as_record(mesh, kind)
    points = in_space(chance.uniform(0.0, 1.0, (mesh.p.shape[0], 200)))
    there = transfer(nodes, cells, kind, points)  # type: ignore[arg-type]
    slope = np.array([[1.0, -2.0, 0.5], [0.3, 4.0, -1.0], [2.0, 0.1, 1.0]])
    frames = np.stack([nodes @ slope + 0.7, 3.0 * nodes @ slope])
    np.testing.assert_allclose(there(frames), np.stack([points @ slope + 0.7, 3.0 * points @ slope]), atol=ROUNDING)
    assert there.distance.max() == 0.0
    basis, values = skfem.Basis(mesh, MESHES[kind][1](), intorder=3), chance.normal(size=(len(nodes), 1))
    points = np.asarray(basis.global_coordinates()).reshape(mesh.p.shape[0], -1)
    there = transfer(nodes, cells, kind, in_space(points))  # type: ignore[arg-type]
    expected = np.asarray(basis.interpolate(values[:, 0])).ravel()
    np.testing.assert_allclose(there(values)[:, 0], expected, atol=1e-10)  # Newton's step inverts the map
    at_nodes = transfer(nodes, cells, kind, nodes)  # type: ignore[arg-type]
    np.testing.assert_allclose(at_nodes(values), values, atol=1e-10)


def test_points_outside_take_the_nearest_value_and_one_motion_has_no_error() -> None:
    nodes, cells = as_record(MESHES["triangle"][0], "triangle")
    there = transfer(nodes, cells, "triangle", [[1.5, 0.25, 0.0], [0.5, 0.5, 0.0]])
    np.testing.assert_allclose(there.distance, [0.5, 0.0], atol=ROUNDING)
    np.testing.assert_allclose(there(nodes), [[1.0, 0.25, 0.0], [0.5, 0.5, 0.0]], atol=ROUNDING)
    with pytest.raises(RheotwinError, match="not finite"):
        transfer(nodes, cells, "triangle", [[np.nan, 0.0, 0.0]])
    coarse, cells = as_record(MESHES["quad"][0], "quad")
    fine, _ = as_record(skfem.MeshTri().refined(4), "triangle")
    motion, reference = (np.arange(3.0)[:, None, None] * (nodes * [0.1, -0.2, 0.0]) for nodes in (coarse, fine))
    error = displacement_error(transfer(coarse, cells, "quad", fine)(motion), reference, np.ones(len(fine)))
    np.testing.assert_allclose(error, 0.0, atol=ROUNDING)


@pytest.mark.parametrize("kind", ["triangle", "quad", "tet", "hex"])
def test_distances_to_a_cube_and_in_a_plane_to_the_outline(kind: str) -> None:
    surface = surface_of(*as_record(MESHES[kind][0], kind), kind)
    if kind in ("tet", "hex"):
        points = {(0.5, 0.5, 1.3): 0.3, (0.5, 0.5, 0.9): 0.1, (2.0, 2.0, 2.0): np.sqrt(3.0), (0.3, 0.0, 0.6): 0.0}
    else:
        points = {(0.5, 0.5, 0.0): 0.5, (0.5, 1.2, 0.0): 0.2, (0.9, 0.5, 0.0): 0.1}
    np.testing.assert_allclose(surface_distance(list(points), surface), list(points.values()), atol=LOCATED)
    assert len(surface_distance(np.zeros((0, 3)), surface)) == 0


def test_small_distances_do_not_count_far_ones_are_counted_and_noise_leaves_its_floor() -> None:
    found = shape_difference([np.array([0.04e-2, 0.05e-2, 0.25e-2, 0.30e-2]), np.array([0.01e-2, 0.50e-2])])
    assert found.total == pytest.approx(1.10e-2, abs=1e-15)
    assert found.per_time == pytest.approx((0.60e-2, 0.50e-2), abs=1e-15)
    assert (found.far, found.points) == ((1, 1), 6) and found.mean == pytest.approx(1.10e-2 / 6.0, abs=1e-15)
    noise = np.abs(np.random.default_rng(0).normal(0.0, 0.05e-2 * np.sqrt(np.pi / 2.0), 200_000))
    spread = 0.06e-2 / np.sqrt(200_000)  # sd of one term is below 0.06 cm
    assert shape_difference([noise]).mean == pytest.approx(0.05e-2 * np.exp(-1.0 / np.pi), abs=4.0 * spread)
