"""Edges, oriented faces and the boundary, against what geometry and counting demand."""

from itertools import combinations

import numpy as np
import pytest
from skfem import MeshTri2

from rheotwin import meshing
from rheotwin.errors import RheotwinError
from rheotwin.meshing import BoxShape, CylinderShape, LShape, SphereShape, build_mesh, line, make_shape

SHAPES = {
    "box-triangle": BoxShape((2.0, 1.0), (4, 3)),
    "box-alternating": BoxShape((2.0, 1.0), (4, 3), pattern="alternating"),
    "box-quad": BoxShape((2.0, 1.0), (4, 3), cell="quad"),
    "box-five": BoxShape((2.0, 1.0, 0.5), (4, 3, 2)),
    "box-six": BoxShape((2.0, 1.0, 0.5), (4, 3, 2), pattern="six"),
    "box-hex": BoxShape((2.0, 1.0, 0.5), (4, 3, 2), cell="hex"),
    "disc-triangle": SphereShape(0.7, 7, "triangle"),
    "disc-quad": SphereShape(0.7, 6, "quad"),
    "ball-tet": SphereShape(0.7, 6, "tet"),
    "ball-hex": SphereShape(0.7, 5, "hex"),
    "cylinder-tet": CylinderShape(0.7, 1.2, (6, 3), "tet"),
    "cylinder-hex": CylinderShape(0.7, 1.2, (5, 3), "hex"),
    "l-triangle": LShape((2.0, 3.0), (5, 4), (0.5, 1.3)),
    "l-quad": LShape((2.0, 3.0), (5, 4), (0.5, 1.3), cell="quad"),
    "l-tet": LShape((2.0, 3.0, 1.0), (5, 4, 2), (0.5, 1.3)),
    "l-hex": LShape((2.0, 3.0, 1.0), (5, 4, 2), (0.5, 1.3), cell="hex"),
}


def area_vectors(corners: np.ndarray) -> np.ndarray:
    """Area vectors (faces, d) of corners (faces, k, d); that of a bilinear patch is half its diagonals' product."""
    if corners.shape[1] == 2:
        along = corners[:, 1] - corners[:, 0]
        return np.stack([along[:, 1], -along[:, 0]], axis=1)
    if corners.shape[1] == 3:
        return 0.5 * np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    return 0.5 * np.cross(corners[:, 2] - corners[:, 0], corners[:, 3] - corners[:, 1])


def enclosed_measure(corners: np.ndarray) -> float:
    """(1/d) integral of x . n over outward faces, by Gauss points on bilinear patches."""
    if corners.shape[1] < 4:
        return float((corners.mean(axis=1) * area_vectors(corners)).sum() / corners.shape[2])
    total, nodes = 0.0, (0.5 - 0.5 / np.sqrt(3.0), 0.5 + 0.5 / np.sqrt(3.0))
    for u in nodes:
        for v in nodes:
            weights = np.array([(1 - u) * (1 - v), u * (1 - v), u * v, (1 - u) * v])
            du, dv = np.array([v - 1, 1 - v, v, -v]), np.array([u - 1, -u, u, 1 - u])
            x, xu, xv = (np.einsum("k,fkd->fd", w, corners) for w in (weights, du, dv))
            total += 0.25 * float((x * np.cross(xu, xv)).sum()) / 3.0
    return total


@pytest.mark.parametrize("name", SHAPES)
def test_elements_edges_and_the_closed_boundary_of_every_shape(name: str) -> None:
    """Outward area vectors sum to zero; the divergence theorem returns the sum of the element measures."""
    mesh = make_shape(SHAPES[name])
    meshing.check_elements(mesh, "shape")
    assert np.all(meshing.element_measures(mesh) > 0.0) and len(np.unique(mesh.t)) == mesh.p.shape[1]
    corners = mesh.p.T[meshing.boundary_faces(mesh)]
    areas = area_vectors(corners)
    assert areas.sum(axis=0) == pytest.approx(np.zeros(areas.shape[1]), abs=1e-13 * np.abs(areas).sum())
    assert enclosed_measure(corners) == pytest.approx(meshing.element_measures(mesh).sum(), rel=1e-12)
    library, edges = mesh.facets if mesh.p.shape[0] == 2 else mesh.edges, meshing.element_edges(mesh)
    assert edges.dtype == np.int32 and np.all(edges[:, 0] < edges[:, 1])
    assert {tuple(edge) for edge in edges.tolist()} == {tuple(edge) for edge in np.sort(library, axis=0).T.tolist()}
    assert len(np.unique(edges, axis=0)) == len(edges)


def test_boundaries_and_lattices_of_lines_and_boxes() -> None:
    shuffled = build_mesh("line", [[2.0, 0.0, 1.0]], [[1, 2], [2, 0]])
    assert meshing.boundary_faces(shuffled).tolist() == [[1], [0]]
    assert meshing.boundary_nodes(line([0.0, 1.0, 2.0])).tolist() == [0, 2]
    mesh = make_shape(BoxShape((1.0, 1.0, 1.0), (3, 3, 3)))
    on_side = ((mesh.p == 0.0) | (mesh.p == 1.0)).any(axis=0)
    assert meshing.boundary_nodes(mesh).tolist() == np.flatnonzero(on_side).tolist()
    mesh = make_shape(BoxShape((2.0, 3.0, 2.0), (2, 3, 2), cell="hex"))
    pairs = combinations(range(mesh.p.shape[1]), 2)
    near = {(i, j) for i, j in pairs if np.abs(mesh.p[:, i] - mesh.p[:, j]).max() < 1.5}
    assert {tuple(edge) for edge in meshing.lattice_edges(mesh).tolist()} == near
    with pytest.raises(RheotwinError, match="MeshTri2 is not supported: use first-order"):
        meshing.cell_kind(MeshTri2())


@pytest.mark.parametrize(("size", "cell", "remedy"), [(2, "quad", "triangle"), (3, "hex", "tet")])
def test_a_truss_of_bare_quads_is_refused(size: int, cell: str, remedy: str) -> None:
    with pytest.raises(RheotwinError, match=f"mechanism: use cell = '{remedy}'"):
        meshing.truss_edges(make_shape(BoxShape((1.0,) * size, (1,) * size, cell=cell)))
