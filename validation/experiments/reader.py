"""Read the folder of an experiment record (format rheo-record/1) into SI arrays, checking everything in it."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

import numpy as np

from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError, nearest_name
from rheotwin.scene.base import SceneModel
from rheotwin.validation.experiments.metadata import FramePart, Metadata, RecordUnits, Specimen, read_metadata
from rheotwin.validation.experiments.record import (
    Course,
    ExperimentRecord,
    Frame,
    VolumeCourse,
)

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
    try:
        rows = [row for row in csv.reader(text.splitlines()) if row]
    except csv.Error as error:
        raise RheotwinError(f"{path}: cannot be read as CSV ({error}); write it again") from error
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


Part = TypeVar("Part", bound=SceneModel)
PATH, FORCE, VOLUME = "punch.csv", "force.csv", "volume.csv"
XYZ, REST, NORMAL = ("x", "y", "z"), ("x0", "y0", "z0"), ("nx", "ny", "nz")
TURN, LOAD, MOMENT = ("rx", "ry", "rz"), ("fx", "fy", "fz"), ("mx", "my", "mz")


def read_experiment(folder: str | Path) -> ExperimentRecord:
    """Return the record in a folder, in SI units and real scale; anything wrong with it is one sentence."""
    place = Path(folder)
    data = read_metadata(place)
    units = data.units
    _check_hashes(place, data)
    specimen = _in_si(data.body, units, {"size": "length", "mass": "mass"})
    frames = tuple(_frame(place, part, units, specimen) for part in data.frames)
    times = np.array([frame.time for frame in frames])
    if (np.diff(times) < 0.0).any():
        late = data.frames[int(np.flatnonzero(np.diff(times) < 0.0)[0]) + 1]
        raise RheotwinError(f"{place / 'record.toml'}: frames: '{late.file}' is earlier than the one before; sort them")
    record = ExperimentRecord(
        id=data.id,
        kind=data.kind,
        specimen=specimen,
        frames=frames,
        punch=None if data.punch is None else _in_si(data.punch, units, {"footprint": "length", "release": "time"}),
        path=_course(place / PATH, units, XYZ, TURN),
        force=_course(place / FORCE, units, LOAD, MOMENT),
        volume=_volume(place / VOLUME, units),
        uncertainty=_in_si(data.noise, units, {"mean_abs": "length", "clock": "time"}),
        title=data.title,
        source=data.source,
        notes=data.notes,
        seal=None if data.seal is None else data.seal.sha256,
        setup={
            key: str((place / value).resolve()) if key.endswith(".path") else value for key, value in data.setup.items()
        },
    )
    if not frames and record.force is None and record.volume is None:
        raise RheotwinError(
            f"{place}: the record holds neither points nor forces nor volumes; add [[frames]], {FORCE} or {VOLUME}"
        )
    return record


def read_points(path: Path, units: RecordUnits) -> dict[str, Array]:
    """Return the columns of a cloud in SI: a CSV table, or the vertices (and normals) of a PLY file."""
    kinds = KINDS | {"sigma": "length"}
    if path.suffix.lower() == ".csv":
        return read_table(path, units, required=XYZ, optional=(*NORMAL, "sigma", "camera", *REST), kinds=kinds)
    if path.suffix.lower() != ".ply":
        raise RheotwinError(f"{path}: clouds are read from .csv and .ply; convert it to one of them")
    return _ply(path, units)


def _ply(path: Path, units: RecordUnits) -> dict[str, Array]:
    """Return the vertices (and normals) of a PLY file; whatever else is in it stays unread."""
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise RheotwinError(f"{path}: there is no such file; put it there or take it out of record.toml") from error
    except OSError as error:
        raise RheotwinError(f"{path}: cannot be read ({error.strerror}); make it a readable file") from error
    try:
        table = _vertices(data)
        points = np.stack([table[name] for name in XYZ], axis=1)
    except (LookupError, ValueError, TypeError, OverflowError, MemoryError) as error:
        raise RheotwinError(f"{path}: cannot be read as PLY ({error}); write it again") from error
    if not len(points) or not np.isfinite(points).all():
        raise RheotwinError(f"{path}: it holds no points, or some that are not finite; write it again")
    found = dict(zip(XYZ, (points * units.factor("length")).T, strict=True))
    return found | ({name: table[name] for name in NORMAL} if all(name in table for name in NORMAL) else {})


_PLY_TYPES = {
    **{"char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4"},
    **{"int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2", "int32": "i4", "uint32": "u4"},
    **{"float": "f4", "double": "f8", "float32": "f4", "float64": "f8"},
}
_PLY_ORDERS = {"binary_little_endian": "<", "binary_big_endian": ">", "ascii": ""}


def _vertices(data: bytes) -> dict[str, Array]:
    """Return the columns of the vertices of a PLY file, whose first element they must be."""
    place = data.find(b"end_header")
    start = data.find(b"\n", place) + 1
    lines = [line.split() for line in data[: max(place, 0)].decode("ascii").splitlines()]
    lines = [line for line in lines if line and line[0] not in ("comment", "obj_info")]
    if place < 0 or not start or len(lines) < 3 or lines[0] != ["ply"] or lines[1][0] != "format":
        raise ValueError("its header is not whole")
    elements = [number for number, line in enumerate(lines) if line[0] == "element"]
    first, after = elements[0], (*elements, len(lines))[1]
    if lines[first][1] != "vertex":
        raise ValueError("its first element is not vertex")
    count, order = int(lines[first][2]), _PLY_ORDERS[lines[1][1]]
    columns = [(line[2], order + _PLY_TYPES[line[1]]) for line in lines[first + 1 : after] if line[0] == "property"]
    if len(columns) != after - first - 1 or not 0 <= count <= len(data):
        raise ValueError("its vertices are not plain columns, or more than the file holds")
    if order:
        table = np.frombuffer(data, dtype=columns, count=count, offset=start)
        return {name: table[name].astype(float) for name, _ in columns}
    rows = [row.split() for row in data[start:].decode("ascii").splitlines()[:count]]
    if len(rows) != count or any(len(row) != len(columns) for row in rows):
        raise ValueError("rows of its vertices are missing or cut off")
    numbers = np.array(rows, dtype=float).reshape(count, len(columns))
    return {name: numbers[:, column] for column, (name, _) in enumerate(columns)}


def _frame(folder: Path, part: FramePart, units: RecordUnits, specimen: Specimen) -> Frame:
    path = folder / part.file
    table = read_points(path, units)
    points = columns(table, XYZ)
    assert points is not None
    rest = columns(table, REST)
    for name, cloud in (("points", points), ("rest positions", rest)):
        if cloud is not None:
            _check_near_body(path, name, cloud, specimen, str(units.length))
    return Frame(
        time=part.t * units.factor("time"),
        points=points,
        rest=rest,
        normals=columns(table, NORMAL),
        sigma=table.get("sigma"),
        camera=table.get("camera"),
        phase=part.phase,
        faces=part.faces,
        mirrored=part.mirrored,
    )


def _check_near_body(path: Path, name: str, points: Array, specimen: Specimen, unit: str) -> None:
    """Refuse points farther from the body than it is large, or all at a spot: their unit is not what is said."""
    least, most = specimen.box
    size = float(np.linalg.norm(most - least))
    away = np.linalg.norm(points - np.clip(points, least, most), axis=1).max()
    extent = float(np.linalg.norm(np.ptp(points, axis=0)))
    if away > size or (len(points) >= 10 and extent < 1e-2 * size):
        raise RheotwinError(
            f"{path}: its {name} reach {away:.3g} m from the body and extend over {extent:.3g} m, the body over "
            f"{size:.3g} m; is their unit {unit}, as [units] says, and are they in the axes of the body?"
        )


def _course(path: Path, units: RecordUnits, values: tuple[str, ...], turns: tuple[str, ...]) -> Course | None:
    if not path.is_file():
        return None
    kinds = KINDS | {"sigma": KINDS[values[0]]}
    table = read_table(path, units, required=("t", *values), optional=(*turns, "sigma"), kinds=kinds)
    check_increasing(path, table["t"])
    vectors = columns(table, values)
    assert vectors is not None
    return Course(table["t"], vectors, columns(table, turns), table.get("sigma"))


def _volume(path: Path, units: RecordUnits) -> VolumeCourse | None:
    if not path.is_file():
        return None
    kinds = KINDS | {"sigma": "volume"}
    table = read_table(path, units, required=("t", "v"), optional=("sigma",), kinds=kinds)
    check_increasing(path, table["t"])
    if (table["v"] <= 0.0).any():
        raise RheotwinError(f"{path}: row {int(np.argmax(table['v'] <= 0.0)) + 1}: a volume is above 0; correct it")
    return VolumeCourse(table["t"], table["v"], table.get("sigma"))


def _in_si(part: Part, units: RecordUnits, kinds: Mapping[str, str]) -> Part:
    """Return a table of record.toml, its entries whose kinds are given in SI units."""
    known = {name: getattr(part, name) for name in kinds if getattr(part, name) is not None}
    scaled = {name: np.multiply(value, units.factor(kinds[name])).tolist() for name, value in known.items()}
    return part.model_copy(update={name: tuple(v) if isinstance(v, list) else v for name, v in scaled.items()})


def _check_hashes(folder: Path, data: Metadata) -> None:
    """Refuse tables that are not the ones record.toml was written for."""
    for name, stated in data.files.items():
        try:
            found = sha256((folder / name).read_bytes()).hexdigest()
        except OSError as error:
            raise RheotwinError(f"{folder / name}: cannot be read ({error.strerror}); [files] lists it") from error
        if f"sha256:{found}" != stated:
            raise RheotwinError(
                f"{folder / name}: it is not the file that record.toml was written for (its hash differs); "
                "get the original, or correct [files] if the change is meant"
            )
