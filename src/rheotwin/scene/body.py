"""What every body of a scene has: place, law, mass; and the cells of the bodies we mesh ourselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from rheotwin.scene.base import AXES, Count, Dimension, Name, SceneModel
from rheotwin.scene.boundary import Ranges, Where
from rheotwin.scene.motion import Rotation, RotationPart, rotation_matrix
from rheotwin.scene.quantities import Point, PositiveDensity, PositiveLength, PositiveMass

if TYPE_CHECKING:
    from rheotwin.meshing import Refinement

Cell = Literal["line", "triangle", "quad", "tet", "hex"]
Pattern = Literal["se-nw", "sw-ne", "alternating", "five", "six"]

CELLS: dict[int, tuple[Cell, ...]] = {1: ("line",), 2: ("triangle", "quad"), 3: ("tet", "hex")}
"""Cells that can fill a body of each dimension; the first is the default."""
PATTERNS: dict[Cell, tuple[Pattern, ...]] = {
    "triangle": ("se-nw", "sw-ne", "alternating"),
    "tet": ("five", "six"),
}
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
    """Parts of the body that are made of other laws, by name; `fem` and `truss` know them."""
    mass: PositiveMass | None = None
    """Total mass; exactly one of mass and density."""
    density: PositiveDensity | None = None
    """Density; exactly one of mass and density."""
    mass_sharing: Literal["volume", "equal"] = "volume"
    """How the lumped mass reaches the nodes: by the volume around them, or the same for each."""

    @model_validator(mode="after")
    def _one_mass(self) -> BodyBase:
        if (self.mass is None) == (self.density is None):
            state = "neither is given" if self.mass is None else "both are given"
            raise PydanticCustomError("mass", f"needs exactly one of `mass` and `density`; {state}")
        return self

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

    def voxelised(self, mesh: Any) -> Any:
        """Return the voxels of a mesh of this body."""
        from rheotwin.meshing import voxelised

        assert self.voxels is not None
        return voxelised(mesh, self.voxels)

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
        shape = getattr(self, "shape", "body")
        if dimension not in self.dimensions:
            possible = " or ".join(f"{d}D" for d in self.dimensions)
            yield "shape", f"'{shape}' does not exist in {dimension}D; it needs a {possible} scene"
        if isinstance(self.rotation, Rotation) and dimension != 3:
            yield (
                "rotation",
                "an axis is for 3D; a 2D body turns by a number, a 1D body cannot turn",
            )
        if isinstance(self.rotation, float) and self.rotation != 0.0 and dimension != 2:
            yield (
                "rotation",
                "a number turns a 2D body; in 3D write { axis = [x, y, z], angle = .. }, in 1D nothing turns",
            )

    def completed(self, dimension: Dimension) -> BodyBase:
        """Return the body with the defaults that depend on the dimension filled in."""
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

    def voxelised(self, mesh: Any) -> Any:
        """Return the voxels of a mesh of this body, whole or split."""
        from rheotwin.meshing import voxelised

        assert self.voxels is not None
        return voxelised(mesh, self.voxels, cell=self.filled_cell(), pattern=getattr(self, "pattern", None))

    def shape_faults(self, dimension: Dimension) -> Iterator[tuple[str, str]]:
        """Yield (key, sentence) for everything that cannot be in a scene of this dimension."""
        yield from super().shape_faults(dimension)
        if self.cell is not None and self.cell not in CELLS[dimension]:
            yield (
                "cell",
                f"'{self.cell}' cells cannot fill a {dimension}D body; use {' or '.join(CELLS[dimension])}",
            )

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
