"""Splitting quadrilaterals into triangles and hexahedra into tetrahedra, with diagonals that match."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import numpy.typing as npt

from rheotwin.errors import RheotwinError, nearest_name
from rheotwin.meshing.cells import HEX_OF_LABEL

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


def _kuhn() -> npt.NDArray[np.int64]:
    """Return the six tets 0, e_a, e_a + e_b, 7 over the permutations (a, b, c) of the axes."""
    rows = []
    for a, b, c in permutations(range(3)):
        tet = [0, 1 << a, (1 << a) + (1 << b), 7]
        even = (b - a) % 3 == 1 and (c - b) % 3 == 1
        rows.append(tet if even else [tet[0], tet[1], tet[3], tet[2]])
    return np.asarray(HEX_OF_LABEL[np.array(rows)])


SIX = _kuhn()
"""Kuhn split: six tets around the body diagonal, the same in every hexahedron."""


def quads_to_triangles(
    quads: npt.NDArray[np.integer], pattern: str, odd: npt.NDArray[np.bool_]
) -> npt.NDArray[np.integer]:
    """Split quads (4, M) into triangles (3, 2M), the two of a quad next to each other.

    `odd` (M,) tells whether vertex 0 of a quad has an odd index sum; "alternating" draws the diagonal that
    joins odd vertices (se-nw in the first quad), so neighbours mirror each other.
    """
    require_pattern(pattern, TRIANGLE_PATTERNS)
    if pattern == "alternating":
        return _split_by_parity(quads, SE_NW, SW_NE, odd)
    return _split(quads, SE_NW if pattern == "se-nw" else SW_NE)


def hexes_to_tets(hexes: npt.NDArray[np.integer], pattern: str, odd: npt.NDArray[np.bool_]) -> npt.NDArray[np.integer]:
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
    cells: npt.NDArray[np.integer],
    even_table: npt.NDArray[np.integer],
    odd_table: npt.NDArray[np.integer],
    odd: npt.NDArray[np.bool_],
) -> npt.NDArray[np.integer]:
    """Apply one table to cells of even first vertex and the other table to the rest."""
    parts, vertices = even_table.shape
    result = np.empty((vertices, cells.shape[1], parts), dtype=cells.dtype)
    for table, chosen in ((even_table, ~odd), (odd_table, odd)):
        result[:, chosen] = cells[:, chosen][table.T].transpose(0, 2, 1)
    return result.reshape(vertices, -1)
