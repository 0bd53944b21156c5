"""Measure alternatives side by side in one run: interleaved rounds, medians, ratios.

Absolute seconds belong to one machine on one day; ratios from one run can be compared.
"""

from __future__ import annotations

import ctypes
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import isinf
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any

FLAGS = ("-O3", "-march=native", "-mprefer-vector-width=512", "-fno-math-errno", "-fno-trapping-math")


@dataclass(frozen=True)
class Ratio:
    """A measured ratio and what it should be: `limit` is an upper bound, infinity for what is only told."""

    name: str
    value: float
    limit: float = float("inf")
    detail: str = ""

    @property
    def line(self) -> str:
        """One line of the printed table."""
        verdict = "    " if isinf(self.limit) else "ok  " if self.value <= self.limit else "OVER"
        limit = "" if isinf(self.limit) else f"(limit {self.limit:g})"
        return f"{verdict} {self.name:52s} {self.value:8.4f}  {limit:12s} {self.detail}"


def seconds(
    alternatives: Mapping[str, Callable[[], object]], *, rounds: int = 7, clock: Callable[[], float] = perf_counter
) -> dict[str, float]:
    """Return the median seconds of each alternative over interleaved rounds, after one warm-up of each."""
    for work in alternatives.values():
        work()
    spent: dict[str, list[float]] = {name: [] for name in alternatives}
    for _ in range(rounds):
        for name, work in alternatives.items():
            begin = clock()
            work()
            spent[name].append(clock() - begin)
    return {name: statistics.median(times) for name, times in spent.items()}


def microseconds(
    alternatives: Mapping[str, Callable[[], object]], steps: int, *, clock: Callable[[], float] = thread_time
) -> dict[str, float]:
    """Return the median time of one of `steps` steps; CPU time does not count what other programs take."""
    return {name: 1e6 * spent / steps for name, spent in seconds(alternatives, rounds=15, clock=clock).items()}


@contextmanager
def c_library(source: str, *definitions: str) -> Iterator[Any]:
    """Compile C for this machine; None without a compiler."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        print("  a C compiler is not installed")
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        code, library = Path(folder) / "reference.c", Path(folder) / "reference.so"
        code.write_text(source)
        options = (*FLAGS, *definitions, "-shared", "-fPIC")
        subprocess.run([compiler, *options, str(code), "-o", str(library), "-lm"], check=True)
        yield ctypes.CDLL(str(library))


def address(array: Any) -> ctypes.c_void_p:
    """Return where the numbers of a contiguous array are."""
    return ctypes.c_void_p(array.ctypes.data)
