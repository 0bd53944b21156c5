"""Threads only while they win: a busy core makes every barrier wait, a hundred times longer than the step itself."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

Take = Callable[[int, int], int]

SERIAL_STEPS, THREADED_STEPS = 64, 4
"""Steps in a row before the clock is looked at; few on threads, which may wait long in each."""
REFRESHED = 1024
"""Steps after which a serial time is too old to compare with."""
HOPELESS = 4.0
"""Times a serial step that a first step on threads may take for another try to follow at once."""
TRIED = 0.02
"""Share of the whole time that may be lost by trying threads."""


class Race:
    """Takes steps serially or on threads, whichever has been faster lately; both must give the same bits."""

    def __init__(self, serial: Take, threaded: Take, clock: Callable[[], float] = perf_counter) -> None:
        self._serial, self._threaded, self._clock = serial, threaded, clock
        self._serial_time, self._serial_age = 0.0, REFRESHED
        self._spent, self._lost = 0.0, 0.0
        self.threads_win = False

    def take(self, first: int, count: int) -> int:
        """Advance by `count` steps from step `first`; returns the steps taken."""
        taken = 0
        while taken < count:
            wanted, done = self._some(first + taken, count - taken)
            taken += done
            if done < wanted:
                break
        return taken

    def _some(self, first: int, most: int) -> tuple[int, int]:
        """Take a few steps; return how many were wanted and taken."""
        old = self._serial_age >= REFRESHED
        if old or not (self.threads_win or self._lost <= TRIED * self._spent):
            wanted = min(most, THREADED_STEPS if old else SERIAL_STEPS)
            done, seconds = self._timed(self._serial, first, wanted)
            if done:
                self._serial_time, self._serial_age = seconds / done, 0
            return wanted, done
        tried = 0
        if not self.threads_win:
            # The first step wakes the threads: it says whether they are hopeless, not whether they win.
            tried, seconds = self._on_threads(first, 1)
            if tried == 0 or most == 1 or seconds > HOPELESS * self._serial_time:
                return 1, tried
        wanted = min(most - tried, THREADED_STEPS)
        done, seconds = self._on_threads(first + tried, wanted)
        self.threads_win = seconds < done * self._serial_time
        return tried + wanted, tried + done

    def _on_threads(self, first: int, count: int) -> tuple[int, float]:
        done, seconds = self._timed(self._threaded, first, count)
        self._serial_age += done
        self._lost += max(0.0, seconds - done * self._serial_time)
        return done, seconds

    def _timed(self, take: Take, first: int, count: int) -> tuple[int, float]:
        begin = self._clock()
        done = take(first, count)
        seconds = self._clock() - begin
        self._spent += seconds
        return done, seconds
