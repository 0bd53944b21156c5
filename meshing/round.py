"""Discs, balls and cylinders: a rounded core of quadrilaterals or hexahedra wrapped in rings.

A square mapped onto a disc flattens its corners to 180 degrees and its corner cells degenerate as it is
refined. Here only a core is a (rounded) square or cube; rings of cells grow from its boundary to the circle
or sphere, so the quality stays bounded at every resolution. Boundary vertices lie on it exactly.

L-shapes: a box without the corner block of largest x and y, in the plane or extruded along z.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from rheotwin.arrays import Array, Flags, Indices
from rheotwin.errors import RheotwinError
from rheotwin.meshing.box import grid_hexes, grid_parity, grid_points, grid_quads, hexes_to_tets, quads_to_triangles
from rheotwin.meshing.cells import HEX_OF_LABEL, Mesh, build_mesh
from rheotwin.meshing.topology import boundary_faces

CORE_ROUNDING = 0.6
"""How far the core leans from a square (0) to a disc (1): the value of best worst-element quality."""
RING_LABELS = HEX_OF_LABEL[[0, 1, 3, 2, 4, 5, 7, 6]]
"""scikit-fem hexahedron vertices of a lower ring and the upper ring above it, both counter-clockwise."""


@dataclass(frozen=True)
class CellGrid:
    """Quads or hexahedra with a two-colouring: every edge joins an even and an odd vertex.

    points (dimension, nodes); cells (vertices, cells) in scikit-fem order; odd (nodes,).
    """

    points: Array
    cells: Indices
    odd: Flags

    def mesh(self, cell: str) -> Mesh:
        """Return the grid as a mesh of quads, hexahedra, or the alternating split of them."""
        odd = self.odd[self.cells[0]]
        match cell:
            case "triangle":
                # joining even vertices keeps the angles at the rim smaller than the other choice
                return build_mesh(cell, self.points, quads_to_triangles(self.cells, "alternating", ~odd))
            case "tet":
                return build_mesh(cell, self.points, hexes_to_tets(self.cells, "five", odd))
            case _:
                return build_mesh(cell, self.points, self.cells)


def unit_ball(cells: int, dimension: int) -> CellGrid:
    """Return the unit disc or ball with `cells` across its diameter: about half of them core, half rings."""
    rings = (cells + 1) // 4
    core = cells - 2 * rings
    reference = grid_points(*[np.linspace(-1.0, 1.0, core + 1)] * dimension)
    direction = _ball_map(reference)
    rounding = CORE_ROUNDING if rings else 1.0
    inner = (core / cells) * ((1.0 - rounding) * reference + rounding * direction)
    counts = [core + 1] * dimension
    core_cells = grid_quads(*counts) if dimension == 2 else grid_hexes(*counts)
    grid = CellGrid(inner, core_cells, grid_parity(*counts))
    return _wrapped(grid, direction, rings) if rings else grid


def extruded(grid: CellGrid, heights: Array) -> CellGrid:
    """Return the hexahedra over a quad grid through increasing heights [m]."""
    nodes, layers = grid.points.shape[1], len(heights)
    base = np.tile(grid.points, layers)
    points = np.vstack([base, np.repeat(heights, nodes)[None]])
    lower = np.concatenate([grid.cells + layer * nodes for layer in range(layers - 1)], axis=1)
    odd = np.concatenate([grid.odd ^ (layer % 2 == 1) for layer in range(layers)])
    return CellGrid(points, _stacked(lower, lower + nodes), odd)


def _ball_map(cube: Array) -> Array:
    """Map the cube [-1, 1]^d onto the unit ball: shells onto spheres, with nearly equal angles.

    x = q e / |e|, e_i = tan(pi t_i / 4 q), q = max |t_i|.
    """
    shell = np.abs(cube).max(axis=0)
    ray = np.tan(0.25 * np.pi * cube / np.where(shell > 0.0, shell, 1.0))
    length = np.linalg.norm(ray, axis=0)
    mapped: Array = shell * ray / np.where(length > 0.0, length, 1.0)
    return mapped


def _wrapped(core: CellGrid, sphere: Array, rings: int) -> CellGrid:
    """Grow rings from the boundary of the core straight to its images on the unit circle or sphere."""
    faces = boundary_faces(build_mesh("quad" if len(core.points) == 2 else "hex", core.points, core.cells)).T
    rim, compact = np.unique(faces, return_inverse=True)
    compact = compact.reshape(faces.shape)
    nodes, size = core.points.shape[1], len(rim)
    fractions = np.arange(1, rings + 1) / rings
    grown = [(1.0 - f) * core.points[:, rim] + f * sphere[:, rim] for f in fractions]
    levels = [faces.astype(np.int64), *(nodes + ring * size + compact for ring in range(rings))]
    shells = [_stacked(below, above) for below, above in pairwise(levels)]
    odd = [core.odd, *(core.odd[rim] ^ (ring % 2 == 0) for ring in range(rings))]
    return CellGrid(np.hstack([core.points, *grown]), np.hstack([core.cells, *shells]), np.concatenate(odd))


def _stacked(lower: Indices, upper: Indices) -> Indices:
    """Join outward oriented edges or quads with their outer copies to quads or hexahedra."""
    if len(lower) == 2:
        return np.stack([lower[0], upper[0], upper[1], lower[1]])
    cells = np.empty((8, lower.shape[1]), dtype=np.int64)
    cells[RING_LABELS] = np.concatenate([lower, upper])
    return cells


def cylinder(*, radius: float, height: float, cells: tuple[int, int], cell: str = "tet") -> Mesh:
    """Return a cylinder of `radius` [m] and `height` [m], of cell "tet" or "hex".

    `cells` are the numbers across the diameter and along the axis.
    """
    across, along = cells
    disc = unit_ball(across, 2)
    base = replace(disc, points=radius * disc.points)
    return extruded(base, np.linspace(0.0, height, along + 1)).mesh(cell)


def ball(*, radius: float, cells: int, cell: str = "tet") -> Mesh:
    """Return a ball of `radius` [m] with `cells` across its diameter, of cell "tet" or "hex"."""
    grid = unit_ball(cells, 3)
    return replace(grid, points=radius * grid.points).mesh(cell)


def disc(*, radius: float, cells: int, cell: str = "triangle") -> Mesh:
    """Return a disc of `radius` [m] with `cells` across its diameter, of cell "triangle" or "quad"."""
    grid = unit_ball(cells, 2)
    return replace(grid, points=radius * grid.points).mesh(cell)


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
