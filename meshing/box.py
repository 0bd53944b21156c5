"""Tensor grids in one, two and three dimensions: the axes may be graded; vertices are numbered x fastest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rheotwin.errors import RheotwinError
from rheotwin.meshing.cells import HEX_LABELS, FloatArray, Mesh, build_mesh
from rheotwin.meshing.split import hexes_to_tets, quads_to_triangles

Axis = Sequence[float] | npt.NDArray[np.float64]
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


def grid_points(*axes: Axis) -> FloatArray:
    """Return the points (dimension, nodes) [m] of a tensor grid, x fastest; axes must increase strictly."""
    for name, axis in zip("xyz", axes, strict=False):
        values = np.asarray(axis, dtype=np.float64)
        if values.ndim != 1 or len(values) < 2 or not np.all(np.isfinite(values)) or np.any(np.diff(values) <= 0):
            raise RheotwinError(
                f"grid coordinates along {name} must be at least two finite numbers, strictly increasing"
            )
    return np.stack([axis.ravel(order="F") for axis in np.meshgrid(*axes, indexing="ij")]).astype(np.float64)


def grid_parity(*counts: int) -> npt.NDArray[np.bool_]:
    """Return for each vertex of a grid of `counts` vertices per axis whether i + j + k is odd."""
    odd: npt.NDArray[np.bool_] = np.indices(counts).sum(axis=0).ravel(order="F") % 2 == 1
    return odd


def grid_quads(nx: int, ny: int) -> npt.NDArray[np.int64]:
    """Return the quads (4, cells) SW, SE, NE, NW of a grid of nx by ny vertices, x fastest."""
    ids = np.arange(nx * ny).reshape((nx, ny), order="F")
    corners = (ids[:-1, :-1], ids[1:, :-1], ids[1:, 1:], ids[:-1, 1:])
    return np.stack([corner.ravel(order="F") for corner in corners])


def grid_hexes(nx: int, ny: int, nz: int) -> npt.NDArray[np.int64]:
    """Return the hexahedra (8, cells), in scikit-fem vertex order, of a grid of nx by ny by nz vertices."""
    first = np.arange(nx * ny * nz).reshape((nx, ny, nz), order="F")[:-1, :-1, :-1].ravel(order="F")
    shift = (HEX_LABELS & 1) + nx * (HEX_LABELS >> 1 & 1) + nx * ny * (HEX_LABELS >> 2 & 1)
    return np.asarray(first + shift[:, None])
