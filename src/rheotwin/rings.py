"""Volumes and areas of axisymmetric bodies: every cell of the half plane (x: radius r, y: axis) stands for its ring.

dV = 2 pi r dA,     dS = 2 pi r ds
"""

from __future__ import annotations

from typing import Any

import numpy as np
from skfem import Basis, LinearForm
from skfem.quadrature import get_quadrature

from rheotwin.arrays import Array, Flags, Indices
from rheotwin.errors import RheotwinError
from rheotwin.meshing.cells import Mesh

ON_AXIS = 1e-9
"""Share of the largest radius below which a point lies on the axis."""


def on_axis(points: Array) -> Flags:
    """Tell which points (n, 2) [m] lie on the axis."""
    return np.asarray(np.abs(points[:, 0]) <= ON_AXIS * points[:, 0].max())


def require_half_plane(points: Array, place: str) -> None:
    """Refuse points (n, 2) [m] beyond the axis."""
    if points[:, 0].min() < -ON_AXIS * max(points[:, 0].max(), 0.0):
        raise RheotwinError(
            f"{place}: reaches x = {points[:, 0].min():.6g} m, but x is the radius of an axisymmetric scene; "
            "move the body to x >= 0"
        )


def ring_volumes(mesh: Mesh) -> Array:
    """Return the volume of each cell's ring [m3], negative where the cell is inverted."""
    points, weights = get_quadrature(mesh.elem.refdom, 3)  # r is linear on a cell, and so is det of a quad
    mapping = mesh.mapping()
    radius, det = mapping.F(points)[0], mapping.detDF(points)
    return np.asarray(2.0 * np.pi * (radius * det) @ weights)


@LinearForm
def _ring(v: Any, w: Any) -> Any:
    return 2.0 * np.pi * w.x[0] * v


def corner_volumes(mesh: Mesh) -> Array:
    """Return each node's share of the rings [m3]: int N_i 2 pi r dA."""
    return np.asarray(_ring.assemble(Basis(mesh, mesh.elem(), intorder=4)))


def edge_shares(points: Array, edges: Indices) -> Array:
    """Return the shares (edges, 2) [m2] that the two ends have in the area an edge sweeps: int N_i 2 pi r ds."""
    ends = points[edges]
    length, radius = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1), ends[:, :, 0]
    return np.asarray(np.pi / 3.0 * length[:, None] * (2.0 * radius + radius[:, ::-1]))
