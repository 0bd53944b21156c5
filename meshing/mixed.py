"""Meshes of several kinds of cells: quads and hexahedra of which some have corners that coincide, in VTK's order

    triangle 0 1 2 2,    tet 0 1 2 2 3 3 3 3,    pyramid 0 1 2 3 4 4 4 4,    wedge 0 1 2 2 3 4 5 5

so that a mesh has one array of cells, whatever they are; collapsed corners take no volume and bound no face.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rheotwin.arrays import Array, Indices, Integers, first_of_each
from rheotwin.meshing.cells import CELL_DIMENSION, CORNERS, FACES, HEX_OF_LABEL, MIXED_TYPES, Mesh, cell_kind

MIXED = "mixed"
"""Kind of a body of such cells."""


VTK_HEX = HEX_OF_LABEL[[0, 1, 3, 2, 4, 5, 7, 6]]
"""scikit-fem vertex of each of VTK's."""
COLLAPSED: dict[str, tuple[int, ...]] = {
    "triangle": (0, 1, 2, 2),
    "quad": (0, 1, 2, 3),
    "tet": (0, 1, 2, 2, 3, 3, 3, 3),
    "pyramid": (0, 1, 2, 3, 4, 4, 4, 4),
    "wedge": (0, 1, 2, 2, 3, 4, 5, 5),
    "hex": tuple(range(8)),
}
"""Own corner of each cell at each of VTK's corners of a quad or hexahedron."""
MIRRORED = {"triangle": (0, 2, 1), "tet": (0, 1, 3, 2), "pyramid": (0, 3, 2, 1, 4), "wedge": (3, 4, 5, 0, 1, 2)}
"""The same cell of the other orientation, where programs do not agree on one."""
ALL_CORNERS: dict[str, Indices] = CORNERS | {
    "wedge": np.array([[0, 1, 2, 3], [1, 2, 0, 4], [2, 0, 1, 5], [3, 5, 4, 0], [4, 3, 5, 1], [5, 4, 3, 2]]),
    "pyramid": np.array([[0, 1, 3, 4], [1, 2, 0, 4], [2, 3, 1, 4], [3, 0, 2, 4]]),
}
"""`CORNERS` of all kinds; the tip of a pyramid is none."""


class CellBlock(NamedTuple):
    """Cells of one kind: their places in the mesh (n,) and their corners (k, n), hexahedra in scikit-fem's order."""

    kind: str
    cells: Indices
    corners: Integers

    def frames(self, points: Array, corner: int) -> Array:
        """Return the edge vectors (n, edges, d) [m] leaving one local corner of each cell."""
        vertex, *neighbours = ALL_CORNERS[self.kind][corner]
        found: Array = points[:, self.corners[neighbours]] - points[:, None, self.corners[vertex]]
        return found.transpose(2, 1, 0)


def is_mixed(mesh: Mesh) -> bool:
    """Tell whether a mesh has collapsed cells."""
    return type(mesh) in MIXED_TYPES.values()


def body_cell(mesh: Mesh) -> str:
    """Return what solvers are asked to take: the kind of the cells, or mixed."""
    return MIXED if is_mixed(mesh) else cell_kind(mesh)


def mixed_mesh(points: npt.ArrayLike, blocks: Sequence[tuple[str, Indices]]) -> Mesh:
    """Build a mesh from points (d, nodes) [m] and blocks of a kind and cells (n, k) in VTK's order, turned outward."""
    places = np.ascontiguousarray(points, dtype=np.float64)
    whole = [_outward(places, kind, cells)[:, COLLAPSED[kind]] for kind, cells in blocks]
    cells = np.concatenate(whole).T.astype(np.int32)
    if len(places) == 2:
        return MIXED_TYPES["quad"](places, np.ascontiguousarray(cells), sort_t=False)
    return MIXED_TYPES["hex"](places, np.ascontiguousarray(cells[np.argsort(VTK_HEX)]), sort_t=False)


def _outward(points: Array, kind: str, cells: Indices) -> Indices:
    """Return the cells (n, k) with those of negative orientation mirrored; a vertex of each is enough to tell."""
    if kind not in MIRRORED:
        return cells
    ends = [1, 2, 3] if kind in ("tet", "wedge") else [1, 3, 4] if kind == "pyramid" else [1, 2]
    frames = points[:, cells[:, ends]] - points[:, cells[:, :1]]
    wrong = np.linalg.det(frames.transpose(1, 2, 0)) < 0.0
    return np.where(wrong[:, None], cells[:, MIRRORED[kind]], cells)


def cell_blocks(mesh: Mesh) -> list[CellBlock]:
    """Return the cells of a mesh by kind."""
    if not is_mixed(mesh):
        return [CellBlock(cell_kind(mesh), np.arange(mesh.t.shape[1]), mesh.t)]
    corners = mesh.t if len(mesh.p) == 2 else mesh.t[VTK_HEX]
    counts, found = first_of_each(corners).sum(axis=0), []
    for kind, pattern in COLLAPSED.items():
        cells = np.flatnonzero(counts == max(pattern) + 1)
        if len(pattern) == len(corners) and len(cells):
            own = [pattern.index(corner) for corner in range(max(pattern) + 1)]
            found.append(CellBlock(kind, cells, (mesh.t if kind == "hex" else corners[own])[:, cells]))
    return found


def mixed_boundary_faces(mesh: Mesh) -> Integers:
    """Return the faces of one cell only (n, 2 or 4), outward; triangles repeat their last corner.

    A square against two triangles is no surface either: such cells hold together by their corners.
    """
    kind = cell_kind(mesh)
    faces = mesh.t[FACES[kind]].transpose(2, 0, 1).reshape(-1, FACES[kind].shape[1])
    distinct = first_of_each(faces.T).sum(axis=0)
    if CELL_DIMENSION[kind] == 2:
        faces = faces[distinct == 2]
    else:
        for _ in range(3):  # brings two equal neighbours to the end
            apart = (distinct == 3) & (faces[:, 2] != faces[:, 3])
            faces[apart] = np.roll(faces[apart], 1, axis=1)
        faces = faces[distinct >= 3]
    _, first, uses = np.unique(np.sort(_canonical(faces), axis=1), axis=0, return_index=True, return_counts=True)
    found = faces[np.sort(first[uses == 1])]
    return np.ascontiguousarray(found if len(mesh.p) == 2 else _without_halves(found), dtype=np.int32)


def _canonical(faces: Integers) -> Integers:
    """Return faces with -1 in place of repeated corners."""
    return np.where(first_of_each(faces.T).T, faces, -1)


def _without_halves(faces: Integers) -> Integers:
    """Return the faces (n, 4) without squares that two triangles cover, and without these."""
    number = {frozenset(face): at for at, face in enumerate(faces.tolist())}
    kept = np.ones(len(faces), bool)
    for at, (a, b, c, d) in enumerate(faces.tolist()):
        for halves in (({a, b, c}, {a, c, d}), ({b, c, d}, {a, b, d})):
            covers = [number[frozenset(half)] for half in halves if frozenset(half) in number]
            if c != d and len(covers) == 2:
                kept[[at, *covers]] = False
    return faces[kept]
