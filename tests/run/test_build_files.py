"""Bodies from mesh files: regions, scale and place, and resuming from another working directory."""

import os
import shutil
from pathlib import Path
from typing import Any

import meshio
import numpy as np
import pytest
import pyvista

from rheotwin.errors import InputFaults, RheotwinError
from rheotwin.meshing import BoxShape, make_shape, write_mesh
from rheotwin.record import load_manifest, open_record
from rheotwin.running import RunRequest, resume_run, run_scene
from tests.conftest import SOLID, Data, cut_off, problem_with, scene_with

PLATE = Path("meshes/plate.inp")


def write_plate(pattern: str = "se-nw") -> None:
    mesh = make_shape(BoxShape((200.0, 100.0), (4, 2), pattern=pattern))
    PLATE.parent.mkdir(exist_ok=True)
    regions = {name: np.flatnonzero(mesh.p[1] == height) for name, height in (("table", 0.0), ("lid", 100.0))}
    write_mesh(PLATE, mesh, regions=regions)


def from_file(path: str | Path = PLATE, **extra: Any) -> Data:
    spec = {"shape": "file", "path": str(path), "law": "dough", "density": 1000.0, "scale": 1e-3, **extra}
    push = {"body": "block", "where": {"region": "lid"}, "total": [0.0, -8.0]}
    return {"bodies.block": spec, "supports.floor.where": {"region": "table"}, "forces.push": push}


def test_a_mesh_file_makes_the_same_problem_and_is_scaled_turned_and_moved() -> None:
    write_plate()
    read = problem_with(from_file(), base=Path())
    made = problem_with({"forces.push": {**from_file()["forces.push"], "where": {"side": "top"}}})
    np.testing.assert_allclose(read.points, made.points, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(read.masses, made.masses, rtol=1e-12)
    np.testing.assert_array_equal(read.prescribed[0].nodes, made.prescribed[0].nodes)
    np.testing.assert_array_equal(read.loads[0].nodes, made.loads[0].nodes)
    np.testing.assert_allclose(read.loads[0].shares, made.loads[0].shares, rtol=1e-12)
    assert set(read.bodies[0].regions) == {"table", "lid"}
    problem = problem_with(from_file(rotation=np.pi / 2, origin=[1.0, 2.0]) | {"tools": {}}, base=Path())
    # 0.2 x 0.1, turned by a quarter: x in [-0.1, 0], y in [0, 0.2], then moved; the table is now on the right
    assert problem.points.min(axis=0) == pytest.approx([0.9, 2.0])
    assert problem.points.max(axis=0) == pytest.approx([1.0, 2.2])
    assert problem.points[problem.prescribed[0].nodes][:, 0] == pytest.approx(1.0)


def test_faults_of_mesh_files_name_the_place() -> None:
    write_plate()
    with pytest.raises(InputFaults, match=r"bodies.block.path: there is no mesh file '.*plat.inp'"):
        scene_with(from_file("meshes/plat.inp"), base=Path())
    with pytest.raises(RheotwinError, match=r"supports.floor.where: no region 'tble' \(did you mean 'table'\?\)"):
        problem_with(from_file() | {"supports.floor.where": {"region": "tble"}}, base=Path())
    write_mesh(Path("solid.vtu"), make_shape(BoxShape((1.0, 1.0, 1.0), (1, 1, 1))))
    with pytest.raises(RheotwinError, match=r"bodies\.block: its mesh is 3D but the scene's dimension is 2"):
        problem_with(from_file("solid.vtu"), base=Path())


def resumed_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Move an unfinished record into a folder, resume it from there and compare its probes with the whole ones."""
    whole = Path("run/probes.csv").read_bytes()
    cut_off(Path("run"), keep_last=False)
    folder.mkdir(parents=True)
    shutil.move("run", folder / "moved")
    monkeypatch.chdir(folder)
    assert resume_run(Path("moved")).status == "complete" and Path("moved/probes.csv").read_bytes() == whole


def test_a_record_with_a_mesh_file_is_resumed_from_anywhere(monkeypatch: pytest.MonkeyPatch, solver: str) -> None:
    write_plate()
    run_scene(RunRequest(scene_with(from_file(), base=Path()), solver, Path("run")))
    stored = load_manifest(Path("run")).scene["bodies"]["block"]["path"]
    assert os.path.isabs(stored) and Path(stored).samefile(PLATE)  # noqa: PTH117
    resumed_in(Path("elsewhere"), monkeypatch)


def test_a_record_with_the_file_of_a_tool_is_resumed(monkeypatch: pytest.MonkeyPatch) -> None:
    ball = pyvista.Sphere(radius=0.04, theta_resolution=8, phi_resolution=8)
    meshio.Mesh(np.asarray(ball.points, float), [("triangle", ball.regular_faces)]).write("tool.stl")
    motion = {"times": [0.0, 0.4], "displacement": [[0.0, 0.0, 0.0], [0.0, 0.0, -0.02]]}
    tool = {"shape": "mesh", "center": [0.1, 0.05, 0.145], "path": "tool.stl", "motion": motion}
    run_scene(RunRequest(scene_with(SOLID | {"tools": {"ball": tool}}, base=Path()), "truss", Path("run")))
    stored = load_manifest(Path("run")).scene["tools"]["ball"]["path"]
    assert os.path.isabs(stored) and Path(stored).samefile("tool.stl")  # noqa: PTH117
    resumed_in(Path("elsewhere"), monkeypatch)


def test_a_mesh_file_that_changed_since_is_refused() -> None:
    write_plate()
    folder = Path("run")
    run_scene(RunRequest(scene_with(from_file(), base=Path()), "fem", folder))
    cut_off(folder)
    write_plate("sw-ne")
    with pytest.raises(RheotwinError, match="its mesh is no longer the one the scene makes; run the scene again"):
        resume_run(folder)
    PLATE.unlink()
    with pytest.raises(RheotwinError, match=r"bodies\.block\.path: there is no mesh file"):
        resume_run(folder)
    assert len(open_record(folder).times) == 5, "the record itself stays readable"
