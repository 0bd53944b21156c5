"""`rheotwin compare`: every case with every solver, one report, and refusals before any work is done."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rheotwin.errors import EXIT_BAD_INPUT, EXIT_FALLS_SHORT, EXIT_OK
from rheotwin.record import open_record

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
        (["--solvers", "fem,trus"], "there is no solver named 'trus' (did you mean 'truss'?); installed: fem, truss"),
        (["--solvers", ","], "--solvers: name at least one solver, for example --solvers fem,truss"),
        (["--reference", "dem"], "--reference: 'dem' is not among the solvers compared: fem, truss"),
        (["--cases", "springy,dugy"], "no case 'dugy' (did you mean 'doughy'?)"),
        (["--set", "dem.step=1"], "--set dem.…: the solvers compared are fem, truss"),
        (["--set", "truss.stp=1"], "solvers.truss.stp: unknown option"),
        (["--output", "press.toml"], "press.toml"),
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
