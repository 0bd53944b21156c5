"""Poses and velocities of tools during a step: driven components follow their table, free ones their forces.

    free     V <- V + k F/M,        pose_end = pose + h V      (k: duration of the kick; contact changes V later)
    driven   pose_end from the table,  V = (pose_end - pose)/h

The velocity of the surface at r from the centre is V + w a x r with a the axis: a roller turns and a belt moves on
although their gap stays what it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.setup import POSE_SIZE, poses_at
from rheotwin.constraints.motion import Tables, at_rest, pack_tables, table_value
from rheotwin.constraints.tools import RigidTool
from rheotwin.kernels.blocks import STEP, Now
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.stage import Stage

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
    pose = poses_at(tools, 0.0)
    velocity = np.zeros_like(pose)
    for row, tool in enumerate(tools):
        if tool.drive is not None:
            velocity[row] = np.where(tool.drive.free, tool.drive.velocity, 0.0)
    return ToolMotion(pose, velocity, pose.copy(), velocity.copy())


def tool_stages(motions: Tables, drives: Drives, tools: ToolMotion, end: Now, kick: Any) -> list[Stage]:
    """Return the stages that put the poses at `end` [s] into `tools.end`, as they would be without contact."""
    moving = (drives.free, tools.pose, tools.velocity, tools.end, tools.before_kick)
    stages = [Stage(_follow, (motions, *moving, end, STEP))]
    if drives.free.any():
        stages += [Stage(_drive, (drives.force, drives.inverse_mass, *moving, end, STEP, kick))]
    return stages


@compiled(inside=True)
def _follow(
    motions: Tables, free: Array, pose: Array, velocity: Array, ahead: Array, before: Array, end: float, h: float
) -> None:
    """Put tools where their motions want them at `end` [s], but for free components."""
    for tool in range(pose.shape[0]):
        table_value(motions, tool, end, ahead[tool])
        for c in range(4):
            if free[tool, c] == 0.0:
                velocity[tool, c] = (ahead[tool, c] - pose[tool, c]) / h
                before[tool, c] = velocity[tool, c]


@compiled(inside=True)
def _drive(
    forces: Tables, ease: Array, free: Array, pose: Array, velocity: Array, ahead: Array, before: Array, end: float,
    h: float, kick: float,
) -> None:  # fmt: skip
    """Let forces move the free components."""
    for tool in range(pose.shape[0]):
        table_value(forces, tool, end - h, forces.current)
        for c in range(4):
            if free[tool, c] != 0.0:
                before[tool, c] = velocity[tool, c]
                velocity[tool, c] += kick * ease[tool, c] * forces.current[c]
                ahead[tool, c] = pose[tool, c] + h * velocity[tool, c]


@compiled(inside=True)
def finish_tools(free: Array, pose: Array, end: Array, velocity: Array, h: float) -> None:
    """Bring the poses to the end of the step, with what contact made of the velocities."""
    for tool in range(pose.shape[0]):
        for c in range(4):
            if free[tool, c] != 0.0:
                pose[tool, c] += h * velocity[tool, c]
            else:
                pose[tool, c] = end[tool, c]
