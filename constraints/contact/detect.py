"""All contacts between bodies, and of bodies with themselves, at the end of a step: stages, and a search for Python."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.bounds import refit
from rheotwin.constraints.contact.edge_edge import choose_edges, find_edges
from rheotwin.constraints.contact.lists import (
    begin_lists,
    find_sharp,
    list_edges,
    list_faces,
    lists_made,
    pass_if_lists_hold,
)
from rheotwin.constraints.contact.pairs import Pairs, more_pairs, room_for_pairs
from rheotwin.constraints.contact.search import (
    FINE,
    PAIRS_FULL,
    Remembered,
    Search,
    edge_lists,
    more_room,
    new_search,
    vertex_lists,
)
from rheotwin.constraints.contact.surface import ContactSurface, Edges, Vertices, faces_of, slot_count
from rheotwin.constraints.contact.vertex_face import find_vertices
from rheotwin.kernels.blocks import Now
from rheotwin.kernels.program import Clock, Program
from rheotwin.kernels.stage import Stage

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]


def search_stages(
    surface: ContactSurface,
    search: Search,
    begin: Array,
    end: Array,
    region: float | Now,
    history: Remembered,
    first_slot: int,
    pairs: Pairs,
    full: Indices,
    *,
    even: bool = False,
) -> list[Stage]:
    """Return the stages that append the contacts with gap <= region [m] of a step from `begin` to `end` (N, 3) [m].

    `feature` of the history is read where a contact is active, and set to the face or edge of each contact found.
    `full` (1,) is set where something has no room: make some and ask again. `even` asks for normals that go on evenly
    where surfaces lie flush, see `flush`.
    """
    faces, across = faces_of(surface)
    vertices = Vertices(surface.vertex, surface.vertex_body)
    edges: Edges | None = None
    if len(surface.edge):
        edges = Edges(surface.edge, surface.edge_opposite, surface.edge_body)
    bodies, smooth = len(surface.partner), True if even and across is not None else None
    node, now, reach, tree = surface.vertex, search.now, search.reach, search.tree
    normals = (search.face_normal, search.normal)
    lists, at = (vertex_lists(search), history, first_slot), (search.reached, now, reach, begin, full)
    boxes = (tree.order, tree.first, tree.last, tree.skip, tree.box, tree.normals)
    here = (begin, end, *normals, search.reference, now, search.counter, search.margin, region)
    making = [
        Stage(begin_lists, (faces, across, node, *here)),
        Stage(refit, (*boxes, surface.face, begin, search.face_normal)),
        Stage(list_faces, (faces, vertices, surface.partner, tree, *normals, search.vertex_order, *lists, *at)),
    ]
    touching = (faces, across, smooth, vertices, begin, end, *lists, bodies, region, reach, pairs, full)
    finding = [Stage(find_vertices, touching)]
    if edges is not None:
        sharp, kept = (search.sharp, search.edge_normal, search.sharp_in), (edges, surface.face_edge)
        lists = (edge_lists(search), history, first_slot + len(surface.vertex) * bodies)
        chosen = (*lists[:2], search.chosen, lists[2], bodies, region)
        making += [
            Stage(find_sharp, (*kept, tree, begin, *sharp)),
            Stage(list_edges, (*kept, surface.partner, tree, *sharp, search.edge_order, *lists, *at)),
        ]
        finding += [
            Stage(choose_edges, (edges, smooth, begin, end, *chosen, reach, full)),
            Stage(find_edges, (edges, smooth, end, *chosen, pairs, full)),
        ]
    making += [Stage(lists_made, (search.counter, full))]
    known = (node, begin, end, search.reference, now, search.counter, region, len(making))
    return [Stage(pass_if_lists_hold, known), *making, *finding]


class BodySearch:
    """Finds contacts between bodies at positions that Python gives; lists and pairs grow as they have to."""

    def __init__(self, surface: ContactSurface, rest: Array, first_slot: int = 0, *, even: bool = False) -> None:
        self.surface, self.search = surface, new_search(surface, rest)
        self.pairs = room_for_pairs(max(16, len(surface.vertex)))
        slots = slot_count(surface, first_slot)
        self._first_slot, self._even, self._region, self._full = first_slot, even, np.zeros(1), np.zeros(1, np.int64)
        self._begin, self._end = np.array(rest), np.array(rest)
        self._history = Remembered(np.zeros(slots, np.int64), np.zeros(slots, np.bool_))
        self._bound: tuple[Search, Pairs, Program] | None = None

    def find(self, begin: Array, end: Array, region: float, feature: Indices, active: Flags) -> Pairs:
        """Return the contacts with gap <= region [m]; `feature` is updated as by `search_stages`."""
        self._begin[:], self._end[:], self._region[0] = begin, end, region
        self._history.feature[:], self._history.active[:] = feature, active
        while True:
            self._full[0], self.pairs.count[0] = FINE, 0
            self._program().run(0, 1)
            if self._full[0] == FINE:
                feature[:] = self._history.feature
                return self.pairs
            if self._full[0] == PAIRS_FULL:
                self.pairs = more_pairs(self.pairs)
            else:
                self.search = more_room(self.search)

    def _program(self) -> Program:
        """Return the program of the search as it is now, which others may have exchanged."""
        if self._bound is None or self._bound[0] is not self.search or self._bound[1] is not self.pairs:
            lists = (self.surface, self.search, self._begin, self._end, Now(self._region), self._history)
            stages = search_stages(*lists, self._first_slot, self.pairs, self._full, even=self._even)
            self._bound = self.search, self.pairs, Program(stages, 0.0, Clock())
        return self._bound[2]
