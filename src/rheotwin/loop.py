"""The run loop: carries a simulation through its planned stops, and knows how to end early.

The simulation advances in chunks of steps, sized so that the loop looks up about ten times a second: often
enough for a progress bar and ctrl-C, seldom enough to cost nothing. The size of a chunk never changes a result.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter, process_time
from types import FrameType

import numpy as np

from rheotwin.divergence import check_squeezed, check_tools
from rheotwin.errors import EXIT_DIVERGED, EXIT_INTERRUPTED, EXIT_OK, Diverged, Stopped
from rheotwin.observers.protocol import Observer, Watched
from rheotwin.schedule import Stop
from rheotwin.solver import RUNAWAY

CHUNK_SECONDS = 0.1


@dataclass(frozen=True)
class Outcome:
    """How a run ended: status, a sentence, an exit code, and what it cost.

    `processor_seconds` is the processor time of stepping, of all threads: where others work too the clock tells less.
    """

    status: str
    message: str
    exit_code: int
    time: float
    steps: int
    solve_seconds: float
    loop_seconds: float
    processor_seconds: float = 0.0


class _InterruptFlag:
    raised = False


@contextmanager
def _interrupt_flag() -> Iterator[_InterruptFlag]:
    """Turn ctrl-C (and a polite kill) into a flag, so that the record is closed properly."""
    flag = _InterruptFlag()

    def raise_flag(signum: int, frame: FrameType | None) -> None:
        flag.raised = True

    previous = {}
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            previous[number] = signal.signal(number, raise_flag)
    except ValueError:  # not in the main thread: the caller handles its own signals
        previous = {}
    try:
        yield flag
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def check_finite(run: Watched) -> None:
    """Raise `Diverged` with time and place if any node has left the range of sensible numbers."""
    simulation, problem = run.simulation, run.problem
    offset, limit = np.abs(simulation.positions - problem.points), RUNAWAY * problem.extent
    if offset.max() <= limit and np.isfinite(simulation.velocities).all():
        return
    bad = ~(offset.max(axis=1) <= limit) | ~np.isfinite(simulation.velocities).all(axis=1)
    node = int(np.flatnonzero(bad)[0])
    body = problem.body_of(node)
    advice = f"reduce the step (now {simulation.step_size:.4g} s"
    stable = simulation.stable_step
    advice += f", stable below about {stable:.4g} s)" if np.isfinite(stable) else ")"
    raise Diverged(
        time=simulation.time,
        body=body.name,
        node=node - body.first_node,
        position=tuple(float(x) for x in problem.points[node]),
        advice=f"{advice}, or check that motions and forces are not too abrupt",
    )


@dataclass
class _Clock:
    solve: float = 0.0
    processor: float = 0.0
    chunk: int = 16

    def advance(self, run: Watched, until: float) -> bool:
        """Take one chunk of steps and adapt the size of the next; return whether any was left to take."""
        begin, busy, steps = perf_counter(), process_time(), run.simulation.step_count
        run.simulation.advance(until, self.chunk)
        spent = perf_counter() - begin
        self.solve += spent
        self.processor += process_time() - busy
        taken = run.simulation.step_count - steps
        if taken == self.chunk and spent < CHUNK_SECONDS:
            self.chunk *= 2
        elif spent > 3.0 * CHUNK_SECONDS:
            self.chunk = max(1, self.chunk // 2)
        return taken > 0


def _passed(run: Watched, time: float) -> bool:
    """Return whether `time` [s] lies behind; what is due at the very time a run was stopped is still to be done."""
    return run.simulation.time > time + 0.5 * run.simulation.step_size


def _reached(run: Watched, time: float) -> bool:
    return run.simulation.time >= time - 0.5 * run.simulation.step_size


def run_loop(run: Watched, stops: Sequence[Stop], observers: Sequence[Observer]) -> Outcome:
    """Advance through `stops` (those already behind the simulation are skipped) and report the outcome."""
    begin, clock = perf_counter(), _Clock()
    resumed = run.simulation.step_count > 0
    status, message, code = "complete", "", EXIT_OK
    for observer in observers:
        observer.start(run)
    with _interrupt_flag() as flag:
        try:
            for stop in stops:
                if resumed and _passed(run, stop.time):
                    continue
                while not _reached(run, stop.time) and not flag.raised:
                    # A time halfway between two steps may round to neither: no step taken means as near as it gets.
                    if not clock.advance(run, stop.time):
                        break
                    check_finite(run)
                    check_tools(run)
                    check_squeezed(run)
                    for observer in observers:
                        observer.tick(run)
                if flag.raised:
                    status, code = "interrupted", EXIT_INTERRUPTED
                    message = f"interrupted at t = {run.simulation.time:.6g} s"
                    break
                for observer in observers:
                    observer.stop(run, stop)
        except Stopped as error:
            status, message, code = "diverged", str(error), EXIT_DIVERGED
            if error.time is None:
                message = f"the run stopped after t = {run.simulation.time:.6g} s: {message}"
        except BaseException as error:
            for observer in observers:
                observer.finish(run, status="failed", message=str(error))
            raise
        for observer in observers:
            observer.finish(run, status=status, message=message)
    return Outcome(
        status=status,
        message=message,
        exit_code=code,
        time=run.simulation.time,
        steps=run.simulation.step_count,
        solve_seconds=clock.solve,
        loop_seconds=perf_counter() - begin,
        processor_seconds=clock.processor,
    )
