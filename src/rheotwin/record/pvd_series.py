"""The default series: one VTU a frame, one VTP for its tools, and the PVD index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rheotwin.errors import RheotwinError
from rheotwin.record import atomic
from rheotwin.record.folder import FRAMES_FOLDER, PVD_NAME
from rheotwin.record.grid import Floats, GridTopology, ToolSurface
from rheotwin.record.manifest import FieldInfo
from rheotwin.record.pvd import PvdEntry, PvdIndex, read_pvd, write_pvd
from rheotwin.record.series import time_tolerance
from rheotwin.record.tools import ToolWriter, read_tools
from rheotwin.record.vtu import FrameGrid, XmlWriter, read_vtu, topology_of

if TYPE_CHECKING:
    import pyvista

BODIES_PART = 0
TOOLS_PART = 1


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
            _remove_unlisted(folder, {entry.file for entry in kept})
            return cls(folder, topology, fields, [entry.time for entry in frames])

    @property
    def last_time(self) -> float | None:
        """Time [s] of the last frame, None before the first."""
        return self._last_time

    def write(self, time: float, positions: Floats, fields: Mapping[str, Floats], tools: Sequence[ToolSurface]) -> None:
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
    def times(self) -> Floats:
        """Times of the frames [s]."""
        return np.array([entry.time for entry in self._frames], dtype=np.float64)

    @cached_property
    def _topology(self) -> GridTopology:
        return topology_of(self.grid(0))

    def topology(self) -> GridTopology:
        """Return the cells, nodes in scikit-fem's order."""
        return self._topology

    def positions(self, index: int) -> Floats:
        """Return the current positions (N, 3) [m] of one frame."""
        return np.array(read_vtu(self._path(index), only="").points, dtype=np.float64)

    def values(self, index: int, name: str) -> Floats:
        """Return one field (N, components) of one frame."""
        grid = read_vtu(self._path(index), only=name)
        if name not in grid.point_data:
            raise RheotwinError(f"{self._path(index)}: the frame lacks the field '{name}'; run the scene again")
        return np.array(grid.point_data[name], dtype=np.float64).reshape(grid.n_points, -1)

    def grid(self, index: int) -> pyvista.UnstructuredGrid:
        """Return one frame with everything on it."""
        return read_vtu(self._path(index))

    def tools(self, index: int) -> pyvista.PolyData | None:
        """Return the tools' surfaces of one frame, None where there are none."""
        file = self._tools.get(self._frames[index].time)
        return None if file is None else read_tools(self._folder / file)

    def _path(self, index: int) -> Path:
        return self._folder / self._frames[index].file


def _remove_unlisted(folder: Path, listed: set[str]) -> None:
    """Remove the frames that the index does not list: dropped ones, and one cut off before its entry."""
    for pattern in ("frame-*.vtu", "tools-*.vtp"):
        for path in (folder / FRAMES_FOLDER).glob(pattern):
            if path.relative_to(folder).as_posix() not in listed:
                path.unlink()
