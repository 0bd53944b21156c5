"""Contacts that nothing can satisfy: nodes that tools, or a tool and a support, leave no place to be."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.laws.form import normal
from rheotwin.constraints.tools import CENTER, RigidTool, bounding_radius, gaps_in_pose, tool_gaps
from rheotwin.errors import Squeezed
from rheotwin.observers.protocol import Watched
from rheotwin.problem import Problem
from rheotwin.solver import tool_poses
from rheotwin.tensors import padded

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

DEEP = 1e-3
"""A node deeper than this share of the extent of all bodies in a tool that does not give way could not leave it."""


def check_squeezed(run: Watched) -> None:
    """Raise `Squeezed` if a surface node is deep in a tool of the laws exact or impulse that may touch it.

    Either law ends every step outside of a tool, to a depth that falls with the step, unless something is in the way:
    another tool, or a support that holds the node. What a support already held inside at the start, of which the run
    has warned, must not get deeper by as much.
    """
    problem = run.problem
    hard = _hard_tools(problem)
    if not hard:
        return
    x, poses, depth = padded(run.simulation.positions), tool_poses(problem, run.simulation), DEEP * problem.extent
    found: dict[int, tuple[Indices, Array]] = {}
    for row in hard:
        tool = problem.tools[row]
        nodes, gaps = _inside(tool, poses[row], x, depth, problem.dimension)
        if len(nodes):
            chosen = gaps < -depth - _held_at_start(problem, tool, nodes)
            if chosen.any():
                found[row] = nodes[chosen], gaps[chosen]
    if found:
        raise _squeezed(run, x, poses, hard, found, depth)


def _hard_tools(problem: Problem) -> list[int]:
    """Return the tools that do not give way: all of them in a problem without laws."""
    if problem.contact is None:
        return list(range(len(problem.tools)))
    return [row for row, law in enumerate(problem.contact.tool_laws) if not normal(law.law).soft]


def _inside(tool: RigidTool, pose: Array, x: Array, depth: float, dimension: int) -> tuple[Indices, Array]:
    """Return the candidates more than `depth` [m] inside of a tool, and their gaps [m]."""
    nodes = tool.candidates
    if tool.surface is not None:  # distances to triangles cost most, and a body is mostly elsewhere
        center = tool.geometry[CENTER : CENTER + 3] + pose[:3]
        nodes = nodes[np.linalg.norm(x[nodes] - center, axis=1) < bounding_radius(tool, dimension)]
    gaps = gaps_in_pose(tool, pose, x[nodes])
    deep = gaps < -depth
    return nodes[deep], gaps[deep]


def _held_at_start(problem: Problem, tool: RigidTool, nodes: Indices) -> Array:
    """Return how deep [m] in a tool nodes began that a support holds; 0 for all others, which the first step moves."""
    gaps = tool_gaps(tool, 0.0, padded(problem.points[nodes]))[0]
    return np.where(np.any(problem.owners[nodes] >= 0, axis=1), np.maximum(-gaps, 0.0), 0.0)


def _squeezed(
    run: Watched, x: Array, poses: Array, hard: list[int], found: dict[int, tuple[Indices, Array]], depth: float
) -> Squeezed:
    """Say which tools and supports have the nodes of a body between them, the one with the deepest node."""
    problem = run.problem
    nodes = np.concatenate([deep for deep, _ in found.values()])
    gaps = np.concatenate([gap for _, gap in found.values()])
    deepest = int(gaps.argmin())
    body = problem.body_of(int(nodes[deepest]))
    mine = np.unique(nodes[(nodes >= body.nodes.start) & (nodes < body.nodes.stop)])
    tools = [
        problem.tools[row].name
        for row in hard
        # A tool that touches what is deep in another one is in its way.
        if np.any(
            gaps_in_pose(problem.tools[row], poses[row], x[np.intersect1d(mine, problem.tools[row].candidates)]) < depth
        )
    ]
    owners = problem.owners[mine]
    return Squeezed(
        time=run.simulation.time,
        tools=tuple(tools),
        supports=tuple(problem.prescribed[owner].name for owner in np.unique(owners[owners >= 0])),
        body=body.name,
        node=int(nodes[deepest]) - body.first_node,
        nodes=len(mine),
        depth=-float(gaps[deepest]),
    )
