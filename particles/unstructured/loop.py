"""Steps of particles in rows, edges in batches: the stages of one step.

The parts of `rheotwin.particles.unstructured.parts` are worked off one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.stage import Stage
from rheotwin.particles.fastest import larger, speed
from rheotwin.particles.in_lanes import InLanes
from rheotwin.particles.steps import Surroundings
from rheotwin.particles.unstructured.edge_batches import batches
from rheotwin.particles.unstructured.parts import CROSSING, FIRST, HIGH, LOW, REACH, SPILL
from rheotwin.particles.unstructured.row_vectors import drift_rows, kick_rows
from rheotwin.particles.unstructured.tet_batches import add_tet_batches

Reals = NDArray[Any]
Indices = NDArray[np.int64]


class Rows(NamedTuple):
    """Particles in rows, arrays of one precision, with their edges and tetrahedra.

    `motion` (N + 2, 8): positions [m] and velocities [m/s]; `force` (rows, 4) and `weight` (N + 2, 4) [N]; `rate`
    (N + 2): h/m [s/kg]; `step` (1,): h [s]. `pairs` (lanes, 2) and `corners` (lanes, 4) are the ends of edges and the
    corners of tetrahedra, `table` the parts of edges.
    """

    motion: Reals
    force: Reals
    weight: Reals
    rate: Reals
    step: Reals
    table: Indices
    pairs: NDArray[np.int32]
    corners: NDArray[np.int32]
    edges: InLanes
    tets: InLanes


@cache
def pull(form: int) -> Any:
    """Return the compiled function that adds the weights, and the forces of edges whose response has this form."""
    add_batches = batches(form)

    @compiled
    def pull(
        table: Indices, motion: Reals, force: Reals, start: Reals, pairs: NDArray[np.int32], weight: Reals, rest: Reals,
        constants: Reals, states: Reals, lanes: int, arms: int,
    ) -> None:  # fmt: skip
        """Put `start` [N] and edge forces of every part into the rows of its own particles and into its spill."""
        for part in range(table.shape[0]):
            low, high, spill = table[part, LOW], table[part, HIGH], table[part, SPILL]
            for row in range(low, high):
                for c in range(4):
                    force[row, c] = start[row, c]
            for row in range(spill, spill + table[part, REACH]):
                for c in range(4):
                    force[row, c] = 0.0
            for section in range(2):
                first, last = table[part, FIRST + section], table[part, CROSSING + section]
                shift = section * (spill - high)
                add_batches(motion, force, pairs, weight, rest, constants, states, lanes, arms, first, last, shift)

    return pull


@compiled
def kick(table: Indices, motion: Reals, force: Reals, rate: Reals) -> float:
    """v += h F/m of all particles, spills added; returns a bound of their speed [m/s] then, NaN if one is NaN."""
    bound = 0.0
    for part in range(table.shape[0]):
        low = table[part, LOW]
        if part > 0:
            spill = table[part - 1, SPILL]
            for k in range(table[part - 1, REACH]):
                for c in range(4):
                    force[low + k, c] += force[spill + k, c]
        bound = larger(bound, speed(kick_rows(motion, force, rate, low, table[part, HIGH])))
    return bound


@compiled
def drift(table: Indices, motion: Reals, step: Reals) -> None:
    """x += h v of all particles."""
    for part in range(table.shape[0]):
        drift_rows(motion, step, table[part, LOW], table[part, HIGH])


def row_steps(rows: Rows, between: Sequence[Stage], around: Surroundings, h: float) -> Callable[[int, int], int]:
    """Return take(first, count), which takes steps of `h` [s]; `between` are stages of further forces."""
    around.bound[0] = 0.0  # known from every kick
    edges, tets = rows.edges, rows.tets
    lanes = (edges.weight, edges.rest, edges.constants, edges.states, edges.lanes, edges.arms)
    stages = [
        Stage(pull(edges.form), (rows.table, rows.motion, rows.force, rows.weight, rows.pairs, *lanes)),
        *around.loads(),
    ]
    if len(rows.corners):
        arrays = (rows.motion, rows.force, rows.corners, tets.weight, tets.rest, tets.constants, tets.states)
        stages += [Stage(add_tet_batches(tets.shared), (*arrays, tets.arms))]
    stages += [
        *between,
        Stage(kick, (rows.table, rows.motion, rows.force, rows.rate), into=around.bound),
        *around.hold(),
        *around.contact(),
        Stage(drift, (rows.table, rows.motion, rows.step)),
        *around.last_look(),
    ]
    return around.bind(stages, h)
