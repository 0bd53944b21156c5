"""All contacts between bodies, and of bodies with themselves, at the end of a step."""

from __future__ import annotations

from rheotwin.constraints.contact.broad import make_lists
from rheotwin.constraints.contact.edge_edge import crossing, touched_edge
from rheotwin.constraints.contact.pairs import NO_NODE, NO_TOOL, Pairs, more_pairs
from rheotwin.constraints.contact.search import EDGE_GROUPS, GROUPS, Look, Search, lists_hold, more_room
from rheotwin.constraints.contact.surface import NO_FACE, ContactSurface, first_edge_slot
from rheotwin.constraints.contact.vectors import Vector, plus, row, times
from rheotwin.constraints.contact.vertex_face import on_face, touched_face
from rheotwin.kernels.compiled import compiled

FINE, PAIRS_FULL, SEARCH_FULL = 0, 1, 2


@compiled(spliced=True)
def find_body_pairs(surface: ContactSurface, search: Search, look: Look, pairs: Pairs) -> int:
    """Append the contacts with gap <= look.region at look.end.

    look.feature is read where look.active says that the contact lasts, and set to the face or edge of each contact
    found. Returns FINE, PAIRS_FULL or SEARCH_FULL; in the latter cases make room and ask again.
    """
    first = pairs.count[0]
    if not lists_hold(surface, search, look) and not make_lists(surface, search, look):
        return SEARCH_FULL
    done = _vertices(surface, search, look, pairs)
    if done == FINE and surface.edge.shape[0] > 0:
        done = _edges(surface, search, look, pairs)
    if done != FINE:
        pairs.count[0] = first
    return done


@compiled(inside=True)
def _vertices(surface: ContactSurface, search: Search, look: Look, pairs: Pairs) -> int:
    bodies = surface.partner.shape[0]
    for group in range(search.counter[GROUPS]):
        vertex, body = search.group[group]
        slot = look.first_slot + vertex * bodies + body
        held = look.feature[slot] if look.active[slot] else NO_FACE
        face, gap, normal, shares = touched_face(
            surface, search, group, look.begin, look.end, look.region, held, look.even
        )
        if face == NO_FACE or gap > look.region:
            continue
        row_of = pairs.count[0]
        if row_of >= pairs.gap.shape[0]:
            return PAIRS_FULL
        pairs.node[row_of, 0], pairs.weight[row_of, 0] = surface.vertex[vertex], 1.0
        for corner in range(3):
            pairs.node[row_of, 1 + corner] = surface.face[face, corner]
            pairs.weight[row_of, 1 + corner] = -shares[corner]
        _close(pairs, row_of, gap, normal, on_face(surface, look.end, face, shares), slot)
        look.feature[slot] = face
    return FINE


@compiled(inside=True)
def _edges(surface: ContactSurface, search: Search, look: Look, pairs: Pairs) -> int:
    """Let each edge choose its partner on each body; where two choose each other, one of them reports it.

    That is the one whose contact lasts, so that its history goes on, else the lower one.
    """
    bodies, groups = surface.partner.shape[0], search.counter[EDGE_GROUPS]
    first_slot = first_edge_slot(surface, look.first_slot)
    for group in range(groups):
        edge, body = search.edge_group[group]
        slot = first_slot + edge * bodies + body
        held = look.feature[slot] if look.active[slot] else NO_FACE
        search.chosen[edge * bodies + body] = touched_edge(
            surface, search, group, look.begin, look.end, look.region, held, look.even
        )
    done = FINE
    for group in range(groups):
        edge, body = search.edge_group[group]
        other = search.chosen[edge * bodies + body]
        if other == NO_FACE:
            continue
        slot = first_slot + edge * bodies + body
        back = other * bodies + surface.edge_body[edge]
        lasts, lasts_there = look.active[slot], look.active[first_slot + back]
        if search.chosen[back] == edge and (lasts_there > lasts or (lasts_there == lasts and other < edge)):
            continue
        touches, gap, normal, a, b = crossing(surface, look.end, edge, other, look.even)
        if not touches or gap > look.region:
            continue
        row_of = pairs.count[0]
        if row_of >= pairs.gap.shape[0]:
            done = PAIRS_FULL
            break
        for end in range(2):
            pairs.node[row_of, end], pairs.node[row_of, 2 + end] = surface.edge[edge, end], surface.edge[other, end]
        pairs.weight[row_of, 0], pairs.weight[row_of, 1] = 1.0 - a, a
        pairs.weight[row_of, 2], pairs.weight[row_of, 3] = b - 1.0, -b
        k, m = row(look.end, surface.edge[other, 0]), row(look.end, surface.edge[other, 1])
        _close(pairs, row_of, gap, normal, plus(times(1.0 - b, k), b, m), slot)
        look.feature[slot] = other
    for group in range(groups):
        edge, body = search.edge_group[group]
        search.chosen[edge * bodies + body] = NO_FACE
    return done


@compiled(inside=True)
def _close(pairs: Pairs, row_of: int, gap: float, normal: Vector, point: Vector, slot: int) -> None:
    """Write what vertices and edges have in common, and count the contact."""
    for c in range(3):
        pairs.normal[row_of, c], pairs.point[row_of, c] = normal[c], point[c]
    for n in range(4):
        if pairs.node[row_of, n] == NO_NODE:
            pairs.weight[row_of, n] = 0.0
    pairs.gap[row_of], pairs.tool[row_of], pairs.slot[row_of] = gap, NO_TOOL, slot
    pairs.count[0] = row_of + 1


def find_pairs_with_room(surface: ContactSurface, search: Search, look: Look, pairs: Pairs) -> tuple[Search, Pairs]:
    """Like `find_body_pairs`, but make room where there is too little; return search and pairs to go on with."""
    while True:
        done = find_body_pairs(surface, search, look, pairs)
        if done == FINE:
            return search, pairs
        if done == PAIRS_FULL:
            pairs = more_pairs(pairs)
        else:
            search = more_room(search)
