"""Surfaces of files: the triangles of a rigid tool, whatever points its file repeats."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rheotwin.errors import RheotwinError
from rheotwin.meshing.cells import FloatArray
from rheotwin.meshing.files import load_file
from rheotwin.meshing.groups import Indices

QUAD_HALVES = ((0, 1, 2), (0, 2, 3))
"""Corners of the two triangles a quadrilateral is split into."""


def read_surface(path: str | Path) -> tuple[FloatArray, Indices]:
    """Return vertices (n, 3) [m] and triangles (m, 3) of a file; equal points are one, flat triangles dropped."""
    raw = load_file(Path(path))
    points = np.asarray(raw.points, dtype=np.float64)
    cells = raw.cells_dict
    parts = [cells[kind] for kind in ("triangle",) if kind in cells]
    parts += [cells["quad"][:, half] for half in QUAD_HALVES if "quad" in cells]
    if not parts or points.shape[1] != 3:
        raise RheotwinError(f"{path}: holds no triangles in space; export the surface of the tool as triangles")
    faces = np.concatenate(parts).astype(np.int64)
    outside = (faces < 0) | (faces >= len(points))
    if outside.any():
        raise RheotwinError(
            f"{path}: a triangle refers to point {faces[outside][0]} (counted from 0), but the file has {len(points)} "
            "points; export it again"
        )
    if not np.all(np.isfinite(points)):
        raise RheotwinError(f"{path}: has coordinates that are not finite numbers; export it again")
    vertices, renumber = np.unique(points, axis=0, return_inverse=True)
    triangles = renumber.reshape(-1)[faces]
    corners = vertices[triangles]
    areas = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    triangles = triangles[areas > 0.0]
    if len(triangles) == 0:
        raise RheotwinError(f"{path}: all its triangles are flat; export the surface of the tool again")
    used, compact = np.unique(triangles, return_inverse=True)
    return vertices[used], np.ascontiguousarray(compact.reshape(-1, 3), dtype=np.int64)
