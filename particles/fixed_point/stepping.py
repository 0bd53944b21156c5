"""Circuit and host together: steps with what the host writes before and after each."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.arrays import Indices
from rheotwin.kernels.blocks import STEP, Now
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.program import Clock, Program
from rheotwin.kernels.stage import Stage
from rheotwin.particles.fixed_point.body import CircuitBody
from rheotwin.particles.fixed_point.circuit import OPERATORS, no_overflows, step, tem_of
from rheotwin.particles.fixed_point.kernels import FastCircuit, runs_fast
from rheotwin.particles.fixed_point.prepare import (
    Memories,
    Prepared,
    memories_of,
    read_surface,
    write_after,
    write_before,
    write_surface,
    writes_every_step,
)
from rheotwin.particles.fixed_point.touching import Touching, touching
from rheotwin.schedule import time_of

SIGNALS_OF = {
    "ld": "the rate of an edge",
    "lvd": "the rate of a Voigt part",
    "f": "the force of an edge",
    "F_sum": "the sum of forces on a point",
    "x": "a position",
    "v": "a velocity or acceleration",
    "xr": "a difference of positions or velocities",
    "lambda": "the extension of a Voigt part",
}
"""What OPERATORS make."""


WATCHED = 2
"""Last steps of a call whose velocities are kept."""


class Overflow(NamedTuple):
    """The first step whose words overflow, its end [s], and the classes of operators that do."""

    step: int
    time: float
    operators: tuple[str, ...]

    def __str__(self) -> str:
        return f"{', '.join(f'{SIGNALS_OF[name]} ({name})' for name in self.operators)} at t = {self.time:.6g} s"


class Stepping:
    """Advances the memories of a prepared problem, in compiled loops where these give the same words.

    The body and the loops' copy of it are brought in line only when one of them is needed.
    """

    def __init__(self, prepared: Prepared) -> None:
        self._prepared = prepared
        self._busy = writes_every_step(prepared.model)
        self.there = touching(prepared.model.problem)
        """Contact, None where there is none."""
        self._host = prepared.host
        if self.there is not None:
            self._host = prepared.host._replace(lasting=self.there.lasting)
        self._turn: Program | None = None
        self._whole: Program | None = None
        self._body = prepared.body.copy()
        fast = runs_fast(prepared.constants)
        self._fast = FastCircuit(self._body, prepared.constants, prepared.model.points) if fast else None
        self._copy_is_newer = False
        self._counted = no_overflows()
        self._begun = np.zeros_like(prepared.model.points)
        self.watched = np.zeros((3, *self._body.position.shape), dtype=np.int64)
        """Velocities at the start of the last step but one and of the last, and forces there: of moving supports."""
        self.step_count = 0

    @property
    def kernel(self) -> str:
        """Which form steps the words: `structured`, `unstructured` or `readable`."""
        if self._fast is None:
            return "readable"
        return "structured" if self._fast.lodging.structured else "unstructured"

    @property
    def body(self) -> CircuitBody:
        """The words as they are now, to read."""
        if self._fast is not None and self._copy_is_newer:
            self._fast.store(self._body)
            there = _memories(self._fast)
            self._body.force[:] = there.force[there.places]
            self._copy_is_newer = False
        return self._body

    @property
    def settled(self) -> CircuitBody:
        """The words with velocities of touching points as the last turn wrote them: those that moved the points."""
        if self.there is None or self._host.turns > 1:
            return self.body
        touch = (self.there.v != self._begun).any(axis=1)
        velocity = self.body.velocity.copy()
        velocity[touch] = np.floor(self.there.v[touch] * self._host.words_per_speed + 0.5)
        return self.body._replace(velocity=velocity)

    @property
    def overflows(self) -> Indices:
        """Overflows so far, for good, by class of OPERATORS."""
        return self._counted + self._fast.counters if self._fast is not None else self._counted

    @property
    def overflow_counts(self) -> dict[str, int]:
        """Overflows so far by name of the operator class."""
        return dict(zip(OPERATORS, self.overflows.tolist(), strict=True))

    def take(self, count: int) -> None:
        """Take `count` steps."""
        end, turns, there = self.step_count + count, self._host.turns, self.there
        if there is not None and turns == 1 and self._fast is not None and count > WATCHED:
            make, words = partial(self._touching_steps, there, self._fast), self._fast.words
            self._whole = there.run(make, self.step_count, count - WATCHED, words, self._whole)
            self._copy_is_newer = True
            self.step_count = end - WATCHED
        while there is not None and self.step_count < end:
            if self.step_count % turns == 0:
                make = partial(self._turning, there)
                self._turn = there.run(make, self.step_count // turns, 1, self._there[1:], self._turn)
                self._copy_is_newer = self._fast is not None
            self._go_on(min(end - self.step_count, turns - self.step_count % turns), end)
        if there is None:
            self._go_on(count, end)

    def _touching_steps(self, there: Touching, fast: FastCircuit) -> Program:
        """Return whole steps, each after a turn of contact."""
        clock = Clock()
        after = Stage(write_after, (self._host, self._there, clock.number, float(self._prepared.step)))
        return Program([*self._turn_stages(there, clock), *fast.stages, after], self._own_step, clock)

    @property
    def _own_step(self) -> float:
        """The step [s] by which the circuit moves points: what its constant's bits leave of the one asked for."""
        return float(self._prepared.constants.H.value) * self._prepared.constants.units.time

    def _turning(self, there: Touching) -> Program:
        """Return turns of contact."""
        clock = Clock()
        return Program(self._turn_stages(there, clock), self._host.turns * self._own_step, clock)

    def _turn_stages(self, there: Touching, clock: Clock) -> list[Stage]:
        host, words, h = self._host, self._there, float(self._prepared.step)
        step = np.zeros(1, dtype=np.int64)
        ease, centre = there.contact.contacts.lumped.ease, self._prepared.model.centre
        about = (host, words, there.near, ease, centre, clock.number, host.turns * h, STEP)
        known = (*about, there.x, there.v, there.before, self._begun)
        return [
            Stage(_first_step, (clock.number, host.turns), into=step),
            Stage(write_before, (host, words, Now(step), h)),
            Stage(read_surface, (*known, there.end)),
            *there.stages(),
            Stage(write_surface, known),
        ]

    @property
    def _there(self) -> Memories:
        return memories_of(self._body) if self._fast is None else _memories(self._fast)

    def _go_on(self, count: int, end: int) -> None:
        """Take `count` steps without a turn of contact; those before step `end` are watched."""
        if self._busy:
            there, first, last = self._there, self.step_count, self.step_count + count
            alone = min(last, end - WATCHED) - first
            if self._fast is not None and alone > 0:
                self._with_host.run(first, alone)
                self._copy_is_newer = True
                first += alone
            for number in range(first, last):
                self._take_with_host(there, number, watch=number >= end - WATCHED)
        else:
            self._take(count)
        self.step_count += count

    @cached_property
    def _with_host(self) -> Program:
        """Whole steps with what the host writes before and after them."""
        assert self._fast is not None
        there, clock, host = _memories(self._fast), Clock(), self._host
        before, after = (Stage(write, (host, there, clock.number, STEP)) for write in (write_before, write_after))
        return Program([before, *self._fast.stages, after], float(self._prepared.step), clock)

    def take_safely(self, count: int) -> Overflow | None:
        """Take `count` steps, or as many as there are before and with the first one whose words overflow."""
        kept, before = self.save(), self.overflows.copy()
        self.take(count)
        if np.array_equal(self.overflows, before):
            return None
        # Halve what is between a state without and one with an overflow.
        while count > 1:
            self.restore(kept)
            half = count // 2
            self.take(half)
            if np.array_equal(self.overflows, before):
                kept, count = self.save(), count - half
            else:
                count = half
        self.restore(kept)
        self.take(1)
        lost = [name for name, new, old in zip(OPERATORS, self.overflows, before, strict=True) if new > old]
        return Overflow(self.step_count, time_of(self._prepared.step, self.step_count), tuple(lost))

    def _take(self, count: int) -> None:
        if self._fast is None:
            for _ in range(count):
                step(self._body, self._prepared.constants, self._counted)
        else:
            self._fast.advance(count)
            self._copy_is_newer = True

    def _take_with_host(self, there: Memories, number: int, *, watch: bool) -> None:
        h, host = float(self._prepared.step), self._host
        write_before(host, there, number, h)
        if watch:
            if self._fast is not None:
                self._copy_is_newer = True
            self.watched[0] = self.watched[1]
            self.watched[1:] = self.body.velocity, self.forces
        self._take(1)
        write_after(host, there, number, h)

    @property
    def forces(self) -> Indices:
        """What pulls at every point (N, 3), raw and in full length: its load and its edges."""
        body, (start, end) = self.settled, self.body[:2]
        found = tem_of(body, self._prepared.constants)
        pull = self._host.external * self._host.words_per_newton
        total = np.asarray(np.floor(pull + 0.5), dtype=np.int64)
        np.add.at(total, end, found.forces)
        np.subtract.at(total, start, found.forces)
        return total

    def save(self) -> dict[str, NDArray[Any]]:
        """Return words, counters and steps."""
        words = {name: array.copy() for name, array in self.body._asdict().items()}
        counts = {"overflows": self.overflows.copy(), "watched": self.watched.copy()}
        touching = {} if self.there is None else self.there.save()
        return words | counts | touching | {"step_count": np.array(self.step_count)}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take over what was saved."""
        for name, array in self._body._asdict().items():
            array[...] = state[name]
        self.watched[...] = state["watched"]
        self._copy_is_newer = False
        self._counted = np.asarray(state["overflows"], dtype=np.int64).copy()
        if self._fast is not None:
            self._fast.load(self._body)
            self._fast.counters[:] = 0
        self.step_count = int(state["step_count"])
        if self.there is not None and self.there.restore(state):
            self._turn = self._whole = None


@compiled
def _first_step(number: float, turns: int) -> int:
    return int(number) * turns


def _memories(fast: FastCircuit) -> Memories:
    """Return the memories of the compiled loops."""
    size = fast.lodging.size
    return Memories(fast.lodging.words, fast.motion[:size], fast.motion[size:], fast.external)
