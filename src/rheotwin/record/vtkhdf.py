"""The compact series: one VTKHDF file, the cells once, points and fields once a frame.

The layout is VTK's temporal unstructured grid. The number of steps is raised last and the file is
flushed after each frame, so whoever opens it, also after the run was killed, sees whole frames only.
Tools are not stored in this format.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError
from rheotwin.record import atomic
from rheotwin.record.folder import HDF_NAME
from rheotwin.record.grid import VTK_CELL_TYPES, GridTopology, ToolSurface, time_tolerance, topology_from_vtk
from rheotwin.record.manifest import FieldInfo
from rheotwin.record.stored import digest_of, read_checked
from rheotwin.record.vtu import BODY_ARRAY, FrameGrid

if TYPE_CHECKING:
    import pyvista

_ROOT = "VTKHDF"
_VERSION = (2, 0)
# "latest" as upper bound writes structures that VTK's own HDF5 cannot read.
_LIBVER = ("earliest", "v110")
_BLOCK = 64
"""Frames by which the data sets grow at a time: resizing each for every frame would dominate the cost."""
_MARGIN = 1 << 18
"""Space [bytes] reserved beside a frame for HDF5's own tables: HDF5 does not survive a write that fails."""


class HdfSeriesWriter:
    """Appends frames to a VTKHDF file."""

    def __init__(self, folder: Path, file: Any, fields: Mapping[str, FieldInfo]) -> None:
        self._folder = folder
        self._path = folder / HDF_NAME
        self._file = file
        root = file[_ROOT]
        self._steps = root["Steps"]
        self._times = self._steps["Values"]
        self._points = root["Points"]
        self._fields = {name: root[_group(info)][name] for name, info in fields.items()}
        self._size, self._cells = int(root["NumberOfPoints"][0]), int(root["NumberOfCells"][0])
        self._count = int(self._steps.attrs["NSteps"])
        self._room = 0
        self._failed = False
        rows = (info.components * (self._cells if info.on_cells else self._size) for info in fields.values())
        self._frame_bytes = 8 * (3 * self._size + sum(rows))

    @classmethod
    def create(cls, folder: Path, topology: GridTopology, fields: Mapping[str, FieldInfo]) -> HdfSeriesWriter:
        """Start a file that holds the cells and no frame yet."""
        # HDF5 can neither report a full disk in plain words nor let go of the file: we write what it makes in memory.
        (folder / HDF_NAME).write_bytes(_empty_file(topology, fields))
        return cls(folder, _open(folder / HDF_NAME, "r+"), fields)

    @classmethod
    def resume(cls, folder: Path, fields: Mapping[str, FieldInfo], *, time: float) -> HdfSeriesWriter:
        """Continue a file after dropping the frames later than `time` [s]."""
        times = HdfSeriesReader(folder, {}).times
        kept = int(np.count_nonzero(times <= time + time_tolerance(time)))
        with atomic.writing(folder / HDF_NAME, record=folder):
            atomic.reserve(folder / HDF_NAME, (folder / HDF_NAME).stat().st_size, _MARGIN)
            file = _open(folder / HDF_NAME, "r+")
            file[_ROOT]["Steps"].attrs.modify("NSteps", np.int64(kept))
            _trim(file[_ROOT], kept)
            file.flush()
            return cls(folder, file, fields)

    @property
    def last_time(self) -> float | None:
        """Time [s] of the last frame, None before the first."""
        return float(self._times[self._count - 1]) if self._count else None

    def write(self, time: float, positions: Array, fields: Mapping[str, Array], tools: Sequence[ToolSurface]) -> None:
        """Add the frame at `time` [s]; the tools are left out."""
        with self._guarded():
            atomic.reserve(self._path, self._end(), self._frame_bytes + _MARGIN)
            if self._count >= self._room:
                self._room = self._count + _BLOCK
                _grow(self._file[_ROOT], self._room)
            rows = slice(self._count * self._size, (self._count + 1) * self._size)
            self._points[rows] = positions
            for name, values in fields.items():
                data, own = self._fields[name], slice(self._count * len(values), (self._count + 1) * len(values))
                data[own] = values[:, 0] if data.ndim == 1 else values
            self._times.resize((self._count + 1,))
            self._times[self._count] = time
            self._steps.attrs.modify("NSteps", np.int64(self._count + 1))
            self._file.flush()
        self._count += 1

    @property
    def checksums(self) -> dict[str, str]:
        """The checksum of the file, which it has when it is closed; until then HDF5 has one for each frame."""
        return {} if self._file or self._failed else {HDF_NAME: digest_of(self._path.read_bytes())}

    def close(self) -> None:
        """Cut the data sets to the frames written and close the file."""
        if self._failed:
            # HDF5 repeats the failed write on closing; the sentence about it has been said.
            with suppress(OSError, RuntimeError):
                self._file.close()
            return
        with self._guarded():
            _trim(self._file[_ROOT], self._count)
            self._file.flush()
            end = self._end()
            self._file.close()
            os.truncate(self._path, end)

    def _end(self) -> int:
        """Return the size [bytes] HDF5 knows of, without what is reserved behind it."""
        return int(self._file.id.get_filesize())

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            with atomic.writing(self._path, record=self._folder), _system_errors():
                yield
        except RheotwinError:
            self._failed = True
            raise


class HdfSeriesReader:
    """Reads the frames present when it was opened; the file is open only while it is read."""

    def __init__(self, folder: Path, files: Mapping[str, str]) -> None:
        self._path = folder / HDF_NAME
        if HDF_NAME in files:  # HDF5 does not survive every damaged file: it is given whole ones
            read_checked(self._path, files[HDF_NAME], "the series")
        with self._opened() as root:
            count = int(root["Steps"].attrs["NSteps"])
            self._times = np.array(root["Steps/Values"][:count], dtype=np.float64)
            if len(self._times) != count or not (np.diff(self._times) > 0.0).all():
                raise ValueError("its times do not increase")
            self._groups = {name: group for group in ("PointData", "CellData") for name in root[group]}
            del self._groups[BODY_ARRAY]
            self._units = {name: str(root[group][name].attrs.get("units", "")) for name, group in self._groups.items()}

    @property
    def times(self) -> Array:
        """Times of the frames [s]."""
        return self._times

    @cached_property
    def _topology(self) -> GridTopology:
        with self._opened() as root:
            count, points = int(root["NumberOfCells"][0]), int(root["NumberOfPoints"][0])
            cells = root["Connectivity"][:].reshape(count, -1)
            if count < 1 or cells.min() < 0 or cells.max() >= points:
                raise ValueError("cells of nodes that are not there")
            return topology_from_vtk(
                cells,
                vtk_type=int(root["Types"][0]),
                body=root["CellData"][BODY_ARRAY][:],
                points=points,
            )

    def topology(self) -> GridTopology:
        """Return the cells, nodes in scikit-fem's order."""
        return self._topology

    def positions(self, index: int) -> Array:
        """Return the current positions (N, 3) [m] of one frame."""
        return self._rows("Points", index, self._topology.points)

    def values(self, index: int, name: str) -> Array:
        """Return one field (N, components) of one frame, a row for each node or cell."""
        group = self._groups.get(name, "PointData")
        size = self._topology.points if group == "PointData" else len(self._topology.cells)
        return self._rows(f"{group}/{name}", index, size)

    def grid(self, index: int) -> pyvista.UnstructuredGrid:
        """Return one frame with everything on it."""
        values = {name: self.values(index, name) for name in self._units}
        info = {
            name: FieldInfo(unit=unit, components=values[name].shape[1], on_cells=self._groups[name] == "CellData")
            for name, unit in self._units.items()
        }
        frame = FrameGrid(self._topology, info)
        frame.fill(float(self._times[index]), self.positions(index), values)
        return frame.copy()

    def tools(self, index: int) -> pyvista.PolyData | None:
        """Return None: this format does not hold tools."""
        return None

    def _rows(self, name: str, index: int, size: int) -> Array:
        with self._opened() as root:
            rows = np.array(root[name][index * size : (index + 1) * size], dtype=np.float64)
            return rows.reshape(size, -1)

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        if not self._path.is_file():
            raise RheotwinError(f"{self._path}: the series is missing; run the scene again")
        try:
            with _open(self._path, "r") as file:
                yield file[_ROOT]
        except (OSError, LookupError, ValueError, TypeError, AttributeError, RuntimeError, MemoryError) as error:
            raise RheotwinError(f"{self._path}: the series is damaged ({error}); run the scene again") from error


def _open(path: Path, mode: str) -> Any:
    import h5py

    # Without locks a record can be looked at while it runs; frames are published by NSteps.
    return h5py.File(path, mode, libver=_LIBVER, locking=False)


def _empty_file(topology: GridTopology, fields: Mapping[str, FieldInfo]) -> bytes:
    """Return a file that holds the cells and no frame yet."""
    import h5py

    with h5py.File(HDF_NAME, "w", driver="core", backing_store=False, libver=_LIBVER) as file:
        root = file.create_group(_ROOT)
        root.attrs["Version"] = np.array(_VERSION, dtype=np.int64)
        root.attrs.create("Type", np.bytes_("UnstructuredGrid"))
        _write_cells(root, topology)
        _make_frames(root, topology, fields)
        file.flush()
        return bytes(file.id.get_file_image())


def _write_cells(root: Any, topology: GridTopology) -> None:
    cells = topology.vtk_cells()
    count, width = cells.shape
    root["NumberOfPoints"] = np.array([topology.points], dtype=np.int64)
    root["NumberOfCells"] = np.array([count], dtype=np.int64)
    root["NumberOfConnectivityIds"] = np.array([cells.size], dtype=np.int64)
    root.create_dataset("Connectivity", data=cells.ravel(), fletcher32=True)
    root["Offsets"] = np.arange(count + 1, dtype=np.int64) * width
    root["Types"] = np.full(count, VTK_CELL_TYPES[topology.cell_kind], dtype=np.uint8)
    root.create_group("CellData").create_dataset(BODY_ARRAY, data=topology.body.astype(np.int64), fletcher32=True)


def _group(info: FieldInfo) -> str:
    return "CellData" if info.on_cells else "PointData"


def _make_frames(root: Any, topology: GridTopology, fields: Mapping[str, FieldInfo]) -> None:
    """Create the empty data sets that grow with the frames, one chunk a frame."""
    _make_rows(root, "Points", topology.points, 3, "m")
    root.create_group("PointData")
    for name, info in fields.items():
        rows = len(topology.cells) if info.on_cells else topology.points
        _make_rows(root[_group(info)], name, rows, info.components, info.unit)
    steps = root.create_group("Steps")
    steps.attrs["NSteps"] = np.int64(0)
    _make_column(steps, "Values", np.float64)
    for name in ("PartOffsets", "NumberOfParts", "PointOffsets"):
        _make_column(steps, name, np.int64)
    for name in ("CellOffsets", "ConnectivityIdOffsets"):
        steps.create_dataset(name, shape=(0, 1), maxshape=(None, 1), chunks=(1024, 1), dtype=np.int64)
    for name, info in fields.items():
        _make_column(steps.require_group(f"{_group(info)}Offsets"), name, np.int64)
    _make_column(steps.require_group("CellDataOffsets"), BODY_ARRAY, np.int64)


def _make_rows(group: Any, name: str, points: int, components: int, unit: str) -> None:
    # VTK takes a one-dimensional data set as a scalar.
    tail = () if components == 1 else (components,)
    form = {"shape": (0, *tail), "maxshape": (None, *tail), "chunks": (points, *tail), "fletcher32": True}
    data = group.create_dataset(name, dtype=np.float64, **form)
    data.attrs["units"] = unit


def _make_column(group: Any, name: str, dtype: type) -> None:
    group.create_dataset(name, shape=(0,), maxshape=(None,), chunks=(1024,), dtype=dtype, fletcher32=True)


def _grow(root: Any, frames: int) -> None:
    """Make room for `frames` frames; the tables of offsets are known in advance."""
    steps = root["Steps"]
    start = steps["PointOffsets"].shape[0]
    _resize(root, frames)
    new = np.arange(start, frames, dtype=np.int64)
    steps["NumberOfParts"][start:] = 1
    steps["PointOffsets"][start:] = new * int(root["NumberOfPoints"][0])
    for group, size in _sizes(root):
        for name, offsets in steps.get(f"{group}Offsets", {}).items():
            offsets[start:] = 0 if name == BODY_ARRAY else new * size


def _sizes(root: Any) -> tuple[tuple[str, int], ...]:
    return ("PointData", int(root["NumberOfPoints"][0])), ("CellData", int(root["NumberOfCells"][0]))


def _trim(root: Any, frames: int) -> None:
    _resize(root, frames)
    root["Steps/Values"].resize((frames,))


def _resize(root: Any, frames: int) -> None:
    """Resize all data sets that grow, but the times; cells and their offsets stay zero: one mesh for all."""
    steps = root["Steps"]
    root["Points"].resize(frames * int(root["NumberOfPoints"][0]), axis=0)
    for group, size in _sizes(root):
        for name, data in root[group].items():
            if name != BODY_ARRAY:
                data.resize(frames * size, axis=0)
    for name in ("PartOffsets", "NumberOfParts", "PointOffsets", "CellOffsets", "ConnectivityIdOffsets"):
        steps[name].resize(frames, axis=0)
    for group, _ in _sizes(root):
        for data in steps.get(f"{group}Offsets", {}).values():
            data.resize(frames, axis=0)


@contextmanager
def _system_errors() -> Iterator[None]:
    """Turn HDF5's RuntimeError, which hides the system's error number in its text, into an OSError."""
    try:
        yield
    except RuntimeError as error:
        number = re.search(r"errno = (\d+)", str(error))
        raise OSError(int(number.group(1)) if number else 0, str(error)) from error
