"""Writer and reader together, in both formats."""

from __future__ import annotations

import subprocess
import sys
import time as clock
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pyvista

from rheotwin.errors import RheotwinError
from rheotwin.record import GridTopology, Manifest, RecordWriter, array_units, describe_fields, open_record

TIMES = (0.0, 0.1, 0.2, 0.30000000000000004)
KINDS = (("frame", "vtu"), ("tools", "vtp"))
Start = Callable[..., RecordWriter]
WriteFrames = Callable[..., None]
FrameAt = Callable[[float], Any]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "run"


def assert_frames(folder: Path, frame_at: FrameAt, times: tuple[float, ...]) -> None:
    record = open_record(folder)
    assert record.times.tolist() == list(times)
    for name in record.manifest.fields:
        values = record.field(name)
        for index, time in enumerate(times):
            expected = frame_at(time)[1][name].reshape(values.shape[1:])
            assert np.array_equal(values[index], expected), (name, time)
    for index, time in enumerate(times):
        assert np.array_equal(record.positions(index), frame_at(time)[0])


def test_everything_written_is_read(
    start: Start,
    write_frames: WriteFrames,
    frame_at: FrameAt,
    folder: Path,
    topology: GridTopology,
    rest: np.ndarray,
    series_format: str,
) -> None:
    writer = start()
    write_frames(writer)
    writer.update(status="complete", message="done", timings={"solve": 0.5})
    writer.close()
    assert_frames(folder, frame_at, TIMES)
    record = open_record(folder)
    # The first frame is at t = 0, where the displacement is exactly zero.
    assert np.array_equal(record.rest_positions, rest)
    assert np.array_equal(record.cells(), topology.cells)
    assert record.topology().cell_kind == "tet"
    assert np.array_equal(record.topology().body, topology.body)
    assert record.probes["energy.kinetic"].tolist() == [time / 3.0 for time in TIMES]
    assert list(record.probes) == ["time", "tool.bar.force_x", "energy.kinetic"]
    assert record.probe_units == {"time": "s", "tool.bar.force_x": "N", "energy.kinetic": "J"}
    assert (record.manifest.status, record.manifest.step.count) == ("complete", 3)
    assert record.manifest.format == series_format
    assert record.checkpoint_path == folder / "checkpoints" / "step-000000003.npz"
    assert np.array_equal(record.checkpoint()["positions"], frame_at(TIMES[-1])[0])


def test_frames_of_both_formats_carry_the_same(
    start: Start, write_frames: WriteFrames, frame_at: FrameAt, folder: Path, manifest: Manifest
) -> None:
    writer = start()
    write_frames(writer)
    writer.close()
    record = open_record(folder)
    for index in (1, -1):
        grid = record.frame(index)
        positions, fields = frame_at(TIMES[index])
        assert np.array_equal(grid.points, positions)
        assert set(grid.point_data.keys()) == set(fields)
        assert np.array_equal(grid["stress"], fields["stress"])
        assert grid.field_data["TimeValue"] == [TIMES[index]]
        assert array_units(grid) == {**{n: f.unit for n, f in manifest.fields.items()}, "body": "1"}
        assert grid.GetPointData().GetArray("stress").GetComponentName(3) == "XY"
        # The map x -> x + t (x, 2y, 3z) stretches the unit cube to (1 + t) (1 + 2t) (1 + 3t).
        volume = np.abs(grid.compute_cell_sizes()["Volume"]).sum()
        assert volume == pytest.approx(np.prod(1.0 + TIMES[index] * np.arange(1.0, 4.0)), rel=1e-12)


def test_the_record_is_readable_while_it_is_written(
    start: Start, write_frames: WriteFrames, frame_at: FrameAt, folder: Path
) -> None:
    writer = start()
    assert open_record(folder).times.size == 0
    for count in range(1, 4):
        write_frames(writer, TIMES[count - 1 : count])
        assert_frames(folder, frame_at, TIMES[:count])
    assert open_record(folder).manifest.status == "running"


def test_many_frames_cross_the_growth_of_the_file(start: Start, frame_at: FrameAt, folder: Path) -> None:
    times = tuple(0.01 * index for index in range(150))
    with start() as writer:
        for time in times:
            writer.write_frame(time, *frame_at(time))
    assert_frames(folder, frame_at, times)


def test_resume_drops_what_is_later_and_continues(
    start: Start, write_frames: WriteFrames, frame_at: FrameAt, folder: Path, tmp_path: Path
) -> None:
    writer = start()
    write_frames(writer)
    writer.close()
    writer = RecordWriter.resume(folder, time=0.2 - 1e-14)
    assert_frames(folder, frame_at, TIMES[:3])
    assert open_record(folder).probes["time"].tolist() == list(TIMES[:3])
    left = {path.name for path in folder.glob("frames/*")}
    assert left in (set(), {f"{kind}-00000{i}.{end}" for i in range(3) for kind, end in KINDS})
    write_frames(writer, (0.2, 0.25, 0.5))
    writer.close()
    assert_frames(folder, frame_at, (0.0, 0.1, 0.2, 0.25, 0.5))
    assert open_record(folder).probes["time"].tolist() == [0.0, 0.1, 0.2, 0.25, 0.5]


def test_resumed_record_equals_the_uninterrupted_one(
    start: Start, write_frames: WriteFrames, frame_at: FrameAt, tmp_path: Path
) -> None:
    whole = start(tmp_path / "whole")
    write_frames(whole)
    whole.close()
    first = start(tmp_path / "parts")
    write_frames(first, TIMES[:2])
    del first
    second = RecordWriter.resume(tmp_path / "parts", time=TIMES[1])
    write_frames(second, TIMES[1:])
    second.close()
    for path in (tmp_path / "whole").rglob("*"):
        if path.suffix in {".pvd", ".vtu", ".vtp", ".csv"}:
            twin = tmp_path / "parts" / path.relative_to(tmp_path / "whole")
            assert twin.read_bytes() == path.read_bytes(), path.name
    assert_frames(tmp_path / "parts", frame_at, TIMES)


WRITE_UNTIL_KILLED = """
import sys, itertools, numpy as np
from pathlib import Path
from rheotwin.record import *
cells = np.array([[0, 1, 2, 3]])
grid = GridTopology(cells=cells, cell_kind="tet", body=np.zeros(1, dtype=np.int64), points=4)
manifest = Manifest(solver=SolverInfo(name="s"), mesh=MeshInfo(hash="", points=4, cells=1), probes={"p": "N"})
folder, kind = Path(sys.argv[1]), sys.argv[2]
writer = RecordWriter.create(folder, manifest=manifest, grid=grid, format=kind, overwrite=False)
for i in itertools.count():
    fields = {name: np.full((4, f.components), float(i)) for name, f in manifest.fields.items()}
    writer.write_frame(float(i), np.eye(4, 3) + i, fields, [])
    writer.write_probe_row(float(i), {"p": float(i)})
    writer.write_checkpoint(i, {"i": i})
    if i == 20: print("ready", flush=True)
"""


def test_a_killed_run_leaves_a_valid_record_that_resumes(folder: Path, series_format: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WRITE_UNTIL_KILLED, str(folder), series_format],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        clock.sleep(0.05)
        process.kill()
    record = open_record(folder)
    count = len(record.times)
    assert count > 20
    assert record.times.tolist() == list(range(count))
    assert record.field("stress")[:, 0, 0].tolist() == list(range(count))
    assert np.array_equal(record.rest_positions, np.eye(4, 3))
    assert len(record.probes["time"]) in (count - 1, count)
    saved = record.checkpoint()["i"]
    writer = RecordWriter.resume(folder, time=float(saved))
    fields = {name: np.zeros((4, f.components)) for name, f in describe_fields().items()}
    writer.write_frame(saved + 1.0, np.eye(4, 3), fields)
    writer.close()
    assert open_record(folder).times.tolist() == [float(i) for i in range(saved + 2)]


def test_a_full_disk_is_one_sentence_and_keeps_the_frames(
    start: Start,
    write_frames: WriteFrames,
    frame_at: FrameAt,
    folder: Path,
    file_size_limit: Callable[[int], AbstractContextManager[None]],
    capfd: pytest.CaptureFixture[str],
) -> None:
    writer = start()
    write_frames(writer, TIMES[:2])
    with file_size_limit(1000):
        with pytest.raises(RheotwinError, match=f"could not write {folder}.*--resume {folder}`") as caught:
            writer.write_frame(0.2, *frame_at(0.2))
        with pytest.raises(RheotwinError, match="could not write"):
            writer.write_checkpoint(9, {"x": np.zeros(10_000)})
    assert "\n" not in str(caught.value)
    writer.close()
    assert capfd.readouterr().err == ""
    assert_frames(folder, frame_at, TIMES[:2])
    assert open_record(folder).checkpoint_path == folder / "checkpoints" / "step-000000001.npz"
    writer = RecordWriter.resume(folder, time=TIMES[1])
    write_frames(writer, TIMES[1:])
    writer.close()
    assert_frames(folder, frame_at, TIMES)


def test_a_full_disk_under_each_file_names_it(start: Start, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = start()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rheotwin.record.atomic.extend", full)
    monkeypatch.setattr("rheotwin.record.atomic.write_text", full)
    words = r"{}: No space left on device; free space and resume with `rheotwin run --resume"
    with pytest.raises(RheotwinError, match=words.format(r"probes\.csv")):
        writer.write_probe_row(0.0, {"energy.kinetic": 0.0, "tool.bar.force_x": 0.0})
    with pytest.raises(RheotwinError, match=words.format(r"manifest\.json")):
        writer.update(status="complete")
    assert writer.manifest.status == "running"


def test_a_vanished_folder_is_one_sentence(start: Start, folder: Path) -> None:
    import shutil

    writer = start()
    shutil.rmtree(folder)
    with pytest.raises(RheotwinError, match="put the folder back"):
        writer.update(status="complete")


def test_unknown_field_and_frame_are_named(start: Start, write_frames: WriteFrames, folder: Path) -> None:
    with start() as writer:
        write_frames(writer)
    record = open_record(folder)
    with pytest.raises(RheotwinError, match=r"no field 'stres' \(did you mean 'stress'\?\)"):
        record.field("stres")
    with pytest.raises(RheotwinError, match="no frame 4; the record holds 4"):
        record.frame(4)


def test_missing_series_is_one_sentence(start: Start, folder: Path) -> None:
    start().close()
    for name in ("series.pvd", "series.vtkhdf"):
        (folder / name).unlink(missing_ok=True)
    with pytest.raises(RheotwinError, match=r"series is missing"):
        open_record(folder)


def test_pvd_opens_in_pyvista_with_bodies_and_tools(
    tmp_path: Path, manifest: Manifest, topology: GridTopology, write_frames: WriteFrames, frame_at: FrameAt
) -> None:
    writer = RecordWriter.create(tmp_path / "r", manifest=manifest, grid=topology, format="pvd", overwrite=False)
    write_frames(writer)
    reader = pyvista.get_reader(tmp_path / "r" / "series.pvd")
    assert reader.time_values == list(TIMES)
    for time in TIMES:
        reader.set_active_time_value(time)
        bodies, tools = reader.read()
        assert np.array_equal(bodies["stress"], frame_at(time)[1]["stress"])
        assert list(tools.field_data["tool_names"]) == ["bar"]
    surface = open_record(tmp_path / "r").tools(0)
    assert surface is not None
    assert surface.n_cells == 3


@pytest.mark.parametrize("closed", [True, False])
def test_vtkhdf_opens_in_vtk_at_every_step(
    tmp_path: Path,
    manifest: Manifest,
    topology: GridTopology,
    write_frames: WriteFrames,
    frame_at: FrameAt,
    closed: bool,
) -> None:
    from vtkmodules.vtkIOHDF import vtkHDFReader

    folder = tmp_path / "r"
    writer = RecordWriter.create(folder, manifest=manifest, grid=topology, format="vtkhdf", overwrite=False)
    write_frames(writer)
    if closed:
        writer.close()
    reader = vtkHDFReader()
    reader.SetFileName(str(folder / "series.vtkhdf"))
    reader.UpdateInformation()
    assert reader.GetNumberOfSteps() == len(TIMES)
    for index, time in enumerate(TIMES):
        reader.SetStep(index)
        reader.Update()
        grid = pyvista.wrap(reader.GetOutput())
        positions, fields = frame_at(time)
        assert reader.GetTimeValue() == time
        assert np.array_equal(grid.points, positions)
        assert np.array_equal(grid.cell_data["body"], topology.body)
        assert np.array_equal(grid.cell_connectivity.reshape(-1, 4), topology.cells)
        for name, values in fields.items():
            assert np.array_equal(grid.point_data[name], values), (name, time)
    assert open_record(folder).tools(0) is None


def test_damaged_vtkhdf_is_one_sentence(
    tmp_path: Path, manifest: Manifest, topology: GridTopology, write_frames: WriteFrames
) -> None:
    with RecordWriter.create(
        tmp_path / "r", manifest=manifest, grid=topology, format="vtkhdf", overwrite=False
    ) as writer:
        write_frames(writer)
    path = tmp_path / "r" / "series.vtkhdf"
    path.write_bytes(path.read_bytes()[:3000])
    with pytest.raises(RheotwinError, match="the series is damaged") as caught:
        open_record(tmp_path / "r")
    assert "\n" not in str(caught.value)


def test_import_is_light() -> None:
    code = (
        "import sys, rheotwin.record; "
        "print([m for m in ('pyvista', 'vtkmodules', 'h5py', 'skfem', 'numba') if m in sys.modules])"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "[]"
