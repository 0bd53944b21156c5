"""Bodies of one or many cells, and a detector that keeps its history like a simulation does."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rheotwin.constraints.contact.detect import BodySearch
from rheotwin.constraints.contact.pairs import Pairs
from rheotwin.constraints.contact.search import Search
from rheotwin.constraints.contact.surface import ContactSurface, contact_surface, slot_count
from rheotwin.meshing import build_mesh

Array = np.ndarray


class Detector:
    """Bodies with their nodes at rest and what contact remembers of them."""

    def __init__(self, surface: ContactSurface, rest: Array, even: bool) -> None:
        self.surface, self.rest, self._made = surface, rest, BodySearch(surface, rest, even=even)
        slots = slot_count(surface, 0)
        self.feature, self.active = np.full(slots, -1), np.zeros(slots, np.bool_)

    @property
    def search(self) -> Search:
        """The lists."""
        return self._made.search

    @search.setter
    def search(self, search: Search) -> None:
        self._made.search = search

    def look(self, begin: Array, end: Array, region: float = 0.0) -> Pairs:
        """Return the contacts of a step as they are found, and remember none."""
        return self._made.find(begin, end, region, self.feature.copy(), self.active)

    def find(self, begin: Array, end: Array, region: float = 0.0) -> list[SimpleNamespace]:
        """Return the contacts of a step; those inside or at the surface last to the next step."""
        pairs = self._made.find(begin, end, region, self.feature, self.active)
        count = int(pairs.count[0])
        self.active[:] = False
        self.active[pairs.slot[:count]] = True
        columns = {name: values for name, values in pairs._asdict().items() if name != "count"}
        return [SimpleNamespace(**{name: values[k].copy() for name, values in columns.items()}) for k in range(count)]


@pytest.fixture
def detector() -> Callable[..., Detector]:
    """Return a factory of detectors for meshes, each a body of its own."""

    def make(*meshes: Any, even: bool = False, **options: Any) -> Detector:
        first, bodies, points = 0, [], []
        for mesh in meshes:
            bodies.append(SimpleNamespace(mesh=mesh, first_node=first))
            points.append(np.pad(mesh.p.T, ((0, 0), (0, 3 - mesh.p.shape[0]))))
            first += mesh.p.shape[1]
        surface = contact_surface(bodies, meshes[0].p.shape[0], **options)
        return Detector(surface, np.ascontiguousarray(np.concatenate(points)), even)

    return make


@pytest.fixture
def triangle() -> Callable[..., Any]:
    """Return a factory of bodies that are one triangle each, corners counter-clockwise."""

    def make(*corners: tuple[float, float]) -> Any:
        return build_mesh("triangle", np.array(corners, float).T, np.array([[0], [1], [2]]))

    return make
