"""Supports: nodes that are held, or driven along a motion."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from rheotwin.scene.base import AXES, Axis, Dimension, Name, SceneModel
from rheotwin.scene.motion import Motion
from rheotwin.scene.where import Where


class SupportSpec(SceneModel):
    """Nodes of a body whose chosen components are held, or follow a motion."""

    body: Name
    """Name of the body."""
    where: Where
    """Which of its nodes."""
    fix: Annotated[tuple[Axis, ...], Field(min_length=1)] = ()
    """Components that are held; default: all."""
    motion: Motion | None = None
    """Displacement of the held components over time; default: none, they stay where they are."""

    def dimension_faults(self, dimension: Dimension) -> Iterator[tuple[str, str]]:
        """Yield (key, sentence) for everything that does not exist in this dimension."""
        yield from ((f"where.{key}", message) for key, message in self.where.dimension_faults(dimension))
        held = self.fix or AXES[:dimension]
        for axis in held:
            if axis not in AXES[:dimension]:
                yield "fix", f"there is no {axis} in a {dimension}D scene"
        if len(set(held)) < len(held):
            yield "fix", "names a component twice"
        for axis, values in zip(
            AXES, zip(*self.motion.displacement, strict=False) if self.motion else (), strict=False
        ):
            if axis not in held and any(values):
                yield "motion.displacement", f"moves {axis}, which is not among the held components (`fix`)"

    def completed(self, dimension: Dimension) -> SupportSpec:
        """Return the support with its held components filled in."""
        return self if self.fix else self.model_copy(update={"fix": AXES[:dimension]})
