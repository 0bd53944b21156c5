"""The loop of a session: commands of the hand, steps of one period after the other, and the time they keep."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Lock
from time import perf_counter, sleep
from typing import Any, Protocol

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.touch.hand import Live
from rheotwin.touch.session import SAMPLE, forces_of, periods

FRAME_SECONDS = 1.0 / 60.0
"""A loop that is later than a frame lets the time go: it catches up at most that much."""
FOLLOW_SECONDS = 0.01
"""How fast the hand of the page is followed: what is missing falls by e in this time."""
LATE = np.array([0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, np.inf]) * 1e-3
"""Borders of the histogram of how late periods end [s]."""
NICE = -10
"""Priority asked for; without the right to it the loop goes on as it is."""


class Guide(Protocol):
    """Says before each period where hand and tools go."""

    def guide(self, live: Live) -> tuple[Array | None, dict[str, Array], float]:
        """Pick and release as wanted; return place of the hand, poses of tools, and which share of the way to go."""


@dataclass
class Wanted:
    """A hand that others lead, from any thread: what it should do next."""

    period: float
    hand: Array | None = None
    tools: dict[str, Array] = field(default_factory=dict)
    orders: deque[Callable[[Live], None]] = field(default_factory=deque)

    def pick(self, nodes: Indices, weights: Array) -> None:
        """Take hold of a point; the hand is then led from where that is."""

        def order(live: Live) -> None:
            self.hand = live.pick(nodes, weights)

        self.orders.append(order)

    def release(self) -> None:
        """Let go."""
        self.orders.append(lambda live: live.release())

    def guide(self, live: Live) -> tuple[Array | None, dict[str, Array], float]:
        """Carry out what was ordered, as soon as the hand is free for it."""
        while self.orders:
            if live.held is not None and live.held.end is not None:
                break  # it lets go in this period
            self.orders.popleft()(live)
        return self.hand, dict(self.tools), 1.0 - float(np.exp(-self.period / FOLLOW_SECONDS))


@dataclass
class Kept:
    """How the time was kept: periods, those met, and how late periods ended (counts between `LATE`)."""

    periods: int = 0
    met: int = 0
    work: float = 0.0
    late: Array = field(default_factory=lambda: np.zeros(len(LATE)))
    raised: bool = False

    def note(self, lateness: float, spent: float) -> None:
        """Count a period that ended `lateness` [s] after its deadline (before it, if negative)."""
        self.periods += 1
        self.met += lateness <= 0.0
        self.work += spent
        self.late[int(np.searchsorted(LATE, lateness))] += 1

    def sentence(self) -> str:
        """Say how the time was kept."""
        found = self.to_data()
        late = ", ".join(f"{name}: {count}" for name, count in found["late"].items())
        load = f", load {found['load']:.1f}" if found["load"] is not None else ""
        priority = "raised" if self.raised else "normal"
        return (
            f"{100 * found['met']:.2f} % of {self.periods} periods met, {1e3 * found['seconds a period']:.3f} ms of "
            f"work each ({priority} priority{load}); {late}"
        )

    def to_data(self) -> dict[str, Any]:
        """Return plain values."""
        names = ["in time", *(f"up to {1e3 * border:g} ms late" for border in LATE[1:-1]), "later"]
        return {
            "periods": self.periods,
            "met": self.met / max(1, self.periods),
            "seconds a period": self.work / max(1, self.periods),
            "raised priority": self.raised,
            "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
            "late": {name: int(count) for name, count in zip(names, self.late, strict=True) if count},
        }


@contextmanager
def raised_priority() -> Iterator[bool]:
    """Raise the priority of this thread if that is allowed; yield whether it was."""
    raised = False
    with suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, 0, NICE)  # on Linux: of the calling thread alone
        raised = True
    yield raised
    if raised:
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, 0)


class Loop:
    """Carries a live simulation from period to period; `pace` is its speed against the clock, None for any."""

    def __init__(self, live: Live, guide: Guide, *, pace: float | None = 1.0) -> None:
        self.live, self.guide, self.pace = live, guide, pace
        self.kept, self.lock = Kept(), Lock()
        self.sample = periods(SAMPLE, live.period)
        self.forces: list[tuple[float, dict[str, float]]] = []
        self.paused, self.ended, self.diverged, self.message = False, False, False, ""
        self.orders: deque[Callable[[], None]] = deque()
        self.watchers: list[Callable[[], None]] = []

    def run(self, until: float | None = None) -> None:
        """Go on until somebody sets `ended`, the time `until` [s] is reached, or there is nothing to go on with."""
        with raised_priority() as raised:
            self.kept.raised = raised
            deadline = perf_counter()
            while not self.ended and not (until is not None and self.live.time >= until - 0.5 * self.live.period):
                while self.orders:
                    self.orders.popleft()()
                    deadline = perf_counter()
                if self.paused:
                    if self.pace is None:
                        return
                    sleep(FRAME_SECONDS)
                    deadline = perf_counter()
                    continue
                begin = perf_counter()
                self.period()
                if self.pace is None:
                    continue
                deadline += self.live.period / self.pace
                now = perf_counter()
                self.kept.note(now - deadline, now - begin)
                if now < deadline:
                    sleep(deadline - now)
                elif now - deadline > FRAME_SECONDS:
                    deadline = now - FRAME_SECONDS

    def period(self) -> bool:
        """Take one period; return whether it can go on."""
        live = self.live
        if live.is_full:
            self.message = f"the session is full after {live.time:g} s: begin again to go on"
            self.paused = True
            return True
        with self.lock:
            hand, tools, follow = self.guide.guide(live)
            live.period_begins(hand, tools, follow)
            if not live.advance():
                self.message = (
                    f"the body was torn at t = {live.time:.6g} s: begin again, or --set SOLVER.step=.. shorter"
                )
                self.paused = self.diverged = True
                return False
            if live.row % self.sample == 0:
                self.forces.append((live.time, forces_of(live.problem, live.simulation)))
        for watcher in self.watchers if live.row % self.sample == 0 else ():
            watcher()
        return True

    def begin_again(self) -> None:
        """Go back to the start; for the thread of the loop."""
        with self.lock:
            self.live.begin_again()
            self.forces.clear()
            self.message, self.paused, self.diverged = "", False, False
