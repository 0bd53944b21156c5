"""Bodies of a scene file: the shapes we mesh ourselves, and mesh files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from rheotwin.scene.base import Count, Dimension, Flag
from rheotwin.scene.body import BodyBase, CellBody, GridLikeBody
from rheotwin.scene.quantities import Coordinates, Counts, PerAxis, PositiveLength, Sizes

if TYPE_CHECKING:
    from rheotwin.meshing.shapes import BoxShape, CylinderShape, GridShape, LShape, SphereShape, TriangleShape


class BoxBody(GridLikeBody):
    """A line, rectangle or box with equal cells; its origin is the corner with the smallest coordinates."""

    shape: Literal["box"]
    """Kind of shape."""
    size: Sizes
    """Edge lengths, one for each dimension."""
    cells: Counts
    """Number of cells along each edge."""

    def shape_spec(self) -> BoxShape:
        """Return what the mesher needs."""
        from rheotwin.meshing.shapes import BoxShape

        return BoxShape(size=self.size, cells=self.cells, cell=self.mesher_cell(), pattern=self.mesher_pattern())


class GridBody(GridLikeBody):
    """A line, rectangle or box whose grid lines are given one by one (graded meshes)."""

    shape: Literal["grid"]
    """Kind of shape."""
    coordinates: Annotated[tuple[Coordinates, ...], PerAxis()]
    """Positions of the grid lines, one increasing list for each dimension."""

    def shape_spec(self) -> GridShape:
        """Return what the mesher needs."""
        from rheotwin.meshing.shapes import GridShape

        return GridShape(coordinates=self.coordinates, cell=self.mesher_cell(), pattern=self.mesher_pattern())


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

    def shape_spec(self) -> CylinderShape:
        """Return what the mesher needs."""
        from rheotwin.meshing.shapes import CylinderShape

        return CylinderShape(radius=self.radius, height=self.height, cells=self.cells, cell=self.mesher_cell())


class SphereBody(CellBody):
    """A ball, in 2D a disc; its origin is its centre."""

    dimensions = (2, 3)

    shape: Literal["sphere"]
    """Kind of shape."""
    radius: PositiveLength
    """Radius."""
    cells: Count
    """Number of cells across the diameter."""

    def shape_spec(self) -> SphereShape:
        """Return what the mesher needs."""
        from rheotwin.meshing.shapes import SphereShape

        return SphereShape(radius=self.radius, cells=self.cells, cell=self.mesher_cell())


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
            yield (
                "cut",
                f"the missing corner {list(self.cut)} must be smaller than the whole {list(self.size[:2])}",
            )

    def shape_spec(self) -> LShape:
        """Return what the mesher needs."""
        from rheotwin.meshing.shapes import LShape

        return LShape(
            size=self.size, cells=self.cells, cut=self.cut, cell=self.mesher_cell(), pattern=self.mesher_pattern()
        )


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

    def shape_spec(self) -> TriangleShape:
        """Return what the mesher needs."""
        from rheotwin.meshing.shapes import TriangleShape

        return TriangleShape(base=self.base, height=self.height, cells=self.cells)


class FileBody(BodyBase):
    """A body whose mesh is read from a file."""

    shape: Literal["file"]
    """Kind of shape."""
    path: Annotated[str, Field(min_length=1)]
    """Mesh file, relative to the folder of the scene file."""
    scale: PositiveLength = 1.0
    """Length of one unit of the mesh file's coordinates; default: 1 m."""
    drop_unused: Flag = False
    """Leave out points that no cell uses instead of refusing the file."""
    hanging: Flag = False
    """Tie nodes that lie on an edge of a cell they are no corner of to that edge, which `fem` cannot do."""

    @property
    def has_hanging_nodes(self) -> bool:
        """Whether nodes on the edges of coarser cells are looked for."""
        return self.hanging or bool(self.finer)


BodySpec = Annotated[
    BoxBody | GridBody | CylinderBody | SphereBody | LShapeBody | TriangleBody | FileBody, Field(discriminator="shape")
]
