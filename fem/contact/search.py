"""Finds the contacts of a finite-element model: nodes at tools, and surfaces of bodies at each other.

Vertices of either body are kept out of the faces of the other: then a uniform pressure passes between meshes that do
not match, which vertices of one body alone would not do. Where the two ways ask for the same, they share the force.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.detect import BodySearch
from rheotwin.constraints.contact.pairs import NO_NODE, NO_TOOL, Pairs
from rheotwin.constraints.contact.search import restore_search, save_search
from rheotwin.constraints.contact.setup import ContactSetup
from rheotwin.constraints.contact.surface import ContactSurface, contact_surface, has_partners, slot_count
from rheotwin.constraints.contact.tool_pairs import ToolSearch
from rheotwin.constraints.packed import pack_tools
from rheotwin.errors import RheotwinError
from rheotwin.fem.contact.laws import Laws
from rheotwin.fem.contact.memory import Past
from rheotwin.fem.contact.rows import Rows, frames
from rheotwin.fem.contact.turning import balanced, plain
from rheotwin.fem.model import Model

Array = NDArray[np.float64]

SEARCHES = "touch_search_"
MOST_SIDES = 1.0
"""Distance at which bodies are looked for, in mean sides of their faces: no step may move them further."""


class ContactSearch:
    """Finds pairs at given positions; `slots` is the number of contacts that can have a history."""

    def __init__(self, model: Model, setup: ContactSetup, laws: Laws) -> None:
        self._model, self._laws = model, laws
        self._tools = pack_tools(model.tools)
        self._at_tools = ToolSearch(self._tools, len(model.points))
        self._first_slot, self._surface = len(self._tools.candidate), None
        self.slots = self._first_slot
        if setup.between_bodies and model.dimension > 1:
            self._surface = _surface(model, setup)
        if self._surface is not None:
            self.slots = slot_count(self._surface, self._first_slot)
            rest = _vertices(model, _padded_rows(model, np.zeros(model.size)))
            self._between = BodySearch(self._surface, rest, self._first_slot, even=True)
            corners = self._surface.face[:, :2]
            self._side = float(np.linalg.norm(np.diff(rest[corners], axis=1), axis=2).mean())

    def find(self, begin: Array, end: Array, pose: Array, reach: float, history: Past, directions: int) -> Rows:
        """Return contacts with gaps up to `reach` [m] (bodies: up to a face's side) at positions `end` (rows, 3) [m].

        `begin` are the positions at the beginning of the step, by which vertices that crossed a face are known.
        """
        found = [self._tool_rows(end, pose, reach)]
        if self._surface is not None:
            found.append(self._body_rows(begin, end, min(reach, MOST_SIDES * self._side), history))
        columns = [np.concatenate(column) for column in zip(*found, strict=True)]
        node, present, weight, normal, gap, tool, point, slot = columns
        law = np.where(tool == NO_TOOL, len(self._laws.table) - 1, tool)
        frame, between = frames(normal, directions), tool == NO_TOOL
        push, place = plain(weight, frame), end[node[between]]
        push[between] = balanced(weight[between], frame[between], place, present[between], self._model.dimension)
        return Rows(node, weight, frame, push, gap, tool, point, slot, law)

    def _tool_rows(self, end: Array, pose: Array, reach: float) -> tuple[Array, ...]:
        return _columns(self._at_tools.find(pose, end, reach), None)

    def _body_rows(self, begin: Array, end: Array, reach: float, history: Past) -> tuple[Array, ...]:
        assert self._surface is not None
        model = self._model
        places = _vertices(model, begin), _vertices(model, end)
        return _columns(self._between.find(*places, reach, history.feature, history.active), model.vertex_rows)

    def save(self) -> dict[str, Array]:
        """Return the lists of the search: what is found first depends on when they were made."""
        if self._surface is None:
            return {}
        return {f"{SEARCHES}{name}": np.array(values) for name, values in save_search(self._between.search).items()}

    def restore(self, saved: Mapping[str, Array]) -> None:
        """Take over what `save` returned."""
        if self._surface is not None:
            lists = {name.removeprefix(SEARCHES): np.array(v) for name, v in saved.items() if name.startswith(SEARCHES)}
            self._between.search = restore_search(self._between.search, lists)


def _columns(pairs: Pairs, rows: NDArray[np.int64] | None) -> tuple[Array, ...]:
    """Return copies of the valid rows, their nodes as rows of the model."""
    valid = slice(int(pairs.count[0]))
    present = pairs.node[valid] != NO_NODE
    node = np.where(present, pairs.node[valid], 0)
    if rows is not None:
        node = np.where(present, rows[node], 0)
    weight = np.where(present, pairs.weight[valid], 0.0)
    others = (pairs.normal, pairs.gap, pairs.tool, pairs.point, pairs.slot)
    return (node, present, weight, *(np.array(column[valid]) for column in others))


def _padded_rows(model: Model, u: Array) -> Array:
    out = np.zeros((len(model.points), 3))
    out[:, : model.dimension] = model.points + u.reshape(model.points.shape)
    return out


def _vertices(model: Model, rows: Array) -> Array:
    return np.ascontiguousarray(rows[model.vertex_rows])


def _surface(model: Model, setup: ContactSetup) -> ContactSurface | None:
    """Return the surfaces that can touch, None if none can."""
    problem = model.problem
    surface = contact_surface(
        problem.bodies,
        problem.dimension,
        between=setup.bodies,
        self_bodies=setup.self_bodies,
        edges=setup.edges,
    )
    if not has_partners(surface):
        return None
    if any(body.space.order != 1 for body in model.bodies):
        raise RheotwinError(
            "contact: surfaces of quadratic elements are curved, which contact between bodies does not follow; set "
            "solvers.fem.order = 1, or contact.bodies = false and contact.self = false"
        )
    return surface
