"""Stiffness that the springs of contact laws add to nodes, for the bounds of explicit steps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.law import ContactLaw
from rheotwin.meshing import boundary_nodes
from rheotwin.problem import Problem

Array = NDArray[np.float64]

BETWEEN_BODIES = 4.0
"""Stiffness of a node between bodies, in K: it is the vertex of one contact and, by the sum of its shares, a corner of
another one, and in each of them the partner moves against it."""


def _stiffness(law: ContactLaw) -> float:
    return law.stiffness if law.law in ("penalty", "integrated") else 0.0


def contact_stiffness(problem: Problem) -> Array:
    """Return the stiffness [N/m] of contact at each node (N,), were it touched; zero without springs in the laws.

    The dampers do not count: they act at the rate a step ends with.
    """
    setup, found = problem.contact, np.zeros(len(problem.points))
    if setup is None:
        return found
    for tool, law in zip(problem.tools, setup.tool_laws, strict=True):
        found[tool.candidates] = np.maximum(found[tool.candidates], _stiffness(law))
    if setup.between_bodies:
        for body in problem.bodies:
            found[body.first_node + boundary_nodes(body.mesh)] += BETWEEN_BODIES * _stiffness(setup.law)
    return found
