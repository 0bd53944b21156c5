"""Bodies of one or many cells, and a detector that keeps its history like a simulation does."""

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rheotwin.constraints.contact.detect import find_pairs_with_room
from rheotwin.constraints.contact.pairs import Pairs, room_for_pairs
from rheotwin.constraints.contact.search import Look, Search, new_search
from rheotwin.constraints.contact.surface import ContactSurface, contact_surface, slot_count
from rheotwin.meshing import build_mesh

Array = np.ndarray


@dataclass
class Detector:
    """Bodies with their nodes at rest and what contact remembers of them."""

    surface: ContactSurface
    rest: Array
    search: Search
    feature: Array
    active: Array
    pairs: Pairs

    def find(self, begin: Array, end: Array, region: float = 0.0, *, even: bool = False) -> list[SimpleNamespace]:
        """Return the contacts of a step; those inside or at the surface last to the next step."""
        self.pairs.count[0] = 0
        # as in a run: kernels are compiled anew for every layout
        begin, end = np.ascontiguousarray(begin), np.ascontiguousarray(end)
        look = Look(begin, end, region, 0, self.feature, self.active, even)
        self.search, self.pairs = find_pairs_with_room(self.surface, self.search, look, self.pairs)
        count = int(self.pairs.count[0])
        self.active[:] = False
        self.active[self.pairs.slot[:count]] = True
        columns = {name: values for name, values in self.pairs._asdict().items() if name != "count"}
        return [SimpleNamespace(**{name: values[k].copy() for name, values in columns.items()}) for k in range(count)]


@pytest.fixture
def detector() -> Callable[..., Detector]:
    """Return a factory of detectors for meshes, each a body of its own."""

    def make(*meshes: Any, **options: Any) -> Detector:
        first, bodies, points = 0, [], []
        for mesh in meshes:
            bodies.append(SimpleNamespace(mesh=mesh, first_node=first))
            points.append(np.pad(mesh.p.T, ((0, 0), (0, 3 - mesh.p.shape[0]))))
            first += mesh.p.shape[1]
        surface = contact_surface(bodies, meshes[0].p.shape[0], **options)
        slots = slot_count(surface, 0)
        rest = np.ascontiguousarray(np.concatenate(points))
        feature, active = np.full(slots, -1), np.zeros(slots, np.bool_)
        return Detector(surface, rest, new_search(surface, rest), feature, active, room_for_pairs(4))

    return make


@pytest.fixture
def triangle() -> Callable[..., Any]:
    """Return a factory of bodies that are one triangle each, corners counter-clockwise."""

    def make(*corners: tuple[float, float]) -> Any:
        return build_mesh("triangle", np.array(corners, float).T, np.array([[0], [1], [2]]))

    return make
