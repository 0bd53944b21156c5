"""How bodies and tools are turned, moved over time, and driven by forces."""

from __future__ import annotations

from collections.abc import Iterator
from math import cos, sin
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from rheotwin.scene.base import AXES, Dimension, Number, SceneModel
from rheotwin.scene.course import Ramp, Sine, table_of
from rheotwin.scene.moduli import number_or_table
from rheotwin.scene.quantities import (
    Acceleration,
    Angle,
    AngularSpeed,
    Direction3D,
    ForceVector,
    Point,
    Positive,
    PositiveMass,
    Times,
    Velocity,
)
from rheotwin.scene.units import Quantity


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


Expressions = Annotated[tuple[str, ...], Field(min_length=1)]


def _list_or_table(value: Any) -> str:
    return "table" if isinstance(value, dict | SceneModel) else "list"


NO_COURSE: dict[str, Any] = {"expression": None, "sine": None, "ramp": None}


def _one_course(motion: Motion | ToolMotion, has_table: bool) -> list[str]:
    """Return the course a motion is written as instead of a table, if it is; refuse two of them."""
    given = [name for name in NO_COURSE if getattr(motion, name)]
    if len(given) + has_table > 1:
        raise PydanticCustomError("motion", "needs only one of a table, expression, sine and ramp")
    return given


class Motion(SceneModel):
    """A displacement and a turn over time; the first and last values are held before and after the table.

    Written as a table (`times`, and `displacement`, `angle` or both), or as one of `expression`, `sine` and `ramp`,
    which become a table of displacements.
    """

    times: Times = ()
    """Times of the table, increasing."""
    displacement: Annotated[tuple[Point, ...], Field(min_length=1)] = ()
    """Displacement from the rest position at each time, one component for each dimension."""
    angle: Annotated[tuple[Angle, ...], Field(min_length=1)] | None = None
    """Turn from the rest position about `center` at each time, before the displacement; default: none."""
    center: Point = ()
    """The point of the rest shape they turn about."""
    axis: Direction3D | None = None
    """Direction of the axis they turn about, in 3D; default: z."""
    expression: Expressions | None = None
    """Instead of a table: arithmetic of t for each dimension, such as "-0.01*sin(2*pi*t)", in the file's units."""
    sine: Sine | None = None
    """Instead of a table: a sine."""
    ramp: Ramp | None = None
    """Instead of a table: there, a hold, and back."""
    interpolation: Literal["linear", "smooth"] = "linear"
    """Between the times: straight, or a cubic ease with zero rate at each time."""

    @field_validator("displacement", "angle")
    @classmethod
    def _one_for_each_time(cls, values: Any, info: ValidationInfo) -> Any:
        check_lengths(values, info)
        return values

    @model_validator(mode="after")
    def _as_table(self) -> Motion:
        courses = _one_course(self, bool(self.times or self.displacement or self.angle))
        if bool(self.angle) != bool(self.center):
            raise PydanticCustomError("motion", "a turn needs both `angle` and `center`")
        if not courses:
            if not (self.times and (self.displacement or self.angle)):
                raise PydanticCustomError(
                    "motion", "needs `times` and `displacement` or `angle`, or one of expression, sine, ramp"
                )
            unmoved = ((0.0,) * len(self.center),) * len(self.times)
            return self if self.displacement else self.model_copy(update={"displacement": unmoved})
        times, rows = table_of(self.expression or (), self.sine, self.ramp, "m")
        return self.model_copy(update={**NO_COURSE, "times": times, "displacement": rows})


class GravityTable(SceneModel):
    """Gravity over time; the first and last values are held before and after the table."""

    times: Times = ()
    """Times of the table, increasing."""
    acceleration: Annotated[tuple[Acceleration, ...], Field(min_length=1)] = ()
    """Acceleration at each time, straight in between."""
    expression: Expressions | None = None
    """Instead of a table: arithmetic of t for each dimension, such as "-9.81*min(t, 1)", in the file's units."""

    @field_validator("acceleration")
    @classmethod
    def _one_for_each_time(cls, values: Any, info: ValidationInfo) -> Any:
        check_lengths(values, info)
        return values

    @model_validator(mode="after")
    def _as_table(self) -> GravityTable:
        if (self.expression is not None) == bool(self.times and self.acceleration):
            raise PydanticCustomError("gravity", "needs either `times` and `acceleration`, or `expression`")
        if self.expression is None:
            return self
        times, rows = table_of(self.expression, None, None, "m/s2")
        return self.model_copy(update={"expression": None, "times": times, "acceleration": rows})


GravityPart = Annotated[
    Annotated[Acceleration, Tag("list")] | Annotated[GravityTable, Tag("table")], Discriminator(_list_or_table)
]
"""Gravity as written in a scene file: one vector, or a table over time."""


def gravity_rows(gravity: tuple[float, ...] | GravityTable) -> tuple[tuple[float, ...], ...]:
    """Return the vectors of gravity [m/s2]: the one, or those of its table."""
    return gravity.acceleration if isinstance(gravity, GravityTable) else (gravity,)


class ToolMotion(SceneModel):
    """A rigid motion of a tool: of its centre, by displacement or velocity, and about the axis through it."""

    times: Times = ()
    """Times of the table, increasing."""
    displacement: Annotated[tuple[Point, ...], Field(min_length=1)] | None = None
    """Displacement from the rest position at each time; the first and last are held before and after the table."""
    velocity: Annotated[tuple[Velocity, ...], Field(min_length=1)] | None = None
    """Instead of displacements: velocity from each time to the next, the last one until the end of the run."""
    angle: Annotated[tuple[Angle, ...], Field(min_length=1)] | None = None
    """Rotation at each time; default: none. In 3D about the tool's axis (a bar or plane: its normal)."""
    angular_velocity: Annotated[tuple[AngularSpeed, ...], Field(min_length=1)] | None = None
    """Instead of angles: angular velocity from each time to the next, the last one until the end of the run."""
    expression: Expressions | None = None
    """Instead of a table: arithmetic of t for each dimension: where its centre goes, in the file's units."""
    sine: Sine | None = None
    """Instead of a table: a sine of its centre."""
    ramp: Ramp | None = None
    """Instead of a table: its centre goes there, holds, and comes back."""
    interpolation: Literal["linear", "smooth"] = "linear"
    """Between the times: straight, or a cubic ease with zero rate at each time (not with velocities)."""

    @field_validator("displacement", "velocity", "angle", "angular_velocity")
    @classmethod
    def _one_for_each_time(cls, values: Any, info: ValidationInfo) -> Any:
        check_lengths(values, info)
        return values

    @model_validator(mode="after")
    def _one_of_each(self) -> ToolMotion:
        tables = (self.displacement, self.velocity, self.angle, self.angular_velocity)
        if _one_course(self, bool(self.times) or any(tables)):
            times, rows = table_of(self.expression or (), self.sine, self.ramp, "m")
            return self.model_copy(update={**NO_COURSE, "times": times, "displacement": rows})
        if not self.times:
            raise PydanticCustomError("motion", "needs `times` of its table, or one of expression, sine, ramp")
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


class Rotation(SceneModel):
    """A turn about an axis through the shape's own origin, before it is moved to `origin`."""

    axis: Direction3D
    """Direction of the axis."""
    angle: Angle
    """Angle of the turn, right-handed."""

    def matrix(self) -> tuple[tuple[float, ...], ...]:
        """Return the rotation matrix c I + s [a]x + (1 - c) a a' (Rodrigues)."""
        c, s, (x, y, z) = cos(self.angle), sin(self.angle), self.axis
        skew = ((0.0, -z, y), (z, 0.0, -x), (-y, x, 0.0))
        a = self.axis
        return tuple(tuple(c * (i == j) + s * skew[i][j] + (1.0 - c) * a[i] * a[j] for j in range(3)) for i in range(3))


RotationPart = Annotated[
    Annotated[Angle, Tag("number")] | Annotated[Rotation, Tag("table")], Discriminator(number_or_table)
]
"""A turn as written in a scene file: an angle in 2D, { axis = [..], angle = .. } in 3D."""


def rotation_matrix(rotation: float | Rotation | None, dimension: int) -> Any:
    """Return the matrix of a turn as an array (dimension, dimension)."""
    import numpy as np

    if rotation is None or dimension == 1:
        return np.eye(dimension)
    if isinstance(rotation, Rotation):
        return np.array(rotation.matrix())
    c, s = cos(rotation), sin(rotation)
    return np.array([[c, -s], [s, c]])
