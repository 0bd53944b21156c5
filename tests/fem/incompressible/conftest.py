"""Distorted meshes of every cell kind."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheotwin.meshing.box import hex_grid, quad_grid, tet_grid, triangle_grid
from rheotwin.meshing.cells import build_mesh

GRIDS: dict[str, Callable[[], Any]] = {
    "triangle": lambda: triangle_grid(*[np.linspace(1.0, 2.0, 5)] * 2),
    "quad": lambda: quad_grid(*[np.linspace(1.0, 2.0, 5)] * 2),
    "tet": lambda: tet_grid(*[np.linspace(1.0, 2.0, 4)] * 3, split="six"),
    "hex": lambda: hex_grid(*[np.linspace(1.0, 2.0, 4)] * 3),
}


@pytest.fixture
def distorted() -> Callable[[str], Any]:
    """Return a mesh of the unit box at (1, ...) whose inner nodes are moved; hexahedra keep flat faces."""

    def make(cell: str) -> Any:
        mesh = GRIDS[cell]()
        points = mesh.p.copy()
        if cell == "hex":
            return build_mesh(cell, points + 0.2 * points[[1, 2, 0]], mesh.t)
        inner = np.setdiff1d(np.arange(points.shape[1]), mesh.boundary_nodes())
        points[:, inner] += 0.05 * np.random.default_rng(0).uniform(-1, 1, (len(points), len(inner)))
        return build_mesh(cell, points, mesh.t)

    return make
