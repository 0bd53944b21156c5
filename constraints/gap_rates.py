"""How the gap between moving points and a moving rigid tool changes: first and second time derivative.

With y = x - centre - p(t) in the pose (p, theta), n the outward normal, a the tool's axis and m = a x n, which is
how n turns (zero for round tools):

    g'  = n.y' + theta' m.y
    g'' = n.x'' + [ -n.p'' + y'.H y' + 2 theta' m.y' + theta'' m.y - theta'^2 (n - (n.a) a).y ]

H is the curvature of the tool's surface: (1 - n n)/r at distance r from the centre of a sphere, (1 - n n - a a)/r
from the axis of a cylinder, zero for flat faces.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.motion import motion_rates
from rheotwin.constraints.tools import AXIS, CENTER, CYLINDER, PLANE, PRISM, RADIUS, SPHERE, RigidTool, tool_gaps

Array = NDArray[np.float64]


@dataclass(frozen=True)
class GapMotion:
    """Gaps (n,) [m], outward normals (n, 3), gap rates (n,) [m/s] and the part of g'' that needs no x'' [m/s2]."""

    gap: Array
    normal: Array
    rate: Array
    second: Array


def gap_motion(
    tool: RigidTool, time: float, points: Array, velocities: Array, *, after: bool = True, slack: float = 0.0
) -> GapMotion:
    """Return how the gaps of points (n, 3) [m] with velocities (n, 3) [m/s] to a tool change at `time` [s].

    `after` and `slack` [s] choose the side of a time at which the tool's motion has a kink, see `motion_rates`.
    """
    gap, normal = tool_gaps(tool, time, points)
    speed, acceleration = motion_rates(tool.motion, time, after=after, slack=slack)
    y = points - tool.geometry[CENTER : CENTER + 3] - tool.motion.at(time)[:3]
    moving = velocities - speed[:3]
    rate = np.sum(normal * moving, axis=1)
    second = -(normal @ acceleration[:3])
    axis = tool.geometry[AXIS : AXIS + 3]
    spin, spin_rate = speed[3], acceleration[3]
    if tool.shape in (PLANE, PRISM) and (spin or spin_rate):
        turn = np.cross(axis, normal)
        across = normal - np.outer(normal @ axis, axis)
        lever = np.sum(turn * y, axis=1)
        rate = rate + spin * lever
        second = second + 2.0 * spin * np.sum(turn * moving, axis=1) + spin_rate * lever
        second = second - spin**2 * np.sum(across * y, axis=1)
    if tool.shape in (SPHERE, CYLINDER):
        along = moving @ axis if tool.shape == CYLINDER else np.zeros(len(gap))
        sliding = np.sum(moving**2, axis=1) - np.sum(normal * moving, axis=1) ** 2 - along**2
        second = second + sliding / (gap + tool.geometry[RADIUS])
    return GapMotion(gap, normal, rate, second)
