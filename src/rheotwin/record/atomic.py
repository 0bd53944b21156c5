"""Writing so that a reader never sees half a file, and an operating-system error becomes one sentence."""

from __future__ import annotations

import errno
import io
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rheotwin.errors import RheotwinError

PARTIAL_SUFFIX = ".part"
"""Suffix of a file that is still being written."""

_REMEDIES = {
    errno.ENOSPC: "free space",
    errno.EDQUOT: "free space",
    errno.EACCES: "make it writable",
    errno.EPERM: "make it writable",
    errno.EROFS: "make it writable",
    errno.ENOENT: "put the folder back",
}


def out_of_space(path: Path | str) -> OSError:
    """Return the error of a full disk at `path`."""
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))


def why(error: OSError) -> str:
    """Return the system's own words for the error, without its number and path."""
    return os.strerror(error.errno) if error.errno else str(error)


@contextmanager
def creating(folder: Path) -> Iterator[None]:
    """Turn an OSError met while the record is being created into one sentence."""
    try:
        yield
    except OSError as error:
        raise RheotwinError(
            f"could not create the record {folder}: {why(error)}; choose a folder that can be written to"
        ) from error


@contextmanager
def writing(target: Path, *, record: Path) -> Iterator[None]:
    """Turn an OSError met while writing `target` of `record` into one sentence saying how to continue."""
    try:
        yield
    except OSError as error:
        remedy = _REMEDIES.get(error.errno or 0, "repair this")
        raise RheotwinError(
            f"could not write {target}: {why(error)}; {remedy} and resume with `rheotwin run --resume {record}`"
        ) from error


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a temporary neighbour that replaces `path` at the end, or is removed if anything fails."""
    partial = path.with_name(path.name + PARTIAL_SUFFIX)
    try:
        yield partial
        partial.replace(path)
    except BaseException:
        with suppress(OSError):
            partial.unlink()
        raise


def write_text(path: Path, text: str) -> None:
    """Replace the whole file by `text`: a reader finds either the old or the new text."""
    with atomic_path(path) as partial:
        partial.write_text(text, encoding="utf-8", newline="")


def reserve(path: Path, start: int, size: int) -> None:
    """Make sure `size` bytes from `start` on can be written to an existing file, or raise OSError."""
    if not hasattr(os, "posix_fallocate"):
        if shutil.disk_usage(path.parent).free < size:
            raise out_of_space(path)
        return
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.posix_fallocate(descriptor, start, size)
    except OSError as error:
        # Some file systems cannot reserve; their full disk shows when it is written to.
        if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):
            raise
    finally:
        os.close(descriptor)


def extend(file: io.FileIO, data: bytes, *, tail: bytes = b"") -> None:
    """Append `data` before the closing `tail` of an unbuffered file, in a single write.

    The new end overwrites the old tail in place, so a process killed at any moment leaves either
    the old file or the new one; if the system takes only a part (a full disk) the old tail is put back.
    """
    place = file.seek(0, os.SEEK_END) - len(tail)
    try:
        file.seek(place)
        if file.write(data + tail) != len(data) + len(tail):
            raise out_of_space(str(file.name))
    except OSError:
        with suppress(OSError):
            file.seek(place)
            file.write(tail)
            file.truncate(place + len(tail))
        raise
