"""The time loop of boxes with forces of every other kind: edges and tetrahedra in runs, the rest as in general.

All forces act on the particles where the boxes have them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.kernels.compiled import compiled
from rheotwin.particles.boundary import Boundary, apply_loads, hold, room_for_contact, settle_contact, touches
from rheotwin.particles.exact_tools import Push
from rheotwin.particles.fastest import fastest_of
from rheotwin.particles.forces.all_forces import Forces, add_forces
from rheotwin.particles.forces.near_contacts import rows_have_moved
from rheotwin.particles.forces.topology import Topology, look, push_near
from rheotwin.particles.kernel import CHECK_EVERY, runs_away
from rheotwin.particles.softening_lanes import SofteningLanes
from rheotwin.particles.state import State
from rheotwin.particles.structured.loop import Boxes, add_element_forces, begin_forces, drift, kick
from rheotwin.particles.structured.softening_runs import add_softening_runs

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


class Beside(NamedTuple):
    """What bodies have beside linear edges and tetrahedra.

    Softening edges in `runs`, whose states have `before` others before them; the topology and where particles were
    `seen` (3 size) [m] at its last look; all other forces.
    """

    softening: SofteningLanes
    runs: Indices
    before: int
    topology: Topology
    seen: Array
    others: Forces


@compiled(inside=True, allocates=True)
def _maintain_topology(beside: Beside, boxes: Boxes, state: State) -> None:
    topology, positions = beside.topology, boxes.motion[: beside.seen.size]
    if topology.vertex.shape[0] == 0:
        return
    if rows_have_moved(beside.seen, topology.reach, positions):
        beside.seen[:] = positions
        look(topology, state.positions)
    push_near(topology, state.positions, state.velocities, state.force)


def advance_mixed(
    first: int, count: int, h: float, boxes: Boxes, beside: Beside, state: State, boundary: Boundary
) -> int:
    """Take `count` steps from step number `first`; `state` are views into the boxes. Returns steps taken."""
    return int(_take_steps(first, count, h, boxes, beside, state, boundary, room_for_contact(boundary)))


@compiled(nogil=True, allocates=True)
def _take_steps(
    first: int, count: int, h: float, boxes: Boxes, beside: Beside, state: State, boundary: Boundary, push: Push
) -> int:
    motion, size, contact = boxes.motion, boxes.rate.size, touches(boundary)
    for number in range(first, first + count):
        end = (number + 1) * h
        begin_forces(motion, boxes.weight, boxes.heavy)
        apply_loads(boundary.loads, number * h, state.force)
        add_element_forces(boxes)
        add_softening_runs(beside.softening, beside.runs, motion, size, state.nonlinear_edges, beside.before)
        _maintain_topology(beside, boxes, state)
        add_forces(beside.others, state, h, state.force)
        bound = kick(motion, boxes.rate)
        hold(boundary.held, boundary.nodes, state, end, h)
        if contact:
            bound = fastest_of(boundary.held.node, state.velocities, bound)
            settle_contact(boundary, push, state, bound, end, h)
        drift(motion, boxes.step[0])
        if number % CHECK_EVERY == 0 and runs_away(boundary.nodes, state.positions):
            return number + 1 - first
    return count
