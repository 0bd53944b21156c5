"""Saves the complete state at the start, at planned times and when a run ends."""

from __future__ import annotations

from rheotwin.observers.protocol import Quiet, Watched
from rheotwin.record import RecordWriter
from rheotwin.schedule import Stop


class Checkpoints(Quiet):
    """Feeds the record's checkpoints; an interrupted or completed run can be resumed or extended."""

    def __init__(self, writer: RecordWriter) -> None:
        self._writer = writer

    def _save(self, run: Watched) -> None:
        self._writer.write_checkpoint(run.simulation.step_count, run.simulation.save())

    def start(self, run: Watched) -> None:
        """Save the first state: whatever happens to the run, there is something to resume from."""
        if run.simulation.step_count == 0:
            self._save(run)

    def stop(self, run: Watched, stop: Stop) -> None:
        """Save the state if planned."""
        if stop.checkpoint:
            self._save(run)

    def finish(self, run: Watched, *, status: str, message: str) -> None:
        """Save the last state, unless it has diverged."""
        if status in ("complete", "interrupted"):
            self._save(run)
