"""Poses and velocities of tools during a step: driven components follow their table, free ones their forces.

    free     V <- V + k F/M,        pose_end = pose + h V      (k: duration of the kick; contact changes V later)
    driven   pose_end from the table,  V = (pose_end - pose)/h

The velocity of the surface at r from the centre is V + w a x r with a the axis: a roller turns and a belt moves on
although their gap stays what it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.setup import POSE_SIZE
from rheotwin.constraints.motion import at_rest
from rheotwin.constraints.packed import Tables, pack_tables, table_value
from rheotwin.constraints.tools import RigidTool
from rheotwin.kernels.compiled import compiled

Array = NDArray[np.float64]


class Drives(NamedTuple):
    """`free` (T, 4): 1 where forces move a pose component; `inverse_mass` (T, 4), 0 where not; tables of the forces."""

    free: Array
    inverse_mass: Array
    force: Tables


class ToolMotion(NamedTuple):
    """State of the tools: `pose` (T, 4) [m, m, m, rad] reached, `velocity` (T, 4).

    A step's scratch (T, 4): `end` are the poses it would end with, `before_kick` velocities before forces have acted.
    """

    pose: Array
    velocity: Array
    end: Array
    before_kick: Array


def pack_drives(tools: Sequence[RigidTool]) -> Drives:
    """Pack what moves tools beside their motions."""
    drives = [tool.drive for tool in tools]
    free = [np.zeros(POSE_SIZE) if drive is None else np.array(drive.free, float) for drive in drives]
    inverse = [np.zeros(POSE_SIZE) if drive is None else drive.inverse_masses for drive in drives]
    forces = [at_rest(POSE_SIZE) if drive is None else drive.force for drive in drives]
    return Drives(
        np.array(free).reshape(-1, POSE_SIZE),
        np.array(inverse).reshape(-1, POSE_SIZE),
        pack_tables(forces, POSE_SIZE),
    )


def tools_at_start(tools: Sequence[RigidTool]) -> ToolMotion:
    """Return the tools where their motions have them at time zero, free components with their initial velocity."""
    pose = np.array([tool.motion.at(0.0) for tool in tools]).reshape(-1, POSE_SIZE)
    velocity = np.zeros_like(pose)
    for row, tool in enumerate(tools):
        if tool.drive is not None:
            velocity[row] = np.where(tool.drive.free, tool.drive.velocity, 0.0)
    return ToolMotion(pose, velocity, pose.copy(), velocity.copy())


@compiled(inside=True)
def predict_tools(motions: Tables, drives: Drives, tools: ToolMotion, end: float, h: float, kick: float) -> None:
    """Put the poses at `end` [s] into `tools.end`, free components as they would be without contact."""
    for tool in range(tools.pose.shape[0]):
        table_value(motions, tool, end, tools.end[tool])
        table_value(drives.force, tool, end - h, drives.force.current)
        for c in range(4):
            if drives.free[tool, c] != 0.0:
                tools.before_kick[tool, c] = tools.velocity[tool, c]
                tools.velocity[tool, c] += kick * drives.inverse_mass[tool, c] * drives.force.current[c]
                tools.end[tool, c] = tools.pose[tool, c] + h * tools.velocity[tool, c]
            else:
                tools.velocity[tool, c] = (tools.end[tool, c] - tools.pose[tool, c]) / h
                tools.before_kick[tool, c] = tools.velocity[tool, c]


@compiled(inside=True)
def finish_tools(drives: Drives, tools: ToolMotion, h: float) -> None:
    """Bring the poses to the end of the step, with what contact made of the velocities."""
    for tool in range(tools.pose.shape[0]):
        for c in range(4):
            if drives.free[tool, c] != 0.0:
                tools.pose[tool, c] += h * tools.velocity[tool, c]
            else:
                tools.pose[tool, c] = tools.end[tool, c]
