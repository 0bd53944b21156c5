"""The time loop of boxes with forces of every other kind: edges and tetrahedra in runs, the rest as in general.

All forces act on the particles where the boxes have them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.stage import Stage
from rheotwin.particles.forces.all_forces import Forces, force_stages
from rheotwin.particles.forces.near_contacts import rows_have_moved
from rheotwin.particles.forces.topology import Topology, look, push_near
from rheotwin.particles.softening_lanes import SofteningLanes
from rheotwin.particles.state import State
from rheotwin.particles.structured.loop import Boxes
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


def further_stages(boxes: Boxes, beside: Beside, state: State) -> list[Stage]:
    """Return the stages of all other forces; `state` are views into the boxes."""
    size, stages = boxes.rate.size, []
    if len(beside.runs):
        softening = (beside.softening, beside.runs, boxes.motion, size, state.nonlinear_edges, beside.before)
        stages += [Stage(add_softening_runs, softening)]
    if len(beside.topology.vertex):
        stages += [Stage(_maintain_topology, (beside, boxes, state))]
    return [*stages, *force_stages(beside.others, state)]
