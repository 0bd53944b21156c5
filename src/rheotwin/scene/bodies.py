"""Bodies of a scene file: what every body has, the shapes we mesh ourselves, and mesh files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from rheotwin.scene.base import AXES, Count, Dimension, Flag, Name, SceneModel
from rheotwin.scene.boundary import Ranges, Where
from rheotwin.scene.motion import Rotation, RotationPart, rotation_matrix
from rheotwin.scene.quantities import (
    Coordinates,
    Counts,
    PerAxis,
    Point,
    Positive,
    PositiveDensity,
    PositiveLength,
    PositiveMass,
    Sizes,
    SpinPart,
    Velocity,
)
from rheotwin.scene.units import LengthWord, Units, check_one_unit, file_scale

if TYPE_CHECKING:
    from rheotwin.meshing import Refinement, ShapeSpec, Solid

Cell = Literal["line", "triangle", "quad", "tet", "hex"]
Pattern = Literal["se-nw", "sw-ne", "alternating", "five", "six"]

CELLS: dict[int, tuple[Cell, ...]] = {1: ("line",), 2: ("triangle", "quad"), 3: ("tet", "hex")}
"""Cells that can fill a body of each dimension; the first is the default."""
PATTERNS: dict[Cell, tuple[Pattern, ...]] = {"triangle": ("se-nw", "sw-ne", "alternating"), "tet": ("five", "six")}
"""Ways of splitting a grid into simplices; the first is the default."""


class Finer(Ranges):
    """A box in scene coordinates whose cells are halved; where they meet coarser ones, nodes hang on edges."""

    levels: Count = 1
    """How often the cells in the box are halved; default: once."""

    def refinement(self) -> Refinement:
        """Return what the mesher needs."""
        from rheotwin.meshing import Refinement

        given = ((number, getattr(self, axis)) for number, axis in enumerate(AXES))
        return Refinement({number: limits for number, limits in given if limits is not None}, self.levels)


class PartSpec(SceneModel):
    """Cells of a body that are made of another law."""

    where: Where
    """The cells: those with all corners selected; a later part wins."""
    law: Name
    """Name of their law."""


class BodyBase(SceneModel):
    """What every body has, whatever its shape."""

    dimensions: ClassVar[tuple[Dimension, ...]] = (1, 2, 3)
    """Dimensions of a scene in which the shape exists."""

    law: Name
    """Name of the law the body is made of."""
    origin: Point = ()
    """Where the shape's own origin is put in the scene; default: the scene's origin."""
    rotation: RotationPart | None = None
    """Turn about the shape's own origin: an angle in 2D, { axis = [..], angle = .. } in 3D."""
    voxels: PositiveLength | None = None
    """Edge length of equal squares or cubes that take the place of the mesh: those whose centre lies in it."""
    finer: tuple[Finer, ...] = ()
    """Boxes in which cells are halved; particles hang on the coarser edges there, which `fem` cannot do."""
    parts: dict[Name, PartSpec] = Field(default_factory=dict)
    """Parts of the body that are made of other laws, by name."""
    mass: PositiveMass | None = None
    """Total mass; exactly one of mass and density."""
    density: PositiveDensity | None = None
    """Density; exactly one of mass and density."""
    velocity: Velocity = ()
    """Velocity at the start; default: at rest."""
    spin: SpinPart | None = None
    """Rate of turning about the middle of its nodes at the start: a number in 2D, [x, y, z] in 3D; default: none."""
    mass_sharing: Literal["volume", "equal"] = "volume"
    """How the lumped mass reaches the nodes: by the volume around them, or the same for each."""

    @model_validator(mode="after")
    def _one_mass(self) -> BodyBase:
        if (self.mass is None) == (self.density is None):
            state = "neither is given" if self.mass is None else "both are given"
            raise PydanticCustomError("mass", f"needs exactly one of `mass` and `density`; {state}")
        return self

    def with_laws(self, laws: Mapping[str, str], name: str) -> Self:
        """Return the body `name` made of the laws that a case has for it (`name`) and its parts (`name.part`)."""
        parts = {
            key: part.model_copy(update={"law": laws.get(f"{name}.{key}", part.law)})
            for key, part in self.parts.items()
        }
        return self.model_copy(update={"law": laws.get(name, self.law), "parts": parts})

    def total_mass(self, volume: float) -> float:
        """Return the mass [kg] of the body when it fills `volume` [m3]."""
        if self.mass is not None:
            return self.mass
        return (self.density or 0.0) * volume

    def placement(self, dimension: int) -> tuple[float, ...]:
        """Return where the shape's origin is put [m], one entry for each dimension."""
        return self.origin or (0.0,) * dimension

    def rotation_matrix(self, dimension: int) -> Any:
        """Return the rotation of the shape as an array (dimension, dimension)."""
        return rotation_matrix(self.rotation, dimension)

    @property
    def has_hanging_nodes(self) -> bool:
        """Whether nodes on the edges of coarser cells are looked for."""
        return bool(self.finer)

    def shape_faults(self, dimension: Dimension) -> Iterator[tuple[str, str]]:
        """Yield (key, sentence) for everything that cannot be in a scene of this dimension."""
        if self.voxels is not None and dimension == 1:
            yield "voxels", "a 1D body has none; choose its cells"
        if self.finer and dimension == 1:
            yield "finer", 'a 1D body has no hanging nodes; give its grid lines one by one (shape = "grid")'
        for number, box in enumerate(self.finer):
            for axis in AXES[dimension:]:
                if getattr(box, axis) is not None:
                    yield f"finer.{number}.{axis}", f"there is no {axis} in a {dimension}D scene"
        for name, part in self.parts.items():
            for key, message in part.where.dimension_faults(dimension):
                yield f"parts.{name}.where.{key}", message
        if self.spin is not None and isinstance(self.spin, tuple) != (dimension == 3):
            yield "spin", "in 2D write a number, in 3D [x, y, z]; a 1D body cannot turn"
        elif self.spin is not None and dimension == 1:
            yield "spin", "a 1D body cannot turn; leave it out"
        shape = getattr(self, "shape", "body")
        if dimension not in self.dimensions:
            possible = " or ".join(f"{d}D" for d in self.dimensions)
            yield "shape", f"'{shape}' does not exist in {dimension}D; it needs a {possible} scene"
        if isinstance(self.rotation, Rotation) and dimension != 3:
            yield ("rotation", "an axis is for 3D; a 2D body turns by a number, a 1D body cannot turn")
        if isinstance(self.rotation, float) and self.rotation != 0.0 and dimension != 2:
            yield (
                "rotation",
                "a number turns a 2D body; in 3D write { axis = [x, y, z], angle = .. }, in 1D nothing turns",
            )

    def completed(self, dimension: Dimension) -> BodyBase:
        """Return the body with the defaults that depend on the dimension filled in."""
        return self

    def in_metres(self, units: Units) -> BodyBase:
        """Return the body with the coordinates of its mesh file, if any, scaled to metres."""
        return self


class CellBody(BodyBase):
    """A body meshed by us: its cells are a choice."""

    cell: Cell | None = None
    """Kind of cell; default: line, triangle or tet after the dimension, of `voxels` quad or hex."""

    def default_cell(self, dimension: Dimension) -> Cell:
        """Return the kind of cell when none is given."""
        return CELLS[dimension][-1 if self.voxels is not None else 0]

    def mesher_cell(self) -> Cell:
        """Return the kind of cell the shape is meshed with: simplices where voxels take their place.

        Simplices leave no gaps between them; hexahedra with curved sides, once split, may.
        """
        if self.voxels is None:
            return self.filled_cell()
        return "triangle" if self.filled_cell() in ("triangle", "quad") else "tet"

    def shape_faults(self, dimension: Dimension) -> Iterator[tuple[str, str]]:
        """Yield (key, sentence) for everything that cannot be in a scene of this dimension."""
        yield from super().shape_faults(dimension)
        if self.cell is not None and self.cell not in CELLS[dimension]:
            yield ("cell", f"'{self.cell}' cells cannot fill a {dimension}D body; use {' or '.join(CELLS[dimension])}")

    def completed(self, dimension: Dimension) -> CellBody:
        """Return the body with its kind of cell filled in."""
        return self.model_copy(update={"cell": self.cell or self.default_cell(dimension)})

    def filled_cell(self) -> Cell:
        """Return the kind of cell; known once the body is part of a scene."""
        if self.cell is None:
            raise ValueError("the kind of cell is known once the body is part of a scene")
        return self.cell


class GridLikeBody(CellBody):
    """A body on a rectangular grid, whose rectangles or bricks are split by a pattern."""

    pattern: Pattern | None = None
    """How a grid is split: triangles se-nw, sw-ne or alternating; tets five or six. Default: se-nw, five."""

    def shape_faults(self, dimension: Dimension) -> Iterator[tuple[str, str]]:
        """Yield (key, sentence) for everything that cannot be in a scene of this dimension."""
        yield from super().shape_faults(dimension)
        cell = self.cell or self.default_cell(dimension)
        allowed = PATTERNS.get(cell, ())
        if self.pattern is not None and self.pattern not in allowed:
            remedy = f"use {', '.join(allowed)}" if allowed else "leave it out"
            yield "pattern", f"'{self.pattern}' does not split a grid into {cell} cells; {remedy}"

    def mesher_pattern(self) -> Pattern | None:
        """Return how the shape's own grid is split; that of voxels is none of its business."""
        return self.pattern if self.voxels is None else None

    def completed(self, dimension: Dimension) -> GridLikeBody:
        """Return the body with its kind of cell and its pattern filled in."""
        cell = self.cell or self.default_cell(dimension)
        pattern = self.pattern or next(iter(PATTERNS.get(cell, ())), None)
        return self.model_copy(update={"cell": cell, "pattern": pattern})


class BoxBody(GridLikeBody):
    """A line, rectangle or box with equal cells; its origin is the corner with the smallest coordinates."""

    shape: Literal["box"]
    """Kind of shape."""
    size: Sizes
    """Edge lengths, one for each dimension."""
    cells: Counts
    """Number of cells along each edge."""


class GridBody(GridLikeBody):
    """A line, rectangle or box whose grid lines are given one by one (graded meshes)."""

    shape: Literal["grid"]
    """Kind of shape."""
    coordinates: Annotated[tuple[Coordinates, ...], PerAxis()]
    """Positions of the grid lines, one increasing list for each dimension."""


class CylinderBody(CellBody):
    """A solid cylinder along z; its origin is the centre of its base."""

    dimensions = (3,)

    shape: Literal["cylinder"]
    """Kind of shape."""
    radius: PositiveLength
    """Radius."""
    height: PositiveLength
    """Height."""
    cells: tuple[Count, Count]
    """Number of cells across the diameter and along the height."""


class SphereBody(CellBody):
    """A ball, in 2D a disc; its origin is its centre."""

    dimensions = (2, 3)

    shape: Literal["sphere"]
    """Kind of shape."""
    radius: PositiveLength
    """Radius."""
    cells: Count
    """Number of cells across the diameter."""


class LShapeBody(GridLikeBody):
    """A rectangle (2D) or plate (3D) without its corner at the largest x and y."""

    dimensions = (2, 3)

    shape: Literal["l-shape"]
    """Kind of shape."""
    size: Sizes
    """Edge lengths of the whole, one for each dimension."""
    cells: Counts
    """Number of cells along each edge of the whole."""
    cut: tuple[PositiveLength, PositiveLength]
    """Size of the corner that is missing, along x and y."""

    def shape_faults(self, dimension: Dimension) -> Iterator[tuple[str, str]]:
        """Yield (key, sentence) for everything that cannot be in a scene of this dimension."""
        yield from super().shape_faults(dimension)
        if any(cut >= edge for cut, edge in zip(self.cut, self.size, strict=False)):
            yield ("cut", f"the missing corner {list(self.cut)} must be smaller than the whole {list(self.size[:2])}")


class TriangleBody(BodyBase):
    """An upright triangle of equal small ones; its origin is the left end of its base."""

    dimensions = (2,)

    shape: Literal["triangle"]
    """Kind of shape."""
    base: PositiveLength
    """Length of its lower side."""
    height: PositiveLength
    """Height of its apex, above the middle of the base."""
    cells: Count
    """Number of small triangles along each side."""


class SolidSpec(SceneModel):
    """An ellipsoid (`center`, `radii`) or a capsule (`between`, `radius`)."""

    center: Point = ()
    """Centre of an ellipsoid."""
    radii: tuple[PositiveLength, PositiveLength, PositiveLength] | None = None
    """Half axes of an ellipsoid, along x, y and z."""
    between: tuple[Point, Point] | None = None
    """Ends of the axis of a capsule."""
    radius: PositiveLength | None = None
    """Radius of a capsule."""

    @model_validator(mode="after")
    def _one_kind(self) -> SolidSpec:
        ellipsoid, capsule = (
            (bool(self.center), self.radii is not None),
            (self.between is not None, self.radius is not None),
        )
        if not ((all(ellipsoid) and not any(capsule)) or (all(capsule) and not any(ellipsoid))):
            raise PydanticCustomError(
                "solid", "needs `center` and `radii` (an ellipsoid) or `between` and `radius` (a capsule)"
            )
        return self

    def solid(self) -> Solid:
        """Return what the mesher needs."""
        from rheotwin.meshing import Solid

        ends = np.array(self.between or (self.center, self.center))
        return Solid(ends, self.radius or 1.0, np.array(self.radii or (1.0, 1.0, 1.0)))


class SolidsBody(BodyBase):
    """Equal cubes that fill a union of ellipsoids and capsules."""

    dimensions = (3,)

    shape: Literal["solids"]
    """Kind of shape."""
    solids: Annotated[tuple[SolidSpec, ...], Field(min_length=1)]
    """The ellipsoids and capsules."""
    count: Count | None = None
    """Instead of `voxels`: about how many cubes fill them; their edge is chosen to come as near as can be."""

    @model_validator(mode="after")
    def _one_edge(self) -> SolidsBody:
        if (self.voxels is None) == (self.count is None):
            raise PydanticCustomError("solids", "needs exactly one of `voxels` (edge of its cubes) and `count` of them")
        return self


class FileBody(BodyBase):
    """A body whose mesh is read from a file."""

    shape: Literal["file"]
    """Kind of shape."""
    path: Annotated[str, Field(min_length=1)]
    """Mesh file, relative to the folder of the scene file."""
    unit: LengthWord | None = None
    """Unit of the mesh file's coordinates; default: the file's `length` in `[units]`."""
    scale: Positive | None = None
    """Instead of `unit`: factor on the mesh file's coordinates, which are in the file's unit of length; default: 1."""
    drop_unused: Flag = False
    """Leave out points that no cell uses instead of refusing the file."""
    hanging: Flag = False
    """Tie nodes that lie on an edge of a cell they are no corner of to that edge, which `fem` cannot do."""

    @model_validator(mode="after")
    def _one_unit(self) -> FileBody:
        check_one_unit(self.unit, self.scale)
        return self

    def in_metres(self, units: Units) -> FileBody:
        """Return the body with `scale` alone, the factor from the file's coordinates to metres."""
        return self.model_copy(update={"unit": None, "scale": file_scale(self.unit, self.scale, units)})

    @property
    def has_hanging_nodes(self) -> bool:
        """Whether nodes on the edges of coarser cells are looked for."""
        return self.hanging or bool(self.finer)


BodySpec = Annotated[
    BoxBody | GridBody | CylinderBody | SphereBody | LShapeBody | TriangleBody | SolidsBody | FileBody,
    Field(discriminator="shape"),
]


def mesher_shape(body: BodyBase) -> ShapeSpec:
    """Return what the mesher needs of a body that we mesh ourselves."""
    from rheotwin.meshing import BoxShape, CylinderShape, GridShape, LShape, SolidsShape, SphereShape, TriangleShape

    match body:
        case BoxBody():
            return BoxShape(body.size, body.cells, body.mesher_cell(), body.mesher_pattern())
        case GridBody():
            return GridShape(body.coordinates, body.mesher_cell(), body.mesher_pattern())
        case CylinderBody():
            return CylinderShape(body.radius, body.height, body.cells, body.mesher_cell())
        case SphereBody():
            return SphereShape(body.radius, body.cells, body.mesher_cell())
        case LShapeBody():
            return LShape(body.size, body.cells, body.cut, body.mesher_cell(), body.mesher_pattern())
        case TriangleBody():
            return TriangleShape(body.base, body.height, body.cells)
        case SolidsBody():
            return SolidsShape([item.solid() for item in body.solids], body.voxels, body.count)
    raise TypeError(f"a {type(body).__name__} has a mesh of its own")
