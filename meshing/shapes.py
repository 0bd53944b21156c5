"""The shapes a scene can name, and the one entry that turns any of them into a mesh.

Boxes, grids and L-shapes start with their lowest corner at the origin; cylinders stand with the centre of
their base at the origin, spheres are centred there. In two dimensions a cylinder or a sphere is a disc.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import TypeAlias

import numpy as np

from rheotwin.errors import RheotwinError, nearest_name
from rheotwin.meshing.box import (
    TET_PATTERNS,
    TRIANGLE_PATTERNS,
    Axis,
    hex_grid,
    line,
    quad_grid,
    require_pattern,
    tet_grid,
    triangle,
    triangle_grid,
)
from rheotwin.meshing.cells import CELL_DIMENSION, Mesh
from rheotwin.meshing.round import ball, cylinder, disc, l_shape
from rheotwin.meshing.voxels import Solid, voxelised_solids

DEFAULT_CELL = {1: "line", 2: "triangle", 3: "tet"}
"""Cell kind of a shape that names none, by dimension."""
PATTERNS = {"triangle": TRIANGLE_PATTERNS, "tet": TET_PATTERNS}
"""Splitting patterns by cell kind; the first is the default."""


@dataclass(frozen=True)
class BoxShape:
    """A line, rectangle or box of `size` [m], divided evenly into `cells` per axis."""

    size: Sequence[float]
    cells: Sequence[int]
    cell: str | None = None
    pattern: str | None = None


@dataclass(frozen=True)
class GridShape:
    """A tensor grid through given coordinates [m] per axis."""

    coordinates: Sequence[Axis]
    cell: str | None = None
    pattern: str | None = None


@dataclass(frozen=True)
class CylinderShape:
    """A solid cylinder along z: radius [m], height [m], `cells` across the diameter and along the axis.

    With triangles or quads it is a disc; height and the second number of cells are then not needed.
    """

    radius: float
    height: float | None = None
    cells: Sequence[int] = (8, 8)
    cell: str = "tet"


@dataclass(frozen=True)
class SphereShape:
    """A ball of `radius` [m] with `cells` across its diameter; with triangles or quads it is a disc."""

    radius: float
    cells: int = 8
    cell: str = "tet"


@dataclass(frozen=True)
class LShape:
    """A box of `size` [m] whose corner block of largest x and y, `cut` = (cx, cy) [m], is removed.

    In three dimensions the L in the x-y plane is extruded along z.
    """

    size: Sequence[float]
    cells: Sequence[int]
    cut: Sequence[float]
    cell: str | None = None
    pattern: str | None = None


@dataclass(frozen=True)
class TriangleShape:
    """An upright isosceles triangle of `base` and `height` [m] with `cells` small triangles along each side."""

    base: float
    height: float
    cells: int


@dataclass(frozen=True)
class SolidsShape:
    """Cubes of edge `spacing` [m], or about `count` of them, that fill a union of solids."""

    solids: Sequence[Solid]
    spacing: float | None = None
    count: int | None = None


ShapeSpec: TypeAlias = BoxShape | GridShape | CylinderShape | SphereShape | LShape | TriangleShape | SolidsShape


def make_shape(spec: ShapeSpec) -> Mesh:
    """Return the mesh [m] of any shape; refuse one that this machine's memory cannot hold before anything is made."""
    require_memory(_count(spec))
    match spec:
        case BoxShape():
            return _box(spec)
        case GridShape():
            return _grid(spec.coordinates, spec.cell, spec.pattern)
        case LShape():
            return _l_shape(spec)
        case CylinderShape():
            return _cylinder(spec)
        case SphereShape():
            return _sphere(spec)
        case TriangleShape():
            _require_positive("base and height", [spec.base, spec.height])
            _require_counts([spec.cells], 1)
            return triangle(base=spec.base, height=spec.height, cells=spec.cells)
        case SolidsShape():
            return voxelised_solids(spec.solids, spec.spacing, spec.count)


def _count(spec: ShapeSpec) -> int:
    """Return about how many cells a shape has, each of the grid it is cut from."""
    match spec:
        case GridShape():
            return int(prod(max(len(axis) - 1, 0) for axis in spec.coordinates))
        case SphereShape():
            return int(spec.cells ** CELL_DIMENSION.get(spec.cell, 2))
        case TriangleShape():
            return int(spec.cells) ** 2
        case CylinderShape():
            layers = spec.cells[1:2] if CELL_DIMENSION.get(spec.cell, 2) == 3 else ()
            return prod(int(count) for count in (*spec.cells[:1], *spec.cells[:1], *layers))
        case SolidsShape():
            if spec.count is not None or spec.spacing is None:
                return spec.count or 0
            corners = np.array([solid.box() for solid in spec.solids])
            return int(np.prod((corners[:, 1].max(axis=0) - corners[:, 0].min(axis=0)) / spec.spacing))
        case _:
            cells: Sequence[int] = spec.cells
            return prod(int(count) for count in cells)


BYTES_PER_CELL = 400
"""What a cell of a grid takes at the least, before any solver [bytes]."""


def require_memory(cells: int) -> None:
    """Refuse so many cells where there is less memory than their mesh alone takes."""
    needed, there = cells * BYTES_PER_CELL, available_memory()
    if there is not None and needed > there:
        raise RheotwinError(
            f"a mesh of {float(cells):.3g} cells takes at least {needed / 1e9:.3g} GB of memory and there are "
            f"{there / 1e9:.3g} GB; use fewer cells"
        )


def available_memory() -> int | None:
    """Return the memory that processes here may still take [bytes], None where the system does not say."""
    found = []
    with suppress(OSError, ValueError, IndexError):
        (line,) = (line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemAvailable:"))
        found.append(1024 * int(line.split()[1]))
    with suppress(OSError, ValueError):  # "max" where a container has no limit
        limit = int(Path("/sys/fs/cgroup/memory.max").read_text())
        found.append(limit - int(Path("/sys/fs/cgroup/memory.current").read_text()))
    if not found and hasattr(os, "sysconf"):
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return min(found, default=None)


def with_finer_cells(spec: ShapeSpec, parts: int) -> ShapeSpec:
    """Return a shape whose cells are divided into `parts` along each side."""
    match spec:
        case GridShape():
            return replace(spec, coordinates=[_divided(axis, parts) for axis in spec.coordinates])
        case SphereShape() | TriangleShape():
            return replace(spec, cells=parts * spec.cells)
        case SolidsShape():
            spacing, count = spec.spacing, spec.count
            return replace(spec, spacing=spacing and spacing / parts, count=None if count is None else count * parts**3)
        case _:
            return replace(spec, cells=[parts * count for count in spec.cells])


def _divided(axis: Axis, parts: int) -> Axis:
    """Return grid lines with `parts` equal steps between neighbours."""
    lines = np.asarray(axis, float)
    places = np.linspace(0.0, len(lines) - 1.0, parts * (len(lines) - 1) + 1)
    return np.asarray(np.interp(places, np.arange(len(lines)), lines))


def _box(spec: BoxShape) -> Mesh:
    _require_positive("size", spec.size)
    _require_counts(spec.cells, len(spec.size))
    axes = [np.linspace(0.0, size, cells + 1) for size, cells in zip(spec.size, spec.cells, strict=True)]
    return _grid(axes, spec.cell, spec.pattern)


def _grid(coordinates: Sequence[Axis], cell: str | None, pattern: str | None) -> Mesh:
    kind, split = _resolve(len(coordinates), cell, pattern)
    match kind:
        case "line":
            return line(coordinates[0])
        case "triangle":
            return triangle_grid(coordinates[0], coordinates[1], pattern=split)
        case "quad":
            return quad_grid(coordinates[0], coordinates[1])
        case "tet":
            return tet_grid(coordinates[0], coordinates[1], coordinates[2], split=split)
        case _:
            return hex_grid(coordinates[0], coordinates[1], coordinates[2])


def _l_shape(spec: LShape) -> Mesh:
    _require_positive("size", spec.size)
    _require_positive("cut", spec.cut)
    _require_counts(spec.cells, len(spec.size))
    kind, split = _resolve(len(spec.size), spec.cell, spec.pattern)
    return l_shape(size=spec.size, cells=spec.cells, cut=spec.cut, cell=kind, pattern=split)


def _cylinder(spec: CylinderShape) -> Mesh:
    _require_positive("radius", [spec.radius])
    if _round_dimension(spec.cell) == 2:
        _require_counts(spec.cells[:1], 1)
        return disc(radius=spec.radius, cells=spec.cells[0], cell=spec.cell)
    if spec.height is None:
        raise RheotwinError("a cylinder in three dimensions needs a height [m]")
    _require_positive("height", [spec.height])
    _require_counts(spec.cells, 2)
    return cylinder(radius=spec.radius, height=spec.height, cells=(spec.cells[0], spec.cells[1]), cell=spec.cell)


def _sphere(spec: SphereShape) -> Mesh:
    _require_positive("radius", [spec.radius])
    _require_counts([spec.cells], 1)
    build = disc if _round_dimension(spec.cell) == 2 else ball
    return build(radius=spec.radius, cells=spec.cells, cell=spec.cell)


def _resolve(dimension: int, cell: str | None, pattern: str | None) -> tuple[str, str]:
    """Return cell kind and splitting pattern, defaults filled in; refuse what does not fit the dimension."""
    if dimension not in DEFAULT_CELL:
        raise RheotwinError(f"a shape has 1, 2 or 3 dimensions, not {dimension}")
    kind = DEFAULT_CELL[dimension] if cell is None else cell
    allowed = [name for name, own in CELL_DIMENSION.items() if own == dimension]
    if kind not in allowed:
        raise RheotwinError(
            f"cell '{kind}' does not fill a shape of dimension {dimension}{nearest_name(kind, allowed)}: "
            f"use {' or '.join(allowed)}"
        )
    patterns = PATTERNS.get(kind, ())
    if pattern is None:
        return kind, patterns[0] if patterns else ""
    if not patterns:
        raise RheotwinError(f"pattern '{pattern}' does not apply to cell '{kind}': leave it out")
    require_pattern(pattern, patterns)
    return kind, pattern


def _round_dimension(cell: str) -> int:
    allowed = [name for name, dimension in CELL_DIMENSION.items() if dimension > 1]
    if cell not in allowed:
        raise RheotwinError(
            f"cell '{cell}' does not fill a round shape{nearest_name(cell, allowed)}: "
            "use triangle or quad (a disc), tet or hex"
        )
    return CELL_DIMENSION[cell]


def _require_positive(name: str, values: Sequence[float]) -> None:
    if not all(np.isfinite(value) and value > 0 for value in values):
        raise RheotwinError(f"{name} of a shape must be positive [m], not {list(values)}")


def _require_counts(cells: Sequence[int], dimension: int) -> None:
    if len(cells) != dimension or not all(int(count) == count and count >= 1 for count in cells):
        raise RheotwinError(f"cells of a shape must be {dimension} whole number(s) of at least 1, not {list(cells)}")
