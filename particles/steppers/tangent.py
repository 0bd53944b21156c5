"""Forces at the end of a step as linear functions of the velocities there: f' = f0 + c (rate of the element).

With the directions e of the start of the step and arms that are exact for a constant rate,

    f' = k (dd + h ldot') + sum kappa (decay z + gain ldot') + eta ldot',      c = k h + sum kappa gain + eta

and the same for cells with V/V0 - 1. Directions that stand still keep the angular momentum. Where tension would make
them unstable (see `turning`), their turning f0/l (1 - e e^T) h is part of the matrix.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.kernels.compiled import compiled
from rheotwin.particles.cell_volume import fill_volumes
from rheotwin.particles.forces.elements import Elements
from rheotwin.particles.nodes import Nodes
from rheotwin.particles.state import State

Array = NDArray[np.float64]

TURNING_LIMIT = 1.0
"""Share of the bound h^2 T lambda/(m l) < 4 from which the turning of edges under tension joins the matrix."""


class Tangent(NamedTuple):
    """Linear forces of one step; slopes c are constant, the rest is renewed at the start of each step.

    Edges: `direction` (M, 3), `tension` f0 [N], `slope` c [N s/m], `turn` h f0/l [N s/m] or 0.
    Cells: `gradient` dV/dx (nC, corners, 3) [m^(d-1)], `pull` minus the pressure [Pa m^(3-d)], `pull_slope` its c/V0.
    """

    direction: Array
    tension: Array
    slope: Array
    turn: Array
    gradient: Array
    volume: Array
    pull: Array
    pull_slope: Array


@compiled(allocates=True)
def _slopes(elements: Elements, h: float) -> Array:
    slope = elements.stiffness * h + elements.viscosity
    for arm in range(elements.arm_gain.shape[0]):
        slope += elements.arm_stiffness[arm] * elements.arm_gain[arm]
    return slope


@compiled(allocates=True)
def new_tangent(edges: Elements, cells: Elements, h: float) -> Tangent:
    """Return the tangent of a body before its first step."""
    count, simplices = edges.rest.shape[0], cells.rest.shape[0]
    return Tangent(
        np.zeros((count, 3)),
        np.zeros(count),
        _slopes(edges, h),
        np.zeros(count),
        np.zeros((simplices, cells.corners.shape[1], 3)),
        np.zeros(simplices),
        np.zeros(simplices),
        _slopes(cells, h) / cells.rest,
    )


@compiled(allocates=True)
def _turning(edges: Elements, tangent: Tangent, nodes: Nodes, h: float) -> bool:
    """Tell whether edges under tension turn too fast for directions of the step's start (Gershgorin's bound)."""
    share = np.zeros(nodes.mass.shape[0])
    for edge in range(edges.rest.shape[0]):
        for end in range(2):
            node = edges.corners[edge, end]
            share[node] += 2.0 * h * max(0.0, tangent.turn[edge]) / nodes.mass[node]
    return bool(share.max() > 4.0 * TURNING_LIMIT)


@compiled
def start_edges(edges: Elements, tangent: Tangent, nodes: Nodes, state: State, h: float, force: Array) -> None:
    """Renew directions and tensions at the start of a step of `h` [s] and add f0 e to `force` [N]."""
    x, v, z = state.positions, state.velocities, state.edge_arms
    for edge in range(edges.rest.shape[0]):
        i, j = edges.corners[edge, 0], edges.corners[edge, 1]
        length, rate = 0.0, 0.0
        for c in range(3):
            length += (x[j, c] - x[i, c]) ** 2
        length = np.sqrt(length)
        tension = edges.stiffness[edge] * (length - edges.rest[edge])
        for arm in range(z.shape[0]):
            tension += edges.arm_stiffness[arm, edge] * edges.arm_decay[arm, edge] * z[arm, edge]
        for c in range(3):
            tangent.direction[edge, c] = (x[j, c] - x[i, c]) / length
            rate += tangent.direction[edge, c] * (v[j, c] - v[i, c])
            force[i, c] += tension * tangent.direction[edge, c]
            force[j, c] -= tension * tangent.direction[edge, c]
        tangent.tension[edge] = tension
        tangent.turn[edge] = max(0.0, tension + tangent.slope[edge] * rate) * h / length
    if edges.rest.shape[0] > 0 and not _turning(edges, tangent, nodes, h):
        tangent.turn[:] = 0.0


@compiled
def start_cells(cells: Elements, tangent: Tangent, state: State, force: Array) -> None:
    """Renew gradients and pressures at the start of a step and add them to `force` [N]."""
    z = state.cell_arms
    tangent.gradient[:] = 0.0
    fill_volumes(state.positions, cells.corners, tangent.volume, tangent.gradient)
    for cell in range(cells.rest.shape[0]):
        pull = cells.stiffness[cell] * (tangent.volume[cell] / cells.rest[cell] - 1.0)
        for arm in range(z.shape[0]):
            pull += cells.arm_stiffness[arm, cell] * cells.arm_decay[arm, cell] * z[arm, cell]
        tangent.pull[cell] = pull
        for corner in range(cells.corners.shape[1]):
            for c in range(3):
                force[cells.corners[cell, corner], c] -= pull * tangent.gradient[cell, corner, c]


@compiled
def add_rate_forces(edges: Elements, cells: Elements, tangent: Tangent, v: Array, factor: float, out: Array) -> None:
    """Add to `out` (N, 3) `factor` times the forces [N] that velocities `v` (N, 3) [m/s] of the step's end cause."""
    for edge in range(edges.rest.shape[0]):
        i, j = edges.corners[edge, 0], edges.corners[edge, 1]
        ex, ey, ez = tangent.direction[edge, 0], tangent.direction[edge, 1], tangent.direction[edge, 2]
        dx, dy, dz = v[j, 0] - v[i, 0], v[j, 1] - v[i, 1], v[j, 2] - v[i, 2]
        turn = tangent.turn[edge]
        along = (tangent.slope[edge] - turn) * (ex * dx + ey * dy + ez * dz)
        fx = factor * (along * ex + turn * dx)
        fy = factor * (along * ey + turn * dy)
        fz = factor * (along * ez + turn * dz)
        out[i, 0] += fx
        out[i, 1] += fy
        out[i, 2] += fz
        out[j, 0] -= fx
        out[j, 1] -= fy
        out[j, 2] -= fz
    corners = cells.corners.shape[1]
    for cell in range(cells.rest.shape[0]):
        flow = 0.0
        for corner in range(corners):
            node = cells.corners[cell, corner]
            for c in range(3):
                flow += tangent.gradient[cell, corner, c] * v[node, c]
        pull = factor * tangent.pull_slope[cell] * flow
        for corner in range(corners):
            node = cells.corners[cell, corner]
            for c in range(3):
                out[node, c] -= pull * tangent.gradient[cell, corner, c]


@compiled
def end_arms(edges: Elements, cells: Elements, tangent: Tangent, state: State) -> None:
    """Advance the internal variables with the velocities of the end of the step: z <- decay z + gain rate."""
    v, corners = state.velocities, cells.corners.shape[1]
    for edge in range(edges.rest.shape[0] if state.edge_arms.shape[0] > 0 else 0):
        i, j = edges.corners[edge, 0], edges.corners[edge, 1]
        rate = 0.0
        for c in range(3):
            rate += tangent.direction[edge, c] * (v[j, c] - v[i, c])
        for arm in range(state.edge_arms.shape[0]):
            kept = edges.arm_decay[arm, edge] * state.edge_arms[arm, edge]
            state.edge_arms[arm, edge] = kept + edges.arm_gain[arm, edge] * rate
    for cell in range(cells.rest.shape[0] if state.cell_arms.shape[0] > 0 else 0):
        flow = 0.0
        for corner in range(corners):
            for c in range(3):
                flow += tangent.gradient[cell, corner, c] * v[cells.corners[cell, corner], c]
        rate = flow / cells.rest[cell]
        for arm in range(state.cell_arms.shape[0]):
            kept = cells.arm_decay[arm, cell] * state.cell_arms[arm, cell]
            state.cell_arms[arm, cell] = kept + cells.arm_gain[arm, cell] * rate
