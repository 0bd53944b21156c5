"""The manifest: everything about a run except its numbers over time.

It is written at the start, at each change of status and at the end, so a folder always says what
it holds, even when the run was killed.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from rheotwin import __version__, same_bits
from rheotwin.errors import RheotwinError, visible
from rheotwin.fields import CELL_FIELDS, DEFAULT_FIELDS, FIELDS, PARTICLE_FIELDS
from rheotwin.record import atomic
from rheotwin.record.stored import digest_of
from rheotwin.texts import read_json

SCHEMA_VERSION = 1
"""Version of the record layout; a reader refuses any other."""

MANIFEST_NAME = "manifest.json"

Status = Literal["running", "complete", "interrupted", "diverged", "failed"]
SeriesFormat = Literal["pvd", "vtkhdf"]
RECORDED_PACKAGES = (
    "rheotwin",
    "numpy",
    "scipy",
    "numba",
    "scikit-fem",
    "meshio",
    "pyvista",
    "vtk",
    "pydantic",
    "h5py",
    "pypardiso",
)
"""Packages whose versions may change a result or a file; those absent are left out."""


def _plain(value: Any) -> Any:
    """Replace numpy scalars and arrays and tuples by what JSON knows, at any depth."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _shown(value: Any) -> Any:
    """Return JSON with nothing in its words that a terminal would obey."""
    if isinstance(value, dict):
        return {visible(key): _shown(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_shown(item) for item in value]
    return visible(value) if isinstance(value, str) else value


PlainDict = Annotated[dict[str, Any], BeforeValidator(_plain)]


class _Part(BaseModel):
    """Base of all parts: frozen, no unknown keys, infinite numbers survive JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")


class SolverInfo(_Part):
    """The solver that ran and the options it ran with."""

    name: str
    version: str = ""
    options: PlainDict = {}


class BodyInfo(_Part):
    """One body of the mesh: its name, cell kind and sizes."""

    name: str
    cell: str
    points: int
    cells: int


class MeshInfo(_Part):
    """The mesh all solvers share; two records with equal hash can be compared node by node."""

    hash: str
    points: int
    cells: int
    bodies: tuple[BodyInfo, ...] = ()


class StepInfo(_Part):
    """Time step used [s], largest stable step [s] (None: no bound), number of steps taken."""

    size: float | None = None
    stable: float | None = None
    count: int = 0


class FieldInfo(_Part):
    """One recorded field: unit [SI], number of components, meaning, and whether cells have it instead of nodes."""

    unit: str
    components: int = Field(ge=1)
    description: str = ""
    on_cells: bool = False


class EnvironmentInfo(_Part):
    """Interpreter, platform, processor, package versions and threads of the run; whether `--reproducible` was on."""

    python: str
    platform: str
    processor: str = ""
    reproducible: bool = False
    packages: dict[str, str] = {}
    threads: int = 1


def describe_fields(names: tuple[str, ...] = DEFAULT_FIELDS) -> dict[str, FieldInfo]:
    """Return the manifest's entry for fields of the common vocabulary (rheotwin.fields)."""
    return {
        name: FieldInfo(
            unit=spec.unit, components=spec.components, description=spec.description, on_cells=name in CELL_FIELDS
        )
        for name, spec in ((name, FIELDS[name]) for name in names)
    }


def describe_particles() -> dict[str, FieldInfo]:
    """Return the manifest's entry for the particles of bodies that may split."""
    return {
        name: FieldInfo(unit=spec.unit, components=spec.components, description=spec.description)
        for name, spec in PARTICLE_FIELDS.items()
    }


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


class Manifest(_Part):
    """What was run, with what, on what, how it ended and what it cost.

    `scene` is the scene as run, in SI; `timings` are seconds [s] per part; `probes` maps each
    column of the probe table to its unit; `particles` names the fields of particles that have a series of
    their own; `created` is an ISO time in UTC.
    """

    schema_version: int = SCHEMA_VERSION
    rheotwin_version: str = __version__
    status: Status = "running"
    message: str = ""
    created: str = Field(default_factory=_now)
    title: str = ""
    scene: PlainDict = {}
    case: str | None = None
    solver: SolverInfo
    mesh: MeshInfo
    seeds: tuple[int, ...] = ()
    step: StepInfo = StepInfo()
    statistics: PlainDict = {}
    timings: dict[str, float] = {}
    environment: EnvironmentInfo | None = None
    fields: dict[str, FieldInfo] = Field(default_factory=describe_fields)
    particles: dict[str, FieldInfo] = {}
    probes: dict[str, str] = {}
    format: SeriesFormat = "pvd"
    files: dict[str, str] = {}
    """Checksums of the record's files; of one that grows, that of its first bytes."""
    checksum: str = ""
    """Checksum of this manifest without it."""

    def changed(self, **changes: Any) -> Manifest:
        """Return a checked copy with some entries replaced."""
        return Manifest(**{**dict(self), **changes})


def save_manifest(manifest: Manifest, folder: Path) -> Path:
    """Write `manifest.json` into the folder atomically; return its path."""
    path = folder / MANIFEST_NAME
    text = manifest.model_copy(update={"checksum": ""}).model_dump_json(indent=2) + "\n"
    atomic.write_text(path, text.removesuffix(_UNSIGNED) + _SIGNED.format(digest_of(text.encode())))
    return path


_SIGNED = '"checksum": "{}"\n}}\n'
_UNSIGNED = _SIGNED.format("")


def _check_sum(path: Path, text: str) -> None:
    """Refuse a manifest that is not as it was written; those of earlier versions say nothing of it."""
    head, there, tail = text.rpartition(_UNSIGNED[:13])
    found = tail.removesuffix('"\n}\n')
    if there and digest_of((head + _UNSIGNED).encode()) != found:
        raise RheotwinError(
            f"{path}: it is damaged or was changed by hand: it is not as it was written (its own checksum differs); "
            "restore it, or run the scene again"
        )


def load_manifest(folder: Path) -> Manifest:
    """Read the manifest of a record, or say in one sentence why this is not one."""
    path = folder / MANIFEST_NAME
    data, text = _read_json(folder, path)
    found = data.get("schema_version")
    if found != SCHEMA_VERSION:
        raise RheotwinError(
            f"{path}: the record has schema version {found!r}, this Rheotwin ({__version__}) reads "
            f"{SCHEMA_VERSION}; read it with the version that wrote it "
            f"({data.get('rheotwin_version', 'unknown')})"
        )
    _check_sum(path, text)
    try:
        shown = {name: value if name == "scene" else _shown(value) for name, value in data.items()}
        return Manifest.model_validate(shown).model_copy(update={"checksum": ""})
    except ValidationError as error:
        fault = error.errors()[0]
        place = ".".join(str(part) for part in fault["loc"])
        raise RheotwinError(f"{path}: {place}: {fault['msg']}; run the scene again") from error


def _read_json(folder: Path, path: Path) -> tuple[dict[str, Any], str]:
    try:
        if not folder.exists():
            raise RheotwinError(f"{folder}: there is no such folder; give the folder of a record")
        text = path.read_text(encoding="utf-8")
        data = read_json(text)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise RheotwinError(
            f"{folder}: not a record ({MANIFEST_NAME} is missing); give the folder of a record"
        ) from error
    except OSError as error:
        raise RheotwinError(f"could not read {path}: {atomic.why(error)}; make it readable") from error
    except ValueError as error:
        raise RheotwinError(f"{path}: not valid JSON ({error}); run the scene again") from error
    if not isinstance(data, dict):
        raise RheotwinError(f"{path}: not a manifest (a JSON object is expected); run the scene again")
    return data, text


def current_environment(*, threads: int | None = None) -> EnvironmentInfo:
    """Describe this process; `threads` defaults to the processors it may use."""
    packages = {}
    for name in RECORDED_PACKAGES:
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            continue
    return EnvironmentInfo(
        python=platform.python_version(),
        platform=platform.platform(),
        processor=same_bits.processor(),
        reproducible=same_bits.ON,
        packages=packages,
        threads=threads if threads is not None else _available_processors(),
    )


def _available_processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
