"""What a run writes into its record: frames of the series, rows of the probe table, checkpoints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rheotwin.arrays import Array
from rheotwin.constraints.grabs import GRAB
from rheotwin.fields import CELL_STRESS
from rheotwin.meshing import element_measures
from rheotwin.observers.protocol import Observer, Watched
from rheotwin.problem import Problem
from rheotwin.record import RecordWriter, ToolSurface
from rheotwin.rings import ring_volumes
from rheotwin.schedule import Stop
from rheotwin.solver import Simulation, Splitting, cell_stress, tool_poses
from rheotwin.tensors import padded, von_mises
from rheotwin.tool_surface import drawn_tools

LINK = "link."
"""What the names of links among the reactions begin with: the tension of each of their members."""
MOMENT = ".moment"
"""What the names of moments among the reactions end with; no name of a scene has a dot in it."""
TURNS = {1: "", 2: "z", 3: "xyz"}
"""Axes a moment can be about."""
MEASURE_UNITS = {1: "m", 2: "m2", 3: "m3"}


@dataclass(frozen=True)
class LastFrame:
    """Time [s] and positions (N, 3) [m] of the newest frame."""

    time: float
    positions: Array


class Frames(Observer):
    """Feeds the record's series; a resumed run with adaptive output needs the last frame written before it."""

    def __init__(self, writer: RecordWriter, last: LastFrame | None = None) -> None:
        self._writer = writer
        self._last = last

    def start(self, run: Watched) -> None:
        """Make the tools' surfaces once."""
        self._tools = drawn_tools(run.problem)

    def _due(self, run: Watched, positions: Array) -> bool:
        adaptive = run.problem.scene.output.adaptive
        if adaptive is None or self._last is None:
            return True
        time = run.simulation.time
        if len(positions) != len(self._last.positions):
            return True
        moved = np.linalg.norm(positions - self._last.positions, axis=1).max()
        overdue = time - self._last.time >= adaptive.longest * (1.0 - 1e-9)
        return bool(moved >= adaptive.change or overdue or time >= run.duration * (1.0 - 1e-9))

    def stop(self, run: Watched, stop: Stop) -> None:
        """Write a frame if one is due."""
        if not stop.frame:
            return
        simulation = run.simulation
        positions = padded(simulation.positions)
        particles = simulation.particles() if isinstance(simulation, Splitting) else None
        watched = positions if particles is None else particles[0]
        if not self._due(run, watched):
            return
        self._last = LastFrame(simulation.time, watched)
        poses = tool_poses(run.problem, simulation)
        surfaces = [tool.posed(pose, positions) for tool, pose in zip(self._tools, poses, strict=bool(self._tools))]
        if particles is not None:
            surface = run.problem.scene.output.surface
            self._writer.write_particles(simulation.time, *particles, surfaces, surface=surface)
        if not isinstance(simulation, Splitting) or simulation.time < simulation.first_split:
            self._write_nodes(simulation, positions, surfaces)

    def _write_nodes(self, simulation: Simulation, positions: Array, tools: Sequence[ToolSurface]) -> None:
        every = simulation.fields()
        if CELL_STRESS in self._writer.manifest.fields:
            stress = cell_stress(simulation)
            every[CELL_STRESS] = np.stack([stress[:, :3].mean(axis=1), von_mises(stress)], axis=1)
        chosen = {name: every[name] for name in self._writer.manifest.fields}
        self._writer.write_frame(simulation.time, positions, chosen, tools)


def _tensions(link: str, members: int) -> list[str]:
    """Return the columns of a link: one, or one for each member of a chain, from 1 on."""
    return [f"{link}.tension"] if members == 1 else [f"{link}.tension_{k + 1}" for k in range(members)]


def probe_columns(problem: Problem, energies: Iterable[str], counts: Iterable[str] = ()) -> dict[str, str]:
    """Return every column of the probe table with its unit; `energies` and `counts` are those the solver has."""
    axes = "xyz"[: problem.dimension]
    columns = {f"energy.{name}": "J" for name in energies}
    measure = "m3" if problem.scene.axisymmetric else MEASURE_UNITS[problem.dimension]
    columns |= {f"volume.{body.name}": measure for body in problem.bodies}
    for tool in problem.tools:
        columns |= {f"tool.{tool.name}.force_{axis}": "N" for axis in axes}
        columns |= {f"tool.{tool.name}.displacement_{axis}": "m" for axis in axes}
        if problem.contact is not None:
            columns |= {f"tool.{tool.name}.moment_{axis}": "N m" for axis in TURNS[problem.dimension]}
            columns |= {f"tool.{tool.name}.angle": "rad"} if problem.dimension > 1 else {}
    for support in problem.prescribed:
        columns |= {f"support.{support.support}.force_{axis}": "N" for axis in axes}
    for grab in problem.grabs:
        columns |= {f"{GRAB}{grab.name}.force_{axis}": "N" for axis in axes}
    for link in problem.links:
        columns |= dict.fromkeys(_tensions(f"{LINK}{link.name}", len(link.nodes)), "N")
    for probe in problem.probes:
        columns |= {f"probe.{probe}.displacement_{axis}": "m" for axis in axes}
        columns |= {f"probe.{probe}.velocity_{axis}": "m/s" for axis in axes}
    return columns | {f"count.{name}": "1" for name in counts}


def probe_values(run: Watched) -> dict[str, float]:
    """Return the current value of every column."""
    problem, simulation = run.problem, run.simulation
    axes = "xyz"[: problem.dimension]
    measures = ring_volumes if problem.scene.axisymmetric else element_measures
    values = {f"energy.{name}": energy for name, energy in simulation.energy().items()}
    splitting = simulation if isinstance(simulation, Splitting) else None
    if splitting is not None:
        values |= {f"count.{name}": float(count) for name, count in splitting.counts().items()}
        fields = splitting.particles()[1]
        volumes = np.bincount(fields["body"].astype(int), fields["volume"], len(problem.bodies))
        values |= {f"volume.{body.name}": float(volume) for body, volume in zip(problem.bodies, volumes, strict=True)}
    for body in () if splitting is not None else problem.bodies:
        now = replace(body.mesh, doflocs=np.ascontiguousarray(simulation.positions[body.nodes].T))
        values[f"volume.{body.name}"] = float(measures(now).sum())
    for name, force in simulation.reactions().items():
        if name.startswith(LINK):
            values |= dict(zip(_tensions(name, len(force)), force.tolist(), strict=True))
        elif name.endswith(MOMENT):
            values |= {f"{name}_{axis}": float(force[k]) for k, axis in enumerate(TURNS[problem.dimension])}
        else:
            values |= {f"{name}.force_{axis}": float(force[k]) for k, axis in enumerate(axes)}
    for tool, pose in zip(problem.tools, tool_poses(problem, simulation), strict=True):
        values |= {f"tool.{tool.name}.displacement_{axis}": float(pose[k]) for k, axis in enumerate(axes)}
        if problem.contact is not None and problem.dimension > 1:
            values[f"tool.{tool.name}.angle"] = float(pose[3])
    for name, node in problem.probes.items():
        moved = simulation.positions[node] - problem.points[node]
        for k, axis in enumerate(axes):
            values[f"probe.{name}.displacement_{axis}"] = float(moved[k])
            values[f"probe.{name}.velocity_{axis}"] = float(simulation.velocities[node, k])
    return values


class Probes(Observer):
    """Feeds the record's probe table."""

    def __init__(self, writer: RecordWriter) -> None:
        self._writer = writer

    def stop(self, run: Watched, stop: Stop) -> None:
        """Write a row if one is planned."""
        if stop.probe:
            self._writer.write_probe_row(run.simulation.time, probe_values(run))


class Checkpoints(Observer):
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
