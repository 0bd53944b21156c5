"""Stiffness that the springs of contact laws add to nodes, for the bounds of explicit steps.

A tool that forces drive gives way, too: n springs K between nodes of mass m and its mass M have the frequency
om^2 = K (1/m + n/M) at most, that of nodes whose springs have K (1 + n m/M). If it may turn, 1/M + r^2/I is for 1/M.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.law import ContactLaw
from rheotwin.constraints.contact.laws.form import normal
from rheotwin.constraints.tools import BOX, MESH, PLANE, RigidTool, bounding_radius, turning_reach
from rheotwin.meshing import boundary_nodes
from rheotwin.problem import Problem

Array = NDArray[np.float64]

BETWEEN_BODIES = 4.0
"""Stiffness of a node between bodies, in K: it is the vertex of one contact and, by the sum of its shares, a corner of
another one, and in each of them the partner moves against it."""


def _stiffness(law: ContactLaw) -> float:
    return law.stiffness if normal(law.law).soft else 0.0


def _lever(tool: RigidTool, points: Array) -> float:
    """Return a bound of the arm [m] a normal force on a tool has about its axis; planes in space have it for normal."""
    if tool.shape == PLANE:
        flat, centre = points.shape[1] == 2, tool.geometry[: points.shape[1]]
        return float(np.linalg.norm(points[tool.candidates] - centre, axis=1).max()) if flat else 0.0
    return bounding_radius(tool, points.shape[1]) if tool.shape in (BOX, MESH) else turning_reach(tool)


def _ease(tool: RigidTool, points: Array) -> float:
    """Return a bound of 1/M + r^2/I [1/kg] of a tool, 0 where its motion decides."""
    if tool.drive is None:
        return 0.0
    inverse = tool.drive.inverse_masses
    return float(inverse[:3].max() + inverse[3] * _lever(tool, points) ** 2)


def _most_at_once(tool: RigidTool, points: Array) -> int:
    """Return how many of its candidates a tool can touch at the same time: no more than lie within its diameter."""
    places, radius = points[tool.candidates], bounding_radius(tool, points.shape[1])
    if 2.0 * radius >= np.linalg.norm(np.ptp(places, axis=0)):
        return len(places)
    from scipy.spatial import cKDTree

    return int(cKDTree(places).query_ball_point(places, 2.0 * radius, return_length=True).max())


def _give(tool: RigidTool, problem: Problem) -> float:
    """Return n m/M of a tool, 0 where its motion decides."""
    ease = _ease(tool, problem.points)
    return ease * problem.masses[tool.candidates].min() * _most_at_once(tool, problem.points) if ease > 0.0 else 0.0


def _laws_in_use(problem: Problem) -> list[ContactLaw]:
    """Return the laws of all that can touch."""
    setup = problem.contact
    if setup is None:
        return []
    at_tools = zip(problem.tools, setup.tool_laws, strict=True)
    return [law for tool, law in at_tools if len(tool.candidates) > 0] + [setup.law] * setup.between_bodies


def has_contact_springs(problem: Problem) -> bool:
    """Tell whether contact adds stiffness to any node."""
    return any(_stiffness(law) > 0.0 for law in _laws_in_use(problem))


def has_soft_contact(problem: Problem) -> bool:
    """Tell whether any contact gives way."""
    return any(normal(law.law).soft for law in _laws_in_use(problem))


def contact_stiffness(problem: Problem) -> Array:
    """Return the stiffness [N/m] of contact at each node (N,), were it touched; zero without springs in the laws.

    The dampers do not count: they act at the rate a step ends with.
    """
    setup, found = problem.contact, np.zeros(len(problem.points))
    if setup is None:
        return found
    for tool, law in zip(problem.tools, setup.tool_laws, strict=True):
        stiffness = _stiffness(law)
        if stiffness > 0.0 and len(tool.candidates) > 0:
            stiffness *= 1.0 + _give(tool, problem)
        found[tool.candidates] = np.maximum(found[tool.candidates], stiffness)
    if setup.between_bodies:
        for body in problem.bodies:
            found[body.first_node + boundary_nodes(body.mesh)] += BETWEEN_BODIES * _stiffness(setup.law)
    return found
