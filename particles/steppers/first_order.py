"""A body as one first-order system x' = v, m v' = F(x, v, z), z' = rate - A z: what Euler's and Runge's rules need.

The internal variables z of the linear networks of edges and cells are unknowns beside x and v (spec section 2):

    f = k dd + sum kappa z + eta ldot,      z' = ldot - A z,      cells: the same with V/V0 - 1 and Vdot/V0
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.kernels.compiled import compiled
from rheotwin.particles.boundary import Boundary, apply_loads, settle_contact, touches
from rheotwin.particles.constrained import add_constraint_forces
from rheotwin.particles.exact_tools import Push
from rheotwin.particles.forces.all_forces import Forces, add_forces
from rheotwin.particles.forces.cells import add_tet_forces, add_triangle_forces
from rheotwin.particles.forces.edges import add_edge_forces
from rheotwin.particles.forces.elements import Elements
from rheotwin.particles.forces.voxel_centre import add_centre_forces
from rheotwin.particles.node_loops import begin_forces
from rheotwin.particles.nodes import Nodes
from rheotwin.particles.state import State

Array = NDArray[np.float64]


class System(NamedTuple):
    """One body twice: with arms that stand still when its forces are added, and with arms that become their own rates.

    The update z <- decay z + gain ldot leaves z alone with decay 1, gain 0, and puts z' in its place with -A and 1.
    """

    forces: Forces
    rates: Forces


class Slopes(NamedTuple):
    """Force (N, 3) [N] and rates of change of the internal variables of edges, cells and half elements."""

    force: Array
    edge_arms: Array
    cell_arms: Array
    centre_arms: Array


def first_order_system(forces: Forces, h: float) -> System:
    """Return both forms of a body whose `forces` were made for a step `h` [s]."""
    edges, cells, halves = forces.edges, forces.cells, forces.halves
    return System(
        forces=forces._replace(edges=_standing(edges), cells=_standing(cells), halves=_standing(halves)),
        rates=forces._replace(edges=_as_rates(edges, h), cells=_as_rates(cells, h), halves=_as_rates(halves, h)),
    )


def _standing(elements: Elements) -> Elements:
    return elements._replace(
        arm_decay=np.ones_like(elements.arm_decay),
        arm_gain=np.zeros_like(elements.arm_gain),
    )


def _as_rates(elements: Elements, h: float) -> Elements:
    return elements._replace(
        arm_decay=np.log(elements.arm_decay) / h,
        arm_gain=np.ones_like(elements.arm_gain),
    )


@compiled(allocates=True)
def empty_slopes(state: State) -> Slopes:
    """Return room for the slopes of a state, all zero."""
    return Slopes(
        np.zeros_like(state.positions),
        np.zeros_like(state.edge_arms),
        np.zeros_like(state.cell_arms),
        np.zeros_like(state.centre_arms),
    )


@compiled
def clear(slopes: Slopes) -> None:
    """Set all slopes to zero."""
    slopes.force[:] = 0.0
    slopes.edge_arms[:] = 0.0
    slopes.cell_arms[:] = 0.0
    slopes.centre_arms[:] = 0.0


@compiled(allocates=True)
def add_slopes(slopes: Slopes, weight: float, total: Slopes) -> None:
    """Add `weight` times the slopes to `total`."""
    total.force[:] += weight * slopes.force
    total.edge_arms[:] += weight * slopes.edge_arms
    total.cell_arms[:] += weight * slopes.cell_arms
    total.centre_arms[:] += weight * slopes.centre_arms


@compiled(allocates=True)
def keep_arms(state: State, start: Slopes) -> None:
    """Remember the internal variables of a state."""
    start.edge_arms[:] = state.edge_arms
    start.cell_arms[:] = state.cell_arms
    start.centre_arms[:] = state.centre_arms


@compiled(allocates=True)
def add_arms(state: State, start: Slopes, slopes: Slopes, h: float) -> None:
    """Put start + h z' into the internal variables of the state."""
    state.edge_arms[:] = start.edge_arms + h * slopes.edge_arms
    state.cell_arms[:] = start.cell_arms + h * slopes.cell_arms
    state.centre_arms[:] = start.centre_arms + h * slopes.centre_arms


@compiled(inside=True, allocates=True)
def evaluate(system: System, state: State, boundary: Boundary, time: float, h: float, out: Slopes, after: bool) -> None:
    """Put the forces and the rates of the internal variables at a state and `time` [s] into `out`.

    `after`: motions are looked at from after that time.
    """
    x, v = state.positions, state.velocities
    rates = system.rates
    out.force[:] = 0.0  # a scratch for the forces of `rates` before it holds the true ones
    if state.edge_arms.size > 0:
        out.edge_arms[:] = state.edge_arms
        add_edge_forces(rates.edges, x, v, out.edge_arms, out.force)
    if state.cell_arms.size > 0:
        out.cell_arms[:] = state.cell_arms
        if rates.cells.corners.shape[1] == 3:
            add_triangle_forces(rates.cells, x, v, out.cell_arms, out.force)
        else:
            add_tet_forces(rates.cells, x, v, out.cell_arms, out.force)
    if state.centre_arms.size > 0:
        out.centre_arms[:] = state.centre_arms
        add_centre_forces(rates.halves, x, v, out.centre_arms, out.force)
    begin_forces(boundary.nodes.weight, out.force)
    apply_loads(boundary.loads, time, out.force)
    add_forces(system.forces, state, h, out.force)
    add_constraint_forces(system.forces.constraints, boundary, state, time, after, h, out.force)


@compiled(inside=True)
def accelerate(velocities: Array, start: Array, force: Array, nodes: Nodes, h: float) -> None:
    """Put v = start + h F/m [m/s] into `velocities`; held components keep the speed of their support."""
    for node in range(force.shape[0]):
        rate = h / nodes.mass[node]
        for c in range(3):
            velocities[node, c] = start[node, c] + rate * nodes.free[node, c] * force[node, c]


@compiled(inside=True, spliced=True)
def finish(boundary: Boundary, push: Push, state: State, force: Array, end: float, h: float) -> None:
    """Close a step: reactions of supports from the mean `force` (N, 3) [N], then contact moves what has entered a tool.

    The rule of contact asks where x + h v ends; seen from x - h v it ends at the x reached, so the same impulse puts
    a node on the tool's surface and changes its velocity.
    """
    held = boundary.held
    for k in range(held.node.shape[0]):
        state.reaction[held.node[k], held.component[k]] -= force[held.node[k], held.component[k]]
    state.force[:] = force
    if not touches(boundary):
        return
    x, v = state.positions, state.velocities
    for node in range(x.shape[0]):
        for c in range(3):
            x[node, c] -= h * v[node, c]
    settle_contact(boundary, push, state, np.inf, end, h)
    for node in range(x.shape[0]):
        for c in range(3):
            x[node, c] += h * v[node, c]
