"""Whatever is wrong with the input: exit code 2, place and remedy in words, no traceback, nothing half-written."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rheotwin.errors import EXIT_BAD_INPUT, EXIT_OK
from rheotwin.fem import FemSolver
from rheotwin.record import open_record
from tests.conftest import Data, Said, command, nearly_full, scene_file

FORMATS = pytest.mark.parametrize("series_format", ["pvd", "vtkhdf"])
SCENE_FAULTS: dict[str, tuple[Data, str]] = {
    # changes of the scene, what the answer must name beside the place
    "laws.dough.poison": ({"laws.dough.poison": 0.3}, "did you mean 'poisson'?"),
    "bodies.block.mass": ({"bodies.block.density": ..., "bodies.block.mass": -3.0}, "must be greater than 0, got -3.0"),
    "tools.bar.motion.times": ({"tools.bar.motion.times": [0.0, 0.2, 0.1]}, "entry 3 is 0.1 after 0.2"),
    "bodies.block.law": ({"bodies.block.law": "dogh"}, "did you mean 'dough'?"),
}


def require_refused(said: Said, *words: str) -> None:
    """Every fault on a line of its own, its place first, and no output."""
    assert said.code == EXIT_BAD_INPUT and said.out == ""
    assert said.err.startswith("error: ") and 'File "' not in said.err
    for word in words:
        assert word in said.err
    assert not Path("runs").exists() and not Path("out").exists()


@pytest.mark.parametrize("verb", ["run", "compare"])
@pytest.mark.parametrize("place", SCENE_FAULTS)
def test_a_fault_of_the_scene(place: str, verb: str) -> None:
    changes, words = SCENE_FAULTS[place]
    said = command(verb, scene_file(changes), "--output", "out")
    require_refused(said, "press.toml", place, words)
    assert len(said.err.splitlines()) == 2, "a heading and one line for the fault"


def test_faults_are_listed_at_once_and_files_that_are_no_scenes() -> None:
    wrong = {"laws.dough.poison": 0.3, "laws.gel.poison": 0.3, "tools.bar.normal": [0.0], "bodies.block.density": -3.0}
    require_refused(command("run", scene_file(wrong)), *wrong)
    scene_file()
    said = command("run", "pres.toml", "--output", "out")
    require_refused(said)
    assert said.sentence == "pres.toml: there is no such scene file (did you mean 'press.toml'?)"
    require_refused(command("run", Path.cwd()), "this is a folder; name the .toml file of a scene in it")
    Path("photo.toml").write_bytes(b"\x89PNG\r\n\xff\xfe")
    require_refused(command("run", "photo.toml"), "photo.toml: not a TOML file: byte 0 is not UTF-8 text")
    Path("half.toml").write_text("schema = \n")
    assert "half.toml: not a TOML file" in command("run", "half.toml").sentence


NODES = "*NODE\n1, 0., 0., 0.\n2, 1., 0., 0.\n3, 0., 1., 0.\n"
TRIANGLES = "*ELEMENT, TYPE=CPS3\n1, 1,2,3\n"
MESHES: dict[str, tuple[str, list[str]]] = {
    "zero area": (f"{NODES}4, 2., 0., 0.\n{TRIANGLES}2, 1,2,4\n", ["element 1"]),
    "unused points": (f"{NODES}4, 5., 5., 0.\n{TRIANGLES}", ["1 of 4 points belong to no element (indices 3)"]),
    "no file": ("", ["bodies.block.path: there is no mesh file"]),
}


@pytest.mark.parametrize("name", MESHES)
def test_a_mesh_that_is_no_body(name: str) -> None:
    text, words = MESHES[name]
    if text:
        Path("plate.inp").write_text(text)
    said = command(
        "run", scene_file({"bodies.block": {"shape": "file", "path": "plate.inp", "law": "dough", "density": 1.0}})
    )
    require_refused(said, *words)
    assert said.err.count("\n") <= 2, said.err
    assert command("mesh", "plate.inp").code == EXIT_BAD_INPUT


def test_options_and_laws_are_those_of_the_solver_that_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    said = command("run", scene_file(), "--output", "out", "--set", "truss.step=1e-3")
    require_refused(said, "--set truss.…: this uses the solver 'fem'; set its options, or an entry")
    monkeypatch.setattr(FemSolver, "capabilities", replace(FemSolver.capabilities, laws=frozenset({"elastic"})))
    require_refused(
        command("run", scene_file(), "--output", "out"),
        "solver 'fem' cannot run this scene: 1 fault",
        "laws of body block: 'three-element' is beyond this solver, which does elastic",
    )


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no folder that the administrator cannot write to")
def test_an_unwritable_folder() -> None:
    said = command("run", scene_file(), "--output", "/proc/rheotwin", "--quiet")
    assert said.code == EXIT_BAD_INPUT
    assert said.sentence.startswith("could not create the record /proc/rheotwin: ")
    assert said.sentence.endswith("; choose a folder that can be written to")


@pytest.mark.parametrize(("series_format", "room"), [("pvd", "none"), ("vtkhdf", "none"), ("vtkhdf", "manifest only")])
def test_a_disk_that_is_full_from_the_start(series_format: str, room: str) -> None:
    words = ("run", scene_file(), "--quiet", "--format", series_format)
    command(*words, "--output", "warm")  # kernels are compiled and cached
    size = 500 if room == "none" else Path("warm/manifest.json").stat().st_size + 100
    assert room == "none" or size < Path("warm/series.vtkhdf").stat().st_size
    with nearly_full(size):
        said = command(*words, "--output", "deep/out")
    assert said.code == EXIT_BAD_INPUT and said.sentence.startswith("could not create the record deep/out: ")
    assert not Path("deep").exists()


@FORMATS
def test_a_disk_that_fills_up_on_the_way(series_format: str) -> None:
    # Rows of the probe table and entries of the index grow a little with every frame.
    path = scene_file({"output": {"interval": 0.002, "checkpoint_interval": 0.02}})
    command("run", path, "--output", "whole", "--quiet", "--format", series_format)
    largest = max(entry.stat().st_size for entry in Path("whole").rglob("*") if entry.is_file())
    with nearly_full(int(0.9 * largest)):
        said = command("run", path, "--output", "out", "--quiet", "--format", series_format)
    assert said.code == EXIT_BAD_INPUT and said.sentence.startswith("could not write out/")
    assert said.sentence.endswith("and resume with `rheotwin run --resume out`")
    record = open_record(Path("out"))
    assert record.manifest.status == "failed" and np.isfinite(record.field("displacement")).all()
    assert not list(Path("out").rglob("*.part"))
    # with space again, the advice of the sentence leads to the whole record
    assert command("run", "--resume", "out", "--quiet").code == EXIT_OK
    assert Path("out/probes.csv").read_bytes() == Path("whole/probes.csv").read_bytes()
    assert open_record(Path("out")).times.tolist() == open_record(Path("whole")).times.tolist()


BAD_COMMANDS = ["run press.toml --case soft", "run press.toml --set nonsense", "info nowhere", "mesh nowhere.msh"]


@pytest.mark.parametrize("words", BAD_COMMANDS)
def test_a_process_of_its_own_says_the_same(words: str) -> None:
    scene_file()
    call = [sys.executable, "-m", "rheotwin", *words.split()]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert done.returncode == EXIT_BAD_INPUT and done.stdout == ""
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1, done.stderr
    assert [entry.name for entry in Path().iterdir()] == ["press.toml"]
