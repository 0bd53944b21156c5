"""Motions over time: tables of displacements, linear or eased in between, held outside; tools have velocities, too."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from rheotwin.scene.base import SceneModel
from rheotwin.scene.quantities import Angle, AngularSpeed, Point, Times, Velocity


def check_lengths(values: tuple[object, ...] | None, info: ValidationInfo) -> None:
    """Refuse a list without exactly one entry for each of the table's `times`."""
    times = info.data.get("times")
    if values is None or times is None or len(values) == len(times):
        return
    raise PydanticCustomError(
        "lengths",
        "has {found} entries but `times` has {wanted}; give one for each time",
        {"found": len(values), "wanted": len(times)},
    )


class Motion(SceneModel):
    """A displacement over time; the first and last values are held before and after the table."""

    times: Times
    """Times of the table, increasing."""
    displacement: Annotated[tuple[Point, ...], Field(min_length=1)]
    """Displacement from the rest position at each time, one component for each dimension."""
    interpolation: Literal["linear", "smooth"] = "linear"
    """Between the times: straight, or a cubic ease with zero rate at each time."""

    @field_validator("displacement")
    @classmethod
    def _one_for_each_time(
        cls, displacement: tuple[tuple[float, ...], ...], info: ValidationInfo
    ) -> tuple[tuple[float, ...], ...]:
        check_lengths(displacement, info)
        return displacement


class ToolMotion(SceneModel):
    """A rigid motion of a tool: of its centre, by displacement or velocity, and about the axis through it."""

    times: Times
    """Times of the table, increasing."""
    displacement: Annotated[tuple[Point, ...], Field(min_length=1)] | None = None
    """Displacement from the rest position at each time; the first and last are held before and after the table."""
    velocity: Annotated[tuple[Velocity, ...], Field(min_length=1)] | None = None
    """Instead of displacements: velocity from each time to the next, the last one until the end of the run."""
    angle: Annotated[tuple[Angle, ...], Field(min_length=1)] | None = None
    """Rotation at each time; default: none. In 3D about the tool's axis (a bar or plane: its normal)."""
    angular_velocity: Annotated[tuple[AngularSpeed, ...], Field(min_length=1)] | None = None
    """Instead of angles: angular velocity from each time to the next, the last one until the end of the run."""
    interpolation: Literal["linear", "smooth"] = "linear"
    """Between the times: straight, or a cubic ease with zero rate at each time (not with velocities)."""

    @field_validator("displacement", "velocity", "angle", "angular_velocity")
    @classmethod
    def _one_for_each_time(cls, values: Any, info: ValidationInfo) -> Any:
        check_lengths(values, info)
        return values

    @model_validator(mode="after")
    def _one_of_each(self) -> ToolMotion:
        path, turn = (self.displacement, self.velocity), (self.angle, self.angular_velocity)
        if all(table is None for table in (*path, *turn)):
            raise PydanticCustomError("motion", "needs at least one of displacement, velocity, angle, angular_velocity")
        if None not in path:
            raise PydanticCustomError("motion", "needs only one of displacement and velocity")
        if None not in turn:
            raise PydanticCustomError("motion", "needs only one of angle and angular_velocity")
        if self.interpolation == "smooth" and (self.velocity or self.angular_velocity):
            raise PydanticCustomError("motion", "velocities hold from time to time: leave `interpolation` out")
        return self

    def moved_axes(self, dimension: int) -> tuple[bool, ...]:
        """Tell which axes, and at last the angle, the table moves at all."""
        rows = self.displacement or self.velocity or ()
        axes = (any(len(row) > axis and row[axis] != 0.0 for row in rows) for axis in range(dimension))
        return (*axes, any(self.angle or self.angular_velocity or ()))
