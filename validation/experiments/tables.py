"""Tables of a record: CSV with named columns, checked for what is missing, not a number or not in order."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rheotwin.errors import RheotwinError, nearest_name
from rheotwin.validation.experiments.units import RecordUnits

Array = NDArray[np.float64]

KINDS: dict[str, str] = {
    "t": "time",
    **dict.fromkeys(("x", "y", "z", "x0", "y0", "z0"), "length"),
    **dict.fromkeys(("rx", "ry", "rz"), "angle"),
    **dict.fromkeys(("fx", "fy", "fz"), "force"),
    **dict.fromkeys(("mx", "my", "mz"), "moment"),
    **dict.fromkeys(("nx", "ny", "nz", "camera"), "number"),
    "v": "volume",
}
"""What the columns of all tables are."""


def read_table(
    path: Path,
    units: RecordUnits,
    *,
    required: Sequence[str],
    optional: Sequence[str] = (),
    kinds: Mapping[str, str] = KINDS,
) -> dict[str, Array]:
    """Return the columns of a CSV file in SI; a header may name units ("x [mm]"), which must be those of the record.

    Columns beyond `required` and `optional`, missing ones, and entries that are no finite numbers are refused.
    """
    header, rows = _split(path)
    names = [_checked_name(path, cell, units, kinds) for cell in header]
    _check_columns(path, names, required, optional)
    numbers = _numbers(path, rows, names)
    return {name: numbers[:, column] * units.factor(kinds[name]) for column, name in enumerate(names)}


def check_increasing(path: Path, times: Array) -> None:
    """Refuse times [s] that do not increase, with the row where they do not."""
    back = np.flatnonzero(np.diff(times) <= 0.0)
    if len(back):
        row = int(back[0]) + 1
        raise RheotwinError(
            f"{path}: row {row + 1}: its time {times[row]:.6g} s is not after {times[row - 1]:.6g} s of the row before "
            "it; sort the rows by time and drop repeated ones"
        )


def columns(table: Mapping[str, Array], names: Sequence[str]) -> Array | None:
    """Return columns side by side (rows, n), None if the table has none of them, absent ones as zeros."""
    if not any(name in table for name in names):
        return None
    rows = len(next(iter(table.values())))
    return np.stack([table.get(name, np.zeros(rows)) for name in names], axis=1)


def _split(path: Path) -> tuple[list[str], list[list[str]]]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise RheotwinError(f"{path}: there is no such file; put it there or take it out of record.toml") from error
    except (OSError, UnicodeDecodeError) as error:
        raise RheotwinError(f"{path}: cannot be read ({error}); make it a readable UTF-8 file") from error
    rows = [row for row in csv.reader(text.splitlines()) if row]
    if not rows:
        raise RheotwinError(f"{path}: the table is empty; write a header and at least one row")
    if len(rows) == 1:
        raise RheotwinError(f"{path}: the table has a header but no rows; add at least one")
    return [cell.strip() for cell in rows[0]], rows[1:]


def _checked_name(path: Path, cell: str, units: RecordUnits, kinds: Mapping[str, str]) -> str:
    """Return the name of a column; a unit beside it must be the one that record.toml names."""
    name, bracket, unit = cell.partition("[")
    name, unit = name.strip(), unit.strip().removesuffix("]").strip()
    kind = kinds.get(name)
    if bracket and kind is not None and unit != units.name(kind):
        raise RheotwinError(
            f"{path}: column '{name}' is in {unit} but [units] of record.toml says {units.name(kind)}; make them agree"
        )
    return name


def _check_columns(path: Path, names: Sequence[str], required: Sequence[str], optional: Sequence[str]) -> None:
    missing = [name for name in required if name not in names]
    if missing:
        raise RheotwinError(
            f"{path}: the column{'s' if len(missing) > 1 else ''} {', '.join(missing)} "
            f"{'are' if len(missing) > 1 else 'is'} missing; its header must name {', '.join(required)}"
        )
    known = [*required, *optional]
    for name in names:
        if name not in known:
            raise RheotwinError(
                f"{path}: unknown column '{name}'{nearest_name(name, known)}; known here: {', '.join(known)}"
            )
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise RheotwinError(f"{path}: the column '{twice[0]}' occurs twice; leave one of them out")


def _numbers(path: Path, rows: Sequence[Sequence[str]], names: Sequence[str]) -> Array:
    """Return the rows as numbers, or say which entry is none."""
    for place, row in enumerate(rows, start=1):
        if len(row) != len(names):
            raise RheotwinError(
                f"{path}: row {place} has {len(row)} entries where the header names {len(names)}; correct the row"
            )
    try:
        numbers = np.array(rows, dtype=float)
    except ValueError:
        place, name, cell = next(
            (place, name, cell)
            for place, row in enumerate(rows, start=1)
            for name, cell in zip(names, row, strict=True)
            if not _is_number(cell)
        )
        raise RheotwinError(f"{path}: row {place}, column '{name}': {cell!r} is not a number; correct it") from None
    bad = np.argwhere(~np.isfinite(numbers))
    if len(bad):
        line, column = (int(number) for number in bad[0])
        raise RheotwinError(
            f"{path}: row {line + 1}, column '{names[column]}': {rows[line][column].strip()} is not a finite number; "
            "leave the row out"
        )
    return numbers


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
