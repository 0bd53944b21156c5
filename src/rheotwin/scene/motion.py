"""Motions over time: a table of times and displacements, linear or eased in between, held outside."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from rheotwin.scene.base import SceneModel
from rheotwin.scene.quantities import Angle, Point, Times


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


class ToolMotion(Motion):
    """A rigid motion of a tool: displacement of its centre and rotation about the axis through it."""

    angle: tuple[Angle, ...] | None = None
    """Rotation at each time; default: none. In 3D about the tool's axis (a bar or plane: its normal)."""

    @field_validator("angle")
    @classmethod
    def _one_angle_for_each_time(
        cls, angle: tuple[float, ...] | None, info: ValidationInfo
    ) -> tuple[float, ...] | None:
        check_lengths(angle, info)
        return angle
