"""The compiled time loop of particles in rows: the steps of `rheotwin.particles.kernel`, edges in batches.

The parts of `rheotwin.particles.unstructured.parts` are worked off one after the other or by threads; sums are made
in the same order either way, bit for bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import prange
from numpy.typing import NDArray

from rheotwin.kernels.compiled import compiled
from rheotwin.particles.boundary import Boundary, apply_loads, hold, room_for_contact, settle_contact, touches
from rheotwin.particles.exact_tools import Push
from rheotwin.particles.fastest import fastest_of, larger, speed
from rheotwin.particles.forces.cells import add_triangle_forces
from rheotwin.particles.forces.elements import Elements
from rheotwin.particles.in_lanes import InLanes
from rheotwin.particles.kernel import CHECK_EVERY, runs_away
from rheotwin.particles.state import State
from rheotwin.particles.unstructured.edge_batches import add_batches
from rheotwin.particles.unstructured.parts import CROSSING, FIRST, HIGH, LOW, REACH, SPILL
from rheotwin.particles.unstructured.row_vectors import drift_rows, kick_rows
from rheotwin.particles.unstructured.tet_batches import add_tet_batches

Array = NDArray[np.float64]
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


class Sides(NamedTuple):
    """What threads share in the forces of edges: arrays of `Rows` (compiled threads take no tuples of tuples)."""

    motion: Reals
    force: Reals
    weight: Reals
    table: Indices
    pairs: NDArray[np.int32]


@compiled(inside=True, allocates=True)
def _pull(sides: Sides, edges: InLanes, part: int) -> None:
    """Add weight and edge forces of one part, to its own particles and to its spill."""
    force, row = sides.force, sides.table[part]
    force[row[LOW] : row[HIGH]] = sides.weight[row[LOW] : row[HIGH]]
    force[row[SPILL] : row[SPILL] + row[REACH]] = 0.0
    for section in range(2):
        add_batches(
            edges.form,
            sides.motion,
            force,
            sides.pairs,
            edges.weight,
            edges.rest,
            edges.constants,
            edges.states,
            edges.lanes,
            edges.arms,
            row[FIRST + section],
            row[CROSSING + section],
            section * (row[SPILL] - row[HIGH]),
        )


@compiled(inside=True, allocates=True)
def _kick(sides: Sides, rate: Reals, part: int) -> float:
    """Fetch the spill of the part before and change the velocities of a part's particles.

    Returns a bound of their speed [m/s] then.
    """
    force, table = sides.force, sides.table
    low = table[part, LOW]
    if part > 0:
        spill = table[part - 1, SPILL]
        for k in range(table[part - 1, REACH]):
            for c in range(4):
                force[low + k, c] += force[spill + k, c]
    return speed(kick_rows(sides.motion, force, rate, low, table[part, HIGH]))


@compiled(inside=True, allocates=True)
def _drift(sides: Sides, step: Reals, part: int) -> None:
    drift_rows(sides.motion, step, sides.table[part, LOW], sides.table[part, HIGH])


@compiled(nogil=True, parallel=True)
def _pull_on_threads(sides: Sides, edges: InLanes) -> None:
    for part in prange(sides.table.shape[0]):
        _pull(sides, edges, part)


@compiled(nogil=True, parallel=True)
def _kick_on_threads(sides: Sides, rate: Reals, speeds: Array) -> None:
    for part in prange(sides.table.shape[0]):
        speeds[part] = _kick(sides, rate, part)


@compiled(nogil=True, parallel=True)
def _drift_on_threads(sides: Sides, step: Reals) -> None:
    for part in prange(sides.table.shape[0]):
        _drift(sides, step, part)


@compiled(allocates=True)
def _sides(rows: Rows) -> Sides:
    return Sides(rows.motion, rows.force, rows.weight, rows.table, rows.pairs)


@compiled(inside=True, spliced=True)
def _finish_forces(rows: Rows, time: float, triangles: Elements, state: State, boundary: Boundary) -> None:
    """Add what is not the edges': loads and the pressure of cells."""
    tets = rows.tets
    if boundary.loads.node.shape[0] > 0:
        apply_loads(boundary.loads, time, state.force)
    add_tet_batches(
        tets.shared,
        rows.motion,
        rows.force,
        rows.corners,
        tets.weight,
        tets.rest,
        tets.constants,
        tets.states,
        tets.arms,
    )
    if triangles.corners.shape[0] > 0:
        add_triangle_forces(triangles, state.positions, state.velocities, state.cell_arms, state.force)


@compiled(inside=True, spliced=True)
def _settle(push: Push, bound: float, end: float, h: float, state: State, boundary: Boundary) -> None:
    """Hold supports and keep particles out of tools at the end of the step; nobody was kicked beyond `bound` [m/s]."""
    if boundary.held.node.shape[0] > 0:
        hold(boundary.held, boundary.nodes, state, end, h)
        bound = fastest_of(boundary.held.node, state.velocities, bound)
    if touches(boundary):
        settle_contact(boundary, push, state, bound, end, h)


def advance_rows(
    first: int, count: int, h: float, rows: Rows, triangles: Elements, state: State, boundary: Boundary
) -> int:
    """Take `count` steps from step number `first`; `state` are views into `rows`. Returns steps taken."""
    push = room_for_contact(boundary)
    return int(_take_steps(first, count, h, rows, triangles, state, boundary, push, _sides(rows)))


@compiled(nogil=True)
def _take_steps(
    first: int,
    count: int,
    h: float,
    rows: Rows,
    triangles: Elements,
    state: State,
    boundary: Boundary,
    push: Push,
    sides: Sides,
) -> int:
    for number in range(first, first + count):
        for part in range(rows.table.shape[0]):
            _pull(sides, rows.edges, part)
        _finish_forces(rows, number * h, triangles, state, boundary)
        bound = 0.0
        for part in range(rows.table.shape[0]):
            bound = larger(bound, _kick(sides, rows.rate, part))
        _settle(push, bound, (number + 1) * h, h, state, boundary)
        for part in range(rows.table.shape[0]):
            _drift(sides, rows.step, part)
        if number % CHECK_EVERY == 0 and runs_away(boundary.nodes, state.positions):
            return number + 1 - first
    return count


@compiled(nogil=True, allocates=True)
def advance_rows_threaded(
    first: int, count: int, h: float, rows: Rows, triangles: Elements, state: State, boundary: Boundary
) -> int:
    """Do the same with the parts of every phase on as many threads as numba may use."""
    push, sides, speeds = room_for_contact(boundary), _sides(rows), np.zeros(rows.table.shape[0])
    for number in range(first, first + count):
        _pull_on_threads(sides, rows.edges)
        _finish_forces(rows, number * h, triangles, state, boundary)
        _kick_on_threads(sides, rows.rate, speeds)
        bound = 0.0
        for part in range(speeds.size):
            bound = larger(bound, speeds[part])
        _settle(push, bound, (number + 1) * h, h, state, boundary)
        _drift_on_threads(sides, rows.step)
        if number % CHECK_EVERY == 0 and runs_away(boundary.nodes, state.positions):
            return number + 1 - first
    return count


def wake_threads(rows: Rows) -> None:
    """Start the threads, which takes far longer than a step, by a drift of no time at all."""
    _drift_on_threads(_sides(rows), np.zeros_like(rows.step))
