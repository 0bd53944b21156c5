"""Contact inside an implicit step: which nodes a tool stops, so that their neighbours feel it in the same step.

A stopped node keeps one condition on its free components: n . v' is what puts it on the tool's surface. Nodes are
stopped when they would enter a tool and let go when the tool would have to pull them, until neither happens.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.constraints.contact.lone import Late, push_late
from rheotwin.constraints.motion import table_value
from rheotwin.constraints.tools import GAPS, IMMOVABLE
from rheotwin.kernels.blocks import STEP
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.stage import Stage
from rheotwin.particles.state import State
from rheotwin.particles.steps import Boundary

ROUNDS = 30
"""Most rounds of a step in which nodes are stopped by tools; the first half may also let go."""
ON_SURFACE = 1e-14
"""A node this close to a tool's surface, as a share of the runaway distance, is on it."""


class Stops(NamedTuple):
    """The nodes tools stop: `contact` (N,) is their row among all candidates or -1; their free `normal` (N, 3).

    `normal` is the unit vector of the tool's normal within the free components, `share` (N,) its length before that,
    `full` (N, 3) the tool's normal itself.
    """

    contact: Indices
    normal: Array
    full: Array
    share: Array
    poses: Array


def no_stops(boundary: Boundary) -> Stops:
    """Return room for the stopped nodes, none of them stopped."""
    count = boundary.nodes.mass.shape[0]
    return Stops(
        np.full(count, -1, np.int64),
        np.zeros((count, 3)),
        np.zeros((count, 3)),
        np.ones(count),
        np.zeros((len(boundary.contact.tools.shape), 4)),
    )


@compiled(inside=True)
def project(contact: Indices, normal: Array, free: Array, vectors: Array) -> None:
    """Remove from `vectors` (N, 3) what supports hold and tools stop."""
    for node in range(vectors.shape[0]):
        for c in range(3):
            vectors[node, c] *= free[node, c]
        if contact[node] >= 0:
            along = 0.0
            for c in range(3):
                along += vectors[node, c] * normal[node, c]
            for c in range(3):
                vectors[node, c] -= along * normal[node, c]


@cache
def _onto_surface(shape: int) -> Any:
    """Return the function that looks where a candidate ends at a tool of this shape."""
    gap_of = GAPS[shape]

    @compiled(inside=True)
    def onto_surface(
        k: int, node: int, geometry: Array, pose: Array, stops: Stops, free: Array, near: float, x: Array, v: Array,
        h: float, stopped: bool,
    ) -> bool:  # fmt: skip
        """Put a node that is or gets stopped on the surface. True if it had to move."""
        px, py, pz = x[node, 0] + h * v[node, 0], x[node, 1] + h * v[node, 1], x[node, 2] + h * v[node, 2]
        gap, nx, ny, nz = gap_of(geometry, pose, px, py, pz)
        if gap >= -near and not (stopped and gap > near):
            return False
        square = nx * nx * free[node, 0] + ny * ny * free[node, 1] + nz * nz * free[node, 2]
        if square < IMMOVABLE:
            return False
        share = np.sqrt(square)
        stops.contact[node], stops.share[node] = k, share
        stops.full[node, 0], stops.full[node, 1], stops.full[node, 2] = nx, ny, nz
        for c in range(3):
            stops.normal[node, c] = free[node, c] * stops.full[node, c] / share
            v[node, c] -= gap / (h * share) * stops.normal[node, c]
        return True

    return onto_surface


@cache
def begin_stops(shape: int) -> Any:
    """Return the stage that starts a step with the nodes that a tool of this shape has pushed in the last one."""
    onto_surface = _onto_surface(shape)

    @compiled(inside=True)
    def begin_stops(
        candidates: Indices, first: int, geometry: Array, pose: Array, stops: Stops, free: Array, near: float,
        pushed: Array, x: Array, v: Array, h: float,
    ) -> None:  # fmt: skip
        """`candidates` (n,) are the rows from `first` on of all, `pushed` (n, 3) the impulses [N s] on them."""
        for k in range(candidates.shape[0]):
            felt = pushed[k, 0] != 0.0 or pushed[k, 1] != 0.0 or pushed[k, 2] != 0.0
            if felt and stops.contact[candidates[k]] < 0:
                onto_surface(first + k, candidates[k], geometry, pose, stops, free, near, x, v, h, True)

    return begin_stops


@cache
def update_stops(shape: int) -> Any:
    """Return the stage that lets go of nodes a tool of this shape would pull, and stops those that enter it."""
    onto_surface = _onto_surface(shape)

    @compiled(inside=True)
    def update_stops(
        candidates: Indices, first: int, geometry: Array, pose: Array, stops: Stops, free: Array, near: float,
        residual: Array, x: Array, v: Array, h: float, turn: Array,
    ) -> None:  # fmt: skip
        """`residual` (N, 3) [N s] is what no force explains; `turn` holds the round and whether something changed."""
        for k in range(candidates.shape[0]):
            node = candidates[k]
            stopped = stops.contact[node] == first + k
            if stopped and turn[0] < ROUNDS // 2:
                pull = 0.0
                for c in range(3):
                    pull += residual[node, c] * stops.normal[node, c]
                if pull > 0.0:
                    stops.contact[node] = -1
                    turn[1] = 1
                    continue
            if not stopped and stops.contact[node] >= 0:
                continue
            if onto_surface(first + k, node, geometry, pose, stops, free, near, x, v, h, stopped):
                turn[1] = 1

    return update_stops


@compiled(inside=True)
def forget_stops(contact: Indices, turn: Indices) -> None:
    """No node is stopped, and no round is taken."""
    for node in range(contact.shape[0]):
        contact[node] = -1
    turn[0] = 0


@compiled(inside=True)
def take_another_round(turn: Indices, back: int) -> int:
    """Go back so many stages if a tool has stopped a node or let one go."""
    turn[0] += 1
    again = turn[1] == 1 and turn[0] < ROUNDS
    turn[1] = 0
    return -back if again else 0


def stop_stages(stops: Stops, boundary: Boundary, state: State, end: Any, turn: Indices) -> list[Stage]:
    """Return the stages that start a step, whose end is `end` [s], with the nodes that were pushed in the last one."""
    tools, last, v = boundary.contact.tools, boundary.contact.contacts.history.impulse, state.velocities
    stages = [Stage(forget_stops, (stops.contact, turn))]
    for tool, candidates, arguments in _by_tool(stops, boundary):
        pushed = last[tools.offset[tool] : tools.offset[tool + 1]]
        stages += [Stage(table_value, (tools.tables, tool, end, stops.poses[tool]))] if len(candidates) else []
        stages += [Stage(begin_stops(int(tools.shape[tool])), (*arguments, pushed, state.positions, v, STEP))]
    return stages


def renewing_stages(
    stops: Stops, boundary: Boundary, state: State, residual: Array, turn: Indices, back: int
) -> list[Stage]:
    """Return the stages that look again which nodes are stopped, and go `back` so many stages before them if asked."""
    moving, stages = (residual, state.positions, state.velocities, STEP, turn), []
    for tool, _, arguments in _by_tool(stops, boundary):
        stages.append(Stage(update_stops(int(boundary.contact.tools.shape[tool])), (*arguments, *moving)))
    return [*stages, Stage(take_another_round, (turn, back + len(stages) + 1))] if stages else []


def _by_tool(stops: Stops, boundary: Boundary) -> list[tuple[int, Indices, tuple[Any, ...]]]:
    """Return each tool's number, its candidates, and what stages ask of it."""
    tools, nodes, found = boundary.contact.tools, boundary.nodes, []
    for tool in range(len(tools.shape)):
        first = int(tools.offset[tool])
        candidates = tools.candidate[first : tools.offset[tool + 1]]
        near = ON_SURFACE * nodes.runaway
        found.append(
            (tool, candidates, (candidates, first, tools.geometry[tool], stops.poses[tool], stops, nodes.free, near))
        )
    return found


@compiled(inside=True)
def add_stop_forces(
    stops: Stops, free: Array, held_node: Indices, held_component: Indices, residual: Array, x: Array, v: Array,
    h: float, late: Late, reaction: Array,
) -> None:  # fmt: skip
    """Turn what no force explains, `residual` (N, 3) [N s], into forces of tools and reactions of supports [N]."""
    for node in range(residual.shape[0]):
        k = stops.contact[node]
        if k < 0:
            continue
        push = 0.0
        for c in range(3):
            push -= residual[node, c] * stops.normal[node, c] / stops.share[node]
        n = stops.full[node]
        push_late(late, k, push * n[0], push * n[1], push * n[2], x, v, h)
        for c in range(3):
            reaction[node, c] -= (1.0 - free[node, c]) * push * n[c] / h
    for row in range(held_node.shape[0]):
        node, c = held_node[row], held_component[row]
        reaction[node, c] -= residual[node, c] / h
