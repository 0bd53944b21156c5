"""Edges, oriented faces, boundary and element measures of a mesh: what particle models and contact are built on."""

from __future__ import annotations

from itertools import combinations
from math import factorial

import numpy as np
from skfem.quadrature import get_quadrature

from rheotwin.arrays import Array, Indices, Integers
from rheotwin.errors import RheotwinError
from rheotwin.meshing.cells import (
    CELL_DIMENSION,
    EDGES,
    FACES,
    SIMPLICES,
    Mesh,
    build_mesh,
    cell_kind,
)
from rheotwin.meshing.mixed import ALL_CORNERS, cell_blocks, is_mixed, mixed_boundary_faces


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
    out; triangles or quads in 3D, counter-clockwise seen from outside, of mixed cells with triangles as a b c c.
    """
    kind = cell_kind(mesh)
    if CELL_DIMENSION[kind] == 1:
        return _line_ends(mesh)
    if is_mixed(mesh):
        return mixed_boundary_faces(mesh)
    faces = mesh.t[FACES[kind].T].reshape(FACES[kind].shape[1], -1)
    ends = np.sort(faces.astype(np.int64), axis=0)
    keys = ends[0] * mesh.p.shape[1] + ends[1]
    if len(ends) > 2:  # three corners tell faces apart; up to two million nodes, cubed, fit a key
        keys = keys * mesh.p.shape[1] + ends[2]
    order = np.argsort(keys)
    new = np.concatenate([[True], np.diff(keys[order]) != 0, [True]])
    return np.ascontiguousarray(faces[:, order[new[:-1] & new[1:]]].T, dtype=np.int32)


def smallest_surface_edge(mesh: Mesh) -> float:
    """Return the length [m] of the shortest edge of a mesh's surface; of a 1D mesh that of its shortest cell."""
    points = mesh.p.T
    corners = points[boundary_faces(mesh) if points.shape[1] > 1 else mesh.t.T]
    lengths = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2)
    return float(lengths[lengths > 0.0].min())


def boundary_nodes(mesh: Mesh) -> Integers:
    """Return the sorted nodes of the boundary."""
    return np.unique(boundary_faces(mesh))


def _line_ends(mesh: Mesh) -> Integers:
    counts = np.bincount(mesh.t.ravel(), minlength=mesh.p.shape[1])
    ends = np.flatnonzero(counts == 1)
    return ends[np.argsort(mesh.p[0, ends])].astype(np.int32)[:, None]


def _unique_pairs(mesh: Mesh, local: Indices) -> Integers:
    """Return unique node pairs of local vertex pairs (pairs, 2).

    One integer key per pair: several times faster than the column-wise unique behind `mesh.edges`.
    """
    ends = np.sort(mesh.t.astype(np.int64)[local.T], axis=0)
    keys = np.unique((ends[0] * mesh.p.shape[1] + ends[1])[ends[0] < ends[1]])
    return np.stack(np.divmod(keys, mesh.p.shape[1]), axis=1).astype(np.int32)


MEASURE_NAME = {1: "length", 2: "area", 3: "volume"}
MEASURE_UNIT = {1: "m", 2: "m2", 3: "m3"}
FLATNESS = 1e-12
"""A determinant below this fraction of the product of its edge lengths counts as zero (rounding of input)."""


def element_measures(mesh: Mesh) -> Array:
    """Return the signed measure of each element [m, m2 or m3], positive for a properly ordered element.

    Simplices: det / d!; quads and hexahedra: the determinant of scikit-fem's map, integrated exactly.
    """
    kind = cell_kind(mesh)
    if kind in SIMPLICES:
        measure: Array = _determinants(corner_frames(mesh, 0)) / factorial(CELL_DIMENSION[kind])
        return measure
    points, weights = get_quadrature(mesh.elem.refdom, 2)
    # scikit-fem's reference hexahedron is left-handed
    handedness = -1.0 if kind == "hex" else 1.0
    slopes = np.moveaxis(np.asarray(mesh.mapping().DF(points)), (2, 3), (0, 1))
    shape = slopes.shape[:2]
    integrated: Array = handedness * (_determinants(slopes.reshape(-1, *slopes.shape[2:])).reshape(shape) @ weights)
    return integrated


def _determinants(frames: Array) -> Array:
    """Return det of (elements, d, d), written out: on many small matrices LAPACK takes five times as long."""
    if frames.shape[1] == 1:
        return frames[:, 0, 0]
    if frames.shape[1] == 2:
        return np.asarray(frames[:, 0, 0] * frames[:, 1, 1] - frames[:, 0, 1] * frames[:, 1, 0])
    a, b, c = frames.transpose(1, 2, 0)
    return np.asarray(
        a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) + a[2] * (b[0] * c[1] - b[1] * c[0])
    )


def corner_frames(mesh: Mesh, corner: int) -> Array:
    """Return the edge vectors (elements, edges, dimension) [m] leaving one local corner of each element."""
    return cell_blocks(mesh)[0].frames(mesh.p, corner)


def oriented(mesh: Mesh) -> Mesh:
    """Return the mesh with every simplex of positive measure (two vertices swapped where it was negative).

    Vertex order is free in a simplex. Quads and hexahedra are returned as they are: `check_elements` judges
    them.
    """
    kind = cell_kind(mesh)
    if kind not in SIMPLICES:
        return mesh
    negative = element_measures(mesh) < 0.0
    cells = mesh.t.copy()
    cells[-2:, negative] = cells[-2:, negative][::-1]
    return build_mesh(kind, mesh.p, cells)


def check_elements(mesh: Mesh, place: str) -> None:
    """Refuse a mesh with a degenerate or inverted element, naming `place`, the element and its measure.

    An element is good when the determinant at each of its corners is positive beyond rounding.
    """
    worst, kinds = np.full(mesh.t.shape[1], np.inf), np.full(mesh.t.shape[1], cell_kind(mesh), dtype=object)
    for block in cell_blocks(mesh):
        kinds[block.cells] = block.kind
        for corner in range(1 if block.kind in SIMPLICES else len(ALL_CORNERS[block.kind])):
            relative = _relative_determinant(block.frames(mesh.p, corner))
            worst[block.cells] = np.minimum(worst[block.cells], relative)
    bad = np.flatnonzero(~(worst > FLATNESS))
    if len(bad) == 0:
        return
    element = int(bad[0])
    kind, dimension = str(kinds[element]), len(mesh.p)
    others = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
    raise RheotwinError(
        f"{place}: {kind} element {element}{others} is {_fault(float(worst[element]))}, its "
        f"{MEASURE_NAME[dimension]} is {element_measures(mesh)[element]:.6g} {MEASURE_UNIT[dimension]}: "
        f"{_remedy(kind)}"
    )


def _relative_determinant(frames: Array) -> Array:
    """Return det / product of edge lengths, zero where an edge has no length."""
    lengths = np.linalg.norm(frames, axis=2).prod(axis=1)
    relative: Array = np.linalg.det(frames) / np.where(lengths > 0.0, lengths, 1.0)
    return relative


def _fault(determinant: float) -> str:
    return "inverted" if determinant < -FLATNESS else "degenerate"


def _remedy(kind: str) -> str:
    if kind in SIMPLICES:
        return "move its vertices apart or remove it"
    return "every corner must be convex and its vertices in positive order (counter-clockwise seen from above)"
