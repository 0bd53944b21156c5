"""L-shapes: a box without the corner block of largest x and y, in the plane or extruded along z."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError
from rheotwin.meshing.box import grid_hexes, grid_parity, grid_points, grid_quads, hexes_to_tets, quads_to_triangles
from rheotwin.meshing.cells import Mesh, build_mesh
from rheotwin.meshing.round import CellGrid


def l_shape(*, size: Sequence[float], cells: Sequence[int], cut: Sequence[float], cell: str, pattern: str = "") -> Mesh:
    """Return an L of `size` [m] with the corner block `cut` = (cx, cy) [m] removed.

    The cells of an axis are shared between kept and cut length so that a grid line runs along the cut.
    """
    if len(size) < 2 or len(cut) != 2 or any(c >= s for c, s in zip(cut, size, strict=False)):
        raise RheotwinError("cut of an L-shape must be two lengths (cx, cy) [m], each smaller than the size")
    axes = [_cut_axis(size[axis], cells[axis], cut[axis]) for axis in range(2)]
    axes += [np.linspace(0.0, length, count + 1) for length, count in zip(size[2:], cells[2:], strict=True)]
    grid = _without_corner(axes, [size[0] - cut[0], size[1] - cut[1]])
    odd = grid.odd[grid.cells[0]]
    match cell:
        case "triangle":
            return build_mesh(cell, grid.points, quads_to_triangles(grid.cells, pattern or "se-nw", odd))
        case "tet":
            return build_mesh(cell, grid.points, hexes_to_tets(grid.cells, pattern or "five", odd))
        case _:
            return build_mesh(cell, grid.points, grid.cells)


def _cut_axis(size: float, cells: int, cut: float) -> Array:
    """Return coordinates [m] with a grid line at size - cut and nearly even spacing."""
    if cells < 2:
        raise RheotwinError("an L-shape needs at least 2 cells along x and y")
    kept = min(max(round(cells * (size - cut) / size), 1), cells - 1)
    below = np.linspace(0.0, size - cut, kept + 1)
    return np.concatenate([below, np.linspace(size - cut, size, cells - kept + 1)[1:]])


def _without_corner(axes: Sequence[Array], kept: Sequence[float]) -> CellGrid:
    """Return the tensor grid without the cells beyond both kept lengths [m], unused vertices dropped."""
    counts = [len(axis) for axis in axes]
    points, odd = grid_points(*axes), grid_parity(*counts)
    cells = grid_quads(*counts) if len(counts) == 2 else grid_hexes(*counts)
    centre = points[:2, cells].mean(axis=1)
    cells = cells[:, (centre[0] < kept[0]) | (centre[1] < kept[1])]
    used, compact = np.unique(cells, return_inverse=True)
    return CellGrid(points[:, used], compact.reshape(cells.shape), odd[used])
