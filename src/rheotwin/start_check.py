"""A look at the tools before a run: those that start inside a body, and those too fast for the steps."""

from __future__ import annotations

import warnings

import numpy as np

from rheotwin.arrays import Array
from rheotwin.constraints.motion import Motion
from rheotwin.constraints.tools import CENTER, PLANE, REFERENCE, RigidTool, gaps_in_pose, turning_reach
from rheotwin.meshing import smallest_surface_edge
from rheotwin.problem import Problem, ProblemBody
from rheotwin.tensors import padded

TOUCHING = 1e-6
"""A tool deeper inside than this share of a body's size at the start is worth a warning."""
MOST_PARTS = 64
"""Parts a default step is divided into, at most, for the sake of fast tools."""
CLOSE = 0.9
"""Share of the smallest edge that a tool then moves in a step."""
SAMPLES, SOON = 512, 1e-7
"""Times at which the speed of a tool that forces move is looked at, and the first as a share of the duration."""


def warn_of_buried_tools(tools: tuple[RigidTool, ...], bodies: tuple[ProblemBody, ...], points: Array) -> None:
    """Warn of tools that have nodes inside them at the start, or start inside a body themselves."""
    size = float(np.max(np.ptp(points, axis=0)))
    places = padded(points)
    for tool in tools:
        gaps = gaps_in_pose(tool, tool.motion.at(0.0), places[tool.candidates])
        inside = int(np.count_nonzero(gaps < -TOUCHING * size))
        if inside:
            warnings.warn(
                f"tools.{tool.name}: {inside} surface nodes start inside it, by up to {-gaps.min():.4g} m; the first "
                "step pushes them out at once; move `center` or start the motion outside",
                stacklevel=2,
            )
        for body in bodies:
            if _starts_within(tool, body, TOUCHING * size):
                warnings.warn(
                    f"tools.{tool.name}: it starts inside body '{body.name}', whose surface it cannot touch from "
                    "there; move `center` outside",
                    stacklevel=2,
                )


def _starts_within(tool: RigidTool, body: ProblemBody, margin: float) -> bool:
    """Tell whether the tool's centre (of a bar's face: a point just behind it) lies in an element of the body."""
    center = tool.geometry[CENTER : CENTER + 3] + tool.motion.at(0.0)[:3]
    if tool.surface is not None:
        # the centre of a surface from a file may be anywhere, its points are on the tool
        center = center + tool.surface.corner[0, :3]
    if tool.shape == PLANE:
        center = center - 10.0 * margin * tool.geometry[REFERENCE : REFERENCE + 3]
    low, high = body.mesh.p.min(axis=1), body.mesh.p.max(axis=1)
    place = center[: len(low)]
    if np.any(place <= low + margin) or np.any(place >= high - margin):
        return False
    try:
        body.mesh.element_finder()(*place[:, None])
    except ValueError:  # scikit-fem's word for a point outside of all elements
        return False
    return True


def warn_of_fast_tools(problem: Problem, step: float) -> None:
    """Warn of tools that move further than the smallest edge of a body's surface in one `step` [s].

    Contact is looked for at the end of each step: what was passed meanwhile is never felt.
    """
    for tool in problem.tools:
        smallest, speed = _edge_and_speed(tool, problem)
        if speed * step > smallest:
            warnings.warn(
                f"tools.{tool.name}: it moves up to {speed * step:.4g} m in a step of {step:.4g} s, further than the "
                f"smallest surface edge ({smallest:.4g} m), and can jump over nodes; take steps below "
                f"{smallest / speed:.4g} s or move it more slowly",
                stacklevel=2,
            )


def divided_for_fast_tools(problem: Problem, usual: float) -> float:
    """Return a default step of `usual` [s], or so short that no tool passes the smallest edge of a surface in one.

    It is divided by 64 at most: beyond that a warning remains, because such a tool is more likely a slip of the pen.
    """
    pairs = (_edge_and_speed(tool, problem) for tool in problem.tools)
    passing = min((smallest / speed for smallest, speed in pairs if speed > 0.0), default=np.inf)
    return float(min(usual, max(CLOSE * passing, usual / MOST_PARTS)))


def _edge_and_speed(tool: RigidTool, problem: Problem) -> tuple[float, float]:
    """Return the smallest edge [m] of the surfaces a tool may touch and the largest speed [m/s] of its own surface."""
    bodies = [
        body for body in problem.bodies if np.isin(tool.candidates, np.arange(body.nodes.start, body.nodes.stop)).any()
    ]
    smallest = min((smallest_surface_edge(body.mesh) for body in bodies), default=np.inf)
    return smallest, max(_top_speed(tool, problem.extent), _driven_speed(tool, problem))


def table_rates(motion: Motion) -> Array:
    """Return the largest rate of each piece of a motion (pieces, components); a cubic ease has 1.5 times its mean."""
    if len(motion.times) < 2:
        return np.zeros((1, motion.values.shape[1]))
    peak = 1.5 if motion.smooth else 1.0
    return np.asarray(peak * np.diff(motion.values, axis=0) / np.diff(motion.times)[:, None])


def _top_speed(tool: RigidTool, extent: float) -> float:
    """Return the largest speed [m/s] of a tool's surface along its table; turning round tools stay where they are."""
    rates = table_rates(tool.motion)
    if tool.drive is not None:
        rates = np.where(tool.drive.free, 0.0, rates) + np.where(tool.drive.free, tool.drive.velocity, 0.0)
    speeds = np.linalg.norm(rates[:, :3], axis=1) + np.abs(rates[:, 3]) * _reach(tool, extent)
    return float(speeds.max())


def _driven_speed(tool: RigidTool, problem: Problem) -> float:
    """Return the largest speed [m/s] that forces alone, v = v0 + int F/M dt, give a tool on its way through the bodies.

    Beyond the gap at the start and the extent of the bodies it has either met what holds it up or passed by.
    """
    if tool.drive is None or len(tool.candidates) == 0:
        return 0.0
    end, force = problem.scene.duration, tool.drive.force
    early = end * np.geomspace(SOON, 1.0, SAMPLES)  # a strong force is through long before a weak one has begun
    times = np.unique(np.concatenate([np.linspace(0.0, end, SAMPLES), early, force.times[force.times < end]]))
    times = times[times >= 0.0]
    rates = np.array([force.at(time) for time in times]) * tool.drive.inverse_masses
    start = np.where(tool.drive.free, tool.drive.velocity, 0.0)
    from scipy.integrate import cumulative_trapezoid  # loads much that few runs need

    velocities = start + cumulative_trapezoid(rates, times, axis=0, initial=0.0)
    way = np.linalg.norm(cumulative_trapezoid(velocities, times, axis=0, initial=0.0)[:, :3], axis=1)
    gaps = gaps_in_pose(tool, tool.motion.at(0.0), padded(problem.points)[tool.candidates])
    through = max(0.0, float(gaps.min())) + problem.extent
    count = min(len(times), int(np.count_nonzero(np.maximum.accumulate(way) < through)) + 1)
    speeds = np.linalg.norm(velocities[:, :3], axis=1) + np.abs(velocities[:, 3]) * _reach(tool, problem.extent)
    return float(speeds[:count].max())


def _reach(tool: RigidTool, extent: float) -> float:
    """Return how far [m] from its axis a tool has surface that moves across itself when it turns."""
    reach = turning_reach(tool)
    return reach if np.isfinite(reach) else extent
