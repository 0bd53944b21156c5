"""Baselines: a scene, a solver, values with tolerances and every blessing they have had, one TOML file each.

Reading refuses faults with one sentence, writing keeps the whole history.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from rheotwin.errors import RheotwinError
from rheotwin.record.atomic import write_text
from rheotwin.scene.base import Line
from rheotwin.scene.write import toml
from rheotwin.texts import read_toml

SCHEMA_VERSION = 1
"""Version of the layout of baseline files."""


@dataclass(frozen=True)
class Value:
    """One blessed number. Spreads are the largest differences seen, in its unit; None where there is no such option."""

    name: str
    value: float
    tolerance: float = 0.0
    unit: str = ""
    bound: Literal["absolute", "at most"] = "absolute"
    """"at most" for numbers that are zero but for rounding."""
    spread_repeats: float = 0.0
    spread_half_step: float | None = None
    spread_threads: float | None = None


@dataclass(frozen=True)
class Blessing:
    """When, why and with which version values were written, and what they were."""

    date: str
    reason: str
    rheotwin_version: str
    values: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Baseline:
    """A run that is to give the same numbers again; without values it waits for its first blessing."""

    id: str
    title: str
    path: Path
    scene: str
    """File of the scene, relative to the baseline's folder."""
    solver: str
    case: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    quick: bool = True
    values: tuple[Value, ...] = ()
    history: tuple[Blessing, ...] = ()

    @property
    def scene_path(self) -> Path:
        """Where the scene file is."""
        return self.path.parent / self.scene


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")
    title: Line
    scene: str
    solver: Line
    case: Line | None = None
    options: dict[str, Any] = {}
    quick: bool = True
    values: list[Value] = []
    history: list[Blessing] = []


def load_baselines(folder: Path) -> dict[str, Baseline]:
    """Return the baselines of a folder by id, which is the name of the file."""
    if not folder.is_dir():
        raise RheotwinError(f"--baselines {folder}: there is no such folder; name one that holds baseline files")
    return {path.stem: load_baseline(path) for path in sorted(folder.glob("*.toml"))}


def load_baseline(path: Path) -> Baseline:
    """Read one file."""
    try:
        data: dict[str, Any] = read_toml(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RheotwinError(f"{path}: could not be read as TOML ({error}); mend the file") from error
    found = data.pop("schema", None)
    if found != SCHEMA_VERSION:
        raise RheotwinError(
            f"{path}: is a baseline of schema {found} and this version reads {SCHEMA_VERSION}; "
            f"set schema = {SCHEMA_VERSION}, delete its values and bless it anew"
        )
    try:
        file = _File.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise RheotwinError(f"{path}: {place}: {first['msg'].lower()}") from None
    for value in file.values:
        if not (math.isfinite(value.value) and math.isfinite(value.tolerance) and value.tolerance >= 0.0):
            raise RheotwinError(f"{path}: {value.name!r} is not finite or has a negative tolerance; bless it anew")
    lists = {"values": tuple(file.values), "history": tuple(file.history)}
    return Baseline(id=path.stem, path=path, **dict(file) | lists)


def save_baseline(baseline: Baseline) -> None:
    """Write a baseline to its file, with the comments at its top."""
    said = baseline.path.read_text(encoding="utf-8").splitlines() if baseline.path.exists() else []
    comments = list(takewhile(lambda line: line.startswith("#"), said))
    plain: dict[str, Any] = {"schema": SCHEMA_VERSION, "title": baseline.title, "scene": baseline.scene}
    plain |= {"solver": baseline.solver} | ({"case": baseline.case} if baseline.case else {})
    plain |= {"quick": baseline.quick}
    lines = [*comments, *(f"{name} = {toml(value)}" for name, value in plain.items())]
    if baseline.options:
        lines += ["", "[options]", *(f"{name} = {toml(value)}" for name, value in baseline.options.items())]
    for table, items in (("values", baseline.values), ("history", baseline.history)):
        for item in items:
            pairs = [(name, value) for name, value in asdict(item).items() if value is not None]
            lines += ["", f"[[{table}]]", *(f"{name} = {toml(value)}" for name, value in pairs)]
    try:
        write_text(baseline.path, "\n".join(lines) + "\n")
    except OSError as error:
        raise RheotwinError(
            f"{baseline.path}: could not be written ({error.strerror}); name a folder with --baselines that can be"
        ) from error


def digest(folder: Path) -> str:
    """Return what identifies the content of a folder of baselines and their scenes."""
    found = sha256()
    for path in sorted(folder.rglob("*.toml")):
        found.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes())
    return found.hexdigest()
