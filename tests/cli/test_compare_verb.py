"""`rheotwin compare`: every case with every solver, one report, all faults before the first run."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from rheotwin import running
from rheotwin.comparison_runs import Plan
from rheotwin.errors import EXIT_BAD_INPUT, EXIT_FALLS_SHORT, EXIT_INTERRUPTED, EXIT_OK
from rheotwin.executor import opened
from rheotwin.observers import Observer, Progress
from rheotwin.record import open_record
from rheotwin.running import resume_run
from rheotwin.scene import load_scene
from tests.conftest import BLAST, command, scene_file

CASES = {"cases": {"springy": {"laws": {"block": "gel"}}, "doughy": {"laws": {"block": "dough"}}}}
NAMES = ["springy-fem", "springy-truss", "doughy-fem", "doughy-truss"]


def status(path: str) -> str:
    return open_record(Path(path)).manifest.status


def test_one_report_of_all_cases_and_solvers() -> None:
    said = command("compare", scene_file(CASES), "--json", "--quiet", "--reference", "truss")
    assert said.code == EXIT_OK, said.err
    answer, output = json.loads(said.out), Path("runs/compare-press")
    assert answer["records"] == [str(output / "runs" / name) for name in NAMES]
    assert {status(folder) for folder in answer["records"]} == {"complete"}
    page = Path(answer["report"]).read_text()
    assert "a small press" in page and 'src="http' not in page, "self-contained"
    numbers = json.loads((output / "comparison.json").read_text())
    assert [case["case"] for case in numbers["cases"]] == ["springy", "doughy"]
    assert all(run["is_reference"] == (run["solver"] == "truss") for case in numbers["cases"] for run in case["runs"])
    # a second comparison does not overwrite the first unasked
    again = command("compare", "press.toml", "--quiet")
    assert again.code == EXIT_BAD_INPUT and "--overwrite" in again.sentence


@pytest.mark.usefixtures("nothing_drawn")
def test_runs_of_other_processes_are_the_same() -> None:
    for words in ((), ("--executor", "processes:2", "--output", "shared")):
        said = command("compare", scene_file(CASES), "--quiet", "--reference", "truss", *words)
        assert said.code == EXIT_OK, said.err
    for name in NAMES:
        here, there = (open_record(Path(folder) / "runs" / name) for folder in ("runs/compare-press", "shared"))
        assert {column: values.tobytes() for column, values in here.probes.items()} == {
            column: values.tobytes() for column, values in there.probes.items()
        }


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--executor processes:x", "--executor processes:x: choose from lanes, processes"),
        ("--solvers fem,trus", "there is no solver named 'trus' (did you mean 'truss'?); installed: fem, truss, "),
        ("--solvers ,", "--solvers: name at least one solver, for example --solvers fem,truss"),
        ("--cases ,", "--cases: name at least one case, for example --cases springy,doughy"),
        ("--reference dem", "--reference: 'dem' is not among the solvers compared: fem, truss"),
        ("--cases springy,dugy", "no case 'dugy' (did you mean 'doughy'?)"),
        ("--refine 2,x", "--refine 2,x: write whole numbers of at least 1, for example --refine 1,2,4"),
        ("--refine dem=1,2", "--refine dem=1,2: the solvers compared are fem, truss"),
        ("--reference fem@limit", "--reference fem@limit: the limit needs at least two meshes of 'fem'"),
        ("--refine 1,2 --reference fem@3", "there is no such run; runs of 'fem': fem@1, fem@2"),
        ("--set dem.step=1", "--set dem.…: this uses the solvers fem, truss; set its options"),
        ("--set truss.stp=1", "solvers.truss.stp: unknown option"),
        ("--output press.toml", "--output press.toml: press.toml is a file, not a folder"),
        ("--output press.toml/cmp", "--output press.toml/cmp: press.toml is a file, not a folder"),
    ],
)
def test_faults_show_before_the_first_run(words: str, sentence: str) -> None:
    said = command("compare", scene_file(CASES), "--quiet", *words.split())
    assert said.code == EXIT_BAD_INPUT and said.err.startswith("error: ") and sentence in said.err
    assert [entry.name for entry in Path().iterdir()] == ["press.toml"]


@pytest.mark.usefixtures("nothing_drawn")
def test_a_run_that_ends_early_shows_in_the_exit_code() -> None:
    said = command("compare", scene_file(BLAST), "--quiet", "--solvers", "fem", "--output", "cmp")
    assert said.code == EXIT_FALLS_SHORT and "fem: the run diverged at t = " in said.err
    assert Path("cmp/report.html").is_file()


def interrupted(monkeypatch: pytest.MonkeyPatch, label: str, *words: Any) -> Any:
    """Return what a comparison said when ctrl-C came in the first step of one run."""

    class Pressing(Progress):
        def tick(self, run: Any) -> None:
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr("rheotwin.observers.Progress", lambda name: Pressing(name) if name == label else Observer())
        return command(*words)


def written() -> dict[str, int]:
    """Return when each record's manifest was last written [ns]."""
    return {path.name: (path / "manifest.json").stat().st_mtime_ns for path in Path("cmp/runs").iterdir()}


@pytest.mark.usefixtures("nothing_drawn")
def test_an_interrupted_comparison_says_how_to_go_on_and_does(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["compare", scene_file(CASES), "--output", "cmp", "--reference", "fem"]
    said = interrupted(monkeypatch, "springy truss", *words)
    assert said.code == EXIT_INTERRUPTED
    assert "1 of 4 runs are finished (springy fem); give the same command with --continue" in said.err
    first = written()
    assert set(first) == set(NAMES[:2])
    unasked = command(*words)
    assert unasked.code == EXIT_BAD_INPUT and "--continue" in unasked.sentence and "--overwrite" in unasked.sentence
    resumed: list[Path] = []

    def resume(folder: Path, **options: Any) -> Any:
        resumed.append(folder)
        return resume_run(folder, **options)

    monkeypatch.setattr(running, "resume_run", resume)
    said = command(*words, "--continue")
    assert said.code == EXIT_OK, said.err
    assert resumed == [Path("cmp/runs/springy-truss")] and "springy fem: kept, complete" in said.err
    assert written()["springy-fem"] == first["springy-fem"], "a finished run is kept as it is"
    assert Path("cmp/report.html").is_file()
    assert {name: status(f"cmp/runs/{name}") for name in written()} == dict.fromkeys(NAMES, "complete")


@pytest.mark.usefixtures("nothing_drawn")
def test_going_on_does_not_keep_records_of_another_run(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("compare", scene_file(), "--output", "cmp", "--reference", "fem")
    interrupted(monkeypatch, "truss", *words)
    first = written()
    assert status("cmp/runs/fem") == "complete"
    for option, young in ((["--set", "fem.step=1e-3"], 1e4), ([], 2e4)):
        scene_file({"laws.dough.young": young})
        said = command(*words, "--continue", *option)
        assert said.code == EXIT_BAD_INPUT and "cmp/runs/fem already holds a record" in said.sentence
    assert written() == first
    said = command(*words, "--continue", "--overwrite", "--quiet")
    assert said.code == EXIT_OK, said.err
    assert open_record(Path("cmp/runs/fem")).manifest.scene["laws"]["dough"]["young"] == 2.0e4


@pytest.mark.usefixtures("nothing_drawn")
def test_an_overwrite_leaves_no_stale_records_and_no_foreign_file_behind() -> None:
    words = ("compare", scene_file(CASES), "--output", "cmp", "--quiet", "--solvers", "fem", "--reference", "fem")
    assert command(*words).code == EXIT_OK
    Path("cmp/plots/photo.png").write_text("photo")
    command("run", "press.toml", "--output", "cmp/runs/mine", "--quiet")
    assert command(*words, "--overwrite", "--cases", "doughy").code == EXIT_OK
    assert set(written()) == {"doughy-fem", "mine"} and Path("cmp/plots/photo.png").read_text() == "photo"


def test_a_folder_of_the_user_is_refused_before_the_first_run() -> None:
    Path("thesis/plots").mkdir(parents=True)
    Path("thesis/plots/photo.png").write_text("photo")
    said = command("compare", scene_file(), "--output", "thesis", "--overwrite", "--continue")
    assert said.code == EXIT_BAD_INPUT
    assert said.sentence.startswith("thesis: it is not empty and is not a comparison of Rheotwin; choose another")
    assert [str(path) for path in Path("thesis").rglob("*.*")] == ["thesis/plots/photo.png"]


@pytest.mark.usefixtures("nothing_drawn")
def test_a_refinement_study_runs_every_mesh_and_weighs_them() -> None:
    words = ("--refine", "1", "--refine", "fem=1,2,3", "--reference", "fem@limit", "--json")
    said = command("compare", scene_file(), *words)
    assert said.code == EXIT_OK, said.err
    output, names = Path("runs/compare-press"), ["fem-x1", "fem-x2", "fem-x3", "truss-x1"]
    assert [Path(folder).name for folder in json.loads(said.out)["records"]] == names
    manifests = [open_record(output / "runs" / name).manifest for name in names]
    assert [manifest.mesh.cells for manifest in manifests] == [16, 64, 144, 16]
    assert [manifest.step.size for manifest in manifests[:3]] == pytest.approx([2e-3, 1e-3, 2e-3 / 3])
    (case,) = json.loads((output / "comparison.json").read_text())["cases"]
    assert (case["reference"], case["runs"][-1]["label"]) == ("fem@limit", "fem@limit")
    assert {item["solver"] for item in case["settlings"]} == {"fem"} and case["front"]
    assert "fem@limit (reference)" in (output / "summary.md").read_text()


@pytest.mark.usefixtures("nothing_drawn")
@pytest.mark.parametrize(("depth", "method"), [(1e-4, "fem"), (0.03, "fem-large")])
def test_the_program_chooses_a_reference_that_can_judge(depth: float, method: str) -> None:
    """Small strain where it serves, large strain where the body strains too much; finer meshes until it can judge."""
    pressed = {"tools.bar.motion.displacement": [[0.0, 0.0], [0.0, -depth], [0.0, 0.0]]}
    pressed |= {"solvers": {"fem": {"step": 0.02}, "truss": {"step": 1e-3}}}
    said = command("compare", scene_file(pressed), "--output", "cmp", "--quiet")
    assert said.code == EXIT_OK, said.err
    numbers = json.loads(Path("cmp/comparison.json").read_text())
    (case,) = numbers["cases"]
    assert case["reference"].partition("@")[0] == method and {f"{method}-x2", "truss-x2"} <= set(written())
    manifest = open_record(Path(f"cmp/runs/{method}-x2")).manifest
    expected = "small" if method == "fem" else "total-lagrangian"
    assert manifest.solver.options["kinematics"] == expected, "the options are in the record"
    row = next(row for row in case["verdicts"] if row["label"].startswith("truss"))
    assert row["uncertainty"] > 0.0 and row["words"] in ("differs", "agrees within U", "cannot be told")
    assert ("large strain judge" in numbers["reason"]) == (method == "fem-large")
    assert "error E ± U" in said.out and any(words in said.out for words in ("For 5 %", "No run is known to be"))
    # going on keeps what the program chose to run
    before = written()
    said = command("compare", "press.toml", "--output", "cmp", "--continue", "--overwrite")
    assert said.code == EXIT_OK and written() == before, said.err


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"stepper": "quasi-static", "formulation": "b-bar"}, {"stepper": "quasi-static", "formulation": "b-bar"}),
        ({"stepper": "quasi-static", "formulation": "stabilized"}, {"stepper": "quasi-static"}),
        ({"formulation": "b-bar"}, {}),
        ({"order": 2, "stepper": "static"}, {"order": 2}),
    ],
)
def test_a_reference_of_large_strain_keeps_the_elements_it_can(given: dict[str, Any], kept: dict[str, Any]) -> None:
    scene = load_scene(scene_file({"solvers": {"fem": given}}))
    with opened() as here:
        plan = Plan(scene, [None], {}, Path("cmp"), overwrite=False, go_on=False, quiet=True, workers=here)
        found = plan.large_strain_options()
    assert {name: value for name, value in found.items() if name not in ("kinematics", "step")} == kept
