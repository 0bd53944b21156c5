"""Forces that act on chosen nodes, over time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from rheotwin.scene.base import Dimension, Name, Number, SceneModel
from rheotwin.scene.motion import check_lengths
from rheotwin.scene.quantities import ForceVector, Point, PositiveLength, Times
from rheotwin.scene.where import Where


class PunchSpec(SceneModel):
    """A rectangular punch that pushes on a lattice of nodes cell by cell: the papers' digital pushing."""

    center: Point
    """Its centre, in scene coordinates; what matters is where it lies along the pushed side."""
    size: Annotated[tuple[PositiveLength, ...], Field(min_length=1, max_length=2)]
    """Lengths of its edges along the axes of the pushed side: one in 2D, two in 3D."""
    cell: PositiveLength | None = None
    """Length of the cells it is cut into; default: that of the body's cells."""
    clip: Literal["renormalised", "none", "paper"] = "renormalised"
    """Vertices further than 3/4 of a cell get nothing: scaled up to keep the force, not done, or lost as printed."""

    def dimension_faults(self, dimension: Dimension) -> Iterator[tuple[str, str]]:
        """Yield (key, sentence) for everything that does not exist in this dimension."""
        if dimension == 1:
            yield "size", "a 1D body has no side to push on; leave the punch out"
        elif len(self.size) != dimension - 1:
            yield "size", f"needs {dimension - 1} entr{'y' if dimension == 2 else 'ies'} in {dimension}D"


class ForceSpec(SceneModel):
    """A total force, shared over chosen nodes by the boundary area around them (else equally)."""

    body: Name
    """Name of the body."""
    where: Where
    """Which of its nodes."""
    total: ForceVector
    """Sum of the force over all chosen nodes, one component for each dimension."""
    times: Times | None = None
    """Times of the table of factors, increasing; default: the force is constant."""
    factor: tuple[Number, ...] | None = None
    """What the force is multiplied by at each time; straight in between, held before and after."""
    punch: PunchSpec | None = None
    """Shares the force as a punch does instead of by area."""

    @field_validator("factor")
    @classmethod
    def _one_for_each_time(cls, factor: tuple[float, ...] | None, info: ValidationInfo) -> tuple[float, ...] | None:
        check_lengths(factor, info)
        return factor

    @model_validator(mode="after")
    def _both_or_neither(self) -> ForceSpec:
        if (self.times is None) != (self.factor is None):
            raise PydanticCustomError("factor", "needs `times` and `factor` together, or neither for a constant force")
        return self

    def dimension_faults(self, dimension: Dimension) -> Iterator[tuple[str, str]]:
        """Yield (key, sentence) for everything that does not exist in this dimension."""
        yield from ((f"where.{key}", message) for key, message in self.where.dimension_faults(dimension))
        if self.punch is not None:
            yield from ((f"punch.{key}", message) for key, message in self.punch.dimension_faults(dimension))
