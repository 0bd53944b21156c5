"""Baselines as TOML files, one each; reading refuses faults with one sentence, writing keeps the whole history."""

from __future__ import annotations

import json
import math
import tomllib
from dataclasses import asdict
from hashlib import sha256
from itertools import takewhile
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from rheotwin.errors import RheotwinError
from rheotwin.record.atomic import write_text
from rheotwin.validation.baselines.baseline import SCHEMA_VERSION, Baseline, Blessing, Value


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")
    title: str
    scene: str
    solver: str
    case: str | None = None
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
        data: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
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
    return Baseline(
        path.stem,
        file.title,
        path,
        file.scene,
        file.solver,
        file.case,
        file.options,
        file.quick,
        tuple(file.values),
        tuple(file.history),
    )


def save_baseline(baseline: Baseline) -> None:
    """Write a baseline to its file, with the comments at its top."""
    said = baseline.path.read_text(encoding="utf-8").splitlines() if baseline.path.exists() else []
    comments = list(takewhile(lambda line: line.startswith("#"), said))
    plain: dict[str, Any] = {"schema": SCHEMA_VERSION, "title": baseline.title, "scene": baseline.scene}
    plain |= {"solver": baseline.solver} | ({"case": baseline.case} if baseline.case else {})
    plain |= {"quick": baseline.quick}
    lines = [*comments, *(f"{name} = {_toml(value)}" for name, value in plain.items())]
    if baseline.options:
        lines += ["", "[options]", *(f"{name} = {_toml(value)}" for name, value in baseline.options.items())]
    for table, items in (("values", baseline.values), ("history", baseline.history)):
        for item in items:
            pairs = [(name, value) for name, value in asdict(item).items() if value is not None]
            lines += ["", f"[[{table}]]", *(f"{name} = {_toml(value)}" for name, value in pairs)]
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


def _toml(value: Any) -> str:
    """Return a value of a baseline as TOML; JSON and TOML agree on strings, truth and finite numbers."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(name)} = {_toml(item)}" for name, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    return repr(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)
