"""Whatever is wrong with the input: exit code 2, place and remedy in words, no traceback, nothing half-written."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rheotwin.errors import EXIT_BAD_INPUT, EXIT_OK
from rheotwin.meshing import BoxShape, make_shape, write_mesh
from rheotwin.record import open_record

Command = Callable[..., Any]
BOX = 'shape = "box"\nsize = [0.2, 0.1]\ncells = [4, 2]\n'

SCENE_FAULTS: dict[str, tuple[list[tuple[str, str]], list[str]]] = {
    # replacements in the scene, what the answer must name
    "unknown key": (
        [("poisson = 0.3\nvoigt", "poison = 0.3\nvoigt")],
        ["laws.dough.poison", "did you mean 'poisson'?"],
    ),
    "negative density": ([("density = 1000.0", "density = -1000.0")], ["bodies.block.density", "greater than 0"]),
    "negative mass": ([("density = 1000.0", "mass = -3.0")], ["bodies.block.mass", "must be greater than 0, got -3.0"]),
    "beyond incompressible": ([("poisson = 0.3\nvoigt", "poisson = 0.7\nvoigt")], ["laws.dough.poisson", "0.5"]),
    "motion times not increasing": (
        [("times = [0.0, 0.1, 0.2]", "times = [0.0, 0.2, 0.1]")],
        ["tools.bar.motion.times", "must increase from entry to entry: entry 3 is 0.1 after 0.2"],
    ),
    "no such law": ([('law = "dough"', 'law = "dogh"')], ["bodies.block.law", "did you mean 'dough'?"]),
    "not TOML": ([("schema = 1", "schema = ")], ["not a TOML file"]),
    "no area to press on": ([("size = [0.2, 0.1]", "size = [0.2, 0.0]")], ["bodies.block.size.1", "greater than 0"]),
}


def assert_refused(said: Any, tmp_path: Path, *words: str) -> None:
    """Every fault on a line of its own, its place first, and no output."""
    assert said.code == EXIT_BAD_INPUT
    assert said.out == ""
    assert said.err.startswith("error: ")
    assert "Traceback" not in said.err and 'File "' not in said.err
    for word in words:
        assert word in said.err
    assert not (tmp_path / "runs").exists()
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("verb", ["run", "compare"])
@pytest.mark.parametrize("name", SCENE_FAULTS)
def test_a_fault_of_the_scene(command: Command, scene_file: Any, tmp_path: Path, name: str, verb: str) -> None:
    replacements, words = SCENE_FAULTS[name]
    path = scene_file(*replacements)
    said = command(verb, path, "--output", "out")
    assert_refused(said, tmp_path, str(path), *words)
    assert len(said.err.splitlines()) == (1 if name == "not TOML" else 2), "a heading and one line for the fault"


def test_all_faults_are_listed_at_once(command: Command, scene_file: Any, tmp_path: Path) -> None:
    path = scene_file(("density = 1000.0", "mass = -3.0"), ("[0.0, -1.0]", "[0.0]"), ("poisson", "poison"))
    said = command("run", path)
    assert_refused(said, tmp_path, "bodies.block.mass", "tools.bar.normal", "laws.dough.poison", "laws.gel.poison")


def test_a_missing_file_names_its_neighbour(command: Command, scene: Path, tmp_path: Path) -> None:
    said = command("run", "pres.toml", "--output", "out")
    assert_refused(said, tmp_path)
    assert said.sentence == "pres.toml: there is no such scene file (did you mean 'press.toml'?)"
    assert_refused(command("run", tmp_path), tmp_path, "this is a folder; name the .toml file of a scene in it")


def test_a_file_that_is_no_text(command: Command, tmp_path: Path) -> None:
    (tmp_path / "photo.toml").write_bytes(b"\x89PNG\r\n\xff\xfe")
    said = command("run", "photo.toml")
    assert_refused(said, tmp_path, "photo.toml: not a TOML file: byte 0 is not UTF-8 text")


INP = "*NODE\n{nodes}\n*ELEMENT, TYPE=CPS3\n{elements}\n"
MESHES: dict[str, tuple[str, list[str]]] = {
    "zero area": (
        INP.format(nodes="1, 0., 0., 0.\n2, 1., 0., 0.\n3, 0., 1., 0.\n4, 2., 0., 0.", elements="1, 1,2,3\n2, 1,2,4"),
        ["element 1"],
    ),
    "unused points": (
        INP.format(nodes="1, 0., 0., 0.\n2, 1., 0., 0.\n3, 0., 1., 0.\n4, 5., 5., 0.", elements="1, 1,2,3"),
        ["1 of 4 points belong to no element (indices 3)", "drop_unused = true"],
    ),
    "folded quad": (
        "*NODE\n1, 0., 0., 0.\n2, 1., 0., 0.\n3, 0., 1., 0.\n4, 1., 1., 0.\n*ELEMENT, TYPE=CPS4\n1, 1,2,3,4\n",
        ["element 0"],
    ),
    "no mesh at all": ("once upon a time\n", ["the mesh holds no elements"]),
}


@pytest.mark.parametrize("name", MESHES)
def test_a_mesh_that_is_no_body(command: Command, scene_file: Any, tmp_path: Path, name: str) -> None:
    text, words = MESHES[name]
    (tmp_path / "plate.inp").write_text(text)
    path = scene_file((BOX, 'shape = "file"\npath = "plate.inp"\n'))
    said = command("run", path, "--output", "out")
    assert_refused(said, tmp_path, *words)
    assert said.err.count("\n") == 1, said.err
    assert command("mesh", "plate.inp").code == EXIT_BAD_INPUT


def test_an_inverted_hexahedron_is_named(command: Command, scene_file: Any, tmp_path: Path) -> None:
    import meshio

    mesh = make_shape(BoxShape((1.0, 1.0, 1.0), (2, 1, 1), cell="hex"))
    write_mesh(tmp_path / "good.vtu", mesh)
    raw = meshio.read(tmp_path / "good.vtu")
    cells = raw.cells[0].data.copy()
    cells[1] = cells[1][[4, 5, 6, 7, 0, 1, 2, 3]]
    meshio.write(tmp_path / "bad.vtu", meshio.Mesh(raw.points, [("hexahedron", cells)]))
    said = command("mesh", "bad.vtu")
    assert_refused(said, tmp_path, "bad.vtu", "element 1")
    assert said.sentence


def test_a_mesh_file_that_is_not_there(command: Command, scene_file: Any, tmp_path: Path) -> None:
    path = scene_file((BOX, 'shape = "file"\npath = "plate.inp"\n'))
    assert_refused(command("run", path), tmp_path, "bodies.block.path: there is no mesh file")


def test_an_unknown_solver_lists_what_exists(command: Command, scene: Path, tmp_path: Path) -> None:
    said = command("run", scene, "--solver", "fen", "--output", "out")
    assert_refused(said, tmp_path)
    known = "installed: fem, truss, fixed-point, shear-volume"
    assert said.sentence == f"solver: there is no solver named 'fen' (did you mean 'fem'?); {known}"


def test_a_solver_says_what_it_can_do(
    command: Command, scene: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    from rheotwin.fem import FemSolver

    monkeypatch.setattr(FemSolver, "capabilities", replace(FemSolver.capabilities, laws=frozenset({"elastic"})))
    said = command("run", scene, "--output", "out")
    assert_refused(
        said,
        tmp_path,
        "solver 'fem' cannot run this scene: 1 fault",
        "laws of body block: 'three-element' is beyond this solver, which does elastic",
    )


def test_options_of_a_solver_are_checked(command: Command, scene: Path, tmp_path: Path) -> None:
    said = command("run", scene, "--set", "fem.stp=1e-3", "--output", "out")
    assert_refused(said, tmp_path, "solvers.fem.stp: unknown option (did you mean 'step'?); allowed: ")
    said = command("run", scene, "--set", "truss.step=1e-3", "--output", "out")
    assert_refused(said, tmp_path, "--set truss.…: this run uses the solver 'fem'; set its options only")
    said = command("run", scene, "--solver", "truss", "--set", "truss.step=0.1", "--output", "out")
    assert_refused(said, tmp_path, "solvers.truss.step: 0.1 s is above the stable step of", "choose at most")


def test_an_existing_folder_is_left_alone(command: Command, scene: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    for extra in ([], ["--overwrite"]):
        said = command("run", scene, "--output", folder, *extra)
        assert said.code == EXIT_BAD_INPUT
        assert "is not empty and is not a record of Rheotwin; choose another output folder" in said.sentence
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]


def forbidden_folder(tmp_path: Path) -> Path:
    """Return a folder that nobody can write to, the administrator included, where the system has one."""
    if Path("/proc/self").exists():
        return Path("/proc/rheotwin")
    if os.geteuid() == 0:
        pytest.skip("an administrator may write everywhere")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    return closed / "run"


def test_an_unwritable_folder(command: Command, scene: Path, tmp_path: Path) -> None:
    target = forbidden_folder(tmp_path)
    said = command("run", scene, "--output", target, "--quiet")
    assert said.code == EXIT_BAD_INPUT
    assert said.sentence.startswith(f"could not create the record {target}: ")
    assert said.sentence.endswith("; choose a folder that can be written to")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="an administrator may write everywhere")
def test_a_folder_without_permission(command: Command, scene: Path, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    said = command("run", scene, "--output", closed / "run", "--quiet")
    assert said.code == EXIT_BAD_INPUT
    assert "Permission denied; choose a folder that can be written to" in said.sentence


def test_a_file_where_the_folder_should_be(command: Command, scene: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for target in ("file", "file/run"):
        said = command("run", scene, "--output", target, "--quiet")
        assert said.code == EXIT_BAD_INPUT
        assert said.sentence
    assert (tmp_path / "file").read_text() == "mine"


@contextmanager
def nearly_full(size: int) -> Iterator[None]:
    """Let no file grow beyond so many bytes, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("series_format", ["pvd", "vtkhdf"])
def test_a_disk_that_is_full_from_the_start(command: Command, scene: Path, tmp_path: Path, series_format: str) -> None:
    command("run", scene, "--output", "warm", "--quiet")  # kernels are compiled and cached
    with nearly_full(500):
        said = command("run", scene, "--output", "deep/out", "--quiet", "--format", series_format)
    assert said.code == EXIT_BAD_INPUT
    assert said.sentence.startswith("could not create the record deep/out: ")
    assert not (tmp_path / "deep").exists()


def test_a_disk_with_room_for_the_manifest_only(command: Command, scene: Path, tmp_path: Path) -> None:
    command("run", scene, "--output", "warm", "--quiet", "--format", "vtkhdf")
    manifest, series = (Path("warm", name).stat().st_size for name in ("manifest.json", "series.vtkhdf"))
    assert manifest < series
    with nearly_full(manifest + 100):
        said = command("run", scene, "--output", "deep/out", "--quiet", "--format", "vtkhdf")
    assert said.code == EXIT_BAD_INPUT
    assert said.sentence.startswith("could not create the record deep/out: ")
    assert not (tmp_path / "deep").exists()


@pytest.mark.parametrize("series_format", ["pvd", "vtkhdf"])
def test_a_disk_that_fills_up_on_the_way(command: Command, scene_file: Any, tmp_path: Path, series_format: str) -> None:
    # Rows of the probe table and entries of the index grow a little with every frame.
    path = scene_file(("interval = 0.1", "interval = 0.002\ncheckpoint_interval = 0.02"))
    command("run", path, "--output", "whole", "--quiet", "--format", series_format)
    sizes = {entry: entry.stat().st_size for entry in Path("whole").rglob("*") if entry.is_file()}
    largest = sorted(sizes.values())[-1]
    with nearly_full(int(0.9 * largest)):
        said = command("run", path, "--output", "out", "--quiet", "--format", series_format)
    assert said.code == EXIT_BAD_INPUT
    assert said.sentence.startswith("could not write out/")
    assert said.sentence.endswith("and resume with `rheotwin run --resume out`")
    record = open_record(tmp_path / "out")
    assert record.manifest.status == "failed"
    assert np.isfinite(record.field("displacement")).all()
    assert not list(Path("out").rglob("*.part"))

    # with space again, the advice of the sentence leads to the whole record
    assert command("run", "--resume", "out", "--quiet").code == EXIT_OK
    assert Path("out/probes.csv").read_bytes() == Path("whole/probes.csv").read_bytes()
    assert open_record(Path("out")).times.tolist() == open_record(Path("whole")).times.tolist()


BAD_COMMANDS = [
    ["run", "nowhere.toml"],
    ["run", "press.toml", "--solver", "fen"],
    ["run", "press.toml", "--case", "soft"],
    ["run", "press.toml", "--set", "nonsense"],
    ["info", "nowhere"],
    ["mesh", "nowhere.msh"],
]


@pytest.mark.parametrize("words", BAD_COMMANDS, ids=" ".join)
def test_a_process_of_its_own_says_the_same(scene: Path, tmp_path: Path, words: list[str]) -> None:
    done = subprocess.run([sys.executable, "-m", "rheotwin", *words], capture_output=True, text=True, check=False)
    assert done.returncode == EXIT_BAD_INPUT
    assert done.stdout == ""
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1, done.stderr
    assert [entry.name for entry in tmp_path.iterdir()] == ["press.toml"]
