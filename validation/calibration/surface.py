"""Bodies in lanes: distances of points to their surface, volumes, the least corner; one set of parameters in each lane.

A point looks at the triangles in the order of their distance d_k to the surface of a reference shape. A triangle cannot
be nearer than d_k - s where s is the farthest that a vertex lies from the reference; so the search ends when that
exceeds the best so far in every lane. Looking at more triangles changes no bit: no lane knows of the others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from rheotwin.arrays import Array, Indices, Integers
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.vectors import any_of, formula, load, numbers_of, select, slots, store
from rheotwin.meshing import boundary_faces, element_measures
from rheotwin.meshing.cells import CORNERS
from rheotwin.meshing.topology import corner_frames
from rheotwin.problem import Problem
from rheotwin.running import grid_topology
from rheotwin.validation.metrics import surface_distance, surface_of
from rheotwin.validation.metrics.meshes import FAR, NOISE

NEAR = 28
"""Triangles in the list of a point; where they do not settle it, all are looked at."""
SLACK = 1e-9
"""Share of a body's extent by which a triangle may be nearer than its bound says: rounding."""
ROWS = 18
"""Numbers of a triangle: a corner, two duals, the normal, 1/length^2 of the edges, products of two of them."""
TIED = 1e-9
"""Squared distances that differ by less than this share are to one point."""
LEAST = 1e-300
"""Least squared length [m2] and area [m4]: flat triangles stay finite."""


@formula
def _offset(table: Any, at: Any, x: Any, y: Any, z: Any) -> Any:
    """Return the squared distance of a point to a triangle, and its height above the triangle's plane.

    In its plane it is a + b u + c w by the duals of the edges u and w; beyond them the nearest of three edges counts.
    """
    dx, dy, dz = x - load(table, 0, at), y - load(table, 1, at), z - load(table, 2, at)
    b = dx * load(table, 3, at) + dy * load(table, 4, at) + dz * load(table, 5, at)
    c = dx * load(table, 6, at) + dy * load(table, 7, at) + dz * load(table, 8, at)
    h = dx * load(table, 9, at) + dy * load(table, 10, at) + dz * load(table, 11, at)
    inside = min(min(b, c), 1.0 - b - c)
    found = h * h
    if any_of(inside < 0.0):
        uu, ww, uw = load(table, 15, at), load(table, 16, at), load(table, 17, at)
        t = b - min(max((b * uu + c * uw) * load(table, 12, at), 0.0), 1.0)
        first = t * t * uu + 2.0 * t * c * uw + c * c * ww
        t = c - min(max((b * uw + c * ww) * load(table, 13, at), 0.0), 1.0)
        second = b * b * uu + 2.0 * b * t * uw + t * t * ww
        e = b - 1.0
        t = min(max((e * uw - e * uu + c * ww - c * uw) * load(table, 14, at), 0.0), 1.0)
        e, t = e + t, c - t
        third = e * e * uu + 2.0 * e * t * uw + t * t * ww
        found = select(inside < 0.0, found + max(min(min(first, second), third), 0.0), found)
    return found, h


@formula
def _side(square: Any, h: Any, best: Any, height: Any) -> Any:
    """Return the height that tells on which side a point is: that of the nearest triangle.

    Triangles that share the nearest point, an edge's or a corner's, do not all tell it: the largest height does.
    """
    tied = (square <= (1.0 + TIED) * best) & (h * h > height * height)
    return select((square < (1.0 - TIED) * best) | tied, h, height)


@cache
def _tabled(lanes: int) -> Any:
    slot, three = slots(lanes), numbers_of(3)

    @compiled(vectors=True)
    def fill(triangles: Any, x: Any, table: Any) -> None:
        """Put what `_offset` reads of the triangles of places (3, N S) into the columns of a table (rows, F S)."""
        for f in range(triangles.shape[0]):
            at = slot(f * lanes)
            a = three(x, slot(triangles[f, 0] * lanes))
            p, q = three(x, slot(triangles[f, 1] * lanes)), three(x, slot(triangles[f, 2] * lanes))
            u, w = (p[0] - a[0], p[1] - a[1], p[2] - a[2]), (q[0] - a[0], q[1] - a[1], q[2] - a[2])
            n = (u[1] * w[2] - u[2] * w[1], u[2] * w[0] - u[0] * w[2], u[0] * w[1] - u[1] * w[0])
            square = max(n[0] * n[0] + n[1] * n[1] + n[2] * n[2], LEAST)
            inverse, unit = 1.0 / square, 1.0 / math.sqrt(square)
            uu, ww = u[0] * u[0] + u[1] * u[1] + u[2] * u[2], w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
            uw = u[0] * w[0] + u[1] * w[1] + u[2] * w[2]
            for k in range(3):
                store(table, k, at, a[k])
                store(table, 9 + k, at, unit * n[k])
            store(table, 3, at, inverse * (w[1] * n[2] - w[2] * n[1]))
            store(table, 4, at, inverse * (w[2] * n[0] - w[0] * n[2]))
            store(table, 5, at, inverse * (w[0] * n[1] - w[1] * n[0]))
            store(table, 6, at, inverse * (n[1] * u[2] - n[2] * u[1]))
            store(table, 7, at, inverse * (n[2] * u[0] - n[0] * u[2]))
            store(table, 8, at, inverse * (n[0] * u[1] - n[1] * u[0]))
            store(table, 12, at, 1.0 / max(uu, LEAST))
            store(table, 13, at, 1.0 / max(ww, LEAST))
            store(table, 14, at, 1.0 / max(uu + ww - 2.0 * uw, LEAST))
            store(table, 15, at, uu)
            store(table, 16, at, ww)
            store(table, 17, at, uw)

    return fill


@cache
def _measured(lanes: int) -> Any:
    slot = slots(lanes)

    @compiled(vectors=True)
    def measure(
        points: Any, near: Any, bound: Any, shift: Any, triangles: int, table: Any, noise: float, far: float,
        found: Any, sums: Any,
    ) -> None:  # fmt: skip
        """Put signed distances (1, P S) [m] of points (P, 3) into `found`, their S and counts into `sums` (2, S)."""
        first = slot(0)
        moved = load(shift, 0, first)
        total = count = 0.0 * moved
        for p in range(points.shape[0]):
            x, y, z = points[p, 0], points[p, 1], points[p, 2]
            best, height = _offset(table, slot(near[p, 0] * lanes), x, y, z)
            k, last = 1, near.shape[1]
            while k < last:
                gap = bound[p, k] - moved
                if not any_of((gap < 0.0) | (gap * gap <= best)):
                    break
                square, h = _offset(table, slot(near[p, k] * lanes), x, y, z)
                height = _side(square, h, best, height)
                best = min(best, square)
                k += 1
            if k == last and last < triangles:
                for f in range(triangles):
                    square, h = _offset(table, slot(f * lanes), x, y, z)
                    height = _side(square, h, best, height)
                    best = min(best, square)
            distance = math.sqrt(best)
            store(found, 0, slot(p * lanes), math.copysign(distance, height))
            total = total + select(distance >= noise, distance, 0.0 * distance)
            count = count + select(distance > far, 1.0 + 0.0 * distance, 0.0 * distance)
        store(sums, 0, first, total)
        store(sums, 1, first, count)

    return measure


@cache
def _moved(lanes: int) -> Any:
    slot, three = slots(lanes), numbers_of(3)

    @compiled(vectors=True)
    def farthest(x: Any, reference: Any, shift: Any) -> None:
        """Put how far the farthest vertex of places (3, N S) is from a reference (N, 3) into `shift` (1, S)."""
        most = 0.0 * load(x, 0, slot(0))
        for i in range(reference.shape[0]):
            a = three(x, slot(i * lanes))
            d = (a[0] - reference[i, 0], a[1] - reference[i, 1], a[2] - reference[i, 2])
            most = max(most, d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
        store(shift, 0, slot(0), math.sqrt(most))

    return farthest


@cache
def _sized(lanes: int) -> Any:
    slot, three = slots(lanes), numbers_of(3)

    @compiled(vectors=True)
    def measure(faces: Any, share: float, corners: Any, x: Any, sizes: Any) -> None:
        """Put volume [m3] and the least determinant at a cell's corner [m3] of places (3, N S) into `sizes` (2, S)."""
        o = three(x, slot(faces[0, 0] * lanes))
        volume = 0.0 * o[0]
        for f in range(faces.shape[0]):
            a = three(x, slot(faces[f, 0] * lanes))
            b, c = three(x, slot(faces[f, 1] * lanes)), three(x, slot(faces[f, 2] * lanes))
            volume = volume + _determinant(o, a, b, c)
        least = 1e300 + volume
        for k in range(corners.shape[0]):
            a, b = three(x, slot(corners[k, 0] * lanes)), three(x, slot(corners[k, 1] * lanes))
            c, d = three(x, slot(corners[k, 2] * lanes)), three(x, slot(corners[k, 3] * lanes))
            least = min(least, _determinant(a, b, c, d))
        store(sizes, 0, slot(0), share * volume)
        store(sizes, 1, slot(0), least)

    return measure


@formula
def _determinant(o: Any, a: Any, b: Any, c: Any) -> Any:
    u, v, w = (
        (a[0] - o[0], a[1] - o[1], a[2] - o[2]),
        (b[0] - o[0], b[1] - o[1], b[2] - o[2]),
        (c[0] - o[0], c[1] - o[1], c[2] - o[2]),
    )
    first, second = v[1] * w[2] - v[2] * w[1], v[2] * w[0] - v[0] * w[2]
    return u[0] * first + u[1] * second + u[2] * (v[0] * w[1] - v[1] * w[0])


@compiled(vectors=True)
def _all_offsets(points: Any, table: Any, squares: Any) -> None:
    """Put the squared distances [m2] of points (P, 3) to the triangles of a table (rows, F) into `squares` (P, F)."""
    for p in range(points.shape[0]):
        for f in range(table.shape[1]):
            squares[p, f] = _offset(table, f, points[p, 0], points[p, 1], points[p, 2])[0]


class Cloud(NamedTuple):
    """Points (P, 3) [m], the triangles near each at a reference shape (N, 3) [m] and how far these are at least."""

    points: Array
    near: Integers
    bound: Array
    reference: Array


@dataclass(frozen=True)
class Distances:
    """Distances of the points of a cloud: signed (P, S) [m], outside positive, S [m] and points beyond 0.25 cm (S,)."""

    signed: Array
    total: Array
    far: Array


class Bodies:
    """The bodies of a problem by the places (3, N, S) [m] of their nodes in lanes."""

    def __init__(self, problem: Problem) -> None:
        self._problem, self._dimension = problem, problem.dimension
        self.nodes = len(problem.points)
        if self._dimension < 3:
            return
        faces = [boundary_faces(body.mesh).astype(np.int64) + body.first_node for body in problem.bodies]
        whole = np.concatenate(faces)
        split = {3: [[0, 1, 2]], 4: [[0, 1, 2], [0, 2, 3]]}[whole.shape[1]]
        both = {3: [[0, 1, 2]], 4: [[0, 1, 2], [0, 2, 3], [0, 1, 3], [1, 2, 3]]}[whole.shape[1]]
        self.triangles = np.ascontiguousarray(whole[:, split].reshape(-1, 3), np.int32)
        self._faces = np.ascontiguousarray(whole[:, both].reshape(-1, 3), np.int32)
        self._share = 1.0 / (6.0 * len(both) / len(split))
        local = CORNERS[problem.bodies[0].cell]
        cells = np.concatenate([body.mesh.t.T[:, local] + body.first_node for body in problem.bodies])
        self._corners = np.ascontiguousarray(cells.reshape(-1, local.shape[1]), np.int32)

    def sizes(self, places: Array) -> tuple[Array, Array]:
        """Return the volume of all bodies [m3] and the least determinant at a cell's corner, each (S,)."""
        lanes = places.shape[-1]
        found = np.zeros((2, lanes))
        if self._dimension == 3:
            _sized(lanes)(self._faces, self._share, self._corners, _flat(places), found)
            return found[0], found[1]
        for lane in range(lanes):
            meshes = [self._mesh(body, places[..., lane]) for body in self._problem.bodies]
            found[0, lane] = self._problem.thickness * sum(element_measures(mesh).sum() for mesh in meshes)
            frames = [corner_frames(mesh, corner) for mesh in meshes for corner in range(len(mesh.t))]
            found[1, lane] = min(np.linalg.det(frame).min() for frame in frames)
        return found[0], found[1]

    def _mesh(self, body: Any, places: Array) -> Any:
        return replace(body.mesh, doflocs=np.ascontiguousarray(places[: self._dimension, body.nodes]))

    def cloud(self, points: Array, reference: Array) -> Cloud:
        """Return points (P, 3) [m] with their lists at a reference shape (N, 3) [m]."""
        points, reference = np.ascontiguousarray(points, float), np.ascontiguousarray(reference, float)
        if self._dimension < 3:
            return Cloud(points, np.zeros((len(points), 0), np.int32), np.zeros((len(points), 0)), reference)
        table = self._table(reference.T[:, :, None])
        count = min(NEAR, len(self.triangles))
        near, bound = np.zeros((len(points), count), np.int32), np.zeros((len(points), count))
        slack = SLACK * float(np.linalg.norm(np.ptp(reference, axis=0)))
        for first in range(0, len(points), 1000):
            part = slice(first, first + 1000)
            squares = np.zeros((len(points[part]), len(self.triangles)))
            _all_offsets(points[part], table, squares)
            chosen = np.argpartition(squares, count - 1, axis=1)[:, :count]
            values = np.take_along_axis(squares, chosen, axis=1)
            order = np.argsort(values, axis=1, kind="stable")
            near[part] = np.take_along_axis(chosen, order, axis=1)
            bound[part] = np.sqrt(np.take_along_axis(values, order, axis=1)) - slack
        return Cloud(points, near, bound, reference)

    def _table(self, places: Array) -> Array:
        lanes = places.shape[-1]
        table = np.zeros((ROWS, len(self.triangles) * lanes))
        _tabled(lanes)(self.triangles, _flat(places), table)
        return table

    def distances(self, cloud: Cloud, places: Array, scale: float = 1.0) -> Distances:
        """Return the distances of a cloud from the surface at places (3, N, S) [m], all times `scale`."""
        lanes = places.shape[-1]
        signed, sums = np.zeros((len(cloud.points), lanes)), np.zeros((2, lanes))
        if self._dimension == 3:
            shift, flat = np.zeros((1, lanes)), _flat(places)
            _moved(lanes)(flat, cloud.reference, shift)
            limits = NOISE / scale, FAR / scale
            count, table = len(self.triangles), self._table(places)
            found = signed.reshape(1, -1)
            _measured(lanes)(cloud.points, cloud.near, cloud.bound, shift, count, table, *limits, found, sums)
            return Distances(scale * signed, scale * sums[0], sums[1])
        grid = vtk_cells(self._problem)
        for lane in range(lanes):
            surface = surface_of(places[..., lane].T, grid, self._problem.bodies[0].cell)
            signed[:, lane] = scale * surface_distance(cloud.points, surface)
        return Distances(signed, np.where(signed >= NOISE, signed, 0.0).sum(axis=0), (signed > FAR).sum(axis=0))


def _flat(places: Array) -> Array:
    return np.ascontiguousarray(places, float).reshape(3, -1)


def vtk_cells(problem: Problem) -> Indices:
    """Return the cells of all bodies (C, k) in VTK's order."""
    return grid_topology(problem).vtk_cells()
