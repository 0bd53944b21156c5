"""Signed distance to a closed triangulated surface: nearest triangle by a tree of boxes, sign by pseudo-normals.

    gap = +-|p - foot|,   outside where (p - foot) . m >= 0

m is the face's normal, at an edge the sum of its two faces' unit normals and at a corner the sum of the normals of all
its faces weighted by their angles, with which the sign is right everywhere (Baerentzen and Aanaes 2005).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.bounds import build_tree
from rheotwin.constraints.contact.vectors import (
    CORNER,
    INSIDE,
    SIDE,
    Foot,
    Vector,
    at_shares,
    dot,
    foot_on_triangle,
    length,
    minus,
    plus,
    row,
    times,
)
from rheotwin.errors import RheotwinError
from rheotwin.kernels.compiled import compiled

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

ON_BORDER = 1e-10
"""A foot beyond a triangle's border by less than this, by its side, is inside of it."""
DEPTH = 64
"""Most boxes waiting at a time; the tree halves the triangles, so this is never reached."""

Nearest: TypeAlias = tuple[float, Vector, Vector, int]
"""Signed distance [m], unit normal, foot [m], triangle."""


class ToolMesh(NamedTuple):
    """A closed, outward oriented triangulated surface, packed; triangles in the order of the tree's leaves.

    Several surfaces can follow each other (`joined`): surface s has the tree nodes root[s]:root[s + 1].
    """

    corner: Array
    """(T, 9) coordinates of the three corners [m]"""
    outward: Array
    """(T, 7, 3) unit normal, sums at the three sides (from corner k to k + 1), sums at the three corners"""
    number: Indices
    """(T,) triangle as given"""
    first: Indices
    last: Indices
    skip: Indices
    box: Array
    """(nodes, 6) [m]"""
    root: Indices
    """(surfaces + 1,)"""
    planar: NDArray[np.bool_]
    """(surfaces,) normals lie in the xy plane: the outline of a 2D tool."""


def tool_mesh(vertices: Array, triangles: Indices, *, planar: bool = False) -> ToolMesh:
    """Return the packed closed surface of vertices (n, 3) [m] and outward triangles (m, 3)."""
    points, faces = np.unique(np.ascontiguousarray(vertices, float), axis=0, return_inverse=True)
    faces = faces.ravel()[np.asarray(triangles, np.int64).reshape(-1, 3)]
    number = np.flatnonzero((faces != np.roll(faces, -1, axis=1)).all(axis=1))
    faces = faces[number]
    if len(faces) == 0:
        raise RheotwinError("tool surface: it has no triangles; give a closed triangulated surface")
    normals = np.cross(points[faces[:, 1]] - points[faces[:, 0]], points[faces[:, 2]] - points[faces[:, 0]])
    sizes = np.linalg.norm(normals, axis=1)[:, None]
    normals /= np.where(sizes > 0.0, sizes, 1.0)
    outward = np.empty((len(faces), 7, 3))
    outward[:, INSIDE] = normals
    outward[:, SIDE:CORNER] = normals[:, None] + normals[_across(faces)]
    outward[:, CORNER:] = _corner_normals(points, faces, normals)[faces]
    tree = build_tree(faces, points, np.array([0, len(faces)]))
    order = tree.order
    return ToolMesh(
        corner=np.ascontiguousarray(points[faces[order]].reshape(-1, 9)),
        outward=np.ascontiguousarray(outward[order]),
        number=number[order],
        first=tree.first,
        last=tree.last,
        skip=tree.skip,
        box=tree.box,
        root=tree.root,
        planar=np.array([planar]),
    )


_NONE = np.zeros(0, np.int64)
_NO_SURFACE = ToolMesh(
    corner=np.zeros((0, 9)),
    outward=np.zeros((0, 7, 3)),
    number=_NONE,
    first=_NONE,
    last=_NONE,
    skip=_NONE,
    box=np.zeros((0, 6)),
    root=np.zeros(1, np.int64),
    planar=np.zeros(0, np.bool_),
)
"""What tools of other shapes have."""


def joined(meshes: Sequence[ToolMesh | None]) -> ToolMesh | None:
    """Return several surfaces as one; None has a number but no triangles, and several of it are None."""
    if all(mesh is None for mesh in meshes):
        return None
    triangles, nodes = 0, 0
    parts, root = [_NO_SURFACE], [0]
    for mesh in meshes:
        if mesh is not None:
            parts.append(
                mesh._replace(first=mesh.first + triangles, last=mesh.last + triangles, skip=mesh.skip + nodes)
            )
            triangles, nodes = triangles + len(mesh.corner), nodes + len(mesh.skip)
        root.append(nodes)
    return ToolMesh(
        corner=np.concatenate([part.corner for part in parts]),
        outward=np.concatenate([part.outward for part in parts]),
        number=np.concatenate([part.number for part in parts]),
        first=np.concatenate([part.first for part in parts]),
        last=np.concatenate([part.last for part in parts]),
        skip=np.concatenate([part.skip for part in parts]),
        box=np.concatenate([part.box for part in parts]),
        root=np.array(root, np.int64),
        planar=np.array([mesh is not None and bool(mesh.planar[0]) for mesh in meshes], dtype=np.bool_),
    )


def _across(faces: Indices) -> Indices:
    """Return the triangle beyond each side (T, 3)."""
    start, stop = faces.ravel(), np.roll(faces, -1, axis=1).ravel()
    count = int(faces.max()) + 1
    keys, back = start * count + stop, stop * count + start
    order = np.argsort(keys)
    found = order[np.minimum(np.searchsorted(keys[order], back), len(order) - 1)]
    if np.any(keys[found] != back) or np.any(np.diff(keys[order]) == 0):
        raise RheotwinError(
            "tool surface: it is not closed, or its triangles do not all face the same way; "
            "close it and orient it outward"
        )
    return np.asarray(found.reshape(faces.shape) // 3)


def _corner_normals(points: Array, faces: Indices, normals: Array) -> Array:
    """Return the sums of the normals around each vertex, weighted by the angles there."""
    total = np.zeros((len(points), 3))
    for corner in range(3):
        a, b, c = (points[faces[:, (corner + k) % 3]] for k in range(3))
        u, w = b - a, c - a
        angle = np.arctan2(np.linalg.norm(np.cross(u, w), axis=1), np.einsum("tk,tk->t", u, w))
        np.add.at(total, faces[:, corner], angle[:, None] * normals)
    return total


def is_outward(mesh: ToolMesh) -> bool:
    """Tell whether the enclosed volume is positive."""
    a, b, c = mesh.corner.reshape(-1, 3, 3).transpose(1, 0, 2)
    return bool(np.einsum("tk,tk->", a, np.cross(b, c)) > 0.0)


def nearest_points(mesh: ToolMesh, points: Array) -> tuple[Array, Array, Indices]:
    """Return signed distances (n,) [m], feet (n, 3) [m] and triangles (n,) nearest to points (n, 3) in its frame."""
    distances, feet, triangles = np.empty(len(points)), np.empty((len(points), 3)), np.empty(len(points), np.int64)
    _nearest_points(mesh, np.ascontiguousarray(points, float), distances, feet, triangles)
    return distances, feet, triangles


@compiled(nogil=True, allocates=True)
def _nearest_points(mesh: ToolMesh, points: Array, distances: Array, feet: Array, triangles: Indices) -> None:
    waiting, squares = np.empty(DEPTH, np.int64), np.empty(DEPTH)
    for k in range(points.shape[0]):
        distance, _, foot, triangle = nearest(mesh, 0, row(points, k), np.inf, waiting, squares)
        distances[k], triangles[k] = distance, triangle
        feet[k, 0], feet[k, 1], feet[k, 2] = foot


@compiled(inside=True)
def nearest(mesh: ToolMesh, surface: int, p: Vector, within: float, waiting: Indices, squares: Array) -> Nearest:
    """Return the signed distance of p [m] to a surface, normal, foot and triangle; triangle -1 if not `within` [m].

    `waiting` and `squares` (DEPTH,) are scratch.
    """
    best, slot = within * within, -1
    shares, place = (0.0, 0.0, 0.0), INSIDE
    root = mesh.root[surface]
    waiting[0], squares[0], count = root, _square_to_box(mesh.box, root, p), 1
    while count > 0:
        count -= 1
        node = waiting[count]
        if squares[count] > best:
            continue
        # down to a leaf by the nearer child, the other one waits
        while mesh.skip[node] != node + 1:
            left = node + 1
            right = mesh.skip[left]
            to_left, to_right = _square_to_box(mesh.box, left, p), _square_to_box(mesh.box, right, p)
            if to_right < to_left:
                left, right, to_left, to_right = right, left, to_right, to_left
            if to_right <= best:
                waiting[count], squares[count] = right, to_right
                count += 1
            node = left
            if to_left > best:
                break
        if mesh.skip[node] != node + 1:
            continue
        for k in range(mesh.first[node], mesh.last[node]):
            foot = _foot(mesh, k, p)
            away = minus(p, _point(mesh, k, foot[0]))
            square = dot(away, away)
            if square < best or (slot < 0 and square <= best):
                best, slot, shares, place = square, k, foot[0], foot[1]
    if slot < 0:
        return within, (0.0, 0.0, 0.0), p, -1
    return _signed(mesh, surface, p, slot, shares, place)


@compiled(inside=True)
def _signed(mesh: ToolMesh, surface: int, p: Vector, slot: int, shares: Vector, place: int) -> Nearest:
    point = _point(mesh, slot, shares)
    away, normal = minus(p, point), row(mesh.outward[slot], INSIDE)
    height = dot(away, normal)
    side = length(minus((mesh.corner[slot, 3], mesh.corner[slot, 4], mesh.corner[slot, 5]), row(mesh.corner, slot)))
    if place == INSIDE or length(plus(away, -height, normal)) <= ON_BORDER * side:
        return height, normal, point, mesh.number[slot]
    sign = 1.0 if dot(away, row(mesh.outward[slot], place)) >= 0.0 else -1.0
    if mesh.planar[surface]:
        away = (away[0], away[1], 0.0)
    distance = length(away)
    if distance == 0.0:
        return 0.0, normal, point, mesh.number[slot]
    return sign * distance, times(sign / distance, away), point, mesh.number[slot]


@compiled(inside=True)
def _corner(mesh: ToolMesh, k: int, corner: int) -> Vector:
    at = 3 * corner
    return mesh.corner[k, at], mesh.corner[k, at + 1], mesh.corner[k, at + 2]


@compiled(inside=True)
def _foot(mesh: ToolMesh, k: int, p: Vector) -> Foot:
    return foot_on_triangle(p, _corner(mesh, k, 0), _corner(mesh, k, 1), _corner(mesh, k, 2))


@compiled(inside=True)
def _point(mesh: ToolMesh, k: int, shares: Vector) -> Vector:
    return at_shares(shares, _corner(mesh, k, 0), _corner(mesh, k, 1), _corner(mesh, k, 2))


@compiled(inside=True)
def beyond(mesh: ToolMesh, surface: int, p: Vector, within: float) -> bool:
    """Tell whether p is further than `within` [m] outside of the box around a surface."""
    within = max(within, 0.0)
    return _square_to_box(mesh.box, mesh.root[surface], p) > within * within


@compiled(inside=True)
def _square_to_box(box: Array, node: int, p: Vector) -> float:
    """Return the squared distance of p to a box [m2]."""
    x = max(max(box[node, 0] - p[0], p[0] - box[node, 3]), 0.0)
    y = max(max(box[node, 1] - p[1], p[1] - box[node, 4]), 0.0)
    z = max(max(box[node, 2] - p[2], p[2] - box[node, 5]), 0.0)
    square: float = x * x + y * y + z * z
    return square
