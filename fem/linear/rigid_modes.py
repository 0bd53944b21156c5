"""Motions that strain nothing: translations and infinitesimal rotations of a set of points.

1D: x        2D: x, y, rotation about z        3D: x, y, z and the rotations x -> e_c x (x - centre)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

AXES = "xyz"
_PLANES = {1: (), 2: ((0, 1),), 3: ((1, 2), (2, 0), (0, 1))}
"""Plane (a, b) of every rotation, which turns a towards b; in space it is about the third axis."""


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
