"""Edges, oriented faces and the boundary of a mesh: what particle models and contact are built on."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from rheotwin.arrays import Indices, Integers
from rheotwin.errors import RheotwinError
from rheotwin.meshing.cells import CELL_DIMENSION, EDGES, FACES, MESH_TYPES, SIMPLICES, Mesh, cell_kind


def element_edges(mesh: Mesh) -> Integers:
    """Return the unique cell edges (edges, 2), directed from lower to higher node, in sorted order."""
    return _unique_pairs(mesh, EDGES[cell_kind(mesh)])


def truss_edges(mesh: Mesh) -> Integers:
    """Return the edges (edges, 2) of a truss: those of a line, triangle or tet mesh.

    Quads and hexahedra are refused because their bare edges shear without resistance.
    """
    kind = cell_kind(mesh)
    if kind not in SIMPLICES:
        remedy = "triangle" if kind == "quad" else "tet"
        raise RheotwinError(
            f"a truss of {kind} cells is a mechanism: use cell = '{remedy}', or the lattice of these cells"
        )
    return element_edges(mesh)


def lattice_edges(mesh: Mesh) -> Integers:
    """Return all unique vertex pairs (edges, 2) that share a cell: the 26-neighbourhood on hexahedra."""
    return _unique_pairs(mesh, np.array(list(combinations(range(mesh.t.shape[0]), 2))))


def boundary_faces(mesh: Mesh) -> Integers:
    """Return the faces used by one element only, (faces, vertices), oriented outward.

    End points in 1D (the one of lowest x first); edges in 2D with the body on their left, so (dy, -dx) points
    out; triangles or quads in 3D, counter-clockwise seen from outside.
    """
    kind = cell_kind(mesh)
    if CELL_DIMENSION[kind] == 1:
        return _line_ends(mesh)
    facets = mesh.boundary_facets()
    elements = mesh.f2t[0, facets]
    local = (mesh.t2f[:, elements] == facets).argmax(axis=0)
    outward = FACES[kind][_faces_of_library(kind)]
    return np.ascontiguousarray(mesh.t[outward[local].T, elements].T, dtype=np.int32)


def smallest_surface_edge(mesh: Mesh) -> float:
    """Return the length [m] of the shortest edge of a mesh's surface; of a 1D mesh that of its shortest cell."""
    points = mesh.p.T
    corners = points[boundary_faces(mesh) if points.shape[1] > 1 else mesh.t.T]
    return float(np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).min())


def boundary_nodes(mesh: Mesh) -> Integers:
    """Return the sorted nodes of the boundary."""
    return np.unique(boundary_faces(mesh))


def _faces_of_library(kind: str) -> Indices:
    """Return, for each face in scikit-fem's numbering, the index of ours with the same vertices."""
    ours = [set(face.tolist()) for face in FACES[kind]]
    return np.array([ours.index(set(face)) for face in MESH_TYPES[kind].elem.refdom.facets])


def _line_ends(mesh: Mesh) -> Integers:
    counts = np.bincount(mesh.t.ravel(), minlength=mesh.p.shape[1])
    ends = np.flatnonzero(counts == 1)
    return ends[np.argsort(mesh.p[0, ends])].astype(np.int32)[:, None]


def _unique_pairs(mesh: Mesh, local: Indices) -> Integers:
    """Return unique node pairs of local vertex pairs (pairs, 2).

    One integer key per pair: several times faster than the column-wise unique behind `mesh.edges`.
    """
    ends = np.sort(mesh.t.astype(np.int64)[local.T], axis=0)
    keys = np.unique(ends[0] * mesh.p.shape[1] + ends[1])
    return np.stack(np.divmod(keys, mesh.p.shape[1]), axis=1).astype(np.int32)
