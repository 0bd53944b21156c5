"""The probe table: one CSV row per output time, appended and flushed row by row.

Numbers are written with the fewest digits that read back bit for bit.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError, table_cell
from rheotwin.record import atomic
from rheotwin.record.grid import is_repeated, time_tolerance
from rheotwin.record.stored import Grown, read_checked

TIME_COLUMN = "time"
TIME_UNIT = "s"


@dataclass(frozen=True)
class ProbeTable:
    """The probes of a record: values over time by column name, and their units."""

    values: dict[str, Array]
    units: dict[str, str]


class ProbeWriter:
    """A probe table open for appending; the columns never change."""

    def __init__(self, path: Path, columns: Sequence[str], last_time: float | None) -> None:
        self._columns = tuple(columns)
        self._last_time = last_time
        self.checksum = Grown(path.read_bytes())
        self._file = io.FileIO(path, "r+")

    @classmethod
    def create(cls, path: Path, units: Mapping[str, str]) -> ProbeWriter:
        """Start a table with the header "time [s],name [unit],..."."""
        units = {TIME_COLUMN: TIME_UNIT, **{name: unit for name, unit in units.items() if name != TIME_COLUMN}}
        atomic.write_text(path, _row([table_cell(f"{name} [{unit}]") for name, unit in units.items()]))
        return cls(path, tuple(units)[1:], None)

    @classmethod
    def resume(cls, path: Path, *, time: float) -> ProbeWriter:
        """Continue a table after dropping the rows later than `time` [s] and any cut-off row."""
        rows = _complete_rows(path)
        table = _parse(path, rows)
        times = table.values[TIME_COLUMN]
        kept = np.flatnonzero(times <= time + time_tolerance(time))
        atomic.write_text(path, "".join([rows[0], *(rows[1 + index] for index in kept)]))
        return cls(path, tuple(table.units)[1:], float(times[kept[-1]]) if kept.size else None)

    def write(self, time: float, values: Mapping[str, float]) -> None:
        """Append the row of `time` [s]; a time already written is ignored."""
        if is_repeated(time, self._last_time):
            return
        if values.keys() - {TIME_COLUMN} != set(self._columns):
            odd = ", ".join(sorted((values.keys() - {TIME_COLUMN}) ^ set(self._columns)))
            raise RheotwinError(f"probes: the row at t = {time:.6g} s does not match the manifest in: {odd}")
        numbers = [time, *(values[name] for name in self._columns)]
        line = _row([repr(float(number)) for number in numbers]).encode()
        atomic.extend(self._file, line)
        self.checksum.add(line)
        self._last_time = time

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_probes(path: Path, checksum: str | None = None) -> ProbeTable:
    """Read a table; a last row that was cut off is left out."""
    return _parse(path, _complete_rows(path, checksum))


def _row(cells: Sequence[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(cells)
    return line.getvalue()


def _complete_rows(path: Path, checksum: str | None = None) -> list[str]:
    data = read_checked(path, checksum, "the probe table")
    try:
        text = data.decode()
    except ValueError as error:
        raise RheotwinError(f"{path}: the probe table is damaged ({error}); run the scene again") from error
    return [line for line in text.splitlines(keepends=True) if line.endswith("\n")]


def _parse(path: Path, rows: Sequence[str]) -> ProbeTable:
    try:
        header = next(csv.reader(rows[:1]))
        units = dict(_name_and_unit(cell) for cell in header)
        numbers = np.array([[float(cell) for cell in row.split(",")] for row in rows[1:]])
        columns = numbers.reshape(-1, len(header)).T if numbers.size else np.empty((len(header), 0))
        values = {name: column.copy() for name, column in zip(units, columns, strict=True)}
        if not (np.diff(values[TIME_COLUMN]) > 0.0).all() or not np.isfinite(values[TIME_COLUMN]).all():
            raise ValueError("its times do not increase")
    except (ValueError, LookupError, StopIteration, csv.Error) as error:
        raise RheotwinError(f"{path}: the probe table is damaged ({error}); run the scene again") from error
    return ProbeTable(values=values, units=units)


def _name_and_unit(cell: str) -> tuple[str, str]:
    name, bracket, unit = cell.removeprefix("'").rpartition(" [")
    if not bracket or not unit.endswith("]"):
        raise ValueError(f"column '{cell}' has no unit")
    return name, unit[:-1]
