"""The time loop of boxes with forces of every other kind: edges and tetrahedra in runs, the rest as in general.

Particles stay where the problem has them; before the forces of a step they are copied to their places in the boxes,
and the forces found there are fetched. That costs as much as the edges themselves, a fifth of what it saves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rheotwin.particles.boundary import Boundary, apply_loads, room_for_contact
from rheotwin.particles.forces.all_forces import Forces, add_forces
from rheotwin.particles.kernel import CHECK_EVERY, move, runs_away
from rheotwin.particles.state import State
from rheotwin.particles.structured.loop import Boxes, add_element_forces

Array = NDArray[np.float64]
Reals = NDArray[Any]
Indices = NDArray[np.int64]


@njit(cache=True)
def _to_boxes(values: Array, places: Indices, rows: Reals, size: int) -> None:
    for node in range(places.size):
        for c in range(3):
            rows[c * size + places[node]] = values[node, c]


@njit(cache=True)
def _add_from_boxes(rows: Reals, places: Indices, size: int, force: Array) -> None:
    for node in range(places.size):
        for c in range(3):
            force[node, c] += rows[c * size + places[node]]


@njit(cache=True, nogil=True)
def advance_mixed(
    first: int, count: int, h: float, boxes: Boxes, places: Indices, others: Forces, state: State, boundary: Boundary
) -> int:
    """Take `count` steps from step number `first`; `others` are all forces but those in boxes. Returns steps taken."""
    x, v, force = state.positions, state.velocities, state.force
    motion, size = boxes.motion, boxes.rate.size
    push = room_for_contact(boundary)
    for step in range(first, first + count):
        force[:] = boundary.nodes.weight
        apply_loads(boundary.loads, step * h, force)
        _to_boxes(x, places, motion[: 3 * size], size)
        _to_boxes(v, places, motion[3 * size : 6 * size], size)
        motion[6 * size :] = 0.0
        add_element_forces(boxes)
        _add_from_boxes(motion[6 * size :], places, size, force)
        add_forces(others, state, h, force)
        move(push, state, boundary, (step + 1) * h, h)
        if step % CHECK_EVERY == 0 and runs_away(boundary.nodes, x):
            return step + 1 - first
    return count
