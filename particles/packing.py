"""Flatten a problem's supports, loads and tools into the plain arrays the compiled loop reads."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.motion import Motion
from rheotwin.constraints.tools import GEOMETRY_SIZE
from rheotwin.particles.boundary import Boundary, Held, Loads, Nodes, Tables, Tools
from rheotwin.problem import Problem
from rheotwin.tensors import padded

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


def pack_tables(motions: Sequence[Motion], components: int) -> Tables:
    """Pack motions one after the other, their values padded to `components` columns."""
    offset = np.zeros(len(motions) + 1, dtype=np.int64)
    offset[1:] = np.cumsum([len(motion.times) for motion in motions])
    values = np.zeros((int(offset[-1]), components))
    times = np.zeros(int(offset[-1]))
    for k, motion in enumerate(motions):
        rows = slice(offset[k], offset[k + 1])
        times[rows] = motion.times
        values[rows, : motion.values.shape[1]] = motion.values
    smooth = np.array([motion.smooth for motion in motions], dtype=np.bool_)
    return Tables(offset, times, values, smooth, current=np.empty(components))


def pack_nodes(problem: Problem, runaway: float) -> Nodes:
    """Pack rest positions, free components, masses and weights."""
    return Nodes(
        rest=padded(problem.points),
        free=padded((problem.owners < 0).astype(float)),
        mass=problem.masses.copy(),
        weight=padded(problem.masses[:, None] * problem.gravity),
        runaway=runaway,
    )


def pack_held(problem: Problem) -> Held:
    """Pack held components; in fewer than three dimensions the unused ones have no force and need no holding.

    A component that several fixed supports name is held once, by the first.
    """
    node, component = np.nonzero(problem.owners >= 0)
    motion = problem.owners[node, component]
    order = np.argsort(motion, kind="stable")  # one look at each motion's table in a step
    return Held(
        node[order], component[order], motion[order], pack_tables([item.motion for item in problem.prescribed], 3)
    )


def pack_loads(problem: Problem) -> Loads:
    """Pack nodal loads and their factors over time."""
    counts = [len(load.nodes) for load in problem.loads]
    return Loads(
        node=np.concatenate([load.nodes for load in problem.loads] or [np.zeros(0, np.int64)]).astype(np.int64),
        share=np.concatenate([padded(load.shares) for load in problem.loads] or [np.zeros((0, 3))]),
        motion=np.repeat(np.arange(len(counts)), counts).astype(np.int64),
        tables=pack_tables([load.factor for load in problem.loads], 1),
    )


def pack_tools(problem: Problem) -> Tools:
    """Pack tool shapes, motions and candidate nodes."""
    tools = problem.tools
    offset = np.zeros(len(tools) + 1, dtype=np.int64)
    offset[1:] = np.cumsum([len(tool.candidates) for tool in tools])
    return Tools(
        shape=np.array([tool.shape for tool in tools], dtype=np.int64),
        geometry=np.array([tool.geometry for tool in tools]).reshape(len(tools), GEOMETRY_SIZE),
        tables=pack_tables([tool.motion for tool in tools], 4),
        offset=offset,
        candidate=np.concatenate([tool.candidates for tool in tools] or [np.zeros(0, np.int64)]).astype(np.int64),
    )


def pack_boundary(problem: Problem, runaway: float) -> Boundary:
    """Pack everything that acts on nodes from outside; `runaway` [m] is the excursion that counts as diverged."""
    return Boundary(pack_nodes(problem, runaway), pack_held(problem), pack_loads(problem), pack_tools(problem))
