"""The compiled time loop of particles that fill boxes: the steps of `rheotwin.particles.kernel`, edges in runs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.kernels.compiled import compiled
from rheotwin.particles.boundary import Boundary, apply_loads, hold, room_for_contact, settle_contact, touches
from rheotwin.particles.exact_tools import Push
from rheotwin.particles.fastest import fastest_of, larger, magnitude, speed
from rheotwin.particles.forces.cells import add_triangle_forces
from rheotwin.particles.forces.elements import Elements
from rheotwin.particles.in_lanes import InLanes
from rheotwin.particles.kernel import CHECK_EVERY, runs_away
from rheotwin.particles.state import State
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


@compiled(inside=True, allocates=True)
def add_element_forces(boxes: Boxes) -> None:
    """Advance the internal variables of edges and tetrahedra and add their forces."""
    edges, tets, motion, size = boxes.edges, boxes.tets, boxes.motion, boxes.rate.size
    add_runs(
        edges.form,
        boxes.edge_runs,
        motion,
        edges.weight,
        edges.rest,
        edges.constants,
        edges.states,
        size,
        edges.lanes,
        edges.arms,
    )
    add_tet_runs(
        tets.shared,
        boxes.tet_runs,
        motion,
        tets.weight,
        tets.rest,
        tets.constants,
        tets.states,
        size,
        tets.lanes,
        tets.arms,
    )


def advance_boxes(
    first: int, count: int, h: float, boxes: Boxes, triangles: Elements, state: State, boundary: Boundary
) -> int:
    """Take `count` steps from step number `first`; `state` are views into `motion`. Returns steps taken."""
    return int(_take_steps(first, count, h, boxes, triangles, state, boundary, room_for_contact(boundary)))


@compiled(nogil=True)
def _take_steps(
    first: int, count: int, h: float, boxes: Boxes, triangles: Elements, state: State, boundary: Boundary, push: Push
) -> int:
    nodes, motion = boundary.nodes, boxes.motion
    contact = touches(boundary)
    for number in range(first, first + count):
        end = (number + 1) * h
        begin_forces(motion, boxes.weight, boxes.heavy)
        if boundary.loads.node.shape[0] > 0:
            apply_loads(boundary.loads, number * h, state.force)
        add_element_forces(boxes)
        if triangles.corners.shape[0] > 0:
            add_triangle_forces(triangles, state.positions, state.velocities, state.cell_arms, state.force)
        bound = kick(motion, boxes.rate)
        if boundary.held.node.shape[0] > 0:
            hold(boundary.held, nodes, state, end, h)
            bound = fastest_of(boundary.held.node, state.velocities, bound)
        if contact:
            settle_contact(boundary, push, state, bound, end, h)
        drift(motion, boxes.step[0])
        if number % CHECK_EVERY == 0 and runs_away(nodes, state.positions):
            return number + 1 - first
    return count
