"""The surfaces of deformable bodies as packed arrays: what contact between bodies is found on.

Faces are the outward oriented boundary features: edges in 2D, body on their left, and triangles in 3D,
counter-clockwise from outside (a quad of a hexahedron gives two). Everything is three-dimensional; in 2D z = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.pairs import NO_NODE
from rheotwin.constraints.contact.setup import ContactSetup
from rheotwin.constraints.contact.vectors import (
    Vector,
    at_shares,
    cross,
    dot,
    foot_on_segment,
    foot_on_triangle,
    length,
    minus,
    row,
    times,
)
from rheotwin.kernels.compiled import compiled
from rheotwin.meshing.topology import boundary_faces

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
NO_FACE = -1
ON_FACE = 1e-6
"""A point this close to a face, by its own size, lies on it."""


class SurfaceBody(Protocol):
    """What is asked of a body: its mesh and where its nodes sit in the global numbering."""

    @property
    def mesh(self) -> Any:
        """A first-order mesh in 2D or 3D."""

    @property
    def first_node(self) -> int:
        """Its first global node."""


class ContactSurface(NamedTuple):
    """Surface features of all bodies; nodes are global."""

    dimension: int
    vertex: Indices
    """(V,) nodes on a surface."""
    vertex_body: Indices
    face: Indices
    """(F, 3) corners; the third is NO_NODE in 2D. Faces of one body follow each other."""
    face_body: Indices
    face_vertex: Indices
    """(F, 3) corners as indices into `vertex`."""
    across: Indices
    """(F, 3) the face beyond side k (from corner k to k + 1), NO_FACE without exactly one; empty of meaning in 2D."""
    around_offset: Indices
    """(V + 1,) faces around vertex v are around_face[around_offset[v]:around_offset[v + 1]]."""
    around_face: Indices
    edge: Indices
    """(E, 2) edges between two faces (3D), in the direction in which the first one runs."""
    edge_body: Indices
    edge_opposite: Indices
    """(E, 2) the third corner of the two faces at an edge."""
    face_edge: Indices
    """(F, 3) the edge at side k of a face if this face keeps it (each edge is kept by one face), else NO_FACE."""
    body_first_face: Indices
    """(R + 1,)"""
    partner: NDArray[np.bool_]
    """(R, R) vertices of body a are kept out of body b; on the diagonal, bodies that touch themselves."""


def contact_surface(
    bodies: Sequence[SurfaceBody],
    dimension: int,
    *,
    between: bool = True,
    self_bodies: Sequence[int] = (),
    edges: bool = True,
) -> ContactSurface:
    """Return the packed surfaces of 2D or 3D bodies.

    `between` lets bodies push on each other, `self_bodies` lists those that push on themselves, `edges` adds
    edge-edge contact in 3D.
    """
    per_body = [_body_faces(body) for body in bodies]
    counts = [len(faces) for faces in per_body]
    face = np.concatenate([np.zeros((0, 3), np.int64), *per_body])
    face_body = np.repeat(np.arange(len(bodies)), counts)
    corners = face[:, :dimension]
    vertex, local = np.unique(corners, return_inverse=True)
    face_vertex = np.full_like(face, NO_NODE)
    face_vertex[:, :dimension] = local.reshape(corners.shape)
    vertex_body = np.zeros(len(vertex), np.int64)
    vertex_body[face_vertex[:, :dimension]] = face_body[:, None]
    order = np.argsort(face_vertex[:, :dimension].ravel(), kind="stable")
    around = np.bincount(face_vertex[:, :dimension].ravel(), minlength=len(vertex))
    partner = np.full((len(bodies), len(bodies)), between)
    np.fill_diagonal(partner, False)
    partner[list(self_bodies), list(self_bodies)] = True
    sides = _sides(face) if dimension == 3 else _no_sides(len(face))
    kept = sides if edges else sides._replace(**_no_sides(len(face))._asdict() | {"across": sides.across})
    return ContactSurface(
        dimension=dimension,
        vertex=vertex.astype(np.int64),
        vertex_body=vertex_body,
        face=face,
        face_body=face_body,
        face_vertex=face_vertex,
        around_offset=np.concatenate([[0], np.cumsum(around)]).astype(np.int64),
        around_face=order // dimension,
        edge_body=face_body[kept.first_face],
        body_first_face=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        partner=partner,
        across=kept.across,
        edge=kept.edge,
        edge_opposite=kept.edge_opposite,
        face_edge=kept.face_edge,
    )


def slot_count(surface: ContactSurface, first_slot: int) -> int:
    """Return how many contacts can have a history: one per tool candidate, vertex and body, edge and body."""
    return first_slot + (len(surface.vertex) + len(surface.edge)) * len(surface.partner)


def surface_of(bodies: Sequence[SurfaceBody], dimension: int, setup: ContactSetup) -> ContactSurface | None:
    """Return the surfaces of bodies that can touch, None where none can."""
    if not setup.between_bodies or dimension == 1:
        return None
    surface = contact_surface(bodies, dimension, between=setup.bodies, self_bodies=setup.self_bodies, edges=setup.edges)
    return surface if surface.partner.any() else None


def _body_faces(body: SurfaceBody) -> Indices:
    """Return the outward faces (n, 3) of one body in global nodes, quads split along their first corner."""
    faces = boundary_faces(body.mesh).astype(np.int64)
    if faces.shape[1] == 4:
        faces = faces[:, [0, 1, 2, 0, 2, 3]].reshape(-1, 3)
        faces = faces[faces[:, 1] != faces[:, 2]]  # of triangles a b c c
    hanging = getattr(body, "hanging", None)
    if hanging is not None and len(hanging):
        faces = _without_seams(faces, np.pad(body.mesh.p.T, ((0, 0), (0, 3 - body.mesh.p.shape[0]))))
    padded = np.full((len(faces), 3), NO_NODE, np.int64)
    padded[:, : faces.shape[1]] = faces + body.first_node
    return padded


def _without_seams(faces: Indices, points: Array) -> Indices:
    """Return the faces (n, 2 or 3) whose centre does not lie on a face that looks the opposite way.

    Between coarse and fine cells of one body there are faces used by one cell each, yet no surface (spec 7).

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


class _Sides(NamedTuple):
    across: Indices
    edge: Indices
    edge_opposite: Indices
    face_edge: Indices
    first_face: Indices


def _no_sides(faces: int) -> _Sides:
    nothing, none = np.zeros((0, 2), np.int64), np.full((faces, 3), NO_FACE, np.int64)
    return _Sides(none, nothing, nothing.copy(), none.copy(), np.zeros(0, np.int64))


def _sides(face: Indices) -> _Sides:
    """Match the sides of triangles; those with more or fewer than two faces are no edges."""
    ends = np.sort(np.stack([face, np.roll(face, -1, axis=1)], axis=2).reshape(-1, 2), axis=1)
    _, number, uses = np.unique(ends, axis=0, return_inverse=True, return_counts=True)
    two = np.flatnonzero(uses == 2)
    # sides in the order of their edge, so that the two of one edge follow each other
    order = np.argsort(number, kind="stable")
    place = np.concatenate([[0], np.cumsum(uses)])[two]
    first, second = order[place], order[place + 1]
    across = np.full(3 * len(face), NO_FACE, np.int64)
    across[first], across[second] = second // 3, first // 3
    face_edge = np.full(3 * len(face), NO_FACE, np.int64)
    face_edge[first] = np.arange(len(two))
    start_node, end_node, opposite = (np.roll(face, -k, axis=1).ravel() for k in range(3))
    return _Sides(
        across.reshape(-1, 3),
        np.stack([start_node[first], end_node[first]], axis=1),
        np.stack([opposite[first], opposite[second]], axis=1),
        face_edge.reshape(-1, 3),
        first // 3,
    )


Touch: TypeAlias = tuple[int, float, Vector, Vector]
"""Face, gap [m], unit normal from the face to the vertex, shares of the face's corners."""


class Vertices(NamedTuple):
    """`vertex` and `vertex_body` of `ContactSurface`."""

    node: Indices
    body: Indices


class Edges(NamedTuple):
    """`edge`, `edge_opposite` and `edge_body` of `ContactSurface`."""

    ends: Indices
    opposite: Indices
    body: Indices


class Faces(NamedTuple):
    """What kernels ask of faces: `corner`, `vertex`, `offset` and `around` are face, face_vertex, around_offset and
    around_face of `ContactSurface`."""

    corner: Indices
    vertex: Indices
    offset: Indices
    around: Indices


def faces_of(surface: ContactSurface) -> tuple[Faces, Indices | None]:
    """Return what kernels ask of faces, and what is beyond their sides: None in 2D, for which they are compiled so."""
    faces = Faces(surface.face, surface.face_vertex, surface.around_offset, surface.around_face)
    return faces, surface.across if surface.dimension == 3 else None


@compiled(inside=True)
def face_normal(faces: Faces, across: Indices | None, x: Array, face: int) -> Vector:
    """Return the outward normal of a face at positions x (N, 3), of the length of the edge or twice the area."""
    a, b = row(x, faces.corner[face, 0]), row(x, faces.corner[face, 1])
    along = minus(b, a)
    if across is None:
        return along[1], -along[0], 0.0
    return cross(along, minus(row(x, faces.corner[face, 2]), a))
