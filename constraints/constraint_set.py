"""All constraints of a body of particles, compiled: links, volumes and supports as one critically damped system.

    (A^T M^-1 A + eps) L = -(2 om R' + om^2 R + Q + A^T a),      M v' = F + A L

a are the accelerations without the constraints (spec 5; `constraints.stabilisation` has the same on sparse matrices).
A pair of roots -om is stable up to om h = 2 (explicit Euler), 2.785 (Runge-Kutta) and, where positions follow the new
velocities (semi-implicit Euler), while z^2 - (2 - 2 om h - (om h)^2) z + 1 - 2 om h has no root beyond 1:
om h < 2 sqrt(2) - 2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.driven import Driven, DrivenPoints, fill_driven, pack_driven
from rheotwin.constraints.links import LinkConstraints, Links, fill_links
from rheotwin.constraints.measure import MeasureConstraints
from rheotwin.constraints.measure_rows import Measures, fill_measures, pack_measures
from rheotwin.constraints.rows import Rows, along, fill_diagonal, joined, room_for_rows, solve_rows
from rheotwin.constraints.stabilisation import INDEPENDENT
from rheotwin.kernels.compiled import compiled

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

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
