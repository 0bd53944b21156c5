"""A run that was stopped and resumed leaves the very files of the run that never was, byte by byte."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from rheotwin.errors import EXIT_INTERRUPTED, RheotwinError
from rheotwin.observers import Observer, Watched
from rheotwin.record import load_manifest, open_record
from rheotwin.run import resume_run

Run = Callable[..., tuple[Path, Any]]
PLANNED = 0.05
"""All times of the scene are multiples of this [s]."""
ADAPTIVE = {"output": {"adaptive": {"shortest": 0.01, "longest": 0.13, "change": 1.7e-3}, "checkpoint_interval": 0.17}}
# A step of 1/2000 s makes 100 steps between two planned times, so that the loop looks up in between, too.
FINE = {"solvers.fem.step": 5e-4, "solvers.truss.step": 5e-4}


class CtrlC(Observer):
    """Presses ctrl-C once at the first glance after `time` that is (or is not) on a planned time."""

    def __init__(self, time: float, *, on_planned_time: bool, rhythm: float = PLANNED) -> None:
        self._time, self._on_planned, self._rhythm = time, on_planned_time, rhythm
        self.pressed_at: float | None = None

    def tick(self, run: Watched) -> None:
        now = run.simulation.time
        on_planned = abs(now / self._rhythm - round(now / self._rhythm)) < 1e-6
        if self.pressed_at is None and now >= self._time - 1e-9 and on_planned == self._on_planned:
            self.pressed_at = now
            signal.raise_signal(signal.SIGINT)


def hdf_contents(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    with h5py.File(path, "r") as file:
        file.visititems(lambda name, item: found.update({name: item[()]} if isinstance(item, h5py.Dataset) else {}))
        found["NSteps"] = np.array(file["VTKHDF/Steps"].attrs["NSteps"])
    return found


def cut_off(folder: Path) -> None:
    """Let a record look as a kill leaves it: still running."""
    path = folder / "manifest.json"
    text = path.read_text()
    assert text.count('"status": "complete"') == 1
    path.write_text(text.replace('"status": "complete"', '"status": "running"'))


def assert_same_record(left: Path, right: Path) -> None:
    names = {path.relative_to(left) for path in left.rglob("*") if path.is_file()}
    others = {path.relative_to(right) for path in right.rglob("*") if path.is_file()}
    ignored = {name for name in names | others if name.parts[0] == "checkpoints"} | {Path("manifest.json")}
    assert names - ignored == others - ignored
    assert (left / "probes.csv").read_bytes() == (right / "probes.csv").read_bytes()
    for name in names - ignored:
        if name.suffix == ".vtkhdf":
            mine, theirs = hdf_contents(left / name), hdf_contents(right / name)
            assert mine.keys() == theirs.keys()
            for key, values in mine.items():
                np.testing.assert_array_equal(values, theirs[key], err_msg=key)
        else:
            assert (left / name).read_bytes() == (right / name).read_bytes(), name
    last, other = open_record(left).checkpoint(), open_record(right).checkpoint()
    assert last.keys() == other.keys()
    for key, values in last.items():
        assert np.asarray(values).tobytes() == np.asarray(other[key]).tobytes(), key


@pytest.mark.parametrize("on_planned_time", [True, False], ids=["on a planned time", "between planned times"])
def test_interrupted_and_resumed_equals_uninterrupted(
    run: Run, solver: str, series_format: str, on_planned_time: bool
) -> None:
    whole, outcome = run(solver, FINE, name="whole", format=series_format)
    assert outcome.status == "complete"
    # chunks of steps grow, so the loop looks up between planned times only early on
    ctrl_c = CtrlC(0.2 if on_planned_time else 0.055, on_planned_time=on_planned_time)
    folder, outcome = run(solver, FINE, name="parts", format=series_format, observers=[ctrl_c])
    assert (outcome.status, outcome.exit_code) == ("interrupted", EXIT_INTERRUPTED)
    assert outcome.time == ctrl_c.pressed_at
    manifest = load_manifest(folder)
    assert (manifest.status, manifest.step.count) == ("interrupted", outcome.steps)
    assert open_record(folder).times[-1] <= outcome.time

    resumed = resume_run(folder)
    assert (resumed.status, resumed.steps) == ("complete", 800)
    assert load_manifest(folder).status == "complete"
    assert load_manifest(folder).message == ""
    assert_same_record(folder, whole)


@pytest.mark.parametrize("on_planned_time", [True, False], ids=["on a planned time", "between planned times"])
def test_adaptive_frames_do_not_depend_on_where_a_run_was_stopped(
    run: Run, solver: str, series_format: str, on_planned_time: bool
) -> None:
    changes = {**ADAPTIVE, **FINE}
    whole, _ = run(solver, changes, name="whole", format=series_format)
    assert 6 < len(open_record(whole).times) < 35, "neither every planned time nor only the longest interval"
    ctrl_c = CtrlC(0.125, on_planned_time=True, rhythm=0.01)
    folder, outcome = run(solver, changes, name="parts", format=series_format, observers=[ctrl_c])
    assert outcome.status == "interrupted"
    if not on_planned_time:
        outcome = resume_run(folder, observers=[CtrlC(0.13, on_planned_time=False, rhythm=0.01)])
        assert outcome.status == "interrupted" and outcome.time < 0.14
    assert resume_run(folder).status == "complete"
    assert_same_record(folder, whole)


def test_several_interruptions_add_up_to_one_run(run: Run, solver: str) -> None:
    whole, _ = run(solver, FINE, name="whole")
    folder, outcome = run(solver, FINE, name="parts", observers=[CtrlC(0.055, on_planned_time=False)])
    for time, on_planned_time in ((0.09, False), (0.2, True), (0.2, False)):
        assert outcome.status == "interrupted"
        outcome = resume_run(folder, observers=[CtrlC(time, on_planned_time=on_planned_time)])
    assert outcome.status == "interrupted"
    assert resume_run(folder).status == "complete"
    assert_same_record(folder, whole)


def test_a_run_cut_off_after_its_checkpoint_drops_what_came_later(run: Run, solver: str, series_format: str) -> None:
    whole, _ = run(solver, name="whole", format=series_format)
    # A kill leaves frames and rows newer than the newest checkpoint: remove the later checkpoint to get there.
    folder = whole.with_name("cut")
    shutil.copytree(whole, folder)
    newest = open_record(folder).checkpoint_path
    assert newest is not None
    newest.unlink()
    cut_off(folder)
    assert open_record(folder).times[-1] == 0.4
    announced = []
    resume_run(folder, announce=lambda problem, simulation: announced.append(simulation.time))
    assert announced == [0.2]
    assert_same_record(folder, whole)


def test_a_run_stopped_at_its_very_end_resumes_to_itself(run: Run, solver: str, series_format: str) -> None:
    folder, first = run(solver, format=series_format)
    copy = folder.with_name("copy")
    shutil.copytree(folder, copy)
    cut_off(folder)
    outcome = resume_run(folder)
    assert (outcome.status, outcome.message, outcome.steps) == ("complete", "", first.steps)
    assert_same_record(folder, copy)


def test_a_complete_record_is_not_touched(run: Run) -> None:
    folder, first = run("fem")
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.rglob("*") if path.is_file()}
    outcome = resume_run(folder, announce=lambda problem, simulation: pytest.fail("nothing is to be run"))
    assert (outcome.status, outcome.message, outcome.exit_code) == ("complete", "already complete", 0)
    assert (outcome.steps, outcome.time) == (first.steps, pytest.approx(first.time))
    after = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.rglob("*") if path.is_file()}
    assert after == before


def test_timings_add_up_over_the_parts(run: Run) -> None:
    folder, outcome = run("fem", FINE, observers=[CtrlC(0.2, on_planned_time=True)])
    before = load_manifest(folder).timings
    assert before["solve"] == pytest.approx(outcome.solve_seconds)
    resumed = resume_run(folder)
    assert load_manifest(folder).timings["solve"] == pytest.approx(before["solve"] + resumed.solve_seconds)
    processor = before["processor"] + resumed.processor_seconds
    assert load_manifest(folder).timings["processor"] == pytest.approx(processor) and resumed.processor_seconds > 0.0


def test_a_record_without_checkpoint_cannot_be_resumed(run: Run) -> None:
    folder, _ = run("fem")
    shutil.rmtree(folder / "checkpoints")
    cut_off(folder)
    with pytest.raises(RheotwinError, match="has no checkpoint to resume from; run the scene again with --overwrite"):
        resume_run(folder)


def test_a_checkpoint_of_another_step_is_refused(run: Run, tmp_path: Path, solver: str) -> None:
    folder, _ = run(solver)
    cut_off(folder)
    text = (folder / "manifest.json").read_text()
    assert '"step": 0.001' in text
    (folder / "manifest.json").write_text(text.replace('"step": 0.001', '"step": 0.0005'))
    before = (folder / "probes.csv").read_bytes()
    with pytest.raises(RheotwinError, match=r"written with a step of 0\.001 s but this run uses 0\.0005 s"):
        resume_run(folder)
    assert (folder / "probes.csv").read_bytes() == before
    assert load_manifest(folder).status == "running"


def test_a_changed_mesh_is_refused(run: Run) -> None:
    folder, _ = run("fem")
    cut_off(folder)
    text = (folder / "manifest.json").read_text()
    hash_ = load_manifest(folder).mesh.hash
    (folder / "manifest.json").write_text(text.replace(hash_, "0" * 64))
    with pytest.raises(RheotwinError, match="its mesh is no longer the one the scene makes; run the scene again"):
        resume_run(folder)


@pytest.mark.parametrize("solver_name", ["fem", "truss"])
def test_chunks_do_not_change_a_result(problem_with: Callable[..., Any], solver_name: str) -> None:
    from rheotwin.registry import find_solver
    from rheotwin.solver import checked_options

    problem, solver = problem_with(), find_solver(solver_name)
    options = checked_options(solver, {"step": 1e-3})
    one, many = solver.start(problem, options), solver.start(problem, options)
    one.advance(0.3, 10**6)
    while many.time < 0.3 - 1e-9:
        many.advance(0.3, 7)
    assert one.step_count == many.step_count == 300
    state, other = one.save(), many.save()
    assert all(np.array_equal(state[key], other[key]) for key in state)
