from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pyvista
import skfem

from rheotwin.errors import RheotwinError
from rheotwin.fields import NODE_FIELDS, TENSOR_COMPONENTS
from rheotwin.record import GridTopology, array_units, describe_fields
from rheotwin.record.grid import VTK_CELL_TYPES, checked_frame
from rheotwin.record.vtu import FrameGrid, XmlWriter, read_vtu, topology_of

MESHES = {
    "line": skfem.MeshLine(),
    "triangle": skfem.MeshTri(),
    "quad": skfem.MeshQuad(),
    "tet": skfem.MeshTet(),
    "hex": skfem.MeshHex(),
}


def padded(points: np.ndarray) -> np.ndarray:
    return np.pad(points, ((0, 0), (0, 3 - points.shape[1])))


@pytest.mark.parametrize("kind", list(MESHES))
def test_each_cell_kind_has_unit_measure_in_vtk(kind: str, tmp_path: Path) -> None:
    """The reference meshes fill the unit interval, square and cube: length, area and volume are 1."""
    mesh = MESHES[kind].refined(1)
    cells = mesh.t.T.astype(np.int64)
    topology = GridTopology(
        cells=cells, cell_kind=kind, body=np.zeros(len(cells), dtype=np.int64), points=mesh.p.shape[1]
    )
    frame = FrameGrid(topology, {})
    frame.fill(0.0, padded(mesh.p.T), {})
    XmlWriter(frame.grid).write(tmp_path / "frame.vtu")
    grid = read_vtu(tmp_path / "frame.vtu")
    assert set(grid.celltypes) == {VTK_CELL_TYPES[kind]}
    sizes = grid.compute_cell_sizes()
    measure = {"line": "Length", "triangle": "Area", "quad": "Area", "tet": "Volume", "hex": "Volume"}[kind]
    # Every cell of a regular refinement of these meshes has the orientation of its parent: none is negative.
    assert np.all(np.abs(sizes[measure]) > 0)
    assert np.abs(sizes[measure]).sum() == pytest.approx(1.0, abs=1e-14)
    assert np.array_equal(topology_of(grid).cells, cells)


def test_hexahedron_order_is_the_one_scikit_fem_exports(topology: GridTopology) -> None:
    from skfem.io.meshio import HEX_MAPPING

    cells = np.arange(8, dtype=np.int64)[None, :] * 10
    hexes = GridTopology(cells=cells, cell_kind="hex", body=np.zeros(1, dtype=np.int64), points=71)
    assert hexes.vtk_cells()[0].tolist() == [10 * place for place in HEX_MAPPING[:8]]


def test_values_units_and_component_names_read_back(
    topology: GridTopology, frame_at: Callable[[float], Any], tmp_path: Path
) -> None:
    frame = FrameGrid(topology, describe_fields())
    writer = XmlWriter(frame.grid)
    for index, time in enumerate((0.25, 0.5)):
        frame.fill(time, *checked_frame(*frame_at(time), points=topology.points, expected=describe_fields()))
        writer.write(tmp_path / f"{index}.vtu")
    for index, time in enumerate((0.25, 0.5)):
        grid = pyvista.read(tmp_path / f"{index}.vtu")
        positions, fields = frame_at(time)
        assert np.array_equal(grid.points, positions)
        assert np.array_equal(grid.cell_data["body"], topology.body)
        assert grid.field_data["TimeValue"] == [time]
        for name, values in fields.items():
            assert np.array_equal(grid.point_data[name], values), name
        units = {name: spec.unit for name, spec in NODE_FIELDS.items()}
        assert array_units(grid) == {**units, "body": "1"}
        for name in ("stress", "strain", "memory_stress"):
            array = grid.GetPointData().GetArray(name)
            assert tuple(array.GetComponentName(i) for i in range(6)) == TENSOR_COMPONENTS


def test_file_is_raw_appended_and_uncompressed(
    topology: GridTopology, frame_at: Callable[[float], Any], tmp_path: Path
) -> None:
    frame = FrameGrid(topology, {})
    frame.fill(0.0, frame_at(0.0)[0], {})
    XmlWriter(frame.grid).write(tmp_path / "frame.vtu")
    data = (tmp_path / "frame.vtu").read_bytes()
    assert b'<AppendedData encoding="raw">' in data
    assert b"compressor" not in data
    assert frame_at(0.0)[0].tobytes() in data


def test_only_one_field_is_read_on_request(
    topology: GridTopology, frame_at: Callable[[float], Any], tmp_path: Path
) -> None:
    frame = FrameGrid(topology, describe_fields())
    XmlWriter(frame.grid).write(tmp_path / "frame.vtu")
    assert read_vtu(tmp_path / "frame.vtu", only="stress").point_data.keys() == ["stress"]


@pytest.mark.parametrize("kept", [0.0, 0.2, 0.95])
def test_cut_off_or_missing_frame_is_one_sentence(
    topology: GridTopology, tmp_path: Path, kept: float, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "frame.vtu"
    XmlWriter(FrameGrid(topology, describe_fields()).grid).write(path)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * kept)])
    with pytest.raises(RheotwinError, match="the frame is damaged"):
        read_vtu(path)
    path.unlink()
    with pytest.raises(RheotwinError, match="the frame is missing"):
        read_vtu(path)
    assert capfd.readouterr().err == ""


def test_full_disk_and_missing_folder_are_system_errors(
    topology: GridTopology, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    writer = XmlWriter(FrameGrid(topology, describe_fields()).grid)
    (tmp_path / "full.vtu").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left on device"):
        writer.write(tmp_path / "full.vtu")
    with pytest.raises(FileNotFoundError):
        writer.write(tmp_path / "nothing" / "frame.vtu")
    writer.write(tmp_path / "frame.vtu")
    assert read_vtu(tmp_path / "frame.vtu").n_points == topology.points
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"stress": None}, "lacks stress"),
        ({"colour": np.zeros(3)}, "has colour unannounced"),
        ({"velocity": np.zeros((2, 3))}, r"field 'velocity' must have the shape"),
    ],
)
def test_wrong_results_of_a_solver_are_named(
    frame_at: Callable[[float], Any], topology: GridTopology, change: dict[str, Any], words: str
) -> None:
    positions, fields = frame_at(0.0)
    changed = {name: value for name, value in {**fields, **change}.items() if value is not None}
    with pytest.raises(RheotwinError, match=words):
        checked_frame(positions, changed, points=topology.points, expected=describe_fields())


def test_cells_must_fit_their_kind() -> None:
    with pytest.raises(RheotwinError, match="tet cells with 1 body indices need an array"):
        GridTopology(
            cells=np.zeros((1, 3), dtype=np.int64),
            cell_kind="tet",
            body=np.zeros(1, dtype=np.int64),
            points=3,
        )
