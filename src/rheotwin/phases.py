"""A simulation whose supports come and go: one phase after the other, each a problem of its own.

A support acts from `begin` to `end`. Between two such times nothing changes, so every solver knows how to run it; at
the border the state of one phase is what the next one starts with. A support that begins later holds its nodes where
they are then and moves them on from there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from pydantic import BaseModel

from rheotwin.arrays import Array
from rheotwin.constraints.motion import Motion
from rheotwin.errors import RheotwinError
from rheotwin.problem import Prescribed, Problem
from rheotwin.solver import Simulation, Solver

PLACES = "support_places."
"""Prefix of what a checkpoint says about where a support found its nodes."""


def borders(problem: Problem) -> list[float]:
    """Return the times [s] inside the run at which a support begins or ends."""
    times = {time for item in problem.prescribed for time in (item.begin, item.end)}
    return sorted(time for time in times if 0.0 < time < problem.scene.duration)


def start_simulation(solver: Solver, problem: Problem, options: BaseModel) -> Simulation:
    """Start a solver on a problem, in phases where supports come or go."""
    if not borders(problem):
        return solver.start(problem, options)
    settle = getattr(solver, "settle", None)
    chosen, about = (options, {}) if settle is None else settle(problem, options)
    return Phases(solver, problem, chosen, about)


class Phases:
    """A `Simulation` made of those of its phases; everything but time-dependent supports is theirs.

    A solver that chooses options from its problem has `settle(problem, options)`, which is asked before the first phase
    begins: it returns those of all phases, and what statistics are to say of the choice (`about`).
    """

    def __init__(
        self, solver: Solver, problem: Problem, options: BaseModel, about: Mapping[str, Any] | None = None
    ) -> None:
        self._solver, self._problem, self._options, self._about = solver, problem, options, dict(about or {})
        self._borders = borders(problem)
        self._found: dict[str, Array] = {}
        """Displacement (n, components) [m] at which supports that begin later found their nodes."""
        first = solver.start(self._at(0.0), options)
        chosen = options
        steps = [first.step_size, *(solver.start(self._at(time), chosen).step_size for time in self._borders)]
        if min(steps) != max(steps):
            if "step" not in type(options).model_fields:
                raise RheotwinError(
                    f"solver '{solver.name}': its step depends on the supports, and it has no option `step`"
                )
            chosen = chosen.model_copy(update={"step": min(steps)})
        self._options, self._end = chosen, self._borders[0]
        self._now = first if chosen == options else solver.start(self._at(0.0), chosen)

    def _at(self, time: float) -> Problem:
        """Return the problem of the phase that begins at `time` [s]."""
        present = [item for item in self._problem.prescribed if item.begin <= time < item.end]
        return replace(self._problem, prescribed=tuple(part for item in present for part in self._placed(item)))

    def _placed(self, item: Prescribed) -> Iterator[Prescribed]:
        """Yield a support; one that began later node by node, each moving from the place where it was found."""
        if item.name not in self._found:
            yield item
            return
        motion, begin = item.motion, item.motion.at(item.begin)
        for number, (node, place) in enumerate(zip(item.nodes, self._found[item.name], strict=True)):
            shift = np.zeros(self._problem.dimension)
            shift[list(item.components)] = place
            moved = Motion(motion.times, motion.values - begin + shift, motion.smooth)
            yield replace(item, name=f"{item.name}#{number}", nodes=np.array([node]), motion=moved)

    def _go_on(self) -> None:
        """Begin the next phase where the last one ended."""
        time, state = self._end, self._now.save()
        moved = self._now.positions - self._problem.points
        for item in self._problem.prescribed:
            if item.begin == time:
                self._found[item.name] = moved[np.ix_(item.nodes, np.array(item.components))]
        self._enter(time)
        self._now.restore(state)

    def _enter(self, time: float) -> None:
        later = [border for border in self._borders if border > time]
        self._now = self._solver.start(self._at(time), self._options)
        self._end = later[0] if later else np.inf

    def _ended(self) -> bool:
        return self._now.time >= self._end - 0.5 * self._now.step_size

    def advance(self, until: float, max_steps: int) -> None:
        """Step towards `until` [s], at most `max_steps` steps, through as many phases as lie between."""
        first = self._now.step_count
        while True:
            if self._ended() and until > self._end:
                self._go_on()
            left = max_steps - (self._now.step_count - first)
            self._now.advance(min(until, self._end), left)
            if not self._ended() or until <= self._end or self._now.step_count - first >= max_steps:
                return

    def reactions(self) -> dict[str, Array]:
        """Return the forces [N] on tools and supports; zero on those that are not there at the moment."""
        found = dict(self._now.reactions())
        for item in self._problem.prescribed:
            found.setdefault(f"support.{item.support}", np.zeros(self._problem.dimension))
        return found

    def statistics(self) -> dict[str, Any]:
        """Return those of the phase, and what was known before the first."""
        return self._now.statistics() | self._about

    def save(self) -> dict[str, Array]:
        """Return the state of the phase, and where supports found their nodes."""
        return self._now.save() | {PLACES + name: places.copy() for name, places in self._found.items()}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Take over a saved state, in the phase it was saved in."""
        self._found = {
            key.removeprefix(PLACES): np.array(value) for key, value in state.items() if key.startswith(PLACES)
        }
        time = float(state["step_count"]) * self._now.step_size
        begun = [border for border in self._borders if time > border + 0.5 * self._now.step_size]
        self._enter(begun[-1] if begun else 0.0)
        self._now.restore({key: value for key, value in state.items() if not key.startswith(PLACES)})

    def __getattr__(self, name: str) -> Any:
        """Leave all else to the simulation of the phase."""
        return getattr(self._now, name)
