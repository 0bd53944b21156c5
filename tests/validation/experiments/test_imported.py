"""`experiment import`: a table becomes a record that a run of the same bar repeats; signs and units are noticed."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rheotwin as rt
from rheotwin.cli import experiment
from rheotwin.errors import EXIT_BAD_INPUT, EXIT_OK
from rheotwin.validation.experiments.reader import read_experiment
from tests.conftest import command

SIDE = 0.01
GEOMETRY = ("--geometry", "bar,20 mm,100 mm2")
PULL: dict[str, Any] = {
    "schema": 1,
    "dimension": 3,
    "duration": 1.0,
    "laws": {"gel": {"model": "voigt", "young": 1e5, "poisson": 0.0, "viscosity": 1e3}},
    "bodies": {"bar": {"shape": "box", "size": [SIDE, SIDE, 0.02], "cells": [1, 1, 2], "law": "gel", "density": 1e3}},
    "supports": {
        "floor": {"body": "bar", "where": {"side": "bottom"}},
        "grip": {"body": "bar", "where": {"side": "top"}, "motion": {"ramp": {"to": [0.0, 0.0, 1e-3], "time": 1.0}}},
    },
    "output": {"interval": 0.5, "probe_interval": 0.02},
}


@pytest.fixture
def table(own_folder: Path) -> Path:
    """What a machine would have written of the bar: E A x/l + c A v/l, in mm and N."""
    t = np.linspace(0.0, 1.0, 51)
    force = SIDE**2 / 0.02 * (1e5 * 1e-3 * t + 1e3 * 1e-3 * (t > 0.0))
    np.savetxt("pull.csv", np.stack([t, t, force], axis=1), "%.8g", ",", header="t,way,load (N)", comments="")
    return Path("pull.csv")


def imported(*words: str) -> Any:
    return command("experiment", "import", "pull.csv", "--output", "pull", *words)


def test_a_table_becomes_a_record_that_a_run_repeats(table: Path) -> None:
    told = ("--columns", "displacement=way", "--units", "time=s,displacement=mm", *GEOMETRY)
    said = imported(*told, "--noise", "0.02")
    assert said.code == EXIT_OK, said.err
    record = read_experiment(Path("pull"))
    assert record.specimen.size == pytest.approx((SIDE, SIDE, 0.02)) and record.uncertainty.force_rel == 0.02
    assert record.path is not None and record.path.values[-1] == pytest.approx([0.0, 0.0, 1e-3])
    rt.run(rt.Scene(**PULL), "fem", folder="run")
    said = command("experiment", "compare", "pull", "run")
    assert said.code == EXIT_OK, said.err
    (error,) = re.findall(r"^force error +(\S+)$", said.out, flags=re.MULTILINE)
    assert float(error) < 0.01 and "compared s     0, 1" in said.out and "hint" not in said.out
    assert "--flip-force" in imported(*told, "--flip-force", "--overwrite").err, "a piece that pulls at who presses it"
    imported(*told, "--push", "--overwrite")
    assert "the measured force has the other sign" in command("experiment", "compare", "pull", "run").out
    table.write_text(table.read_text().replace("(N)", "(kN)"))
    imported(*told, "--overwrite")
    assert "some 1000 times that of the run: look at its unit" in command("experiment", "compare", "pull", "run").out


def test_what_is_not_said_is_asked_for_where_there_is_somebody(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = imported()
    assert said.code == EXIT_BAD_INPUT and "--geometry: say it" in said.err
    said = imported("--geometry", "strain", "--columns", "displacement=way", "--units", "time=s,displacement=mm")
    assert said.code == EXIT_BAD_INPUT and "an experiment needs a body" in said.err and not Path("pull").exists()
    answers = iter(("bar,20 mm,100 mm2", "displacement=way", "time=s,displacement=mm"))
    monkeypatch.setattr(experiment.sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda asked: next(answers))
    assert imported("--push").code == EXIT_OK
    path = read_experiment(Path("pull")).path
    assert path is not None and path.values[-1] == pytest.approx([0.0, 0.0, -1e-3]) and next(answers, None) is None
