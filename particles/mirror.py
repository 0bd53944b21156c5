"""The state of a truss and, where a fast kernel steps a copy of it, whichever of the two is newer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rheotwin.particles.boundary import Boundary
from rheotwin.particles.forces.all_forces import Forces
from rheotwin.particles.placed import PlacedBody
from rheotwin.particles.state import State

Array = NDArray[np.float64]


class Mirror:
    """Brings state and copy in line only when one of them is needed: steps one by one cost no copying."""

    def __init__(self, state: State, take: Callable[[int, int], int], body: PlacedBody | None) -> None:
        self._state, self._take, self._body = state, take, body
        self._copy_is_newer = False

    @property
    def state(self) -> State:
        """The state as it is now; what is changed in it holds for the next step."""
        if self._body is not None and self._copy_is_newer:
            self._body.store(self._state)
        self._copy_is_newer = False
        return self._state

    def look(self, name: str) -> Array:
        """Return positions or velocities (N, 3) as they are now, to read only: nothing is brought in line for that."""
        if self._body is not None and self._copy_is_newer and name in self._body.placed:
            return np.asarray(getattr(self._body.copy, name)[self._body.places], dtype=float)
        return np.asarray(getattr(self._state, name))

    def take(self, first: int, count: int) -> int:
        """Advance by `count` steps from step `first`; returns the steps taken."""
        if self._body is None:
            return self._take(first, count)
        if not self._copy_is_newer:
            self._body.load(self._state)
        self._copy_is_newer = True
        return self._body.take(first, count)

    def statistics(self, forces: Forces, boundary: Boundary) -> dict[str, Any]:
        """Return which kernel steps the body and the bytes per edge its edges and particles take up in the loop."""
        if self._body is not None:
            found = {"kernel": self._body.name, "precision": self._body.precision}
            return found | {"bytes_per_edge": round(self._body.bytes_per_edge, 1)}
        state = self._state
        arrays = [*forces.edges, *boundary.nodes, state.edge_arms, state.positions, state.velocities, state.force]
        size = sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))
        count = len(forces.edges.rest)
        found = {"kernel": "general", "precision": "float64"}
        return found | ({"bytes_per_edge": round(size / count, 1)} if count else {})
