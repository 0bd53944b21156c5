"""`rheotwin sweep`: a row for every combination, numbers as `rheotwin run` finds them, faults before the first run."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from rheotwin.errors import EXIT_BAD_INPUT, EXIT_FALLS_SHORT, EXIT_OK
from rheotwin.record import open_record
from rheotwin.sweeping import measured
from tests.conftest import BLAST, Data, command, scene_file, settings

YOUNG = ["--vary", "laws.dough.young=5e3,1e4"]
PULL = {"gravity": [0.0, -1.0]}


def rows(folder: str = "runs/sweep-press") -> list[dict[str, str]]:
    with (Path(folder) / "sweep.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def sweep(*words: str, changes: Data | None = None) -> tuple[int, str]:
    said = command("sweep", scene_file(changes), "--quiet", "--solvers", "truss", *words)
    return said.code, said.out or said.err


def test_a_row_for_every_combination_with_the_numbers_of_its_run() -> None:
    pytest.importorskip("xarray")
    from pandas import read_csv

    code, out = sweep(*YOUNG, "--vary", "truss.step=1e-3,5e-4", "--vary", "gravity.1=-1.0,0.0", "--json", changes=PULL)
    assert code == EXIT_OK
    found = rows()
    assert [tuple(row.values())[:4] for row in found] == [
        (young, step, pull, "truss")
        for young in ("5000.0", "10000.0")
        for step in ("0.001", "0.0005")
        for pull in ("-1.0", "0.0")
    ]
    assert len(json.loads(out)) == 8 and {row["status"] for row in found} == {"complete"}
    command(
        *(
            "run",
            "press.toml",
            "--solver",
            "truss",
            "--quiet",
            "--set",
            "laws.dough.young=5e3",
            "--set",
            "gravity.1=0.0",
        ),
        *settings("truss", step=5e-4),
    )
    probes = open_record("runs/press-truss").probes
    force = np.hypot(probes["tool.bar.force_x"], probes["tool.bar.force_y"]).max()
    assert float(found[3]["peak force [N]"]) == force
    grid = read_csv("runs/sweep-press/sweep.csv").set_index(["laws.dough.young", "truss.step", "gravity.1", "solver"])
    assert (
        grid.to_xarray()["peak force [N]"].sel({"laws.dough.young": 5e3, "truss.step": 5e-4, "gravity.1": 0.0}) == force
    )
    assert Path("runs/sweep-press/sweep.png").read_bytes().startswith(b"\x89PNG")


def test_the_table_is_the_same_from_other_processes() -> None:
    sweep(*YOUNG)
    sweep(*YOUNG, "--output", "other", "--executor", "processes:2")
    without_time = [
        [{name: value for name, value in row.items() if name != "wall time [s]"} for row in rows(folder)]
        for folder in ("runs/sweep-press", "other")
    ]
    assert without_time[0] == without_time[1] and len(without_time[0]) == 2


def test_a_run_that_diverges_is_a_row_with_its_reason() -> None:
    code, _ = sweep("--vary", "forces.blast.total.1=0.0,1e12", changes=BLAST)
    kept, lost = rows()
    assert code == EXIT_FALLS_SHORT
    assert (kept["status"], lost["status"]) == ("complete", "diverged")
    assert "the run diverged at t = " in lost["remarks"] and kept["peak force [N]"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--vary", "laws.dough.young"], "--vary laws.dough.young: write PLACE=VALUE,VALUE,.., for example"),
        (["--vary", "laws.dough.young="], "--vary laws.dough.young=: write PLACE=VALUE,VALUE"),
        (["--vary", "laws.doug.young=1,2"], "--set laws.doug.young: laws has no 'doug' (did you mean 'dough'?)"),
        (["--vary", "fem.step=1e-3,2e-3"], "--set fem.…: this uses the solver 'truss'"),
        (["--vary", "truss.stp=1,2"], "solvers.truss.stp: unknown option"),
        ([*YOUNG, "--executor", "cloud"], "--executor cloud: choose from lanes, processes, processes:N, dask or"),
        ([*YOUNG, "--output", "press.toml"], "--output press.toml: press.toml is a file, not a folder"),
    ],
)
def test_faults_show_before_the_first_run_and_nothing_is_written(words: list[str], sentence: str) -> None:
    code, said = sweep(*words)
    assert code == EXIT_BAD_INPUT and sentence in said
    assert not Path("runs").exists()


def test_going_on_runs_what_the_table_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that are there stay as they are, those of other values are added in the order of the new grid."""
    sweep(*YOUNG)
    first, ran = rows(), []
    monkeypatch.setattr("rheotwin.sweeping.measured", lambda own, run, real=measured: ran.append(run) or real(own, run))
    code, _ = sweep("--vary", "laws.dough.young=5e3,7e3,1e4", "--continue")
    assert code == EXIT_OK and [run["laws.dough.young"] for run in ran] == [7e3]
    second = rows()
    assert [second[0], second[2]] == first and second[1]["laws.dough.young"] == "7000.0"
    assert sweep(*YOUNG, "--continue")[0] == EXIT_OK and len(ran) == 1
    code, said = sweep(*YOUNG, "--continue", changes=PULL)
    assert code == EXIT_BAD_INPUT and "its table is of another scene or version; start over with --overwrite" in said


def test_a_sweep_is_not_overwritten_unasked() -> None:
    sweep(*YOUNG)
    assert "replace a sweep with --overwrite" in sweep(*YOUNG)[1]
    assert sweep("--vary", "laws.dough.young=7e3", "--overwrite")[0] == EXIT_OK
    assert [row["laws.dough.young"] for row in rows()] == ["7000.0"]
