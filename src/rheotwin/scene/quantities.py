"""Numbers with units, ready to annotate fields of the scene models."""

from __future__ import annotations

from itertools import pairwise
from math import hypot
from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from rheotwin.scene.base import Count, Number
from rheotwin.scene.units import PerAxis, Quantity

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
