"""Writing a record: one object the run loop feeds with frames, probe rows, checkpoints and news."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from rheotwin.arrays import Array
from rheotwin.record import atomic, checkpoint
from rheotwin.record.folder import CHECKPOINTS_FOLDER, PROBES_NAME, new_record_folder
from rheotwin.record.grid import GridTopology, ToolSurface, checked_frame, is_repeated
from rheotwin.record.manifest import MANIFEST_NAME, Manifest, SeriesFormat, load_manifest, save_manifest
from rheotwin.record.particles import ParticleWriter
from rheotwin.record.probes import ProbeWriter
from rheotwin.record.pvd import PvdSeriesWriter
from rheotwin.record.vtkhdf import HdfSeriesWriter

SeriesWriter = PvdSeriesWriter | HdfSeriesWriter
_SERIES_WRITERS: dict[SeriesFormat, type[SeriesWriter]] = {"pvd": PvdSeriesWriter, "vtkhdf": HdfSeriesWriter}


class RecordWriter:
    """Writes a run folder that is a valid record after every call, whatever happens next.

    A system error (full disk, vanished folder) becomes one sentence; what was written before stays.
    """

    def __init__(
        self,
        folder: Path,
        manifest: Manifest,
        series: SeriesWriter,
        probes: ProbeWriter,
        particles: ParticleWriter | None,
    ) -> None:
        self._folder = folder
        self._manifest = manifest
        self._series = series
        self._probes = probes
        self._particles = particles

    @classmethod
    def create(
        cls, folder: Path, *, manifest: Manifest, grid: GridTopology, format: SeriesFormat, overwrite: bool
    ) -> RecordWriter:
        """Start a record in a new or empty folder, or in place of an old record if `overwrite`."""
        manifest = manifest.changed(format=format)
        with new_record_folder(folder, overwrite=overwrite):
            save_manifest(manifest, folder)
            series = _SERIES_WRITERS[format].create(folder, grid, manifest.fields)
            probes = ProbeWriter.create(folder / PROBES_NAME, manifest.probes)
            particles = ParticleWriter.create(folder, manifest.particles) if manifest.particles else None
        return cls(folder, manifest, series, probes, particles)

    @classmethod
    def resume(cls, folder: Path, *, time: float) -> RecordWriter:
        """Continue a record from `time` [s]: frames and probe rows later than that are dropped."""
        manifest = load_manifest(folder)
        series = _SERIES_WRITERS[manifest.format].resume(folder, manifest.fields, time=time)
        with atomic.writing(folder / PROBES_NAME, record=folder):
            probes = ProbeWriter.resume(folder / PROBES_NAME, time=time)
        particles = ParticleWriter.resume(folder, manifest.particles, time=time) if manifest.particles else None
        return cls(folder, manifest, series, probes, particles)

    @property
    def folder(self) -> Path:
        """The folder of the record."""
        return self._folder

    @property
    def manifest(self) -> Manifest:
        """The manifest as last written."""
        return self._manifest

    def write_frame(
        self, time: float, positions: Any, fields: Mapping[str, Any], tools: Sequence[ToolSurface] = ()
    ) -> None:
        """Add a frame: time [s], current positions (N, 3) [m], the manifest's fields (N, k) or (N,).

        A frame at the time of the last one is ignored, as a restart repeats the frame it starts from.
        """
        if is_repeated(time, self._series.last_time):
            return
        mesh, expected = self._manifest.mesh, self._manifest.fields
        place, values = checked_frame(positions, fields, points=mesh.points, cells=mesh.cells, expected=expected)
        self._series.write(float(time), place, values, tools)

    def write_particles(
        self,
        time: float,
        points: Array,
        fields: Mapping[str, Array],
        tools: Sequence[ToolSurface] = (),
        *,
        surface: bool = False,
    ) -> None:
        """Add a frame of particles at `points` (M, 3) [m], any number of them; a repeated time is ignored."""
        assert self._particles is not None
        if not is_repeated(time, self._particles.last_time):
            self._particles.write(float(time), points, fields, tools, surface)

    def write_probe_row(self, time: float, values: Mapping[str, float]) -> None:
        """Add the probes at `time` [s], one value for each column; a repeated time is ignored."""
        with atomic.writing(self._folder / PROBES_NAME, record=self._folder):
            self._probes.write(float(time), values)

    def write_checkpoint(self, step: int, state: Mapping[str, Any]) -> Path:
        """Save the state after `step` steps, keep the last two checkpoints, bring the manifest up to date."""
        folder = self._folder / CHECKPOINTS_FOLDER
        with atomic.writing(folder, record=self._folder):
            path = checkpoint.save_checkpoint(folder, step, state)
        self.update(step=self._manifest.step.model_copy(update={"count": step}))
        return path

    def update(self, **changes: Any) -> None:
        """Replace entries of the manifest (status, message, statistics, timings, ...) and write it."""
        manifest = self._manifest.changed(**changes)
        with atomic.writing(self._folder / MANIFEST_NAME, record=self._folder):
            save_manifest(manifest, self._folder)
        self._manifest = manifest

    def close(self) -> None:
        """Close all files; the status in the manifest stays as it is."""
        try:
            self._series.close()
        finally:
            self._probes.close()
            if self._particles is not None:
                self._particles.close()

    def __enter__(self) -> RecordWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
