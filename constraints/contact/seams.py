"""Faces between coarse and fine cells of one body: used by one cell each, yet no surface (spec 7)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.nearest import at_shares, foot_on_segment, foot_on_triangle
from rheotwin.constraints.contact.vectors import cross, dot, length, minus, row, times
from rheotwin.kernels.compiled import compiled

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

ON_FACE = 1e-6
"""A point this close to a face, by its own size, lies on it."""


def without_seams(faces: Indices, points: Array) -> Indices:
    """Return the faces (n, 2 or 3) whose centre does not lie on a face that looks the opposite way.

    `points` (N, 3) [m] are the positions at rest.
    """
    return faces[~_seams(faces, points)]


@compiled(allocates=True)
def _seams(faces: Indices, x: Array) -> NDArray[np.bool_]:
    """Look at all pairs: graded bodies are few and their surfaces small."""
    count, corners = faces.shape
    found = np.zeros(count, np.bool_)
    for i in range(count):
        a, b, c = row(x, faces[i, 0]), row(x, faces[i, 1]), row(x, faces[i, corners - 1])
        centre = times(0.5, at_shares((1.0, 1.0, 0.0), a, b, c))
        normal = cross(minus(b, a), (0.0, 0.0, 1.0))
        if corners == 3:
            centre = times(1.0 / 3.0, at_shares((1.0, 1.0, 1.0), a, b, c))
            normal = cross(minus(b, a), minus(c, a))
        size = length(minus(b, a))
        for j in range(count):
            d, e, f = row(x, faces[j, 0]), row(x, faces[j, 1]), row(x, faces[j, corners - 1])
            other = cross(minus(e, d), (0.0, 0.0, 1.0)) if corners == 2 else cross(minus(e, d), minus(f, d))
            if dot(normal, other) >= 0.0:
                continue
            shares, _ = foot_on_segment(centre, d, e) if corners == 2 else foot_on_triangle(centre, d, e, f)
            if length(minus(centre, at_shares(shares, d, e, f))) <= ON_FACE * size:
                found[i] = True
                break
    return found
