"""Any filled mesh as equal squares or cubes: the ground of the 26-neighbour lattice.

A regular grid of the wanted spacing is laid over the bounding box of the mesh, in its middle; the cells whose centre
lies in the mesh are kept (on its surface counts as in).

The papers' calibration takes the five-tet truss with odd numbers of particles along each axis only: then it is mirror
symmetric. Even numbers are no mistake, but corners differ from their mirror images; the lattice has no such preference.
"""

from __future__ import annotations

import numpy as np

from rheotwin.arrays import Array, Flags, Indices
from rheotwin.errors import RheotwinError
from rheotwin.meshing.box import grid_hexes, grid_parity, grid_points, grid_quads, hexes_to_tets, quads_to_triangles
from rheotwin.meshing.cells import CELL_DIMENSION, SIMPLICES, Mesh, build_mesh, cell_kind
from rheotwin.meshing.topology import oriented

ON_SURFACE = 1e-9
"""A point this far outside, as a share of its cell's height, is on the surface: rounding of coordinates."""
WHOLE = 1e-6
"""A length that misses a whole number of spacings by this part of one is that whole number."""
MOST_CELLS = 20_000_000
"""Most cells of the grid over a mesh; more are a slip of units."""


def voxelised(mesh: Mesh, spacing: float, *, cell: str | None = None, pattern: str | None = None) -> Mesh:
    """Return the squares (2D) or cubes (3D) of edge `spacing` [m] whose centres lie in a mesh, numbered x fastest.

    `cell`: quad or hex (default), or triangle or tet, each voxel split by `pattern` (default: alternating, five).
    A body of 1D is refused: its cells are voxels already.
    """
    dimension = CELL_DIMENSION[cell_kind(mesh)]
    if dimension == 1:
        raise RheotwinError("voxels are for bodies of two or three dimensions: choose the cells of a line instead")
    axes = _axes(mesh, spacing)
    counts = [len(axis) for axis in axes]
    points = grid_points(*axes)
    cells = (grid_quads(*counts) if dimension == 2 else grid_hexes(*counts)).astype(np.int64)
    odd = grid_parity(*counts)
    centres = [0.5 * (axis[1:] + axis[:-1]) for axis in axes]
    cells = cells[:, filled(mesh, centres).ravel(order="F")]
    if cells.shape[1] == 0:
        raise RheotwinError(f"no voxel of spacing {spacing:g} m has its centre in the mesh: choose a smaller spacing")
    used, compact = np.unique(cells, return_inverse=True)
    compact = compact.reshape(cells.shape)
    return _split(points[:, used], compact, odd[used][compact[0]], cell, pattern)


def _axes(mesh: Mesh, spacing: float) -> list[Array]:
    """Return grid lines [m] that cover the mesh, in the middle of its bounding box."""
    low, high = mesh.p.min(axis=1), mesh.p.max(axis=1)
    if not (np.isfinite(spacing) and spacing > 0.0):
        raise RheotwinError(f"the spacing of voxels must be positive [m], not {spacing:g}")
    counts = np.maximum(np.ceil((high - low) / spacing - WHOLE), 1.0)
    if np.prod(counts) > MOST_CELLS:
        raise RheotwinError(f"voxels of {spacing:g} m would be more than {MOST_CELLS:,}: choose a larger spacing")
    start = 0.5 * (low + high - counts * spacing)
    return [first + spacing * np.arange(int(count) + 1) for first, count in zip(start, counts, strict=True)]


def _split(points: Array, cells: Indices, odd: Flags, kind: str | None, pattern: str | None) -> Mesh:
    """Build the mesh of whole voxels, or of their triangles or tets."""
    match kind:
        case "triangle":
            return build_mesh(kind, points, quads_to_triangles(cells, pattern or "alternating", odd))
        case "tet":
            return build_mesh(kind, points, hexes_to_tets(cells, pattern or "five", odd))
        case _:
            return build_mesh("quad" if len(points) == 2 else "hex", points, cells)


def simplices(mesh: Mesh) -> Mesh:
    """Return the mesh in triangles or tets of positive measure."""
    kind = cell_kind(mesh)
    if kind in SIMPLICES:
        return oriented(mesh)
    none_odd = np.zeros(mesh.t.shape[1], dtype=np.bool_)
    if kind == "quad":
        return oriented(build_mesh("triangle", mesh.p, quads_to_triangles(mesh.t, "se-nw", none_odd)))
    return oriented(build_mesh("tet", mesh.p, hexes_to_tets(mesh.t, "six", none_odd)))


def filled(mesh: Mesh, centres: list[Array]) -> Flags:
    """Return which points of a tensor grid, `centres` [m] per axis, lie in a mesh; shape: points per axis.

    Every simplex looks only at the grid points in its own bounding box.
    """
    parts = simplices(mesh)
    corners = parts.p[:, parts.t].transpose(2, 1, 0)
    inverse = np.linalg.inv((corners[:, 1:] - corners[:, :1]).transpose(0, 2, 1))
    low, high = corners.min(axis=1), corners.max(axis=1)
    slack = ON_SURFACE * (high - low).max(axis=1, keepdims=True)
    first = np.stack([np.searchsorted(axis, low[:, a] - slack[:, 0]) for a, axis in enumerate(centres)], axis=1)
    last = np.stack(
        [np.searchsorted(axis, high[:, a] + slack[:, 0], "right") for a, axis in enumerate(centres)], axis=1
    )
    inside = np.zeros([len(axis) for axis in centres], dtype=np.bool_)
    for part in np.flatnonzero(np.all(last > first, axis=1)):
        window = tuple(slice(a, b) for a, b in zip(first[part], last[part], strict=True))
        grid = np.meshgrid(*(axis[span] for axis, span in zip(centres, window, strict=True)), indexing="ij")
        shares = np.tensordot(inverse[part], np.stack(grid) - corners[part, 0].reshape(-1, *[1] * len(grid)), axes=1)
        inside[window] |= (shares.min(axis=0) >= -ON_SURFACE) & (shares.sum(axis=0) <= 1.0 + ON_SURFACE)
    return inside
