"""Central differences with exponential memory, on block rows (spec 2.3, integrator 4).

One step from t to t + h, with the velocity standing at the half steps:

    v <- v + h M^-1 (f(t) - sum_X J_X s_X)            then supports and contact
    u <- u + h v
    w <- exp(-x) w + g (1 - exp(-x))/x h v            every arm, exact for constant v; x = h/tau
    s <- g_inf u + sum_a w_a + eta v                  the dashpot uses the half step that has just been

From rest the first kick is half as long: it leads from t = 0 to h/2. The scheme has order 2 in h but for eta,
whose lag of half a step makes it order 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from rheotwin.arrays import Array, Integers
from rheotwin.fem.fast.block_rows import BlockRows, multiply_rows
from rheotwin.fem.fast.explicit_boundary import (
    Boundary,
    Outside,
    hold,
    independent,
    load_nodes,
    look_back,
    no_outside,
    only_weight,
    pull_stages,
    touch_stages,
)
from rheotwin.fem.fast.explicit_terms import Segments, Terms, join_bodies, stable_step
from rheotwin.kernels.blocks import STEP, TIME, Now
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.program import Clock, Program
from rheotwin.kernels.stage import LAST, Stage

CHECK_EVERY = 64
"""Steps between two looks at whether a node has run away."""
ROWS_AT_ONCE = 256
"""Block rows whose forces are turned into velocities while they are still in the nearest cache."""
COMPONENTS_AT_ONCE = 1024
"""Components that drift and get their stresses while they are in the nearest cache."""


class Operator(NamedTuple):
    """The internal-force matrix [J_1 J_2 ...] as the arrays of `BlockRows`, and 1/mass per component [1/kg]."""

    dimension: int
    indptr: Integers
    indices: Integers
    values: Array
    inverse_mass: Array


class MotionArrays(NamedTuple):
    """What a step changes: u, v (N d,), arms w (arms, terms N d), stress states s (terms N d,), K s (N d,) [N].

    `work` [J]: done from outside and against the internal forces, up to the half step of `velocity`.
    """

    displacement: Array
    velocity: Array
    memory: Array
    stress_state: Array
    force: Array
    work: Array


@compiled(contract=True, nogil=True)
def _kick(v: Array, external: Array, force: Array, inverse_mass: Array, kick: float) -> None:
    for q in range(v.size):
        v[q] += kick * inverse_mass[q] * (external[q] - force[q])


@compiled(nogil=True)
def kick_rows(operator: Operator, motion: MotionArrays, external: Array, kick: float, first: int, last: int) -> None:
    """v <- v + kick M^-1 (f - K s) for the block rows first <= i < last."""
    d, s, force = operator.dimension, motion.stress_state, motion.force
    for low in range(first, last, ROWS_AT_ONCE):
        high = min(low + ROWS_AT_ONCE, last)
        multiply_rows(d, operator.indptr, operator.indices, operator.values, s, force, low, high)
        # A loop from zero over slices runs in vectors; one with offsets tests every index for its sign.
        part = slice(d * low, d * high)
        _kick(motion.velocity[part], external[part], force[part], operator.inverse_mass[part], kick)


@compiled(contract=True, nogil=True)
def _drift(u: Array, v: Array, h: float) -> None:
    for q in range(u.size):
        u[q] += h * v[q]


@compiled(contract=True, nogil=True)
def _direct_stress(s: Array, u: Array, v: Array, equilibrium: float, viscosity: float) -> None:
    for q in range(s.size):
        s[q] = equilibrium * u[q] + viscosity * v[q]


@compiled(contract=True, nogil=True)
def _arm_stress(s: Array, w: Array, v: Array, decay: float, gain: float) -> None:
    for q in range(s.size):
        w[q] = decay * w[q] + gain * v[q]
        s[q] += w[q]


@compiled(nogil=True)
def update_stress(segments: Segments, motion: MotionArrays, h: float, first: int, last: int) -> None:
    """Advance w by h v and write s = g_inf u + sum w + eta v, for the stacked states first <= q < last."""
    for k in range(segments.start.size):
        low, high, shift = max(first, segments.start[k]), min(last, segments.stop[k]), segments.shift[k]
        if low >= high:
            continue
        s, v = motion.stress_state[low:high], motion.velocity[low - shift : high - shift]
        u = motion.displacement[low - shift : high - shift]
        _direct_stress(s, u, v, segments.equilibrium[k], segments.viscosity[k])
        for arm in range(segments.arms[k]):
            _arm_stress(s, motion.memory[arm, low:high], v, segments.decay[k, arm], h * segments.gain[k, arm])


@compiled(nogil=True)
def move(segments: Segments, motion: MotionArrays, h: float, first: int, last: int) -> None:
    """Drift and new stress states of the components first <= q < last, piece by piece within the nearest cache."""
    size = motion.displacement.size
    for low in range(first, last, COMPONENTS_AT_ONCE):
        high = min(low + COMPONENTS_AT_ONCE, last)
        _drift(motion.displacement[low:high], motion.velocity[low:high], h)
        for term in range(motion.stress_state.size // size):
            update_stress(segments, motion, h, term * size + low, term * size + high)


@compiled(contract=True, nogil=True)
def enter_work(
    motion: MotionArrays, operator: Operator, external: Array, exerted: Array, half: float, before: bool, after: bool
) -> None:
    """Add the work of the half kicks before and after t, `half` [s] long each: from outside, into the body [J].

    Forces T turn v - 2 a into v, a = half T/m; with the mean velocities v - 3a/2 and v - a/2 of the two halves
    the account of kinetic energy is exact. They are added one by one, so that an account taken at t fits in.
    """
    given_before, given_after, taken_before, taken_after = 0.0, 0.0, 0.0, 0.0
    for q in range(motion.velocity.size):
        given, taken = external[q] + exerted[q], motion.force[q]
        change = half * operator.inverse_mass[q] * (given - taken)
        early, late = motion.velocity[q] - 1.5 * change, motion.velocity[q] - 0.5 * change
        given_before += given * early
        given_after += given * late
        taken_before += taken * early
        taken_after += taken * late
    if before:
        motion.work[0] += half * given_before
        motion.work[1] += half * taken_before
    if after:
        motion.work[0] += half * given_after
        motion.work[1] += half * taken_after


@compiled
def kick_time(number: float, h: float) -> float:
    """Return how long the kick of a step acts [s]: from rest the first one leads to h/2."""
    return h if number > 0 else 0.5 * h


@compiled
def keep_account(
    motion: MotionArrays, operator: Operator, external: Array, exerted: Array, number: float, h: float, begun: Array
) -> None:
    """Enter the work of a step; begun[0] is the first one of the run, whose half before t is in where begun[1] is 1."""
    early = number > 0 and (number > begun[0] or begun[1] == 0.0)
    enter_work(motion, operator, external, exerted, 0.5 * h, early, True)


@compiled
def stop_runaways(u: Array, runaway: float, number: float) -> int:
    """Make every 64th step the last one if a component has left the runaway distance [m] or is no number."""
    if number % CHECK_EVERY == 0:
        for q in range(u.size):
            if not np.abs(u[q]) <= runaway:
                return LAST
    return 0


def strike_stages(
    operator: Operator, motion: MotionArrays, boundary: Boundary, outside: Outside, clock: Clock
) -> list[Stage]:
    """Return the stages that bring v from half a step before t to half a step after it."""
    kick, contact = np.zeros(1), outside.touching.contact
    u, v, nodes = motion.displacement, motion.velocity, boundary.nodes
    stages = [Stage(kick_time, (clock.number, STEP), into=kick)]
    if outside.touching.accounts:
        stages += [Stage(look_back, (contact.near, contact.places, contact.before_kick, operator.dimension, v))]
    grabbed = len(boundary.grabs.node) > 0
    if grabbed:
        stages += [Stage(only_weight, (nodes.weight, outside.external))]
    if boundary.loads.component.size:
        stages += [Stage(load_nodes, (boundary.loads, nodes.weight, outside.external, TIME))]
    stages += [Stage(kick_rows, (operator, motion, outside.external, Now(kick), 0, operator.indptr.size - 1))]
    if grabbed:
        stages += pull_stages(boundary, outside, u, v, clock.end, Now(kick))
    if boundary.held.component.size:
        bearing = (outside.reaction, outside.exerted, u, v, clock.end, STEP, Now(kick))
        stages += [Stage(hold, (boundary.held, nodes.mass, *bearing))]
    return [*stages, *touch_stages(nodes, outside, u, v, clock.end, Now(kick))]


def move_stages(segments: Segments, motion: MotionArrays, boundary: Boundary, clock: Clock) -> list[Stage]:
    """Return the stages that drift, advance the arms, and look whether a node has run away."""
    u = motion.displacement
    return [
        Stage(move, (segments, motion, STEP, 0, u.size)),
        Stage(stop_runaways, (u, boundary.nodes.runaway, clock.number)),
    ]


@dataclass(frozen=True)
class ExplicitState:
    """Everything a step changes, in place; `motion.velocity` stands half a step back (at the start: at t = 0)."""

    motion: MotionArrays
    outside: Outside
    programs: dict[bool, tuple[Program, Array]] = field(default_factory=dict, compare=False, repr=False)
    """The steps of these arrays, with and without the account of work, once they have been asked for."""

    def copy(self) -> ExplicitState:
        """Return an independent copy."""
        return ExplicitState(MotionArrays._make(array.copy() for array in self.motion), independent(self.outside))


@dataclass(frozen=True)
class ExplicitModel:
    """Bodies prepared for explicit steps of one size `step` [s]; `stable_step` [s] is the largest there is."""

    step: float
    stable_step: float
    matrix: BlockRows
    segments: Segments
    boundary: Boundary

    @classmethod
    def build(
        cls, boundary: Boundary, bodies: Sequence[Terms], step: float, *, springs: Array | None = None
    ) -> ExplicitModel:
        """Prepare bodies, given by their terms (matrix, channel), that follow one another in the boundary's nodes.

        Matrices run over the body's own components, node-major, with thickness folded in; masses are lumped.
        `springs` (N d,) [N/m] of contact count in the stable step.
        """
        nodes = boundary.nodes
        sizes = [terms[0][0].shape[0] for terms in bodies]
        matrix, segments = join_bodies(bodies, sizes, nodes.dimension, step)
        masses = np.split(nodes.mass, np.cumsum(sizes)[:-1])
        return cls(step, stable_step(bodies, masses, nodes.dimension, springs), matrix, segments, boundary)

    @property
    def size(self) -> int:
        """Number of components N d."""
        return int(self.boundary.nodes.rest.size)

    @property
    def terms(self) -> int:
        """Terms side by side in the matrix: those of the body that has most."""
        return int(self.segments.shift.max(initial=0)) // self.size + 1

    @cached_property
    def operator(self) -> Operator:
        """The matrix and the inverse masses as the loop reads them."""
        rows = self.matrix
        return Operator(rows.dimension, rows.indptr, rows.indices, rows.values, 1.0 / self.boundary.nodes.mass)

    def start(self, displacement: Array | None = None, velocity: Array | None = None) -> ExplicitState:
        """Return the state at t = 0 with flat displacement [m] and velocity [m/s] (default: at rest), no history."""
        stacked = self.terms * self.size
        motion = MotionArrays(
            displacement=np.zeros(self.size) if displacement is None else np.array(displacement, dtype=float),
            velocity=np.zeros(self.size) if velocity is None else np.array(velocity, dtype=float),
            memory=np.zeros((self.segments.decay.shape[1], stacked)),
            stress_state=np.zeros(stacked),
            force=np.zeros(self.size),
            work=np.zeros(2),
        )
        state = ExplicitState(motion, no_outside(self.boundary))
        self.refresh(state)
        return state

    def refresh(self, state: ExplicitState) -> None:
        """Make the stress states those of the displacement, half-step velocity and arms, changed from outside."""
        still = self.segments._replace(decay=np.ones_like(self.segments.decay), gain=np.zeros_like(self.segments.gain))
        update_stress(still, state.motion, self.step, 0, state.motion.stress_state.size)

    def advance(
        self, state: ExplicitState, first: int, count: int, *, account: bool = False, opened: bool = False
    ) -> int:
        """Take `count` steps from step number `first` in place; return steps taken, fewer if a node ran away.

        `account` keeps the account of work; `opened` says that it is one that `at_full_step` returned.
        """
        program, begun = self._program(state, account)
        begun[:] = first, opened
        return program.run(first, count)

    def _program(self, state: ExplicitState, account: bool) -> tuple[Program, Array]:
        """Return the steps of a state, and what the account has to know of the first."""
        if account not in state.programs:
            clock, begun = Clock(), np.zeros(2)
            stages = strike_stages(self.operator, state.motion, self.boundary, state.outside, clock)
            if account:
                given = (state.outside.external, state.outside.exerted)
                entered = (state.motion, self.operator, *given, clock.number, STEP, begun)
                stages += [Stage(keep_account, entered)]
            stages += move_stages(self.segments, state.motion, self.boundary, clock)
            state.programs[account] = Program(stages, self.step, clock), begun
        return state.programs[account]

    def at_full_step(self, state: ExplicitState, step: int) -> ExplicitState:
        """Return what holds at the time of step number `step`: its velocity, forces and work, to order 2.

        The velocity is the mean of the half steps around it, and supports and tools exert what the next kick,
        tried out on a copy, needs of them.
        """
        ahead = state.copy()
        before = state.motion.velocity
        clock = Clock()
        stages = strike_stages(self.operator, ahead.motion, self.boundary, ahead.outside, clock)
        Program(stages, self.step, clock).run(step, 1)
        if step == 0:
            ahead.motion.velocity[:] = before
            return ahead
        given = (ahead.outside.external, ahead.outside.exerted)
        enter_work(ahead.motion, self.operator, *given, 0.5 * self.step, True, False)
        ahead.motion.velocity[:] = 0.5 * (ahead.motion.velocity + before)
        return ahead
