"""All constraints of a body of particles, compiled: links, volumes and supports as one critically damped system.

    (A^T M^-1 A + eps) L = -(2 om R' + om^2 R + Q + A^T a),      M v' = F + A L

a are the accelerations without the constraints (spec 5; `constraints.stabilisation` has the same on sparse matrices).
A pair of roots -om is stable up to om h = 2 (explicit Euler), 2.785 (Runge-Kutta) and, where positions follow the new
velocities (semi-implicit Euler), while z^2 - (2 - 2 om h - (om h)^2) z + 1 - 2 om h has no root beyond 1:
om h < 2 sqrt(2) - 2.

Held and driven components by constraint stabilisation: R = u - s(t) (spec 2.2, 9).

    dR/dx = 1,      R' = u' - s',      Q = -s''

From rest and without anything else they follow R = (R0 + (R0' + om R0) t) exp(-om t). The multiplier is the force of
the support on the component [N]; of a chain that is pulled with f0 at its other end it is -f0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from rheotwin.arrays import Array, Indices
from rheotwin.constraints.links import LinkConstraints, Links, fill_links
from rheotwin.constraints.measure import MeasureConstraints
from rheotwin.constraints.measure_rows import Measures, fill_measures, pack_measures
from rheotwin.constraints.motion import Motion, Tables, interpolate_rates, motion_rates, pack_tables, table_value
from rheotwin.constraints.rows import Rows, along, fill_diagonal, joined, room_for_rows, solve_rows
from rheotwin.constraints.stabilisation import INDEPENDENT
from rheotwin.kernels.compiled import compiled


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


SLACK = 1e-9
"""Share of a step within which a time counts as that of a kink in a motion."""


class ConstraintSet(NamedTuple):
    """Constraints in the order links, measures, driven components; `frequency` is om [1/s].

    `links`, `measures` and `driven` know the formulas, `rows` their gradients; the rest is room (C,) for values,
    curvatures, speeds of the motions, right-hand side and its terms, and (N, 3) for accelerations without constraints.
    """

    links: Links
    measures: Measures
    driven: Driven
    rows: Rows
    frequency: float
    known: Array
    """(2, C): R and Q."""
    drift: Array
    right: Array
    scale: Array
    acceleration: Array


def pack_constraints(
    links: LinkConstraints,
    measures: MeasureConstraints | None,
    driven: DrivenPoints,
    inverse_mass: Array,
    frequency: float,
    *,
    share: float = INDEPENDENT,
) -> ConstraintSet:
    """Pack constraints on nodes of `inverse_mass` (N, 3) [1/kg], zero where a component does not give way.

    `share` is eps as a share of each row's diagonal: REGULARISATION for constraints that depend on each other.
    """
    compiled = pack_driven(driven)
    pattern = [(2 * np.arange(links.count + 1), links.nodes.ravel())]
    pattern += [] if measures is None else [measures.node_rows]
    pattern += [(np.arange(len(compiled.node) + 1), compiled.node)]
    start, node = joined(pattern)
    count = links.count + (0 if measures is None else measures.count) + len(compiled.node)
    return ConstraintSet(
        links=Links(np.ascontiguousarray(links.nodes), links.lengths),
        measures=pack_measures(measures),
        driven=compiled,
        rows=room_for_rows(start, node, inverse_mass, np.full(count, share)),
        frequency=frequency,
        known=np.zeros((2, count)),
        drift=np.zeros(count),
        right=np.zeros(count),
        scale=np.zeros(count),
        acceleration=np.zeros_like(inverse_mass),
    )


@compiled
def _look(constraints: ConstraintSet, x: Array, v: Array, time: float, after: bool, slack: float) -> None:
    """Fill gradients, values, curvatures and speeds of the motions in the present shape."""
    links, measures, rows = constraints.links.length.shape[0], constraints.measures.rest.shape[0], constraints.rows
    value, curvature = constraints.known[0], constraints.known[1]
    end, entry = links + measures, rows.start[links + measures]
    fill_links(constraints.links, x, v, rows.gradient[: 2 * links], value, curvature)
    fill_measures(constraints.measures, x, v, rows.gradient[2 * links : entry], value[links:end], curvature[links:end])
    drift, known = constraints.drift[end:], constraints.known[:, end:]
    fill_driven(constraints.driven, time, after, slack, x, rows.gradient[entry:], drift, known)


@compiled
def solve_constraints(
    constraints: ConstraintSet, x: Array, v: Array, time: float, after: bool, slack: float, multipliers: Array
) -> None:
    """Find the multipliers (C,) at positions and velocities (N, 3); they start from what they were.

    `acceleration` of the set must hold the accelerations (N, 3) [m/s2] without constraints; motions are looked at
    from the side `after` of `time` [s].
    """
    _look(constraints, x, v, time, after, slack)
    rows, om, known = constraints.rows, constraints.frequency, constraints.known
    fill_diagonal(rows)
    for i in range(constraints.right.shape[0]):
        rate = along(rows, i, v) - constraints.drift[i]
        pull, terms = 0.0, 0.0
        for k in range(rows.start[i], rows.start[i + 1]):
            for c in range(3):
                term = rows.gradient[k, c] * constraints.acceleration[rows.node[k], c]
                pull += term
                terms += abs(term)
        constraints.right[i] = -(2.0 * om * rate + om * om * known[0, i] + known[1, i] + pull)
        constraints.scale[i] = 2.0 * om * abs(rate) + om * om * abs(known[0, i]) + abs(known[1, i]) + terms
    solve_rows(rows, constraints.right, constraints.scale, multipliers)
