"""Stiffness that the springs of contact laws add to nodes, for the bounds of explicit steps.

A tool that forces drive gives way, too: n springs K between nodes of mass m and its mass M have the frequency
om^2 = K (1/m + n/M) at most, that of nodes whose springs have K (1 + n m/M). If it may turn, 1/M + r^2/I is for 1/M.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from rheotwin.constraints.contact.law import ContactLaw
from rheotwin.constraints.tools import CYLINDER, PLANE, PRISM, RADIUS, SIDES, SPHERE, RigidTool, bounding_radius
from rheotwin.meshing import boundary_nodes
from rheotwin.problem import Problem

Array = NDArray[np.float64]

BETWEEN_BODIES = 4.0
"""Stiffness of a node between bodies, in K: it is the vertex of one contact and, by the sum of its shares, a corner of
another one, and in each of them the partner moves against it."""


def _stiffness(law: ContactLaw) -> float:
    return law.stiffness if law.law in ("penalty", "integrated") else 0.0


def _lever(tool: RigidTool, points: Array) -> float:
    """Return the largest arm [m] a normal force on a tool can have about its axis.

    Normals of what is round point to the axis, and planes in space turn about their own normal.
    """
    if tool.shape in (SPHERE, CYLINDER):
        return 0.0
    if tool.shape == PRISM:
        return float(tool.geometry[RADIUS] / np.cos(np.pi / tool.geometry[SIDES]))
    if tool.shape == PLANE:
        flat, centre = points.shape[1] == 2, tool.geometry[: points.shape[1]]
        return float(np.linalg.norm(points[tool.candidates] - centre, axis=1).max()) if flat else 0.0
    return bounding_radius(tool, points.shape[1])


def _ease(tool: RigidTool, points: Array) -> float:
    """Return a bound of 1/M + r^2/I [1/kg] of a tool, 0 where its motion decides."""
    if tool.drive is None:
        return 0.0
    inverse = tool.drive.inverse_masses
    return float(inverse[:3].max() + inverse[3] * _lever(tool, points) ** 2)


def _most_at_once(tool: RigidTool, points: Array) -> int:
    """Return how many of its candidates a tool can touch at the same time: no more than lie within its diameter."""
    places, radius = points[tool.candidates], bounding_radius(tool, points.shape[1])
    if not np.isfinite(radius):
        return len(places)
    return int(cKDTree(places).query_ball_point(places, 2.0 * radius, return_length=True).max())


def _give(tool: RigidTool, problem: Problem) -> float:
    """Return n m/M of a tool, 0 where its motion decides."""
    ease = _ease(tool, problem.points)
    return ease * problem.masses[tool.candidates].min() * _most_at_once(tool, problem.points) if ease > 0.0 else 0.0


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
