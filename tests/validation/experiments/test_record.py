"""Reading and writing records: units, what is optional, and one sentence for everything that is wrong."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pyvista

from rheotwin.errors import RheotwinError
from rheotwin.validation.experiments.reader import read_experiment
from rheotwin.validation.experiments.writer import write_experiment

RECORD = """schema = "rheo-record/1"
id = "push-7"
kind = "measured"
title = "A weak push"

units = { length = "cm", force = "gf", time = "s", mass = "g" }
body = { size = [10.0, 6.0, 10.0], mass = 864.0, up = "y", floor = "fixed" }
punch = { shape = "box", footprint = [2.0, 10.0], contact = "stick", release = 3.4 }
frames = [
  { file = "clouds/a.csv", t = 1.0, phase = "push", faces = ["x-", "top"] },
  { file = "clouds/b.csv", t = 4.0 },
]

[noise]
mean_abs = 0.05
force_rel = 0.1
"""
TABLES = {
    "clouds/a.csv": "x,y,z\n1.0,6.0,5.0\n9.0,5.5,5.0\n",
    "clouds/b.csv": "x [cm],y,z,nx,ny,nz,sigma\n1.0,6.0,5.0,0,1,0,0.05\n",
    "punch.csv": "t,x,y,z\n0,5,6,5\n1,5,4.24,5\n",
    "force.csv": "t,fx,fy,fz,sigma\n0,0,0,0,1\n1,0,-1000,0,100\n",
    "volume.csv": "t,v,sigma\n0,600,3\n4,582,3\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A correct record in cm, gf, s, g."""
    place = tmp_path / "record"
    (place / "clouds").mkdir(parents=True)
    (place / "record.toml").write_text(RECORD)
    for name, text in TABLES.items():
        (place / name).write_text(text)
    return place


def test_everything_arrives_in_si(folder: Path) -> None:
    record = read_experiment(folder)
    assert record.specimen.size == pytest.approx((0.1, 0.06, 0.1))
    assert record.specimen.mass == pytest.approx(0.864)
    assert record.punch is not None and record.punch.footprint == pytest.approx((0.02, 0.1))
    first, second = record.frames
    np.testing.assert_allclose(first.points, [[0.01, 0.06, 0.05], [0.09, 0.055, 0.05]], rtol=1e-15)
    assert (first.time, first.phase, first.faces, first.normals) == (1.0, "push", ("x-", "top"), None)
    np.testing.assert_allclose(second.normals, [[0.0, 1.0, 0.0]])
    np.testing.assert_allclose(second.sigma, [0.0005])
    assert record.path is not None and record.force is not None and record.volume is not None
    np.testing.assert_allclose(record.path.values[1], [0.05, 0.0424, 0.05])
    np.testing.assert_allclose(record.force.values[1], [0.0, -9.80665, 0.0])  # 1000 gf
    np.testing.assert_allclose(record.force.sigma, [0.00980665, 0.980665])
    np.testing.assert_allclose(record.volume.values, [600e-6, 582e-6])
    assert record.uncertainty.mean_abs == pytest.approx(0.0005) and record.limits == ()


def rewrite(folder: Path, old: str, new: str) -> Path:
    path = folder / "record.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    return folder


def test_lengths_of_the_half_scale_body_are_doubled(folder: Path) -> None:
    record = read_experiment(rewrite(folder, 'mass = "g"', 'mass = "g", scale = "virtual"'))
    assert record.specimen.size == pytest.approx((0.2, 0.12, 0.2)) and record.volume is not None
    np.testing.assert_allclose(record.volume.values[0], 8 * 600e-6)


def bits(value: Any) -> Any:
    """A record as plain data: equal only if equal down to the last bit, arrays included."""
    if is_dataclass(value):
        return type(value), [bits(getattr(value, field.name)) for field in fields(value)]
    if isinstance(value, tuple):
        return [bits(part) for part in value]
    return (value.shape, value.tolist()) if isinstance(value, np.ndarray) else value


def test_writing_and_reading_gives_the_same_bits(folder: Path, tmp_path: Path) -> None:
    record = read_experiment(folder)
    write_experiment(tmp_path / "again", record)
    assert bits(read_experiment(tmp_path / "again")) == bits(record)


def test_points_of_a_ply_file(folder: Path) -> None:
    pyvista.PolyData(np.array([[1.0, 6.0, 5.0], [2.0, 6.0, 5.0]])).save(folder / "clouds" / "a.ply")
    record = read_experiment(rewrite(folder, "clouds/a.csv", "clouds/a.ply"))
    np.testing.assert_allclose(record.frames[0].points, [[0.01, 0.06, 0.05], [0.02, 0.06, 0.05]])


def test_what_is_missing_is_said_as_a_limit(folder: Path) -> None:
    for name in ("punch.csv", "force.csv", "volume.csv"):
        (folder / name).unlink()
    said = " ".join(read_experiment(folder).limits)
    assert "no path" in said and "no force" in said and "no volume" in said and "only ratios" in said


def put(name: str, text: str) -> Callable[[Path], Any]:
    return lambda folder: (folder / name).write_text(text)


def swap(old: str, new: str) -> Callable[[Path], Any]:
    return lambda folder: rewrite(folder, old, new)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (put("force.csv", "t,fx,fy\n0,0,0\n"), ("force.csv", "column fz is missing", "must name t, fx, fy, fz")),
        (put("clouds/a.csv", "x,q,y,z\n1,1,1,1\n"), ("a.csv", "unknown column 'q'", "known here")),
        (put("clouds/a.csv", "x,y,z\n1,2,3\n1,nan,3\n"), ("a.csv", "row 2, column 'y'", "not a finite number")),
        (put("clouds/a.csv", "x,y,z\n1,2,three\n"), ("row 1, column 'z'", "'three' is not a number")),
        (put("clouds/a.csv", "x,y,z\n1,2\n"), ("row 1 has 2 entries", "names 3")),
        (put("clouds/a.csv", "x,y,z\n"), ("header but no rows",)),
        (put("clouds/a.csv", ""), ("empty", "write a header")),
        (put("clouds/a.csv", "x,y,z,x\n1,2,3,1\n"), ("'x' occurs twice",)),
        (put("force.csv", "t,fx,fy,fz\n0,0,0,0\n1,0,0,0\n1,0,0,0\n"), ("force.csv", "row 3", "not after 1 s", "sort")),
        (put("punch.csv", "t,x,y,z\n1,5,6,5\n0,5,6,5\n"), ("punch.csv", "row 2", "sort the rows by time")),
        (put("volume.csv", "t,v\n0,-600\n"), ("volume.csv", "row 1", "above 0")),
        (put("clouds/a.csv", "x [mm],y,z\n10,60,50\n"), ("column 'x' is in mm", "says cm", "agree")),
        (put("clouds/a.csv", "x,y,z\n10,60,50\n90,55,50\n"), ("a.csv", "unit cm", "axes of the body")),
        (swap('length = "cm"', 'length = "cmm"'), ("units.length", "'cmm' is not possible", "'cm'")),
        (swap('force = "gf"', 'forces = "gf"'), ("units.forces", "unknown key", "did you mean 'force'")),
        (swap('schema = "rheo-record/1"', 'schema = "rheo-record/2"'), ("schema", "'rheo-record/1'")),
        (swap('id = "push-7"\n', ""), ("id: is missing",)),
        (swap("size = [10.0, 6.0, 10.0]", "size = [10.0, -6.0, 10.0]"), ("body.size.1", "greater than 0")),
        (swap("t = 1.0", "t = 5.0"), ("'clouds/b.csv' is earlier", "sort")),
        (swap("clouds/a.csv", "clouds/c.csv"), ("c.csv", "no such file", "record.toml")),
        (swap("clouds/a.csv", "clouds/a.xyz"), ("a.xyz", ".csv and .ply")),
        (swap("[noise]", "[noise"), ("record.toml", "not a TOML file")),
        (swap("[noise]", f'[files]\n"force.csv" = "sha256:{"0" * 64}"\n[noise]'), ("force.csv", "hash differs")),
        (lambda folder: (folder / "record.toml").unlink(), ("not an experiment record", "record.toml")),
    ],
)
def test_faults_are_one_sentence_with_place_and_remedy(
    folder: Path, spoil: Callable[[Path], Any], words: tuple[str, ...]
) -> None:
    spoil(folder)
    with pytest.raises(RheotwinError) as caught:
        read_experiment(folder)
    said = str(caught.value)
    assert all(word in said for word in words), said
    assert "\n" not in said


def test_a_record_without_any_observation_is_refused(folder: Path) -> None:
    text = (folder / "record.toml").read_text()
    (folder / "record.toml").write_text(text[: text.index("frames =")] + text[text.index("[noise]") :])
    for name in ("force.csv", "volume.csv"):
        (folder / name).unlink()
    with pytest.raises(RheotwinError, match="neither points nor forces nor volumes"):
        read_experiment(folder)


def test_a_folder_of_something_else_is_never_written_to(folder: Path, tmp_path: Path) -> None:
    record, other, new = read_experiment(folder), tmp_path / "notes", tmp_path / "new"
    other.mkdir()
    (other / "diary.txt").write_text("mine")
    with pytest.raises(RheotwinError, match="no experiment record"):
        write_experiment(other, record, overwrite=True)
    write_experiment(new, record)
    with pytest.raises(RheotwinError, match="--overwrite"):
        write_experiment(new, record)
    (new / "diary.txt").write_text("mine")
    write_experiment(new, record, overwrite=True)
    assert (new / "diary.txt").read_text() == "mine"
