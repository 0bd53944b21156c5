"""Numbers with units, the factors that turn them into SI, and lists with one entry for each dimension."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import hypot, pi
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import AfterValidator, Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

from rheotwin.scene.base import Count, Number, SceneModel

SI_VALUE: dict[str, float] = {
    **{"m": 1.0, "cm": 1e-2, "mm": 1e-3, "um": 1e-6, "km": 1e3, "in": 0.0254},
    **{"kg": 1.0, "g": 1e-3, "mg": 1e-6, "t": 1e3},
    **{"s": 1.0, "ms": 1e-3, "min": 60.0, "h": 3600.0},
    **{"rad": 1.0, "deg": pi / 180.0},
    **{"Pa": 1.0, "kPa": 1e3, "MPa": 1e6, "GPa": 1e9},
    **{"N": 1.0, "mN": 1e-3, "kN": 1e3},
    **{"kg/m3": 1.0, "g/cm3": 1e3},
}
"""Size of every unit a file may name, in SI."""


class Units(SceneModel):
    """How the numbers of this file are meant; after loading everything is SI."""

    length: Literal["m", "cm", "mm", "um", "km", "in"] = "m"
    """Unit of lengths; areas and accelerations follow."""
    mass: Literal["kg", "g", "mg", "t"] = "kg"
    """Unit of masses."""
    time: Literal["s", "ms", "min", "h"] = "s"
    """Unit of times."""
    angle: Literal["rad", "deg"] = "rad"
    """Unit of angles."""
    pressure: Literal["Pa", "kPa", "MPa", "GPa"] | None = None
    """Unit of moduli; default: mass / (length time2). Viscosities follow as pressure times time."""
    force: Literal["N", "mN", "kN"] | None = None
    """Unit of forces; default: mass length / time2."""
    density: Literal["kg/m3", "g/cm3"] | None = None
    """Unit of densities; default: mass / length3."""

    def base(self, kind: str) -> float:
        """Return the size in SI of the unit of `kind` (length, mass, time, angle, pressure, ...)."""
        named = getattr(self, kind)
        if named is not None:
            return SI_VALUE[named]
        length, mass, time = SI_VALUE[self.length], SI_VALUE[self.mass], SI_VALUE[self.time]
        derived = {"pressure": mass / (length * time**2), "force": mass * length / time**2, "density": mass / length**3}
        return derived[kind]


EXPONENTS: dict[str, dict[str, int]] = {
    "m": {"length": 1},
    "m2": {"length": 2},
    "kg": {"mass": 1},
    "s": {"time": 1},
    "rad": {"angle": 1},
    "Pa": {"pressure": 1},
    "Pa s": {"pressure": 1, "time": 1},
    "N": {"force": 1},
    "kg/m3": {"density": 1},
    "m/s2": {"length": 1, "time": -2},
    "m/s": {"length": 1, "time": -1},
    "rad/s": {"angle": 1, "time": -1},
    "N m": {"force": 1, "length": 1},
    "N/m": {"force": 1, "length": -1},
    "N s/m": {"force": 1, "time": 1, "length": -1},
    "N/(m s)": {"force": 1, "length": -1, "time": -1},
    "kg m2": {"mass": 1, "length": 2},
    "1": {},
}
"""SI unit of a quantity -> exponents of the kinds of unit it is made of."""


@dataclass(frozen=True)
class Quantity:
    """Annotation of a number: its SI `unit`, one of `EXPONENTS`."""

    unit: str

    def factor(self, units: Units) -> float:
        """Return what a number in `units` is multiplied by to become SI."""
        factor = 1.0
        for kind, exponent in EXPONENTS[self.unit].items():
            factor *= units.base(kind) ** exponent
        return factor

    def __get_pydantic_json_schema__(self, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Show the unit to editors as `x-unit`."""
        schema: dict[str, Any] = handler(core_schema)
        return {**schema, "x-unit": self.unit}


@dataclass(frozen=True)
class PerAxis:
    """Annotation of a list that has one entry for each dimension of the scene."""


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

Place = tuple[str | int, ...]
AnyModel = TypeVar("AnyModel", bound=SceneModel)


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


def _scaled(value: Any, factor: float) -> Any:
    """Multiply a number, or every number of nested lists, by a factor."""
    if isinstance(value, tuple):
        return tuple(_scaled(entry, factor) for entry in value)
    return value if value is None else value * factor


def _converted(value: Any, factor: float | None, units: Units) -> Any:
    """Convert a field: models and tables of models by their own fields, numbers by the field's factor."""
    if isinstance(value, SceneModel):
        return to_si(value, units)
    if isinstance(value, dict):
        return {key: _converted(entry, factor, units) for key, entry in value.items()}
    if isinstance(value, tuple) and value and isinstance(value[0], SceneModel):
        return tuple(to_si(entry, units) for entry in value)
    return value if factor is None else _scaled(value, factor)


def to_si(model: AnyModel, units: Units) -> AnyModel:
    """Return the model with every number given in `units` turned into SI (defaults are SI already)."""
    quantities = _field_marks(type(model), Quantity)
    update = {}
    for name in model.model_fields_set:
        factor = quantities[name][1].factor(units) if name in quantities else None
        update[name] = _converted(getattr(model, name), factor, units)
    return model.model_copy(update=update)


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
