"""The rigid tools of one frame as a VTP file: all surfaces in one, told apart by the cell array "tool"."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rheotwin.errors import RheotwinError
from rheotwin.record.grid import Ints, ToolSurface
from rheotwin.record.vtu import TIME_ARRAY, XmlWriter, quiet_vtk, set_unit

if TYPE_CHECKING:
    import pyvista

TOOL_ARRAY = "tool"
TOOL_NAMES = "tool_names"


class ToolWriter:
    """Writes the tools' surfaces frame by frame; only the points are touched when the faces stay."""

    def __init__(self) -> None:
        self._faces: tuple[Ints, ...] = ()
        self._data: pyvista.PolyData | None = None
        self._writer: XmlWriter | None = None

    def write(self, path: Path, time: float, tools: Sequence[ToolSurface]) -> None:
        """Write the tools at `time` [s]."""
        faces = tuple(tool.faces for tool in tools)
        if self._data is None or self._writer is None or not _same(faces, self._faces):
            self._data = tool_polydata(tools)
            self._writer = XmlWriter(self._data)
            self._faces = faces
        self._data.points = np.concatenate([np.asarray(tool.points, dtype=np.float64) for tool in tools])
        set_unit(self._data.GetPoints().GetData(), "m")
        self._data.field_data[TIME_ARRAY] = np.array([time])
        self._writer.write(path)


def tool_polydata(tools: Sequence[ToolSurface]) -> pyvista.PolyData:
    """Return all tools in one surface with the cell array "tool" (index) and the names as field data."""
    import pyvista

    points = np.concatenate([np.asarray(tool.points, dtype=np.float64) for tool in tools])
    offsets = np.cumsum([0, *(len(tool.points) for tool in tools)])
    lines: list[Any] = []
    faces: list[Any] = []
    owners: tuple[list[int], list[int]] = ([], [])
    for index, (tool, offset) in enumerate(zip(tools, offsets[:-1], strict=True)):
        for cell in _cells(tool):
            is_face = len(cell) > 2
            (faces if is_face else lines).extend([len(cell), *(cell + offset)])
            owners[is_face].append(index)
    data = pyvista.PolyData(points)
    # Setting lines or faces replaces the vertex cells pyvista makes of bare points.
    data.verts = np.empty(0, dtype=np.int64)
    data.lines = np.asarray(lines, dtype=np.int64)
    data.faces = np.asarray(faces, dtype=np.int64)
    # VTK numbers the cells of a surface lines first, then polygons.
    data.cell_data[TOOL_ARRAY] = np.asarray(owners[0] + owners[1], dtype=np.int64)
    set_unit(data.GetCellData().GetArray(TOOL_ARRAY), "1")
    data.field_data[TOOL_NAMES] = [tool.name for tool in tools]
    return data


def read_tools(path: Path) -> pyvista.PolyData:
    """Read the tools of one frame."""
    import pyvista

    if not path.is_file():
        raise RheotwinError(f"{path}: the tools' surface is missing; resume or run the scene again")
    with quiet_vtk():
        data: pyvista.PolyData = pyvista.read(path)  # type: ignore[assignment,unused-ignore]
    if data.n_points == 0:
        raise RheotwinError(f"{path}: the tools' surface is damaged; resume or run the scene again")
    return data


def _cells(tool: ToolSurface) -> list[Ints]:
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


def _same(first: tuple[Ints, ...], second: tuple[Ints, ...]) -> bool:
    return len(first) == len(second) and all(a is b or np.array_equal(a, b) for a, b in zip(first, second, strict=True))
