"""From grabs of a scene to points of bodies: the nearest of what can be touched, as weights of corners."""

from __future__ import annotations

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.constraints.grabs import Grab
from rheotwin.constraints.motion import Motion
from rheotwin.meshing import boundary_faces
from rheotwin.problem import ProblemBody
from rheotwin.scene import Scene

WEIGHTS_HELD, STANDARD_GRAVITY = 5.0, 9.81
"""A hand pulls with at most so many weights of the body, at so many m/s2."""
STRETCH = 0.1
"""Share of the bodies' extent over which the spring of a hand reaches its largest force."""


def touchable(body: ProblemBody) -> Indices:
    """Return what of a body can be picked, as simplices (n, corners) of nodes: its boundary in 3D, else all of it."""
    mesh = body.mesh
    cells = boundary_faces(mesh).astype(np.int64) if mesh.p.shape[0] == 3 else mesh.t.T[:, : _corners(body)]
    if cells.shape[1] == 4:
        cells = np.concatenate([cells[:, [0, 1, 2]], cells[:, [0, 2, 3]]])
        repeated = (cells[:, 0] == cells[:, 2]) | (cells[:, 1] == cells[:, 2])  # triangles written as quads
        cells = cells[~repeated]
    return np.asarray(cells, np.int64) + body.first_node


def _corners(body: ProblemBody) -> int:
    return {"line": 2, "triangle": 3}.get(body.cell, 4)


def nearest_weights(points: Array, simplices: Indices, at: Array) -> tuple[Indices, Array]:
    """Return the nodes and weights of the point of simplices (n, k <= 3) that is nearest to `at` (d,) [m].

    In a simplex a + E s it minimises |a + E s - at|^2 with s >= 0, sum s <= 1: inside, or on the nearest edge.
    """
    best, found = np.inf, (simplices[0], np.eye(simplices.shape[1])[0])
    faces: list[tuple[int, ...]] = [(0, 1, 2), (0, 1), (1, 2), (2, 0)] if simplices.shape[1] == 3 else [(0, 1)]
    faces += [(corner,) for corner in range(simplices.shape[1])]
    for face in faces:
        nodes = simplices[:, face]
        a, edges = points[nodes[:, 0]], np.swapaxes(points[nodes[:, 1:]] - points[nodes[:, :1]], 1, 2)
        s = np.einsum("nij,nj->ni", np.linalg.pinv(edges), at - a) if len(face) > 1 else np.zeros((len(a), 0))
        weights = np.column_stack([1.0 - s.sum(axis=1), s])
        distance = np.linalg.norm(np.einsum("nk,nkd->nd", weights, points[nodes]) - at, axis=1)
        distance[np.any(weights < -1e-12, axis=1)] = np.inf
        row = int(np.argmin(distance))
        if distance[row] < best * (1.0 - 1e-12):
            best, found = float(distance[row]), (nodes[row], np.maximum(weights[row], 0.0))
    return found


def hand_springs(mass: float, extent: float) -> tuple[float, float, float]:
    """Return stiffness [N/m], damping [N s/m] and largest force [N] of a hand that holds a body of `mass` [kg]."""
    most = WEIGHTS_HELD * STANDARD_GRAVITY * mass
    stiffness = most / (STRETCH * extent)
    return stiffness, float(np.sqrt(stiffness * mass)), most


def build_grabs(scene: Scene, bodies: tuple[ProblemBody, ...], points: Array, masses: Array) -> tuple[Grab, ...]:
    """Resolve the points that hands hold."""
    by_name, extent, found = {body.name: body for body in bodies}, float(np.linalg.norm(np.ptp(points, axis=0))), []
    for name, spec in scene.grabs.items():
        body = by_name[spec.body]
        nodes, weights = nearest_weights(points, touchable(body), np.array(spec.at))
        mass = float(masses[body.nodes].sum())
        usual = hand_springs(mass, extent)
        most = spec.most_force or usual[2]
        stiffness = spec.stiffness or most / (STRETCH * extent)
        damping = float(np.sqrt(stiffness * mass)) if spec.damping is None else spec.damping
        path = Motion(np.array(spec.times), np.array(spec.position))
        assert spec.since is not None and spec.until is not None
        found.append(Grab(name, nodes, weights, path, spec.since, spec.until, stiffness, damping, most))
    return tuple(found)
