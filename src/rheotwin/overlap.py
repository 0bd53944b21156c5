"""Bodies that start inside each other: named with their depth, and refused or moved apart as they are."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.constraints.contact.bounds import Tree, apart, build_tree
from rheotwin.constraints.contact.surface import contact_surface
from rheotwin.constraints.contact.vectors import (
    Vector,
    at_shares,
    cross,
    dot,
    foot_on_segment,
    foot_on_triangle,
    length,
    lower,
    minus,
    plus,
    row,
    times,
    upper,
)
from rheotwin.errors import RheotwinError
from rheotwin.kernels.compiled import compiled
from rheotwin.meshing import boundary_nodes
from rheotwin.problem import ProblemBody
from rheotwin.tensors import padded

TOUCHING = 1e-6
"""Bodies that are deeper in each other than this share of the smaller one's size overlap."""
ROUNDS = 50
"""Most moves apart: one frees a flat face, several a corner or a row of bodies."""
ACROSS = 1e-9
"""Share of a way across the axis of rings that is rounding."""


@dataclass(frozen=True)
class Overlap:
    """The deepest point of one body inside another: `way` (d,) [m] takes it to the surface there."""

    inner: int
    outer: int
    way: Array

    @property
    def depth(self) -> float:
        """How deep it is [m]."""
        return float(np.linalg.norm(self.way))


def moved_apart(
    bodies: tuple[ProblemBody, ...], held: Collection[str], *, resolve: bool, axisymmetric: bool
) -> tuple[ProblemBody, ...]:
    """Return the bodies apart: refuse an overlap, or `resolve` it by moving bodies that are free, as they are.

    Of two bodies the one that is not `held` by a support or link is moved, of two free ones the later. Rings only move
    along their axis: across it they would have to stretch.
    """
    apart_now = bodies
    for _ in range(ROUNDS):
        overlap = deepest_overlap(apart_now)
        if overlap is None:
            return apart_now
        inner, outer = bodies[overlap.inner], bodies[overlap.outer]
        free = [k for k in sorted((overlap.inner, overlap.outer)) if bodies[k].name not in held]
        found = f"bodies.{inner.name}: it starts inside body '{outer.name}' by {overlap.depth:.4g} m"
        if not resolve or not free:
            remedy = "both are held by supports or links" if resolve else 'write overlap = "resolve" in [contact]'
            raise RheotwinError(f"{found}; move one of them ({remedy})")
        if axisymmetric and abs(overlap.way[0]) > ACROSS * overlap.depth:
            raise RheotwinError(
                f"{found}, and the shortest way out leads across the axis, which would stretch rings; "
                "place one of them elsewhere"
            )
        # a share further, so that rounding does not leave it inside
        way = overlap.way * (1.0 + TOUCHING)
        if axisymmetric:
            way[0] = 0.0
        moved = free[-1]
        apart_now = _shifted(apart_now, moved, way if moved == overlap.inner else -way)
    raise RheotwinError(
        f"bodies.{inner.name}: it still overlaps body '{outer.name}' after {ROUNDS} moves; place them further apart"
    )


def deepest_overlap(bodies: tuple[ProblemBody, ...]) -> Overlap | None:
    """Return the deepest place where a surface node, an edge or a cell's centre of one body lies inside another."""
    found: list[Overlap] = []
    for first, second in combinations(range(len(bodies)), 2):
        for inner, outer in ((first, second), (second, first)):
            found += _overlap(bodies, inner, outer)
    return max(found, key=lambda overlap: overlap.depth, default=None)


def _overlap(bodies: tuple[ProblemBody, ...], inner: int, outer: int) -> list[Overlap]:
    mesh, other = bodies[inner].mesh, bodies[outer].mesh
    size = min(float(np.linalg.norm(np.ptp(item.p, axis=1))) for item in (mesh, other))
    # centres, too: bodies of the same shape in the same place have no node inside each other
    points = np.vstack([mesh.p.T[boundary_nodes(mesh)], mesh.p[:, mesh.t].mean(axis=1).T])
    low, high = other.p.min(axis=1), other.p.max(axis=1)
    points = points[np.all((points > low) & (points < high), axis=1)]
    if not np.all((mesh.p.min(axis=1) < high) & (mesh.p.max(axis=1) > low)):
        return []
    surface = contact_surface([replace(bodies[outer], first_node=0)], len(other.p), between=False)
    places = padded(other.p.T)
    # and edges: bars that cross have neither nodes nor centres inside each other
    begin, end = _edges_near(bodies[inner], low, high)
    tree = build_tree(surface.face[:, : len(other.p)], places, surface.body_first_face)
    points = np.vstack([padded(points), _middles(begin, end, places, surface.face, tree, len(other.p))])
    _, depth, way = _deepest(points, places, surface.face, len(other.p))
    return [Overlap(inner, outer, np.array(way[: len(other.p)]))] if depth > TOUCHING * size else []


def _edges_near(body: ProblemBody, low: Array, high: Array) -> tuple[Array, Array]:
    """Return the ends (n, 3), (n, 3) [m] of the edges of a body's surface whose boxes overlap a box."""
    x, d = body.mesh.p.T, len(low)
    face = contact_surface([replace(body, first_node=0)], d, between=False).face
    pairs = np.vstack([face[:, [k, (k + 1) % d]] for k in range(d if d == 3 else d - 1)])
    ends = x[np.unique(np.sort(pairs, axis=1), axis=0)]
    near = np.all((ends.min(axis=1) < high) & (ends.max(axis=1) > low), axis=1)
    return padded(ends[near, 0]), padded(ends[near, 1])


def _middles(begin: Array, end: Array, x: Array, face: Indices, tree: Tree, dimension: int) -> Array:
    """Return the middles (n, 3) [m] of the pieces into which faces cut edges; of edges no face cuts there is none.

    `tree` holds the boxes of the faces: an edge is cut only with those whose boxes its own meets.
    """
    room, cuts = 16, np.empty(len(face) + 2)
    while True:
        found = np.empty((room, 3))
        wanted = _find_middles(begin, end, x, face, tree, dimension, cuts, found)
        if wanted <= room:
            return found[:wanted]
        room = wanted


@compiled
def _find_middles(
    begin: Array, end: Array, x: Array, face: Indices, tree: Tree, dimension: int, cuts: Array, found: Array
) -> int:
    """Write middles to `found` as far as there is room; return how many there are. `cuts` (F + 2,) is scratch."""
    filled = 0
    for k in range(begin.shape[0]):
        p, q = row(begin, k), row(end, k)
        along, low, high = minus(q, p), lower(p, q), upper(p, q)
        cuts[0] = 0.0
        count, node = 1, 0
        while node < tree.skip.shape[0]:
            if apart(tree.box, node, low, high):
                node = tree.skip[node]
                continue
            if tree.skip[node] == node + 1:
                for place in range(tree.first[node], tree.last[node]):
                    t = _cut(p, along, x, face[tree.order[place]], dimension)
                    if 0.0 < t < 1.0:
                        at = count
                        while cuts[at - 1] > t:
                            cuts[at] = cuts[at - 1]
                            at -= 1
                        cuts[at] = t
                        count += 1
            node += 1
        cuts[count] = 1.0
        for piece in range(count if count > 1 else 0):
            if filled < found.shape[0]:
                middle = plus(p, 0.5 * (cuts[piece] + cuts[piece + 1]), along)
                found[filled, 0], found[filled, 1], found[filled, 2] = middle
            filled += 1
    return filled


@compiled(inside=True)
def _cut(p: Vector, along: Vector, x: Array, corners: Indices, dimension: int) -> float:
    """Return the t at which p + t `along` goes through a face, -1 if it does not."""
    a = row(x, corners[0])
    u, w = minus(row(x, corners[1]), a), (0.0, 0.0, 1.0)
    if dimension == 3:
        w = minus(row(x, corners[2]), a)
    normal, y = cross(u, w), minus(a, p)
    rise = dot(along, normal)
    if rise == 0.0:
        return -1.0
    t = dot(y, normal) / rise
    at = minus(times(t, along), y)
    square = dot(normal, normal)
    r, q = dot(cross(at, w), normal) / square, dot(cross(u, at), normal) / square
    inside = r >= 0.0 and (r <= 1.0 if dimension == 2 else (q >= 0.0 and r + q <= 1.0))
    return t if inside else -1.0


@compiled(inside=True)
def _turns(p: Vector, x: Array, face: Indices, dimension: int) -> float:
    """Return how often a closed surface goes around p: the sum of angles in 2D, of solid angles in 3D; 0 outside."""
    total = 0.0
    for k in range(face.shape[0]):
        a, b = minus(row(x, face[k, 0]), p), minus(row(x, face[k, 1]), p)
        if dimension == 2:
            total += np.arctan2(cross(a, b)[2], dot(a, b)) / (2.0 * np.pi)
            continue
        c = minus(row(x, face[k, 2]), p)
        la, lb, lc = length(a), length(b), length(c)
        # van Oosterom and Strackee 1983
        below = la * lb * lc + dot(a, b) * lc + dot(b, c) * la + dot(c, a) * lb
        total += np.arctan2(dot(a, cross(b, c)), below) / (2.0 * np.pi)
    return total


@compiled
def _deepest(points: Array, x: Array, face: Indices, dimension: int) -> tuple[int, float, Vector]:
    """Return which point (n, 3) lies deepest inside a closed surface, its depth [m] and the way out; -1: none does."""
    found, depth, out = -1, 0.0, (0.0, 0.0, 0.0)
    for k in range(points.shape[0]):
        p = row(points, k)
        if _turns(p, x, face, dimension) < 0.5:
            continue
        nearest, way = np.inf, out
        for f in range(face.shape[0]):
            a, b = row(x, face[f, 0]), row(x, face[f, 1])
            c = row(x, face[f, 2]) if dimension == 3 else b
            shares = foot_on_triangle(p, a, b, c)[0] if dimension == 3 else foot_on_segment(p, a, b)[0]
            away = minus(at_shares(shares, a, b, c), p)
            if length(away) < nearest:
                nearest, way = length(away), away
        if nearest > depth:
            found, depth, out = k, nearest, way
    return found, depth, out


def _shifted(bodies: tuple[ProblemBody, ...], number: int, way: Array) -> tuple[ProblemBody, ...]:
    """Return the bodies with one of them moved by `way` (d,) [m]."""
    body = bodies[number]
    mesh = replace(body.mesh, doflocs=np.ascontiguousarray(body.mesh.p + way[:, None]))
    return (*bodies[:number], replace(body, mesh=mesh), *bodies[number + 1 :])
