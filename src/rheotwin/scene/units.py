"""Units: the words a scene may use, `[units]` of a file, and numbers that carry their own, all turned into SI."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from math import pi
from typing import Any, Literal

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from rheotwin.errors import nearest_name
from rheotwin.scene.base import Flag, SceneModel

Dimensions = tuple[int, int, int, int]
"""Exponents of length, mass, time and angle."""

_WORDS: dict[Dimensions, dict[str, float]] = {
    (1, 0, 0, 0): {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "um": 1e-6, "km": 1e3, "in": 0.0254},
    (0, 1, 0, 0): {"kg": 1.0, "g": 1e-3, "mg": 1e-6, "t": 1e3},
    (0, 0, 1, 0): {"s": 1.0, "ms": 1e-3, "us": 1e-6, "min": 60.0, "h": 3600.0},
    (0, 0, 0, 1): {"rad": 1.0, "deg": pi / 180.0},
    (-1, 1, -2, 0): {"Pa": 1.0, "kPa": 1e3, "MPa": 1e6, "GPa": 1e9, "bar": 1e5},
    (1, 1, -2, 0): {"N": 1.0, "mN": 1e-3, "kN": 1e3},
}
SI_VALUE: dict[str, float] = {word: size for words in _WORDS.values() for word, size in words.items()}
"""Size in SI of every word for a unit."""
_DIMENSIONS: dict[str, Dimensions] = {word: exponents for exponents, words in _WORDS.items() for word in words}
SI_VALUE |= {"kg/m3": 1.0, "g/cm3": 1e3}


LengthWord = Literal["m", "cm", "mm", "um", "km", "in"]


class Units(SceneModel):
    """How the numbers of this file are meant; after loading everything is SI."""

    length: LengthWord = "m"
    """Unit of lengths, and of the coordinates in mesh files."""
    mass: Literal["kg", "g", "mg", "t"] = "kg"
    """Unit of masses."""
    time: Literal["s", "ms", "min", "h"] = "s"
    """Unit of times."""
    angle: Literal["rad", "deg"] = "rad"
    """Unit of angles."""
    pressure: Literal["Pa", "kPa", "MPa", "GPa"] | None = None
    """Unit of moduli; viscosities follow as pressure times time. Default: Pa, if length, mass and time are SI."""
    force: Literal["N", "mN", "kN"] | None = None
    """Unit of forces; default: N, if length, mass and time are SI."""
    density: Literal["kg/m3", "g/cm3", "t/mm3"] | None = None
    """Unit of densities; default: kg/m3, if length and mass are SI."""
    virtual: Flag = False
    """The numbers are of no real material (like the papers' masses of 1): nothing warns of implausible ones."""

    def word(self, kind: str) -> str:
        """Return the unit of `kind` (length, mass, time, angle, pressure, ...) in words."""
        return getattr(self, kind) or self.words(MADE_OF[kind])

    def words(self, exponents: Mapping[str, int]) -> str:
        """Return a unit made of powers of the file's length, mass, time and angle: `kg/(mm s2)`."""
        above, below = (
            [f"{getattr(self, kind)}{'' if abs(n) == 1 else abs(n)}" for kind, n in exponents.items() if sign * n > 0]
            for sign in (1, -1)
        )
        divisor = f"({' '.join(below)})" if len(below) > 1 else "".join(below)
        return " ".join(above) + (f"/{divisor}" if below else "")

    def base(self, kind: str) -> float:
        """Return the size in SI of the unit of `kind`."""
        return parsed_unit(self.word(kind))[0]


MADE_OF: dict[str, dict[str, int]] = {
    "pressure": {"mass": 1, "length": -1, "time": -2},
    "force": {"mass": 1, "length": 1, "time": -2},
    "density": {"mass": 1, "length": -3},
}
"""Kinds of unit that a file may name, or leave to its mass, length and time."""
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
    "1/s": {"time": -1},
    "1": {},
}
"""SI unit of a quantity -> exponents of the kinds of unit it is made of."""
_TERM = re.compile(r"([A-Za-z]+)\^?(-?[0-9]+)?")


def parsed_unit(text: str) -> tuple[float, Dimensions]:
    """Return the size in SI of a unit and its dimensions: `kPa`, `kg/m3`, `N s/m`, `kg/(m s2)`.

    Words stand side by side (or with `*`), a number behind one is its power, and a `/` divides by one word or by all
    that stand in brackets.
    """
    size, total = 1.0, [0, 0, 0, 0]
    above, *below = text.replace("*", " ").replace("·", " ").split("/")
    for sign, side in ((1, above), *((-1, part) for part in below)):
        words = side.strip().removeprefix("(").removesuffix(")").split()
        if not words or (len(words) > 1 and sign < 0 and not side.strip().startswith("(")):
            raise ValueError(f"'{text}' cannot be read; behind / write one unit, or several in brackets")
        for word in words:
            term = _TERM.fullmatch(word)
            name = word if term is None else term.group(1)
            if term is None or name not in _DIMENSIONS:
                raise ValueError(
                    f"unknown unit '{name}'{nearest_name(name, _DIMENSIONS)}; known: {', '.join(_DIMENSIONS)}"
                )
            power = sign * int(term.group(2) or 1)
            size *= SI_VALUE[name] ** power
            total = [a + power * b for a, b in zip(total, _DIMENSIONS[name], strict=True)]
    return size, (total[0], total[1], total[2], total[3])


_NUMBER = re.compile(r"\s*[+-]?[0-9.]+[eE][+-]?[0-9]+\s*")
_WITH_UNIT = re.compile(r"\s*([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)\s*([A-Za-z].*?)\s*")


@dataclass(frozen=True)
class Reading:
    """What is known of a file while its tables are validated: its units, and the duration [s] if that can be read."""

    units: Units
    duration: float | None = None


_NOTHING = Reading(Units())
_READING: ContextVar[Reading] = ContextVar("reading", default=_NOTHING)
being_read = _READING.get


@contextmanager
def reading(file: Reading) -> Iterator[None]:
    """Take the bare numbers that are validated meanwhile as those of a file."""
    token = _READING.set(file)
    try:
        yield
    finally:
        _READING.reset(token)


SMALLEST, LARGEST = 1e-50, 1e50
"""Sizes in SI that a quantity of a scene may have: those of nature stay far within, and their cubes are numbers."""


@dataclass(frozen=True)
class Quantity:
    """Annotation of a number: its SI `unit`, one of `EXPONENTS`. The number may be text that carries its own unit."""

    unit: str

    def factor(self, units: Units) -> float:
        """Return what a number in `units` is multiplied by to become SI."""
        factor = 1.0
        for kind, exponent in EXPONENTS[self.unit].items():
            factor *= units.base(kind) ** exponent
        return factor

    def _is_plain(self, units: Units) -> bool:
        """Tell whether `units` says in so many words what a bare number means."""
        kinds = EXPONENTS[self.unit]
        named = [kind for kind in kinds if kind in MADE_OF]
        return all(getattr(units, kind) for kind in named) if named else sum(map(abs, kinds.values())) <= 1

    def _readings(self, value: float, units: Units, factor: float) -> PydanticCustomError:
        """Return the refusal of a bare number that has two meanings."""
        total: dict[str, int] = {}
        for kind, exponent in EXPONENTS[self.unit].items():
            for part, power in MADE_OF.get(kind, {kind: 1}).items():
                total[part] = total.get(part, 0) + exponent * power
        own = units.words(total)
        named = [kind for kind in EXPONENTS[self.unit] if kind in MADE_OF]
        remedy = f", or name {named[0]} in [units]" if named else ""
        return PydanticCustomError(
            "reading",
            "{value} has two readings: {value} {si}, or, as [units] has it, {value} {own} = {converted} {si}; "
            'write "{value} {si}" or "{value} {own}"{remedy}',
            {
                "value": f"{value:g}",
                "si": self.unit,
                "own": own,
                "converted": f"{value * factor:.6g}",
                "remedy": remedy,
            },
        )

    def from_text(self, text: str) -> float:
        """Return the SI value of text such as "40 kg/m3"."""
        found = None if _NUMBER.fullmatch(text) else _WITH_UNIT.fullmatch(text)
        if found is None:
            raise PydanticCustomError(
                "unit",
                "must be a number, not '{text}', or text of a number and its unit such as \"5 {unit}\"",
                {"text": text, "unit": self.unit},
            )
        try:
            size, dimensions = parsed_unit(found.group(2))
        except ValueError as error:
            raise PydanticCustomError("unit", "'{text}': {why}", {"text": text, "why": str(error)}) from error
        if dimensions != parsed_unit(self.unit)[1]:
            raise PydanticCustomError(
                "unit",
                "'{text}' is of another kind: needed is a number of {unit}, such as \"5 {unit}\"",
                {"text": text, "unit": self.unit},
            )
        return float(found.group(1)) * size

    def _read(self, value: Any, handler: Callable[[Any], float]) -> float:
        """Return the SI value of a number or a text of the file."""
        if isinstance(value, str):
            return self._within(handler(self.from_text(value)))
        number = handler(value)
        units = being_read().units
        factor = self.factor(units)
        if factor == 1.0 or number == 0.0:
            return self._within(number)
        if not self._is_plain(units):
            raise self._readings(number, units, factor)
        return self._within(number * factor)

    def _within(self, number: float) -> float:
        """Return the SI value, refuse one whose products with others leave the range of numbers."""
        if number == 0.0 or SMALLEST <= abs(number) <= LARGEST:
            return number
        raise PydanticCustomError(
            "range",
            "must be 0, or from {least} to {most} {unit} in size, not {value}",
            {"least": f"{SMALLEST:g}", "most": f"{LARGEST:g}", "unit": self.unit, "value": f"{number:g}"},
        )

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Read numbers and texts with units as SI."""
        return core_schema.no_info_wrap_validator_function(self._read, handler(source))

    def __get_pydantic_json_schema__(self, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Show the unit to editors as `x-unit`, and that text with a unit will do."""
        schema: dict[str, Any] = handler(core_schema)
        return {"anyOf": [schema, {"type": "string"}], "x-unit": self.unit}


def check_one_unit(unit: str | None, scale: float | None) -> None:
    """Refuse the coordinates of a file in two units."""
    if unit is not None and scale is not None:
        raise PydanticCustomError(
            "unit", "`unit` and `scale` both give the size of the file's coordinates; leave one out"
        )


def file_scale(unit: str | None, scale: float | None, units: Units) -> float:
    """Return the factor from the coordinates of a file to metres."""
    return SI_VALUE[unit or units.length] * (1.0 if scale is None else scale)
