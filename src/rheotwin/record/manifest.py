"""The manifest: everything about a run except its numbers over time.

It is written at the start, at each change of status and at the end, so a folder always says what
it holds, even when the run was killed.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from rheotwin import __version__
from rheotwin.errors import RheotwinError
from rheotwin.fields import CELL_FIELDS, DEFAULT_FIELDS, FIELDS, PARTICLE_FIELDS
from rheotwin.record import atomic

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
    """Interpreter, platform, package versions and threads of the run."""

    python: str
    platform: str
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

    def changed(self, **changes: Any) -> Manifest:
        """Return a checked copy with some entries replaced."""
        return Manifest(**{**dict(self), **changes})


def save_manifest(manifest: Manifest, folder: Path) -> Path:
    """Write `manifest.json` into the folder atomically; return its path."""
    path = folder / MANIFEST_NAME
    atomic.write_text(path, manifest.model_dump_json(indent=2) + "\n")
    return path


def load_manifest(folder: Path) -> Manifest:
    """Read the manifest of a record, or say in one sentence why this is not one."""
    path = folder / MANIFEST_NAME
    data = _read_json(folder, path)
    found = data.get("schema_version")
    if found != SCHEMA_VERSION:
        raise RheotwinError(
            f"{path}: the record has schema version {found!r}, this Rheotwin ({__version__}) reads "
            f"{SCHEMA_VERSION}; read it with the version that wrote it "
            f"({data.get('rheotwin_version', 'unknown')})"
        )
    try:
        return Manifest.model_validate(data)
    except ValidationError as error:
        fault = error.errors()[0]
        place = ".".join(str(part) for part in fault["loc"])
        raise RheotwinError(f"{path}: {place}: {fault['msg']}; run the scene again") from error


def _read_json(folder: Path, path: Path) -> dict[str, Any]:
    if not folder.exists():
        raise RheotwinError(f"{folder}: there is no such folder; give the folder of a record")
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
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
    return data


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
        packages=packages,
        threads=threads if threads is not None else _available_processors(),
    )


def _available_processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
