"""Forces that act on chosen nodes, over time."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from rheotwin.scene.base import Dimension, Name, Number, SceneModel
from rheotwin.scene.motion import check_lengths
from rheotwin.scene.quantities import ForceVector, Times
from rheotwin.scene.where import Where


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
