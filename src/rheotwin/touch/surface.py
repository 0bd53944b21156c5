"""What a picture needs of the bodies: the triangles that can be seen, where their corners are, and normals there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rheotwin.arrays import Array, Indices
from rheotwin.kernels.compiled import compiled
from rheotwin.problem import Problem
from rheotwin.tensors import padded


@compiled
def add_normals(triangles: Indices, points: Array, normals: Array, small: NDArray[np.int8]) -> None:
    """Write unit normals of corners (n, 3) as whole numbers (n, 4) up to 127: sums of those of triangles by area."""
    normals[:] = 0.0
    for t in range(triangles.shape[0]):
        i, j, k = triangles[t, 0], triangles[t, 1], triangles[t, 2]
        ax, ay, az = points[j, 0] - points[i, 0], points[j, 1] - points[i, 1], points[j, 2] - points[i, 2]
        bx, by, bz = points[k, 0] - points[i, 0], points[k, 1] - points[i, 1], points[k, 2] - points[i, 2]
        nx, ny, nz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
        for corner in range(3):
            at = triangles[t, corner]
            normals[at, 0] += nx
            normals[at, 1] += ny
            normals[at, 2] += nz
    for at in range(points.shape[0]):
        length = np.sqrt(normals[at, 0] ** 2 + normals[at, 1] ** 2 + normals[at, 2] ** 2)
        for c in range(3):
            small[at, c] = np.int8(127.0 * normals[at, c] / length) if length > 0.0 else np.int8(0)


@dataclass(frozen=True)
class Surface:
    """Triangles (t, 3) of the nodes (n,) that can be seen, in their own numbering, with room for normals."""

    nodes: Indices
    triangles: Indices
    normals: Array
    small: NDArray[np.int8]

    @classmethod
    def of(cls, simplices: Indices) -> Surface:
        """Return the surface of triangles (t, 3) of nodes of the problem."""
        nodes, own = np.unique(simplices, return_inverse=True)
        triangles = own.reshape(simplices.shape).astype(np.int64)
        return cls(nodes, triangles, np.zeros((len(nodes), 3)), np.zeros((len(nodes), 4), np.int8))

    def picture(self, positions: Array) -> bytes:
        """Return places as 32-bit numbers and normals as bytes of positions (N, d) [m]."""
        points = padded(positions[self.nodes])
        add_normals(self.triangles, points, self.normals, self.small)
        return points.astype(np.float32).tobytes() + self.small.tobytes()


def tool_triangles(problem: Problem) -> list[tuple[Array, Indices]]:
    """Return points (n, 3) [m] of every tool where its motion begins, relative to its centre, and triangles (t, 3)."""
    from rheotwin.tool_surface import drawn_tools

    found = []
    for tool, drawn in zip(problem.tools, drawn_tools(problem), strict=True):
        surface = drawn.posed(np.zeros(4), padded(problem.points))
        found.append((np.asarray(surface.points) - tool.geometry[:3], fans(np.asarray(surface.faces))))
    return found


def fans(faces: Indices) -> Indices:
    """Return padded polygons (count, corners, ..) as triangles (t, 3)."""
    found, at = [], 0
    while at < len(faces):
        corners = faces[at + 1 : at + 1 + faces[at]]
        found += [(corners[0], corners[k], corners[k + 1]) for k in range(1, len(corners) - 1)]
        at += 1 + int(faces[at])
    return np.array(found, np.int64)
