"""Folders of results, all or nothing: when they may be written to, and how an earlier result is replaced."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from rheotwin.errors import RheotwinError
from rheotwin.texts import read_json

REPORT, SUMMARY, PLOTS = "report.html", "summary.md", "plots"


def is_free(folder: Path) -> bool:
    """Tell whether a folder is new or empty; raise where it cannot be one."""
    try:
        nearest = next((path for path in (folder, *folder.parents) if path.exists()), folder)
        if nearest.exists() and not nearest.is_dir():
            raise RheotwinError(f"--output {folder}: {nearest} is a file, not a folder; choose another output folder")
        return nearest != folder or not any(folder.iterdir())
    except OSError as error:
        raise RheotwinError(f"--output {folder}: {error.strerror}; choose another folder with --output") from error


def numbers_in(path: Path) -> dict[str, Any]:
    """Return a JSON table as it stands, of whatever version; nothing if there is none."""
    try:
        data = read_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def plain_names(entries: object) -> list[str]:
    """Return the last parts of the paths listed: a name never leads out of the folder it is looked for in."""
    listed = entries if isinstance(entries, list) else []
    return [PurePosixPath(entry).name for entry in listed if isinstance(entry, str) and PurePosixPath(entry).name]


def remove_plots(folder: Path, entries: object) -> None:
    """Remove the plots that an earlier result names."""
    for name in plain_names(entries):
        (folder / PLOTS / name).unlink(missing_ok=True)


@contextmanager
def filled_aside(folder: Path, what: str) -> Iterator[Path]:
    """Yield an empty folder beside the target, which is left without a trace; no room there is one sentence."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", suffix=".partial", dir=folder.parent))
        try:
            (aside / PLOTS).mkdir()
            yield aside
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    except OSError as error:
        said = f"could not write the {what} to {folder}: {error.strerror}; free space or choose another folder"
        raise RheotwinError(said) from error


def write_texts(folder: Path, texts: Iterable[tuple[str, str]]) -> None:
    """Write texts to files by their names."""
    for name, text in texts:
        (folder / name).write_text(text, encoding="utf-8")


def move_in(aside: Path, folder: Path, names: Sequence[str]) -> None:
    """Move files in, in this order: what says that a result is there comes last."""
    for name in names:
        (aside / name).replace(folder / name)
