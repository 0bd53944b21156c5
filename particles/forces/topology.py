"""Topology maintenance (spec section 4, E2): a vertex stays on its side of the opposite edge or triangle.

With the feature's normal n (towards the vertex at rest, turning with it), the distance d = (P - Q).n from the foot Q,
and the shares R_i >= 0 of the feature's corners, sum R_i = 1 (the barycentric coordinates of Q, clipped):

    f = max(0, -K (d - eps) - C n.(v_P - sum R_i v_i))  if d < eps,    on P: f n,    on corner i: -R_i f n

Momentum is kept always; angular momentum while Q lies inside the feature. Outside, a couple remains, |f| times the
distance from Q to the point sum R_i x_i. The damping uses the velocity of that point, so it never adds energy.

Contacts that cannot reach eps before some particle has moved by `reach` are left out of the loop, which changes nothing
but its time: they are looked for again when a particle has.

With the longest side L of a cell, a reach r changes sides by 2 r at most. In 2D, d = s/l, s twice the area: s by 4 r L
+ 4 r^2, l by 2 r. In 3D, d = s/|m| with s six times the volume and m twice the face's area vector: m by b = 4 r L + 4
r^2, and s = q.m by 2 r |m| + (L + 2 r) b.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

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


Foot = tuple[float, float, float, float, float, float, float]

REACH = 0.06
"""Excursion between two looks for near contacts, in smallest rest heights: a fair share of cells stays out of reach."""

FLATTENED = {1: 1.0, 2: 3.0 + np.sqrt(3.0), 3: 0.5 * (7.0 + np.sqrt(17.0))}
"""Largest eigenvalue of sum g g^T of one cell over all its shapes: pressed flat, with feet on corners.

Sum_a |u_a - sum R_i u_i|^2 is convex in the shares, so it is largest where every foot is on one corner; of these few
cases, two vertices on each other and the rest on one of them is the worst.
"""


class Topology(NamedTuple):
    """Vertices (n,) with their opposite edges (n, 2) or triangles (n, 3), seen from outside the cell, and eps (n,) [m].

    `stiffness` [N/m], `damping` [N s/m]. `seen` (N, 3) are the positions [m] at the last look, `near` (n + 1,) the
    contacts found then, `near_count` (1,) how many; they save time and carry no history.
    """

    vertex: Indices
    feature: Indices
    distance: Array
    stiffness: float
    damping: float
    reach: float
    seen: Array
    near: Indices
    near_count: Indices


def _local_features(corners: int) -> Indices:
    """Return the corners of the feature opposite to each corner of a simplex, seen from outside."""
    return np.array([[1, 2], [2, 0], [0, 1]] if corners == 3 else [[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]])


def opposite_features(cells: Indices) -> tuple[Indices, Indices]:
    """Return each corner (n,) of positive simplices (nC, d+1) and the feature (n, d) it faces, seen from outside."""
    local = _local_features(cells.shape[1])
    return cells.ravel(), np.ascontiguousarray(cells[:, local].reshape(-1, local.shape[1]))


def make_topology(
    rest: Array, cells: Indices, *, stiffness: float, damping: float, distance: float | None, share: float
) -> Topology:
    """Watch all corners of the simplices (nC, d+1) of positive measure at rest positions (N, 3) [m].

    `distance` is eps [m] of all contacts; None takes `share` of each vertex's rest height.
    """
    vertex, feature = opposite_features(cells.astype(np.int64))
    heights = np.empty(len(vertex))
    _fill_heights(rest, vertex, feature, heights)
    return Topology(
        vertex=vertex,
        feature=feature,
        distance=share * heights if distance is None else np.full(len(vertex), distance),
        stiffness=stiffness,
        damping=damping,
        reach=REACH * float(heights.min()),
        seen=np.full_like(rest, np.nan),
        near=np.zeros(len(vertex) + 1, np.int64),
        near_count=np.zeros(1, np.int64),
    )


@compiled
def _edge_foot(x: Array, p: int, i: int, j: int) -> Foot:
    """Return d, n and the shares of i and j (and 0) for vertex p to the left of the edge from i to j."""
    tx, ty = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1]
    qx, qy = x[p, 0] - x[i, 0], x[p, 1] - x[i, 1]
    square = tx * tx + ty * ty
    if square == 0.0:  # a feature without extent has no normal
        return np.inf, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0
    length = np.sqrt(square)
    nx, ny = -ty / length, tx / length
    share = min(max((qx * tx + qy * ty) / square, 0.0), 1.0)
    return qx * nx + qy * ny, nx, ny, 0.0, 1.0 - share, share, 0.0


@compiled
def _face_foot(x: Array, p: int, i: int, j: int, k: int) -> Foot:
    """Return d, n and the shares of i, j and k for vertex p behind the triangle whose outside shows i, j, k."""
    ux, uy, uz = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
    wx, wy, wz = x[k, 0] - x[i, 0], x[k, 1] - x[i, 1], x[k, 2] - x[i, 2]
    qx, qy, qz = x[p, 0] - x[i, 0], x[p, 1] - x[i, 1], x[p, 2] - x[i, 2]
    mx, my, mz = wy * uz - wz * uy, wz * ux - wx * uz, wx * uy - wy * ux
    square = mx * mx + my * my + mz * mz
    if square == 0.0:
        return np.inf, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0
    norm = np.sqrt(square)
    nx, ny, nz = mx / norm, my / norm, mz / norm
    second = (wy * qz - wz * qy) * mx + (wz * qx - wx * qz) * my + (wx * qy - wy * qx) * mz
    third = (qy * uz - qz * uy) * mx + (qz * ux - qx * uz) * my + (qx * uy - qy * ux) * mz
    first = max(square - second - third, 0.0)
    second, third = max(second, 0.0), max(third, 0.0)
    total = first + second + third
    return qx * nx + qy * ny + qz * nz, nx, ny, nz, first / total, second / total, third / total


@compiled
def _push(
    topology: Topology, contact: int, x: Array, v: Array
) -> tuple[float, float, float, float, float, float, float, float]:
    """Return f [N], d [m], n and the shares of one contact."""
    feature, p = topology.feature, topology.vertex[contact]
    i, j = feature[contact, 0], feature[contact, 1]
    k = feature[contact, feature.shape[1] - 1]
    if feature.shape[1] == 2:
        d, nx, ny, nz, ri, rj, rk = _edge_foot(x, p, i, j)
    else:
        d, nx, ny, nz, ri, rj, rk = _face_foot(x, p, i, j, k)
    depth = topology.distance[contact] - d
    if depth <= 0.0:
        return 0.0, d, nx, ny, nz, ri, rj, rk
    rate = (v[p, 0] - ri * v[i, 0] - rj * v[j, 0] - rk * v[k, 0]) * nx
    rate += (v[p, 1] - ri * v[i, 1] - rj * v[j, 1] - rk * v[k, 1]) * ny
    rate += (v[p, 2] - ri * v[i, 2] - rj * v[j, 2] - rk * v[k, 2]) * nz
    return max(0.0, topology.stiffness * depth - topology.damping * rate), d, nx, ny, nz, ri, rj, rk


@compiled(allocates=True)
def add_topology_forces(topology: Topology, x: Array, v: Array, force: Array) -> None:
    """Push vertices off the features they have come too near to, and the features back."""
    if topology.vertex.shape[0] == 0:
        return
    if has_moved(topology.seen, topology.reach, x):
        for node in range(x.shape[0]):  # `seen[:] = x` takes longer to compile than all of this
            for axis in range(3):
                topology.seen[node, axis] = x[node, axis]
        look(topology, x)
    push_near(topology, x, v, force)


@compiled
def look(topology: Topology, x: Array) -> None:
    """List the contacts that can reach eps before a particle has moved by `reach`."""
    topology.near_count[0] = near_contacts(
        topology.vertex, topology.feature, topology.distance, topology.reach, x, topology.near
    )


@compiled
def push_near(topology: Topology, x: Array, v: Array, force: Array) -> None:
    """Add the forces of the contacts listed."""
    feature = topology.feature
    for found in range(topology.near_count[0]):
        contact = topology.near[found]
        f, _, nx, ny, nz, ri, rj, rk = _push(topology, contact, x, v)
        if f == 0.0:
            continue
        p, i, j = topology.vertex[contact], feature[contact, 0], feature[contact, 1]
        k = feature[contact, feature.shape[1] - 1]
        for c, n in enumerate((nx, ny, nz)):
            force[p, c] += f * n
            force[i, c] -= ri * f * n
            force[j, c] -= rj * f * n
            force[k, c] -= rk * f * n


@compiled
def _fill_heights(x: Array, vertex: Indices, feature: Indices, heights: Array) -> None:
    for contact in range(vertex.shape[0]):
        p, i, j = vertex[contact], feature[contact, 0], feature[contact, 1]
        if feature.shape[1] == 2:
            heights[contact] = _edge_foot(x, p, i, j)[0]
        else:
            heights[contact] = _face_foot(x, p, i, j, feature[contact, 2])[0]


@compiled
def _fill_contacts(
    topology: Topology, x: Array, v: Array, push: Array, distance: Array, normal: Array, share: Array
) -> None:
    for contact in range(topology.vertex.shape[0]):
        f, d, nx, ny, nz, ri, rj, rk = _push(topology, contact, x, v)
        push[contact], distance[contact] = f, d
        normal[contact, 0], normal[contact, 1], normal[contact, 2] = nx, ny, nz
        share[contact, 0], share[contact, 1], share[contact, 2] = ri, rj, rk


class Contacts(NamedTuple):
    """Force f [N], distance d [m], normal n (n, 3) and shares R (n, d) of all contacts."""

    push: Array
    distance: Array
    normal: Array
    share: Array


def contacts(topology: Topology, x: Array, v: Array) -> Contacts:
    """Evaluate all contacts at positions [m] and velocities [m/s] (N, 3)."""
    push, distance, normal, share = (np.zeros((len(topology.vertex), *tail)) for tail in ((), (), (3,), (3,)))
    if len(topology.vertex):
        _fill_contacts(topology, x, v, push, distance, normal, share)
    return Contacts(push, distance, normal, share[:, : topology.feature.shape[1]])


def topology_energy(topology: Topology, x: Array) -> float:
    """Return the energy [J] stored at positions (N, 3) [m]: K (eps - d)^2/2 of every contact with d < eps."""
    distance = contacts(topology, x, np.zeros_like(x)).distance
    return float(0.5 * topology.stiffness * np.sum(np.maximum(topology.distance - distance, 0.0) ** 2))


def topology_matrix(topology: Topology, rest: Array, dimension: int) -> csr_matrix:
    """Return sum_c g_c g_c^T on the components (N*d) with all contacts active; K times it bounds the stiffness.

    g_c = n at the vertex, -R_i n at the feature's corners, taken in the shape at rest (N, 3) [m], where hardly any
    contact is active; so each cell counts as much as it can in its worst shape, the one of FLATTENED.
    """
    found = contacts(topology, rest, np.zeros_like(rest))
    corners = topology.feature.shape[1] + 1
    weights = np.zeros((len(topology.vertex), corners, dimension))
    local = np.tile(_local_features(corners), (len(topology.vertex) // corners, 1))
    rows = np.arange(len(topology.vertex))
    weights[rows, rows % corners] = found.normal[:, :dimension]
    weights[rows[:, None], local] = -found.share[:, :, None] * found.normal[:, None, :dimension]
    cells = weights.reshape(-1, corners, corners * dimension)
    largest = np.linalg.eigvalsh(cells @ cells.transpose(0, 2, 1))[:, -1] if len(cells) else np.ones(0)
    values = cells * np.sqrt(FLATTENED[dimension] / largest)[:, None, None]
    nodes = np.repeat(topology.vertex.reshape(-1, corners), corners, axis=0)
    columns = nodes[:, :, None] * dimension + np.arange(dimension)
    operator = csr_matrix(
        (values.ravel(), (np.repeat(rows, corners * dimension), columns.ravel())),
        shape=(len(rows), len(rest) * dimension),
    )
    return (operator.T @ operator).tocsr()
