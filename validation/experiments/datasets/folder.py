"""Where measured data are, and how their tables are read: data stay outside of the package."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rheotwin.errors import RheotwinError

Array = NDArray[np.float64]

VARIABLE = "RHEOTWIN_DATA"
"""Environment variable that names the folder of all data sets."""
DEFAULT = Path(__file__).resolve().parents[3].parent / "shared" / "data"
"""Beside a checkout of the repository."""


def data_set(name: str) -> Path:
    """Return the folder of a data set; a missing one is one sentence with the remedy."""
    folder = Path(os.environ.get(VARIABLE) or DEFAULT) / name
    if not folder.is_dir():
        raise RheotwinError(
            f"measured data '{name}' are not there; set {VARIABLE} to the folder that holds {name}/ "
            "(docs/experiments.md says where it comes from)"
        )
    return folder


def missing(name: str) -> str:
    """Return why a data set cannot be read, nothing if it can: the reason for which a test is skipped."""
    try:
        data_set(name)
    except RheotwinError as error:
        return str(error)
    return ""


def numbers(path: Path, names: Sequence[str], *, skip: int = 0) -> Array:
    """Return the rows (n, columns) of a CSV file whose header, after `skip` lines, begins with these names."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()[skip:]
    except OSError as error:
        raise RheotwinError(f"{path.name}: cannot be read ({error.strerror}); get the data set again") from error
    found = [cell.strip() for cell in lines[0].split(",")] if lines else []
    if found[: len(names)] != list(names):
        raise RheotwinError(f"{path.name}: its columns are {', '.join(found)}, not {', '.join(names)}; get it again")
    try:
        rows = np.loadtxt(lines[1:], delimiter=",", ndmin=2, usecols=range(len(names)))
    except ValueError as error:
        raise RheotwinError(f"{path.name}: {error}; get the data set again") from error
    if not len(rows) or not np.isfinite(rows).all():
        raise RheotwinError(f"{path.name}: it has no rows, or entries that are not finite; get the data set again")
    return np.asarray(rows)


def choice(name: str, known: Sequence[str], what: str) -> str:
    """Return a name that exists, or raise with those that do."""
    if name not in known:
        raise RheotwinError(f"there is no {what} '{name}' in the data set; choose from {', '.join(known)}")
    return name
