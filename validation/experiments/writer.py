"""Write an experiment record as a folder (format rheo-record/1), in SI units."""

from __future__ import annotations

import csv
import io
import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError
from rheotwin.record import atomic
from rheotwin.scene.write import toml
from rheotwin.validation.experiments.metadata import METADATA, SCHEMA
from rheotwin.validation.experiments.reader import FORCE, LOAD, MOMENT, NORMAL, PATH, REST, TURN, VOLUME, XYZ
from rheotwin.validation.experiments.record import Course, ExperimentRecord, Frame

CLOUDS = "clouds"
SEALED = "sealed"
TRUTH = "truth.json"


def write_experiment(folder: Path, record: ExperimentRecord, *, overwrite: bool = False, truth: str = "") -> Path:
    """Write the record and return its record.toml; `truth` (JSON text) goes to sealed/, which is shipped apart.

    Numbers keep all their digits, so reading gives the same arrays bit for bit. A folder that holds anything but an
    earlier record is refused, and an earlier record too unless `overwrite`.
    """
    check_target(folder, overwrite=overwrite)
    tables = _tables(record)
    frames = [f"{CLOUDS}/frame_{number:02d}.csv" for number in range(len(record.frames))]
    tables |= {name: _frame_table(frame) for name, frame in zip(frames, record.frames, strict=True)}
    with atomic.creating(folder):
        _remove_earlier(folder)
        (folder / CLOUDS).mkdir(parents=True, exist_ok=True)
        for name, text in tables.items():
            atomic.write_text(folder / name, text)
        if truth:
            (folder / SEALED).mkdir(exist_ok=True)
            atomic.write_text(folder / SEALED / TRUTH, truth)
        atomic.write_text(folder / METADATA, _metadata(record, frames, tables))
    return folder / METADATA


def check_target(folder: Path, *, overwrite: bool) -> None:
    """Refuse a folder that must not be written to; change nothing."""
    if folder.exists() and not folder.is_dir():
        raise RheotwinError(f"{folder} is a file, not a folder; choose another output folder")
    if not folder.exists() or not any(folder.iterdir()):
        return
    if not is_experiment(folder):
        raise RheotwinError(f"{folder} is not empty and is no experiment record; choose another output folder")
    if not overwrite:
        raise RheotwinError(f"{folder} already holds an experiment; choose another folder or add --overwrite")


def is_experiment(folder: Path) -> bool:
    """Return whether the folder holds a record.toml of this format, correct or not."""
    try:
        return SCHEMA in (folder / METADATA).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False


def _remove_earlier(folder: Path) -> None:
    """Remove the files an earlier record consists of, and only those."""
    own = [*folder.glob(f"{CLOUDS}/frame_*.csv"), folder / SEALED / TRUTH]
    for path in (*own, *(folder / name for name in (PATH, FORCE, VOLUME, METADATA))):
        path.unlink(missing_ok=True)


def _tables(record: ExperimentRecord) -> dict[str, str]:
    found = {}
    if record.path is not None:
        found[PATH] = _course_table(record.path, XYZ, TURN)
    if record.force is not None:
        found[FORCE] = _course_table(record.force, LOAD, MOMENT)
    if record.volume is not None:
        volume = record.volume
        found[VOLUME] = _table({"t": volume.times, "v": volume.values, "sigma": volume.sigma})
    return found


def _course_table(course: Course, values: tuple[str, ...], turns: tuple[str, ...]) -> str:
    vectors = _named(values, course.values) | _named(turns, course.turns)
    return _table({"t": course.times} | vectors | {"sigma": course.sigma})


def _frame_table(frame: Frame) -> str:
    return _table(
        _named(XYZ, frame.points)
        | _named(NORMAL, frame.normals)
        | {"sigma": frame.sigma, "camera": frame.camera}
        | _named(REST, frame.rest)
    )


def _named(names: tuple[str, ...], vectors: Array | None) -> dict[str, Array | None]:
    return {} if vectors is None else dict(zip(names, np.asarray(vectors).T, strict=True))


def _table(columns: dict[str, Array | None]) -> str:
    """Return columns as CSV, with the fewest digits that read back bit for bit."""
    there = {name: values for name, values in columns.items() if values is not None}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(there)
    writer.writerows(np.stack(list(there.values()), axis=1).tolist())
    return text.getvalue()


def _metadata(record: ExperimentRecord, frames: list[str], tables: dict[str, str]) -> str:
    """Return record.toml; what is not known is left out."""
    lines = _pairs({"schema": SCHEMA, "id": record.id, "kind": record.kind, "title": record.title})
    lines += _pairs({"source": record.source, "notes": record.notes})
    lines += ["", "[units]", 'length = "m"', 'force = "N"', 'time = "s"', 'mass = "kg"']
    lines += ["", "[body]", *_pairs(record.specimen.model_dump())]
    lines += ["", "[punch]", *_pairs(record.punch.model_dump())] if record.punch is not None else []
    for name, frame in zip(frames, record.frames, strict=True):
        lines += ["", "[[frames]]", *_pairs({"file": name, "t": frame.time, "phase": frame.phase})]
        lines += _pairs({"faces": frame.faces, "mirrored": frame.mirrored})
    lines += ["", "[noise]", *_pairs(record.uncertainty.model_dump(exclude={"model"}))]
    if record.setup:
        lines += ["", "[setup]", *(f"{json.dumps(place)} = {toml(value)}" for place, value in record.setup.items())]
    if record.seal is not None:
        lines += ["", "[seal]", *_pairs({"sha256": record.seal})]
    hashes = {name: f"sha256:{sha256(text.encode()).hexdigest()}" for name, text in tables.items()}
    lines += ["", "[files]", *(f"{json.dumps(name)} = {json.dumps(value)}" for name, value in hashes.items())]
    return "\n".join(lines) + "\n"


def _pairs(values: dict[str, Any]) -> list[str]:
    """Return `key = value` lines; JSON writes strings, numbers and lists of these as TOML does."""
    return [
        f"{name} = {json.dumps(value if not isinstance(value, tuple) else list(value), ensure_ascii=False)}"
        for name, value in values.items()
        if value not in (None, "", ())
    ]
