"""Writes a frame of the series at planned times, or when the bodies moved far enough."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheotwin.observers.protocol import Quiet, Watched
from rheotwin.record import RecordWriter
from rheotwin.schedule import Stop
from rheotwin.tool_surface import drawn_tools


class Frames(Quiet):
    """Feeds the record's series; `seconds` counts the time spent writing [s]."""

    def __init__(self, writer: RecordWriter) -> None:
        self._writer = writer
        self._last_time = -np.inf
        self._last_positions: NDArray[np.float64] | None = None

    def start(self, run: Watched) -> None:
        """Make the tools' surfaces once; a resumed run counts from where it stands."""
        self._tools = drawn_tools(run.problem)
        if run.simulation.step_count > 0:
            self._remember(run)

    def _remember(self, run: Watched) -> None:
        self._last_time = run.simulation.time
        self._last_positions = run.simulation.positions.copy()

    def _due(self, run: Watched) -> bool:
        adaptive = run.problem.scene.output.adaptive
        if adaptive is None or self._last_positions is None:
            return True
        time = run.simulation.time
        moved = np.linalg.norm(run.simulation.positions - self._last_positions, axis=1).max()
        overdue = time - self._last_time >= adaptive.longest * (1.0 - 1e-9)
        return bool(moved >= adaptive.change or overdue or time >= run.duration * (1.0 - 1e-9))

    def stop(self, run: Watched, stop: Stop) -> None:
        """Write a frame if one is due."""
        if not stop.frame or not self._due(run):
            return
        simulation = run.simulation
        every = simulation.fields()
        chosen = {name: every[name] for name in self._writer.manifest.fields}
        positions = np.zeros((len(simulation.positions), 3))
        positions[:, : run.problem.dimension] = simulation.positions
        surfaces = [tool.at(simulation.time) for tool in self._tools]
        self._writer.write_frame(simulation.time, positions, chosen, surfaces)
        self._remember(run)
