"""A second body under the same hand: it follows the rows of the first at its own pace."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock, Thread
from time import sleep
from typing import Any

import numpy as np

from rheotwin.scene import Scene
from rheotwin.touch.hand import Live
from rheotwin.touch.session import forces_of

WAIT = 2e-3
"""How long to wait for the first body [s]."""


class Beside:
    """A second simulation of a scene, led by what the hand did to the first."""

    def __init__(self, first: Live, scene: Scene, solver: str, options: Mapping[str, Any]) -> None:
        self.name, self._first, self._lock, self.ended = solver, first, Lock(), False
        self.live = Live(scene, solver, options, period=first.period, case=scene.case)
        self.forces: dict[str, float] = {}
        self.positions = self.live.simulation.positions.copy()
        self._thread = Thread(target=self._run, daemon=True)

    @property
    def time(self) -> float:
        """Time reached [s]."""
        return self.live.time

    def start(self) -> None:
        """Begin to follow."""
        self._thread.start()

    def begin_again(self, first: Live) -> None:
        """Go back to the start with the first body."""
        with self._lock:
            self._first = first
            self.live.begin_again()

    def change(self, law: str, key: str, value: float, first: Live) -> None:
        """Take over a number of a law."""
        with self._lock:
            self.live, self._first = self.live.changed(law, key, value), first

    def _run(self) -> None:
        while not self.ended:
            with self._lock:
                followed = self.live.row < self._first.row and self.follow()
            if not followed:
                sleep(WAIT)

    def follow(self) -> bool:
        """Take one period; return whether it could be taken."""
        live, first, row = self.live, self._first, self.live.row
        if row in first.events:
            point = first.events[row]
            if point is None:
                live.release()
            elif live.held is None:
                live.pick(*point)
        grabs, tables = first.simulation.live_arrays()
        hand = grabs.tables.values[row + 2, : live.problem.dimension].copy()
        tools = {tool.name: tables.values[tables.offset[tool.row] + row + 2].copy() for tool in first.tools}
        live.period_begins(hand, tools)
        going = live.advance()
        if going and live.row % 10 == 0:
            self.forces, self.positions = (
                forces_of(live.problem, live.simulation),
                np.array(live.simulation.positions),
            )
        self.ended = self.ended or not going
        return going
