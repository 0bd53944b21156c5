"""Forces of constraints in the particle loop: one call after all other forces are known."""

from __future__ import annotations

from rheotwin.arrays import Array
from rheotwin.constraints.constraint_set import SLACK, ConstraintSet, solve_constraints
from rheotwin.constraints.packed import table_value
from rheotwin.constraints.rows import add_along
from rheotwin.kernels.compiled import compiled
from rheotwin.particles.boundary import Held
from rheotwin.particles.nodes import Nodes
from rheotwin.particles.state import State


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
