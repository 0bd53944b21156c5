"""Scenes whose supports come and go: ranges and trials through all phases, before any of them begins."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from rheotwin.arrays import Array
from rheotwin.particles.fixed_point.model import build_model, choose_step, float_body, float_parts, run_reference
from rheotwin.particles.fixed_point.prepare import FixedPointOptions, Modelled, relaxing_of
from rheotwin.particles.fixed_point.ranges import check_length, ranges_of, sample_steps
from rheotwin.particles.fixed_point.touching import pressing, touching
from rheotwin.phases import Phases
from rheotwin.problem import Problem
from rheotwin.schedule import time_of
from rheotwin.solver import Capabilities

PEAKS = "peaks"


class FloatForm:
    """The float form as the simulation of one phase."""

    def __init__(self, problem: Problem, options: FixedPointOptions) -> None:
        self.model = build_model(problem, match=options.match, relaxing=relaxing_of(problem, options))
        self.step = choose_step(self.model, options.step, options.safety)
        self.step_size, self.step_count = float(self.step), 0
        self.body, self.there, self._parts = float_body(self.model), touching(problem), float_parts(self.model)

    @property
    def time(self) -> float:
        """Time reached [s]."""
        return time_of(self.step, self.step_count)

    @property
    def positions(self) -> Array:
        """Current node positions (N, d) [m]."""
        return (self.body.position + self.model.centre)[:, : self.model.problem.dimension]

    def advance(self, until: float, max_steps: int) -> None:
        """Step towards `until` [s], at most `max_steps` steps."""
        count = max(0, min(round(until / self.step_size) - self.step_count, max_steps))
        run_reference(self._parts, self.body, self.step_count, count, self.step_size, self.there)
        self.step_count += count

    def save(self) -> dict[str, NDArray[Any]]:
        """Return the state."""
        found = {name: array.copy() for name, array in self.body._asdict().items()}
        found |= {} if self.there is None else self.there.save()
        return found | {"step_count": np.array(self.step_count)}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take over a saved state."""
        for name, array in self.body._asdict().items():
            array[...] = state[name]
        if self.there is not None:
            self.there.restore(state)
        self.step_count = int(state["step_count"])


class FloatSolver:
    """Starts the float form; it knows no more of a solver than phases ask for."""

    name: ClassVar[str] = "fixed-point"
    description: ClassVar[str] = "the circuit in double precision"
    options: ClassVar[type[BaseModel]] = FixedPointOptions
    capabilities: ClassVar[Capabilities]

    def start(self, problem: Problem, options: BaseModel) -> Any:
        """Begin a phase."""
        assert isinstance(options, FixedPointOptions)
        return FloatForm(problem, options)


def first_phase(problem: Problem) -> Problem:
    """Return the problem of the first phase."""
    return replace(problem, prescribed=tuple(item for item in problem.prescribed if item.begin <= 0.0 < item.end))


def modelled_in_phases(problem: Problem, options: FixedPointOptions) -> Modelled:
    """Return the model of the first phase, the step of all, and the ranges of the whole scene."""
    run: Any = Phases(FloatSolver(), problem, options)
    model, step, samples, pressed = run.model, run.step, [], 0.0
    steps = check_length(model, float(step))
    for last in sample_steps(steps)[1:]:
        run.advance(time_of(step, last), steps)
        samples.append((last, run.body.position.copy()))
        pressed = max(pressed, pressing(run.there, problem))
    return Modelled(model, step, ranges_of(run.body, float(step), steps, samples, pressed))


def words_in_phases(problem: Problem, options: FixedPointOptions, solver: Any) -> Any:
    """Return a run through all phases whose overflows are counted and do not end it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Phases(solver, problem, options.model_copy(update={"stop": False, "analyse": False}))
