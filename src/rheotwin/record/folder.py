"""The run folder: where things are in it, how it is created and how an old record gives way to a new one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rheotwin.errors import RheotwinError
from rheotwin.record.atomic import PARTIAL_SUFFIX, creating
from rheotwin.record.manifest import MANIFEST_NAME

PVD_NAME = "series.pvd"
HDF_NAME = "series.vtkhdf"
PARTICLES_NAME = "particles.pvd"
PROBES_NAME = "probes.csv"
FRAMES_FOLDER = "frames"
CHECKPOINTS_FOLDER = "checkpoints"

_OWN_FILES = (PVD_NAME, HDF_NAME, PARTICLES_NAME, PROBES_NAME)
_OWN_FOLDERS = {
    FRAMES_FOLDER: ("frame-*.vtu", "tools-*.vtp", "particles-*.vtp", "surface-*.vtp"),
    CHECKPOINTS_FOLDER: ("step-*.npz", f"step-*.npz{PARTIAL_SUFFIX}"),
}


def looks_like_record(folder: Path) -> bool:
    """Return whether the folder holds a manifest that Rheotwin wrote."""
    try:
        data = json.loads((folder / MANIFEST_NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(data, dict) and "rheotwin_version" in data


def check_output_folder(folder: Path, *, overwrite: bool) -> None:
    """Refuse, before any work is done, a folder that must not be written to; change nothing."""
    with creating(folder):
        if not folder.exists():
            return
        if not folder.is_dir():
            raise RheotwinError(f"{folder} is a file, not a folder; choose another output folder")
        if not any(folder.iterdir()):
            return
    if not looks_like_record(folder):
        raise RheotwinError(f"{folder} is not empty and is not a record of Rheotwin; choose another output folder")
    if not overwrite:
        raise RheotwinError(f"{folder} already holds a record; choose another output folder or add --overwrite")


@contextmanager
def new_record_folder(folder: Path, *, overwrite: bool) -> Iterator[None]:
    """Create the folder for the body of the `with`; if that fails, leave nothing half-created."""
    check_output_folder(folder, overwrite=overwrite)
    with creating(folder):
        made = [path for path in (folder, *folder.parents) if not path.exists()]
        try:
            folder.mkdir(parents=True, exist_ok=True)
            remove_record_files(folder)
            yield
        except BaseException:
            remove_record_files(folder)
            for path in made:
                with suppress(OSError):
                    path.rmdir()
            raise


def remove_record_files(folder: Path) -> None:
    """Remove the files a record consists of, and only those; the manifest goes last.

    Anything else that was put into the folder (notes, reports) stays, and a removal that is interrupted
    still leaves a folder that can be overwritten.
    """
    for name, patterns in _OWN_FOLDERS.items():
        inner = folder / name
        for pattern in patterns:
            for path in inner.glob(pattern):
                path.unlink()
        with suppress(OSError):
            inner.rmdir()
    for name in (*_OWN_FILES, MANIFEST_NAME):
        for path in (folder / (name + PARTIAL_SUFFIX), folder / name):
            with suppress(FileNotFoundError, NotADirectoryError):
                path.unlink()
