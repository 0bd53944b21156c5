"""Particles of bodies that may split: a series of their own, of any number of points a frame, beside that on the nodes.

`particles.pvd` lists a VTP of the particles a frame, one of the tools and, on request, one of the surface around the
particles; ParaView plays it as it does the other series, which ends at the first split.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rheotwin.arrays import Array
from rheotwin.record import atomic
from rheotwin.record.folder import FRAMES_FOLDER, PARTICLES_NAME
from rheotwin.record.grid import ToolSurface, checked_frame, time_tolerance
from rheotwin.record.manifest import FieldInfo
from rheotwin.record.pvd import (
    BODIES_PART,
    TOOLS_PART,
    Listed,
    PvdEntry,
    PvdIndex,
    ToolWriter,
    cut_index,
    read_pvd,
    remove_unlisted,
    surface_of,
    write_pvd,
)
from rheotwin.record.stored import TIME_ARRAY
from rheotwin.record.vtu import XmlWriter, equal_cells, shared_array

if TYPE_CHECKING:
    import pyvista

SURFACE_PART = 2
HALF = 0.5
"""The surface is where this share of space is filled."""
OWN_FILES = ("particles-*.vtp", "surface-*.vtp")


class ParticleWriter:
    """Writes the particles frame by frame: the files first, then their entries in the index."""

    def __init__(self, folder: Path, fields: Mapping[str, FieldInfo], times: Sequence[float] = ()) -> None:
        self._folder, self._fields = folder, fields
        self._count = len(times)
        self.last_time = times[-1] if times else None
        self._tools = ToolWriter()
        self._index = PvdIndex(folder / PARTICLES_NAME)

    @classmethod
    def create(cls, folder: Path, fields: Mapping[str, FieldInfo]) -> ParticleWriter:
        """Start an empty series in the folder of a record."""
        (folder / FRAMES_FOLDER).mkdir(exist_ok=True)
        write_pvd(folder / PARTICLES_NAME)
        return cls(folder, fields)

    @classmethod
    def resume(cls, folder: Path, fields: Mapping[str, FieldInfo], *, time: float) -> ParticleWriter:
        """Continue a series after dropping the frames later than `time` [s]."""
        kept = [e for e in read_pvd(folder / PARTICLES_NAME) if e.time <= time + time_tolerance(time)]
        with atomic.writing(folder / PARTICLES_NAME, record=folder):
            cut_index(folder / PARTICLES_NAME, kept)
            remove_unlisted(folder, {entry.file for entry in kept}, OWN_FILES)
            return cls(folder, fields, [entry.time for entry in kept if entry.part == BODIES_PART])

    def write(
        self, time: float, points: Array, fields: Mapping[str, Array], tools: Sequence[ToolSurface], surface: bool
    ) -> None:
        """Add the particles at `points` (M, 3) [m] with all their fields, and the surface around them if wanted."""
        place, values = checked_frame(points, fields, points=len(points), expected=self._fields)
        entries = []
        for part, name, wanted in (
            (BODIES_PART, "particles", True),
            (TOOLS_PART, "particles-tools", bool(tools)),
            (SURFACE_PART, "surface", surface),
        ):
            if not wanted:
                continue
            entries.append(PvdEntry(time, part, f"{FRAMES_FOLDER}/{name}-{self._count:06d}.vtp"))
            path = self._folder / entries[-1].file
            with atomic.writing(path, record=self._folder):
                if part == BODIES_PART:
                    self._write_points(path, time, place, values)
                elif part == TOOLS_PART:
                    self._tools.write(path, time, tools)
                else:
                    XmlWriter(surface_around(place, values["volume"][:, 0], values["piece"][:, 0])).write(path)
        with atomic.writing(self._folder / PARTICLES_NAME, record=self._folder):
            self._index.append(entries)
        self._count += 1
        self.last_time = time

    def _write_points(self, path: Path, time: float, place: Array, values: Mapping[str, Array]) -> None:
        from vtkmodules.vtkCommonCore import vtkPoints
        from vtkmodules.vtkCommonDataModel import vtkPolyData

        points, data = vtkPoints(), vtkPolyData()
        shared = [shared_array(place, "Points", "m"), shared_array(np.array([time]), TIME_ARRAY, "s")]
        points.SetData(shared[0][1])
        data.SetPoints(points)
        data.SetVerts(equal_cells(np.arange(len(place), dtype=np.int64)[:, None]))
        data.GetFieldData().AddArray(shared[1][1])
        for name, array in values.items():
            shared.append(shared_array(np.ascontiguousarray(array), name, self._fields[name].unit))
            data.GetPointData().AddArray(shared[-1][1])
        XmlWriter(data).write(path)

    @property
    def checksums(self) -> dict[str, str]:
        """Checksums of the index and of its list of checksums so far."""
        return self._index.checksums

    def close(self) -> None:
        """Close the index."""
        self._index.close()


class ParticleReader:
    """Reads the particles of the frames that were listed when it was opened."""

    def __init__(self, folder: Path, files: Mapping[str, str]) -> None:
        self._listed = Listed(folder / PARTICLES_NAME, files)
        entries = self._listed.entries
        self._entries = {(entry.time, entry.part): entry for entry in entries}
        self.times = np.array([entry.time for entry in entries if entry.part == BODIES_PART], dtype=np.float64)

    def cloud(self, index: int) -> pyvista.PolyData:
        """Return the particles of one frame at their places [m], with all fields."""
        found = self._part(index, BODIES_PART)
        assert found is not None
        return found

    def tools(self, index: int) -> pyvista.PolyData | None:
        """Return the tools' surfaces of one frame, None where there are none."""
        return self._part(index, TOOLS_PART)

    def surface(self, index: int) -> pyvista.PolyData | None:
        """Return the surface around the particles of one frame, None where it was not asked for."""
        return self._part(index, SURFACE_PART)

    def _part(self, index: int, part: int) -> pyvista.PolyData | None:
        entry = self._entries.get((float(self.times[index]), part))
        return None if entry is None else surface_of(self._listed.read(entry, "the file of tools or particles"))


def surface_around(points: Array, volumes: Array, pieces: Array) -> Any:
    """Return the surface (triangles) at which half of space is filled: sum_p V_p w(x - x_p) = 1/2, piece by piece.

    w is the product of quadratic splines of the grid's spacing, the mean edge of a particle's cube, with which volumes
    are shared over the 27 grid points near each. A piece has a grid over its own box: far away ones cost no memory.
    """
    import pyvista

    edge = float(np.cbrt(volumes.mean()))
    found = [
        _piece_surface(points[pieces == piece], volumes[pieces == piece], edge, float(piece))
        for piece in np.unique(pieces)
    ]
    shown = [mesh for mesh in found if mesh.n_points]
    return pyvista.merge(shown, merge_points=False) if shown else pyvista.PolyData(points[:1])


def _piece_surface(points: Array, volumes: Array, edge: float, piece: float) -> pyvista.PolyData:
    import pyvista

    low = points.min(axis=0) - 2.0 * edge
    places = (points - low) / edge
    nearest = np.rint(places).astype(np.int64)
    counts = nearest.max(axis=0) + 3
    away = places - nearest
    weights = np.stack([0.5 * (0.5 - away) ** 2, 0.75 - away**2, 0.5 * (0.5 + away) ** 2])
    density = np.zeros(int(np.prod(counts)))
    for i in range(3):
        for j in range(3):
            for k in range(3):
                x, y, z = (nearest + np.array([i - 1, j - 1, k - 1])).T
                share = volumes / edge**3 * weights[i, :, 0] * weights[j, :, 1] * weights[k, :, 2]
                density += np.bincount(x + counts[0] * (y + counts[1] * z), share, len(density))
    grid = pyvista.ImageData(dimensions=tuple(int(n) for n in counts), spacing=(edge,) * 3, origin=tuple(low))
    surface: pyvista.PolyData = grid.contour([HALF], scalars=density, method="marching_cubes")
    surface.clear_data()
    surface.cell_data["piece"] = np.full(surface.n_cells, piece)
    return surface
