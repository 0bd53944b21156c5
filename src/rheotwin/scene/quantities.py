"""Numbers of a scene file by what they measure, and lists with one entry for each dimension."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import hypot
from typing import Annotated, Any, get_args

from pydantic import AfterValidator, Discriminator, Field, Tag
from pydantic_core import PydanticCustomError

from rheotwin.scene.base import Count, Number, SceneModel
from rheotwin.scene.units import Quantity


@dataclass(frozen=True)
class PerAxis:
    """Annotation of a list that has one entry for each dimension of the scene."""


def number_or_list(value: Any) -> str:
    """Tell a number and a list of numbers apart."""
    return "list" if isinstance(value, list | tuple) else "number"


Positive = Annotated[Number, Field(gt=0)]
NotNegative = Annotated[Number, Field(ge=0)]

Length = Annotated[Number, Quantity("m")]
PositiveLength = Annotated[Positive, Quantity("m")]
PositiveArea = Annotated[Positive, Quantity("m2")]
PositiveMass = Annotated[Positive, Quantity("kg")]
PositiveDensity = Annotated[Positive, Quantity("kg/m3")]
Time = Annotated[NotNegative, Quantity("s")]
PositiveTime = Annotated[Positive, Quantity("s")]
Angle = Annotated[Number, Quantity("rad")]
Modulus = Annotated[Number, Quantity("Pa")]
NotNegativeModulus = Annotated[NotNegative, Quantity("Pa")]
Viscosity = Annotated[Number, Quantity("Pa s")]
NotNegativeViscosity = Annotated[NotNegative, Quantity("Pa s")]

Point = Annotated[tuple[Length, ...], PerAxis()]
Sizes = Annotated[tuple[PositiveLength, ...], PerAxis()]
Counts = Annotated[tuple[Count, ...], PerAxis()]
ForceVector = Annotated[tuple[Annotated[Number, Quantity("N")], ...], PerAxis()]
Velocity = Annotated[tuple[Annotated[Number, Quantity("m/s")], ...], PerAxis()]
AngularSpeed = Annotated[Number, Quantity("rad/s")]
SpinPart = Annotated[
    Annotated[AngularSpeed, Tag("number")] | Annotated[tuple[AngularSpeed, AngularSpeed, AngularSpeed], Tag("list")],
    Discriminator(number_or_list),
]
"""A rate of turning as written in a scene file: a number in 2D, one for each axis in 3D."""
Acceleration = Annotated[tuple[Annotated[Number, Quantity("m/s2")], ...], PerAxis()]


def _unit_vector(direction: tuple[float, ...]) -> tuple[float, ...]:
    """Return the direction with length one; one that has it stays as it is, to the last digit."""
    length = hypot(*direction)
    if length == 0.0:
        raise PydanticCustomError("direction", "needs a direction: its components are all zero")
    return direction if abs(length - 1.0) < 1e-14 else tuple(component / length for component in direction)


Direction = Annotated[tuple[Number, ...], AfterValidator(_unit_vector), PerAxis()]
Direction3D = Annotated[tuple[Number, Number, Number], AfterValidator(_unit_vector)]


def _increasing(values: tuple[float, ...]) -> tuple[float, ...]:
    """Return the values if each is larger than the one before."""
    for index, (before, after) in enumerate(pairwise(values), start=2):
        if after <= before:
            raise PydanticCustomError(
                "increasing",
                "must increase from entry to entry: entry {index} is {after} after {before}",
                {"index": index, "after": after, "before": before},
            )
    return values


Times = Annotated[tuple[Time, ...], Field(min_length=1), AfterValidator(_increasing)]
Coordinates = Annotated[tuple[Length, ...], Field(min_length=2), AfterValidator(_increasing)]

Place = tuple[str | int, ...]


def _marks(annotation: Any, kind: type) -> Iterator[tuple[int, Any]]:
    """Yield (depth, mark) for the annotations of one kind in a type; depth counts tuple levels."""
    marks = [mark for mark in getattr(annotation, "__metadata__", ()) if isinstance(mark, kind)]
    yield from ((0, mark) for mark in marks)
    deeper = 1 if getattr(annotation, "__origin__", None) is tuple else 0
    for inner in get_args(annotation):
        yield from ((depth + deeper, mark) for depth, mark in _marks(inner, kind))


@cache
def _field_marks(model: type[SceneModel], kind: type) -> dict[str, tuple[int, Any]]:
    """Return the first mark of one kind for each field that has one."""
    found = {}
    for name, field in model.model_fields.items():
        own = [(0, mark) for mark in field.metadata if isinstance(mark, kind)]
        marks = own or list(_marks(field.annotation, kind))
        if marks:
            found[name] = marks[0]
    return found


def _lists_at(value: Any, depth: int, place: Place) -> Iterator[tuple[Place, tuple[Any, ...]]]:
    """Yield the lists found `depth` levels inside nested lists, with their places."""
    if not isinstance(value, tuple):
        return
    if depth == 0:
        yield place, value
        return
    for index, entry in enumerate(value):
        yield from _lists_at(entry, depth - 1, (*place, index))


def axis_faults(model: SceneModel, dimension: int) -> Iterator[tuple[Place, str]]:
    """Yield (place inside the model, sentence) for every list without exactly one entry per dimension."""
    per_axis = _field_marks(type(model), PerAxis)
    for name in model.model_fields_set:
        value = getattr(model, name)
        if isinstance(value, SceneModel):
            yield from (((name, *place), message) for place, message in axis_faults(value, dimension))
        elif name in per_axis:
            for place, entries in _lists_at(value, per_axis[name][0], (name,)):
                if entries and len(entries) != dimension:
                    yield (place, f"needs {dimension} component(s) in a {dimension}D scene, has {len(entries)}")
