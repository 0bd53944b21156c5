"""Rigid links: nodes of the same or of different bodies that keep their distance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from rheotwin.scene.base import Dimension, Name, SceneModel
from rheotwin.scene.quantities import Point, PositiveLength


class LinkEnd(SceneModel):
    """The node of a body closest to a point of its rest shape."""

    body: Name
    """Name of the body."""
    at: Point
    """The point, in scene coordinates."""


class LinkSpec(SceneModel):
    """A rigid rod without mass between two nodes, or a chain of rods from node to node."""

    between: Annotated[tuple[LinkEnd, ...], Field(min_length=2)]
    """Its ends; more than two make a chain of one rod from each to the next."""
    length: PositiveLength | None = None
    """Length of each rod; default: the distance of its ends at rest."""

    def dimension_faults(self, dimension: Dimension) -> Iterator[tuple[str, str]]:
        """Yield (key, sentence) for everything that does not exist in this dimension."""
        for k, end in enumerate(self.between):
            if len(end.at) != dimension:
                yield f"between.{k}.at", f"needs {dimension} component(s) in a {dimension}D scene, has {len(end.at)}"
