"""`rheotwin run`: a record, a report of how it went, exit codes; what nobody foresaw is one sentence, too."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rheotwin import running
from rheotwin.cli import info
from rheotwin.cli.run import parse_settings, record_name
from rheotwin.errors import EXIT_BAD_INPUT, EXIT_DIVERGED, EXIT_INTERRUPTED, EXIT_OK, RheotwinError
from rheotwin.kernels import cache
from rheotwin.observers import Progress, told_of_compiling
from rheotwin.record import load_manifest, open_record, save_manifest
from rheotwin.record.checkpoint import load_checkpoint, save_checkpoint
from rheotwin.validation.checks.running import ELASTIC, box_scene
from tests.conftest import BLAST, Data, Said, command, cut_off, scene_file, write_scene

RECORD = Path("run")


def run_into(folder: Path = RECORD, changes: Data | None = None, *words: str) -> Said:
    return command("run", scene_file(changes), "--output", folder, *words)


@pytest.mark.parametrize("solver", ["fem", "truss"])
def test_run_leaves_a_record_and_says_where(solver: str) -> None:
    said = command("run", scene_file(), "--solver", solver)
    assert said.code == EXIT_OK and said.out.startswith("complete: ")
    assert said.out.endswith(f"record: {Path('runs') / f'press-{solver}'}\n")
    assert "15 nodes, 0.2 s in steps of" in said.err
    assert ("unconditionally stable" if solver == "fem" else "stable below") in said.err
    record = open_record(Path(f"runs/press-{solver}"))
    assert record.times.tolist() == pytest.approx([0.0, 0.1, 0.2]) and record.manifest.status == "complete"


def test_json_goes_to_standard_output_and_settings_override_the_scene() -> None:
    said = run_into(Path("here/there"), None, "--json", "--quiet", "--format", "vtkhdf")
    report = json.loads(said.out)
    assert (said.code, said.err) == (EXIT_OK, "") and report["folder"] == str(Path("here/there"))
    assert (report["status"], report["exit_code"], report["steps"]) == ("complete", 0, 100)
    assert report["time"] == pytest.approx(0.2) and Path("here/there/series.vtkhdf").is_file()
    said = run_into(RECORD, None, "--set", "fem.step=1e-2", "--set", "fem.mass=consistent", "--json", "--quiet")
    assert json.loads(said.out)["steps"] == 20
    options = open_record(RECORD).manifest.solver.options
    assert (options["step"], options["mass"]) == (0.01, "consistent")


def test_settings_are_read_as_toml_and_bare_words_as_text() -> None:
    found = parse_settings(["fem.step=1e-3", "fem.mass=lumped", "truss.volume_term = false", 'a.b="x=y"', "a.c=1.5.2"])
    fem = {"step": 1e-3, "mass": "lumped"}
    assert found.options == {"fem": fem, "truss": {"volume_term": False}, "a": {"b": "x=y", "c": "1.5.2"}}
    assert parse_settings(["laws.gel.young=20.0"]).scene == {"laws.gel.young": 20.0}
    for bad in ("step=1", "fem.step", "=1", ".step=1", "fem.=1", "", "fem.step=1\nx=2", "fem.step=1\rx=2"):
        with pytest.raises(RheotwinError, match=r"write PLACE=VALUE, for example truss.step=1e-3") as caught:
            parse_settings([bad])
        assert "\n" not in str(caught.value), "one sentence"


def test_default_folders_have_the_case_and_overwrite_replaces_a_record() -> None:
    assert record_name(Path("scenes/press.toml"), None, "fem") == Path("runs/press-fem")
    path = scene_file({"cases": {"springy": {"laws": {"block": "gel"}}, "doughy": {}}})
    assert command("run", path, "--quiet").code == EXIT_OK
    assert command("run", path, "--quiet", "--case", "doughy").code == EXIT_OK
    for case in ("springy", "doughy"):
        assert open_record(Path(f"runs/press-{case}-fem")).manifest.case == case
    truss = ("--quiet", "--solver", "truss")
    assert run_into().code == EXIT_OK
    said = run_into(RECORD, None, *truss)
    assert said.code == EXIT_BAD_INPUT
    assert said.sentence == "run already holds a record; choose another output folder or add --overwrite"
    assert open_record(RECORD).manifest.solver.name == "fem"
    assert run_into(RECORD, None, *truss, "--overwrite").code == EXIT_OK
    assert open_record(RECORD).manifest.solver.name == "truss"


def test_ctrl_c_says_how_to_go_on_and_resume_does(monkeypatch: pytest.MonkeyPatch) -> None:
    def press(self: Progress, run: Any) -> None:
        signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(Progress, "tick", press)
        said = run_into()
    assert (said.code, said.out) == (EXIT_INTERRUPTED, "")
    last = said.err.splitlines()[-1]
    assert last.startswith("interrupted at t = ") and last.endswith("resume with: rheotwin run --resume run")
    assert open_record(RECORD).manifest.status == "interrupted"
    said = command("run", "--resume", "run", "--json")
    assert (said.code, json.loads(said.out)["steps"]) == (EXIT_OK, 100)
    assert open_record(RECORD).manifest.status == "complete"


@pytest.mark.parametrize("as_json", [False, True])
def test_divergence_has_its_own_exit_code(as_json: bool) -> None:
    said = run_into(RECORD, BLAST, "--quiet", *(["--json"] if as_json else []))
    assert said.code == EXIT_DIVERGED
    message = json.loads(said.out)["message"] if as_json else said.err
    assert "the run diverged at t = 0." in message and "in body 'block' at node " in message
    assert as_json or message.endswith("record: run\n")
    assert open_record(RECORD).times[-1] == pytest.approx(0.1)


@pytest.mark.parametrize("words", [[], ["press.toml", "--resume", "run"]])
def test_either_a_scene_or_a_record(words: list[str]) -> None:
    said = command("run", *words)
    assert said.code == EXIT_BAD_INPUT
    assert said.sentence == "run: name a scene file to run, or a record folder with --resume, and not both"


def test_a_complete_record_is_said_to_be_complete_and_cannot_be_made_another() -> None:
    assert run_into().code == EXIT_OK
    before = Path("run/manifest.json").read_bytes()
    said = command("run", "--resume", "run")
    assert (said.code, said.out, said.err) == (EXIT_OK, "already complete: 100 steps; record: run\n", "")
    for words in (
        "--set fem.step=1e-3",
        "--case soft",
        "--output other",
        "--overwrite",
        "--solver fem",
        "--format pvd",
    ):
        said = command("run", "--resume", "run", *words.split())
        assert said.code == EXIT_BAD_INPUT
        assert said.sentence == f"--resume continues a record as it was started: leave {words.split()[0]} out"
    assert Path("run/manifest.json").read_bytes() == before


def test_records_that_cannot_be_resumed() -> None:
    nowhere = "nowhere: there is no such folder; give the folder of a record"
    assert command("run", "--resume", "nowhere").sentence == nowhere
    assert "not a record (manifest.json is missing)" in command("run", "--resume", Path.cwd()).sentence
    assert run_into().code == EXIT_OK
    for path in Path("run/checkpoints").iterdir():
        path.write_bytes(b"PK\x03\x04 cut off")
    cut_off(RECORD)
    said = command("run", "--resume", "run")
    assert (said.code, "no checkpoint to resume from" in said.err) == (EXIT_BAD_INPUT, True)
    assert said.err.count("the checkpoint is damaged") == 2
    assert run_into(RECORD, None, "--overwrite").code == EXIT_OK
    path = open_record(RECORD).checkpoint_path
    assert path is not None
    state = load_checkpoint(path)
    del state["u"]
    save_checkpoint(path.parent, 100, state)
    cut_off(RECORD)
    save_manifest(load_manifest(RECORD).changed(files={}), RECORD)
    said = command("run", "--resume", "run")
    assert said.code == EXIT_BAD_INPUT
    assert "the solver misses 'u' in it; resume with the version that wrote it" in said.sentence


def test_the_rate_after_a_resume_counts_the_steps_taken_now(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_into(RECORD, {"output.checkpoint_interval": 0.1}).code == EXIT_OK
    cut_off(RECORD, keep_last=False)  # 50 of 100 steps are left to take
    plain = running.run_loop
    monkeypatch.setattr(running, "run_loop", lambda *args: replace(plain(*args), solve_seconds=0.5, loop_seconds=2.0))
    said = command("run", "--resume", "run", "--quiet")
    assert said.out == "complete: 100 steps in 2.00 s (100 steps/s); record: run\n"


INTERNAL = "please report it with the scene; RHEOTWIN_DEBUG=1 shows the traceback"


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (ZeroDivisionError("division\nby zero"), f"internal error: ZeroDivisionError: division by zero; {INTERNAL}"),
        (MemoryError(), "out of memory: the scene is too large for this machine; use fewer cells or frames"),
    ],
)
def test_what_nobody_foresaw_is_one_sentence(monkeypatch: pytest.MonkeyPatch, error: Exception, sentence: str) -> None:
    def execute(args: Any) -> int:
        raise error

    monkeypatch.setattr(info, "execute", execute)
    for value in (None, "0", ""):
        monkeypatch.delenv("RHEOTWIN_DEBUG", raising=False)
        if value is not None:
            monkeypatch.setenv("RHEOTWIN_DEBUG", value)
        said = command("info", scene_file())
        assert (said.code, said.sentence) == (EXIT_BAD_INPUT, sentence)
    monkeypatch.setenv("RHEOTWIN_DEBUG", "1")
    with pytest.raises(AssertionError, match="Traceback"):  # that of `command`: it shows one on request
        command("info", scene_file())


def test_what_is_compiled_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    with told_of_compiling():
        cache.tell("1 of 2 kernels")
        cache.tell("2 of 2 kernels")
    cache.tell("nobody listens")
    assert capsys.readouterr().err == "compiling, once for all runs like this\n"


@pytest.mark.exhaustive
def test_a_first_run_compiles_and_a_second_does_not(tmp_path: Path) -> None:
    write_scene(box_scene(ELASTIC, cells=[4], size=[1.0], density=1.0, duration=0.01))
    there = os.environ | {cache.PLACE: str(tmp_path / "kernels")}
    call = [sys.executable, "-m", "rheotwin", "run", "scene.toml", "--solver", "truss", "--overwrite"]
    first, second = (
        subprocess.run(call, env=there, capture_output=True, text=True, check=True).stderr.splitlines()
        for _ in range(2)
    )
    assert first == ["compiling, once for all runs like this", *second]
