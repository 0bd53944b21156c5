"""Contact inside an implicit step: which nodes a tool stops, so that their neighbours feel it in the same step.

A stopped node keeps one condition on its free components: n . v' is what puts it on the tool's surface. Nodes are
stopped when they would enter a tool and let go when the tool would have to pull them, until neither happens.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.motion import interpolate
from rheotwin.constraints.packed import IMMOVABLE
from rheotwin.constraints.tools import gap_and_normal
from rheotwin.kernels.compiled import compiled
from rheotwin.particles.boundary import Boundary
from rheotwin.particles.state import State

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

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
        np.zeros((boundary.tools.shape.shape[0], 4)),
    )


@compiled
def project(stops: Stops, free: Array, vectors: Array) -> None:
    """Remove from `vectors` (N, 3) what supports hold and tools stop."""
    for node in range(vectors.shape[0]):
        for c in range(3):
            vectors[node, c] *= free[node, c]
        if stops.contact[node] >= 0:
            along = 0.0
            for c in range(3):
                along += vectors[node, c] * stops.normal[node, c]
            for c in range(3):
                vectors[node, c] -= along * stops.normal[node, c]


@compiled
def _onto_surface(stops: Stops, boundary: Boundary, state: State, tool: int, k: int, h: float, stopped: bool) -> bool:
    """Look where candidate `k` ends; put a node that is or gets stopped on the surface. True if it had to move."""
    tools, nodes = boundary.tools, boundary.nodes
    node = tools.candidate[k]
    x, v = state.positions, state.velocities
    gap, nx, ny, nz = gap_and_normal(
        tools.shape[tool],
        tools.geometry[tool],
        stops.poses[tool],
        x[node, 0] + h * v[node, 0],
        x[node, 1] + h * v[node, 1],
        x[node, 2] + h * v[node, 2],
    )
    near = ON_SURFACE * nodes.runaway
    if gap >= -near and not (stopped and gap > near):
        return False
    normal = (nx, ny, nz)
    square = 0.0
    for c in range(3):
        square += normal[c] * normal[c] * nodes.free[node, c]
    if square < IMMOVABLE:
        return False
    share = np.sqrt(square)
    stops.contact[node], stops.share[node] = k, share
    for c in range(3):
        stops.full[node, c] = normal[c]
        stops.normal[node, c] = nodes.free[node, c] * normal[c] / share
        v[node, c] -= gap / (h * share) * stops.normal[node, c]
    return True


@compiled(allocates=True)
def begin_stops(stops: Stops, boundary: Boundary, state: State, end: float, h: float) -> None:
    """Start a step with the nodes that were pushed in the last one; `end` [s] is its end."""
    tools = boundary.tools
    stops.contact[:] = -1
    for tool in range(tools.shape.shape[0]):
        rows = slice(tools.tables.offset[tool], tools.tables.offset[tool + 1])
        interpolate(
            tools.tables.times[rows],
            tools.tables.values[rows],
            tools.tables.smooth[tool],
            end,
            stops.poses[tool],
        )
        for k in range(tools.offset[tool], tools.offset[tool + 1]):
            force = state.contact_force[k]
            if np.any(force != 0.0) and stops.contact[tools.candidate[k]] < 0:
                _onto_surface(stops, boundary, state, tool, k, h, True)


@compiled
def update_stops(stops: Stops, boundary: Boundary, state: State, residual: Array, h: float, release: bool) -> bool:
    """Let go of pulled nodes, stop entering ones; `residual` (N, 3) [N s] is what no force explains. True if any."""
    tools, changed = boundary.tools, False
    for tool in range(tools.shape.shape[0]):
        for k in range(tools.offset[tool], tools.offset[tool + 1]):
            node = tools.candidate[k]
            stopped = stops.contact[node] == k
            if stopped and release:
                pull = 0.0
                for c in range(3):
                    pull += residual[node, c] * stops.normal[node, c]
                if pull > 0.0:
                    stops.contact[node] = -1
                    changed = True
                    continue
            if stopped or stops.contact[node] < 0:
                changed |= _onto_surface(stops, boundary, state, tool, k, h, stopped)
    return changed


@compiled
def add_stop_forces(stops: Stops, boundary: Boundary, state: State, residual: Array, h: float) -> None:
    """Turn what no force explains, `residual` (N, 3) [N s], into forces of tools and reactions of supports [N]."""
    nodes, held = boundary.nodes, boundary.held
    for node in range(residual.shape[0]):
        k = stops.contact[node]
        if k < 0:
            continue
        push = 0.0
        for c in range(3):
            push -= residual[node, c] * stops.normal[node, c] / (h * stops.share[node])
        for c in range(3):
            state.contact_force[k, c] += push * stops.full[node, c]
            state.reaction[node, c] -= (1.0 - nodes.free[node, c]) * push * stops.full[node, c]
    for row in range(held.node.shape[0]):
        node, c = held.node[row], held.component[row]
        state.reaction[node, c] -= residual[node, c] / h
