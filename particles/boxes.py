"""Particles that fill boxes: x, y, z of positions, velocities and forces in rows, elements in runs without indices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from rheotwin.arrays import Indices, Reals
from rheotwin.kernels.boxes import Layout, element_runs
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.lanes import VECTOR_BYTES
from rheotwin.kernels.layouts import in_runs
from rheotwin.kernels.stage import Stage
from rheotwin.kernels.vectors import aligned
from rheotwin.particles.forces.elements import ElementGroup
from rheotwin.particles.state import Nodes, magnitude, speed


@compiled(inside=True, vectors=True)
def begin_rows(weight: Reals, heavy: NDArray[np.bool_], force: Reals) -> None:
    """Put weights (3, size) [N] where forces are summed; zeros need not be read, which leaves the cache to edges."""
    for c in range(3):
        row, start = force[c], weight[c]
        if heavy[c]:
            for place in range(row.size):
                row[place] = start[place]
        else:
            for place in range(row.size):
                row[place] = 0.0


@compiled(contract=True)
def _kick_row(velocity: Reals, force: Reals, rate: Reals) -> Any:
    largest = magnitude(velocity[0])
    for place in range(velocity.size):
        kicked = velocity[place] + rate[place] * force[place]
        velocity[place] = kicked
        largest = max(largest, magnitude(kicked))
    return largest


@compiled(inside=True)
def kick_rows(velocities: Reals, force: Reals, rate: Reals) -> float:
    """v += h F/m of all particles; returns a bound of their speed [m/s] then, NaN if one is NaN."""
    largest = _kick_row(velocities[0], force[0], rate)
    for c in range(1, 3):
        largest = max(largest, _kick_row(velocities[c], force[c], rate))
    return float(speed(largest))


@compiled(inside=True, contract=True)
def drift_rows(positions: Reals, velocities: Reals, step: Reals) -> None:
    """x += h v of all particles."""
    for c in range(3):
        row, rate = positions[c], velocities[c]
        for q in range(row.size):
            row[q] += step[0] * rate[q]


@dataclass(frozen=True)
class InBoxes:
    """Particles at the places of a layout, in arrays of one precision.

    `motion` (9, size): x, y, z of positions [m], velocities [m/s] and forces [N]; `weight` (3, size) [N]; `rate`
    (size,): h/m [s/kg]; `step` (1,): h [s].
    """

    name: ClassVar[str] = "structured"
    layout: Layout
    motion: Reals
    weight: Reals
    rate: Reals
    step: Reals

    @classmethod
    def of(cls, layout: Layout, nodes: Nodes, h: float, dtype: DTypeLike) -> InBoxes:
        """Lay out nodes that are at their places already, for steps of `h` [s]."""
        size = layout.size
        motion, weight, rate = aligned((9, size), dtype), aligned((3, size), dtype), aligned(size, dtype)
        motion[:3], weight[:] = nodes.rest.T, nodes.weight.T
        rate[layout.places] = h / nodes.mass[layout.places]
        return cls(layout, motion, weight, rate, np.array([h], dtype))

    @property
    def vectors(self) -> tuple[Reals, Reals, Reals]:
        """Positions, velocities and forces as elements take them."""
        return self.motion[:3], self.motion[3:6], self.motion[6:]

    @property
    def views(self) -> tuple[Reals, Reals, Reals]:
        """The same as (N, 3) for everything else.

        Without the last place, which is nobody's, they have strides like those of rows: what acts on particles from
        outside is compiled once for both.
        """
        x, v, force = (rows[:, :-1].T for rows in self.vectors)
        return x, v, force

    def loop(self, group: ElementGroup) -> tuple[Any, Indices, Indices, int]:
        """Return the compiled loop over a group, its runs, the lane of every element and how many lanes there are."""
        runs = element_runs(self.layout, group.corners)
        width = VECTOR_BYTES // self.motion.itemsize
        rows = len(group.numbers), 0 if group.shared else len(group.constants), group.rows
        # Vectors of single precision take twice the work each, and memory keeps up without being asked.
        fetched = rows if self.motion.itemsize == 8 else (0, 0, 0)
        add = in_runs(group.element, group.corners.shape[1], width, group.shared, fetched)
        return add, runs.table, runs.of_element, runs.lanes

    def begin(self) -> Stage:
        """Return the stage that puts weights where forces are summed."""
        return Stage(begin_rows, (self.weight, self.weight.any(axis=1), self.motion[6:]))

    def kick(self, bound: Reals) -> Stage:
        """Return the stage that changes velocities by the forces; it leaves a bound of all speeds."""
        return Stage(kick_rows, (self.motion[3:6], self.motion[6:], self.rate), into=bound)

    def drift(self) -> Stage:
        """Return the stage that moves particles by their velocities."""
        return Stage(drift_rows, (self.motion[:3], self.motion[3:6], self.step))
