"""Named hooks around a run: whoever wants to watch or store something is an observer."""

from __future__ import annotations

from dataclasses import dataclass

from rheotwin.problem import Problem
from rheotwin.schedule import Stop
from rheotwin.solver import Simulation


@dataclass(frozen=True)
class Watched:
    """What observers see of a run: the problem, the simulation and how long it shall last [s]."""

    problem: Problem
    simulation: Simulation
    duration: float


class Observer:
    """Called by the run loop; whoever needs only some of the hooks leaves the others, which do nothing.

    `tick` comes often, `stop` at every planned output time.
    """

    def start(self, run: Watched) -> None:
        """Prepare; the simulation stands at its first (or resumed) time."""

    def tick(self, run: Watched) -> None:
        """Glance at the run between two chunks of steps."""

    def stop(self, run: Watched, stop: Stop) -> None:
        """Write what is due at this planned time."""

    def finish(self, run: Watched, *, status: str, message: str) -> None:
        """Close; `status` is complete, interrupted, diverged or failed."""
