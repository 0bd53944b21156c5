"""Tools that forces move: a mass, the directions it is free in, and what pushes it beside the bodies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from rheotwin.scene.base import AXES, Dimension, Number, SceneModel
from rheotwin.scene.motion import check_lengths
from rheotwin.scene.quantities import AngularSpeed, ForceVector, Positive, PositiveMass, Times, Velocity
from rheotwin.scene.units import Quantity

FreeComponent = Literal["x", "y", "z", "angle"]


class DriveSpec(SceneModel):
    """A rigid tool with a mass, moved by its weight, a force and what the bodies answer."""

    mass: PositiveMass
    """Mass of the tool; its centre of mass is `center`."""
    moment_of_inertia: Annotated[Positive, Quantity("kg m2")] | None = None
    """About the tool's axis through its centre; needed where `angle` is free."""
    free: Annotated[tuple[FreeComponent, ...], Field(min_length=1)] = ()
    """What forces move: axes and `angle`; default: all axes. The rest follows the tool's motion."""
    times: Times | None = None
    """Times of the tables of force and moment; default: both are constant, one entry each."""
    force: Annotated[tuple[ForceVector, ...], Field(min_length=1)] | None = None
    """Force on the tool at each time, straight in between; default: none beside its weight."""
    moment: Annotated[tuple[Annotated[Number, Quantity("N m")], ...], Field(min_length=1)] | None = None
    """Moment about the tool's axis at each time; default: none."""
    velocity: Velocity = ()
    """Velocity at the start; default: at rest."""
    angular_velocity: AngularSpeed = 0.0
    """Angular velocity about the tool's axis at the start; default: none."""

    @field_validator("force", "moment")
    @classmethod
    def _one_for_each_time(cls, values: Any, info: ValidationInfo) -> Any:
        check_lengths(values, info)
        if values is not None and info.data.get("times") is None and len(values) > 1:
            raise PydanticCustomError("times", "several entries need `times`, one for each; give them")
        return values

    @model_validator(mode="after")
    def _times_of_something(self) -> DriveSpec:
        if self.times is not None and self.force is None and self.moment is None:
            raise PydanticCustomError("times", "`times` without `force` or `moment` is the time of nothing")
        return self

    def free_components(self, dimension: int) -> tuple[FreeComponent, ...]:
        """Return what forces move, defaults filled in."""
        return self.free or AXES[:dimension]

    def dimension_faults(self, dimension: Dimension) -> Iterator[tuple[str, str]]:
        """Yield (key, sentence) for everything that does not exist in this dimension."""
        free = self.free_components(dimension)
        for name in free:
            if name in AXES[dimension:] or (name == "angle" and dimension == 1):
                yield "free", f"there is no {name} in a {dimension}D scene"
        if len(set(free)) < len(free):
            yield "free", "names a component twice"
        if "angle" in free and self.moment_of_inertia is None:
            yield "moment_of_inertia", "missing; `angle` is free"
        if "angle" not in free:
            for key in ("moment_of_inertia", "moment", "angular_velocity"):
                if getattr(self, key):
                    yield key, "has no meaning: `angle` is not among the free components (`free`)"
        for number, axis in enumerate(AXES[:dimension]):
            if axis in free:
                continue
            if any(len(row) > number and row[number] != 0.0 for row in self.force or ()):
                yield "force", f"pushes along {axis}, which is not among the free components (`free`)"
            if len(self.velocity) > number and self.velocity[number] != 0.0:
                yield "velocity", f"moves {axis}, which is not among the free components (`free`)"
