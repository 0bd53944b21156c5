"""Which vertices of cells can come near their opposite edge or face before some particle has moved by a reach r.

With the longest side L of a cell, sides change by 2 r at most. In 2D, d = s/l, s twice the area: s by 4 r L + 4 r^2,
l by 2 r. In 3D, d = s/|m| with s six times the volume and m twice the face's area vector: m by b = 4 r L + 4 r^2, and
s = q.m by 2 r |m| + (L + 2 r) b.
"""

from __future__ import annotations

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.kernels.compiled import compiled

Vector = tuple[float, float, float]


@compiled
def has_moved(seen: Array, reach: float, x: Array) -> bool:
    """Tell whether a particle is further than `reach` [m] from where it was `seen` (N, 3) [m]."""
    limit = reach**2
    for node in range(x.shape[0]):
        dx, dy, dz = x[node, 0] - seen[node, 0], x[node, 1] - seen[node, 1], x[node, 2] - seen[node, 2]
        if not dx * dx + dy * dy + dz * dz <= limit:  # also true for the first look, at which `seen` is not a number
            return True
    return False


@compiled(spliced=True)
def _side(x: Array, i: int, j: int) -> Vector:
    return x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]


@compiled(spliced=True)
def _cross(a: Vector, b: Vector) -> Vector:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@compiled(spliced=True)
def _dot(a: Vector, b: Vector) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@compiled(spliced=True)
def _square(a: Vector) -> float:
    return _dot(a, a)


@compiled(spliced=True)
def _less(a: Vector, b: Vector) -> Vector:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@compiled
def _near_edges(vertex: Indices, feature: Indices, distance: Array, r: float, x: Array, near: Indices) -> int:
    count = 0
    for contact in range(vertex.shape[0]):
        i = feature[contact, 0]
        t, q = _side(x, i, feature[contact, 1]), _side(x, i, vertex[contact])
        length, longest = np.sqrt(_square(t)), np.sqrt(max(_square(t), _square(q), _square(_less(t, q))))
        least = t[0] * q[1] - t[1] * q[0] - 4.0 * r * longest - 4.0 * r * r
        near[count] = contact
        count += not least >= distance[contact] * (length + 2.0 * r)
    return count


@compiled
def _near_faces(vertex: Indices, feature: Indices, distance: Array, r: float, x: Array, near: Indices) -> int:
    count = 0
    for contact in range(vertex.shape[0]):
        i = feature[contact, 0]
        u, w = _side(x, i, feature[contact, 1]), _side(x, i, feature[contact, 2])
        q = _side(x, i, vertex[contact])
        longest = max(_square(u), _square(w), _square(q))
        longest = np.sqrt(max(longest, _square(_less(u, w)), _square(_less(q, u)), _square(_less(q, w))))
        m = _cross(w, u)
        size, change = np.sqrt(_square(m)), 4.0 * r * longest + 4.0 * r * r
        least = _dot(q, m) - 2.0 * r * size - (longest + 2.0 * r) * change
        near[count] = contact
        count += not least >= distance[contact] * (size + change)
    return count


@compiled
def near_contacts(vertex: Indices, feature: Indices, distance: Array, reach: float, x: Array, near: Indices) -> int:
    """Write the contacts that can reach `distance` (n,) [m] to `near`, which has room for all and one; return how many.

    Features (n, d) are seen from outside the cell, as in `Topology`; those without extent count as near.
    """
    if feature.shape[1] == 2:
        return int(_near_edges(vertex, feature, distance, reach, x, near))
    return int(_near_faces(vertex, feature, distance, reach, x, near))
