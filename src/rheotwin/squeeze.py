"""Contacts that nothing can satisfy: nodes squeezed between tools that have run into each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.motion import Motion
from rheotwin.constraints.tools import MESH, RigidTool, tool_gaps
from rheotwin.errors import Squeezed
from rheotwin.observers.protocol import Watched
from rheotwin.solver import tool_poses
from rheotwin.tensors import padded

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

DEEP = 1e-3
"""A node deeper than this share of the extent of all bodies in a tool that does not give way could not leave it."""


def check_squeezed(run: Watched) -> None:
    """Raise `Squeezed` if a free node at two tools of the laws exact or impulse is deep in one of them.

    Either law ends every step outside of a tool, unless another one is in the way: two at once are beyond it.
    """
    problem = run.problem
    if problem.contact is None:
        return
    hard = [row for row, law in enumerate(problem.contact.tool_laws) if law.law in ("exact", "impulse")]
    # distances to triangles cost most, and are asked for nowhere but where one analytic tool is deep already
    hard = sorted(hard, key=lambda row: problem.tools[row].shape == MESH)
    if len(hard) < 2:
        return
    x, poses, depth = padded(run.simulation.positions), tool_poses(problem, run.simulation), DEEP * problem.extent
    loose, inside = np.all(problem.owners < 0, axis=1), np.full(len(x), -1)
    lowest = np.zeros(len(x))
    for row in hard:
        tool = problem.tools[row]
        nodes = tool.candidates[loose[tool.candidates]]
        nodes = nodes[inside[nodes] >= 0] if tool.shape == MESH else nodes
        gaps = _gaps(tool, poses[row], x[nodes])
        there, gaps = nodes[gaps < depth], gaps[gaps < depth]
        # the impulses of the last visit put a node on the surface of one tool, however deep in the other
        both = there[(inside[there] >= 0) & (np.minimum(gaps, lowest[there]) < -depth)]
        if len(both):
            raise Squeezed(
                time=run.simulation.time,
                tools=(problem.tools[inside[both[0]]].name, tool.name),
                body=problem.body_of(int(both[0])).name,
                nodes=len(both),
            )
        inside[there], lowest[there] = row, np.minimum(gaps, lowest[there])


def _gaps(tool: RigidTool, pose: Array, points: Array) -> Array:
    """Return gaps (n,) [m] of points (n, 3) to a tool in its pose, wherever forces have moved it."""
    return tool_gaps(replace(tool, motion=Motion(np.zeros(1), pose[None, :])), 0.0, points)[0]
