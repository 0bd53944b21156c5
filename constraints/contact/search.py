"""Which faces and edges may soon touch which vertices and edges: lists that outlive many steps.

A list made at positions X holds everything within max(region, reach) + margin. It stays complete until something has
moved further than margin/2 from X, so it is made anew only then; boxes are refitted for it, the tree stays.
Where a step alone moves a vertex further, the margin grows to four times that motion.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.bounds import Tree, build_tree
from rheotwin.constraints.contact.surface import NO_FACE, ContactSurface

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]

REACH, MARGIN = 0.5, 0.25
"""Depth up to which a vertex without history counts as inside of a body, and room to move: shares of the mean side."""
SAME_WAY = np.cos(np.pi / 4)
"""What has more than this of a normal along its own looks the same way."""
TOGETHER = 8
"""Vertices or edges that go down a tree together."""
ROOM = 8
"""Candidates per vertex or edge to start with."""

BUILT, GROUPS, CANDIDATES, EDGE_GROUPS, EDGE_CANDIDATES, REBUILDS, COUNTERS = 0, 1, 2, 3, 4, 5, 6
NOW_MARGIN, LIST_REGION, LENGTHS = 0, 1, 2
FINE, PAIRS_FULL, SEARCH_FULL = 0, 1, 2
"""What a search tells of its room."""


class Search(NamedTuple):
    """Candidate lists. A group is a vertex (or edge) with the candidates of one body: start[g]:start[g + 1]."""

    tree: Tree
    reach: float
    """[m]"""
    margin: float
    """[m]"""
    reference: Array
    """(V, 3) [m] where the lists were made."""
    counter: Indices
    now: Array
    """Margin and region of the lists [m]."""
    group: Indices
    """(most, 2) vertex and body"""
    start: Indices
    candidate: Indices
    edge_group: Indices
    """(most, 2) edge and body"""
    edge_start: Indices
    edge_candidate: Indices
    vertex_order: Indices
    """(V,) vertices by body and place in the tree: near each other, hence looked at together."""
    edge_order: Indices
    """(E,) edges likewise."""
    normal: Array
    """(V, 3) scratch: unit normals of the vertices where the lists were made."""
    face_normal: Array
    """(F, 3) scratch: unit normals of the faces there."""
    sharp: Flags
    """(E,) scratch: edges that can touch."""
    edge_normal: Array
    """(E, 3) scratch: unit means of the normals at an edge."""
    sharp_in: Flags
    """(nodes,) scratch: whether a face in a node of the tree keeps such an edge."""
    reached: Indices
    """(max(F, E),) scratch"""
    chosen: Indices
    """(E * R,) scratch: partner of an edge on a body."""


class Lists(NamedTuple):
    """The lists of vertices or of edges, see `Search`."""

    group: Indices
    start: Indices
    candidate: Indices
    counter: Indices


class Remembered(NamedTuple):
    """What contact remembers of the steps before, by slot: the face or edge touched, and whether that contact lasts.

    Slots: first_slot + v R + r for vertex v at body r, edges after the vertices likewise.
    """

    feature: Indices
    active: Flags


def vertex_lists(search: Search) -> Lists:
    """Return the lists of vertices."""
    return Lists(search.group, search.start, search.candidate, search.counter)


def edge_lists(search: Search) -> Lists:
    """Return the lists of edges."""
    return Lists(search.edge_group, search.edge_start, search.edge_candidate, search.counter)


def new_search(surface: ContactSurface, rest: Array) -> Search:
    """Return a search over a surface with its nodes at rest (N, 3) [m]; lists are made when first asked for."""
    corners = surface.face[:, : surface.dimension]
    ends = rest[corners[:, :2]]
    side = float(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1).mean()) if len(corners) else 0.0
    tree = build_tree(corners, rest, surface.body_first_face)
    place = np.empty(len(corners), np.int64)
    place[tree.order] = np.arange(len(corners))
    kept = surface.face_edge.ravel()
    keeper = np.zeros(len(surface.edge), np.int64)
    keeper[kept[kept >= 0]] = np.flatnonzero(kept >= 0) // 3
    most, edges, bodies = len(surface.vertex), len(surface.edge), len(surface.partner)
    return Search(
        tree=tree,
        reach=REACH * side,
        margin=MARGIN * side,
        reference=np.zeros((most, 3)),
        counter=np.zeros(COUNTERS, np.int64),
        now=np.zeros(LENGTHS),
        group=np.zeros((2 * most + 1, 2), np.int64),
        start=np.zeros(2 * most + 2, np.int64),
        candidate=np.zeros(ROOM * most + 1, np.int64),
        edge_group=np.zeros((edges + 1, 2), np.int64),
        edge_start=np.zeros(edges + 2, np.int64),
        edge_candidate=np.zeros(ROOM * edges + 1, np.int64),
        vertex_order=np.argsort(place[surface.around_face[surface.around_offset[:-1]]], kind="stable"),
        edge_order=np.argsort(place[keeper], kind="stable"),
        normal=np.zeros((most, 3)),
        face_normal=np.zeros((len(corners), 3)),
        sharp=np.zeros(edges, np.bool_),
        edge_normal=np.zeros((edges, 3)),
        sharp_in=np.zeros(len(tree.skip), np.bool_),
        reached=np.zeros(max(len(corners), edges), np.int64),
        chosen=np.full(edges * bodies, NO_FACE, np.int64),
    )


LISTS = ("group", "start", "candidate", "edge_group", "edge_start", "edge_candidate")


def more_room(search: Search) -> Search:
    """Return the search with twice the room in every list, and nothing in them."""
    larger: dict[str, Any] = {name: np.repeat(np.zeros_like(getattr(search, name)), 2, axis=0) for name in LISTS}
    search.counter[: BUILT + 1] = 0
    return search._replace(**larger)


def save_search(search: Search) -> dict[str, Array | Indices]:
    """Return what a bitwise restart needs: the lists, which depend on when they were made."""
    kept: dict[str, Array | Indices] = {name: getattr(search, name).copy() for name in LISTS}
    return kept | {name: getattr(search, name).copy() for name in ("counter", "now", "reference")}


def restore_search(search: Search, saved: Mapping[str, Array | Indices]) -> Search:
    """Return the search with the lists of `save_search`."""
    lists: dict[str, Any] = {name: np.array(values) for name, values in saved.items()}
    return search._replace(**lists)
