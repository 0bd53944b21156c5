"""`rheotwin compare`: every case with every solver, one report, and refusals before any work is done."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rheotwin import run
from rheotwin.errors import EXIT_BAD_INPUT, EXIT_FALLS_SHORT, EXIT_INTERRUPTED, EXIT_OK
from rheotwin.observers import Observer, Progress
from rheotwin.record import open_record
from rheotwin.run import resume_run
from rheotwin.validation.report import write

Command = Callable[..., Any]
CASES = '\n[cases.springy]\nlaws = { block = "gel" }\n\n[cases.doughy]\nlaws = { block = "dough" }\n'


def test_one_report_of_all_cases_and_solvers(command: Command, scene_file: Any, tmp_path: Path) -> None:
    said = command("compare", scene_file(extra=CASES), "--json", "--quiet", "--reference", "truss")
    assert said.code == EXIT_OK, said.err
    answer = json.loads(said.out)
    output = Path("runs/compare-press")
    assert answer["records"] == [
        str(output / "runs" / name) for name in ("springy-fem", "springy-truss", "doughy-fem", "doughy-truss")
    ]
    for folder in answer["records"]:
        assert open_record(folder).manifest.status == "complete"
    page = (tmp_path / answer["report"]).read_text()
    assert "a small press" in page and 'src="http' not in page, "self-contained"
    numbers = json.loads((tmp_path / output / "comparison.json").read_text())
    assert [case["case"] for case in numbers["cases"]] == ["springy", "doughy"]
    assert all(run["is_reference"] == (run["solver"] == "truss") for case in numbers["cases"] for run in case["runs"])
    # a second comparison does not overwrite the first unasked
    again = command("compare", tmp_path / "press.toml", "--quiet")
    assert again.code == EXIT_BAD_INPUT
    assert "--overwrite" in again.sentence


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--solvers", "fem,trus"], "there is no solver named 'trus' (did you mean 'truss'?); installed: fem, truss, "),
        (["--solvers", ","], "--solvers: name at least one solver, for example --solvers fem,truss"),
        (["--cases", ","], "--cases: name at least one case, for example --cases springy,doughy"),
        (["--reference", "dem"], "--reference: 'dem' is not among the solvers compared: fem, truss"),
        (["--cases", "springy,dugy"], "no case 'dugy' (did you mean 'doughy'?)"),
        (["--refine", "2,x"], "--refine 2,x: write whole numbers of at least 1, for example --refine 1,2,4"),
        (["--refine", "dem=1,2"], "--refine dem=1,2: the solvers compared are fem, truss"),
        (["--reference", "fem@limit"], "--reference fem@limit: the limit needs at least two meshes of 'fem'"),
        (["--refine", "1,2", "--reference", "fem@3"], "there is no such run; runs of 'fem': fem@1, fem@2"),
        (["--set", "dem.step=1"], "--set dem.…: the solvers compared are fem, truss"),
        (["--set", "truss.stp=1"], "solvers.truss.stp: unknown option"),
        (["--output", "press.toml"], "--output press.toml: press.toml is a file, not a folder"),
        (["--output", "press.toml/cmp"], "--output press.toml/cmp: press.toml is a file, not a folder"),
    ],
)
def test_faults_show_before_the_first_run(
    command: Command, scene_file: Any, tmp_path: Path, words: list[str], sentence: str
) -> None:
    path = scene_file(extra=CASES)
    said = command("compare", path, "--quiet", *words)
    assert said.code == EXIT_BAD_INPUT
    assert said.err.startswith("error: ") and sentence in said.err
    assert [entry.name for entry in tmp_path.iterdir()] == ["press.toml"]


def test_a_run_that_ends_early_shows_in_the_exit_code(command: Command, scene_file: Any) -> None:
    blast = """
[forces.blast]
body = "block"
where = { side = "top" }
total = [0.0, 1.0e12]
times = [0.1, 0.2]
factor = [0.0, 1.0]
"""
    said = command("compare", scene_file(extra=blast), "--quiet", "--solvers", "fem", "--output", "cmp")
    assert said.code == EXIT_FALLS_SHORT
    assert "fem: the run diverged at t = " in said.err
    assert Path("cmp/report.html").is_file()


def interrupting(monkeypatch: pytest.MonkeyPatch, label: str) -> None:
    """Make ctrl-C come in the first step of one run."""

    class Pressing(Progress):
        def tick(self, run: Any) -> None:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("rheotwin.observers.Progress", lambda name: Pressing(name) if name == label else Observer())


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spare the drawing where only the folder matters."""
    monkeypatch.setattr(write, "draw_pictures", lambda comparison, views: {})


def written(folder: Path) -> dict[str, int]:
    """Return when each record's manifest was last written [ns]."""
    return {path.name: (path / "manifest.json").stat().st_mtime_ns for path in (folder / "runs").iterdir()}


@pytest.mark.usefixtures("no_pictures")
def test_an_interrupted_comparison_says_how_to_go_on_and_does(
    command: Command, scene_file: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["compare", scene_file(extra=CASES), "--output", "cmp"]
    with monkeypatch.context() as patch:
        interrupting(patch, "springy truss")
        said = command(*words)
    assert said.code == EXIT_INTERRUPTED
    assert "1 of 4 runs are finished (springy fem); give the same command with --continue" in said.err
    first = written(Path("cmp"))
    assert set(first) == {"springy-fem", "springy-truss"}
    unasked = command(*words)
    assert unasked.code == EXIT_BAD_INPUT and "--continue" in unasked.sentence and "--overwrite" in unasked.sentence
    resumed: list[Path] = []

    def resume(folder: Path, **options: Any) -> Any:
        resumed.append(folder)
        return resume_run(folder, **options)

    monkeypatch.setattr(run, "resume_run", resume)
    said = command(*words, "--continue")
    assert said.code == EXIT_OK, said.err
    assert resumed == [Path("cmp/runs/springy-truss")]
    assert "springy fem: kept, complete" in said.err
    after = written(Path("cmp"))
    assert after["springy-fem"] == first["springy-fem"], "a finished run is kept as it is"
    assert len(after) == 4 and Path("cmp/report.html").is_file()
    assert all(open_record(path).manifest.status == "complete" for path in Path("cmp/runs").iterdir())


@pytest.mark.usefixtures("no_pictures")
def test_going_on_does_not_keep_records_of_another_run(
    command: Command, scene_file: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = scene_file()
    with monkeypatch.context() as patch:
        interrupting(patch, "truss")
        command("compare", scene, "--output", "cmp")
    first = written(Path("cmp"))
    assert open_record(Path("cmp/runs/fem")).manifest.status == "complete"
    for change in (["--set", "fem.step=1e-3"], []):
        if not change:
            scene_file(("young = 1.0e4", "young = 2.0e4"))
        said = command("compare", scene, "--output", "cmp", "--continue", *change)
        assert said.code == EXIT_BAD_INPUT
        assert "cmp/runs/fem already holds a record" in said.sentence
    assert written(Path("cmp")) == first
    said = command("compare", scene, "--output", "cmp", "--continue", "--overwrite", "--quiet")
    assert said.code == EXIT_OK, said.err
    assert open_record(Path("cmp/runs/fem")).manifest.scene["laws"]["dough"]["young"] == 2.0e4


@pytest.mark.usefixtures("no_pictures")
def test_an_overwrite_leaves_no_stale_records_and_no_foreign_file_behind(command: Command, scene_file: Any) -> None:
    scene = scene_file(extra=CASES)
    assert command("compare", scene, "--output", "cmp", "--quiet").code == EXIT_OK
    Path("cmp/plots/photo.png").write_text("photo")
    command("run", scene, "--output", "cmp/runs/mine", "--quiet")
    words = ["--overwrite", "--cases", "doughy", "--solvers", "fem"]
    assert command("compare", scene, "--output", "cmp", "--quiet", *words).code == EXIT_OK
    assert {path.name for path in Path("cmp/runs").iterdir()} == {"doughy-fem", "mine"}
    assert Path("cmp/plots/photo.png").read_text() == "photo"


def test_a_folder_of_the_user_is_refused_before_the_first_run(command: Command, scene: Path) -> None:
    Path("thesis/plots").mkdir(parents=True)
    Path("thesis/plots/photo.png").write_text("photo")
    said = command("compare", scene, "--output", "thesis", "--overwrite", "--continue")
    assert said.code == EXIT_BAD_INPUT
    assert said.sentence.startswith("thesis: it is not empty and is not a comparison of Rheotwin; choose another")
    assert [str(path) for path in Path("thesis").rglob("*.*")] == ["thesis/plots/photo.png"]


def test_a_refinement_study_runs_every_mesh_and_weighs_them(command: Command, scene_file: Any, tmp_path: Path) -> None:
    said = command(
        "compare", scene_file(), "--refine", "1", "--refine", "fem=1,2,3", "--reference", "fem@limit", "--json"
    )
    assert said.code == EXIT_OK, said.err
    output = tmp_path / "runs/compare-press"
    names = ("fem-x1", "fem-x2", "fem-x3", "truss-x1")
    assert [Path(folder).name for folder in json.loads(said.out)["records"]] == list(names)
    manifests = [open_record(output / "runs" / name).manifest for name in names]
    assert [manifest.mesh.cells for manifest in manifests] == [16, 64, 144, 16]
    assert [manifest.step.size for manifest in manifests[:3]] == pytest.approx([2e-3, 1e-3, 2e-3 / 3])
    (case,) = json.loads((output / "comparison.json").read_text())["cases"]
    assert (case["reference"], case["runs"][-1]["label"]) == ("fem@limit", "fem@limit")
    assert {item["solver"] for item in case["settlings"]} == {"fem"}
    assert case["front"]
    assert "fem@limit (reference)" in (output / "summary.md").read_text()
