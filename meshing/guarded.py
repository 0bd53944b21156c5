"""Readers of outside files in a child process with limits: one that crashes, loops or fills the memory is a sentence.

The child is forked, which costs a few milliseconds; what it read comes back as arrays (.npz), never as code. Where
the system cannot fork, the reader runs in this process.
"""

from __future__ import annotations

import faulthandler
import io
import os
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import numpy.typing as npt

from rheotwin.errors import RheotwinError

Arrays = dict[str, npt.NDArray[np.generic]]
SECONDS, SECONDS_PER_MB = 2.0, 5.0
"""Processor time a reader may take [s], for any file and beyond that for its size."""
WALL = 60
"""A reader may take so many times its processor time by the clock: a machine may be busy."""
MEMORY, MEMORY_PER_BYTE = 1 << 30, 100
"""Memory a reader may take beyond what is in use [bytes], for any file and beyond that for its size."""
_REFUSED, _FULL = 3, 4


def guarded(path: Path, read: Callable[[], Arrays], *, seconds: float = 0.0) -> Arrays:
    """Return the arrays that `read` makes of the file `path`; whatever happens to it there is one sentence here.

    `seconds` [s] of processor time come on top of what a file of that size may take.
    """
    if not hasattr(os, "fork"):
        return read()
    size = path.stat().st_size
    seconds += SECONDS + SECONDS_PER_MB * size / 1e6
    sys.stdout.flush(), sys.stderr.flush()
    source, sink = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads: the child uses none
        child = os.fork()
    if child == 0:
        _answer(sink, read, seconds, MEMORY + MEMORY_PER_BYTE * size)
    os.close(sink)
    answer: bytes | None = None
    try:
        answer = _received(source, time.monotonic() + WALL * seconds)
    finally:
        os.close(source)
        if answer is None:
            os.kill(child, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status == 0 and answer:
        with np.load(io.BytesIO(answer), allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    if status == _REFUSED and answer:
        said = answer.decode(errors="replace")
        raise RheotwinError(said if said.startswith(str(path)) else f"{path}: {said}")
    if answer is None or status == -signal.SIGPROF:
        raise RheotwinError(f"{path}: its reader does not come to an end within {seconds:.3g} s: export the file again")
    if status == _FULL:
        raise RheotwinError(f"{path}: its reader asks for more memory than so small a file needs: export it again")
    said = signal.Signals(-status).name if status < 0 else f"exit code {status}"
    raise RheotwinError(f"{path}: its reader crashes on it ({said}): the file is damaged, export it again")


def _received(source: int, deadline: float) -> bytes | None:
    """Return what the child says until it ends, None if it did not end in time."""
    said = bytearray()
    while select.select([source], [], [], max(0.0, deadline - time.monotonic()))[0]:
        part = os.read(source, 1 << 20)
        if not part:
            return bytes(said)
        said += part
    return None


def _answer(sink: int, read: Callable[[], Arrays], seconds: float, memory: int) -> None:
    """Read within the limits, say the result and leave: nothing of the parent's clean-up happens here."""
    code = 1
    faulthandler.disable()
    try:
        silence = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(silence, stream)
        _limit(seconds, memory)
        with os.fdopen(sink, "wb") as file:
            try:
                made = io.BytesIO()
                np.savez(made, allow_pickle=False, **read())  # type: ignore[arg-type,unused-ignore]
                file.write(made.getbuffer())
                code = 0
            except MemoryError:
                code = _FULL
            except Exception as error:
                own = isinstance(error, RheotwinError)
                said = str(error) if own else f"cannot be read ({type(error).__name__}): export it again"
                file.write(said.encode(errors="replace"))
                code = _REFUSED
    finally:
        os._exit(code)


def _limit(seconds: float, memory: int) -> None:
    """Limit the processor time [s] and the memory [bytes] beyond what is in use; leave no core file."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    with suppress(OSError, ValueError):  # only Linux says what is in use
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + memory, used + memory))
