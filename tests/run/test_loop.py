"""The run loop with a clock instead of a model: who is called when, and how a run ends."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheotwin.build import build_problem
from rheotwin.errors import EXIT_DIVERGED, EXIT_INTERRUPTED, EXIT_OK, Diverged
from rheotwin.loop import check_finite, run_loop
from rheotwin.observers import Observer, Watched
from rheotwin.problem import Problem
from rheotwin.scene import Scene
from rheotwin.schedule import Stop, plan


class Clock:
    """A simulation whose nodes move at 1 m/s in x; `after` may do something once a step is taken."""

    stable_step = 0.5

    def __init__(self, problem: Problem, step: Fraction, after: Callable[[Clock], None] = lambda clock: None) -> None:
        self._step, self._after = step, after
        self.step_size, self.step_count = float(step), 0
        self.calls: list[int] = []
        self._rest = problem.points
        self.positions, self.velocities = problem.points.copy(), np.zeros_like(problem.points)

    @property
    def time(self) -> float:
        return float(self._step * self.step_count)

    def advance(self, until: float, max_steps: int) -> None:
        self.calls.append(max_steps)
        for _ in range(max(0, min(round(until / self.step_size) - self.step_count, max_steps))):
            self.step_count += 1
            self.positions[:, 0] = self._rest[:, 0] + self.time
            self._after(self)

    def fields(self) -> dict[str, Any]:
        return {}

    reactions = energy = statistics = save = fields

    def restore(self, state: Mapping[str, Any]) -> None:
        raise AssertionError("not asked for")


class Diary(Observer):
    """Notes every call in a list shared by several observers."""

    def __init__(self, name: str, notes: list[tuple[Any, ...]]) -> None:
        self._name, self._notes = name, notes

    def start(self, run: Watched) -> None:
        self._notes.append((self._name, "start", run.simulation.time))

    def tick(self, run: Watched) -> None:
        self._notes.append((self._name, "tick", run.simulation.time))

    def stop(self, run: Watched, stop: Stop) -> None:
        assert run.simulation.time == pytest.approx(stop.time, abs=0.51 * run.simulation.step_size)
        self._notes.append((self._name, "stop", stop.time))

    def finish(self, run: Watched, *, status: str, message: str) -> None:
        self._notes.append((self._name, "finish", status))


def watched(problem: Problem, step: str = "1/100", after: Callable[[Clock], None] = lambda clock: None) -> Watched:
    """Return a clock to watch; its nodes do not feel the bar, which would stop the run for it."""
    problem = replace(problem, tools=())
    return Watched(problem, Clock(problem, Fraction(step), after), problem.scene.duration)


def test_observers_are_called_in_their_order(problem_with: Callable[..., Problem]) -> None:
    run, notes = watched(problem_with()), []
    outcome = run_loop(run, plan(run.problem.scene), [Diary("a", notes), Diary("b", notes)])
    assert (outcome.status, outcome.exit_code, outcome.message) == ("complete", EXIT_OK, "")
    assert (outcome.time, outcome.steps) == (pytest.approx(0.4), 40)
    assert 0.0 <= outcome.solve_seconds <= outcome.loop_seconds
    # every note of a is followed at once by the same note of b
    assert [(what, when) for name, what, when in notes if name == "a"] == [note[1:] for note in notes[1::2]]
    assert {note[0] for note in notes[::2]} == {"a"}
    mine = [note[1:] for note in notes[::2]]
    assert mine[0] == ("start", 0.0) and mine[1] == ("stop", 0.0) and mine[-1] == ("finish", "complete")
    stops = [when for what, when in mine if what == "stop"]
    assert stops == pytest.approx([0.05 * index for index in range(9)])
    assert all(what == "tick" for what, _ in mine[2:-1] if what != "stop")


def test_chunks_grow_while_they_are_quick_and_never_pass_a_stop(problem_with: Callable[..., Problem]) -> None:
    run = watched(problem_with(), "1/1000000")
    run_loop(run, [Stop(0.2, True, True, False)], [])
    calls = run.simulation.calls  # type: ignore[attr-defined]
    assert calls[0] == 16 and max(calls) > 1000
    assert run.simulation.step_count == 200_000


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_run_after_the_chunk(problem_with: Callable[..., Problem], number: int) -> None:
    before = signal.getsignal(number)

    def after(clock: Clock) -> None:
        if clock.step_count == 12:
            signal.raise_signal(number)

    run, notes = watched(problem_with(), after=after), []
    outcome = run_loop(run, plan(run.problem.scene), [Diary("a", notes)])
    assert (outcome.status, outcome.exit_code) == ("interrupted", EXIT_INTERRUPTED)
    assert outcome.message == f"interrupted at t = {outcome.time:.6g} s"
    assert 0.12 <= outcome.time < 0.2
    assert notes[-1] == ("a", "finish", "interrupted")
    assert signal.getsignal(number) is before, "the handler is put back"


def test_a_resumed_run_repeats_the_stop_it_stands_at_and_none_before(problem_with: Callable[..., Problem]) -> None:
    # The run may have been stopped before what is due at that very time was written; writers ignore repetitions.
    run, notes = watched(problem_with()), []
    run.simulation.advance(0.2, 100)
    run_loop(run, plan(run.problem.scene), [Diary("a", notes)])
    stops = [when for _, what, when in notes if what == "stop"]
    assert stops == pytest.approx([0.2, 0.25, 0.3, 0.35, 0.4])


def test_a_runaway_node_is_divergence_with_time_place_and_advice(problem_with: Callable[..., Problem]) -> None:
    def after(clock: Clock) -> None:
        if clock.step_count == 23:
            clock.positions[7] = 1e3

    run, notes = watched(problem_with(), after=after), []
    outcome = run_loop(run, plan(run.problem.scene), [Diary("a", notes)])
    x, y = run.problem.points[7]
    assert (outcome.status, outcome.exit_code) == ("diverged", EXIT_DIVERGED)
    assert f"the run diverged at t = {outcome.time:.6g} s in body 'block' at node 7" in outcome.message
    assert f"(rest position {x:.4g}, {y:.4g})" in outcome.message
    assert "reduce the step (now 0.01 s, stable below about 0.5 s)" in outcome.message
    assert notes[-1] == ("a", "finish", "diverged")
    assert max(when for _, what, when in notes if what == "stop") == pytest.approx(0.2)


@pytest.mark.parametrize("poison", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", ["positions", "velocities"])
def test_no_number_that_is_not_finite_gets_past(
    problem_with: Callable[..., Problem], poison: float, where: str
) -> None:
    run = watched(problem_with())
    check_finite(run)
    getattr(run.simulation, where)[3, 1] = poison
    with pytest.raises(Diverged, match=r"at node 3 \("):
        check_finite(run)


def test_the_node_is_counted_within_its_body(problem_with: Callable[..., Problem]) -> None:
    twin = {"shape": "box", "size": [0.2, 0.1], "cells": [4, 2], "law": "dough", "mass": 1.0, "origin": [1.0, 0.0]}
    run = watched(problem_with({"bodies.twin": twin}))
    run.simulation.positions[18] = np.nan
    with pytest.raises(Diverged, match="in body 'twin' at node 3 "):
        check_finite(run)


ROD = {
    "schema": 1,
    "dimension": 1,
    "duration": 1.0,
    "laws": {"gel": {"model": "elastic", "young": 1.0, "poisson": 0.0}},
    "bodies": {"rod": {"shape": "box", "size": [1.0], "cells": [1], "law": "gel", "mass": 1.0}},
}
ROD_PROBLEM = build_problem(Scene.model_validate(ROD))


@settings(max_examples=200, deadline=2000)
@given(times=st.lists(st.floats(1e-3, 1.0), min_size=1, max_size=5, unique=True), step=st.floats(1e-3, 0.7))
def test_any_times_are_reached_to_half_a_step_with_any_step(times: list[float], step: float) -> None:
    run, seen = Watched(ROD_PROBLEM, Clock(ROD_PROBLEM, Fraction(step)), 1.0), []

    class Near(Observer):
        def stop(self, run: Watched, stop: Stop) -> None:
            seen.append(stop.time)
            assert abs(run.simulation.time - stop.time) <= step * 0.5 * (1 + 1e-12)

        def tick(self, run: Watched) -> None:
            assert len(run.simulation.calls) < 2000, "the loop does not end"  # type: ignore[attr-defined]

    stops = [Stop(time, True, True, False) for time in sorted(times)]
    run_loop(run, stops, [Near()])
    assert seen == sorted(times)


@pytest.mark.parametrize("half", [1.5, 2.5, 3.5, 4.5, 27.5])
@pytest.mark.parametrize("step", [0.1, 0.3, 1 / 3, 0.007, 1e-3])
def test_a_time_halfway_between_two_steps_does_not_hold_the_loop_up(half: float, step: float) -> None:
    class Impatient(Observer):
        def tick(self, run: Watched) -> None:
            assert len(run.simulation.calls) < 100, "the loop does not end"  # type: ignore[attr-defined]

    for time in (half * step, np.nextafter(half * step, 0.0), np.nextafter(half * step, 9.0)):
        run = Watched(ROD_PROBLEM, Clock(ROD_PROBLEM, Fraction(step)), 1.0)
        run_loop(run, [Stop(float(time), True, True, False)], [Impatient()])
        assert abs(run.simulation.time - time) <= 0.5 * step * (1 + 1e-9)


def test_a_fault_while_writing_is_kept_in_the_manifest(run: Callable[..., Any], tmp_path: Path) -> None:
    from rheotwin.record import load_manifest

    class Clumsy(Observer):
        def stop(self, run: Watched, stop: Stop) -> None:
            if stop.time > 0.15:
                raise ValueError("a plug-in slipped")

    with pytest.raises(ValueError, match="slipped"):
        run("fem", observers=[Clumsy()])
    manifest = load_manifest(tmp_path / "run")
    assert (manifest.status, manifest.message) == ("failed", "ValueError: a plug-in slipped")


def test_every_observer_is_closed_when_one_of_them_fails(problem_with: Callable[..., Problem]) -> None:
    """Else a progress bar would leave the terminal's cursor hidden."""

    class Clumsy(Observer):
        def stop(self, run: Watched, stop: Stop) -> None:
            raise ValueError("slipped")

    notes: list[tuple[Any, ...]] = []
    run = watched(problem_with())
    with pytest.raises(ValueError, match="slipped"):
        run_loop(run, plan(run.problem.scene), [Diary("bar", notes), Clumsy()])
    assert notes[-1] == ("bar", "finish", "failed")
