"""Tensor grids in one, two and three dimensions, their splits into simplices, and a triangle of triangles.

The axes of a grid may be graded; vertices are numbered x fastest.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import numpy as np
import numpy.typing as npt

from rheotwin.arrays import Array, Flags, Indices
from rheotwin.errors import RheotwinError, nearest_name
from rheotwin.meshing.cells import HEX_LABELS, HEX_OF_LABEL, Mesh, build_mesh

TRIANGLE_PATTERNS = ("se-nw", "sw-ne", "alternating")
TET_PATTERNS = ("five", "six")

SE_NW = np.array([[0, 1, 3], [1, 2, 3]])
"""Triangles SW, SE, NW and SE, NE, NW of the quad SW, SE, NE, NW."""
SW_NE = np.array([[0, 1, 2], [0, 2, 3]])
"""Triangles SW, SE, NE and SW, NE, NW of the quad SW, SE, NE, NW."""

# Vertices are labelled x + 2 y + 4 z here: the central tet joins the four labels of even bit count.
_FIVE_LABELS = np.array([[0, 5, 3, 6], [1, 3, 0, 5], [2, 0, 3, 6], [4, 5, 0, 6], [7, 3, 5, 6]])
FIVE_EVEN = HEX_OF_LABEL[_FIVE_LABELS]
"""Five tets of a hexahedron whose vertex 0 is even: one central (1/3 of a cube), four corners (1/6 each)."""
FIVE_ODD = HEX_OF_LABEL[(_FIVE_LABELS ^ 1)[:, [0, 1, 3, 2]]]
"""The mirror image of FIVE_EVEN, for a hexahedron whose vertex 0 is odd."""


def _kuhn() -> Indices:
    """Return the six tets 0, e_a, e_a + e_b, 7 over the permutations (a, b, c) of the axes."""
    rows = []
    for a, b, c in permutations(range(3)):
        tet = [0, 1 << a, (1 << a) + (1 << b), 7]
        even = (b - a) % 3 == 1 and (c - b) % 3 == 1
        rows.append(tet if even else [tet[0], tet[1], tet[3], tet[2]])
    return np.asarray(HEX_OF_LABEL[np.array(rows)])


SIX = _kuhn()
"""Kuhn split: six tets around the body diagonal, the same in every hexahedron."""


def quads_to_triangles(quads: npt.NDArray[np.integer], pattern: str, odd: Flags) -> npt.NDArray[np.integer]:
    """Split quads (4, M) into triangles (3, 2M), the two of a quad next to each other.

    `odd` (M,) tells whether vertex 0 of a quad has an odd index sum; "alternating" draws the diagonal that
    joins odd vertices (se-nw in the first quad), so neighbours mirror each other.
    """
    require_pattern(pattern, TRIANGLE_PATTERNS)
    if pattern == "alternating":
        return _split_by_parity(quads, SE_NW, SW_NE, odd)
    return _split(quads, SE_NW if pattern == "se-nw" else SW_NE)


def hexes_to_tets(hexes: npt.NDArray[np.integer], pattern: str, odd: Flags) -> npt.NDArray[np.integer]:
    """Split hexahedra (8, M) into tets (4, 5M) or (4, 6M), those of a hexahedron next to each other.

    "five" is the parity-alternating split: every face diagonal joins even vertices, hence neighbours agree.
    `odd` (M,) tells whether vertex 0 of a hexahedron has an odd index sum. "six" is the Kuhn split.
    """
    require_pattern(pattern, TET_PATTERNS)
    return _split_by_parity(hexes, FIVE_EVEN, FIVE_ODD, odd) if pattern == "five" else _split(hexes, SIX)


def require_pattern(pattern: str, allowed: tuple[str, ...]) -> None:
    """Refuse an unknown splitting pattern in one sentence."""
    if pattern not in allowed:
        raise RheotwinError(
            f"pattern '{pattern}' is unknown{nearest_name(pattern, allowed)}: use one of {', '.join(allowed)}"
        )


def _split(cells: npt.NDArray[np.integer], table: npt.NDArray[np.integer]) -> npt.NDArray[np.integer]:
    """Apply one local table (parts, vertices) to all cells."""
    return np.asarray(cells[table.T].transpose(0, 2, 1).reshape(table.shape[1], -1))


def _split_by_parity(
    cells: npt.NDArray[np.integer], even_table: npt.NDArray[np.integer], odd_table: npt.NDArray[np.integer], odd: Flags
) -> npt.NDArray[np.integer]:
    """Apply one table to cells of even first vertex and the other table to the rest."""
    parts, vertices = even_table.shape
    result = np.empty((vertices, cells.shape[1], parts), dtype=cells.dtype)
    for table, chosen in ((even_table, ~odd), (odd_table, odd)):
        result[:, chosen] = cells[:, chosen][table.T].transpose(0, 2, 1)
    return result.reshape(vertices, -1)


Axis = Sequence[float] | Array
"""Strictly increasing coordinates along one axis [m]."""


def line(coordinates: Axis) -> Mesh:
    """Return a line mesh through increasing coordinates [m]."""
    points = grid_points(coordinates)
    nodes = np.arange(points.shape[1])
    return build_mesh("line", points, np.stack([nodes[:-1], nodes[1:]]))


def quad_grid(x: Axis, y: Axis) -> Mesh:
    """Return quadrilaterals SW, SE, NE, NW on the tensor grid x, y [m]."""
    return build_mesh("quad", grid_points(x, y), grid_quads(len(x), len(y)))


def triangle_grid(x: Axis, y: Axis, *, pattern: str = "se-nw") -> Mesh:
    """Return two triangles per cell of the tensor grid x, y [m].

    "se-nw": SW, SE, NW and SE, NE, NW in every cell; "sw-ne": the other diagonal; "alternating": both in
    turn, se-nw in the first cell (mirror symmetric for odd numbers of vertices).
    """
    quads = grid_quads(len(x), len(y))
    triangles = quads_to_triangles(quads, pattern, grid_parity(len(x), len(y))[quads[0]])
    return build_mesh("triangle", grid_points(x, y), triangles)


def hex_grid(x: Axis, y: Axis, z: Axis) -> Mesh:
    """Return hexahedra on the tensor grid x, y, z [m]."""
    return build_mesh("hex", grid_points(x, y, z), grid_hexes(len(x), len(y), len(z)))


def tet_grid(x: Axis, y: Axis, z: Axis, *, split: str = "five") -> Mesh:
    """Return tetrahedra on the tensor grid x, y, z [m].

    "five": the split alternating with cell parity, a central tet (1/3 of the cell) and four corners (1/6
    each); "six": Kuhn's, around the body diagonal.
    """
    hexes = grid_hexes(len(x), len(y), len(z))
    tets = hexes_to_tets(hexes, split, grid_parity(len(x), len(y), len(z))[hexes[0]])
    return build_mesh("tet", grid_points(x, y, z), tets)


def grid_points(*axes: Axis) -> Array:
    """Return the points (dimension, nodes) [m] of a tensor grid, x fastest; axes must increase strictly."""
    for name, axis in zip("xyz", axes, strict=False):
        values = np.asarray(axis, dtype=np.float64)
        if values.ndim != 1 or len(values) < 2 or not np.all(np.isfinite(values)) or np.any(np.diff(values) <= 0):
            raise RheotwinError(
                f"grid coordinates along {name} must be at least two finite numbers, strictly increasing"
            )
    return np.stack([axis.ravel(order="F") for axis in np.meshgrid(*axes, indexing="ij")]).astype(np.float64)


def grid_parity(*counts: int) -> Flags:
    """Return for each vertex of a grid of `counts` vertices per axis whether i + j + k is odd."""
    odd: Flags = np.indices(counts).sum(axis=0).ravel(order="F") % 2 == 1
    return odd


def grid_quads(nx: int, ny: int) -> Indices:
    """Return the quads (4, cells) SW, SE, NE, NW of a grid of nx by ny vertices, x fastest."""
    ids = np.arange(nx * ny).reshape((nx, ny), order="F")
    corners = (ids[:-1, :-1], ids[1:, :-1], ids[1:, 1:], ids[:-1, 1:])
    return np.stack([corner.ravel(order="F") for corner in corners])


def grid_hexes(nx: int, ny: int, nz: int) -> Indices:
    """Return the hexahedra (8, cells), in scikit-fem vertex order, of a grid of nx by ny by nz vertices."""
    first = np.arange(nx * ny * nz).reshape((nx, ny, nz), order="F")[:-1, :-1, :-1].ravel(order="F")
    shift = (HEX_LABELS & 1) + nx * (HEX_LABELS >> 1 & 1) + nx * ny * (HEX_LABELS >> 2 & 1)
    return np.asarray(first + shift[:, None])


def triangle(*, base: float, height: float, cells: int) -> Mesh:
    """Return an isosceles triangle, base [m] along x from the origin, apex at `height` [m], nodes row by row."""
    row = np.concatenate([np.full(cells + 1 - j, j) for j in range(cells + 1)])
    place = np.concatenate([np.arange(cells + 1 - j) for j in range(cells + 1)])
    points = np.stack([(place + 0.5 * row) * base / cells, row * height / cells])
    start = np.concatenate([[0], np.cumsum(np.arange(cells + 1, 0, -1))])
    upright = [(start[j] + i, start[j] + i + 1, start[j + 1] + i) for j in range(cells) for i in range(cells - j)]
    inverted = [
        (start[j] + i + 1, start[j + 1] + i + 1, start[j + 1] + i) for j in range(cells) for i in range(cells - j - 1)
    ]
    return build_mesh("triangle", points, np.array(upright + inverted).T)
