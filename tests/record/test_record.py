"""Writer and reader together, in both formats; the folder and the manifest of a record."""

import json
import math
import shutil
import subprocess
import sys
import time as clock
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
import pyvista
from pydantic import ValidationError
from vtkmodules.vtkIOHDF import vtkHDFReader

from rheotwin import __version__
from rheotwin.errors import RheotwinError
from rheotwin.fields import NODE_FIELDS, PARTICLE_FIELDS
from rheotwin.record import (
    RecordWriter,
    StepInfo,
    array_units,
    check_output_folder,
    current_environment,
    describe_fields,
    describe_particles,
    load_manifest,
    open_record,
    save_manifest,
)
from rheotwin.record.folder import new_record_folder
from tests.conftest import nearly_full
from tests.record.conftest import BAR, FOLDER, REST, TIMES, TOPOLOGY, frame_at, manifest, start, write_frames

HERE = Path()
KINDS = (("frame", "vtu"), ("tools", "vtp"))
UNITS = {name: spec.unit for name, spec in NODE_FIELDS.items()}


def written(format: str, times: Sequence[float] = TIMES, folder: Path = FOLDER) -> None:
    with start(format, folder) as writer:
        write_frames(writer, times)


def require_frames(times: Sequence[float], folder: Path = FOLDER) -> None:
    record = open_record(folder)
    assert record.times.tolist() == list(times)
    fields = {name: record.field(name) for name in record.manifest.fields}
    for index, time in enumerate(times):
        positions, expected = frame_at(time)
        assert np.array_equal(record.positions(index), positions)
        for name, values in fields.items():
            assert np.array_equal(values[index], expected[name].reshape(values.shape[1:])), (name, time)


def test_everything_written_is_read(series_format: str) -> None:
    writer = start(series_format)
    write_frames(writer)
    writer.update(status="complete", message="done", timings={"solve": 0.5})
    writer.close()
    require_frames(TIMES)
    record = open_record(FOLDER)
    # The first frame is at t = 0, where the displacement is exactly zero.
    assert np.array_equal(record.rest_positions, REST)
    assert np.array_equal(record.cells(), TOPOLOGY.cells) and record.topology().cell_kind == "tet"
    assert np.array_equal(record.topology().body, TOPOLOGY.body)
    assert record.probes["energy.kinetic"].tolist() == [time / 3.0 for time in TIMES]
    assert list(record.probes) == ["time", "tool.bar.force_x", "energy.kinetic"]
    assert record.probe_units == {"time": "s", "tool.bar.force_x": "N", "energy.kinetic": "J"}
    assert (record.manifest.status, record.manifest.step.count) == ("complete", 3)
    assert record.manifest.format == series_format
    assert record.checkpoint_path == FOLDER / "checkpoints" / "step-000000003.npz"
    assert np.array_equal(record.checkpoint()["positions"], frame_at(TIMES[-1])[0])
    for index in (1, -1):
        grid = record.frame(index)
        positions, fields = frame_at(TIMES[index])
        assert np.array_equal(grid.points, positions) and set(grid.point_data.keys()) == set(fields)
        assert np.array_equal(grid["stress"], fields["stress"])
        assert grid.field_data["TimeValue"] == [TIMES[index]] and array_units(grid) == {**UNITS, "body": "1"}
        assert grid.GetPointData().GetArray("stress").GetComponentName(3) == "XY"
        # The map x -> x + t (x, 2y, 3z) stretches the unit cube to (1 + t) (1 + 2t) (1 + 3t).
        volume = np.abs(grid.compute_cell_sizes()["Volume"]).sum()
        assert volume == pytest.approx(np.prod(1.0 + TIMES[index] * np.arange(1.0, 4.0)), rel=1e-12)
    with pytest.raises(RheotwinError, match=r"no field 'stres' \(did you mean 'stress'\?\)"):
        record.field("stres")
    with pytest.raises(RheotwinError, match="no frame 4; the record holds 4"):
        record.frame(4)


def test_the_record_is_readable_while_it_is_written(series_format: str) -> None:
    writer = start(series_format)
    assert open_record(FOLDER).times.size == 0
    for count in range(1, 4):
        write_frames(writer, TIMES[count - 1 : count])
        require_frames(TIMES[:count])
    assert open_record(FOLDER).manifest.status == "running"


def test_many_frames_cross_the_growth_of_the_file(series_format: str) -> None:
    times = [0.01 * index for index in range(150)]
    with start(series_format) as writer:
        for time in times:
            writer.write_frame(time, *frame_at(time))
    require_frames(times)


def test_resume_drops_what_is_later_and_continues(series_format: str) -> None:
    written(series_format)
    writer = RecordWriter.resume(FOLDER, time=0.2 - 1e-14)
    require_frames(TIMES[:3])
    assert open_record(FOLDER).probes["time"].tolist() == list(TIMES[:3])
    left = {path.name for path in FOLDER.glob("frames/*")}
    assert left in (set(), {f"{kind}-00000{i}.{end}" for i in range(3) for kind, end in KINDS})
    write_frames(writer, (0.2, 0.25, 0.5))
    writer.close()
    require_frames((0.0, 0.1, 0.2, 0.25, 0.5))
    assert open_record(FOLDER).probes["time"].tolist() == [0.0, 0.1, 0.2, 0.25, 0.5]


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


def test_a_killed_run_leaves_a_valid_record_that_resumes(series_format: str) -> None:
    command = [sys.executable, "-c", WRITE_UNTIL_KILLED, FOLDER, series_format]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        clock.sleep(0.05)
        process.kill()
    record = open_record(FOLDER)
    count = len(record.times)
    assert count > 20
    assert record.times.tolist() == record.field("stress")[:, 0, 0].tolist() == list(range(count))
    assert np.array_equal(record.rest_positions, np.eye(4, 3))
    assert len(record.probes["time"]) in (count - 1, count)
    saved = record.checkpoint()["i"]
    fields = {name: np.zeros((4, f.components)) for name, f in describe_fields().items()}
    with RecordWriter.resume(FOLDER, time=float(saved)) as writer:
        writer.write_frame(saved + 1.0, np.eye(4, 3), fields)
    assert open_record(FOLDER).times.tolist() == [float(i) for i in range(saved + 2)]


def test_a_full_disk_keeps_the_frames(series_format: str, capfd: pytest.CaptureFixture[str]) -> None:
    writer = start(series_format)
    write_frames(writer, TIMES[:2])
    with nearly_full(1000):
        with pytest.raises(RheotwinError, match=f"could not write {FOLDER}.*--resume {FOLDER}`") as caught:
            writer.write_frame(0.2, *frame_at(0.2))
        with pytest.raises(RheotwinError, match="could not write"):
            writer.write_checkpoint(9, {"x": np.zeros(10_000)})
    assert "\n" not in str(caught.value)
    writer.close()
    assert capfd.readouterr().err == ""
    require_frames(TIMES[:2])
    assert open_record(FOLDER).checkpoint_path == FOLDER / "checkpoints" / "step-000000001.npz"
    with RecordWriter.resume(FOLDER, time=TIMES[1]) as writer:
        write_frames(writer, TIMES[1:])
    require_frames(TIMES)


def full(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


def test_a_full_disk_under_each_file_and_a_vanished_folder_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    writer = start()
    words = r"{}: No space left on device; free space and resume with `rheotwin run --resume"
    with monkeypatch.context() as patch:
        patch.setattr("rheotwin.record.atomic.extend", full)
        patch.setattr("rheotwin.record.atomic.write_text", full)
        with pytest.raises(RheotwinError, match=words.format(r"probes\.csv")):
            writer.write_probe_row(0.0, {"energy.kinetic": 0.0, "tool.bar.force_x": 0.0})
        with pytest.raises(RheotwinError, match=words.format(r"manifest\.json")):
            writer.update(status="complete")
    assert writer.manifest.status == "running"
    shutil.rmtree(FOLDER)
    with pytest.raises(RheotwinError, match="put the folder back"):
        writer.update(status="complete")


def test_a_missing_or_damaged_series_is_one_sentence(series_format: str) -> None:
    written(series_format)
    path = FOLDER / f"series.{series_format}"
    path.write_bytes(path.read_bytes()[: 3000 if series_format == "vtkhdf" else 100])
    with pytest.raises(RheotwinError, match="is damaged") as caught:
        open_record(FOLDER)
    assert "\n" not in str(caught.value)
    path.unlink()
    with pytest.raises(RheotwinError, match=r"series is missing"):
        open_record(FOLDER)


@pytest.mark.parametrize("closed", [True, False])
def test_vtkhdf_opens_in_vtk_at_every_step(closed: bool) -> None:
    writer = start("vtkhdf")
    write_frames(writer)
    if closed:
        writer.close()
    reader = vtkHDFReader()
    reader.SetFileName(str(FOLDER / "series.vtkhdf"))
    reader.UpdateInformation()
    assert reader.GetNumberOfSteps() == len(TIMES)
    for index, time in enumerate(TIMES):
        reader.SetStep(index)
        reader.Update()
        grid = pyvista.wrap(reader.GetOutput())
        positions, fields = frame_at(time)
        assert reader.GetTimeValue() == time and np.array_equal(grid.points, positions)
        assert np.array_equal(grid.cell_data["body"], TOPOLOGY.body)
        assert np.array_equal(grid.cell_connectivity.reshape(-1, 4), TOPOLOGY.cells)
        for name, values in fields.items():
            assert np.array_equal(grid.point_data[name], values), (name, time)
    assert open_record(FOLDER).tools(0) is None


def test_existing_record_is_kept_unless_overwritten(series_format: str) -> None:
    written(series_format)
    note = FOLDER / "notes.txt"
    note.write_text("mine")
    with pytest.raises(RheotwinError, match="add --overwrite"):
        start(series_format)
    assert len(open_record(FOLDER).times) == 4
    start(series_format, overwrite=True).close()
    record = open_record(FOLDER)
    assert len(record.times) == 0 and record.checkpoint_path is None and note.read_text() == "mine"


@pytest.mark.parametrize("content", [None, "{}", "not json", json.dumps({"name": "a browser extension"})])
def test_foreign_folder_is_never_touched(content: str | None) -> None:
    FOLDER.mkdir()
    files = {"series.pvd": "precious"} | ({} if content is None else {"manifest.json": content})
    for name, text in files.items():
        (FOLDER / name).write_text(text)
    with pytest.raises(RheotwinError, match="is not a record"):
        start(overwrite=True)
    assert {path.name: path.read_text() for path in FOLDER.iterdir()} == files


def test_empty_folders_files_in_the_way_and_unwritable_places() -> None:
    FOLDER.mkdir()
    start().close()
    assert open_record(FOLDER).manifest.status == "running"
    file = Path("file")
    file.write_text("a file")
    with pytest.raises(RheotwinError, match="is a file, not a folder"):
        start(folder=file)
    with pytest.raises(RheotwinError, match=r"could not create the record .*Not a directory"):
        start(folder=file / "deeper")
    assert file.read_text() == "a file"
    with pytest.raises(RheotwinError, match="could not create the record /proc/rheotwin/run: ") as caught:
        start(folder=Path("/proc/rheotwin/run"))
    assert "\n" not in str(caught.value)


def test_failed_creation_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    check_output_folder(Path("a/b"), overwrite=False)
    monkeypatch.setattr("rheotwin.record.writer.ProbeWriter.create", full)
    with pytest.raises(RheotwinError, match="No space left on device; choose a folder"):
        start(folder=Path("new/deep/run"))
    assert list(HERE.iterdir()) == []
    Path("there").mkdir()
    with pytest.raises(ZeroDivisionError), new_record_folder(Path("there/run"), overwrite=False):
        raise ZeroDivisionError
    assert list(HERE.rglob("*")) == [Path("there")]


def test_manifest_keeps_every_entry_in_strict_json() -> None:
    whole = manifest().changed(
        status="diverged",
        message="at node 3",
        case="elastic",
        seeds=(1, 2),
        step=StepInfo(size=1e-3, stable=math.inf, count=7),
        statistics={"edges": np.int64(5), "ratio": np.float64(0.1), "per body": np.arange(2)},
        timings={"solve": 0.1},
        environment=current_environment(threads=2),
    )
    save_manifest(whole, HERE)
    loaded = load_manifest(HERE)
    assert loaded == whole and loaded.step.stable == math.inf
    assert loaded.statistics == {"edges": 5, "ratio": 0.1, "per body": [0, 1]}
    path = save_manifest(manifest().changed(statistics={"drift": math.nan}), HERE)

    def refuse(text: str) -> None:
        raise AssertionError(f"{text} is not JSON")

    assert json.loads(path.read_text(), parse_constant=refuse)["statistics"] == {"drift": "NaN"}
    for wrong in ({"stauts": "complete"}, {"status": "done"}):
        with pytest.raises(ValidationError):
            manifest().changed(**wrong)
    with pytest.raises(ValidationError):
        manifest().status = "complete"


def test_existing_records_are_kept_unless_overwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    said = manifest()
    assert 0 <= (datetime.now(UTC) - datetime.fromisoformat(said.created)).total_seconds() < 3600
    assert (said.rheotwin_version, said.status) == (__version__, "running")
    assert {name: info.unit for name, info in said.fields.items()} == UNITS
    monkeypatch.setattr("rheotwin.record.manifest.RECORDED_PACKAGES", ("numpy", "no-such-package"))
    environment = current_environment()
    assert environment.packages == {"numpy": np.__version__} and environment.threads >= 1
    heavy = ("pyvista", "vtkmodules", "h5py", "skfem", "numba")
    code = f"import sys, rheotwin.record; print([m for m in {heavy} if m in sys.modules])"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "[]"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "not a record (manifest.json is missing)"),
        ("{", "not valid JSON"),
        ("[1]", "a JSON object is expected"),
        ('{"schema_version": 99, "rheotwin_version": "9.0"}', "schema version 99, this Rheotwin"),
        ('{"schema_version": 1}', "solver: Field required"),
    ],
)
def test_unreadable_manifest_is_one_sentence(text: str | None, words: str) -> None:
    with pytest.raises(RheotwinError, match="no such folder"):
        load_manifest(Path("nothing"))
    if text is not None:
        Path("manifest.json").write_text(text)
    with pytest.raises(RheotwinError) as caught:
        load_manifest(HERE)
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_failed_save_keeps_the_old_manifest(monkeypatch: pytest.MonkeyPatch) -> None:
    old = manifest()
    save_manifest(old, HERE)

    def fail(path: Path, text: str, **_: object) -> None:
        path.open("w").write(text[:10])
        full()

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", fail)
        with pytest.raises(OSError, match="No space"):
            save_manifest(old.changed(status="complete"), HERE)
    assert load_manifest(HERE) == old and [path.name for path in HERE.iterdir()] == ["manifest.json"]


@pytest.mark.parametrize("series_format", ["pvd", "vtkhdf"])
def test_particles_of_any_number_have_a_series_of_their_own(series_format: str) -> None:
    """Two blocks of cubes, of which one is lost: volumes are kept by the surfaces, frames go on where nodes end."""
    edge = 0.1
    block = edge * (np.argwhere(np.ones((8, 8, 8))) + 0.5)

    def cloud(pieces: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        points = np.concatenate([block + np.array([2.0 * piece, 0.0, 0.0]) for piece in range(pieces)])
        fields = {name: np.zeros((len(points), spec.components)) for name, spec in PARTICLE_FIELDS.items()}
        fields["piece"] = np.repeat(np.arange(pieces), len(block))
        fields["volume"] = np.full(len(points), edge**3)
        return points, fields

    about = manifest().changed(particles=describe_particles())
    with RecordWriter.create(FOLDER, manifest=about, grid=TOPOLOGY, format=series_format, overwrite=True) as writer:
        write_frames(writer, TIMES[:2])
        for number, time in enumerate(TIMES):
            writer.write_particles(time, *cloud(1 + number % 2), [BAR], surface=True)
    with RecordWriter.resume(FOLDER, time=TIMES[2]) as writer:
        writer.write_particles(TIMES[2], *cloud(2))  # repeats the frame it starts from: ignored
        writer.write_particles(TIMES[3], *cloud(1))
    record = open_record(FOLDER)
    assert record.particles is not None and record.last_time == TIMES[-1] and record.times.tolist() == list(TIMES[:2])
    assert [record.particles.cloud(frame).n_points for frame in range(4)] == [512, 1024, 512, 512]
    shown = record.particles.cloud(1)
    assert array_units(shown) == {name: spec.unit for name, spec in PARTICLE_FIELDS.items()}
    np.testing.assert_array_equal(shown.points, cloud(2)[0])
    np.testing.assert_array_equal(shown["piece"], cloud(2)[1]["piece"])
    surface, none = record.particles.surface(1), record.particles.surface(3)
    assert none is None and surface is not None and surface.is_manifold
    assert surface.volume == pytest.approx(2 * 0.8**3, rel=0.05) and set(surface["piece"]) == {0.0, 1.0}
    tools = record.particles.tools(2)
    assert tools is not None and tools.n_points == len(BAR.points) and record.particles.tools(3) is None
    reader = pyvista.get_reader(FOLDER / "particles.pvd")
    assert list(reader.time_values) == list(TIMES)
    with RecordWriter.resume(FOLDER, time=TIMES[0]) as writer, pytest.raises(RheotwinError, match="lacks volume"):
        writer.write_particles(1.0, block, {name: block for name in PARTICLE_FIELDS if name != "volume"})
    with new_record_folder(FOLDER, overwrite=True):
        assert not [path for path in FOLDER.rglob("*") if path.is_file()]
