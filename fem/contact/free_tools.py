"""Tools during an implicit step: driven pose components follow their motion, free ones the scheme of the bodies.

    m M dq = F(t + share h) + M (m_v V + m_a A) + contact,      (V, A) after it linear in (dq, V, A)

A scheme without inertia moves tools by backward Euler: their mass alone decides how fast they follow a force.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.setup import POSE_SIZE
from rheotwin.constraints.contact.tool_motion import pack_drives
from rheotwin.constraints.motion import motion_rates
from rheotwin.constraints.tools import RigidTool
from rheotwin.fem.contact.memory import Memory

Array = NDArray[np.float64]
Coefficients = tuple[float, float, float]


@dataclass(frozen=True)
class FreeTools:
    """The tools of a model and the coefficients of a scheme as in `Scheme`."""

    tools: Sequence[RigidTool]
    load_share: float
    inertia: Coefficients
    velocity: Coefficients
    acceleration: Coefficients
    slack: float
    """[s] within which times are one."""

    @cached_property
    def inverse_mass(self) -> Array:
        """1/M (T, 4), 0 where the motion decides."""
        return pack_drives(self.tools).inverse_mass

    def _free(self) -> NDArray[np.bool_]:
        return np.asarray(self.inverse_mass > 0.0)

    def predicted(self, memory: Memory, begin: float, end: float) -> Array:
        """Return the poses (T, 4) at `end` [s] without contact."""
        by_dq, on_rate, on_second = self.inertia
        force = np.zeros((len(self.tools), POSE_SIZE))
        driven = np.zeros_like(force)
        for row, tool in enumerate(self.tools):
            driven[row] = tool.motion.at(end)
            if tool.drive is not None:
                force[row] = tool.drive.force.at(begin + self.load_share * (end - begin))
        change = (self.inverse_mass * force + on_rate * memory.rate + on_second * memory.second) / by_dq
        return np.where(self._free(), memory.pose + change, driven)

    def rates(self, memory: Memory, pose: Array, end: float) -> tuple[Array, Array]:
        """Return first and second rates (T, 4) after a step that ends in `pose` at `end` [s]."""
        change = pose - memory.pose
        first, second = (
            by_dq * change + on_rate * memory.rate + on_second * memory.second
            for by_dq, on_rate, on_second in (self.velocity, self.acceleration)
        )
        for row, tool in enumerate(self.tools):
            speed, acceleration = motion_rates(tool.motion, end, after=False, slack=self.slack)
            driven = ~self._free()[row]
            first[row, driven], second[row, driven] = speed[driven], acceleration[driven]
        return first, second


def backward_euler(h: float) -> tuple[Coefficients, Coefficients, Coefficients]:
    """Return inertia, velocity and acceleration coefficients of backward Euler for steps of `h` [s]."""
    return (1.0 / h**2, 1.0 / h, 0.0), (1.0 / h, 0.0, 0.0), (1.0 / h**2, -1.0 / h, 0.0)
