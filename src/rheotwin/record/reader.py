"""Reading a record, of either format, complete or not."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.errors import RheotwinError, nearest_name
from rheotwin.record.checkpoint import load_checkpoint, newest_checkpoint
from rheotwin.record.folder import CHECKPOINTS_FOLDER, PROBES_NAME
from rheotwin.record.grid import GridTopology
from rheotwin.record.manifest import Manifest, SeriesFormat, load_manifest
from rheotwin.record.particles import ParticleReader
from rheotwin.record.probes import TIME_COLUMN, TIME_UNIT, ProbeTable, read_probes
from rheotwin.record.pvd import PvdSeriesReader
from rheotwin.record.vtkhdf import HdfSeriesReader
from rheotwin.shown import Shown, wanted

if TYPE_CHECKING:
    import pyvista

    from rheotwin.validation.report.charts import Plot

SERIES_READERS: dict[SeriesFormat, type[PvdSeriesReader | HdfSeriesReader]] = {
    "pvd": PvdSeriesReader,
    "vtkhdf": HdfSeriesReader,
}


@dataclass(frozen=True, repr=False)
class Record(Shown):
    """A run folder as it was when opened: what ran, its frames, its probes, its checkpoints."""

    folder: Path
    manifest: Manifest
    series: PvdSeriesReader | HdfSeriesReader
    particles: ParticleReader | None = None
    """The particles of bodies that may split; their frames go on where those on the nodes end."""

    @property
    def method(self) -> str:
        """Solver and, where there are several, case."""
        return self.manifest.solver.name + (f", {self.manifest.case}" if self.manifest.case else "")

    @property
    def headline(self) -> str:
        """Status, what ran, how large it is."""
        ran, mesh = self.manifest, self.manifest.mesh
        told = f"{ran.title or 'a run'}: {self.method}: {ran.status}, {mesh.points} nodes, {len(self.times)} frames"
        return told + (f"; {ran.message}" if ran.message else "")

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Range of every probe."""
        values, units = self.probes, self.probe_units
        return [
            {"probe": name, "unit": units[name], "least": float(row.min()), "largest": float(row.max())}
            | {"last": float(row[-1])}
            for name, row in values.items()
            if len(row) and name != "time"
        ]

    def plot(self, *probes: str) -> Plot:
        """Return the picture of probes over time; without names of the forces."""
        from rheotwin.record.show import curves

        return curves([self], probes)

    def to_pyvista(self, index: int = -1) -> pyvista.DataSet:
        """Return one frame as a grid with all fields; where bodies may split, its particles."""
        return self.frame(index) if self.particles is None else self.particles.cloud(index)

    def to_xarray(self) -> Any:
        """Return fields and probes as an xarray Dataset."""
        from rheotwin.record.show import dataset

        return dataset(self)

    def to_dataframe(self) -> Any:
        """Return the probes over time [s] as a pandas DataFrame; `attrs["units"]` has their units."""
        table = wanted("pandas").DataFrame(self.probes).set_index("time")
        table.attrs["units"] = self.probe_units
        return table

    @property
    def times(self) -> Array:
        """Times of the frames [s]: those on the nodes, which end where a body splits."""
        return self.series.times

    @property
    def last_time(self) -> float | None:
        """Time of the last frame of all [s], None before the first."""
        times = self.times if self.particles is None else self.particles.times
        return float(times[-1]) if len(times) else None

    def frame(self, index: int) -> pyvista.UnstructuredGrid:
        """Return one frame as a grid at its current positions [m], with all fields."""
        return self.series.grid(self._checked(index))

    def tools(self, index: int) -> pyvista.PolyData | None:
        """Return the rigid tools of one frame, None where none were stored."""
        return self.series.tools(self._checked(index))

    def positions(self, index: int) -> Array:
        """Return the current positions (N, 3) [m] of one frame."""
        return self.series.positions(self._checked(index))

    def field(self, name: str) -> Array:
        """Return one field over all frames (frames, nodes or cells, components), in its unit of the manifest."""
        known = self.manifest.fields
        if name not in known:
            raise RheotwinError(
                f"{self.folder}: the record has no field '{name}'{nearest_name(name, known)}; "
                f"it holds {', '.join(known)}"
            )
        mesh, info = self.manifest.mesh, known[name]
        values = np.empty((len(self.times), mesh.cells if info.on_cells else mesh.points, info.components))
        for index in range(len(values)):
            frame = self.series.values(index, name)
            if frame.shape != values.shape[1:]:
                raise RheotwinError(
                    f"{self.folder}: frame {index} holds '{name}' as {frame.shape} where the manifest "
                    f"announces {values.shape[1:]}; run the scene again"
                )
            values[index] = frame
        return values

    @cached_property
    def rest_positions(self) -> Array:
        """Rest positions (N, 3) [m]: current positions minus displacement of the first frame."""
        if "displacement" not in self.manifest.fields:
            raise RheotwinError(
                f"{self.folder}: rest positions need the field 'displacement'; add it to the scene's outputs"
            )
        return self.positions(0) - self.series.values(0, "displacement")

    def topology(self) -> GridTopology:
        """Return the cells with their kind and bodies, nodes in scikit-fem's order."""
        self._checked(0)
        return self.series.topology()

    def cells(self) -> Indices:
        """Return the cells (n_cells, nodes_per_cell), nodes in scikit-fem's order."""
        return self.topology().cells

    @property
    def probes(self) -> dict[str, Array]:
        """Probe values over time by name; "time" is among them."""
        return self._table.values

    @property
    def probe_units(self) -> dict[str, str]:
        """Unit of each probe."""
        return self._table.units

    @property
    def checkpoint_path(self) -> Path | None:
        """The newest checkpoint that can be read, None if there is none."""
        return newest_checkpoint(self.folder / CHECKPOINTS_FOLDER, self.manifest.files)

    def checkpoint(self) -> dict[str, Any]:
        """Return the state of the newest readable checkpoint."""
        path = self.checkpoint_path
        if path is None:
            raise RheotwinError(f"{self.folder}: there is no checkpoint to resume from; run the scene again")
        return load_checkpoint(path)

    @cached_property
    def _table(self) -> ProbeTable:
        path = self.folder / PROBES_NAME
        table = read_probes(path, self.manifest.files.get(PROBES_NAME))
        if {TIME_COLUMN: TIME_UNIT} | table.units != {TIME_COLUMN: TIME_UNIT} | self.manifest.probes:
            raise RheotwinError(f"{path}: its columns are not those of the manifest; run the scene again")
        return table

    def _checked(self, index: int) -> int:
        count = len(self.times)
        if not -count <= index < count:
            raise RheotwinError(f"{self.folder}: there is no frame {index}; the record holds {count}")
        return index % count


def open_record(folder: Path | str) -> Record:
    """Open the record in `folder` for reading; it may still be running."""
    folder = Path(folder)
    manifest = load_manifest(folder)
    series = SERIES_READERS[manifest.format](folder, manifest.files)
    particles = ParticleReader(folder, manifest.files) if manifest.particles else None
    return Record(folder=folder, manifest=manifest, series=series, particles=particles)
