"""One pressed block for all rooms: its changes, problems, faults and runs, and the command line in this process."""

import gc
import json
import resource
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from copy import deepcopy
from dataclasses import dataclass
from io import StringIO
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as settings_of_hypothesis

from rheotwin.__main__ import main
from rheotwin.build import build_problem
from rheotwin.errors import InputFaults
from rheotwin.loop import Outcome
from rheotwin.problem import Problem
from rheotwin.record import load_manifest, open_record, save_manifest
from rheotwin.running import RunRequest, run_scene
from rheotwin.scene import Scene, scene_from_data

gc.disable()  # to look again and again through some million objects of numba and of thousands of tests takes long


def pytest_collection_finish() -> None:
    """Let the garbage collector leave alone what was there before the tests, and look less often."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()


settings_of_hypothesis.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings_of_hypothesis.load_profile("patient")  # a busy machine is no fault of an example
Data = dict[str, Any]
PRESS = """
schema = 1
title = "a small press"
dimension = 2
duration = 0.4
gravity = [0.0, -1.0]
laws.dough = { model = "three-element", young = 1e4, poisson = 0.3, voigt_viscosity = 200.0, series_viscosity = 5e3 }
laws.gel = { model = "elastic", young = 1e4, poisson = 0.3 }
bodies.block = { shape = "box", size = [0.2, 0.1], cells = [4, 2], law = "dough", density = 1000.0 }
supports.floor = { body = "block", where = { side = "bottom" } }
probes.tip = { body = "block", at = [0.1, 0.1] }
output = { interval = 0.1, probe_interval = 0.05, checkpoint_interval = 0.2 }
solvers = { fem = { step = 1e-3 }, truss = { step = 1e-3 } }

[tools.bar]
shape = "bar"
center = [0.1, 0.1]
normal = [0.0, -1.0]
width = 0.1
motion = { times = [0.0, 0.2, 0.4], displacement = [[0.0, 0.0], [0.0, -0.01], [0.0, 0.0]] }
"""
"""A block of 4 x 2 squares pressed by a bar for 0.4 s: some hundred steps take milliseconds."""
QUICK: Data = {
    "duration": 0.2,
    "gravity": ...,
    "tools.bar.motion.times": [0.0, 0.1, 0.2],
    "probes": ...,
    "output": {"interval": 0.1},
    "solvers": {"fem": {"step": 2e-3}},
}
"""Changes that halve the press, for the command line."""
SOLID: Data = {
    "dimension": 3,
    "gravity": [0.0, 0.0, -1.0],
    "bodies.block.size": [0.2, 0.1, 0.1],
    "bodies.block.cells": [4, 2, 2],
    "tools": {},
    "probes": {},
}
"""Changes to a block of 4 x 2 x 2 cubes without a tool."""
BLAST: Data = {
    "forces.blast": {"body": "block", "where": {"side": "top"}, "total": [0.0, 1e12], "factor": [0.0, 1.0]},
    "forces.blast.times": [0.1, 0.2],
}
"""A force that carries the block through the roof after a while."""
DOUGH = {"young": 2e3, "voigt_viscosity": 500.0, "series_viscosity": 3500.0}
"""Constants of the edges of the pushed lump [N/m, N s/m]."""
TWIN: Data = {"shape": "box", "size": [0.2, 0.1], "cells": [4, 2], "law": "dough", "mass": 20.0, "origin": [1.0, 0.0]}
"""A second block beside the first."""


def data(*changes: Data | None) -> Data:
    """Return the press with entries at dotted places replaced, table by table; the value ... removes an entry."""
    found = tomllib.loads(PRESS)
    for place, value in chain.from_iterable((table or {}).items() for table in changes):
        *path, last = place.split(".")
        table = found
        for key in path:
            table = table.setdefault(key, {})
        if value is ...:
            del table[last]
        else:
            table[last] = deepcopy(value)
    return found


def pushed_lump(depth: float = 0.008) -> Data:
    """Return a lump of 4 x 3 x 3 particles pushed [m], held, let go; its law is to be calibrated."""
    lump = {"shape": "box", "size": [0.06, 0.04, 0.04], "cells": [3, 2, 2], "cell": "hex", "law": "dough", "mass": 10.0}
    punch = {
        "body": "lump",
        "where": {"box": {"x": [0.015, 0.045], "z": [0.039, 0.041]}},
        "motion": {"ramp": {"to": [0.0, 0.0, -depth], "time": 0.5}},
        "until": 1.5,
    }
    return {
        "schema": 1,
        "dimension": 3,
        "duration": 2.0,
        "laws": {"dough": {"model": "three-element", "poisson": 0.25, **DOUGH}},
        "bodies": {"lump": lump},
        "supports": {"floor": {"body": "lump", "where": {"side": "bottom"}}, "punch": punch},
        "solvers": {"truss": {"match": "edge"}},
        "calibrate": {
            "laws.dough.young": {"low": 500.0, "high": 1e4, "start": 1e3},
            "laws.dough.voigt_viscosity": {"low": 100.0, "high": 1e4, "start": 2e3},
            "laws.dough.series_viscosity": {"low": 500.0, "high": 2e4, "start": 2e3},
        },
    }


def scene_with(*changes: Data | None, base: Path | None = None) -> Scene:
    """Return the changed press as a scene."""
    return scene_from_data(data(*changes), base=base)


def problem_with(*changes: Data | None, base: Path | None = None) -> Problem:
    """Return the problem of the changed press."""
    return build_problem(scene_with(*changes, base=base))


def faults_of(*changes: Data) -> dict[str, str]:
    """Return the faults (place -> sentence) that changes of the press lead to."""
    try:
        scene_with(*changes)
    except InputFaults as error:
        return {fault.place: fault.message for fault in error.faults}
    return {}


def run(
    solver: str, changes: Data | None = None, *, name: str = "run", format: str = "pvd", **how: Any
) -> tuple[Path, Outcome]:
    """Run the changed press into a folder; return the folder and the outcome."""
    request = RunRequest(scene=scene_with(changes), solver=solver, folder=Path(name), format=format)
    return request.folder, run_scene(request, **how)


def cut_off(folder: Path, *, keep_last: bool = True) -> None:
    """Let a complete record look as a kill leaves it: still running, with or without its last checkpoint."""
    manifest = load_manifest(folder)
    assert manifest.status == "complete"
    save_manifest(manifest.changed(status="running"), folder)
    if not keep_last:
        newest = open_record(folder).checkpoint_path
        assert newest is not None
        newest.unlink()


def toml(value: Any) -> str:
    """Write a value in one line of TOML."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {toml(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


def write_scene(scene: Data, name: str = "scene.toml") -> Path:
    """Write a scene into a file of this folder."""
    Path(name).write_text("".join(f"{key} = {toml(value)}\n" for key, value in scene.items()))
    return Path(name)


def scene_file(changes: Data | None = None, *, name: str = "press.toml") -> Path:
    """Write the quick press, changed, into a file of this folder."""
    return write_scene(data(QUICK, changes), name)


@dataclass(frozen=True)
class Said:
    """What a command left: exit code, standard output, standard error."""

    code: int
    out: str
    err: str

    @property
    def sentence(self) -> str:
        """The one sentence of a refused command, without its "error: "."""
        assert self.err.startswith("error: ") and self.err.endswith("\n") and self.err.count("\n") == 1, self.err
        return self.err.removeprefix("error: ").rstrip("\n")


def command(*words: str | Path) -> Said:
    """Run `rheotwin WORDS` in this process."""
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        try:
            code = main([str(word) for word in words])
        except SystemExit as leave:  # argparse leaves by itself
            code = int(leave.code or 0)
    assert "Traceback" not in err.getvalue()
    return Said(code, out.getvalue(), err.getvalue())


def settings(solver: str = "fem", **options: Any) -> list[str]:
    """Return the words that set options of a solver."""
    return [word for name, value in options.items() for word in ("--set", f"{solver}.{name}={value}")]


@contextmanager
def nearly_full(size: int) -> Iterator[None]:
    """Let no file grow beyond so many bytes: the system cuts writes off as it does on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


IN_A_FORMAT = pytest.mark.parametrize(
    ("solver", "series_format"),
    [
        ("fem", "pvd"),
        ("truss", "vtkhdf"),
        pytest.param("fem", "vtkhdf", marks=pytest.mark.exhaustive),
        pytest.param("truss", "pvd", marks=pytest.mark.exhaustive),
    ],
)
"""Both solvers and both formats of a series."""


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder of the test: default output folders are relative."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave pictures of bodies out of comparisons; the report's own tests draw them."""
    monkeypatch.setattr("rheotwin.validation.report.write.draw_pictures", lambda *_: {})


@pytest.fixture
def nothing_drawn(monkeypatch: pytest.MonkeyPatch, no_pictures: None) -> None:
    """Leave plots out as well."""
    for name in ("case_plots", "overview_plots"):
        monkeypatch.setattr(f"rheotwin.validation.report.write.{name}", lambda *_: ())


@pytest.fixture(params=["fem", "truss"])
def solver(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["pvd", "vtkhdf"])
def series_format(request: pytest.FixtureRequest) -> str:
    return str(request.param)
