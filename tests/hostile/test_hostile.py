"""Hostile inputs: damage is named, one run writes at a time, words stay words, and a short hunt over all readers."""

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rheotwin.errors import RheotwinError, table_cell, visible
from rheotwin.meshing import files, shapes
from rheotwin.record import load_manifest, open_record
from rheotwin.record.folder import Lock
from rheotwin.running import resume_run
from rheotwin.texts import read_json, read_toml
from rheotwin.validation.experiments.reader import read_experiment
from tests.conftest import QUICK, command, cut_off, faults_of, run, scene_file
from tests.hostile.fuzz import hunt
from tests.hostile.targets import make_targets, read_record

OUTPUT: dict[str, Any] = {**QUICK, "output": {"interval": 0.05, "checkpoint_interval": 0.05}}

HOLDS = """
import sys, time
from pathlib import Path
from rheotwin.record.folder import Lock
lock = Lock(Path(sys.argv[1]))
print(1, flush=True)
time.sleep(600)
"""


@pytest.fixture(autouse=True)
def in_own_folder(own_folder: Path) -> None: ...


def without_row(data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    return b"".join([*lines[:2], *lines[3:]])


def nan_row(data: bytes) -> bytes:
    lines = data.split(b"\n")
    first, *rest = lines[2].split(b",")
    lines[2] = b",".join([first, *(b"nan" for _ in rest)])
    return b"\n".join(lines)


def flipped(data: bytes) -> bytes:
    return data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :]


@pytest.mark.parametrize(
    ("file", "damage", "words"),
    [
        ("probes.csv", without_row, "the probe table is damaged"),
        ("probes.csv", nan_row, "the probe table is damaged"),
        ("frames/frame-000001.vtu", flipped, "the frame is damaged"),
        ("frames/tools-000001.vtp", flipped, "the tools' surface is damaged"),
        ("frames/frame-000001.vtu", lambda data: data[:-900], "the frame is damaged"),
        ("series.pvd", lambda data: data.replace(b"0.05", b"0.06"), "the index of the series is damaged"),
        ("series.sha256", flipped, "the list of checksums is damaged"),
        ("manifest.json", lambda data: data.replace(b'"young": 10000.0', b'"young": 10001.0'), "it is damaged or was"),
        ("series.vtkhdf", flipped, "the series is damaged"),
    ],
)
def test_damage_of_a_record_is_named_and_nothing_is_read(
    file: str, damage: Callable[[bytes], bytes], words: str
) -> None:
    folder, _ = run("truss", OUTPUT, format="vtkhdf" if file.endswith("hdf") else "pvd")
    read_record(folder)
    path = folder / file
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    assert path.read_bytes() != whole
    with pytest.raises(RheotwinError, match=f"{path}: {words}"):
        read_record(folder)


def test_frames_of_a_killed_run_are_checked_too() -> None:
    """Their checksums are in the list before the index names them, whatever the manifest knows."""
    folder, _ = run("truss", OUTPUT)
    data = json.loads((folder / "manifest.json").read_text())
    del data["checksum"], data["files"]
    (folder / "manifest.json").write_text(json.dumps(data))
    read_record(folder)
    path = folder / "frames/frame-000002.vtu"
    path.write_bytes(flipped(path.read_bytes()))
    with pytest.raises(RheotwinError, match="the frame is damaged"):
        read_record(folder)


def test_a_rewritten_checkpoint_gives_way_to_the_one_before_it() -> None:
    whole, _ = run("truss", OUTPUT, name="whole")
    folder, _ = run("truss", OUTPUT)
    cut_off(folder)
    newest = open_record(folder).checkpoint_path
    assert newest is not None
    with np.load(newest) as file:
        state = {name: file[name] for name in file.files}
    name = next(name for name, value in state.items() if value.ndim == 2)
    np.savez(newest, **{**state, name: 1.001 * state[name]})
    with pytest.warns(UserWarning, match=f"{newest}: the checkpoint is damaged.*passed over for the one before it"):
        assert resume_run(folder).status == "complete"
    assert (folder / "probes.csv").read_bytes() == (whole / "probes.csv").read_bytes()


def test_one_writer_and_a_lock_that_a_crash_gives_back() -> None:
    folder, _ = run("truss", OUTPUT)
    cut_off(folder)
    holder = subprocess.Popen([sys.executable, "-c", HOLDS, str(folder)], stdout=subprocess.PIPE)
    try:
        assert holder.stdout is not None and holder.stdout.readline() == b"1\n"
        for words in (("run", "--resume", folder), ("run", scene_file(), "--output", folder, "--overwrite")):
            said = command(*words, "--quiet", *(["--solver", "truss"] if words[1] != "--resume" else []))
            assert f"{folder}: another run is writing into this folder" in said.sentence
        assert load_manifest(folder).status == "running", "nothing was changed"
    finally:
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
    assert command("run", "--resume", folder, "--quiet").code == 0
    lock = Lock(folder)
    lock.release()
    Lock(folder).release()


def test_a_geometry_script_runs_on_a_word_and_never_from_a_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in for gmsh counts how often it is run: by `run`, but not by `--resume`."""
    files.write_mesh("ready.msh", shapes.make_shape(shapes.BoxShape((0.2, 0.1), (4, 2))))

    def mesh(script: Path, target: Path) -> None:
        with Path("runs.txt").open("a") as file:
            file.write("run\n")
        target.write_bytes(Path("ready.msh").read_bytes())

    monkeypatch.setattr(files, "mesh_geometry", mesh)
    Path("body.geo").write_text('SystemCall "touch HACKED";')
    block = {"shape": "file", "path": "body.geo", "law": "dough", "density": 1000.0}
    scene = scene_file({"bodies.block": block, "output": {"interval": 0.05, "checkpoint_interval": 0.05}})
    words = ("run", scene, "--solver", "truss", "--quiet", "--output", "out")
    assert "--trust-geometry" in command(*words).sentence and not Path("runs.txt").exists()
    assert command(*words, "--trust-geometry").code == 0
    ran, probes = Path("runs.txt").read_text(), Path("out/probes.csv").read_bytes()
    cut_off(Path("out"), keep_last=False)
    assert command("run", "--resume", "out", "--quiet").code == 0
    assert Path("runs.txt").read_text() == ran and Path("out/probes.csv").read_bytes() == probes
    cut_off(Path("out"))
    Path("out/geometry-bodies.block.msh").unlink()
    assert "the mesh is missing" in command("run", "--resume", "out", "--quiet").sentence


def test_words_of_files_steer_nothing() -> None:
    assert visible("a\x1b[2J\u202eb\nc\x9b\x07") == "a\\x1b[2J\\u202eb\nc\\x9b\\x07"
    path = scene_file({"title": "red \x1b[31m\u202e\r\n# head"})
    assert command("run", path, "--solver", "truss", "--quiet", "--output", "out").code == 0
    for said in (command("info", "out"), command("info", path)):
        assert "\x1b" not in said.out and "red \\x1b[31m\\u202e\\r\\n# head" in said.out
    assert "\x1b" not in command("run", "--case", "x\x1b[2J", path).err
    assert [table_cell(text) for text in ("=1+1", "-x", "@a", "x=1")] == ["'=1+1", "'-x", "'@a", "x=1"]


@pytest.mark.parametrize(
    ("changes", "place", "words"),
    [
        ({"laws.dough.young": 1e300}, "laws.dough.young", "from 1e-50 to 1e"),
        ({"laws.dough.voigt_viscosity": 1e-300}, "laws.dough.voigt_viscosity", "from 1e-50 to 1e"),
        ({"bodies.block.cells": [10**4000, 2]}, "bodies.block.cells.0", "at most 1e"),
        ({"laws": {"x" * 101: {"model": "elastic", "young": 1.0, "poisson": 0.3}}}, f"laws.{'x' * 101}", "100"),
    ],
)
def test_numbers_and_names_beyond_sense_are_named(changes: dict[str, Any], place: str, words: str) -> None:
    assert words in faults_of(changes)[place]


def test_memory_is_asked_for_before_it_is_taken() -> None:
    begin = time.process_time()
    for changes in ({"bodies.block.cells": [300_000, 300_000]}, {"refinement": 100_000}):
        said = command("run", scene_file(changes), "--quiet", "--output", "out")
        assert "cells takes at least" in said.sentence and "use fewer cells" in said.sentence
    assert time.process_time() - begin < 2.0


@pytest.mark.parametrize("text", ["a = " + "1" * 5000, "a = " + "[" * 3000, "a = 1979-13-40", "a = 'x"])
def test_every_fault_of_a_text_is_one_kind_of_error(text: str) -> None:
    Path("x.toml").write_text(text)
    assert "x.toml: not a TOML file: " in command("run", "x.toml").sentence
    with pytest.raises(ValueError):
        read_json(text.partition("= ")[2] + "[" * 100_000)
    with pytest.raises(ValueError):
        read_toml(text)


def test_a_cell_of_a_table_that_is_too_long_is_a_sentence() -> None:
    Path("push").mkdir()
    text = 'schema = "rheo-record/1"\nid = "a"\nkind = "measured"\n[body]\nsize = [1.0]\n'
    Path("push/record.toml").write_text(text)
    Path("push/force.csv").write_text(f"t,fx,fy,fz\n0,0,0,{'1' * 200_000}\n")
    with pytest.raises(RheotwinError, match=r"force.csv: cannot be read as CSV \(field larger than field limit"):
        read_experiment("push")


@pytest.mark.parametrize(
    ("ply", "words"),
    [
        (
            b"ply\nformat ascii 1.0\nelement vertex 99\nproperty float x\nend_header\n1\n",
            "more than the file|are missing",
        ),
        (b"ply\nformat binary_little_endian 1.0\nelement vertex 9\nproperty float x\nend_header\n12", "PLY"),
        (b"ply\nformat ascii 1.0\nelement vertex -1\nproperty list uchar int x\nend_header\n", "list"),
        (b"ply\nformat ascii 1.0\n", "header is not whole"),
    ],
)
def test_clouds_are_read_by_code_that_survives(ply: bytes, words: str) -> None:
    from rheotwin.validation.experiments.metadata import RecordUnits
    from rheotwin.validation.experiments.reader import read_points

    Path("a.ply").write_bytes(ply)
    with pytest.raises(RheotwinError, match=f"a.ply: .*({words})"):
        read_points(Path("a.ply"), RecordUnits())


def test_a_short_hunt_finds_nothing(tmp_path: Path) -> None:
    """`make fuzz` does the same for longer; what it finds is put right and gets a line in a test here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        targets = make_targets(tmp_path / "seeds", quick=True)
        done, finds = hunt(targets, seed=7, seconds=60.0, most=5 * len(targets))
    assert done == 5 * len(targets) and finds == []
