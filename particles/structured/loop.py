"""The compiled time loop of particles that fill boxes: the steps of `rheotwin.particles.kernel`, edges in runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.kernels.blocks import Now
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.stage import Stage
from rheotwin.particles.fastest import larger, magnitude, speed
from rheotwin.particles.in_lanes import InLanes
from rheotwin.particles.steps import Surroundings
from rheotwin.particles.structured.run_vectors import add_runs
from rheotwin.particles.structured.tet_vectors import add_tet_runs

Reals = NDArray[Any]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Boxes(NamedTuple):
    """Particles in boxes, flat arrays of one precision, with their edges and tetrahedra in runs.

    `motion` (9 size): x, y, z of positions [m], velocities [m/s] and forces [N], `size` places each; `weight` (3 size)
    [N], `heavy` (3,) whether there are any along an axis; `rate` (size): h/m [s/kg]; `step` (1,): h [s].
    """

    motion: Reals
    weight: Reals
    heavy: Flags
    rate: Reals
    step: Reals
    edge_runs: Indices
    tet_runs: Indices
    edges: InLanes
    tets: InLanes


@compiled(contract=True)
def _kick_row(velocity: Reals, force: Reals, rate: Reals) -> float:
    largest = magnitude(velocity[0])
    for place in range(velocity.size):
        kicked = velocity[place] + rate[place] * force[place]
        velocity[place] = kicked
        largest = max(largest, magnitude(kicked))
    return speed(largest)


@compiled(contract=True)
def _drift_rows(position: Reals, velocity: Reals, step: Any) -> None:
    for q in range(position.size):
        position[q] += step * velocity[q]


@compiled(inside=True, allocates=True)
def kick(motion: Reals, rate: Reals) -> float:
    """v += h F/m of all particles; returns a bound of their speed [m/s] then, NaN if one is NaN."""
    size, bound = rate.size, 0.0
    for row in range(3, 6):
        velocity, force = motion[row * size : (row + 1) * size], motion[(row + 3) * size : (row + 4) * size]
        bound = larger(bound, _kick_row(velocity, force, rate))
    return bound


@compiled(inside=True, allocates=True)
def drift(motion: Reals, step: Any) -> None:
    """x += h v of all particles."""
    rows = motion.size // 3
    _drift_rows(motion[:rows], motion[rows : 2 * rows], step)


@compiled(inside=True, vectors=True)
def begin_forces(motion: Reals, weight: Reals, heavy: Flags) -> None:
    """Put the weights where forces are summed: zeros need not be read, which leaves the cache to edges."""
    size, forces = weight.size // 3, motion.size - weight.size
    for c in range(3):
        row = np.uintp(c * size)
        first = np.uintp(forces) + row
        if heavy[c]:
            for place in range(np.uintp(size)):
                motion[first + place] = weight[row + place]
        else:
            for place in range(np.uintp(size)):
                motion[first + place] = 0.0


def element_stages(boxes: Boxes) -> list[Stage]:
    """Return the stages that advance the internal variables of edges and tetrahedra and add their forces."""
    edges, tets, size, stages = boxes.edges, boxes.tets, boxes.rate.size, []
    if len(boxes.edge_runs):
        arrays = (boxes.motion, edges.weight, edges.rest, edges.constants, edges.states)
        stages += [Stage(add_runs(edges.form), (boxes.edge_runs, *arrays, size, edges.lanes, edges.arms))]
    if len(boxes.tet_runs):
        arrays = (boxes.motion, tets.weight, tets.rest, tets.constants, tets.states)
        stages += [Stage(add_tet_runs(tets.shared), (boxes.tet_runs, *arrays, size, tets.lanes, tets.arms))]
    return stages


def box_steps(boxes: Boxes, between: Sequence[Stage], around: Surroundings, h: float) -> Callable[[int, int], int]:
    """Return take(first, count), which takes steps of `h` [s]; `between` are stages of further forces.

    (a) internal variables and (b) forces of edges and cells, (c) v += h F/m, then supports and contact, (d) x += h v.
    """
    around.bound[0] = 0.0  # known from every kick
    stages = [
        Stage(begin_forces, (boxes.motion, boxes.weight, boxes.heavy)),
        *around.loads(),
        *element_stages(boxes),
        *between,
        Stage(kick, (boxes.motion, boxes.rate), into=around.bound),
        *around.hold(),
        *around.contact(),
        Stage(drift, (boxes.motion, Now(boxes.step))),
        *around.last_look(),
    ]
    return around.bind(stages, h)
