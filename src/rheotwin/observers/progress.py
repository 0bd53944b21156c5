"""A progress bar on the terminal: share of the time done, time left, step rate."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress

from rheotwin.kernels.cache import listening
from rheotwin.observers.protocol import Observer, Watched


@contextmanager
def told_of_compiling() -> Iterator[None]:
    """Say on standard error what is compiled meanwhile: on a terminal in one line that is taken away in the end."""
    console, said = Console(stderr=True), False

    def say(what: str) -> None:
        nonlocal said
        if console.is_terminal:
            print(f"\r\033[Kcompiling, once for all runs like this: {what}", end="", file=sys.stderr, flush=True)
        elif not said:
            print("compiling, once for all runs like this", file=sys.stderr, flush=True)
        said = True

    with listening(say):
        yield
    if said and console.is_terminal:
        print("\r\033[K", end="", file=sys.stderr, flush=True)


class Progress(Observer):
    """Draws on standard error, so that standard output stays clean; silent when that is no terminal."""

    def __init__(self, label: str) -> None:
        console = Console(stderr=True)
        self._bar = RichProgress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("t = {task.completed:.4g} / {task.total:.4g} s"),
            TextColumn("{task.fields[rate]:>9} steps/s"),
            TimeRemainingColumn(compact=True),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._label = label
        self._task = TaskID(0)

    def start(self, run: Watched) -> None:
        """Show the bar."""
        self._begin, self._first_step = perf_counter(), run.simulation.step_count
        self._task = self._bar.add_task(self._label, total=run.duration, rate="")
        self._bar.start()

    def tick(self, run: Watched) -> None:
        """Move the bar."""
        rate = (run.simulation.step_count - self._first_step) / max(perf_counter() - self._begin, 1e-9)
        self._bar.update(self._task, completed=run.simulation.time, rate=f"{rate:,.0f}")

    def finish(self, run: Watched, *, status: str, message: str) -> None:
        """Take the bar away."""
        self._bar.stop()
