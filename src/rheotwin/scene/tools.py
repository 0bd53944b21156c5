"""Rigid tools that press on bodies: bar, plane, sphere, cylinder, prism, box, and any closed surface."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from rheotwin.scene.base import AXES, Axis, Dimension, Name, SceneModel
from rheotwin.scene.contact import ToolContactSpec
from rheotwin.scene.motion import DriveSpec, Rotation, RotationPart, ToolMotion
from rheotwin.scene.quantities import (
    Angle,
    Direction,
    Direction3D,
    Point,
    Positive,
    PositiveLength,
    Sizes,
    number_or_list,
)
from rheotwin.scene.units import LengthWord, Units, check_one_unit, file_scale


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
    drive: DriveSpec | None = None
    """A mass and the forces that move it; default: it follows its motion whatever it meets."""
    contact: ToolContactSpec | None = None
    """What its contact has different from the scene's `[contact]`."""

    def in_metres(self, units: Units) -> ToolBase:
        """Return the tool with the coordinates of its surface, if it has any, scaled to metres."""
        return self

    def dimension_faults(self, dimension: Dimension) -> Iterator[tuple[str, str]]:
        """Yield (key, sentence) for everything that does not exist in this dimension."""
        if dimension not in self.dimensions:
            possible = " or ".join(f"{d}D" for d in self.dimensions)
            shape = getattr(self, "shape", "tool")
            yield "shape", f"'{shape}' does not exist in {dimension}D; it needs a {possible} scene"
        if self.drive is not None:
            yield from ((f"drive.{key}", message) for key, message in self.drive.dimension_faults(dimension))
            yield from self._moved_twice(self.drive, dimension)

    def _moved_twice(self, drive: DriveSpec, dimension: Dimension) -> Iterator[tuple[str, str]]:
        free = drive.free_components(dimension)
        moved = (False,) * 4 if self.motion is None else self.motion.moved_axes(dimension)
        for name, moves in zip((*AXES[:dimension], "angle"), moved, strict=False):
            if moves and name in free:
                yield "motion", f"moves {name}, which forces move (`drive.free`); let only one of them do it"


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
            Discriminator(number_or_list),
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

    def widths(self, dimension: int) -> tuple[float, ...]:
        """Return the extent [m] of the working face along each of its axes: none in 1D, one in 2D, two in 3D."""
        both = self.width if isinstance(self.width, tuple) else (self.width or 0.0,) * 2
        return both[: dimension - 1]

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


class BoxTool(ToolBase):
    """A block, in 2D a rectangle."""

    shape: Literal["box"]
    """Kind of tool."""
    size: Sizes
    """Lengths of its edges along the scene's axes, before it is turned."""
    axis: Axis | None = None
    """Axis through its centre it turns about, in 3D; default: z."""
    angle: Angle = 0.0
    """Turn about its axis at rest."""

    def dimension_faults(self, dimension: Dimension) -> Iterator[tuple[str, str]]:
        """Yield (key, sentence) for everything that does not exist in this dimension."""
        yield from super().dimension_faults(dimension)
        if dimension == 2 and self.axis is not None:
            yield "axis", "is for 3D; in 2D the axis stands on the plane, leave it out"


class MeshTool(ToolBase):
    """A closed surface: in 3D triangles from a file, in 2D a polygon."""

    shape: Literal["mesh"]
    """Kind of tool."""
    path: Annotated[str, Field(min_length=1)] | None = None
    """3D: file with its triangles (.stl, .obj, .ply, .vtk, ..), relative to the scene file."""
    points: Annotated[tuple[Point, ...], Field(min_length=3)] | None = None
    """2D: corners of the polygon one after the other, relative to `center`."""
    unit: LengthWord | None = None
    """3D: unit of the file's coordinates; default: the file's `length` in `[units]`."""
    scale: Positive | None = None
    """Instead of `unit`: factor on the coordinates, which are in the file's unit of length; default: 1."""
    rotation: RotationPart | None = None
    """Turn at rest about the file's origin, which `center` is the place of."""
    axis: Direction3D | None = None
    """Direction of the axis through its centre that it turns about, in 3D; default: z."""

    @model_validator(mode="after")
    def _one_unit(self) -> MeshTool:
        check_one_unit(self.unit, self.scale)
        return self

    def in_metres(self, units: Units) -> MeshTool:
        """Return the tool with `scale` alone, the factor to metres; points of the scene are in metres already."""
        read = Units() if self.path is None else units
        return self.model_copy(update={"unit": None, "scale": file_scale(self.unit, self.scale, read)})

    def dimension_faults(self, dimension: Dimension) -> Iterator[tuple[str, str]]:
        """Yield (key, sentence) for everything that does not exist in this dimension."""
        yield from super().dimension_faults(dimension)
        if dimension == 2 and self.unit is not None:
            yield "unit", "is for files, in 3D; write `points` with units, or scale them"
        wanted, other = ("path", "points") if dimension == 3 else ("points", "path")
        if getattr(self, wanted) is None:
            kind = "file with its triangles" if dimension == 3 else "corners of the polygon"
            yield wanted, f"missing ({kind})"
        if getattr(self, other) is not None:
            yield other, f"is for {5 - dimension}D; a {dimension}D tool has `{wanted}`"
        if dimension == 2 and self.axis is not None:
            yield "axis", "is for 3D; in 2D the axis stands on the plane, leave it out"
        if self.rotation is not None and isinstance(self.rotation, Rotation) != (dimension == 3):
            yield "rotation", "in 2D write a number, in 3D { axis = [x, y, z], angle = .. }"


ToolSpec = Annotated[
    BarTool | PlaneTool | SphereTool | CylinderTool | PrismTool | BoxTool | MeshTool, Field(discriminator="shape")
]
