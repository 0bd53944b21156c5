"""Steps of particles as programs: the stages that all methods share, and how they are bound to a body.

A method lists its stages; internal variables first, for one, is

    [*around.begin_forces(), *forces, *around.kick(), Stage(drift, (v, STEP, x)), *around.last_look()]

What a body does not have adds no stage, and is not compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rheotwin.arrays import Array
from rheotwin.constraints.contact.lumped import contact_stages
from rheotwin.constraints.contact.near_tools import forget_list
from rheotwin.kernels.blocks import STEP, TIME, Now
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.program import Clock, Program
from rheotwin.kernels.stage import LAST, Stage
from rheotwin.particles.boundary import Boundary, apply_loads, hold
from rheotwin.particles.state import begin_forces, fastest, fastest_of, kick

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
        """Return the stages that put held components where their motion wants them."""
        held, state = self.boundary.held, self.state
        if not len(held.node):
            return []
        stages = [Stage(hold, (held, self.boundary.nodes, state, self.clock.end, STEP))]
        if self.touches and np.isfinite(self.bound[0]):
            stages += [Stage(fastest_of, (held.node, state.velocities, Now(self.bound)), into=self.bound)]
        return stages

    def contact(self) -> list[Stage]:
        """Return the stages that change velocities by contact, before positions move by h v."""
        state, moving = self.state, (Now(self.bound), self.clock.end)
        return contact_stages(self.boundary.contact, state.positions, state.velocities, state.reaction, *moving)

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
