"""Steps of particles as programs: the stages that all methods share, and how they are bound to a body.

A method lists its stages; internal variables first, for one, is

    [*around.begin_forces(), *forces, *around.kick(), Stage(drift, (v, STEP, x)), *around.last_look()]

What a body does not have adds no stage, and is not compiled.
Of what acts from outside, loads, held components and constraints are here; contact is that of `constraints`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.constraints.constraint_set import SLACK, ConstraintSet, solve_constraints
from rheotwin.constraints.contact.lumped import Contact, contact_stages
from rheotwin.constraints.contact.near_tools import forget_list
from rheotwin.constraints.contact.pack import pack_contact
from rheotwin.constraints.grabs import Grabs, enter_tool_work, pack_grabs, pull
from rheotwin.constraints.motion import Tables, pack_tables, table_value
from rheotwin.constraints.rows import add_along
from rheotwin.kernels.blocks import STEP, TIME, Now
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.program import Clock, Program
from rheotwin.kernels.stage import LAST, Stage
from rheotwin.particles.state import Nodes, State, begin_forces, fastest, fastest_of, kick
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
    grabs: Grabs


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
    nodes = pack_nodes(problem, runaway)
    grabs = pack_grabs(problem.grabs, nodes.free / nodes.mass[:, None])
    return Boundary(nodes, pack_held(problem), pack_loads(problem), pack_contact(problem), grabs)


SEMI_IMPLICIT_SCHEME = "semi-implicit Euler, internal variables first"
"""What records call the rule of `truss` and `shear-volume`."""
CHECK_EVERY = 64
"""Steps between two looks at whether the numbers are still sensible."""


@compiled
def stop_runaways(rest: Array, positions: Array, runaway: float, number: float) -> int:
    """Make every 64th step the last one if a node is further from rest than any sensible motion takes it [m]."""
    if number % CHECK_EVERY == 0:
        for node in range(positions.shape[0]):
            for c in range(3):
                if not np.abs(positions[node, c] - rest[node, c]) <= runaway:
                    return LAST
    return 0


@dataclass(frozen=True)
class Surroundings:
    """What acts on particles from outside, and what stages share: the clock, and a bound of all speeds [m/s] (1,)."""

    boundary: Boundary
    state: Any
    clock: Clock = field(default_factory=Clock)
    bound: Array = field(default_factory=lambda: np.full(1, np.inf))

    @property
    def touches(self) -> bool:
        """Tell whether there is anything to settle."""
        return not self.boundary.contact.idle

    def begin_forces(self) -> list[Stage]:
        """Return the stages that put weights and loads [N] where forces are summed."""
        return [Stage(begin_forces, (self.boundary.nodes.weight, self.state.force)), *self.loads()]

    def kick(self) -> list[Stage]:
        """Return the stages of v += h F/m, then of held components and contact, before positions move by h v."""
        mass, velocities = self.boundary.nodes.mass, self.state.velocities
        stages = [Stage(kick, (mass, self.state.force, STEP, velocities)), *self.hold()]
        if self.touches:
            stages += [Stage(fastest, (velocities,), into=self.bound)]
        return stages + self.contact()

    def loads(self, time: Any = TIME, force: Array | None = None) -> list[Stage]:
        """Return the stages that add the loads [N]."""
        loads = self.boundary.loads
        return (
            [Stage(apply_loads, (loads, time, self.state.force if force is None else force))] if len(loads.node) else []
        )

    def hold(self) -> list[Stage]:
        """Return the stages of hands, and those that put held components where their motion wants them."""
        held, grabs, state = self.boundary.held, self.boundary.grabs, self.state
        stages: list[Stage] = []
        changed: list[Indices] = []
        if len(grabs.node):
            moving = (None, state.positions, state.velocities, None, TIME, self.clock.end, STEP, STEP)
            stages += [Stage(pull, (grabs, grabs.done, *moving))]
            changed += [grabs.touched]
        if len(held.node):
            stages += [Stage(hold, (held, self.boundary.nodes, state, self.clock.end, STEP))]
            changed += [held.node]
        if self.touches and np.isfinite(self.bound[0]):
            stages += [
                Stage(fastest_of, (node, state.velocities, Now(self.bound)), into=self.bound) for node in changed
            ]
        return stages

    def contact(self) -> list[Stage]:
        """Return the stages that change velocities by contact, before positions move by h v."""
        state, contact, grabs = self.state, self.boundary.contact, self.boundary.grabs
        moving = (state.reaction, Now(self.bound), self.clock.end)
        stages = contact_stages(contact, state.positions, state.velocities, *moving)
        if stages and len(grabs.node):
            pushed, velocity = contact.exerted, contact.contacts.tools.motion.velocity
            acting = (pushed.tool_force, pushed.tool_moment, contact.tools.geometry, velocity, STEP, grabs.by_tools)
            stages += [Stage(enter_tool_work, acting)]
        return stages

    def last_look(self) -> list[Stage]:
        """Return the stages that end a run that has left all sense."""
        nodes, positions = self.boundary.nodes, self.state.positions
        return [Stage(stop_runaways, (nodes.rest, positions, nodes.runaway, self.clock.number))]

    def bind(self, stages: Sequence[Stage], h: float) -> Callable[[int, int], int]:
        """Return take(first, count), which takes steps of `h` [s] and returns how many were taken."""
        program = Program(stages, h, self.clock)

        def take(first: int, count: int) -> int:
            forget_list(self.boundary.contact.close)  # something may have moved since that nobody told
            return program.run(first, count)

        return take
