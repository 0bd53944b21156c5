"""Bodies from mesh files: regions, scale and place, and resuming from another working directory."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import meshio
import numpy as np
import pytest
import pyvista

from rheotwin.build import build_problem
from rheotwin.errors import InputFaults, RheotwinError
from rheotwin.meshing import BoxShape, make_shape, write_mesh
from rheotwin.record import load_manifest, open_record
from rheotwin.run import RunRequest, resume_run, run_scene
from rheotwin.scene import Scene

SceneWith = Callable[..., Scene]


@pytest.fixture
def plate(tmp_path: Path) -> Path:
    """A plate of 200 x 100 (millimetres, say) with two named groups of nodes, as an Abaqus file."""
    mesh = make_shape(BoxShape((200.0, 100.0), (4, 2)))
    lower, upper = np.flatnonzero(mesh.p[1] == 0.0), np.flatnonzero(mesh.p[1] == 100.0)
    path = tmp_path / "meshes" / "plate.inp"
    path.parent.mkdir()
    write_mesh(path, mesh, regions={"table": lower, "lid": upper})
    return path


def from_file(path: str, **extra: Any) -> dict[str, Any]:
    return {
        "bodies.block": {"shape": "file", "path": path, "law": "dough", "density": 1000.0, "scale": 1e-3, **extra},
        "supports.floor.where": {"region": "table"},
        "forces.push": {"body": "block", "where": {"region": "lid"}, "total": [0.0, -8.0]},
    }


def test_a_mesh_file_makes_the_same_problem_as_the_shape(scene_with: SceneWith, plate: Path, tmp_path: Path) -> None:
    read = build_problem(scene_with(from_file("meshes/plate.inp"), base=tmp_path))
    made = build_problem(scene_with({"forces.push": {**from_file("")["forces.push"], "where": {"side": "top"}}}))
    np.testing.assert_allclose(read.points, made.points, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(read.masses, made.masses, rtol=1e-12)
    np.testing.assert_array_equal(read.prescribed[0].nodes, made.prescribed[0].nodes)
    np.testing.assert_array_equal(read.loads[0].nodes, made.loads[0].nodes)
    np.testing.assert_allclose(read.loads[0].shares, made.loads[0].shares, rtol=1e-12)
    assert set(read.bodies[0].regions) == {"table", "lid"}


def test_scale_then_rotation_then_origin(scene_with: SceneWith, plate: Path, tmp_path: Path) -> None:
    changes = from_file("meshes/plate.inp", rotation=np.pi / 2, origin=[1.0, 2.0]) | {"tools": {}}
    problem = build_problem(scene_with(changes, base=tmp_path))
    # 0.2 x 0.1, turned by a quarter: x in [-0.1, 0], y in [0, 0.2], then moved; the table is now on the right
    assert problem.points.min(axis=0) == pytest.approx([0.9, 2.0])
    assert problem.points.max(axis=0) == pytest.approx([1.0, 2.2])
    assert problem.points[problem.prescribed[0].nodes][:, 0] == pytest.approx(1.0)


def test_physical_groups_of_gmsh_are_regions(scene_with: SceneWith, tmp_path: Path) -> None:
    mesh = make_shape(BoxShape((0.2, 0.1), (4, 2)))
    points = np.vstack([mesh.p, np.zeros(mesh.p.shape[1])]).T
    lower = np.flatnonzero(mesh.p[1] == 0.0)
    lower = lower[np.argsort(mesh.p[0, lower])]
    edges = np.stack([lower[:-1], lower[1:]], axis=1)
    cells = [("triangle", mesh.t.T), ("line", edges)]
    tags = [np.full(len(block), tag) for tag, (_, block) in zip((1, 2), cells, strict=True)]
    raw = meshio.Mesh(
        points,
        cells,
        cell_data={"gmsh:physical": tags, "gmsh:geometrical": tags},
        field_data={"inside": np.array([1, 2]), "table": np.array([2, 1])},
    )
    meshio.write(tmp_path / "plate.msh", raw, file_format="gmsh22", binary=False)
    changes = from_file("plate.msh", scale=1.0) | {"forces": {}}
    problem = build_problem(scene_with(changes, base=tmp_path))
    assert problem.points[problem.prescribed[0].nodes][:, 1] == pytest.approx(0.0)
    assert len(problem.prescribed[0].nodes) == 5


def test_faults_of_mesh_files_name_the_place(scene_with: SceneWith, plate: Path, tmp_path: Path) -> None:
    with pytest.raises(InputFaults, match=r"bodies.block.path: there is no mesh file '.*plat.inp'"):
        scene_with(from_file("meshes/plat.inp"), base=tmp_path)
    wrong = from_file("meshes/plate.inp") | {"supports.floor.where": {"region": "tble"}}
    with pytest.raises(RheotwinError, match=r"supports.floor.where: no region 'tble' \(did you mean 'table'\?\)"):
        build_problem(scene_with(wrong, base=tmp_path))
    write_mesh(tmp_path / "solid.vtu", make_shape(BoxShape((1.0, 1.0, 1.0), (1, 1, 1))))
    with pytest.raises(RheotwinError, match=r"bodies\.block: its mesh is 3D but the scene's dimension is 2"):
        build_problem(scene_with(from_file("solid.vtu"), base=tmp_path))


def test_a_record_with_a_mesh_file_is_resumed_from_anywhere(
    scene_with: SceneWith, plate: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, solver: str
) -> None:
    monkeypatch.chdir(tmp_path)
    scene = scene_with(from_file("meshes/plate.inp"), base=Path())
    run_scene(RunRequest(scene, solver, Path("run")))
    stored = load_manifest(Path("run")).scene["bodies"]["block"]["path"]
    assert os.path.isabs(stored) and Path(stored).samefile(plate)  # noqa: PTH117
    whole = (tmp_path / "run" / "probes.csv").read_bytes()
    newest = open_record(Path("run")).checkpoint_path
    assert newest is not None
    newest.unlink()

    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    shutil.move(tmp_path / "run", elsewhere / "moved")
    assert resume_run(Path("moved")).status == "complete"
    assert Path("moved/probes.csv").read_bytes() == whole


@pytest.mark.parametrize("where", ["beside", "elsewhere"])
def test_a_record_with_the_file_of_a_tool_is_resumed(
    scene_with: SceneWith, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.chdir(tmp_path)
    ball = pyvista.Sphere(radius=0.04, theta_resolution=8, phi_resolution=8)
    meshio.Mesh(np.asarray(ball.points, float), [("triangle", ball.regular_faces)]).write("tool.stl")
    motion = {"times": [0.0, 0.4], "displacement": [[0.0, 0.0, 0.0], [0.0, 0.0, -0.02]]}
    tool = {"shape": "mesh", "path": "tool.stl", "center": [0.1, 0.05, 0.145], "motion": motion}
    solid = {"dimension": 3, "gravity": [0.0, 0.0, 0.0], "bodies.block.size": [0.2, 0.1, 0.1]}
    changes = {**solid, "bodies.block.cells": [4, 2, 2], "probes.tip.at": [0.1, 0.05, 0.1], "tools": {"ball": tool}}
    run_scene(RunRequest(scene_with(changes, base=Path()), "truss", Path("run")))
    stored = load_manifest(Path("run")).scene["tools"]["ball"]["path"]
    assert os.path.isabs(stored) and Path(stored).samefile("tool.stl")  # noqa: PTH117
    whole = Path("run/probes.csv").read_bytes()
    newest = open_record(Path("run")).checkpoint_path
    assert newest is not None
    newest.unlink()
    manifest = Path("run/manifest.json")
    manifest.write_text(manifest.read_text().replace('"status": "complete"', '"status": "interrupted"'))
    folder = tmp_path / where / "moved"
    folder.parent.mkdir()
    shutil.move("run", folder)
    monkeypatch.chdir(folder.parent)
    assert resume_run(Path("moved")).status == "complete"
    assert Path("moved/probes.csv").read_bytes() == whole


def test_a_mesh_file_that_changed_since_is_refused(scene_with: SceneWith, plate: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    run_scene(RunRequest(scene_with(from_file("meshes/plate.inp"), base=tmp_path), "fem", folder))
    manifest = folder / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"status": "complete"', '"status": "interrupted"'))
    mesh = make_shape(BoxShape((200.0, 100.0), (4, 2), pattern="sw-ne"))
    regions = {"table": np.flatnonzero(mesh.p[1] == 0.0), "lid": np.flatnonzero(mesh.p[1] == 100.0)}
    write_mesh(plate, mesh, regions=regions)
    with pytest.raises(RheotwinError, match="its mesh is no longer the one the scene makes; run the scene again"):
        resume_run(folder)
    plate.unlink()
    with pytest.raises(RheotwinError, match=r"bodies\.block\.path: there is no mesh file"):
        resume_run(folder)
    assert len(open_record(folder).times) == 5, "the record itself stays readable"
