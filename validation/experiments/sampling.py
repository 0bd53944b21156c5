"""Points on a deformed body, as cameras or implanted beads would give them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from rheotwin.errors import RheotwinError
from rheotwin.validation.experiments.record import Array
from rheotwin.validation.metrics import surface_of
from rheotwin.validation.run_view import RunView, body_grid


def sample_nodes(nodes: int, count: int, chance: np.random.Generator) -> NDArray[np.int64]:
    """Return `count` different nodes (all of them if there are fewer), in order."""
    return np.sort(chance.choice(nodes, size=min(count, nodes), replace=False))


def sample_surface(
    run: RunView, place: Array, count: int, chance: np.random.Generator, *, hidden: NDArray[np.bool_]
) -> tuple[Array, Array]:
    """Return points (count, 3) [m] on the outer surface of a body at `place` (N, 3) [m], and outward normals there.

    They are spread evenly by area (in a plane by length of the outline). What faces down at the bottom of the rest
    shape stands on the floor and is not seen, nor is a face all of whose nodes are `hidden` (under a tool).
    """
    if run.dimension == 1:
        raise RheotwinError("a body in one dimension has no surface to see; ask for tracked points")
    at_rest = surface_of(run.rest, run.cells, run.cell_kind)
    corners = run.dimension
    # the surface of the rest shape gives the connectivity; its points are nodes of the body
    owner = _nearest_nodes(run.rest, np.asarray(at_rest.points, dtype=float))
    faces = owner[_faces(at_rest, corners)]
    up = run.rest[:, run.dimension - 1]
    floor = np.isclose(up[faces], up.min(), rtol=0.0, atol=1e-9 * float(np.ptp(up))).all(axis=1)
    faces = faces[~floor & ~hidden[faces].all(axis=1)]
    if not len(faces):
        raise RheotwinError("nothing of the body's surface is free to be seen; ask for tracked points")
    normals, sizes = _normals(place, faces, run)
    chosen = chance.choice(len(faces), size=count, p=sizes / sizes.sum())
    shares = chance.dirichlet(np.ones(corners), size=count)
    return np.einsum("mk,mkc->mc", shares, place[faces[chosen]]), normals[chosen]


def _nearest_nodes(nodes: Array, points: Array) -> NDArray[np.int64]:
    return np.asarray(cKDTree(nodes).query(points)[1], dtype=np.int64)


def _faces(surface: Any, corners: int) -> NDArray[np.int64]:
    """Return the triangles (or lines) of a pyvista surface."""
    padded = surface.lines if corners == 2 else surface.faces
    return np.asarray(padded, dtype=np.int64).reshape(-1, corners + 1)[:, 1:]


def _normals(place: Array, faces: NDArray[np.int64], run: RunView) -> tuple[Array, Array]:
    """Return unit normals that point away from the body, and areas [m2] (lengths [m])."""
    a, b = place[faces[:, 0]], place[faces[:, 1]]
    along = b - a
    if faces.shape[1] == 2:
        across = np.stack([along[:, 1], -along[:, 0], np.zeros(len(along))], axis=1)
        sizes = np.linalg.norm(along, axis=1)
    else:
        across = np.cross(along, place[faces[:, 2]] - a)
        sizes = 0.5 * np.linalg.norm(across, axis=1)
    unit = across / np.linalg.norm(across, axis=1, keepdims=True)
    # a step along the normal that leads into the body turns the normal around
    grid = body_grid(place, run.cells, run.cell_kind)
    step = 1e-3 * np.sqrt(sizes.mean()) if faces.shape[1] == 3 else 1e-3 * sizes.mean()
    inside = np.asarray(grid.find_containing_cell(place[faces].mean(axis=1) + step * unit)) >= 0
    return np.where(inside[:, None], -unit, unit), sizes
