"""The run folder: where things are in it, how it is created and how an old record gives way to a new one."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rheotwin.errors import RheotwinError
from rheotwin.record.atomic import PARTIAL_SUFFIX, creating
from rheotwin.record.manifest import MANIFEST_NAME
from rheotwin.texts import read_json

PVD_NAME = "series.pvd"
HDF_NAME = "series.vtkhdf"
PARTICLES_NAME = "particles.pvd"
PROBES_NAME = "probes.csv"
FRAMES_FOLDER = "frames"
CHECKPOINTS_FOLDER = "checkpoints"
GEOMETRY = "geometry-"
"""Begin of the names of meshes that geometry scripts made: a record never runs the script again."""

_OWN_FILES = (PVD_NAME, HDF_NAME, PARTICLES_NAME, PROBES_NAME, "series.sha256", "particles.sha256")
_OWN_FOLDERS = {
    FRAMES_FOLDER: ("frame-*.vtu", "tools-*.vtp", "particles-*.vtp", "surface-*.vtp"),
    CHECKPOINTS_FOLDER: ("step-*.npz", f"step-*.npz{PARTIAL_SUFFIX}"),
}


def geometry_file(name: str) -> str:
    """Return the name of the mesh that the geometry script of a body or tool made."""
    return f"{GEOMETRY}{name}.msh"


def looks_like_record(folder: Path) -> bool:
    """Return whether the folder holds a manifest that Rheotwin wrote."""
    try:
        data = read_json((folder / MANIFEST_NAME).read_text(encoding="utf-8"))
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


class Lock:
    """The right of one process to write into a folder; the system takes it back when that process ends, however.

    Where folders cannot be locked (some network drives, systems without flock) everyone gets it.
    """

    def __init__(self, folder: Path) -> None:
        with suppress(ImportError, OSError):
            import fcntl

            descriptor = os.open(folder, os.O_RDONLY)
            self._held = weakref.finalize(self, os.close, descriptor)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise RheotwinError(
                    f"{folder}: another run is writing into this folder; wait for its end, or choose another one"
                ) from error

    def release(self) -> None:
        """Give it back."""
        if hasattr(self, "_held"):
            self._held()


@contextmanager
def new_record_folder(folder: Path, *, overwrite: bool) -> Iterator[Lock]:
    """Create and lock the folder for the body of the `with`; if that fails, leave nothing half-created."""
    check_output_folder(folder, overwrite=overwrite)
    with creating(folder):
        made = [path for path in (folder, *folder.parents) if not path.exists()]
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = Lock(folder)
            check_output_folder(folder, overwrite=overwrite)  # another run may have been here just now
        except OSError:
            _remove_empty(made)
            raise
        try:
            remove_record_files(folder)
            yield lock
        except BaseException:
            remove_record_files(folder)
            lock.release()
            _remove_empty(made)
            raise


def _remove_empty(folders: Iterable[Path]) -> None:
    for path in folders:
        with suppress(OSError):
            path.rmdir()


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
    for path in folder.glob(f"{GEOMETRY}*.msh"):
        path.unlink()
    for name in (*_OWN_FILES, MANIFEST_NAME):
        for path in (folder / (name + PARTIAL_SUFFIX), folder / name):
            with suppress(FileNotFoundError, NotADirectoryError):
                path.unlink()
