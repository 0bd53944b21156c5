"""A record folder written by hand, a small run with known motion, and the command line in this process."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skfem

from rheotwin.__main__ import main
from rheotwin.record import BodyInfo, GridTopology, Manifest, MeshInfo, RecordWriter, SolverInfo
from rheotwin.record.manifest import describe_fields

RECORD = """schema = "rheo-record/1"
id = "push-7"
kind = "measured"
title = "A weak push"

[units]
length = "cm"
force = "gf"
time = "s"
mass = "g"

[body]
size = [10.0, 6.0, 10.0]
mass = 864.0
up = "y"
floor = "fixed"

[punch]
shape = "box"
footprint = [2.0, 10.0]
contact = "stick"
release = 3.4

[[frames]]
file = "clouds/a.csv"
t = 1.0
phase = "push"
faces = ["x-", "top"]

[[frames]]
file = "clouds/b.csv"
t = 4.0

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


def block_run(folder: Path, *, size: tuple[float, ...] = (0.1, 0.06, 0.04)) -> Path:
    """A block of hexahedra whose points go to x (1 + t e), e = (0.02, -0.03, 0.01), pressed by a bar with 100 t N."""
    mesh = skfem.MeshHex.init_tensor(*(np.linspace(0.0, edge, 4) for edge in size))
    rest = np.ascontiguousarray(mesh.p.T)
    cells = mesh.t.T.astype(np.int64)
    topology = GridTopology(cells, "hex", np.zeros(len(cells), dtype=np.int64), len(rest))
    probes = {
        f"tool.bar.{what}_{axis}": unit for what, unit in (("force", "N"), ("displacement", "m")) for axis in "xyz"
    }
    manifest = Manifest(
        title="block",
        scene={"tools": {"bar": {"shape": "bar"}}},
        solver=SolverInfo(name="fem", version="0.1.0"),
        mesh=MeshInfo(
            hash="abc",
            points=len(rest),
            cells=len(cells),
            bodies=(BodyInfo(name="block", cell="hex", points=len(rest), cells=len(cells)),),
        ),
        fields=describe_fields(("displacement", "contact_force")),
        probes=probes | {"volume.block": "m3"},
    )
    stretch = np.array([0.02, -0.03, 0.01])
    with RecordWriter.create(folder, manifest=manifest, grid=topology, format="pvd", overwrite=False) as writer:
        for time in np.linspace(0.0, 1.0, 5):
            moved = rest * stretch * time
            contact = np.where((rest[:, [1]] > size[1] - 1e-9) & (rest[:, [0]] < 0.05), [[0.0, -1.0, 0.0]], 0.0)
            writer.write_frame(time, rest + moved, {"displacement": moved, "contact_force": contact})
            values = dict.fromkeys(probes, 0.0) | {
                "tool.bar.force_y": 100.0 * time,
                "tool.bar.displacement_y": -0.03 * 0.06 * time,
                "volume.block": float(np.prod(size) * np.prod(1.0 + stretch * time)),
            }
            writer.write_probe_row(time, values)
        writer.update(status="complete")
    return folder


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return block_run(tmp_path_factory.mktemp("run") / "block")


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[..., Path]:
    return lambda **more: block_run(tmp_path / "other", **more)


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def call(*words: Any) -> tuple[int, str, str]:
        code = main([str(word) for word in words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call
