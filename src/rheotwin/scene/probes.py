"""Probes: nodes whose path is written more often than the frames."""

from __future__ import annotations

from rheotwin.scene.base import Name, SceneModel
from rheotwin.scene.quantities import Point


class ProbeSpec(SceneModel):
    """The node of a body closest to a point of its rest shape."""

    body: Name
    """Name of the body."""
    at: Point
    """The point, in scene coordinates."""
