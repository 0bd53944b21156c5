"""What a problem says about contact: the laws of its partners, who takes part, and which tools forces move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.law import ContactLaw
from rheotwin.constraints.motion import Motion
from rheotwin.errors import RheotwinError

if TYPE_CHECKING:
    from rheotwin.constraints.tools import RigidTool

Array = NDArray[np.float64]

POSE_SIZE = 4
"""Components of a tool's pose: dx, dy, dz [m] and the angle [rad] about its axis."""

ANGLE = 3
"""Place of the angle in a pose."""


@dataclass(frozen=True)
class ContactSetup:
    """Contact of a problem; that of one without it is `exact`."""

    law: ContactLaw
    """Between bodies, and of a body with itself."""
    tool_laws: tuple[ContactLaw, ...]
    """One for each tool."""
    bodies: bool = False
    """Whether different bodies push on each other."""
    self_bodies: tuple[int, ...] = ()
    """Bodies whose own surface can touch itself."""
    edges: bool = True
    """3D: whether edges touch edges, beside vertices touching faces."""

    @classmethod
    def exact(cls, tools: int) -> ContactSetup:
        """Return what goes without saying: tools are exact and without friction, bodies pass each other."""
        return cls(ContactLaw(), (ContactLaw(),) * tools)

    @property
    def between_bodies(self) -> bool:
        """Tell whether surfaces of bodies are looked for at all."""
        return self.bodies or bool(self.self_bodies)


def poses_at(tools: Sequence[RigidTool], time: float) -> Array:
    """Return the poses (T, 4) [m, m, m, rad] that the motions of tools have at `time` [s]."""
    return np.array([tool.motion.at(time) for tool in tools]).reshape(-1, POSE_SIZE)


@dataclass(frozen=True)
class ToolDrive:
    """A tool that forces move: M a = force(t) + contact in its free components, its motion in the others.

    A free component starts where the tool's motion has it at time zero. The tool turns about the axis through its
    centre, which is its centre of mass; other tools do not touch it.
    """

    free: tuple[bool, bool, bool, bool]
    """Which components of the pose (dx, dy, dz, angle) forces move."""
    mass: float
    """[kg]"""
    inertia: float
    """Moment of inertia about the axis [kg m2]; 0 unless the angle is free."""
    force: Motion
    """Table (n, 4) of what acts beside contact [N, N, N, N m], the weight included."""
    velocity: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    """Rate of the free components at time zero [m/s, m/s, m/s, rad/s]."""

    def __post_init__(self) -> None:
        """Refuse what does not resist the forces that move it, and tables that are not numbers."""
        if any(self.free[:ANGLE]) and not 0.0 < self.mass < np.inf:
            raise RheotwinError(f"tool drive: mass is {self.mass} kg, but forces move the tool; give one above 0")
        if self.free[ANGLE] and not 0.0 < self.inertia < np.inf:
            raise RheotwinError(
                f"tool drive: inertia is {self.inertia} kg m2, but moments turn the tool; give one above 0"
            )
        if self.force.values.shape[1:] != (POSE_SIZE,):
            raise RheotwinError(f"tool drive: force has the shape {self.force.values.shape}; give (times, {POSE_SIZE})")
        if not (np.isfinite(self.force.values).all() and np.isfinite(self.velocity).all()):
            raise RheotwinError("tool drive: force and velocity need finite numbers")

    @property
    def inverse_masses(self) -> Array:
        """1/M of each pose component (4,) [1/kg, 1/kg, 1/kg, 1/(kg m2)]; 0 where the motion decides."""
        resistance = np.array([self.mass, self.mass, self.mass, self.inertia])
        inverse = np.zeros(POSE_SIZE)
        chosen = np.array(self.free)
        inverse[chosen] = 1.0 / resistance[chosen]
        return inverse
