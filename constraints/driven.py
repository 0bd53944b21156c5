"""Held and driven components by constraint stabilisation: R = u - s(t) (spec 2.2, 9).

    dR/dx = 1,      R' = u' - s',      Q = -s''

From rest and without anything else they follow R = (R0 + (R0' + om R0) t) exp(-om t). The multiplier is the force of
the support on the component [N]; of a chain that is pulled with f0 at its other end it is -f0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from rheotwin.constraints.motion import Motion, interpolate_rates, motion_rates
from rheotwin.constraints.packed import Tables, pack_tables, table_value
from rheotwin.kernels.compiled import compiled

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class DrivenPoints:
    """Components (`node`, `component`, both (n,)) that follow motions around rest points (N, d) [m]."""

    node: Indices
    component: Indices
    motion: Indices
    """Which of `motions` each component follows."""
    motions: Sequence[Motion]
    rest: Array

    def value(self, positions: Array, time: float) -> Array:
        """Return R (n,) [m] at positions (N, d) [m] and `time` [s]."""
        moved = (positions - self.rest)[self.node, self.component]
        return np.asarray(moved - self._each([motion.at(time) for motion in self.motions]))

    def gradient(self) -> csr_matrix:
        """Return A^T = dR/dx (n, N d), the same in every shape."""
        count = len(self.node)
        columns = self.node * self.rest.shape[1] + self.component
        return csr_matrix((np.ones(count), columns, np.arange(count + 1)), shape=(count, self.rest.size))

    def rates(self, time: float, *, after: bool = True) -> tuple[Array, Array]:
        """Return s' [m/s] and s'' [m/s2] (n,) at `time` [s]."""
        found = [motion_rates(motion, time, after=after) for motion in self.motions]
        return self._each([speed for speed, _ in found]), self._each([acceleration for _, acceleration in found])

    def _each(self, values: Sequence[Array]) -> Array:
        """Return each component's own value among those of the motions."""
        return np.array([values[m][c] for m, c in zip(self.motion, self.component, strict=True)], dtype=np.float64)


class Driven(NamedTuple):
    """Driven components as the compiled loop reads them; `rest` (n,) [m] is where each stands at rest."""

    node: Indices
    component: Indices
    motion: Indices
    rest: Array
    tables: Tables


def pack_driven(points: DrivenPoints) -> Driven:
    """Pack driven components, those of one motion one after the other: one look at each motion's table at a time."""
    order = np.argsort(points.motion, kind="stable")
    node, component = points.node[order], points.component[order]
    return Driven(node, component, points.motion[order], points.rest[node, component], pack_tables(points.motions, 3))


@compiled(allocates=True)
def fill_driven(
    driven: Driven, time: float, after: bool, slack: float, x: Array, gradient: Array, drift: Array, rows: Array
) -> None:
    """Put unit gradients (n, 3), s' (n,) and in `rows` (2, n) R and Q at positions (N, 3) and `time` [s]."""
    place, speed, acceleration, current = np.zeros(3), np.zeros(3), np.zeros(3), -1
    for k in range(driven.node.shape[0]):
        c = driven.component[k]
        if driven.motion[k] != current:
            current = driven.motion[k]
            tables = driven.tables
            table_value(tables, current, time, place)
            own = slice(tables.offset[current], tables.offset[current + 1])
            times, values = tables.times[own], tables.values[own]
            interpolate_rates(times, values, tables.smooth[current], time, after, slack, speed, acceleration)
        gradient[k, :] = 0.0
        gradient[k, c] = 1.0
        drift[k] = speed[c]
        rows[0, k] = x[driven.node[k], c] - driven.rest[k] - place[c]
        rows[1, k] = -acceleration[c]
