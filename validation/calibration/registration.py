"""Where the body of a record is in a scene: turned upright, of its size, moved onto it as a rigid body.

    x_scene = (R x_record)/s + t

R turns the record's up to that of the scene, s is how many times larger the real body is (those of the papers are of
half scale), t puts box on box. Where a cloud shows the body at rest, a rigid motion of least squares follows, by
Gauss-Newton on the distances n.(x - q) to the nearest points q of the surface and its normals n there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError
from rheotwin.problem import Problem
from rheotwin.running import grid_topology
from rheotwin.tensors import padded
from rheotwin.validation.experiments.record import ExperimentRecord, Frame
from rheotwin.validation.metrics import surface_distance, surface_of
from rheotwin.validation.metrics.meshes import NOISE

SAME_SHAPE = 0.02
"""Relative difference of the sides of two bodies that are one."""
LOOSE_REST, LOOSE = 0.01, 0.05
"""Mean distance over the body's diagonal above which a cloud is not in its axes: at rest, and deformed."""
ROUNDS = 20
"""Steps of Gauss and Newton towards the rigid motion."""
TURNS = {
    "x": np.array([[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]),
    "y": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]),
    "z": np.eye(3),
}
"""Quarter turns that put an axis upright in 3D, where z is up."""


@dataclass(frozen=True)
class Registration:
    """How a record lies in a scene; `residual` [m] is the mean distance of its first cloud, of the real body."""

    turn: Array
    shift: Array
    scale: float
    residual: float | None = None
    at_rest: bool = False
    """Whether that cloud is of the body at rest."""

    def place(self, points: Array) -> Array:
        """Return points (M, 3) [m] of the record in the scene."""
        return self.way(points) + self.shift

    def way(self, vectors: Array) -> Array:
        """Return displacements (M, 3) [m] of the record in the scene."""
        return self.turned(vectors) / self.scale

    def turned(self, vectors: Array) -> Array:
        """Return vectors (M, 3) of the record in the axes of the scene."""
        return np.asarray(vectors @ self.turn.T)

    def sentence(self) -> str:
        """Say how well the record lies in the scene."""
        scale = f"{self.scale:.4g} times the size of the scene's body"
        if self.residual is None:
            return f"registration: {scale}, no cloud to check it by"
        shape = "at rest" if self.at_rest else "deformed"
        return f"registration: {scale}, the first cloud ({shape}) is {1e3 * self.residual:.3g} mm away on average"


def registered(record: ExperimentRecord, problem: Problem) -> Registration:
    """Return how a record lies in the scene of a problem; refuse bodies of other shapes and clouds far away."""
    rest = padded(problem.points)
    found = _by_boxes(record, rest, problem.dimension)
    clouds = [frame for frame in record.frames if frame.rest is None]
    if not clouds:
        return found
    cells, kind = grid_topology(problem).vtk_cells(), problem.bodies[0].cell
    surface, first, still = surface_of(rest, cells, kind), clouds[0], _is_at_rest(clouds[0], record)
    if still and problem.dimension == 3:
        found = _moved_on(found, first.points, surface)
    residual = found.scale * float(surface_distance(found.place(first.points), surface).mean())
    size = float(np.linalg.norm(record.specimen.size))
    loose = max((LOOSE_REST if still else LOOSE) * size, 3.0 * (record.uncertainty.mean_abs or NOISE))
    if residual > loose:
        raise RheotwinError(
            f"record '{record.id}': its first cloud is {1e3 * residual:.3g} mm away from the body on average; is it in "
            "the axes that `up` and `origin` say, and in the unit of [units]?"
        )
    return replace(found, residual=residual, at_rest=still)


def _is_at_rest(frame: Frame, record: ExperimentRecord) -> bool:
    """Tell whether a frame shows the body before anything moved."""
    begin, path = 0.0, record.path
    if path is not None:
        moving = np.flatnonzero(np.any(path.values != path.values[0], axis=1))
        begin = float(path.times[moving[0] - 1]) if len(moving) else np.inf
    return frame.phase == "rest" or frame.time <= begin


def _by_boxes(record: ExperimentRecord, rest: Array, dimension: int) -> Registration:
    up = record.specimen.up
    turn = TURNS[up] if dimension == 3 else np.eye(3)
    corners = np.stack(record.specimen.box) @ turn.T
    least, sides = corners.min(axis=0), np.ptp(corners, axis=0)[:dimension]
    own = np.ptp(rest, axis=0)[:dimension]
    ratios = sides / own
    scale = float(np.exp(np.mean(np.log(np.maximum(ratios, 1e-300)))))
    if np.abs(ratios / scale - 1.0).max() > SAME_SHAPE:
        shown = (" x ".join(f"{side:.4g}" for side in values) for values in (sides, own))
        raise RheotwinError(
            f"record '{record.id}': its body, upright along {up}, is {next(shown)} m and that of the scene "
            f"{next(shown)} m; give both the same proportions"
        )
    return Registration(turn, rest.min(axis=0) - least / scale, scale)


def _moved_on(start: Registration, points: Array, surface: Any) -> Registration:
    """Return the registration with the rigid motion that brings points (M, 3) [m] of the record onto the surface."""
    faced = surface.compute_normals(cell_normals=True, point_normals=False, auto_orient_normals=True)
    normals, found = np.asarray(faced.cell_data["Normals"], dtype=float), start
    for _ in range(ROUNDS):
        place = found.place(points)
        cell, nearest = faced.find_closest_cell(place, return_closest_point=True)
        n = normals[np.asarray(cell)]
        middle = place.mean(axis=0)
        rows = np.hstack([np.cross(place - middle, n), n])
        step = np.linalg.lstsq(rows, -np.einsum("mk,mk->m", n, place - nearest), rcond=1e-6)[0]
        small = np.asarray(Rotation.from_rotvec(step[:3]).as_matrix())
        shift = small @ (found.shift - middle) + middle + step[3:]
        found = replace(found, turn=small @ found.turn, shift=shift)
        if np.abs(step).max() < 1e-12:
            break
    return found
