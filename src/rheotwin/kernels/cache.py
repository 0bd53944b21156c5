"""Kernels on disk: one file each, named by everything the kernel is made of, so that none is ever stale.

A name covers the source of the kernel's module and of all modules that it imports inside its package, directly or
through others. An edit of any of them gives the kernel another name, and it is compiled anew; the old file stays and is
found again when the edit is taken back. Checkouts, environments and processes therefore share one folder: equal
sources have equal names, a file is written elsewhere and moved into place, and a checksum in front of it tells a
damaged one. Nothing here imports numba.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, resolve_name
from pathlib import Path

PLACE = "RHEOTWIN_CACHE_DIR"
"""Environment variable that names another folder than the user's."""
PACKAGE = __name__.partition(".")[0]
SUFFIX, UNFINISHED = ".kernel", ".kernel-part"
LARGEST = 2 << 30
"""Bytes in the folder from which the kernels that were not used for longest are deleted, down to half of it."""

_BEGUN = time.time()
_listeners: list[Callable[[str], None]] = []
_IMPORT = re.compile(rb"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)|import[ \t]+([^\n#]*))", re.M)


def folder() -> Path:
    """Return the folder of all kernels of this user."""
    if place := os.environ.get(PLACE):
        return Path(place)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / PACKAGE / "kernels"


@cache
def stamp(module: str) -> str | None:
    """Return the digest of the sources of a module and of all it imports from its package and from this one.

    None if one of them cannot be vouched for: there is no source, or it was written after this process had begun, which
    may run an earlier version of it. A kernel without a stamp is compiled for this process and not kept.
    """
    roots = {PACKAGE, module.partition(".")[0]}
    found: dict[str, bytes] = {}
    names = [module]
    while names:
        name = names.pop()
        if name in found:
            continue
        source = _source(name)
        if source is None:
            continue
        digest, imported, written = source
        if written > _BEGUN:
            return None
        found[name] = digest
        names += [other for other in imported if other.partition(".")[0] in roots]
    if module not in found:
        return None
    whole = hashlib.sha256()
    for name in sorted(found):
        whole.update(name.encode() + found[name])
    return whole.hexdigest()


@cache
def _source(name: str) -> tuple[bytes, frozenset[str], float] | None:
    """Return digest, imported names and time of writing [s] of a module's source; None if there is no such module."""
    spec = _spec(name)
    if spec is None or not spec.has_location or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    try:
        data, about = Path(spec.origin).read_bytes(), Path(spec.origin).stat()
    except OSError:
        return None
    imported: set[str] = set()
    for base, listed, plain in _IMPORT.findall(data):
        words = re.sub(rb"#[^\n]*", b"", listed or plain).strip(b"() \t\r\n").split(b",")
        first = [word.split()[0].decode() for word in words if word.split()]
        if base:
            origin = base.decode()
            origin = resolve_name(origin, spec.parent) if origin.startswith(".") else origin
            first = [origin, *(f"{origin}.{word}" for word in first)]
        imported.update(first)
    # A file put in place of another may keep the time of its contents, but not that of its own last change.
    return hashlib.sha256(data).digest(), frozenset(imported), max(about.st_mtime, about.st_ctime)


def _spec(name: str) -> ModuleSpec | None:
    """Return where a module is, without importing anything: parts of editable packages lie in different places."""
    if name in sys.modules:
        return sys.modules[name].__spec__
    parent = name.rpartition(".")[0]
    if not parent:
        return find_spec(name)
    above = _spec(parent)
    if above is None or above.submodule_search_locations is None:
        return None
    for finder in sys.meta_path:
        if (found := finder.find_spec(name, above.submodule_search_locations)) is not None:
            return found
    return None


@contextmanager
def listening(listener: Callable[[str], None]) -> Iterator[None]:
    """Tell `listener` meanwhile what is being compiled, before it is."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def tell(what: str) -> None:
    """Say that a kernel is compiled now."""
    for listener in _listeners:
        listener(what)


def is_kept(name: str) -> bool:
    """Tell whether there is a kernel of this name."""
    with suppress(OSError, RuntimeError):  # without permission, or without a home
        return (folder() / (name + SUFFIX)).exists()
    return False


def load(name: str) -> bytes | None:
    """Return the kernel of this name; None if there is none, or none that is whole."""
    try:
        place = folder() / (name + SUFFIX)
        data = place.read_bytes()
    except (OSError, RuntimeError):
        return None
    if hashlib.sha256(data[32:]).digest() != data[:32]:
        return None
    with suppress(OSError):
        os.utime(place)  # it was used: others are deleted first
    return data[32:]


def save(name: str, data: bytes) -> None:
    """Keep a kernel; in a folder that cannot be written to, it serves this process alone."""
    with suppress(OSError, RuntimeError):
        into = folder()
        into.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, written = tempfile.mkstemp(dir=into, suffix=UNFINISHED)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(data).digest() + data)
            Path(written).replace(into / (name + SUFFIX))
        except OSError:
            Path(written).unlink(missing_ok=True)
            raise
        _shrink_once()


@cache
def _shrink_once() -> None:
    """Delete what was not used for longest, if there is too much; once a process."""
    if usage()[1] > LARGEST:
        oldest = sorted(_files(), key=lambda file: file[2])
        size = sum(file[1] for file in oldest)
        for place, bytes_there, _ in oldest:
            if size <= LARGEST // 2:
                break
            place.unlink(missing_ok=True)
            size -= bytes_there


def _files() -> Iterator[tuple[Path, int, float]]:
    """Return place, size [bytes] and time of last use [s] of our files in the folder, unfinished ones included."""
    with suppress(FileNotFoundError):
        for entry in os.scandir(folder()):
            with suppress(FileNotFoundError):  # another process may have deleted it
                if entry.name.endswith((SUFFIX, UNFINISHED)):
                    about = entry.stat()
                    yield Path(entry.path), about.st_size, about.st_mtime


def usage() -> tuple[int, int]:
    """Return how many kernels there are and their size [bytes]."""
    sizes = [size for place, size, _ in _files() if place.suffix == SUFFIX]
    return len(sizes), sum(sizes)


def clear() -> tuple[int, int]:
    """Delete all kernels; return how many there were and their size [bytes]."""
    there = usage()
    for place, _, _ in list(_files()):
        place.unlink(missing_ok=True)
    return there
