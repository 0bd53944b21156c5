"""The run loop with a clock instead of a model: who is called when, and how a run ends."""

import signal
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from rheotwin.constraints.contact.setup import ToolDrive
from rheotwin.constraints.motion import Motion
from rheotwin.errors import EXIT_DIVERGED, EXIT_INTERRUPTED, EXIT_OK, Diverged, Stopped
from rheotwin.loop import check_finite, check_tools, own_way, run_loop
from rheotwin.observers import Observer, Watched
from rheotwin.problem import Problem
from rheotwin.record import load_manifest
from rheotwin.schedule import Stop, plan
from rheotwin.validation.checks.running import FLOOR, box_scene, problem_of
from tests.conftest import TWIN, problem_with, run

Notes = list[tuple[Any, ...]]


class Clock:
    """A simulation whose nodes move at 1 m/s in x; `after` may do something once a step is taken."""

    stable_step = 0.5

    def __init__(self, problem: Problem, step: Fraction, after: Callable[[Any], object]) -> None:
        self._step, self._after, self._rest = step, after, problem.points
        self.step_size, self.step_count = float(step), 0
        self.calls: list[int] = []
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

    def __init__(self, name: str, notes: Notes) -> None:
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


class Clumsy(Observer):
    """Slips at the second stop."""

    def stop(self, run: Watched, stop: Stop) -> None:
        if stop.time > 0.01:
            raise ValueError("a plug-in slipped")


def watched(problem: Problem | None = None, step: str = "1/100", after: Callable[[Any], object] = id) -> Watched:
    problem = replace(problem or problem_with(), tools=())
    return Watched(problem, Clock(problem, Fraction(step), after), problem.scene.duration)


def looped(run: Watched, *names: str) -> tuple[Any, Notes]:
    notes: Notes = []
    return run_loop(run, plan(run.problem.scene), [Diary(name, notes) for name in names]), notes


def test_observers_are_called_in_their_order() -> None:
    outcome, notes = looped(watched(), "a", "b")
    assert (outcome.status, outcome.exit_code, outcome.message) == ("complete", EXIT_OK, "")
    assert (outcome.time, outcome.steps) == (pytest.approx(0.4), 40)
    assert 0.0 <= outcome.solve_seconds <= outcome.loop_seconds
    # every note of a is followed at once by the same note of b
    mine = [note[1:] for note in notes if note[0] == "a"]
    assert mine == [note[1:] for note in notes[1::2]] == [note[1:] for note in notes[::2]]
    assert mine[0] == ("start", 0.0) and mine[1] == ("stop", 0.0) and mine[-1] == ("finish", "complete")
    assert [when for what, when in mine if what == "stop"] == pytest.approx([0.05 * index for index in range(9)])
    assert all(what == "tick" for what, _ in mine[2:-1] if what != "stop")


def test_chunks_grow_and_a_resumed_run_repeats_the_stop_it_stands_at() -> None:
    run = watched(step="1/1000000")
    run_loop(run, [Stop(0.2, True, True, False)], [])
    calls = run.simulation.calls  # type: ignore[attr-defined]
    assert calls[0] == 16 and max(calls) > 1000 and run.simulation.step_count == 200_000
    # It may have been stopped before what is due at that very time was written; writers ignore repetitions.
    run = watched()
    run.simulation.advance(0.2, 100)
    _, notes = looped(run, "a")
    assert [when for _, what, when in notes if what == "stop"] == pytest.approx([0.2, 0.25, 0.3, 0.35, 0.4])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_run_after_the_chunk(number: int) -> None:
    before = signal.getsignal(number)

    def after(clock: Clock) -> None:
        if clock.step_count == 12:
            signal.raise_signal(number)

    outcome, notes = looped(watched(after=after), "a")
    assert (outcome.status, outcome.exit_code) == ("interrupted", EXIT_INTERRUPTED)
    assert outcome.message == f"interrupted at t = {outcome.time:.6g} s"
    assert 0.12 <= outcome.time < 0.2 and notes[-1] == ("a", "finish", "interrupted")
    assert signal.getsignal(number) is before, "the handler is put back"


def test_a_runaway_node_is_divergence_with_time_place_and_advice() -> None:
    def after(clock: Clock) -> None:
        if clock.step_count == 23:
            clock.positions[7] = 1e3

    run = watched(after=after)
    outcome, notes = looped(run, "a")
    x, y = run.problem.points[7]
    assert (outcome.status, outcome.exit_code) == ("diverged", EXIT_DIVERGED)
    assert f"the run diverged at t = {outcome.time:.6g} s in body 'block' at node 7" in outcome.message
    assert f"(rest position {x:.4g}, {y:.4g})" in outcome.message
    assert "reduce the step (now 0.01 s, stable below about 0.5 s)" in outcome.message
    assert notes[-1] == ("a", "finish", "diverged")
    assert max(when for _, what, when in notes if what == "stop") == pytest.approx(0.2)


@pytest.mark.parametrize("poison", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", ["positions", "velocities"])
def test_no_number_that_is_not_finite_gets_past(poison: float, where: str) -> None:
    """The node is counted within its body."""
    run = watched(problem_with({"bodies.twin": TWIN}))
    check_finite(run)
    getattr(run.simulation, where)[18, 1] = poison
    with pytest.raises(Diverged, match=r"in body 'twin' at node 3 \("):
        check_finite(run)


ROD = problem_of(box_scene({"model": "elastic", "young": 1.0, "poisson": 0.0}, cells=[1], mass=1.0))


@settings(max_examples=200, deadline=2000)
@given(times=st.lists(st.floats(1e-3, 1.0), min_size=1, max_size=5, unique=True), step=st.floats(1e-3, 0.7))
def test_any_times_are_reached_to_half_a_step_with_any_step(times: list[float], step: float) -> None:
    run, seen = Watched(ROD, Clock(ROD, Fraction(step), id), 1.0), []

    class Near(Observer):
        def stop(self, run: Watched, stop: Stop) -> None:
            seen.append(stop.time)
            assert abs(run.simulation.time - stop.time) <= step * 0.5 * (1 + 1e-12)

        def tick(self, run: Watched) -> None:
            assert len(run.simulation.calls) < 2000, "the loop does not end"  # type: ignore[attr-defined]

    run_loop(run, [Stop(time, True, True, False) for time in sorted(times)], [Near()])
    assert seen == sorted(times)


@pytest.mark.parametrize("half", [1.5, 2.5, 3.5, 4.5, 27.5])
@pytest.mark.parametrize("step", [0.1, 0.3, 1 / 3, 0.007, 1e-3])
def test_a_time_halfway_between_two_steps_does_not_hold_the_loop_up(half: float, step: float) -> None:
    class Impatient(Observer):
        def tick(self, run: Watched) -> None:
            assert len(run.simulation.calls) < 100, "the loop does not end"  # type: ignore[attr-defined]

    for time in (half * step, np.nextafter(half * step, 0.0), np.nextafter(half * step, 9.0)):
        run = Watched(ROD, Clock(ROD, Fraction(step), id), 1.0)
        run_loop(run, [Stop(float(time), True, True, False)], [Impatient()])
        assert abs(run.simulation.time - time) <= 0.5 * step * (1 + 1e-9)


def test_faults_of_observers_are_kept_and_all_are_closed() -> None:
    with pytest.raises(ValueError, match="slipped"):
        run("fem", observers=[Clumsy()])
    manifest = load_manifest(Path("run"))
    assert (manifest.status, manifest.message) == ("failed", "ValueError: a plug-in slipped")
    # Else a progress bar would leave the terminal's cursor hidden.
    notes: Notes = []
    clock = watched()
    with pytest.raises(ValueError, match="slipped"):
        run_loop(clock, plan(clock.problem.scene), [Diary("bar", notes), Clumsy()])
    assert notes[-1] == ("bar", "finish", "failed")


def thrown_brick() -> Problem:
    """A brick of 1 kg that falls beside a block of 0.2 x 0.1 m for ten seconds."""
    brick = {"shape": "box", "center": [0.5, 0.2], "size": [0.14, 0.06]}
    drive = {"mass": 1.0, "moment_of_inertia": 1.0, "free": ["x", "y", "angle"]}
    law = {"model": "voigt", "young": 1e4, "poisson": 0.25, "viscosity": 10.0}
    more = {"tools": {"brick": brick | {"drive": drive}}, "contact": {"law": "exact"}, "gravity": [0.0, -9.8]}
    return problem_of(box_scene(law, cells=[2, 1], size=[0.2, 0.1], density=1e3, duration=10.0, supports=FLOOR, **more))


def at(pose: list[float], time: float) -> Watched:
    """Return a run whose brick is in a pose at a time [s]."""
    simulation = SimpleNamespace(time=time, step_size=1e-3, tool_poses=lambda: np.array([pose]))
    return Watched(thrown_brick(), cast(Any, simulation), 10.0)


@pytest.mark.parametrize("pose", [[0.0, -490.0, 0.0, 0.0], [0.0, 490.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1e9]])
def test_what_its_own_forces_can_do_is_its_own(pose: list[float]) -> None:
    """Falling for ten seconds, thrown back to where it fell from and beyond, or turning."""
    check_tools(at(pose, 10.0))


@pytest.mark.parametrize("pose", [[0.0, 23.0, 0.0, 0.0], [-23.0, 0.0, 0.0, 0.0], [0.0, np.nan, 0.0, 0.0]])
def test_a_tool_that_was_thrown_off_is_named(pose: list[float]) -> None:
    """Further than a hundred diagonals of the block, 22.4 m, while it can have fallen 4.9 mm."""
    check_tools(at([0.0, 22.0, 0.0, 0.0], 0.03))
    with pytest.raises(Stopped, match=r"diverged at t = 0\.03 s at tools\.brick, (23|nan) m from where it started"):
        check_tools(at(pose, 0.03))


def test_the_run_loop_stops_for_it() -> None:
    """The brick is gone in the second step: the outcome says so, and that the run diverged."""
    problem = thrown_brick()
    clock: Any = Clock(problem, Fraction(1, 100), id)
    clock.tool_poses = lambda: np.array([[0.0, 1e3 if clock.step_count > 1 else 0.0, 0.0, 0.0]])
    plain = clock.advance
    clock.advance = lambda until, most: plain(until, 1)
    outcome = run_loop(Watched(problem, clock, 10.0), plan(problem.scene), [])
    assert (outcome.status, outcome.exit_code, outcome.steps) == ("diverged", EXIT_DIVERGED, 2)
    assert "tools.brick" in outcome.message


@pytest.mark.parametrize("time", [0.0, 0.5, 1.5, 4.0])
def test_the_own_way_is_the_double_integral(time: float) -> None:
    """int (t - s) |F(s)|/M ds + |v0| t of forces along one axis; a driven component does not count."""
    table = np.zeros((3, 4))
    table[:, 0], table[:, 1] = [2.0, 6.0, 6.0], 1e6
    motion = Motion(np.array([0.0, 1.0, 2.0]), table)
    drive = ToolDrive((True, False, False, False), 2.0, 0.0, motion, (-3.0, 9.0, 0, 0))
    exact = quad(lambda s: (time - s) * drive.force.at(s)[0] / 2.0, 0.0, time, points=[1.0, 2.0])[0]
    assert own_way(drive, time) == pytest.approx(exact + 3.0 * time, rel=1e-9)
