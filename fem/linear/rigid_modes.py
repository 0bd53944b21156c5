"""Motions that strain nothing, and which of them supports leave free: these make a static matrix singular.

1D: x        2D: x, y, rotation about z        3D: x, y, z and the rotations x -> e_c x (x - centre)
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import null_space, orth

from rheotwin.arrays import Array, Flags
from rheotwin.errors import RheotwinError

AXES = "xyz"
_PLANES = {1: (), 2: ((0, 1),), 3: ((1, 2), (2, 0), (0, 1))}
"""Plane (a, b) of every rotation, which turns a towards b; in space it is about the third axis."""
RANK = 1e-9
"""Singular value, relative to the largest, below which supports do not stop a motion."""


def rigid_body_modes(points: Array) -> Array:
    """Return the rigid motions (N d, 1, 3 or 6) of points (N, d) [m], node-major, each of unit largest displacement.

    Rotations are about the mean of the points, divided by the largest distance from it, so that the columns are
    of one size whatever the unit of length.
    """
    count, d = points.shape
    centred = points - points.mean(axis=0)
    scaled = centred / (np.sqrt((centred**2).sum(axis=1)).max() or 1.0)
    planes = _PLANES[d]
    modes = np.zeros((count, d, d + len(planes)))
    for axis in range(d):
        modes[:, axis, axis] = 1.0
    for column, (a, b) in enumerate(planes, start=d):
        modes[:, a, column], modes[:, b, column] = -scaled[:, b], scaled[:, a]
    return modes.reshape(count * d, -1)


def rigid_mode_names(dimension: int) -> list[str]:
    """Return what a body does in every mode: 'move along x', 'rotate about z'."""
    rotations: dict[int, list[str]] = {1: [], 2: ["rotate about z"], 3: [f"rotate about {axis}" for axis in AXES]}
    return [f"move along {axis}" for axis in AXES[:dimension]] + rotations[dimension]


def free_rigid_modes(points: Array, held: Flags, *, axisymmetric: bool = False) -> list[str]:
    """Return the rigid motions of a body that its supports leave free, in words; empty if it is held.

    `points` (N, d) [m] and `held` (N, d) tell which components of which nodes are prescribed. The motions are the
    null space of the rigid body modes restricted to those. An axisymmetric body (components radial, axial) has one
    rigid motion only, along its axis.
    """
    if axisymmetric:
        return [] if held[:, 1].any() else [f"move along {AXES[1]}"]
    d = points.shape[1]
    modes = rigid_body_modes(points)
    restricted = modes[held.ravel()]
    free = null_space(restricted, rcond=RANK) if len(restricted) else np.eye(modes.shape[1])
    names = rigid_mode_names(d)
    moves = [names[axis] for axis in range(d) if not held[:, axis].any()]
    return moves + _rotations(free[d:], names[d:])


def _rotations(parts: Array, names: list[str]) -> list[str]:
    """Name the rotations whose axes (rows) the columns span: about x, y and z where possible, else about a vector."""
    if not parts.size:
        return []
    axes = orth(parts, rcond=RANK) if np.abs(parts).max() > RANK else np.zeros((len(parts), 0))
    inside = np.sum(axes**2, axis=1) > 1.0 - RANK
    found = [name for name, within in zip(names, inside, strict=True) if within]
    oblique = np.where(inside[:, None], 0.0, axes)
    if axes.shape[1] > len(found):
        for axis in orth(oblique, rcond=RANK).T:
            turned = np.round(axis * np.sign(axis[np.abs(axis).argmax()]), 2) + 0.0
            found.append(f"rotate about ({', '.join(f'{part:g}' for part in turned)})")
    return found


def require_no_free_modes(body: str, points: Array, held: Flags, *, axisymmetric: bool = False) -> None:
    """Refuse a body that its supports do not hold, naming its free motions."""
    free = free_rigid_modes(points, held, axisymmetric=axisymmetric)
    if free:
        listed = free[0] if len(free) == 1 else f"{', '.join(free[:-1])} and {free[-1]}"
        raise RheotwinError(f"bodies.{body}: without inertia '{body}' can still {listed}; add a support that stops it")
