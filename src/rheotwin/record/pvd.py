"""The default series: one VTU a frame, one VTP for its tools, and the PVD index.

An entry of the index is appended before the closing tags in a single write, so the cost of a frame does not
grow with the number of frames and the index is valid at any moment.
"""

from __future__ import annotations

import html
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.errors import RheotwinError
from rheotwin.record import atomic
from rheotwin.record.folder import FRAMES_FOLDER, PVD_NAME
from rheotwin.record.grid import GridTopology, ToolSurface, time_tolerance
from rheotwin.record.manifest import FieldInfo
from rheotwin.record.stored import TIME_ARRAY, Grown, Stored, read_checked, read_stored, read_sums, sum_line
from rheotwin.record.vtu import (
    FrameGrid,
    XmlWriter,
    cell_array,
    grid_of,
    set_unit,
    shared_array,
    topology_of,
)

if TYPE_CHECKING:
    import pyvista

_HEAD = '<?xml version="1.0"?>\n<VTKFile type="Collection" version="0.1" byte_order="LittleEndian">\n  <Collection>\n'
_TAIL = "  </Collection>\n</VTKFile>\n"
SUMS = ".sha256"
"""Suffix of the list of checksums beside an index, as `sha256sum -c` takes it."""
_FRAME_FILE = re.compile(rf"{FRAMES_FOLDER}/[^/\\\\]+")
TOOL_ARRAY = "tool"
TOOL_NAMES = "tool_names"
BODIES_PART = 0
TOOLS_PART = 1


@dataclass(frozen=True)
class PvdEntry:
    """One file of the series: time [s], part number, file relative to the index."""

    time: float
    part: int
    file: str

    def xml(self) -> str:
        """Return the entry as its line of XML; the time is written so that it reads back bit for bit."""
        return f'    <DataSet timestep="{self.time!r}" group="" part="{self.part}" file="{html.escape(self.file)}"/>\n'


class PvdIndex:
    """An index open for appending, and beside it the list of checksums of its files."""

    def __init__(self, path: Path) -> None:
        self._path, sums = path, path.with_suffix(SUMS)
        sums.touch()
        self._grown = {
            path.name: Grown(path.read_bytes().removesuffix(_TAIL.encode())),
            sums.name: Grown(sums.read_bytes()),
        }
        self._file, self._sums = io.FileIO(path, "r+"), io.FileIO(sums, "r+")

    def append(self, entries: Sequence[PvdEntry]) -> None:
        """Add the files of one frame, their checksums first."""
        files = ((entry.file, self._path.parent / entry.file) for entry in entries)
        sums = b"".join(sum_line(name, path.read_bytes()) for name, path in files if path.exists())
        atomic.extend(self._sums, sums)
        self._grown[self._path.with_suffix(SUMS).name].add(sums)
        lines = "".join(entry.xml() for entry in entries).encode()
        atomic.extend(self._file, lines, tail=_TAIL.encode())
        self._grown[self._path.name].add(lines)

    @property
    def checksums(self) -> dict[str, str]:
        """Checksums of the index and of its list of checksums so far."""
        return {name: str(grown) for name, grown in self._grown.items()}

    def close(self) -> None:
        """Close the files; the index needs no ending."""
        self._file.close()
        self._sums.close()


class Listed:
    """The files of an index, to be read: each is checked against its checksum and its time."""

    def __init__(self, path: Path, files: Mapping[str, str]) -> None:
        sums = path.with_suffix(SUMS)
        self._folder, self._sums = path.parent, read_sums(sums, files.get(sums.name))
        self.entries = read_pvd(path, files.get(path.name))

    def read(self, entry: PvdEntry, what: str) -> Stored:
        """Return the content of a file, which must be of its time."""
        path = self._folder / entry.file
        stored = read_stored(path, self._sums.get(entry.file), what)
        if stored.time is not None and stored.time != entry.time:
            raise RheotwinError(
                f"{path}: {what} is of t = {stored.time!r} s where the index says {entry.time!r} s: one of them is "
                "damaged; run the scene again"
            )
        return stored


def cut_index(path: Path, kept: Sequence[PvdEntry]) -> None:
    """Write an index anew with these entries, and the checksums of their files."""
    sums = read_sums(path.with_suffix(SUMS), None)
    write_pvd(path, kept)
    known = "".join(f"{sums[e.file].removeprefix('sha256:')}  {e.file}\n" for e in kept if e.file in sums)
    atomic.write_text(path.with_suffix(SUMS), known)


def write_pvd(path: Path, entries: Sequence[PvdEntry] = ()) -> None:
    """Write a whole index atomically."""
    atomic.write_text(path, _HEAD + "".join(entry.xml() for entry in entries) + _TAIL)


def read_pvd(path: Path, checksum: str | None = None) -> list[PvdEntry]:
    """Read an index, in the order of the file; times increase."""
    data = read_checked(path, checksum, "the index of the series")
    try:
        found = [
            PvdEntry(
                time=float(element.attrib["timestep"]),
                part=int(element.attrib.get("part", "0")),
                file=element.attrib["file"],
            )
            for element in ElementTree.fromstring(data).iter("DataSet")
        ]
        inside = all(_FRAME_FILE.fullmatch(entry.file) for entry in found)
        if not inside or any(not a.time <= b.time for a, b in pairwise(found)):
            raise ValueError("files elsewhere, or times that go back")
    except (ElementTree.ParseError, KeyError, ValueError) as error:
        raise RheotwinError(f"{path}: the index of the series is damaged; run the scene again") from error
    return found


class ToolWriter:
    """Writes the tools' surfaces frame by frame; only time and points are touched when the faces stay."""

    def __init__(self) -> None:
        self._faces: tuple[Indices, ...] = ()
        self._writer: XmlWriter | None = None

    def write(self, path: Path, time: float, tools: Sequence[ToolSurface]) -> None:
        """Write the tools at `time` [s]."""
        faces = tuple(tool.faces for tool in tools)
        if self._writer is None or not _same(faces, self._faces):
            self._prepare(tools)
            self._faces = faces
        self._time[0] = time
        self._points[...] = np.concatenate([tool.points for tool in tools])
        for item in self._changing:
            item.Modified()
        assert self._writer is not None
        self._writer.write(path)

    def _prepare(self, tools: Sequence[ToolSurface]) -> None:
        """Make one surface of all tools, with the cell array "tool" (index) and the names as field data."""
        from vtkmodules.vtkCommonCore import vtkPoints, vtkStringArray
        from vtkmodules.vtkCommonDataModel import vtkPolyData

        cells = [_cells(tool) for tool in tools]
        offsets = np.cumsum([0, *(len(tool.points) for tool in tools)])
        moved = [(index, cell + offsets[index]) for index, own in enumerate(cells) for cell in own]
        lines, polygons = ([item for item in moved if (len(item[1]) > 2) is face] for face in (False, True))
        names = vtkStringArray()
        names.SetName(TOOL_NAMES)
        for tool in tools:
            names.InsertNextValue(tool.name)
        self._time, time_array = shared_array(np.zeros(1), TIME_ARRAY, None)
        self._points, place = shared_array(np.zeros((offsets[-1], 3)), "Points", "m")
        points, data = vtkPoints(), vtkPolyData()
        self._changing = time_array, place, points, data
        points.SetData(place)
        data.SetPoints(points)
        data.SetLines(cell_array([cell for _, cell in lines]))
        data.SetPolys(cell_array([cell for _, cell in polygons]))
        # VTK numbers the cells of a surface lines first, then polygons.
        self._owners, owners = shared_array(np.array([index for index, _ in lines + polygons]), TOOL_ARRAY, "1")
        data.GetCellData().SetScalars(owners)
        data.GetFieldData().AddArray(names)
        data.GetFieldData().AddArray(time_array)
        self._writer = XmlWriter(data)


def surface_of(stored: Stored) -> pyvista.PolyData:
    """Return tools or particles that were read as one surface."""
    import pyvista
    from vtkmodules.vtkCommonDataModel import vtkPolyData

    data = vtkPolyData()
    data.SetPoints(pyvista.vtk_points(np.array(stored.points, dtype=np.float64)))
    for part, put in (("Verts", data.SetVerts), ("Lines", data.SetLines), ("Polys", data.SetPolys)):
        nodes, ends = stored.cells.get(part, (np.empty(0, dtype=np.int64),) * 2)
        put(cell_array(np.split(nodes, ends[:-1]) if len(ends) else []))
    surface: pyvista.PolyData = pyvista.wrap(data)
    for arrays, target in ((stored.on_points, surface.point_data), (stored.on_cells, surface.cell_data)):
        for name, values in arrays.items():
            target[name] = values[:, 0] if values.shape[1] == 1 else values
            if name in stored.units:
                set_unit(target.GetArray(name), stored.units[name])
    if stored.names:
        surface.field_data[TOOL_NAMES] = list(stored.names)
    surface.field_data[TIME_ARRAY] = [stored.time or 0.0]
    return surface


def _cells(tool: ToolSurface) -> list[Indices]:
    """Split a padded face list [n, i, j, ..., n, ...] into its cells."""
    cells, place = [], 0
    while place < len(tool.faces):
        count = int(tool.faces[place])
        cell = tool.faces[place + 1 : place + 1 + count]
        if count < 2 or len(cell) < count:
            raise RheotwinError(f"tool '{tool.name}': its face list is not of the form [3, i, j, k, ...]")
        cells.append(np.asarray(cell, dtype=np.int64))
        place += 1 + count
    return cells


def _same(first: tuple[Indices, ...], second: tuple[Indices, ...]) -> bool:
    return len(first) == len(second) and all(a is b or np.array_equal(a, b) for a, b in zip(first, second, strict=True))


class PvdSeriesWriter:
    """Writes frames: the files first, then their entry in the index."""

    def __init__(
        self, folder: Path, topology: GridTopology, fields: Mapping[str, FieldInfo], times: Sequence[float]
    ) -> None:
        self._folder = folder
        self._count = len(times)
        self._last_time = times[-1] if times else None
        self._frame = FrameGrid(topology, fields)
        self._bodies = XmlWriter(self._frame.grid)
        self._tools = ToolWriter()
        self._index = PvdIndex(folder / PVD_NAME)

    @classmethod
    def create(cls, folder: Path, topology: GridTopology, fields: Mapping[str, FieldInfo]) -> PvdSeriesWriter:
        """Start an empty series in the folder of a record."""
        (folder / FRAMES_FOLDER).mkdir(exist_ok=True)
        write_pvd(folder / PVD_NAME)
        return cls(folder, topology, fields, ())

    @classmethod
    def resume(cls, folder: Path, fields: Mapping[str, FieldInfo], *, time: float) -> PvdSeriesWriter:
        """Continue a series after dropping the frames later than `time` [s]."""
        kept = [e for e in read_pvd(folder / PVD_NAME) if e.time <= time + time_tolerance(time)]
        frames = [entry for entry in kept if entry.part == BODIES_PART]
        if not frames:
            raise RheotwinError(f"{folder}: no frame up to t = {time:.6g} s to resume from; run the scene again")
        topology = topology_of(Listed(folder / PVD_NAME, {}).read(frames[0], "the frame"))
        with atomic.writing(folder / PVD_NAME, record=folder):
            cut_index(folder / PVD_NAME, kept)
            remove_unlisted(folder, {entry.file for entry in kept}, ("frame-*.vtu", "tools-*.vtp"))
            return cls(folder, topology, fields, [entry.time for entry in frames])

    @property
    def last_time(self) -> float | None:
        """Time [s] of the last frame, None before the first."""
        return self._last_time

    def write(self, time: float, positions: Array, fields: Mapping[str, Array], tools: Sequence[ToolSurface]) -> None:
        """Add the frame at `time` [s]."""
        entries = [PvdEntry(time, BODIES_PART, f"{FRAMES_FOLDER}/frame-{self._count:06d}.vtu")]
        with atomic.writing(self._folder / entries[0].file, record=self._folder):
            self._frame.fill(time, positions, fields)
            self._bodies.write(self._folder / entries[0].file)
        if tools:
            entries.append(PvdEntry(time, TOOLS_PART, f"{FRAMES_FOLDER}/tools-{self._count:06d}.vtp"))
            with atomic.writing(self._folder / entries[1].file, record=self._folder):
                self._tools.write(self._folder / entries[1].file, time, tools)
        with atomic.writing(self._folder / PVD_NAME, record=self._folder):
            self._index.append(entries)
        self._count += 1
        self._last_time = time

    @property
    def checksums(self) -> dict[str, str]:
        """Checksums of the index and of the list of checksums so far."""
        return self._index.checksums

    def close(self) -> None:
        """Close the index."""
        self._index.close()


class PvdSeriesReader:
    """Reads the frames listed when it was opened; a running record may have grown since."""

    def __init__(self, folder: Path, files: Mapping[str, str]) -> None:
        self._folder, self._listed = folder, Listed(folder / PVD_NAME, files)
        entries = self._listed.entries
        self._frames = [entry for entry in entries if entry.part == BODIES_PART]
        self._tools = {entry.time: entry for entry in entries if entry.part == TOOLS_PART}

    @property
    def times(self) -> Array:
        """Times of the frames [s]."""
        return np.array([entry.time for entry in self._frames], dtype=np.float64)

    @cached_property
    def _topology(self) -> GridTopology:
        return topology_of(self._listed.read(self._frames[0], "the frame"))

    def topology(self) -> GridTopology:
        """Return the cells, nodes in scikit-fem's order."""
        return self._topology

    def positions(self, index: int) -> Array:
        """Return the current positions (N, 3) [m] of one frame."""
        return np.array(self._frame(index).points, dtype=np.float64)

    def values(self, index: int, name: str) -> Array:
        """Return one field (N, components) of one frame, a row for each node or cell."""
        stored = self._frame(index)
        for arrays in (stored.on_points, stored.on_cells):
            if name in arrays:
                return np.array(arrays[name], dtype=np.float64)
        place = self._folder / self._frames[index].file
        raise RheotwinError(f"{place}: the frame lacks the field '{name}'; run the scene again")

    def grid(self, index: int) -> pyvista.UnstructuredGrid:
        """Return one frame with everything on it."""
        return grid_of(self._frame(index))

    def tools(self, index: int) -> pyvista.PolyData | None:
        """Return the tools' surfaces of one frame, None where there are none."""
        entry = self._tools.get(self._frames[index].time)
        return None if entry is None else surface_of(self._listed.read(entry, "the tools' surface"))

    def _frame(self, index: int) -> Stored:
        return self._listed.read(self._frames[index], "the frame")


def remove_unlisted(folder: Path, listed: set[str], patterns: Sequence[str]) -> None:
    """Remove the frames that the index does not list: dropped ones, and one cut off before its entry."""
    for pattern in patterns:
        for path in (folder / FRAMES_FOLDER).glob(pattern):
            if path.relative_to(folder).as_posix() not in listed:
                path.unlink()
