"""`rheotwin run`: a record, a report of how it went, exit codes."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rheotwin.cli.run import parse_settings, record_name
from rheotwin.errors import EXIT_BAD_INPUT, EXIT_DIVERGED, EXIT_INTERRUPTED, EXIT_OK, RheotwinError
from rheotwin.observers import Progress
from rheotwin.record import open_record

Command = Callable[..., Any]
BLAST = """
[forces.blast]
body = "block"
where = { side = "top" }
total = [0.0, 1.0e12]
times = [0.1, 0.2]
factor = [0.0, 1.0]
"""


def cut_off(folder: Path) -> None:
    """Let a record look as a kill leaves it: still running."""
    path = folder / "manifest.json"
    path.write_text(path.read_text().replace('"status": "complete"', '"status": "running"'))


@pytest.mark.parametrize("solver", ["fem", "truss"])
def test_run_leaves_a_record_and_says_where(command: Command, scene: Path, tmp_path: Path, solver: str) -> None:
    said = command("run", scene, "--solver", solver)
    assert said.code == EXIT_OK
    assert said.out.startswith("complete: ")
    assert said.out.endswith(f"record: {Path('runs') / f'press-{solver}'}\n")
    assert "15 nodes, 0.2 s in steps of" in said.err
    assert ("unconditionally stable" if solver == "fem" else "stable below") in said.err
    record = open_record(tmp_path / "runs" / f"press-{solver}")
    assert record.times.tolist() == pytest.approx([0.0, 0.1, 0.2])
    assert record.manifest.status == "complete"


def test_json_on_standard_output_only(command: Command, scene: Path, tmp_path: Path) -> None:
    said = command("run", scene, "--json", "--quiet", "--output", "here/there", "--format", "vtkhdf")
    report = json.loads(said.out)
    assert (said.code, said.err) == (EXIT_OK, "")
    assert report["folder"] == str(Path("here/there"))
    assert (report["status"], report["exit_code"], report["steps"]) == ("complete", 0, 100)
    assert report["time"] == pytest.approx(0.2)
    assert (tmp_path / "here/there/series.vtkhdf").is_file()


def test_settings_override_the_scene(command: Command, scene: Path, tmp_path: Path) -> None:
    said = command("run", scene, "--set", "fem.step=1e-2", "--set", "fem.mass=consistent", "--json", "--quiet")
    assert json.loads(said.out)["steps"] == 20
    options = open_record(tmp_path / "runs/press-fem").manifest.solver.options
    assert (options["step"], options["mass"]) == (0.01, "consistent")


def test_settings_are_read_as_toml_and_bare_words_as_text() -> None:
    found = parse_settings(["fem.step=1e-3", "fem.mass=lumped", "truss.volume_term = false", 'a.b="x=y"', "a.c=1.5.2"])
    assert found == {
        "fem": {"step": 1e-3, "mass": "lumped"},
        "truss": {"volume_term": False},
        "a": {"b": "x=y", "c": "1.5.2"},
    }
    for bad in ("step=1", "fem.step", "=1", ".step=1", "fem.=1", "", "fem.step=1\nx=2", "fem.step=1\rx=2"):
        with pytest.raises(RheotwinError, match=r"write SOLVER.OPTION=VALUE, for example truss.step=1e-3") as caught:
            parse_settings([bad])
        assert len(str(caught.value).splitlines()) == 1


def test_the_default_folder_names_scene_case_and_solver(command: Command, scene_file: Any, tmp_path: Path) -> None:
    assert record_name(Path("scenes/press.toml"), None, "fem") == Path("runs/press-fem")
    path = scene_file(extra='\n[cases.springy]\nlaws = { block = "gel" }\n\n[cases.doughy]\n')
    assert command("run", path, "--quiet").code == EXIT_OK
    assert command("run", path, "--quiet", "--case", "doughy").code == EXIT_OK
    assert open_record(tmp_path / "runs/press-springy-fem").manifest.case == "springy"
    assert open_record(tmp_path / "runs/press-doughy-fem").manifest.case == "doughy"


def test_overwrite_replaces_a_record(command: Command, scene: Path, tmp_path: Path) -> None:
    assert command("run", scene, "--output", "run", "--quiet").code == EXIT_OK
    said = command("run", scene, "--output", "run", "--quiet", "--solver", "truss")
    assert said.code == EXIT_BAD_INPUT
    assert said.sentence == "run already holds a record; choose another output folder or add --overwrite"
    assert open_record(tmp_path / "run").manifest.solver.name == "fem"
    assert command("run", scene, "--output", "run", "--quiet", "--solver", "truss", "--overwrite").code == EXIT_OK
    assert open_record(tmp_path / "run").manifest.solver.name == "truss"


def test_ctrl_c_says_how_to_go_on_and_resume_does(
    command: Command, scene: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def press(self: Progress, run: Any) -> None:
        signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(Progress, "tick", press)
        said = command("run", scene, "--output", "run")
    assert said.code == EXIT_INTERRUPTED
    assert said.out == ""
    last = said.err.splitlines()[-1]
    assert last.startswith("interrupted at t = ") and last.endswith("resume with: rheotwin run --resume run")
    assert open_record(tmp_path / "run").manifest.status == "interrupted"
    said = command("run", "--resume", "run", "--json")
    assert (said.code, json.loads(said.out)["steps"]) == (EXIT_OK, 100)
    assert open_record(tmp_path / "run").manifest.status == "complete"


@pytest.mark.parametrize("as_json", [False, True])
def test_divergence_has_its_own_exit_code(command: Command, scene_file: Any, as_json: bool) -> None:
    path = scene_file(extra=BLAST)
    said = command("run", path, "--output", "run", "--quiet", *(["--json"] if as_json else []))
    assert said.code == EXIT_DIVERGED
    message = json.loads(said.out)["message"] if as_json else said.err
    assert "the run diverged at t = 0." in message
    assert "in body 'block' at node " in message
    assert as_json or message.endswith("record: run\n")
    assert open_record(Path("run")).times[-1] == pytest.approx(0.1)


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["press.toml", "--resume", "run"],
    ],
)
def test_either_a_scene_or_a_record(command: Command, scene: Path, words: list[str]) -> None:
    said = command("run", *words)
    assert said.code == EXIT_BAD_INPUT
    assert said.sentence == "run: name a scene file to run, or a record folder with --resume, and not both"


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["--set", "fem.step=1e-3"], "set"),
        (["--case", "soft"], "case"),
        (["--output", "other"], "output"),
        (["--overwrite"], "overwrite"),
        (["--solver", "fem"], "solver"),
        (["--format", "pvd"], "format"),
    ],
)
def test_a_resumed_run_cannot_be_made_another(command: Command, scene: Path, words: list[str], option: str) -> None:
    assert command("run", scene, "--output", "run", "--quiet").code == EXIT_OK
    said = command("run", "--resume", "run", *words)
    assert said.code == EXIT_BAD_INPUT
    assert said.sentence == f"--resume continues a record as it was started: leave --{option} out"


def test_resuming_what_is_no_record(command: Command, scene: Path, tmp_path: Path) -> None:
    assert command("run", "--resume", "nowhere").sentence == (
        "nowhere: there is no such folder; give the folder of a record"
    )
    assert "not a record (manifest.json is missing)" in command("run", "--resume", tmp_path).sentence
    assert command("run", scene, "--output", "run", "--quiet").code == EXIT_OK
    for path in Path("run/checkpoints").iterdir():
        path.write_bytes(b"PK\x03\x04 cut off")
    cut_off(Path("run"))
    said = command("run", "--resume", "run")
    assert (said.code, "no checkpoint to resume from" in said.sentence) == (EXIT_BAD_INPUT, True)


def test_a_complete_record_is_said_to_be_complete(command: Command, scene: Path) -> None:
    assert command("run", scene, "--output", "run", "--quiet").code == EXIT_OK
    before = Path("run/manifest.json").read_bytes()
    said = command("run", "--resume", "run")
    assert (said.code, said.out, said.err) == (EXIT_OK, "already complete: 100 steps; record: run\n", "")
    assert Path("run/manifest.json").read_bytes() == before


def test_the_rate_after_a_resume_counts_the_steps_taken_now(
    command: Command, scene_file: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rheotwin import run

    path = scene_file(("interval = 0.1", "interval = 0.1\ncheckpoint_interval = 0.1"))
    assert command("run", path, "--output", "run", "--quiet").code == EXIT_OK
    newest = open_record(Path("run")).checkpoint_path
    assert newest is not None
    newest.unlink()  # 50 of 100 steps are left to take
    cut_off(Path("run"))
    plain = run.run_loop
    monkeypatch.setattr(run, "run_loop", lambda *args: replace(plain(*args), solve_seconds=0.5, loop_seconds=2.0))
    said = command("run", "--resume", "run", "--quiet")
    assert said.out == "complete: 100 steps in 2.00 s (100 steps/s); record: run\n"


def test_a_checkpoint_of_another_version_of_a_solver_is_refused(command: Command, scene: Path) -> None:
    from rheotwin.record.checkpoint import load_checkpoint, save_checkpoint

    assert command("run", scene, "--output", "run", "--quiet").code == EXIT_OK
    path = open_record(Path("run")).checkpoint_path
    assert path is not None
    state = load_checkpoint(path)
    del state["u"]
    save_checkpoint(path.parent, 100, state)
    cut_off(Path("run"))
    said = command("run", "--resume", "run")
    assert said.code == EXIT_BAD_INPUT
    assert "the solver misses 'u' in it; resume with the version that wrote it" in said.sentence
