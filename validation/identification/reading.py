"""A record from a CSV file or an experiment's folder: columns by their usual names, units from the header.

`time_s`, `force [N]`, `Load (kN)` and `displacement / mm` name their units themselves; other headers are told by
`columns` (time=t) and `units` (force=N). What is wrong is one sentence with its row and what to do.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError, nearest_name
from rheotwin.scene.units import Quantity, parsed_unit
from rheotwin.validation.identification.faults import check_rows, check_test
from rheotwin.validation.identification.record import Drive, Geometry, OscillationRecord, Phase, TimeRecord
from rheotwin.validation.identification.straight import straightened

NAMES: dict[str, tuple[str, ...]] = {
    "time": ("time", "t", "test time", "elapsed time", "zeit"),
    "displacement": (
        "displacement",
        "x",
        "d",
        "extension",
        "indentation",
        "position",
        "compression",
        "travel",
        "stroke",
        "weg",
    ),
    "strain": ("strain", "eps", "epsilon", "nominal strain", "engineering strain"),
    "shear": ("shear", "gamma", "shear strain"),
    "force": ("force", "load", "f", "standard force", "kraft"),
    "stress": ("stress", "sigma", "nominal stress", "engineering stress", "shear stress"),
    "frequency": ("frequency", "freq", "omega", "angular frequency"),
    "storage": ("storage", "storage modulus", "e'", "g'"),
    "loss": ("loss", "loss modulus", "e''", "g''", 'e"', 'g"'),
    "temperature": ("temperature", "temp"),
}
"""Usual names of columns."""
_SI = {
    "time": "s", "displacement": "m", "force": "N", "stress": "Pa", "storage": "Pa", "loss": "Pa", "frequency": "1/s"
}  # fmt: skip
_PLAIN = {"strain": 1.0, "shear": 1.0, "temperature": 1.0}
"""What needs no unit: parts of one, degrees Celsius."""
_OTHER = {
    "strain": {"1": 1.0, "-": 1.0, "%": 0.01},
    "shear": {"1": 1.0, "-": 1.0, "%": 0.01},
    "temperature": {"C": 1.0, "°C": 1.0, "degC": 1.0},
    "frequency": {"Hz": 2.0 * math.pi, "rad/s": 1.0, "1/s": 1.0},
}


def read_record(
    path: Path | str,
    *,
    columns: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
    geometry: Geometry | None = None,
    drive: str = "displacement",
    mass: float = 0.0,
    ramp: float = 0.0,
    flip_force: bool = False,
    tare: bool = False,
    straight: bool = False,
) -> TimeRecord | OscillationRecord:
    """Read a record. `columns` and `units` say what headers do not.

    `drive` is what was prescribed, until which time [s]: "displacement", "force", "displacement:96.5,free" with `mass`
    [kg] of the end that is let go. `ramp` [s] before the first row the piece was at rest. `tare`: the first row is 0.
    `straight`: what was prescribed went straight from corner to corner, and its noise is taken off.
    """
    source = Path(path)
    if source.is_dir():
        record = _of_experiment(source, geometry)
    else:
        table = read_columns(source, columns or {}, units or {})
        if "frequency" in table:
            return _oscillation(source, table, geometry)
        record = _of_table(source, table, geometry)
    if flip_force:
        record = replace(record, force=-record.force)
    if tare:
        record = replace(
            record, force=record.force - record.force[0], displacement=record.displacement - record.displacement[0]
        )
    check_rows(source, record)
    if ramp > 0.0:
        record = replace(
            record,
            time=np.concatenate([[record.time[0] - ramp], record.time]),
            displacement=np.concatenate([[0.0], record.displacement]),
            force=np.concatenate([[0.0], record.force]),
        )
    record = replace(record, phases=phases_of(drive, record.time), mass=mass)
    check_test(source, record)
    return straightened(record) if straight else record


def read_columns(path: Path, columns: Mapping[str, str], units: Mapping[str, str]) -> dict[str, Array]:
    """Return the columns that have a meaning, in SI."""
    header, rows = _split(path)
    found = _meanings(path, header, columns)
    bare = [kind for kind, (_, unit) in found.items() if kind not in _PLAIN and kind not in units and unit is None]
    if bare:
        names = " and ".join(f"'{header[found[kind][0]]}'" for kind in bare)
        said = ",".join(f"{kind}={_SI[kind].replace('1/s', 'Hz')}" for kind in bare)
        raise RheotwinError(
            f"{path}: column{'s' if len(bare) > 1 else ''} {names} name{'s' if len(bare) == 1 else ''} no unit; "
            f"say it with --units {said}"
        )
    numbers = {}
    for kind, (place, unit) in found.items():
        factor = _factor(path, kind, header[place], units.get(kind, unit))
        numbers[kind] = factor * _numbers(path, header[place], [row[place : place + 1] for row in rows])
    unknown = [kind for kind in units if kind not in NAMES]
    if unknown:
        raise RheotwinError(
            f"--units {unknown[0]}: no such quantity{nearest_name(unknown[0], NAMES)}; choose from {', '.join(NAMES)}"
        )
    return numbers


def _split(path: Path) -> tuple[list[str], list[list[str]]]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise RheotwinError(f"{path}: cannot be read ({error}); give a readable CSV file") from error
    try:
        lines = data.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:  # as testing machines write the sign of degrees
        lines = data.decode("latin-1").splitlines()
    lines = [line for line in lines if line.strip() and not line.startswith("#")]
    if not lines:
        raise RheotwinError(f"{path}: it is empty; write a header and rows")
    between = max(",;\t", key=lines[0].count)
    if between != ",":
        lines = [line.replace(",", ".") for line in lines]
    header, *rows = csv.reader(lines, delimiter=between)
    return [cell.strip() for cell in header], rows


def _meanings(path: Path, header: list[str], columns: Mapping[str, str]) -> dict[str, tuple[int, str | None]]:
    """Return place and unit of every quantity that a column is."""
    found: dict[str, tuple[int, str | None]] = {}
    for kind, name in columns.items():
        if kind not in NAMES:
            raise RheotwinError(
                f"--columns {kind}: no such quantity{nearest_name(kind, NAMES)}; choose from {', '.join(NAMES)}"
            )
        plain = [_without_unit(cell)[0] for cell in header]
        place = next((i for i, cell in enumerate(header) if name in (cell, plain[i])), None)
        if place is None:
            raise RheotwinError(f"{path}: it has no column '{name}'; its columns are {', '.join(header)}")
        found[kind] = place, _without_unit(header[place])[1]
    for place, cell in enumerate(header):
        for kind, unit in _known(cell):
            if kind in found and kind not in columns and _is_unit(kind, unit):
                raise RheotwinError(
                    f"{path}: columns '{header[found[kind][0]]}' and '{cell}' are both known as {kind}; "
                    f"say which with --columns {kind}=NAME"
                )
            found.setdefault(kind, (place, unit))
    needed = ("frequency", "storage", "loss") if "frequency" in found else ("time",)
    lacking = [kind for kind in needed if kind not in found]
    if "frequency" not in found:
        if not found.keys() & {"displacement", "strain", "shear"}:
            lacking.append("displacement")
        if not found.keys() & {"force", "stress"}:
            lacking.append("force")
    if lacking:
        raise RheotwinError(
            f"{path}: no column is known as {lacking[0]}; its columns are {', '.join(header)}; "
            f"say which with --columns {lacking[0]}=NAME"
        )
    return found


def _without_unit(cell: str) -> tuple[str, str | None]:
    """Return name and unit of a header: "Load (N)", "t [s]", "d / mm"."""
    match = re.fullmatch(r"(.*?)\s*(?:\[(.*)\]|\((.*)\)|\s/\s*(.*))", cell)
    if match is None:
        return cell, None
    return match.group(1).strip(), next(part for part in match.groups()[1:] if part is not None).strip()


def _known(cell: str) -> list[tuple[str, str | None]]:
    """Return what a header means, with its unit, which `force_N` has behind the longest known name."""
    name, unit = _without_unit(cell)
    words = re.split(r"[_\s]+", name)
    for many in range(len(words), 0, -1):
        start, rest = " ".join(words[:many]).lower(), words[many:]
        if rest and unit is not None:
            continue
        for kind, names in NAMES.items():
            if start in names:
                return [(kind, "/".join(rest) if rest else unit)]
    return []


def _is_unit(kind: str, unit: str | None) -> bool:
    try:
        return unit is None or _factor(Path(), kind, "", unit) > 0.0
    except RheotwinError:  # as T_C, which is no time
        return False


def _factor(path: Path, kind: str, header: str, unit: str | None) -> float:
    """Return the size of a unit in SI."""
    if unit is None:
        return _PLAIN[kind]
    if unit in _OTHER.get(kind, {}):
        return _OTHER[kind][unit]
    if kind in _SI:
        try:
            size, dimensions = parsed_unit(unit)
            if dimensions == parsed_unit(_SI[kind])[1] if _SI[kind] != "1/s" else dimensions == (0, 0, -1, 0):
                return size
        except ValueError:
            pass
    known = ", ".join(_OTHER.get(kind, {})) or {"s": "s, ms, min, h", "m": "m, cm, mm, um", "N": "N, mN, kN"}.get(
        _SI[kind], "Pa, kPa, MPa, GPa"
    )
    raise RheotwinError(
        f"{path}: column '{header}': '{unit}' is no unit of {kind}; say one with --units {kind}=..: {known}"
    )


def _numbers(path: Path, name: str, cells: list[list[str]]) -> Array:
    found = np.empty(len(cells))
    for row, cell in enumerate(cells):
        try:
            found[row] = float(cell[0])
        except (ValueError, IndexError):
            found[row] = np.nan
        if not np.isfinite(found[row]):
            said = cell[0] if cell else ""
            raise RheotwinError(
                f"{path}: row {row + 1}: '{said}' in column '{name}' is no finite number; correct it or drop the row"
            )
    return found


def _of_table(path: Path, table: dict[str, Array], geometry: Geometry | None) -> TimeRecord:
    """Return a record of displacement and force, or of strain and stress if they are there and no geometry is given."""
    strain = "shear" if "shear" in table else "strain"
    specific = strain in table and "stress" in table
    if specific and (geometry is None or "displacement" not in table or "force" not in table):
        found = Geometry(
            "shear-strain" if strain == "shear" or (geometry and geometry.modulus == "shear") else "strain"
        )
        return TimeRecord(path.stem, table["time"], table[strain], table["stress"], (), found, source=str(path))
    if "displacement" in table and "force" in table:
        return TimeRecord(
            path.stem,
            table["time"],
            table["displacement"],
            table["force"],
            (),
            geometry or Geometry(),
            source=str(path),
        )
    here = ", ".join(kind for kind in table if kind != "time")
    raise RheotwinError(f"{path}: {here} do not go together; give displacement and force, or strain and stress")


def _oscillation(path: Path, table: dict[str, Array], geometry: Geometry | None) -> OscillationRecord:
    for kind in ("frequency", "storage"):
        bad = np.flatnonzero(table[kind] <= 0.0)
        if len(bad):
            raise RheotwinError(f"{path}: row {bad[0] + 1}: its {kind} is not above 0; drop the row")
    if len(table["frequency"]) < 3:
        raise RheotwinError(f"{path}: {len(table['frequency'])} rows tell no law; measure more frequencies")
    modulus = "young" if geometry is None else geometry.modulus
    return OscillationRecord(
        path.stem, table["frequency"], table["storage"], table["loss"], table.get("temperature"), modulus,
        source=str(path),
    )  # fmt: skip


def _of_experiment(folder: Path, geometry: Geometry | None) -> TimeRecord:
    """Return path and force of the punch of an experiment, along the axis on which it moved."""
    from rheotwin.validation.experiments.reader import read_experiment

    found = read_experiment(folder)
    if found.path is None or found.force is None:
        raise RheotwinError(
            f"{folder}: it has no {'path' if found.path is None else 'force'} of the punch; a law needs both"
        )
    axis = int(np.argmax(np.abs(found.path.values).max(axis=0)))
    way = np.interp(found.force.times, found.path.times, found.path.values[:, axis])
    return TimeRecord(
        found.id, found.force.times, way, found.force.values[:, axis], (), geometry or Geometry(), source=found.source
    )


def geometry_of(text: str) -> Geometry:
    """Return the geometry that a text says: "bar,60 mm,100 mm2", "layer,0.13 mm,1 cm2", "strain" or "shear-strain"."""
    kind, *sizes = [part.strip() for part in text.split(",")]
    if kind in ("strain", "shear-strain") and not sizes:
        return Geometry(kind)  # type: ignore[arg-type]
    try:
        length, area = (Quantity(unit).from_text(size) for size, unit in zip(sizes, ("m", "m2"), strict=True))
    except ValueError:
        length = area = 0.0
    if kind not in ("bar", "layer") or not (length > 0.0 and area > 0.0):
        raise RheotwinError(
            f"--geometry {text}: write bar,LENGTH,AREA or layer,THICKNESS,AREA with units, as bar,60 mm,100 mm2"
        )
    return Geometry(kind, length, area)  # type: ignore[arg-type]


def phases_of(text: str, time: Array) -> tuple[Phase, ...]:
    """Return phases from "displacement:96.5,free"; each ends at its time [s], the last with the record."""
    phases: list[Phase] = []
    parts = text.split(",")
    drives: dict[str, Drive] = {"displacement": "displacement", "force": "force", "free": "free"}
    for number, part in enumerate(parts):
        word, _, until = part.strip().partition(":")
        try:
            end = (
                len(time)
                if number == len(parts) - 1
                else int(np.searchsorted(time, float(until) * (1 + 1e-12), "right"))
            )
        except ValueError:
            end = 0
        if word not in drives or end <= (phases[-1].end if phases else 0):
            raise RheotwinError(
                f"--drive {text}: '{part}' is no phase; write displacement, force or free, each but the last with "
                f"the time at which it ends, between {time[0]:g} and {time[-1]:g} s: displacement:96.5,free"
            )
        phases.append(Phase(drives[word], end))
    return tuple(phases)
