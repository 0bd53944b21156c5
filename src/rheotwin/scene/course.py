"""How something runs over time when no table is given: arithmetic of t, a sine, a ramp with a hold; all become tables.

An expression is arithmetic with `t`, `pi`, numbers and the functions below. It is taken apart into those and nothing
else is ever carried out. Tables are straight between their times; they are made so fine that half way between two times
they miss the course by at most 1e-5 of its range.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from itertools import pairwise
from math import cos, exp, inf, isfinite, log, pi, sin, sqrt, tan
from typing import Annotated

from pydantic_core import PydanticCustomError

from rheotwin.scene.base import Number, SceneModel
from rheotwin.scene.quantities import Point, Positive, PositiveTime, Time
from rheotwin.scene.units import Quantity, being_read

Course = Callable[[float], float]
"""Values over time."""
Table = tuple[tuple[float, ...], tuple[tuple[float, ...], ...]]
"""Times, and the values of all components at each."""

FUNCTIONS: dict[str, Callable[..., float]] = {
    **{"sin": sin, "cos": cos, "tan": tan, "exp": exp, "log": log, "sqrt": sqrt, "abs": abs, "min": min, "max": max},
}
_OPERATORS: dict[type[ast.AST], Callable[[float, float], float]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.Pow: lambda a, b: a**b,
}
LONGEST, MOST_POINTS, FINE = 500, 20_000, 1e-5
"""Characters of an expression, times of a table, and how far the table may miss it, as a share of its range."""


def _refused(text: str, what: str) -> PydanticCustomError:
    return PydanticCustomError(
        "expression",
        "'{text}': {what}; write arithmetic of t, pi and numbers with + - * / ** and {functions}",
        {"text": text if len(text) <= 60 else text[:57] + "...", "what": what, "functions": ", ".join(FUNCTIONS)},
    )


def _compiled(node: ast.AST, text: str) -> Course:
    """Return what one node of an expression computes; only the kinds of node named here exist."""
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool) and abs(number) < 1e300:
            return lambda _: float(number)
        case ast.Name(id="t"):
            return lambda time: time
        case ast.Name(id="pi"):
            return lambda _: pi
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=operand):
            inner, factor = _compiled(operand, text), -1.0 if isinstance(sign, ast.USub) else 1.0
            return lambda time: factor * inner(time)
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
            a, b, combine = _compiled(left, text), _compiled(right, text), _OPERATORS[type(operator)]
            return lambda time: combine(a(time), b(time))
        case ast.Call(func=ast.Name(id=name), args=[_, *_] as given, keywords=[]) if name in FUNCTIONS:
            if len(given) > 1 and name not in ("min", "max"):
                raise _refused(text, f"{name} takes one value")
            parts, function = [_compiled(part, text) for part in given], FUNCTIONS[name]
            if len(parts) == 1 and name in ("min", "max"):
                raise _refused(text, f"{name} takes two values or more")
            return lambda time: function(*(part(time) for part in parts))
        case ast.Name(id=name):
            raise _refused(text, f"there is no '{name}'")
    raise _refused(text, "this is more than arithmetic")


def expression(text: str) -> Course:
    """Return the course that an expression of t describes."""
    if len(text) > LONGEST:
        raise _refused(text, f"longer than {LONGEST} characters")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        course = _compiled(tree, text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        if isinstance(error, PydanticCustomError):
            raise
        raise _refused(text, "this cannot be read") from error

    def at(time: float) -> float:
        try:
            value = course(time)
        except (ArithmeticError, ValueError, TypeError):
            value = inf
        if isinstance(value, complex) or not isfinite(value):
            raise PydanticCustomError(
                "expression",
                "'{text}' is no finite number at t = {time}; write one that is finite at every time of the scene",
                {"text": text, "time": f"{time:g}"},
            )
        return float(value)

    return at


def sampled(courses: Sequence[Course], end: float) -> Table:
    """Return times from 0 to `end` and the values of all courses there, refined until straight lines follow them."""
    times = [end * k / 32 for k in range(33)]
    known = {time: tuple(course(time) for course in courses) for time in times}
    while len(times) < MOST_POINTS:
        spans = [max(column) - min(column) for column in zip(*known.values(), strict=True)]
        added = []
        for before, after in pairwise(times):
            middle = 0.5 * (before + after)
            if middle - before <= 1e-9 * end:  # a jump: as steep as a table can be
                continue
            value = tuple(course(middle) for course in courses)
            missed = [abs(v - 0.5 * (a + b)) for v, a, b in zip(value, known[before], known[after], strict=True)]
            if any(miss > FINE * span for miss, span in zip(missed, spans, strict=True)):
                known[middle] = value
                added.append(middle)
        if not added:
            break
        times = sorted([*times, *added])
    return tuple(times), tuple(known[time] for time in times)


class Sine(SceneModel):
    """amplitude sin(2 pi frequency t + phase), from the start to the end of the scene."""

    amplitude: Point
    """Largest displacement, one component for each dimension."""
    frequency: Annotated[Positive, Quantity("1/s")]
    """Cycles in a unit of time."""
    phase: Annotated[Number, Quantity("rad")] = 0.0
    """Where in its cycle it starts; default: at zero, rising."""

    def component(self, amplitude: float) -> Course:
        """Return the course of one component [m] over time [s]."""
        return lambda time: amplitude * sin(2.0 * pi * self.frequency * time + self.phase)


class Ramp(SceneModel):
    """Straight to a displacement, a hold there, and straight back where `back` is given."""

    to: Point
    """Displacement that is held, one component for each dimension."""
    time: PositiveTime
    """How long the way there takes."""
    hold: Time = 0.0
    """How long it stays."""
    back: PositiveTime | None = None
    """How long the way back takes; default: it stays to the end."""
    start: Time = 0.0
    """When it sets out; default: at once."""

    def table(self) -> Table:
        """Return its times [s] and displacements [m]."""
        rest, there, held = (0.0,) * len(self.to), self.start + self.time, self.start + self.time + self.hold
        corners = [(self.start, rest), (there, self.to)]
        corners += [(held, self.to)] if self.hold else []
        corners += [(held + self.back, rest)] if self.back is not None else []
        return tuple(time for time, _ in corners), tuple(place for _, place in corners)


def _duration() -> float:
    duration = being_read().duration
    if duration is None:
        raise PydanticCustomError("course", "needs the duration of the scene, which cannot be read")
    return duration


def table_of(expressions: Sequence[str], sine: Sine | None, ramp: Ramp | None, unit: str) -> Table:
    """Return the table of the one course that is given, over the duration of the scene that is being read.

    Expressions are in the file's own units, t and values; `unit` is the SI unit of their values.
    """
    if ramp is not None:
        return ramp.table()
    if sine is not None:
        return sampled([sine.component(amplitude) for amplitude in sine.amplitude], _duration())
    units = being_read().units
    clock, factor = Quantity("s").factor(units), Quantity(unit).factor(units)
    times, rows = sampled([expression(text) for text in expressions], _duration() / clock)
    return tuple(time * clock for time in times), tuple(tuple(value * factor for value in row) for row in rows)
