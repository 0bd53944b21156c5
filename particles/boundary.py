"""What acts on particles from outside: loads, held components and constraints; contact is that of `constraints`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.constraints.constraint_set import SLACK, ConstraintSet, solve_constraints
from rheotwin.constraints.contact.lumped import Contact
from rheotwin.constraints.contact.pack import pack_contact
from rheotwin.constraints.motion import Tables, pack_tables, table_value
from rheotwin.constraints.rows import add_along
from rheotwin.kernels.compiled import compiled
from rheotwin.particles.state import Nodes, State
from rheotwin.problem import Problem
from rheotwin.tensors import padded


class Held(NamedTuple):
    """Held components: node, component and the motion table each follows."""

    node: Indices
    component: Indices
    motion: Indices
    tables: Tables


class Loads(NamedTuple):
    """Nodal loads: node, share (n, 3) [N] and the factor table each follows."""

    node: Indices
    share: Array
    motion: Indices
    tables: Tables


class Boundary(NamedTuple):
    """Everything that acts on nodes from outside."""

    nodes: Nodes
    held: Held
    loads: Loads
    contact: Contact


@compiled
def apply_loads(loads: Loads, time: float, force: Array) -> None:
    """Add the loads [N] at `time` [s]."""
    factor, current = loads.tables.current, -1
    for k in range(loads.node.shape[0]):
        if loads.motion[k] != current:
            current = loads.motion[k]
            table_value(loads.tables, current, time, factor)
        for c in range(3):
            force[loads.node[k], c] += factor[0] * loads.share[k, c]


@compiled(inside=True)
def hold(held: Held, nodes: Nodes, state: State, end: float, h: float) -> None:
    """Put held components where their motion wants them at the end of the step; keep the force that took."""
    target, current = held.tables.current, -1
    for k in range(held.node.shape[0]):
        node, c = held.node[k], held.component[k]
        if held.motion[k] != current:
            current = held.motion[k]
            table_value(held.tables, current, end, target)
        wanted = (nodes.rest[node, c] + target[c] - state.positions[node, c]) / h
        state.reaction[node, c] = nodes.mass[node] * (wanted - state.velocities[node, c]) / h
        state.velocities[node, c] = wanted


@compiled(inside=True, allocates=True)
def add_constraint_forces(
    constraints: ConstraintSet, nodes: Nodes, state: State, time: float, after: bool, h: float, force: Array
) -> None:
    """Add A L to the `force` (N, 3) [N] of everything else at `time` [s]; keep L and the reactions of supports.

    `after`: what motions do after that time counts, not what they did before.
    """
    free, mass, rows, acceleration = nodes.free, nodes.mass, constraints.rows, constraints.acceleration
    for node in rows.touched:
        for c in range(3):
            if free[node, c] > 0.0:  # held components keep what `note_held_accelerations` says, or nothing
                acceleration[node, c] = force[node, c] / mass[node]
    solve_constraints(constraints, state.positions, state.velocities, time, after, SLACK * h, state.multipliers)
    add_along(rows, state.multipliers, force)
    note_reactions(constraints, state)


@compiled
def note_reactions(constraints: ConstraintSet, state: State) -> None:
    """Put the multipliers of stabilised supports among the reactions [N]."""
    driven = constraints.driven
    first = state.multipliers.shape[0] - driven.node.shape[0]
    for k in range(driven.node.shape[0]):
        state.reaction[driven.node[k], driven.component[k]] = state.multipliers[first + k]


@compiled(inside=True)
def note_held_accelerations(
    constraints: ConstraintSet, held: Held, nodes: Nodes, state: State, end: float, h: float
) -> None:
    """Note the accelerations [m/s2] with which `hold` will take held components to their place at `end` [s]."""
    target, current = held.tables.current, -1
    for k in range(held.node.shape[0]):
        node, c = held.node[k], held.component[k]
        if held.motion[k] != current:
            current = held.motion[k]
            table_value(held.tables, current, end, target)
        wanted = (nodes.rest[node, c] + target[c] - state.positions[node, c]) / h
        constraints.acceleration[node, c] = (wanted - state.velocities[node, c]) / h


def pack_nodes(problem: Problem, runaway: float) -> Nodes:
    """Pack rest positions, free components, masses and weights."""
    return Nodes(
        rest=padded(problem.points),
        free=padded((problem.owners < 0).astype(float)),
        mass=problem.masses.copy(),
        weight=padded(problem.masses[:, None] * problem.gravity),
        runaway=runaway,
    )


def pack_held(problem: Problem) -> Held:
    """Pack held components; in fewer than three dimensions the unused ones have no force and need no holding.

    A component that several fixed supports name is held once, by the first.
    """
    node, component = np.nonzero(problem.owners >= 0)
    motion = problem.owners[node, component]
    order = np.argsort(motion, kind="stable")  # one look at each motion's table in a step
    return Held(
        node[order], component[order], motion[order], pack_tables([item.motion for item in problem.prescribed], 3)
    )


def pack_loads(problem: Problem) -> Loads:
    """Pack nodal loads and their factors over time."""
    counts = [len(load.nodes) for load in problem.loads]
    return Loads(
        node=np.concatenate([load.nodes for load in problem.loads] or [np.zeros(0, np.int64)]).astype(np.int64),
        share=np.concatenate([padded(load.shares) for load in problem.loads] or [np.zeros((0, 3))]),
        motion=np.repeat(np.arange(len(counts)), counts).astype(np.int64),
        tables=pack_tables([load.factor for load in problem.loads], 1),
    )


def pack_boundary(problem: Problem, runaway: float) -> Boundary:
    """Pack everything that acts on nodes from outside; `runaway` [m] is the excursion that counts as diverged."""
    return Boundary(
        pack_nodes(problem, runaway),
        pack_held(problem),
        pack_loads(problem),
        pack_contact(problem),
    )
