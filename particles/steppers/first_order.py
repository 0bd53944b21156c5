"""A body as one first-order system x' = v, m v' = F(x, v, z), z' = rate - A z: the rules of Euler and Runge.

The internal variables z of the linear networks of edges and cells are unknowns beside x and v (spec section 2):

    f = k dd + sum kappa z + eta ldot,      z' = ldot - A z,      cells: the same with V/V0 - 1 and Vdot/V0

Explicit Euler, order 1, the papers' rule for speed: every slope is taken at the start of the step, y = (x, v, z).

    y <- y + h y'(t, y)

The classical Runge-Kutta rule, of order 4 between changes of loads and contacts, the papers' rule for accuracy:

    y <- y + h (s1 + 2 s2 + 2 s3 + s4)/6
    s1 = y'(t, y),   s2 = y'(t + h/2, y + h/2 s1),   s3 = y'(t + h/2, y + h/2 s2),   s4 = y'(t + h, y + h s3)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.kernels.blocks import STEP, TIME
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.stage import Stage
from rheotwin.particles.forces.all_forces import Forces, force_stages
from rheotwin.particles.forces.cells import linear_cells
from rheotwin.particles.forces.edges import linear_edges
from rheotwin.particles.forces.elements import Elements, group_stage
from rheotwin.particles.forces.voxel_centre import add_centre_forces
from rheotwin.particles.state import Nodes, State, begin_forces
from rheotwin.particles.steps import Surroundings, add_constraint_forces, note_reactions


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
    return elements._replace(arm_decay=np.ones_like(elements.arm_decay), arm_gain=np.zeros_like(elements.arm_gain))


def _as_rates(elements: Elements, h: float) -> Elements:
    return elements._replace(arm_decay=np.log(elements.arm_decay) / h, arm_gain=np.ones_like(elements.arm_gain))


def empty_slopes(state: State) -> Slopes:
    """Return room for the slopes of a state, all zero."""
    return Slopes(
        np.zeros_like(state.positions),
        np.zeros_like(state.edge_arms),
        np.zeros_like(state.cell_arms),
        np.zeros_like(state.centre_arms),
    )


@compiled
def copy(source: Array, target: Array) -> None:
    """Put the numbers (n, m) of one array into another."""
    for i in range(source.shape[0]):
        for j in range(source.shape[1]):
            target[i, j] = source[i, j]


@compiled
def clear(values: Array) -> None:
    """Put zeros into an array (n, m)."""
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            values[i, j] = 0.0


@compiled
def combine(start: Array, slope: Array, weight: float, h: float, total: Array) -> None:
    """Put start + weight h slope (n, m) into `total`, which may be `start`."""
    part = weight * h
    for i in range(total.shape[0]):
        for j in range(total.shape[1]):
            total[i, j] = start[i, j] + part * slope[i, j]


@compiled
def add_weighted(slope: Array, weight: float, total: Array) -> None:
    """Add `weight` times a slope (n, m) to `total`."""
    for i in range(total.shape[0]):
        for j in range(total.shape[1]):
            total[i, j] += weight * slope[i, j]


@compiled
def set_time(clock: Array, part: float) -> None:
    """Let the clock show the step's begin and `part` of it."""
    clock[0] = (clock[3] + part) * clock[1]


def arms_of(values: State | Slopes) -> list[Array]:
    """Return the internal variables of edges, cells and half elements that there are."""
    return [array for array in (values.edge_arms, values.cell_arms, values.centre_arms) if array.size]


def slope_stages(system: System, around: Surroundings, out: Slopes, after: bool) -> list[Stage]:
    """Return the stages that put the forces and the rates of the internal variables at the clock's time into `out`.

    `after`: motions are looked at from after that time.
    """
    state, rates, nodes = around.state, system.rates, around.boundary.nodes
    x, v = state.positions, state.velocities
    stages = []  # `out.force` is a scratch here, before it holds the true forces
    for elements, group_of, rate in (
        (rates.edges, linear_edges, out.edge_arms),
        (rates.cells, lambda cells: linear_cells(cells, "cell_arms"), out.cell_arms),
    ):
        if rate.size:
            group = group_of(elements)
            stages += [Stage(copy, (group.states_of(state), rate)), group_stage(group, x, v, rate, out.force)]
    if out.centre_arms.size:
        arms = out.centre_arms
        halves = Stage(add_centre_forces, (rates.halves, x, v, arms, out.force))
        stages += [Stage(copy, (state.centre_arms, arms)), halves]
    stages += [Stage(begin_forces, (nodes.weight, out.force)), *around.loads(TIME, out.force)]
    stages += force_stages(system.forces, state, out.force)
    constraints = system.forces.constraints
    if len(state.multipliers):
        stages += [Stage(add_constraint_forces, (constraints, nodes, state, TIME, after, STEP, out.force))]
    return stages


@compiled
def accelerate(velocities: Array, start: Array, force: Array, nodes: Nodes, weight: float, h: float) -> None:
    """Put v = start + weight h F/m [m/s] into `velocities`; held components keep the speed of their support."""
    for node in range(force.shape[0]):
        rate = weight * h / nodes.mass[node]
        for c in range(3):
            velocities[node, c] = start[node, c] + rate * nodes.free[node, c] * force[node, c]


@compiled
def note_support(node: Indices, component: Indices, force: Array, reaction: Array) -> None:
    """Take the force [N] on held components from their reactions."""
    for k in range(node.shape[0]):
        reaction[node[k], component[k]] -= force[node[k], component[k]]


@compiled
def settle(start: Array, free: Array, velocities: Array, h: float, positions: Array, touching: Array) -> None:
    """Put x = start + h v [m] where contact made v [m/s] another than `free`, and keep the direction, if asked to."""
    for node in range(positions.shape[0]):
        a = velocities[node, 0] - free[node, 0]
        b = velocities[node, 1] - free[node, 1]
        c = velocities[node, 2] - free[node, 2]
        way = math.sqrt(a * a + b * b + c * c)
        if way > 0.0:
            for k in range(3):
                positions[node, k] = start[node, k] + h * velocities[node, k]
        if touching.shape[0] > 0:
            part = 1.0 / way if way > 0.0 else 0.0
            touching[node, 0], touching[node, 1], touching[node, 2] = part * a, part * b, part * c


@compiled
def keep_touching(velocities: Array, start: Array, touching: Array) -> None:
    """Let v [m/s] be that of `start` along the directions n of contact: v -= n (n . (v - start))."""
    for node in range(velocities.shape[0]):
        along = 0.0
        for c in range(3):
            along += touching[node, c] * (velocities[node, c] - start[node, c])
        for c in range(3):
            velocities[node, c] -= along * touching[node, c]


def finish_stages(around: Surroundings, force: Array, start: Array) -> list[Stage]:
    """Return the stages that close a step from `start` (N, 3) [m]: reactions from the mean `force` [N], and contact.

    A node that touches goes where contact lets it, x = start + h v, so that its velocity is the surface's own at every
    step. With the velocity h F/m that its force alone gives it, the viscous forces of the next step would be those of a
    node that moves into the tool, an error of h eta/m of the force. For the same reason a rule that looks into the step
    keeps its velocity there along the direction of contact.
    """
    state, held = around.state, around.boundary.held
    x, v = state.positions, state.velocities
    stages = [Stage(note_support, (held.node, held.component, force, state.reaction))] if len(held.node) else []
    stages += [Stage(copy, (force, state.force))]
    if around.touches:
        there, free = np.zeros_like(x), np.zeros_like(v)
        stages += [Stage(copy, (x, there)), Stage(copy, (v, free)), Stage(copy, (start, x)), *around.contact()]
        stages += [Stage(copy, (there, x)), Stage(settle, (start, free, v, STEP, x, state.touching))]
    return [*stages, *around.last_look()]


def euler_steps(system: System, around: Surroundings, h: float) -> Callable[[int, int], int]:
    """Return take(first, count), which takes steps of `h` [s] and returns how many were taken."""
    state, slopes = around.state, empty_slopes(around.state)
    x, v = state.positions, state.velocities
    start, arms = np.zeros_like(x), zip(arms_of(state), arms_of(slopes), strict=True)
    stages = [
        *around.hold(),
        Stage(copy, (x, start)),
        *slope_stages(system, around, slopes, after=True),
        Stage(combine, (x, v, 1.0, STEP, x)),
        *(Stage(combine, (arm, rate, 1.0, STEP, arm)) for arm, rate in arms),
        Stage(accelerate, (v, v, slopes.force, around.boundary.nodes, 1.0, STEP)),
        *finish_stages(around, slopes.force, start),
    ]
    return around.bind(stages, h)


WHEN = (0.0, 0.5, 0.5, 1.0)
"""Where in the step each slope is taken."""
WEIGHT = (1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0)
"""What each slope counts."""


def rk4_steps(system: System, around: Surroundings, h: float) -> Callable[[int, int], int]:
    """Return take(first, count), which takes steps of `h` [s] and returns how many were taken."""
    state, nodes = around.state, around.boundary.nodes
    x, v, forces = state.positions, state.velocities, state.multipliers[None, :]
    slopes, mean, start = (empty_slopes(state) for _ in range(3))
    x0, v0, speed, exerted = np.zeros_like(x), np.zeros_like(v), np.zeros_like(v), np.zeros_like(forces)
    begin = [(x, x0), (v, v0), *zip(arms_of(state), arms_of(start), strict=True)]
    sums = [(v, speed), (slopes.force, mean.force), *zip(arms_of(slopes), arms_of(mean), strict=True)]
    sums += [(forces, exerted)] if forces.size else []
    arms = list(zip(arms_of(start), arms_of(slopes), arms_of(mean), arms_of(state), strict=True))
    stages = [*around.hold(), *(Stage(copy, pair) for pair in begin)]
    stages += [Stage(clear, (total,)) for _, total in sums]
    for k in range(4):
        stages += [Stage(set_time, (around.clock.values, WHEN[k]))]
        stages += slope_stages(system, around, slopes, after=k < 3)
        stages += [Stage(add_weighted, (slope, WEIGHT[k], total)) for slope, total in sums]
        if k < 3:
            part = WHEN[k + 1]
            stages += [
                Stage(combine, (x0, v, part, STEP, x)),
                Stage(accelerate, (v, v0, slopes.force, nodes, part, STEP)),
                *([Stage(keep_touching, (v, v0, state.touching))] if around.touches else []),
                *(Stage(combine, (first, rate, part, STEP, arm)) for first, rate, _, arm in arms),
            ]
    stages += [
        Stage(combine, (x0, speed, 1.0, STEP, x)),
        Stage(accelerate, (v, v0, mean.force, nodes, 1.0, STEP)),
        *(Stage(combine, (first, rate, 1.0, STEP, arm)) for first, _, rate, arm in arms),
    ]
    if forces.size:  # what supports and links exert over the step, as the mean force is
        stages += [Stage(copy, (exerted, forces)), Stage(note_reactions, (system.forces.constraints, state))]
    return around.bind([*stages, *finish_stages(around, mean.force, x0)], h)
