"""Motions and rigid tools as plain arrays, for the compiled loops of both backends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.arrays import Array, Indices
from rheotwin.constraints.contact.triangulated import ToolMesh, joined
from rheotwin.constraints.motion import Motion, interpolate
from rheotwin.constraints.tools import GEOMETRY_SIZE, RigidTool
from rheotwin.kernels.compiled import compiled

SWEEPS = 100
"""Most rounds over the tools in one step; one is enough unless a node touches several, or a round one and a support."""
SETTLED = 1e-15
"""A round that moves no node further than this times the runaway distance is the last."""
IMMOVABLE = 1e-12
"""A node whose free components carry less than this share of a tool's normal is not pushed at all."""


class Tables(NamedTuple):
    """Several motions packed one after the other: rows offset[k]:offset[k+1] belong to motion k."""

    offset: Indices
    times: Array
    values: Array
    smooth: NDArray[np.bool_]
    current: Array
    """Scratch for one value, so that a step allocates nothing."""


class Tools(NamedTuple):
    """Rigid tools: shape, geometry, motion tables, and candidate nodes packed with offsets."""

    shape: Indices
    geometry: Array
    tables: Tables
    offset: Indices
    candidate: Indices
    surface: ToolMesh | None = None
    """Triangulated surfaces of all tools, with no triangles for tools of other shapes; None where no tool has any."""


@compiled
def table_value(tables: Tables, which: int, time: float, out: Array) -> None:
    """Write the value of one motion at `time` [s] into `out`."""
    rows = slice(tables.offset[which], tables.offset[which + 1])
    interpolate(tables.times[rows], tables.values[rows], tables.smooth[which], time, out)


def pack_tables(motions: Sequence[Motion], components: int) -> Tables:
    """Pack motions one after the other, their values padded to `components` columns."""
    offset = np.zeros(len(motions) + 1, dtype=np.int64)
    offset[1:] = np.cumsum([len(motion.times) for motion in motions])
    times, values = np.zeros(int(offset[-1])), np.zeros((int(offset[-1]), components))
    for k, motion in enumerate(motions):
        rows = slice(offset[k], offset[k + 1])
        times[rows] = motion.times
        values[rows, : motion.values.shape[1]] = motion.values
    smooth = np.array([motion.smooth for motion in motions], dtype=np.bool_)
    return Tables(offset, times, values, smooth, current=np.empty(components))


def pack_tools(tools: Sequence[RigidTool]) -> Tools:
    """Pack tool shapes, motions and candidate nodes."""
    offset = np.zeros(len(tools) + 1, dtype=np.int64)
    offset[1:] = np.cumsum([len(tool.candidates) for tool in tools])
    return Tools(
        shape=np.array([tool.shape for tool in tools], dtype=np.int64),
        geometry=np.array([tool.geometry for tool in tools]).reshape(len(tools), GEOMETRY_SIZE),
        tables=pack_tables([tool.motion for tool in tools], 4),
        offset=offset,
        candidate=np.concatenate([np.zeros(0, np.int64), *(tool.candidates for tool in tools)]).astype(np.int64),
        surface=joined([tool.surface for tool in tools]),
    )
