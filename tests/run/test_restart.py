"""A run that was stopped and resumed leaves the very files of the run that never was, byte by byte."""

import shutil
import signal
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from rheotwin.errors import EXIT_DIVERGED, EXIT_INTERRUPTED, RheotwinError
from rheotwin.observers import Observer, Watched
from rheotwin.record import Manifest, load_manifest, open_record, save_manifest
from rheotwin.running import resume_run
from rheotwin.schedule import Stop
from tests.conftest import BLAST, IN_A_FORMAT, Data, cut_off, run

PLANNED = 0.05
"""All times of the scene are multiples of this [s]."""
ADAPTIVE = {"output": {"adaptive": {"shortest": 0.01, "longest": 0.13, "change": 1.7e-3}, "checkpoint_interval": 0.17}}
# A step of 1/2000 s makes 100 steps between two planned times, so that the loop looks up in between, too.
FINE = {"solvers.fem.step": 5e-4, "solvers.truss.step": 5e-4}
WHEN = pytest.mark.parametrize("planned", [True, False], ids=["on a planned time", "between planned times"])


class CtrlC(Observer):
    """Presses ctrl-C once at the first glance after `time` that is (or is not) on a planned time."""

    def __init__(self, time: float, *, planned: bool, rhythm: float = PLANNED) -> None:
        self._time, self._planned, self._rhythm = time, planned, rhythm
        self.pressed_at: float | None = None

    def tick(self, run: Watched) -> None:
        now = run.simulation.time
        on_planned = abs(now / self._rhythm - round(now / self._rhythm)) < 1e-6
        if self.pressed_at is None and now >= self._time - 1e-9 and on_planned == self._planned:
            self.pressed_at = now
            signal.raise_signal(signal.SIGINT)


def hdf_contents(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    with h5py.File(path, "r") as file:
        file.visititems(lambda name, item: found.update({name: item[()]} if isinstance(item, h5py.Dataset) else {}))
        found["NSteps"] = np.array(file["VTKHDF/Steps"].attrs["NSteps"])
    return found


def contents(folder: Path) -> dict[Path, bytes]:
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def require_same_record(left: Path, right: Path) -> None:
    mine, theirs = (
        {name: data for name, data in contents(folder).items() if name.parts[0] not in ("checkpoints", "manifest.json")}
        for folder in (left, right)
    )
    assert mine.keys() == theirs.keys()
    for name, data in mine.items():
        if name.suffix == ".vtkhdf":
            np.testing.assert_equal(hdf_contents(left / name), hdf_contents(right / name))
        else:
            assert data == theirs[name], name
    last, other = open_record(left).checkpoint(), open_record(right).checkpoint()
    assert {key: np.asarray(values).tobytes() for key, values in last.items()} == {
        key: np.asarray(values).tobytes() for key, values in other.items()
    }


@WHEN
@IN_A_FORMAT
def test_interrupted_and_resumed_equals_uninterrupted(solver: str, series_format: str, planned: bool) -> None:
    whole, outcome = run(solver, FINE, name="whole", format=series_format)
    assert outcome.status == "complete"
    # chunks of steps grow, so the loop looks up between planned times only early on
    ctrl_c = CtrlC(0.2 if planned else 0.055, planned=planned)
    folder, outcome = run(solver, FINE, name="parts", format=series_format, observers=[ctrl_c])
    assert (outcome.status, outcome.exit_code) == ("interrupted", EXIT_INTERRUPTED)
    assert outcome.time == ctrl_c.pressed_at
    manifest = load_manifest(folder)
    assert (manifest.status, manifest.step.count) == ("interrupted", outcome.steps)
    assert open_record(folder).times[-1] <= outcome.time
    resumed = resume_run(folder)
    assert (resumed.status, resumed.steps) == ("complete", 800)
    assert (load_manifest(folder).status, load_manifest(folder).message) == ("complete", "")
    require_same_record(folder, whole)


@WHEN
@IN_A_FORMAT
def test_adaptive_frames_do_not_depend_on_where_it_was_stopped(solver: str, series_format: str, planned: bool) -> None:
    changes = {**ADAPTIVE, **FINE}
    whole, _ = run(solver, changes, name="whole", format=series_format)
    assert 6 < len(open_record(whole).times) < 35, "neither every planned time nor only the longest interval"
    ctrl_c = CtrlC(0.125, planned=True, rhythm=0.01)
    folder, outcome = run(solver, changes, name="parts", format=series_format, observers=[ctrl_c])
    assert outcome.status == "interrupted"
    if not planned:
        outcome = resume_run(folder, observers=[CtrlC(0.13, planned=False, rhythm=0.01)])
        assert outcome.status == "interrupted" and outcome.time < 0.14
    assert resume_run(folder).status == "complete"
    require_same_record(folder, whole)


@pytest.mark.parametrize("keep_last", [True, False], ids=["at its very end", "after its last checkpoint but one"])
@IN_A_FORMAT
def test_a_run_cut_off_drops_what_came_later(solver: str, series_format: str, keep_last: bool) -> None:
    """A kill leaves frames and rows newer than the newest checkpoint."""
    whole, first = run(solver, name="whole", format=series_format)
    shutil.copytree(whole, folder := Path("cut"))
    cut_off(folder, keep_last=keep_last)
    assert open_record(folder).times[-1] == 0.4
    announced = []
    outcome = resume_run(folder, announce=lambda problem, simulation, known: announced.append(simulation.time))
    assert announced == [0.4 if keep_last else 0.2]
    assert (outcome.status, outcome.message, outcome.steps) == ("complete", "", first.steps)
    require_same_record(folder, whole)


def test_a_complete_record_is_not_touched_and_one_without_checkpoint_not_resumed() -> None:
    folder, first = run("fem")
    before = contents(folder), {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    outcome = resume_run(folder, announce=lambda problem, simulation, known: pytest.fail("nothing is to be run"))
    assert (outcome.status, outcome.message, outcome.exit_code) == ("complete", "already complete", 0)
    assert (outcome.steps, outcome.time) == (first.steps, pytest.approx(first.time))
    assert (contents(folder), {path: path.stat().st_mtime_ns for path in folder.rglob("*")}) == before
    shutil.rmtree(folder / "checkpoints")
    cut_off(folder)
    with pytest.raises(RheotwinError, match="has no checkpoint to resume from; run the scene again with --overwrite"):
        resume_run(folder)


def test_timings_add_up_over_the_parts() -> None:
    folder, outcome = run("fem", FINE, observers=[CtrlC(0.2, planned=True)])
    before = load_manifest(folder).timings
    assert before["solve"] == pytest.approx(outcome.solve_seconds)
    resumed, after = resume_run(folder), load_manifest(folder).timings
    assert after["solve"] == pytest.approx(before["solve"] + resumed.solve_seconds)
    assert after["processor"] == pytest.approx(before["processor"] + resumed.processor_seconds)
    assert resumed.processor_seconds > 0.0


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"step": 0.001', '"step": 0.0005', r"written with a step of 0\.001 s but this run uses 0\.0005 s"),
        ("HASH", "0" * 64, "its mesh is no longer the one the scene makes; run the scene again"),
    ],
)
def test_a_checkpoint_of_another_step_or_mesh_is_refused(solver: str, old: str, new: str, words: str) -> None:
    folder, _ = run(solver)
    cut_off(folder)
    manifest = load_manifest(folder)
    text, old = manifest.model_dump_json(), old.replace("HASH", manifest.mesh.hash).replace(": ", ":")
    assert old in text
    save_manifest(Manifest.model_validate_json(text.replace(old, new.replace(": ", ":"))), folder)
    before = (folder / "probes.csv").read_bytes()
    with pytest.raises(RheotwinError, match=words):
        resume_run(folder)
    assert (folder / "probes.csv").read_bytes() == before and load_manifest(folder).status == "running"


@pytest.mark.parametrize(
    ("solver", "changes"),
    [
        ("fem", {}),
        ("fem", {"solvers.fem.linear_solver": "amg"}),
        ("fem", {"solvers.fem.linear_solver": "amg", "solvers.fem.stepper": "quasi-static"}),
        ("truss", {}),
    ],
)
def test_a_run_that_failed_before_any_planned_checkpoint_can_be_resumed(solver: str, changes: Data) -> None:
    """Multigrid has no earlier solution then to start from."""

    class Fails(Observer):
        def stop(self, run: Watched, stop: Stop) -> None:
            if stop.time > 0.15:
                raise MemoryError("no room")

    changes = {"output.checkpoint_interval": ...} | changes
    with pytest.raises(MemoryError):
        run(solver, changes, name="failed", observers=[Fails()])
    folder = Path("failed")
    assert open_record(folder).manifest.status == "failed"
    assert int(open_record(folder).checkpoint()["step_count"]) == 0
    assert resume_run(folder).status == "complete"
    whole, _ = run(solver, changes, name="whole")
    assert (folder / "probes.csv").read_bytes() == (whole / "probes.csv").read_bytes()
    assert open_record(folder).times.tolist() == open_record(whole).times.tolist()


@IN_A_FORMAT
def test_a_run_that_blows_up_is_stopped_and_keeps_what_was_good(solver: str, series_format: str) -> None:
    """Nothing happens for 0.2 s, then a force grows that would carry the block through the roof."""
    folder, outcome = run(solver, BLAST | {"forces.blast.times": [0.2, 0.3]}, format=series_format)
    assert (outcome.status, outcome.exit_code) == ("diverged", EXIT_DIVERGED) and 0.2 < outcome.time <= 0.3
    record = open_record(folder)
    assert (record.manifest.status, record.manifest.message) == ("diverged", outcome.message)
    assert outcome.message.startswith(f"the run diverged at t = {outcome.time:.6g} s in body 'block' at node ")
    node = int(outcome.message.partition("at node ")[2].partition(" ")[0])
    x, y, _ = record.rest_positions[node]
    assert f"(rest position {x:.4g}, {y:.4g}): reduce the step (now 0.001 s" in outcome.message
    assert record.times.tolist() == pytest.approx([0.0, 0.1, 0.2])
    assert all(np.isfinite(record.field(name)).all() for name in record.manifest.fields)
    assert record.probes["time"].max() == pytest.approx(0.2)
    assert np.isfinite(np.array(list(record.probes.values()))).all()
    assert int(record.checkpoint()["step_count"]) == 200, "the diverged state is never a checkpoint"
    again = resume_run(folder)
    assert (again.status, again.exit_code) == (outcome.status, outcome.exit_code) and 0.2 < again.time <= 0.3
    assert open_record(folder).times.tolist() == pytest.approx([0.0, 0.1, 0.2])
