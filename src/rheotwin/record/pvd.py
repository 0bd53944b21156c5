"""The default series: one VTU a frame, one VTP for its tools, and the PVD index.

An entry of the index is appended before the closing tags in a single write, so the cost of a frame does not
grow with the number of frames and the index is valid at any moment.
"""

from __future__ import annotations

import html
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
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
from rheotwin.record.vtu import (
    TIME_ARRAY,
    FrameGrid,
    XmlWriter,
    cell_array,
    quiet_vtk,
    read_vtu,
    shared_array,
    topology_of,
)

if TYPE_CHECKING:
    import pyvista

_HEAD = '<?xml version="1.0"?>\n<VTKFile type="Collection" version="0.1" byte_order="LittleEndian">\n  <Collection>\n'
_TAIL = "  </Collection>\n</VTKFile>\n"
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
    """An index open for appending."""

    def __init__(self, path: Path) -> None:
        self._file = io.FileIO(path, "r+")

    def append(self, entries: Sequence[PvdEntry]) -> None:
        """Add the files of one frame."""
        lines = "".join(entry.xml() for entry in entries)
        atomic.extend(self._file, lines.encode(), tail=_TAIL.encode())

    def close(self) -> None:
        """Close the file; the index needs no ending."""
        self._file.close()


def write_pvd(path: Path, entries: Sequence[PvdEntry] = ()) -> None:
    """Write a whole index atomically."""
    atomic.write_text(path, _HEAD + "".join(entry.xml() for entry in entries) + _TAIL)


def read_pvd(path: Path) -> list[PvdEntry]:
    """Read an index, in the order of the file."""
    try:
        root = ElementTree.fromstring(path.read_bytes())
        return [
            PvdEntry(
                time=float(element.attrib["timestep"]),
                part=int(element.attrib.get("part", "0")),
                file=element.attrib["file"],
            )
            for element in root.iter("DataSet")
        ]
    except FileNotFoundError as error:
        raise RheotwinError(f"{path}: the index of the series is missing; run the scene again") from error
    except OSError as error:
        raise RheotwinError(f"could not read {path}: {atomic.why(error)}; make it readable") from error
    except (ElementTree.ParseError, KeyError, ValueError) as error:
        raise RheotwinError(f"{path}: the index of the series is damaged; run the scene again") from error


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


def read_polydata(path: Path) -> pyvista.PolyData:
    """Read the tools or particles of one frame."""
    import pyvista

    if not path.is_file():
        raise RheotwinError(f"{path}: the file of tools or particles is missing; resume or run the scene again")
    with quiet_vtk():
        data: pyvista.PolyData = pyvista.read(path)  # type: ignore[assignment,unused-ignore]
    if data.n_points == 0:
        raise RheotwinError(f"{path}: the file of tools or particles is damaged; resume or run the scene again")
    return data


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
        topology = topology_of(read_vtu(folder / frames[0].file))
        with atomic.writing(folder / PVD_NAME, record=folder):
            write_pvd(folder / PVD_NAME, kept)
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

    def close(self) -> None:
        """Close the index."""
        self._index.close()


class PvdSeriesReader:
    """Reads the frames listed when it was opened; a running record may have grown since."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        entries = read_pvd(folder / PVD_NAME)
        self._frames = [entry for entry in entries if entry.part == BODIES_PART]
        self._tools = {entry.time: entry.file for entry in entries if entry.part == TOOLS_PART}

    @property
    def times(self) -> Array:
        """Times of the frames [s]."""
        return np.array([entry.time for entry in self._frames], dtype=np.float64)

    @cached_property
    def _topology(self) -> GridTopology:
        return topology_of(self.grid(0))

    def topology(self) -> GridTopology:
        """Return the cells, nodes in scikit-fem's order."""
        return self._topology

    def positions(self, index: int) -> Array:
        """Return the current positions (N, 3) [m] of one frame."""
        return np.array(read_vtu(self._path(index), only="").points, dtype=np.float64)

    def values(self, index: int, name: str) -> Array:
        """Return one field (N, components) of one frame, a row for each node or cell."""
        grid = read_vtu(self._path(index), only=name)
        for data, rows in ((grid.point_data, grid.n_points), (grid.cell_data, grid.n_cells)):
            if name in data:
                return np.array(data[name], dtype=np.float64).reshape(rows, -1)
        raise RheotwinError(f"{self._path(index)}: the frame lacks the field '{name}'; run the scene again")

    def grid(self, index: int) -> pyvista.UnstructuredGrid:
        """Return one frame with everything on it."""
        return read_vtu(self._path(index))

    def tools(self, index: int) -> pyvista.PolyData | None:
        """Return the tools' surfaces of one frame, None where there are none."""
        file = self._tools.get(self._frames[index].time)
        return None if file is None else read_polydata(self._folder / file)

    def _path(self, index: int) -> Path:
        return self._folder / self._frames[index].file


def remove_unlisted(folder: Path, listed: set[str], patterns: Sequence[str]) -> None:
    """Remove the frames that the index does not list: dropped ones, and one cut off before its entry."""
    for pattern in patterns:
        for path in (folder / FRAMES_FOLDER).glob(pattern):
            if path.relative_to(folder).as_posix() not in listed:
                path.unlink()
