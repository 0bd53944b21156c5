"""Forces at the end of a step as linear functions of the velocities there: f' = f0 + c (rate of the element).

With the directions e of the start of the step and arms that are exact for a constant rate,

    f' = k (dd + h ldot') + sum kappa (decay z + gain ldot') + eta ldot',      c = k h + sum kappa gain + eta

and the same for cells with V/V0 - 1. Directions that stand still keep the angular momentum. Where tension would make
them unstable (see `turning`), their turning f0/l (1 - e e^T) h is part of the matrix.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.kernels.blocks import STEP
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.stage import Stage
from rheotwin.particles.forces.cells import fill_volumes
from rheotwin.particles.forces.elements import Elements
from rheotwin.particles.state import Nodes, State

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


def _slopes(elements: Elements, h: float) -> Array:
    slope = elements.stiffness * h + elements.viscosity
    for arm in range(elements.arm_gain.shape[0]):
        slope += elements.arm_stiffness[arm] * elements.arm_gain[arm]
    return slope


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


@compiled(inside=True)
def start_edges(
    corners: Indices, rest: Array, stiffness: Array, arm_stiffness: Array, arm_decay: Array, slope: Array, x: Array,
    v: Array, z: Array, h: float, direction: Array, tensions: Array, turn: Array, force: Array,
) -> None:  # fmt: skip
    """Renew directions and tensions at the start of a step of `h` [s] and add f0 e to `force` [N]."""
    for edge in range(corners.shape[0]):
        i, j = corners[edge, 0], corners[edge, 1]
        square, rate = 0.0, 0.0
        for c in range(3):
            square += (x[j, c] - x[i, c]) ** 2
        length = np.sqrt(square)
        tension = stiffness[edge] * (length - rest[edge])
        for arm in range(z.shape[0]):
            tension += arm_stiffness[arm, edge] * arm_decay[arm, edge] * z[arm, edge]
        for c in range(3):
            direction[edge, c] = (x[j, c] - x[i, c]) / length
            rate += direction[edge, c] * (v[j, c] - v[i, c])
            force[i, c] += tension * direction[edge, c]
            force[j, c] -= tension * direction[edge, c]
        tensions[edge] = tension
        turn[edge] = max(0.0, tension + slope[edge] * rate) * h / length


@compiled(inside=True)
def leave_out_slow_turning(corners: Indices, mass: Array, h: float, turn: Array, share: Array) -> None:
    """Forget that edges turn unless some would be unstable with the directions of the step's start (Gershgorin)."""
    for node in range(share.shape[0]):
        share[node] = 0.0
    for edge in range(corners.shape[0]):
        for end in range(2):
            node = corners[edge, end]
            share[node] += 2.0 * h * turn[edge] / mass[node]
    for node in range(share.shape[0]):
        if share[node] > 4.0 * TURNING_LIMIT:
            return
    for edge in range(turn.shape[0]):
        turn[edge] = 0.0


@compiled(inside=True)
def start_cells(
    corners: Indices, rest: Array, stiffness: Array, arm_stiffness: Array, arm_decay: Array, x: Array, z: Array,
    volume: Array, gradient: Array, pulls: Array, force: Array,
) -> None:  # fmt: skip
    """Renew gradients and pressures at the start of a step and add them to `force` [N]."""
    for cell in range(corners.shape[0]):
        for c in range(3):
            for corner in range(corners.shape[1]):
                gradient[cell, corner, c] = 0.0
    fill_volumes(x, corners, volume, gradient)
    for cell in range(corners.shape[0]):
        pull = stiffness[cell] * (volume[cell] / rest[cell] - 1.0)
        for arm in range(z.shape[0]):
            pull += arm_stiffness[arm, cell] * arm_decay[arm, cell] * z[arm, cell]
        pulls[cell] = pull
        for corner in range(corners.shape[1]):
            for c in range(3):
                force[corners[cell, corner], c] -= pull * gradient[cell, corner, c]


def tangent_stages(
    edges: Elements, cells: Elements, tangent: Tangent, nodes: Nodes, state: State, force: Array
) -> list[Stage]:
    """Return the stages that renew a tangent at the start of a step and add its forces to `force` (N, 3) [N]."""
    x, v, stages = state.positions, state.velocities, []
    if len(edges.corners):
        known = (*edges[:3], edges.arm_stiffness, edges.arm_decay, tangent.slope, x, v, state.edge_arms, STEP)
        stages += [
            Stage(start_edges, (*known, tangent.direction, tangent.tension, tangent.turn, force)),
            Stage(leave_out_slow_turning, (edges.corners, nodes.mass, STEP, tangent.turn, np.zeros(len(nodes.mass)))),
        ]
    if len(cells.corners):
        lasting = (*cells[:3], cells.arm_stiffness, cells.arm_decay, x, state.cell_arms)
        stages += [Stage(start_cells, (*lasting, tangent.volume, tangent.gradient, tangent.pull, force))]
    return stages


@compiled(inside=True)
def add_edge_rates(
    corners: Indices, direction: Array, slope: Array, turns: Array, v: Array, factor: float, out: Array
) -> None:
    """Add to `out` (N, 3) `factor` times the forces [N] of edges that velocities (N, 3) [m/s] of the end cause."""
    for edge in range(corners.shape[0]):
        i, j = corners[edge, 0], corners[edge, 1]
        ex, ey, ez = direction[edge, 0], direction[edge, 1], direction[edge, 2]
        dx, dy, dz = v[j, 0] - v[i, 0], v[j, 1] - v[i, 1], v[j, 2] - v[i, 2]
        turn = turns[edge]
        along = (slope[edge] - turn) * (ex * dx + ey * dy + ez * dz)
        fx = factor * (along * ex + turn * dx)
        fy = factor * (along * ey + turn * dy)
        fz = factor * (along * ez + turn * dz)
        out[i, 0] += fx
        out[i, 1] += fy
        out[i, 2] += fz
        out[j, 0] -= fx
        out[j, 1] -= fy
        out[j, 2] -= fz


@compiled(inside=True)
def _flow(corners: Indices, gradient: Array, v: Array, cell: int) -> float:
    """Return dV/dt of a cell."""
    flow = 0.0
    for corner in range(corners.shape[1]):
        for c in range(3):
            flow += gradient[cell, corner, c] * v[corners[cell, corner], c]
    return flow


@compiled(inside=True)
def add_cell_rates(corners: Indices, gradient: Array, slope: Array, v: Array, factor: float, out: Array) -> None:
    """Add to `out` (N, 3) `factor` times the forces [N] of cells that velocities (N, 3) [m/s] of the end cause."""
    for cell in range(corners.shape[0]):
        pull = factor * slope[cell] * _flow(corners, gradient, v, cell)
        for corner in range(corners.shape[1]):
            for c in range(3):
                out[corners[cell, corner], c] -= pull * gradient[cell, corner, c]


def rate_stages(edges: Elements, cells: Elements, tangent: Tangent, v: Array, factor: Any, out: Array) -> list[Stage]:
    """Return the stages that add to `out` (N, 3) `factor` times the forces that velocities `v` cause."""
    by_edges = (edges.corners, tangent.direction, tangent.slope, tangent.turn, v, factor, out)
    by_cells = (cells.corners, tangent.gradient, tangent.pull_slope, v, factor, out)
    stages = [Stage(add_edge_rates, by_edges)] if len(edges.corners) else []
    return stages + ([Stage(add_cell_rates, by_cells)] if len(cells.corners) else [])


@compiled(inside=True)
def end_edge_arms(corners: Indices, direction: Array, arm_decay: Array, arm_gain: Array, v: Array, arms: Array) -> None:
    """Advance the arms of edges with the velocities of the end of the step: z <- decay z + gain rate."""
    for edge in range(corners.shape[0]):
        i, j = corners[edge, 0], corners[edge, 1]
        rate = 0.0
        for c in range(3):
            rate += direction[edge, c] * (v[j, c] - v[i, c])
        for arm in range(arms.shape[0]):
            arms[arm, edge] = arm_decay[arm, edge] * arms[arm, edge] + arm_gain[arm, edge] * rate


@compiled(inside=True)
def end_cell_arms(
    corners: Indices, rest: Array, gradient: Array, arm_decay: Array, arm_gain: Array, v: Array, arms: Array
) -> None:
    """Advance the arms of cells likewise, with V'/V0."""
    for cell in range(corners.shape[0]):
        rate = _flow(corners, gradient, v, cell) / rest[cell]
        for arm in range(arms.shape[0]):
            arms[arm, cell] = arm_decay[arm, cell] * arms[arm, cell] + arm_gain[arm, cell] * rate


def arm_stages(edges: Elements, cells: Elements, tangent: Tangent, state: State) -> list[Stage]:
    """Return the stages that advance the internal variables with the velocities of the end of the step."""
    v, stages = state.velocities, []
    if state.edge_arms.size:
        decay = (edges.arm_decay, edges.arm_gain, v, state.edge_arms)
        stages.append(Stage(end_edge_arms, (edges.corners, tangent.direction, *decay)))
    if state.cell_arms.size:
        decay = (cells.arm_decay, cells.arm_gain, v, state.cell_arms)
        stages.append(Stage(end_cell_arms, (cells.corners, cells.rest, tangent.gradient, *decay)))
    return stages
