"""Tools that forces move and that run away: thrown off by contact with steps too long for it."""

from __future__ import annotations

import numpy as np

from rheotwin.constraints.contact.setup import ToolDrive
from rheotwin.errors import Stopped
from rheotwin.observers.protocol import Watched
from rheotwin.solver import RUNAWAY, tool_poses

OWN = 2.0
"""How many times the way that forces alone could have taken a tool counts as its own: bounces, and errors of steps."""


def check_tools(run: Watched) -> None:
    """Raise `Stopped` if a tool that forces move is nowhere, or so far off that only contact can have thrown it there.

    A node is lost `RUNAWAY` body diagonals from its place, whatever brought it there. A tool may be that far for a
    good reason: it passed the bodies, or missed them, and falls for the rest of the run. So what its own speed and
    forces could have made of the time, |v0| t + int int |F|/M, is its own, and beyond it the same limit counts. A
    position tells more surely than a speed, which a body may give to a light tool for a moment. The angle may grow as
    it likes, as that of a roller does.
    """
    problem, simulation = run.problem, run.simulation
    if all(tool.drive is None for tool in problem.tools):
        return
    for tool, pose in zip(problem.tools, tool_poses(problem, simulation), strict=True):
        if tool.drive is None:
            continue
        limit, way = (
            RUNAWAY * problem.extent,
            np.linalg.norm((pose - tool.motion.at(0.0))[:3][list(tool.drive.free[:3])]),
        )
        if np.isfinite(pose).all() and (way <= limit or way <= limit + OWN * own_way(tool.drive, simulation.time)):
            continue
        advice = f"reduce the step (now {simulation.step_size:.4g} s), or make the tool heavier or its contact softer"
        raise Stopped(
            f"the run diverged at t = {simulation.time:.6g} s at tools.{tool.name}, {way:.4g} m from where it started, "
            f"further than its own forces take it: {advice}",
            time=simulation.time,
        )


def own_way(drive: ToolDrive, time: float) -> float:
    """Return |v0| t + int int |F|/M [m] of a tool's translations up to `time` [s], forces straight in between.

    |F| is at most the straight line between its own values: for it the integrals over each piece are exact.
    """
    free = np.array(drive.free[:3])
    times = np.append(drive.force.times[drive.force.times < time], time)
    times = np.unique(np.append(times[times > 0.0], 0.0))
    pull = np.array([np.linalg.norm((drive.force.at(at)[:3] * drive.inverse_masses[:3])[free]) for at in times])
    way, speed = 0.0, float(np.linalg.norm(np.array(drive.velocity[:3])[free]))
    for length, first, last in zip(np.diff(times), pull[:-1], pull[1:], strict=True):
        way += speed * length + (first / 3.0 + last / 6.0) * length**2
        speed += 0.5 * (first + last) * length
    return float(way)
