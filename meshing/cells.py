"""The five cell kinds: names, scikit-fem classes, and the local numbering all other modules read here."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from skfem import MeshHex1, MeshLine1, MeshQuad1, MeshTet1, MeshTri1

from rheotwin.arrays import Indices
from rheotwin.errors import RheotwinError

Mesh: TypeAlias = Any
"""A first-order scikit-fem mesh: points `p` (dimension, nodes) [m], cells `t` (vertices, elements)."""

MESH_TYPES: dict[str, Any] = {
    "line": MeshLine1,
    "triangle": MeshTri1,
    "quad": MeshQuad1,
    "tet": MeshTet1,
    "hex": MeshHex1,
}


class MixedQuads(MeshQuad1):  # type: ignore[misc]  # scikit-fem has no types
    """Triangles and quads: see `rheotwin.meshing.mixed`."""


class MixedHexes(MeshHex1):  # type: ignore[misc]
    """Tets, pyramids, wedges and hexahedra."""


MIXED_TYPES: dict[str, Any] = {"quad": MixedQuads, "hex": MixedHexes}
CELL_DIMENSION = {"line": 1, "triangle": 2, "quad": 2, "tet": 3, "hex": 3}
SIMPLICES = ("line", "triangle", "tet")

HEX_LABELS = np.array([0, 4, 2, 1, 6, 5, 3, 7])
"""Label x + 2 y + 4 z of each scikit-fem hexahedron vertex on the unit cube."""
HEX_OF_LABEL = np.argsort(HEX_LABELS)
"""scikit-fem hexahedron vertex of each label."""


def _hex_corners() -> Indices:
    """Return, per vertex, itself and its three neighbours in right-handed order."""
    rows = []
    for label in HEX_LABELS:
        neighbours = [label ^ 1, label ^ 2, label ^ 4]
        if int(label).bit_count() % 2:
            neighbours[1:] = neighbours[:0:-1]
        rows.append(HEX_OF_LABEL[[label, *neighbours]])
    return np.array(rows)


def _hex_faces() -> Indices:
    """Return the six faces, each seen counter-clockwise from outside."""
    rows = []
    for axis in range(3):
        first, second = 1 << (axis + 1) % 3, 1 << (axis + 2) % 3
        ring = np.array([0, first, first + second, second])
        rows += [HEX_OF_LABEL[ring[::-1]], HEX_OF_LABEL[ring + (1 << axis)]]
    return np.array(rows)


CORNERS: dict[str, Indices] = {
    "line": np.array([[0, 1]]),
    "triangle": np.array([[0, 1, 2], [1, 2, 0], [2, 0, 1]]),
    "quad": np.array([[0, 1, 3], [1, 2, 0], [2, 3, 1], [3, 0, 2]]),
    "tet": np.array([[0, 1, 2, 3], [1, 0, 3, 2], [2, 0, 1, 3], [3, 0, 2, 1]]),
    "hex": _hex_corners(),
}
"""Local corners: a vertex and its neighbours, ordered so that a good element has a positive determinant."""

FACES: dict[str, Indices] = {
    "line": np.array([[0], [1]]),
    "triangle": np.array([[0, 1], [1, 2], [2, 0]]),
    "quad": np.array([[0, 1], [1, 2], [2, 3], [3, 0]]),
    "tet": CORNERS["tet"][:, 1:],
    "hex": _hex_faces(),
}
"""Local faces, oriented outward: edges (2D) or polygons (3D, from outside) run counter-clockwise."""

EDGES: dict[str, Indices] = {
    "line": np.array([[0, 1]]),
    "triangle": FACES["triangle"],
    "quad": FACES["quad"],
    "tet": np.array([[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]),
    "hex": np.array([[i, j] for i, *ends in _hex_corners() for j in ends if i < j]),
}
"""Local edges of each cell."""


def cell_kind(mesh: Mesh) -> str:
    """Return the cell kind of a mesh: line, triangle, quad, tet or hex; of mixed cells that of the largest."""
    for kind, mesh_type in MESH_TYPES.items():
        # second-order meshes are subclasses of the first-order ones
        if type(mesh) in (mesh_type, MIXED_TYPES.get(kind)):
            return kind
    raise RheotwinError(
        f"a mesh of type {type(mesh).__name__} is not supported: use first-order cells of kind {', '.join(MESH_TYPES)}"
    )


def build_mesh(kind: str, points: npt.ArrayLike, cells: npt.ArrayLike) -> Mesh:
    """Build a scikit-fem mesh from points (dimension, nodes) [m] and cells (vertices, elements).

    Vertex order is kept as given: scikit-fem would otherwise sort triangles and lose their orientation.
    """
    return MESH_TYPES[kind](
        np.ascontiguousarray(points, dtype=np.float64), np.ascontiguousarray(cells, dtype=np.int32), sort_t=False
    )
