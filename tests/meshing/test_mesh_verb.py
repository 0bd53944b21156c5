"""`rheotwin mesh`: report, conversion, exit codes."""

import argparse
import json
from pathlib import Path

import pytest

from rheotwin.cli import mesh as verb
from rheotwin.errors import EXIT_FALLS_SHORT, EXIT_OK, RheotwinError
from rheotwin.meshing import BoxShape, make_shape, mesh_hash, read_mesh, write_mesh

SCENE = """
schema = 1
dimension = 2
duration = 1.0
laws.rubber = { model = "elastic", young = 1000.0, poisson = 0.3 }
bodies.left = { shape = "box", size = [2.0, 1.0], cells = [4, 2], law = "rubber", mass = 1.0 }
[bodies.right]
shape = "sphere"
radius = 0.5
cells = 4
cell = "quad"
origin = [4.0, 0.5]
law = "rubber"
mass = 1.0
"""


def run(*words: str | Path) -> int:
    parser = argparse.ArgumentParser()
    verb.add_arguments(parser)
    return verb.execute(parser.parse_args([str(word) for word in words]))


@pytest.fixture
def block(tmp_path: Path) -> Path:
    path = tmp_path / "block.vtu"
    write_mesh(path, make_shape(BoxShape((1.0, 1.0, 1.0), (3, 3, 3))))
    return path


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    path = tmp_path / "two.toml"
    path.write_text(SCENE)
    return path


def test_reports_and_quality_bounds(block: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(block) == EXIT_OK
    text = capsys.readouterr().out
    identity = mesh_hash(read_mesh(block).mesh)[:16]
    assert all(part in text for part in ("135 tet, 3D", "252 edges, 108 boundary faces", "volume [m3]", identity))
    assert run(block, "--json") == EXIT_OK
    report = json.loads(capsys.readouterr().out)
    (mesh,) = report["meshes"]
    assert (mesh["name"], mesh["nodes"], mesh["edges"], mesh["boundary_nodes"]) == ("block.vtu", 64, 252, 56)
    assert mesh["quality"]["measure_total"] == pytest.approx(1.0) and report["good_enough"] is True
    assert run(block, "--min-quality", "0.83") == EXIT_OK
    assert run(block, "--min-quality", "0.85") == EXIT_FALLS_SHORT
    assert "quality 0.8399, below 0.85" in capsys.readouterr().err
    with pytest.raises(RheotwinError, match="quality lies between 0 and 1"):
        run(block, "--min-quality", "85")


def test_conversion_refuses_to_overwrite(block: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = block.with_suffix(".inp")
    assert run(block, "--to", target) == EXIT_OK and f"written to {target}" in capsys.readouterr().out
    assert mesh_hash(read_mesh(target).mesh) == mesh_hash(read_mesh(block).mesh)
    target.write_text("mine")
    with pytest.raises(RheotwinError, match="the file exists: name another one or add --overwrite"):
        run(block, "--to", target)
    assert target.read_text() == "mine" and run(block, "--to", target, "--overwrite") == EXIT_OK
    assert target.read_text() != "mine"
    with pytest.raises(RheotwinError, match="this is a folder"):
        run(block, "--to", block.parent)


def test_dropped_groups_are_named_and_unused_points_dropped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "block.inp"
    write_mesh(source, make_shape(BoxShape((1.0,), (2,))), regions={"wall": [0]})
    assert run(source, "--to", tmp_path / "block.vtk") == EXIT_OK
    streams = capsys.readouterr()
    assert "does not keep the named groups wall" in streams.err and "region wall" in streams.out
    source = tmp_path / "bar.inp"
    source.write_text("*NODE\n1, 0., 0., 0.\n2, 1., 0., 0.\n3, 5., 0., 0.\n*ELEMENT, TYPE=T3D2\n1, 1, 2\n")
    with pytest.raises(RheotwinError, match="--drop-unused"):
        run(source)
    assert run(source, "--drop-unused") == EXIT_OK and "1 line, 1D" in capsys.readouterr().out


def test_bodies_of_a_scene_are_reported_and_one_can_be_converted(
    scene: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(scene, "--json") == EXIT_OK
    left, right = json.loads(capsys.readouterr().out)["meshes"]
    assert (left["name"], left["kind"], left["elements"]) == ("left", "triangle", 16)
    assert (right["name"], right["kind"], right["lowest"]) == ("right", "quad", pytest.approx([3.5, 0.0]))
    target = scene.with_name("right.msh")
    assert run(scene, "--to", target, "--body", "right") == EXIT_OK
    assert read_mesh(target).mesh.p.mean(axis=1) == pytest.approx([4.0, 0.5])
    assert "right" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("two.toml", "--to", "right.msh"), r"choose a body \(left, right\) with --body"),
        (("two.toml", "--body", "rigth"), r"--body rigth: the scene has no such body \(did you mean 'right'\?\)"),
        (("two.toml", "--drop-unused"), "--drop-unused is for mesh files"),
        (("block.vtu", "--body", "left"), "is a mesh file, not a scene"),
    ],
)
def test_options_that_do_not_fit_the_source_are_refused(
    words: tuple[str, ...], sentence: str, scene: Path, block: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(scene.parent)
    with pytest.raises(RheotwinError, match=sentence):
        run(*words)
