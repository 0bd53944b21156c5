"""Edges, oriented faces and the boundary, against what geometry demands."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from skfem import MeshTri2

from rheotwin.errors import RheotwinError
from rheotwin.meshing import (
    BoxShape,
    Mesh,
    boundary_faces,
    boundary_nodes,
    build_mesh,
    cell_kind,
    element_edges,
    element_measures,
    lattice_edges,
    line,
    make_shape,
    truss_edges,
)


def test_boundary_is_closed_and_encloses_the_body(
    solid_mesh: Mesh,
    area_vectors: Callable[[np.ndarray], np.ndarray],
    enclosed_measure: Callable[[np.ndarray], float],
) -> None:
    """Outward area vectors sum to zero; the divergence theorem returns the sum of the element measures."""
    corners = solid_mesh.p.T[boundary_faces(solid_mesh)]
    areas = area_vectors(corners)
    assert areas.sum(axis=0) == pytest.approx(np.zeros(areas.shape[1]), abs=1e-13 * np.abs(areas).sum())
    assert enclosed_measure(corners) == pytest.approx(element_measures(solid_mesh).sum(), rel=1e-12)


def test_boundary_of_a_line_is_its_two_ends() -> None:
    shuffled = build_mesh("line", [[2.0, 0.0, 1.0]], [[1, 2], [2, 0]])
    assert boundary_faces(shuffled).tolist() == [[1], [0]]
    assert boundary_nodes(line([0.0, 1.0, 2.0])).tolist() == [0, 2]


def test_boundary_nodes_of_a_box_are_those_on_its_sides() -> None:
    mesh = make_shape(BoxShape((1.0, 1.0, 1.0), (3, 3, 3)))
    on_side = ((mesh.p == 0.0) | (mesh.p == 1.0)).any(axis=0)
    assert boundary_nodes(mesh).tolist() == np.flatnonzero(on_side).tolist()


def test_element_edges_are_those_of_the_library(solid_mesh: Mesh) -> None:
    library = solid_mesh.facets if solid_mesh.p.shape[0] == 2 else solid_mesh.edges
    edges = element_edges(solid_mesh)
    assert edges.dtype == np.int32
    assert np.all(edges[:, 0] < edges[:, 1])
    assert {tuple(edge) for edge in edges.tolist()} == {tuple(edge) for edge in np.sort(library, axis=0).T.tolist()}
    assert len(np.unique(edges, axis=0)) == len(edges)


def test_lattice_of_a_grid_is_the_26_neighbourhood() -> None:
    mesh = make_shape(BoxShape((2.0, 3.0, 2.0), (2, 3, 2), cell="hex"))
    near = {
        (i, j) for i, j in combinations(range(mesh.p.shape[1]), 2) if np.abs(mesh.p[:, i] - mesh.p[:, j]).max() < 1.5
    }
    assert {tuple(edge) for edge in lattice_edges(mesh).tolist()} == near


def test_lattice_of_simplices_is_their_edges() -> None:
    mesh = make_shape(BoxShape((1.0, 1.0, 1.0), (2, 2, 2)))
    assert np.array_equal(lattice_edges(mesh), truss_edges(mesh))


@pytest.mark.parametrize(("cell", "remedy"), [("quad", "triangle"), ("hex", "tet")])
def test_a_truss_of_bare_quads_is_refused(cell: str, remedy: str) -> None:
    size = 2 if cell == "quad" else 3
    with pytest.raises(RheotwinError, match=f"mechanism: use cell = '{remedy}'"):
        truss_edges(make_shape(BoxShape((1.0,) * size, (1,) * size, cell=cell)))


def test_second_order_meshes_are_refused() -> None:
    with pytest.raises(RheotwinError, match="MeshTri2 is not supported: use first-order"):
        cell_kind(MeshTri2())
