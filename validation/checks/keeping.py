"""Results as they come, one file each, so that an interrupted validation can be gone on with."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from rheotwin import __version__
from rheotwin.record.atomic import write_text
from rheotwin.validation.checks.outcome import Result
from rheotwin.validation.references import catalogue

CHECKS = "checks"
"""Folder of the results inside the folder of a validation."""
_RESULT: TypeAdapter[Result] = TypeAdapter(Result)


def key(baselines: str = "") -> dict[str, str]:
    """Return what a kept result must agree in: version of the program, content of the catalogue and of baselines."""
    return {"rheotwin_version": __version__, "catalogue": catalogue().digest, "baselines": baselines}


def keep(folder: Path, result: Result, agreed: dict[str, str]) -> None:
    """Write one result; the file is there whole or not at all."""
    place = folder / CHECKS
    place.mkdir(parents=True, exist_ok=True)
    write_text(place / f"{result.name}.json", json.dumps(agreed | {"result": asdict(result)}, indent=1) + "\n")


def kept(folder: Path, agreed: dict[str, str]) -> dict[str, Result]:
    """Return the results that still stand, by name; what could not run, or not yet, is tried again."""
    found = {}
    for path in sorted((folder / CHECKS).glob("*.json")):
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            result = _RESULT.validate_python(data.pop("result"))
        except (OSError, ValueError, KeyError, AttributeError, ValidationError):
            continue  # half a file of a machine that went down: its check is run again
        if data == agreed and result.status not in ("could not run", "not yet"):
            found[result.name] = result
    return found


def clear(folder: Path) -> None:
    """Remove the results of an earlier validation."""
    for path in (folder / CHECKS).glob("*.json"):
        path.unlink()
