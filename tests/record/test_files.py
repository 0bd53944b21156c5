"""The files of a record one by one: checkpoints, probe tables, the index, frames and tools."""

import math
from pathlib import Path

import numpy as np
import pytest
import pyvista
import skfem
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from skfem.io.meshio import HEX_MAPPING

from rheotwin.errors import RheotwinError
from rheotwin.record import GridTopology, ToolSurface, describe_fields, load_checkpoint
from rheotwin.record.checkpoint import newest_checkpoint, save_checkpoint
from rheotwin.record.grid import VTK_CELL_TYPES, checked_frame
from rheotwin.record.probes import ProbeWriter, read_probes
from rheotwin.record.pvd import PvdEntry, PvdIndex, ToolWriter, read_pvd, surface_of, write_pvd
from rheotwin.record.stored import Stored, read_stored
from rheotwin.record.vtu import FrameGrid, XmlWriter, grid_of, topology_of
from rheotwin.tensors import padded
from tests.conftest import nearly_full
from tests.record.conftest import BAR, TOPOLOGY, frame_at

HERE, TABLE, INDEX, FRAME, TOOLS = (Path(name) for name in (".", "probes.csv", "series.pvd", "frame.vtu", "0.vtp"))
ARRAYS = hnp.arrays(
    dtype=st.sampled_from([np.float64, np.float32, np.int64, np.int16, np.bool_]),
    shape=hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)
UNITS = {"tool.bar.force_x": "N", "volume.block": "m3"}


def read(path: Path) -> Stored:
    return read_stored(path, None, "the file")


@given(state=st.dictionaries(st.sampled_from(["file", "a/b", "schema_version", "x"]), ARRAYS))
def test_arrays_of_a_checkpoint_come_back_bit_for_bit(
    tmp_path_factory: pytest.TempPathFactory, state: dict[str, np.ndarray]
) -> None:
    loaded = load_checkpoint(save_checkpoint(tmp_path_factory.mktemp("c"), 1, state))
    assert loaded.keys() == state.keys()
    for name, array in state.items():
        assert isinstance(loaded[name], np.ndarray)
        assert (loaded[name].dtype, loaded[name].shape) == (array.dtype, array.shape)
        assert loaded[name].tobytes() == array.tobytes()


def test_plain_values_come_back_and_objects_are_refused() -> None:
    state = {"time": 0.1 + 0.2, "step": 7, "touching": True, "name": "bar"}
    loaded = load_checkpoint(save_checkpoint(HERE, 7, state))
    assert loaded == state and [type(value) for value in loaded.values()] == [float, int, bool, str]
    with pytest.raises(RheotwinError, match="'solver' is not an array"):
        save_checkpoint(HERE, 1, {"solver": object()})
    assert [file.name for file in HERE.iterdir()] == ["step-000000007.npz"]
    np.savez("a.npz", schema_version=np.array([{}], dtype=object))
    np.savez("b.npz", schema_version=np.array(99))
    for name, words in (("a", "is damaged"), ("b", "schema version 99"), ("c", "no such checkpoint")):
        with pytest.raises(RheotwinError, match=words):
            load_checkpoint(Path(f"{name}.npz"))


@pytest.mark.parametrize(
    ("steps", "left"), [((500, 1000, 1500), (1000, 1500)), ((1000, 2000, 1500), (1000, 1500))], ids=["last", "resumed"]
)
def test_only_the_last_two_checkpoints_are_kept(steps: tuple[int, ...], left: tuple[int, ...]) -> None:
    """Those of an abandoned future go as well."""
    for step in steps:
        save_checkpoint(HERE, step, {"step": step})
    assert sorted(path.name for path in HERE.iterdir()) == [f"step-{step:09d}.npz" for step in left]


@pytest.mark.parametrize("damage", ["", "PK", "half", "flip"])
def test_the_newest_readable_one_is_found(damage: str) -> None:
    good, bad = (save_checkpoint(HERE, step, {"x": np.arange(100.0)}) for step in (1, 2))
    assert newest_checkpoint(HERE) == bad
    contents = bytearray(bad.read_bytes())
    if damage == "flip":
        contents[contents.index(np.float64(50.0).tobytes())] ^= 1
    kept = {"half": len(contents) // 2, "flip": len(contents)}
    bad.write_bytes(contents[: kept[damage]] if damage in kept else damage.encode())
    with pytest.raises(RheotwinError, match="is damaged"):
        load_checkpoint(bad)
    assert newest_checkpoint(HERE) == good
    good.unlink()
    assert newest_checkpoint(HERE) is newest_checkpoint(HERE / "nothing") is None


def row(value: float) -> dict[str, float]:
    return {"volume.block": 1.0 + value, "tool.bar.force_x": value}


@given(values=st.lists(st.floats(allow_nan=False), min_size=1, max_size=5))
def test_numbers_of_probes_read_back_bit_for_bit(tmp_path_factory: pytest.TempPathFactory, values: list[float]) -> None:
    path = tmp_path_factory.mktemp("probes") / "probes.csv"
    writer = ProbeWriter.create(path, UNITS)
    for index, value in enumerate(values):
        writer.write(float(index), {"tool.bar.force_x": value, "volume.block": math.nan})
    writer.close()
    table = read_probes(path)
    assert table.values["tool.bar.force_x"].tobytes() == np.array(values).tobytes()
    assert np.all(np.isnan(table.values["volume.block"])) and table.units == {"time": "s", **UNITS}


def test_text_and_rows_of_probes() -> None:
    writer = ProbeWriter.create(TABLE, UNITS)
    assert read_probes(TABLE).values["time"].size == 0
    for time, value in ((0.0, 1.0), (0.0, 2.0), (1e-13, 3.0), (0.1, 4.0)):
        writer.write(time, row(value))
    assert read_probes(TABLE).values["tool.bar.force_x"].tolist() == [1.0, 4.0]
    writer = ProbeWriter.create(TABLE, UNITS)
    with pytest.raises(RheotwinError, match=r"match the manifest in: volume\.block"):
        writer.write(0.0, {"tool.bar.force_x": 1.0})
    with pytest.raises(RheotwinError, match="match the manifest in: colour"):
        writer.write(0.0, {**row(1.0), "colour": 1.0})
    units = {'a, "b" [c]': "m/s", "time": "s"}
    ProbeWriter.create(TABLE, units).write(0.0, {'a, "b" [c]': 2.0})
    table = read_probes(TABLE)
    assert table.values['a, "b" [c]'].tolist() == [2.0] and table.units == units
    ProbeWriter.create(TABLE, UNITS).write(0.5, row(0.1))
    assert TABLE.read_text() == "time [s],tool.bar.force_x [N],volume.block [m3]\n0.5,0.1,1.1\n"


def test_resume_drops_later_and_cut_off_rows() -> None:
    writer = ProbeWriter.create(TABLE, UNITS)
    for index in range(5):
        writer.write(0.1 * index, row(index))
    writer.close()
    with TABLE.open("a") as file:
        file.write("0.5,1")
    writer = ProbeWriter.resume(TABLE, time=0.2)
    writer.write(0.2, row(99.0))
    writer.write(0.3, row(7.0))
    assert read_probes(TABLE).values["time"].tolist() == [0.0, 0.1, 0.2, 0.3]
    assert read_probes(TABLE).values["tool.bar.force_x"].tolist() == [0.0, 1.0, 2.0, 7.0]


def test_a_cut_off_write_leaves_what_was_there() -> None:
    write_pvd(INDEX)
    probes, index = ProbeWriter.create(TABLE, UNITS), PvdIndex(INDEX)
    probes.write(0.0, row(1.0))
    index.append([PvdEntry(0.0, 0, "frames/a.vtu")])
    rows, entries = TABLE.read_bytes(), INDEX.read_bytes()
    with nearly_full(len(rows) + 3), pytest.raises(OSError, match="No space"):
        probes.write(0.1, row(2.0))
    with nearly_full(len(entries) + 20), pytest.raises(OSError, match="No space"):
        index.append([PvdEntry(0.1, 0, "frames/b.vtu")])
    assert (TABLE.read_bytes(), INDEX.read_bytes()) == (rows, entries)
    probes.write(0.1, row(2.0))
    index.append([PvdEntry(0.2, 0, "frames/c.vtu")])
    assert read_probes(TABLE).values["time"].tolist() == [0.0, 0.1]
    assert [entry.time for entry in read_pvd(INDEX)] == [0.0, 0.2]


@pytest.mark.parametrize("text", ["", "time\n0\n", "time [s],a [N]\n0,1\n1\n", "time [s]\nx\n"])
def test_a_damaged_table_is_one_sentence(text: str) -> None:
    with pytest.raises(RheotwinError, match="is missing"):
        read_probes(TABLE)
    TABLE.write_text(text)
    with pytest.raises(RheotwinError, match="is damaged"):
        read_probes(TABLE)


@pytest.mark.parametrize("text", ["", "<VTKFile><Collection>", '<a><DataSet timestep="x" file="f"/></a>'])
def test_a_damaged_index_is_one_sentence(text: str) -> None:
    with pytest.raises(RheotwinError, match="is missing"):
        read_pvd(INDEX)
    INDEX.write_text(text)
    with pytest.raises(RheotwinError, match="is damaged"):
        read_pvd(INDEX)


def test_the_index_is_appended_in_place_and_valid_after_every_frame() -> None:
    write_pvd(INDEX)
    inode, index = INDEX.stat().st_ino, PvdIndex(INDEX)
    assert read_pvd(INDEX) == []
    entries = [PvdEntry(1 / 3, 0, "frames/a.vtu"), PvdEntry(1 / 3, 1, "frames/<&>.vtp")]
    index.append(entries)
    assert read_pvd(INDEX) == entries
    many = [PvdEntry(1.0 + 0.1 * i, 0, f"frames/frame-{i:06d}.vtu") for i in range(10_000)]
    for entry in many:
        index.append([entry])
    index.close()
    assert INDEX.stat().st_ino == inode, "the file was rewritten"
    assert read_pvd(INDEX) == entries + many


@pytest.mark.parametrize(
    ("mesh", "kind", "measure"),
    [
        (skfem.MeshLine(), "line", "Length"),
        (skfem.MeshTri(), "triangle", "Area"),
        (skfem.MeshQuad(), "quad", "Area"),
        (skfem.MeshTet(), "tet", "Volume"),
        (skfem.MeshHex(), "hex", "Volume"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_cell_kind_has_unit_measure_in_vtk(mesh: skfem.Mesh, kind: str, measure: str) -> None:
    """The reference meshes fill the unit interval, square and cube: length, area and volume are 1."""
    fine = mesh.refined(1)
    cells, points = fine.t.T.astype(np.int64), padded(fine.p.T)
    body = np.zeros(len(cells), dtype=np.int64)
    frame = FrameGrid(GridTopology(cells=cells, cell_kind=kind, body=body, points=len(points)), {})
    frame.fill(0.0, points, {})
    XmlWriter(frame.grid).write(FRAME)
    stored = read(FRAME)
    grid = grid_of(stored)
    assert set(grid.celltypes) == {VTK_CELL_TYPES[kind]}
    # Every cell of a regular refinement of these meshes has the orientation of its parent: none is negative.
    sizes = np.abs(grid.compute_cell_sizes()[measure])
    assert np.all(sizes > 0) and sizes.sum() == pytest.approx(1.0, abs=1e-14)
    assert np.array_equal(topology_of(stored).cells, cells)


def test_hexahedra_as_scikit_fem_exports_and_cells_that_do_not_fit() -> None:
    cells = np.arange(8, dtype=np.int64)[None, :] * 10
    hexes = GridTopology(cells=cells, cell_kind="hex", body=np.zeros(1, dtype=np.int64), points=71)
    assert hexes.vtk_cells()[0].tolist() == [10 * place for place in HEX_MAPPING[:8]]
    cells, body = np.zeros((1, 3), dtype=np.int64), np.zeros(1, dtype=np.int64)
    with pytest.raises(RheotwinError, match="tet cells with 1 body indices need an array"):
        GridTopology(cells=cells, cell_kind="tet", body=body, points=3)


@pytest.mark.parametrize("kept", [0.0, 0.2, 0.95])
def test_cut_off_or_missing_files_are_one_sentence(kept: float, capfd: pytest.CaptureFixture[str]) -> None:
    XmlWriter(FrameGrid(TOPOLOGY, describe_fields()).grid).write(FRAME)
    ToolWriter().write(TOOLS, 0.0, [BAR])
    for path in (FRAME, TOOLS):
        contents = path.read_bytes()
        path.write_bytes(contents[: int(len(contents) * kept)])
        with pytest.raises(RheotwinError, match="is damaged"):
            read(path)
        path.unlink()
        with pytest.raises(RheotwinError, match="is missing"):
            read(path)
    assert capfd.readouterr().err == ""


def test_full_disk_and_missing_folder_are_system_errors(capfd: pytest.CaptureFixture[str]) -> None:
    writer = XmlWriter(FrameGrid(TOPOLOGY, describe_fields()).grid)
    Path("full.vtu").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left on device"):
        writer.write(Path("full.vtu"))
    with pytest.raises(FileNotFoundError):
        writer.write(Path("nothing/frame.vtu"))
    writer.write(FRAME)
    assert len(read(FRAME).points) == TOPOLOGY.points and capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"stress": None}, "lacks stress"),
        ({"colour": np.zeros(3)}, "has colour unannounced"),
        ({"velocity": np.zeros((2, 3))}, r"field 'velocity' must have the shape"),
    ],
)
def test_wrong_results_of_a_solver_are_named(change: dict[str, np.ndarray | None], words: str) -> None:
    positions, fields = frame_at(0.0)
    changed = {name: value for name, value in {**fields, **change}.items() if value is not None}
    with pytest.raises(RheotwinError, match=words):
        checked_frame(positions, changed, points=TOPOLOGY.points, expected=describe_fields())


def plate(name: str, height: float) -> ToolSurface:
    points = np.array([[0.0, 0, height], [1, 0, height], [1, 1, height], [0, 1, height]])
    return ToolSurface(name=name, points=points, faces=np.array([3, 0, 1, 2, 3, 0, 2, 3]))


def test_tools_move_and_stay_apart() -> None:
    """Two plates of area 1 at heights 2 + t and 5, and a line of length 1 in the bar; then one plate is gone."""
    writer = ToolWriter()
    for time in (0.0, 0.5):
        writer.write(TOOLS, time, [plate("moving", 2.0 + time), plate("still", 5.0), BAR])
        surface = surface_of(read(TOOLS))
        assert list(surface.field_data["tool_names"]) == ["moving", "still", "bar"]
        assert surface.field_data["TimeValue"] == [time]
        heights, tool = surface.cell_centers().points[:, 2], surface.cell_data["tool"]
        assert (set(heights[tool == 0]), set(heights[tool == 1])) == ({2.0 + time}, {5.0})
        assert np.count_nonzero(tool == 2) == 3
        sizes = surface.compute_cell_sizes()
        assert sizes["Area"][tool == 0].sum() == pytest.approx(1.0, abs=1e-15)
        assert sizes["Length"].sum() == pytest.approx(1.0, abs=1e-15)
    writer.write(TOOLS, 1.0, [BAR, plate("second", 1.0)])
    changed = surface_of(read(TOOLS))
    assert (changed.n_points, changed.n_cells) == (8, 5)
    assert list(changed.field_data["tool_names"]) == ["bar", "second"]


def test_surfaces_of_pyvista_are_taken_as_they_are_and_bad_faces_are_not() -> None:
    sphere = pyvista.Sphere(radius=0.5)
    tool = ToolSurface(name="ball", points=np.asarray(sphere.points), faces=np.asarray(sphere.faces))
    ToolWriter().write(TOOLS, 0.0, [tool])
    again = surface_of(read(TOOLS))
    assert (again.area, again.n_cells) == (pytest.approx(sphere.area, rel=1e-6), sphere.n_cells)
    bad = ToolSurface(name="bent", points=np.zeros((3, 3)), faces=np.array([3, 0, 1]))
    with pytest.raises(RheotwinError, match="tool 'bent'"):
        ToolWriter().write(TOOLS, 0.0, [bad])
