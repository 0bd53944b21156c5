"""Any filled mesh, closed surface or union of solids as equal squares or cubes: the ground of lattices and particles.

A regular grid of the wanted spacing is laid over the bounding box of the mesh, in its middle; the cells whose centre
lies in the mesh are kept (on its surface counts as in).

The papers' calibration takes the five-tet truss with odd numbers of particles along each axis only: then it is mirror
symmetric. Even numbers are no mistake, but corners differ from their mirror images; the lattice has no such preference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

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
BISECTIONS, AROUND, TRIALS = 16, 0.004, 60
"""How the edge for a number of cubes is found: halvings, then trials within this share of the edge."""
ASIDE = np.array([1.3e-7, 1.7e-7])
"""Columns are looked at this part of a spacing aside, so that none meets an edge of a surface."""


@dataclass(frozen=True)
class Solid:
    """All that is within `radius` [m] of a segment `ends` (2, 3) [m], axes stretched by `scale` (3,) about its middle.

    A capsule has scale 1; an ellipsoid is a segment of length zero with its half axes as scale and radius 1.
    """

    ends: Array
    radius: float
    scale: Array

    def contains(self, points: Array) -> Flags:
        """Return which points (..., 3) [m] lie in it."""
        middle = self.ends.mean(axis=0)
        start, along = (self.ends[0] - middle) / self.scale, (self.ends[1] - self.ends[0]) / self.scale
        away = (points - middle) / self.scale - start
        share = np.clip(away @ along / max(float(along @ along), np.finfo(float).tiny), 0.0, 1.0)
        return np.asarray(np.sum((away - share[..., None] * along) ** 2, axis=-1) <= self.radius**2)

    def box(self) -> tuple[Array, Array]:
        """Return its lowest and highest coordinates [m]."""
        return self.ends.min(axis=0) - self.radius * self.scale, self.ends.max(axis=0) + self.radius * self.scale


def voxelised(mesh: Mesh, spacing: float, *, cell: str | None = None, pattern: str | None = None) -> Mesh:
    """Return the squares (2D) or cubes (3D) of edge `spacing` [m] whose centres lie in a mesh, numbered x fastest.

    `cell`: quad or hex (default), or triangle or tet, each voxel split by `pattern` (default: alternating, five).
    A body of 1D is refused: its cells are voxels already.
    """
    dimension = CELL_DIMENSION[cell_kind(mesh)]
    if dimension == 1:
        raise RheotwinError("voxels are for bodies of two or three dimensions: choose the cells of a line instead")
    axes = _axes(mesh.p.min(axis=1), mesh.p.max(axis=1), spacing)
    return _kept(axes, filled(mesh, _centres(axes)), cell, pattern)


def voxelised_surface(
    points: Array, triangles: Indices, spacing: float, *, cell: str | None = None, pattern: str | None = None
) -> Mesh:
    """Return the cubes of edge `spacing` [m] whose centres a closed surface (n, 3) [m], (m, 3) goes around."""
    axes = _axes(points.min(axis=0), points.max(axis=0), spacing)
    return _kept(axes, enclosed(points, triangles, _centres(axes)), cell, pattern)


def voxelised_solids(solids: Sequence[Solid], spacing: float | None, count: int | None = None) -> Mesh:
    """Return the cubes of edge `spacing` [m] whose centres lie in any of the solids.

    With `count` the edge is the one that comes nearest to so many cubes, found by bisection and a search around it.
    """
    low = np.min([solid.box()[0] for solid in solids], axis=0)
    high = np.max([solid.box()[1] for solid in solids], axis=0)

    def inside(axes: list[Array]) -> Flags:
        grid = np.stack(np.meshgrid(*_centres(axes), indexing="ij"), axis=-1)
        return np.asarray(np.any([solid.contains(grid) for solid in solids], axis=0))

    if spacing is None:
        assert count is not None
        spacing = _edge_for(count, lambda edge: int(inside(_axes(low, high, edge)).sum()), float((high - low).max()))
    axes = _axes(low, high, spacing)
    return _kept(axes, inside(axes), "hex", None)


def _edge_for(count: int, filled_by: Callable[[float], int], largest: float) -> float:
    """Return the edge [m] with which as near to `count` cubes as can be are filled."""
    low, high = largest / (2.0 * count + 2.0) ** (1.0 / 3.0), largest
    while filled_by(low) < count:
        low *= 0.5
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if filled_by(middle) >= count else (low, middle)
    best, miss = low, count
    for share in np.arange(TRIALS) * (-1.0) ** np.arange(TRIALS) / TRIALS:
        edge = low * (1.0 + AROUND * share)
        if abs(filled_by(edge) - count) < miss:
            best, miss = edge, abs(filled_by(edge) - count)
        if miss == 0:
            break
    return float(best)


def _centres(axes: list[Array]) -> list[Array]:
    return [0.5 * (axis[1:] + axis[:-1]) for axis in axes]


def _kept(axes: list[Array], inside: Flags, cell: str | None, pattern: str | None) -> Mesh:
    """Return the mesh of those cells of a grid that are inside."""
    counts = [len(axis) for axis in axes]
    points = grid_points(*axes)
    cells = (grid_quads(*counts) if len(axes) == 2 else grid_hexes(*counts)).astype(np.int64)
    odd = grid_parity(*counts)
    cells = cells[:, inside.ravel(order="F")]
    if cells.shape[1] == 0:
        spacing = axes[0][1] - axes[0][0]
        raise RheotwinError(f"no voxel of spacing {spacing:g} m has its centre in the mesh: choose a smaller spacing")
    used, compact = np.unique(cells, return_inverse=True)
    compact = compact.reshape(cells.shape)
    return _split(points[:, used], compact, odd[used][compact[0]], cell, pattern)


def _axes(low: Array, high: Array, spacing: float) -> list[Array]:
    """Return grid lines [m] that cover a box, in its middle."""
    if not (np.isfinite(spacing) and spacing > 0.0):
        raise RheotwinError(f"the spacing of voxels must be positive [m], not {spacing:g}")
    if spacing > (1.0 + WHOLE) * (high - low).max():
        raise RheotwinError(
            f"voxels of {spacing:g} m are larger than the body, which is {(high - low).max():g} m across: choose a "
            "smaller spacing"
        )
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


def enclosed(points: Array, triangles: Indices, centres: list[Array]) -> Flags:
    """Return around which points of a tensor grid a closed surface goes, winding number above 1/2; shape: per axis.

    The winding number of a point is the number of triangles straight above it, those that face up less those that face
    down: every triangle is met by the columns of the grid below its own bounding box.
    """
    ends = np.sort(np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1)
    turns = np.concatenate([triangles[:, k] < triangles[:, (k + 1) % 3] for k in range(3)])
    _, edge = np.unique(ends, axis=0, return_inverse=True)
    if np.any(np.bincount(edge.ravel(), np.where(turns, 1.0, -1.0))):
        raise RheotwinError("the surface is not closed, or its triangles do not all face the same way: repair it")
    corners = points[triangles]
    spacing = centres[0][1] - centres[0][0] if len(centres[0]) > 1 else 1.0
    columns = [axis + aside * spacing for axis, aside in zip(centres, ASIDE, strict=False)]
    first = [np.searchsorted(axis, corners[:, :, a].min(axis=1)) for a, axis in enumerate(columns)]
    last = [np.searchsorted(axis, corners[:, :, a].max(axis=1)) for a, axis in enumerate(columns)]
    wide, deep = last[0] - first[0], last[1] - first[1]
    part = np.repeat(np.arange(len(triangles)), wide * deep)
    place = np.arange(len(part)) - np.repeat(np.cumsum(wide * deep) - wide * deep, wide * deep)
    i, j = first[0][part] + place // np.maximum(deep[part], 1), first[1][part] + place % np.maximum(deep[part], 1)
    a, b, c = corners[part].transpose(1, 0, 2)
    at = np.stack([columns[0][i], columns[1][j]], axis=1)
    shares = np.stack([_turn(b, c, at), _turn(c, a, at), _turn(a, b, at)])
    area = shares.sum(axis=0)
    met = (np.sign(shares) == np.sign(area)).all(axis=0) & (area != 0.0)
    height = (shares[0] * a[:, 2] + shares[1] * b[:, 2] + shares[2] * c[:, 2])[met] / area[met]
    around = np.zeros([len(axis) + (axis is centres[2]) for axis in centres])
    np.add.at(around, (i[met], j[met], np.searchsorted(centres[2], height)), np.sign(area[met]))
    above = np.cumsum(around[:, :, ::-1], axis=2)[:, :, ::-1][:, :, 1:]
    return np.asarray((above if _volume(corners) > 0.0 else -above) > 0.5)


def _turn(a: Array, b: Array, at: Array) -> Array:
    """Return twice the area of the triangles a, b, at in the plane of x and y, positive counter-clockwise."""
    return np.asarray((b[:, 0] - a[:, 0]) * (at[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (at[:, 0] - a[:, 0]))


def _volume(corners: Array) -> float:
    """Return six times the volume inside of triangles (n, 3, 3) [m]."""
    around = corners - corners.mean(axis=(0, 1))
    return float(np.sum(around[:, 0] * np.cross(around[:, 1], around[:, 2])))
