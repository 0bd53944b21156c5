"""Writes a frame of the series at planned times, or when the bodies moved far enough."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rheotwin.observers.protocol import Quiet, Watched
from rheotwin.record import RecordWriter
from rheotwin.schedule import Stop
from rheotwin.solver import tool_poses
from rheotwin.tensors import padded
from rheotwin.tool_surface import drawn_tools


@dataclass(frozen=True)
class LastFrame:
    """Time [s] and positions (N, 3) [m] of the newest frame."""

    time: float
    positions: NDArray[np.float64]


class Frames(Quiet):
    """Feeds the record's series; a resumed run with adaptive output needs the last frame written before it."""

    def __init__(self, writer: RecordWriter, last: LastFrame | None = None) -> None:
        self._writer = writer
        self._last = last

    def start(self, run: Watched) -> None:
        """Make the tools' surfaces once."""
        self._tools = drawn_tools(run.problem)

    def _due(self, run: Watched, positions: NDArray[np.float64]) -> bool:
        adaptive = run.problem.scene.output.adaptive
        if adaptive is None or self._last is None:
            return True
        time = run.simulation.time
        moved = np.linalg.norm(positions - self._last.positions, axis=1).max()
        overdue = time - self._last.time >= adaptive.longest * (1.0 - 1e-9)
        return bool(moved >= adaptive.change or overdue or time >= run.duration * (1.0 - 1e-9))

    def stop(self, run: Watched, stop: Stop) -> None:
        """Write a frame if one is due."""
        if not stop.frame:
            return
        simulation = run.simulation
        positions = padded(simulation.positions)
        if not self._due(run, positions):
            return
        every = simulation.fields()
        chosen = {name: every[name] for name in self._writer.manifest.fields}
        poses = tool_poses(run.problem, simulation)
        surfaces = [tool.posed(pose, positions) for tool, pose in zip(self._tools, poses, strict=bool(self._tools))]
        self._writer.write_frame(simulation.time, positions, chosen, surfaces)
        self._last = LastFrame(simulation.time, positions)
