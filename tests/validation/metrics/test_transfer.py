"""Transfer between meshes: exact for what the elements can represent, nearest value outside."""

from __future__ import annotations

import numpy as np
import pytest
import skfem

from rheotwin.errors import RheotwinError
from rheotwin.record.grid import GridTopology
from rheotwin.validation.metrics import displacement_error, transfer

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
