"""Writes a row of numbers over time: tool and support forces, probed nodes, volumes, energies."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from rheotwin.meshing import element_measures
from rheotwin.observers.protocol import Quiet, Watched
from rheotwin.problem import Problem
from rheotwin.record import RecordWriter
from rheotwin.rings import ring_volumes
from rheotwin.schedule import Stop
from rheotwin.solver import tool_poses

LINK = "link."
"""What the names of links among the reactions begin with: the tension of each of their members."""
MOMENT = ".moment"
"""What the names of moments among the reactions end with; no name of a scene has a dot in it."""
TURNS = {1: "", 2: "z", 3: "xyz"}
"""Axes a moment can be about."""
MEASURE_UNITS = {1: "m", 2: "m2", 3: "m3"}


def _tensions(link: str, members: int) -> list[str]:
    """Return the columns of a link: one, or one for each member of a chain, from 1 on."""
    return [f"{link}.tension"] if members == 1 else [f"{link}.tension_{k + 1}" for k in range(members)]


def probe_columns(problem: Problem, energies: Iterable[str]) -> dict[str, str]:
    """Return every column of the probe table with its unit; `energies` are those the solver accounts for."""
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
        columns |= {f"support.{support.name}.force_{axis}": "N" for axis in axes}
    for link in problem.links:
        columns |= dict.fromkeys(_tensions(f"{LINK}{link.name}", len(link.nodes)), "N")
    for probe in problem.probes:
        columns |= {f"probe.{probe}.displacement_{axis}": "m" for axis in axes}
        columns |= {f"probe.{probe}.velocity_{axis}": "m/s" for axis in axes}
    return columns


def probe_values(run: Watched) -> dict[str, float]:
    """Return the current value of every column."""
    problem, simulation = run.problem, run.simulation
    axes = "xyz"[: problem.dimension]
    measures = ring_volumes if problem.scene.axisymmetric else element_measures
    values = {f"energy.{name}": energy for name, energy in simulation.energy().items()}
    for body in problem.bodies:
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


class Probes(Quiet):
    """Feeds the record's probe table."""

    def __init__(self, writer: RecordWriter) -> None:
        self._writer = writer

    def stop(self, run: Watched, stop: Stop) -> None:
        """Write a row if one is planned."""
        if stop.probe:
            self._writer.write_probe_row(run.simulation.time, probe_values(run))
