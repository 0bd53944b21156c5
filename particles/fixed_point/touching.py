"""Tools and contact by the host beside the circuit (section 2.3.2 of the source): it reads, settles and writes.

At every turn, T_s = `surface_period` apart, the host reads places and velocities of the points that can touch anything,
moves the tools to where they belong T_s later and settles contact as `rheotwin.constraints` does for lumped masses,

    v' = v + J/m        such that        x + T_s v'  obeys the laws of contact

and writes v'. With a turn in every step that is what particle solvers do: the circuit moves points by the velocities
that a step begins with. Where turns are further apart, a point that touches again after a turn would have kept v' with
a force more, F += m (v' - v)/T_s along J. Where it pushes it goes into the memory of external forces. A turn begins
from velocities without it, so that J is all that the tool has to bear.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.arrays import Array, Flags, Indices
from rheotwin.constraints.contact.lumped import contact_stages
from rheotwin.constraints.contact.near_tools import forget_list
from rheotwin.constraints.contact.pack import grown, pack_contact, restore_contact, save_contact
from rheotwin.kernels.blocks import Now
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.program import Clock, Program
from rheotwin.kernels.stage import Stage
from rheotwin.problem import Problem

Saved = NDArray[Any]
PREFIX = "host."


class Lasting(NamedTuple):
    """Forces (N, 3) [N] of contact until the next turn; velocities (N, 3) [m/s] of the last one, and who touched."""

    force: Array
    written: Array
    touched: Flags


def nothing_lasts(count: int) -> Lasting:
    """Return what there is before any turn."""
    return Lasting(np.zeros((count, 3)), np.zeros((count, 3)), np.zeros(count, dtype=np.bool_))


class Touching:
    """Contact of a problem among places x and velocities v (N, 3) [m, m/s] of its own.

    `stages` settles a step between stages that fill x and v and stages that take what has changed.
    """

    def __init__(self, problem: Problem) -> None:
        self.contact = pack_contact(problem)
        count = len(problem.points)
        self.x, self.v, self.before, self.reaction = (np.zeros((count, 3)) for _ in range(4))
        self.lasting = nothing_lasts(count)
        self.end = np.zeros(1)
        """When a step ends [s]."""

    @property
    def near(self) -> Indices:
        """Points that can touch anything."""
        return self.contact.near

    def stages(self) -> list[Stage]:
        """Return the stages of contact."""
        anywhere = Now(np.full(1, np.inf))
        return contact_stages(self.contact, self.x, self.v, self.reaction, anywhere, Now(self.end))

    def run(
        self, make: Callable[[], Program], first: int, count: int, state: Sequence[NDArray[Any]], made: Program | None
    ) -> Program:
        """Take steps by the program `made`, else by that of `make()`, and return it.

        Where lists were too short, they get more room and the steps are taken anew from `state`.
        """
        program = made or make()
        while True:
            grows = self.contact.bodies is not None
            kept = (self.save(), [array.copy() for array in state]) if grows else None
            forget_list(self.contact.close)
            program.run(first, count)
            if kept is None or not self.contact.full[0]:
                return program
            self.contact = grown(self.contact)
            self.restore(kept[0])
            for array, old in zip(state, kept[1], strict=True):
                array[...] = old
            program = make()

    def save(self) -> dict[str, Saved]:
        """Return what one step hands to the next."""
        return {PREFIX + name: array.copy() for name, array in self._kept.items()} | save_contact(self.contact)

    @property
    def _kept(self) -> dict[str, Saved]:
        return self.lasting._asdict() | {"before_kick": self.contact.before_kick}

    def restore(self, saved: Mapping[str, Saved]) -> bool:
        """Take over what was saved; tell whether stages have to be made anew."""
        for name, array in self._kept.items():
            array[...] = saved[PREFIX + name]
        before, self.contact = self.contact, restore_contact(self.contact, saved)
        return self.contact is not before


def pressing(there: Touching | None, problem: Problem) -> float:
    """Return the mean acceleration [m/s2] that moving tools give to the points they press at the moment."""
    moving = any(tool.motion.moves or tool.drive is not None for tool in problem.tools)
    if there is None or not moving or not there.contact.exerted.active[0]:
        return 0.0
    exerted = there.contact.exerted
    total = float(np.linalg.norm(exerted.tool_force, axis=1).max(initial=0.0))
    return total / int(exerted.active[0]) / float(problem.masses[there.near].mean())


def touching(problem: Problem) -> Touching | None:
    """Return the contact of a problem, None where nothing can touch."""
    found = Touching(problem)
    return None if found.contact.idle else found


@compiled
def read_places(
    near: Indices, position: Array, velocity: Array, centre: Array, x: Array, v: Array, before: Array, end: Array,
    time: float,
) -> None:  # fmt: skip
    """Fill places and velocities of the near points from those of the float form, and say when the step ends."""
    end[0] = time
    for node in near:
        for c in range(3):
            x[node, c] = before[node, c] = position[node, c] + centre[c]
            v[node, c] = velocity[node, c]


@compiled
def give_back(
    near: Indices, position: Array, velocity: Array, centre: Array, x: Array, v: Array, before: Array
) -> None:
    """Take velocities, and places that impacts have shifted, back to the float form."""
    for node in near:
        for c in range(3):
            velocity[node, c] = v[node, c]
            if x[node, c] != before[node, c]:
                position[node, c] = x[node, c] - centre[c]


def float_stages(
    there: Touching, position: Array, velocity: Array, centre: Array, clock: Clock
) -> list[Stage]:  # fmt: skip
    """Return the stages that settle contact of the float form before a step."""
    read = (there.near, position, velocity, centre, there.x, there.v, there.before, there.end, clock.end)
    return [Stage(read_places, read), *there.stages(), Stage(give_back, read[:7])]
