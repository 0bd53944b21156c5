"""One frame as a VTU file: raw appended and uncompressed, units and component names on every array.

The points are the current positions, so ParaView shows the deformed bodies without any filter.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.errors import RheotwinError
from rheotwin.fields import CELL_STRESS, CELL_STRESS_COMPONENTS, TENSOR_COMPONENTS
from rheotwin.record.grid import VTK_CELL_TYPES, GridTopology, topology_from_vtk
from rheotwin.record.manifest import FieldInfo
from rheotwin.record.stored import TIME_ARRAY, Stored

if TYPE_CHECKING:
    import pyvista

BODY_ARRAY = "body"
BLOCK_BYTES = 1 << 20
"""Bytes VTK hands to the system at a time; with its own 32 kB a frame takes half as long again."""


class FrameGrid:
    """One VTK grid whose arrays are refilled in place for every frame."""

    def __init__(self, topology: GridTopology, fields: Mapping[str, FieldInfo]) -> None:
        from vtkmodules.vtkCommonCore import vtkPoints

        self.grid = _vtk_cells(topology)
        self._time, time = shared_array(np.zeros(1), TIME_ARRAY, "s")
        self._positions, positions = shared_array(np.zeros((topology.points, 3)), "Points", "m")
        self._points = vtkPoints()
        self._points.SetData(positions)
        self.grid.SetPoints(self._points)
        self._body, body = shared_array(topology.body.astype(np.int64), BODY_ARRAY, "1")
        self.grid.GetCellData().AddArray(body)
        self.grid.GetFieldData().AddArray(time)
        self._values: dict[str, Array] = {}
        self._arrays = [time, positions]
        for name, info in fields.items():
            rows = len(topology.cells) if info.on_cells else topology.points
            self._values[name], array = shared_array(np.zeros((rows, info.components)), name, info.unit)
            _name_components(array, name, info.components)
            (self.grid.GetCellData() if info.on_cells else self.grid.GetPointData()).AddArray(array)
            self._arrays.append(array)

    def fill(self, time: float, positions: Array, fields: Mapping[str, Array]) -> None:
        """Set the time [s], the positions (N, 3) [m] and all fields (N, components)."""
        self._time[0] = time
        self._positions[...] = positions
        for name, values in fields.items():
            self._values[name][...] = values
        for array in self._arrays:
            array.Modified()
        self._points.Modified()
        self.grid.Modified()

    def copy(self) -> pyvista.UnstructuredGrid:
        """Return the frame as a pyvista grid of its own."""
        import pyvista

        own = pyvista.UnstructuredGrid()
        own.deep_copy(self.grid)
        return own


class XmlWriter:
    """VTK's XML writer for one data set, raw appended without compression; failures become OSError."""

    def __init__(self, data: Any) -> None:
        self._data = data
        self._writer = self._new_writer()

    def _new_writer(self) -> Any:
        from vtkmodules import vtkIOXML

        writer = getattr(vtkIOXML, f"vtkXML{self._data.GetClassName().removeprefix('vtk')}Writer")()
        writer.SetInputData(self._data)
        writer.SetDataModeToAppended()
        writer.EncodeAppendedDataOff()
        writer.SetCompressorTypeToNone()
        writer.SetHeaderTypeToUInt64()
        writer.SetBlockSize(BLOCK_BYTES)
        return writer

    def write(self, path: Path) -> None:
        """Write the data as it is now; VTK removes the file it could not finish."""
        self._writer.SetFileName(str(path))
        with quiet_vtk():
            done = self._writer.Write()
            code = self._writer.GetErrorCode()
        if not done or code:
            # VTK's writer would report this error again after every later failure.
            self._writer = self._new_writer()
            raise _os_error(code, path)


def grid_of(stored: Stored) -> pyvista.UnstructuredGrid:
    """Return a frame that was read as a grid with everything on it."""
    topology = topology_of(stored)
    fields = {
        name: (values, FieldInfo(unit=stored.units.get(name, ""), components=values.shape[1], on_cells=on_cells))
        for arrays, on_cells in ((stored.on_points, False), (stored.on_cells, True))
        for name, values in arrays.items()
        if name != BODY_ARRAY
    }
    frame = FrameGrid(topology, {name: info for name, (_, info) in fields.items()})
    frame.fill(stored.time or 0.0, stored.points, {name: values for name, (values, _) in fields.items()})
    return frame.copy()


def topology_of(stored: Stored) -> GridTopology:
    """Return the topology stored in a frame, nodes in scikit-fem's order."""
    if "Cells" not in stored.cells or BODY_ARRAY not in stored.on_cells:
        raise RheotwinError("a frame of the record holds no cells of bodies; run the scene again")
    nodes, ends = stored.cells["Cells"]
    return topology_from_vtk(
        nodes.reshape(len(ends), -1),
        vtk_type=int(stored.types[0]),
        body=stored.on_cells[BODY_ARRAY][:, 0].astype(np.int64),
        points=len(stored.points),
    )


def set_unit(array: Any, unit: str) -> None:
    """Label a VTK array with its unit, as ParaView shows it."""
    from vtkmodules.vtkCommonCore import vtkDataArray

    array.GetInformation().Set(vtkDataArray.UNITS_LABEL(), unit)


def array_units(data: Any) -> dict[str, str]:
    """Return the unit label of each point and cell array of a VTK data set that carries one."""
    from vtkmodules.vtkCommonCore import vtkDataArray

    units = {}
    for attributes in (data.GetPointData(), data.GetCellData()):
        for index in range(attributes.GetNumberOfArrays()):
            information = attributes.GetArray(index).GetInformation()
            if information.Has(vtkDataArray.UNITS_LABEL()):
                units[attributes.GetArrayName(index)] = information.Get(vtkDataArray.UNITS_LABEL())
    return units


@contextmanager
def quiet_vtk() -> Iterator[None]:
    """Keep VTK from printing its own warnings: we raise one sentence instead."""
    from vtkmodules.vtkCommonCore import vtkObject

    shown = vtkObject.GetGlobalWarningDisplay()
    vtkObject.GlobalWarningDisplayOff()
    try:
        yield
    finally:
        vtkObject.SetGlobalWarningDisplay(shown)


def shared_array(values: Any, name: str, unit: str | None) -> tuple[Any, Any]:
    """Return a numpy array and the VTK array, with name and unit, that shares its memory."""
    array = _vtk_array(values, deep=False)
    array.SetName(name)
    if unit is not None:
        set_unit(array, unit)
    return values, array


def cell_array(cells: Sequence[Indices]) -> Any:
    """Return cells of any numbers of nodes as VTK keeps them."""
    from vtkmodules.vtkCommonDataModel import vtkCellArray

    offsets = np.cumsum([0, *(len(cell) for cell in cells)], dtype=np.int64)
    array = vtkCellArray()
    array.SetData(_vtk_array(offsets, deep=True), _vtk_array(np.concatenate([*cells, offsets[:0]]), deep=True))
    return array


def equal_cells(cells: Indices) -> Any:
    """Return cells (n, k) of k nodes each as VTK keeps them."""
    from vtkmodules.vtkCommonDataModel import vtkCellArray

    array = vtkCellArray()
    array.SetData(cells.shape[1], _vtk_array(cells.ravel(), deep=True))
    return array


def _vtk_cells(topology: GridTopology) -> Any:
    from vtkmodules.vtkCommonDataModel import vtkUnstructuredGrid

    grid = vtkUnstructuredGrid()
    grid.SetCells(VTK_CELL_TYPES[topology.cell_kind], equal_cells(topology.vtk_cells()))
    return grid


def _vtk_array(values: Any, *, deep: bool) -> Any:
    from vtkmodules.util import numpy_support

    convert: Any = numpy_support.numpy_to_vtk
    return convert(values, deep=deep)


def _name_components(array: Any, field: str, components: int) -> None:
    names = CELL_STRESS_COMPONENTS if field == CELL_STRESS else TENSOR_COMPONENTS
    if components == len(names):
        for index, name in enumerate(names):
            array.SetComponentName(index, name)


def _os_error(code: int, path: Path) -> OSError:
    """Translate VTK's error code, which is errno below 20000, into an OSError."""
    from vtkmodules.vtkCommonMisc import vtkErrorCode

    if code == vtkErrorCode.OutOfDiskSpaceError:
        code = errno.ENOSPC
    if code >= vtkErrorCode.FirstVTKErrorCode or code <= 0:
        return OSError(vtkErrorCode.GetStringFromErrorCode(code))
    return OSError(code, os.strerror(code), str(path))
