"""What happens at the boundary of particle bodies: forces on tools and supports, contact of nodes, places of tools."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.exerted import lone_forces
from rheotwin.constraints.contact.setup import POSE_SIZE
from rheotwin.particles.boundary import Boundary, Held
from rheotwin.particles.contact_report import tool_reactions
from rheotwin.problem import Problem

Array = NDArray[np.float64]


class Exchanged(Protocol):
    """Forces of the last step: (N, 3) on nodes, (candidates, 3) of tools, (N, 3) of what holds nodes [N]."""

    @property
    def contact_force(self) -> Array:
        """Of exact frictionless tools."""

    @property
    def reaction(self) -> Array:
        """Of supports."""


def reactions(problem: Problem, boundary: Boundary, held: Held, state: Exchanged) -> dict[str, Array]:
    """Return the force (d,) [N] the bodies exert on each tool and support."""
    dimension, offset = problem.dimension, boundary.tools.offset
    if boundary.contact is None:
        found = {
            f"tool.{tool.name}": -state.contact_force[offset[k] : offset[k + 1], :dimension].sum(axis=0)
            for k, tool in enumerate(problem.tools)
        }
    else:
        found = tool_reactions(problem, boundary.contact)
    supports = np.zeros((len(problem.prescribed), dimension))
    np.add.at(supports, (held.motion, held.component), -state.reaction[held.node, held.component])
    names = (f"support.{item.name}" for item in problem.prescribed)
    return found | dict(zip(names, supports, strict=True))


def contact_forces(boundary: Boundary, state: Exchanged) -> Array:
    """Return the contact force on each node (N, 3) [N]."""
    total = np.zeros_like(boundary.nodes.rest)
    contact = boundary.contact
    if contact is not None:
        total += contact.exerted.node_force
        np.add.at(total, *lone_forces(contact.contacts, contact.exerted, contact.tools.candidate))
    np.add.at(total, boundary.tools.candidate, state.contact_force)
    return total


def tool_poses(problem: Problem, boundary: Boundary, time: float) -> Array:
    """Return where the tools are: (T, 4) [m, m, m, rad]."""
    if boundary.contact is None:
        return np.array([tool.motion.at(time) for tool in problem.tools]).reshape(-1, POSE_SIZE)
    return np.asarray(boundary.contact.contacts.tools.motion.pose.copy())
