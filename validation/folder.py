"""The folder of a comparison: what is ours in it, when it may be written to, and what an overwrite removes."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

from rheotwin.errors import RheotwinError

REPORT, NUMBERS, SUMMARY, PLOTS, RUNS = "report.html", "comparison.json", "summary.md", "plots", "runs"


def refuse_existing(folder: Path, *, overwrite: bool, records: Collection[str] = ()) -> None:
    """Raise unless `folder` is new, empty, holds nothing but runs, or an earlier comparison that may be replaced.

    A folder is an earlier comparison only if its comparison.json is ours; any other contents are never touched.
    Once `records` of the comparison have been written there, files that came up beside them do no harm.
    """
    try:
        _refuse(folder, overwrite, records)
    except OSError as error:
        raise RheotwinError(f"{folder}: {error.strerror}; choose another folder with --output") from error


def _refuse(folder: Path, overwrite: bool, records: Collection[str]) -> None:
    nearest = next((path for path in (folder, *folder.parents) if path.exists()), folder)
    if nearest.exists() and not nearest.is_dir():
        raise RheotwinError(f"--output {folder}: {nearest} is a file, not a folder; choose another output folder")
    if nearest != folder or not any(folder.iterdir()):
        return
    if _is_comparison(folder):
        if not overwrite:
            raise RheotwinError(
                f"{folder}: it already holds a comparison; choose another folder or allow it with --overwrite"
            )
        return
    clash = any((folder / name).exists() for name in (REPORT, NUMBERS, SUMMARY, PLOTS))
    if not holds_only_runs(folder) and (clash or not records):
        raise RheotwinError(
            f"{folder}: it is not empty and is not a comparison of Rheotwin; choose another folder with --output"
        )


def holds_only_runs(folder: Path) -> bool:
    """Return whether there is nothing in the folder but runs/, and nothing but records of Rheotwin in there.

    This is what a comparison leaves that ended before its report.
    """
    from rheotwin.record.folder import looks_like_record

    runs = folder / RUNS
    if not runs.is_dir() or any(path != runs for path in folder.iterdir()):
        return False
    return all(path.is_dir() and (looks_like_record(path) or not any(path.iterdir())) for path in runs.iterdir())


def remove_earlier(folder: Path, *, keep: Collection[str]) -> None:
    """Remove the page, the summary, the plots and the records that the comparison.json there names, and only those.

    Records named in `keep` (relative to the folder) stay, and comparison.json itself too: until it is replaced
    it tells that the folder is ours.
    """
    from rheotwin.record.folder import looks_like_record, remove_record_files

    data = _numbers(folder)
    for name in (REPORT, SUMMARY):
        (folder / name).unlink(missing_ok=True)
    for name in _plain_names(data.get("plots")):
        (folder / PLOTS / name).unlink(missing_ok=True)
    for name in _plain_names(data.get("records")):
        record = folder / RUNS / name
        if f"{RUNS}/{name}" not in keep and looks_like_record(record):
            remove_record_files(record)
            with suppress(OSError):  # something else was put into the folder: it stays
                record.rmdir()


def records_inside(folder: Path, records: Iterable[Path]) -> tuple[str, ...]:
    """Return the records that lie in the folder's runs/, as `runs/NAME`."""
    runs = (folder / RUNS).absolute()
    return tuple(f"{RUNS}/{record.name}" for record in records if record.absolute().parent == runs)


def _is_comparison(folder: Path) -> bool:
    return {"rheotwin_version", "orderings"} <= _numbers(folder).keys()


def _numbers(folder: Path) -> dict[str, Any]:
    """Return comparison.json as it stands, of whatever version; nothing if there is none."""
    try:
        data = json.loads((folder / NUMBERS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def _plain_names(entries: object) -> list[str]:
    """Return the last parts of the paths listed: a name never leads out of the folder it is looked for in."""
    listed = entries if isinstance(entries, list) else []
    return [PurePosixPath(entry).name for entry in listed if isinstance(entry, str) and PurePosixPath(entry).name]
