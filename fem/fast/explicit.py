"""A linear rheological body in explicit steps: central differences on block rows (spec 2.3, integrator 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from rheotwin.arrays import Array
from rheotwin.fem.fast.block_rows import BlockRows
from rheotwin.fem.fast.explicit_loop import (
    MotionArrays,
    Operator,
    enter_work,
    keep_account,
    move_stages,
    strike_stages,
    update_stress,
)
from rheotwin.fem.fast.explicit_packing import Boundary, Outside, independent, no_outside
from rheotwin.fem.fast.explicit_terms import Segments, Terms, join_bodies, stable_step
from rheotwin.kernels.blocks import STEP
from rheotwin.kernels.program import Clock, Program
from rheotwin.kernels.stage import Stage


@dataclass(frozen=True)
class ExplicitState:
    """Everything a step changes, in place; `motion.velocity` stands half a step back (at the start: at t = 0)."""

    motion: MotionArrays
    outside: Outside
    programs: dict[bool, tuple[Program, Array]] = field(default_factory=dict, compare=False, repr=False)
    """The steps of these arrays, with and without the account of work, once they have been asked for."""

    def copy(self) -> ExplicitState:
        """Return an independent copy."""
        return ExplicitState(
            MotionArrays._make(array.copy() for array in self.motion),
            independent(self.outside),
        )


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
