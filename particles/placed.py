"""Particles that lie elsewhere in memory than in the problem: what acts on them, and the way there and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.pack import placed
from rheotwin.particles.boundary import Boundary
from rheotwin.particles.forces.elements import Elements
from rheotwin.particles.nodes import Nodes
from rheotwin.particles.state import State

Array = NDArray[np.float64]
Reals = NDArray[Any]
Indices = NDArray[np.int64]


def placed_boundary(boundary: Boundary, places: Indices, size: int) -> Boundary:
    """Return the boundary of particles that lie at `places` (N,) among `size`.

    Places without a particle get positions of their own, far from everything and from each other.
    """
    nodes = boundary.nodes
    far = np.abs(nodes.rest).max() + nodes.runaway
    rest = np.zeros((size, 3))
    rest[:, 0] = far * (2.0 + np.arange(size))
    rest[places] = nodes.rest

    def moved(values: Array, elsewhere: float) -> Array:
        found = np.full((size, *values.shape[1:]), elsewhere)
        found[places] = values
        return found

    return Boundary(
        nodes=Nodes(rest, moved(nodes.free, 1.0), moved(nodes.mass, 1.0), moved(nodes.weight, 0.0), nodes.runaway),
        held=boundary.held._replace(node=places[boundary.held.node]),
        loads=boundary.loads._replace(node=places[boundary.loads.node]),
        tools=boundary.tools._replace(candidate=places[boundary.tools.candidate]),
        contact=None if boundary.contact is None else placed(boundary.contact, places),
    )


def kick_rates(boundary: Boundary, places: Indices, h: float) -> Array:
    """Return h/m (size,) [s/kg] of placed nodes, zero where no particle is."""
    mass = boundary.nodes.mass
    rates: Array = np.zeros(len(mass))
    rates[places] = h / mass[places]
    return rates


def placed_cells(cells: Elements, places: Indices) -> Elements:
    """Return cells whose corners lie at `places`."""
    return cells._replace(corners=np.ascontiguousarray(places[cells.corners]))


@dataclass(frozen=True)
class PlacedBody:
    """A state (N, 3) with its copy at other places, and the compiled loop that advances the copy.

    `copy` has the positions, velocities, forces and reactions of all places, in whatever strides the loop likes;
    what is not bound to places is shared. `lanes` names arrays of the state whose elements lie elsewhere: the array
    (arms, lanes) of the loop and the lane of every element.
    """

    name: str
    copy: State
    places: Indices
    lanes: Mapping[str, tuple[Reals, Indices]]
    bytes_per_edge: float
    take: Callable[[int, int], int]
    """take(first, count): advance the copy by `count` steps from step `first`; returns the steps taken."""

    placed: tuple[str, ...] = ("positions", "velocities", "force", "reaction")
    """What lies at other places in the copy."""

    @property
    def precision(self) -> str:
        """Name of the numbers the loop works with."""
        return str(self.lanes["edge_arms"][0].dtype)

    @cached_property
    def _spare(self) -> tuple[Indices, Array]:
        """Places without a particle, and where they are before any step."""
        spare = np.setdiff1d(np.arange(len(self.copy.positions)), self.places)
        return spare, self.copy.positions[spare].copy()

    def load(self, state: State) -> None:
        """Bring the copy up to date with the state; what a diverged run left at empty places goes."""
        spare, empty = self._spare if self.placed else (np.zeros(0, np.int64), np.zeros((0, 3)))
        for name in self.placed:
            there = getattr(self.copy, name)
            there[self.places] = getattr(state, name)
            there[spare] = empty if name == "positions" else 0.0
        for name, (values, lane) in self.lanes.items():
            values[...] = 0.0
            values[:, lane] = getattr(state, name)

    def store(self, state: State) -> None:
        """Bring the state up to date with the copy."""
        for name in self.placed:
            getattr(state, name)[...] = getattr(self.copy, name)[self.places]
        for name, (values, lane) in self.lanes.items():
            getattr(state, name)[...] = values[:, lane]
