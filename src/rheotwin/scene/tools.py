"""Rigid tools that press on bodies: bar, plane, sphere, cylinder, prism."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Discriminator, Field, Tag

from rheotwin.scene.base import Dimension, Name, SceneModel
from rheotwin.scene.motion import ToolMotion
from rheotwin.scene.quantities import Angle, Direction, Direction3D, Point, PositiveLength


class ToolBase(SceneModel):
    """What every tool has, whatever its shape."""

    dimensions: ClassVar[tuple[Dimension, ...]] = (2, 3)
    """Dimensions of a scene in which the tool exists."""

    center: Point
    """Where it is at rest: centre of a bar's working face, a point of a plane, centre of the others."""
    bodies: Annotated[tuple[Name, ...], Field(min_length=1)] | None = None
    """Bodies it can touch; default: all."""
    motion: ToolMotion | None = None
    """Its motion over time; default: it stands still."""

    def dimension_faults(self, dimension: Dimension) -> Iterator[tuple[str, str]]:
        """Yield (key, sentence) for everything that does not exist in this dimension."""
        if dimension not in self.dimensions:
            possible = " or ".join(f"{d}D" for d in self.dimensions)
            shape = getattr(self, "shape", "tool")
            yield "shape", f"'{shape}' does not exist in {dimension}D; it needs a {possible} scene"


def _number_or_list(value: Any) -> str:
    return "list" if isinstance(value, list | tuple) else "number"


class BarTool(ToolBase):
    """A flat face of limited width that presses along its normal."""

    dimensions = (1, 2, 3)

    shape: Literal["bar"]
    """Kind of tool."""
    normal: Direction
    """Direction its working face looks in: towards the body."""
    width: (
        Annotated[
            Annotated[PositiveLength, Tag("number")] | Annotated[tuple[PositiveLength, PositiveLength], Tag("list")],
            Discriminator(_number_or_list),
        ]
        | None
    ) = None
    """Extent of the working face; in 3D a number for a square or [first, second] along its two axes; in 1D nothing."""
    height: PositiveLength | None = None
    """Height it is drawn with; default: a quarter of its (smaller) width."""

    def dimension_faults(self, dimension: Dimension) -> Iterator[tuple[str, str]]:
        """Yield (key, sentence) for everything that does not exist in this dimension."""
        yield from super().dimension_faults(dimension)
        if self.width is None and dimension != 1:
            yield "width", "missing (extent of the working face)"
        if isinstance(self.width, tuple) and dimension != 3:
            yield "width", f"a {dimension}D bar has one width, not two"

    @property
    def drawn_height(self) -> float:
        """Height the bar is drawn with [m]; in 1D, where nothing is drawn, possibly 0."""
        smaller = min(self.width) if isinstance(self.width, tuple) else self.width or 0.0
        return self.height if self.height is not None else 0.25 * smaller


class PlaneTool(ToolBase):
    """An unlimited flat wall or floor."""

    dimensions = (1, 2, 3)

    shape: Literal["plane"]
    """Kind of tool."""
    normal: Direction
    """Direction it looks in: towards the bodies."""


class SphereTool(ToolBase):
    """A ball, in 2D a disc."""

    shape: Literal["sphere"]
    """Kind of tool."""
    radius: PositiveLength
    """Radius."""


class RoundTool(ToolBase):
    """A tool with an axis."""

    radius: PositiveLength
    """Radius; of a prism: from the axis to its edges."""
    axis: Direction3D | None = None
    """Direction of its axis in 3D; in 2D the axis stands on the plane."""

    def dimension_faults(self, dimension: Dimension) -> Iterator[tuple[str, str]]:
        """Yield (key, sentence) for everything that does not exist in this dimension."""
        yield from super().dimension_faults(dimension)
        if dimension == 3 and self.axis is None:
            yield "axis", "missing (direction of the tool's axis, e.g. [0.0, 1.0, 0.0])"
        if dimension == 2 and self.axis is not None:
            yield "axis", "is for 3D; in 2D the axis stands on the plane, leave it out"


class CylinderTool(RoundTool):
    """A roller: an unlimited cylinder, in 2D a disc."""

    shape: Literal["cylinder"]
    """Kind of tool."""
    length: PositiveLength | None = None
    """Length it is drawn with; default: as long as the bodies are wide."""


class PrismTool(RoundTool):
    """An unlimited regular prism, in 2D a regular polygon."""

    shape: Literal["prism"]
    """Kind of tool."""
    sides: Annotated[int, Field(strict=True, ge=3)]
    """Number of sides, at least 3."""
    angle: Angle = 0.0
    """Turn about its axis at rest."""
    length: PositiveLength | None = None
    """Length it is drawn with; default: as long as the bodies are wide."""


ToolSpec = Annotated[BarTool | PlaneTool | SphereTool | CylinderTool | PrismTool, Field(discriminator="shape")]
