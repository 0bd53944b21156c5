"""Writing a record: one object the run loop feeds with frames, probe rows, checkpoints and news."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError
from rheotwin.record import atomic, checkpoint
from rheotwin.record.folder import CHECKPOINTS_FOLDER, GEOMETRY, PROBES_NAME, Lock, geometry_file, new_record_folder
from rheotwin.record.grid import GridTopology, ToolSurface, checked_frame, is_repeated
from rheotwin.record.manifest import MANIFEST_NAME, Manifest, SeriesFormat, load_manifest, save_manifest
from rheotwin.record.particles import ParticleReader, ParticleWriter
from rheotwin.record.probes import ProbeWriter, read_probes
from rheotwin.record.pvd import PvdSeriesWriter
from rheotwin.record.reader import SERIES_READERS
from rheotwin.record.stored import digest_of
from rheotwin.record.vtkhdf import HdfSeriesWriter

SeriesWriter = PvdSeriesWriter | HdfSeriesWriter
_SERIES_WRITERS: dict[SeriesFormat, type[SeriesWriter]] = {"pvd": PvdSeriesWriter, "vtkhdf": HdfSeriesWriter}
_OTHERS = (CHECKPOINTS_FOLDER, GEOMETRY)
"""Begins of the names of files that are neither series nor probes."""


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
        lock: Lock,
    ) -> None:
        self._folder = folder
        self._lock = lock
        self._manifest = manifest
        self._series = series
        self._probes = probes
        self._files = {name: own for name, own in manifest.files.items() if name.startswith(_OTHERS)}
        self._particles = particles

    @classmethod
    def create(
        cls, folder: Path, *, manifest: Manifest, grid: GridTopology, format: SeriesFormat, overwrite: bool
    ) -> RecordWriter:
        """Start a record in a new or empty folder, or in place of an old record if `overwrite`."""
        manifest = manifest.changed(format=format)
        with new_record_folder(folder, overwrite=overwrite) as lock:
            save_manifest(manifest, folder)
            series = _SERIES_WRITERS[format].create(folder, grid, manifest.fields)
            probes = ProbeWriter.create(folder / PROBES_NAME, manifest.probes)
            particles = ParticleWriter.create(folder, manifest.particles) if manifest.particles else None
        return cls(folder, manifest, series, probes, particles, lock)

    @classmethod
    def resume(cls, folder: Path, *, time: float, lock: Lock | None = None) -> RecordWriter:
        """Continue a record from `time` [s]: frames and probe rows later than that are dropped.

        Files are checked before anything is changed; checksums of what is dropped or rewritten go first, so that a
        record that is killed meanwhile is whole.
        """
        lock = lock or Lock(folder)
        manifest = load_manifest(folder)
        read_probes(folder / PROBES_NAME, manifest.files.get(PROBES_NAME))
        SERIES_READERS[manifest.format](folder, manifest.files)
        if manifest.particles:
            ParticleReader(folder, manifest.files)
        files = manifest.files
        manifest = manifest.changed(files={name: own for name, own in files.items() if name.startswith(_OTHERS)})
        with atomic.writing(folder / MANIFEST_NAME, record=folder):
            save_manifest(manifest, folder)
        series = _SERIES_WRITERS[manifest.format].resume(folder, manifest.fields, time=time)
        with atomic.writing(folder / PROBES_NAME, record=folder):
            probes = ProbeWriter.resume(folder / PROBES_NAME, time=time)
        particles = ParticleWriter.resume(folder, manifest.particles, time=time) if manifest.particles else None
        return cls(folder, manifest, series, probes, particles, lock)

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

    def keep_geometry(self, name: str, mesh: bytes) -> None:
        """Keep a mesh (.msh) that a geometry script made."""
        path = self._folder / geometry_file(name)
        with atomic.writing(path, record=self._folder):
            path.write_bytes(mesh)
        self._files[path.name] = digest_of(mesh)
        self.update()

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
            self._files[f"{CHECKPOINTS_FOLDER}/{path.name}"] = digest_of(path.read_bytes())
        self.update(step=self._manifest.step.model_copy(update={"count": step}))
        return path

    def update(self, **changes: Any) -> None:
        """Replace entries of the manifest (status, message, statistics, timings, ...) and write it."""
        with atomic.writing(self._folder / MANIFEST_NAME, record=self._folder):
            own = {name: found for name, found in self._files.items() if (self._folder / name).exists()}
            if self._particles is not None:
                own |= self._particles.checksums
            files = own | self._series.checksums | {PROBES_NAME: str(self._probes.checksum)}
            manifest = self._manifest.changed(files=files, **changes)
            save_manifest(manifest, self._folder)
        self._manifest = manifest

    def close(self) -> None:
        """Close all files and note their checksums; the status in the manifest stays as it is."""
        try:
            self._series.close()
            with suppress(RheotwinError):  # a record that could not be written has said so
                self.update()
        finally:
            self._probes.close()
            if self._particles is not None:
                self._particles.close()
            self._lock.release()

    def __enter__(self) -> RecordWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
