"""An upright triangle of equal small ones: n to a side, n squared of them."""

from __future__ import annotations

import numpy as np

from rheotwin.meshing.cells import Mesh, build_mesh


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
