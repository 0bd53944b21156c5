"""A look at the tools before a run: a tool that starts inside a body does not do what its user expects."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.tools import CENTER, PLANE, REFERENCE, RigidTool, tool_gaps
from rheotwin.problem import ProblemBody
from rheotwin.tensors import padded

Array = NDArray[np.float64]

TOUCHING = 1e-6
"""A tool deeper inside than this share of a body's size at the start is worth a warning."""


def warn_of_buried_tools(tools: tuple[RigidTool, ...], bodies: tuple[ProblemBody, ...], points: Array) -> None:
    """Warn of tools that have nodes inside them at the start, or start inside a body themselves."""
    size = float(np.max(np.ptp(points, axis=0)))
    places = padded(points)
    for tool in tools:
        gaps, _ = tool_gaps(tool, 0.0, places[tool.candidates])
        inside = int(np.count_nonzero(gaps < -TOUCHING * size))
        if inside:
            warnings.warn(
                f"tools.{tool.name}: {inside} surface nodes start inside it, by up to {-gaps.min():.4g} m; the first "
                "step pushes them out at once; move `center` or start the motion outside",
                stacklevel=2,
            )
        for body in bodies:
            if _starts_within(tool, body, TOUCHING * size):
                warnings.warn(
                    f"tools.{tool.name}: it starts inside body '{body.name}', whose surface it cannot touch from "
                    "there; move `center` outside",
                    stacklevel=2,
                )


def _starts_within(tool: RigidTool, body: ProblemBody, margin: float) -> bool:
    """Tell whether the tool's centre (of a bar's face: a point just behind it) lies in an element of the body."""
    center = tool.geometry[CENTER : CENTER + 3] + tool.motion.at(0.0)[:3]
    if tool.shape == PLANE:
        center = center - 10.0 * margin * tool.geometry[REFERENCE : REFERENCE + 3]
    low, high = body.mesh.p.min(axis=1), body.mesh.p.max(axis=1)
    place = center[: len(low)]
    if np.any(place <= low + margin) or np.any(place >= high - margin):
        return False
    try:
        body.mesh.element_finder()(*place[:, None])
    except ValueError:  # scikit-fem's word for a point outside of all elements
        return False
    return True
