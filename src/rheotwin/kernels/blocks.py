"""Blocks: what a stage works on, as whole numbers of 64 bits that compiled code turns into its arguments again.

An array is its address and shape, and its strides where it is not packed; a number stands for itself; a named tuple is
what it holds, one after the other. `kind_of` tells what an argument is, `words_of` packs it, `opened` emits the way
back. The driver hands over the time `TIME` [s] and step `STEP` [s] of every call; `Now` is a number that other stages
write, read anew at every call.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np


class Given(Enum):
    """What the driver gives to every stage."""

    TIME = "time at the begin of the step [s]"
    STEP = "step [s]"


TIME, STEP = Given.TIME, Given.STEP


@dataclass(frozen=True)
class Now:
    """The number in an array of one number, as it is when the stage is called."""

    array: Any


@dataclass(frozen=True)
class Kind:
    """What an argument is: all that compiled code depends on."""

    name: str
    """array, packed (an array without gaps), int, float, bool, none, tuple, now, TIME or STEP."""
    dtype: str = ""
    dimensions: int = 0
    parts: tuple[Kind, ...] = ()
    tuple_class: type | None = None
    read_only: bool = False

    @property
    def words(self) -> int:
        """Words in the block."""
        if self.name in ("array", "packed"):
            return 1 + self.dimensions * (2 if self.name == "array" else 1)
        if self.name == "tuple":
            return sum(part.words for part in self.parts)
        return 0 if self.name == "none" or self.name in Given.__members__ else 1

    def __str__(self) -> str:
        """Say it briefly and equally in every process."""
        inside = ", ".join(str(part) for part in self.parts)
        home, kept = "", " read only" if self.read_only else ""
        if self.tuple_class is not None:  # code reads fields by their place
            fields = getattr(self.tuple_class, "_fields", ())
            home = f"{self.tuple_class.__module__}.{self.tuple_class.__qualname__}{fields}"
        return f"{self.name} {self.dtype}{self.dimensions or ''}{home}{kept}" + (f"({inside})" if self.parts else "")


def kind_of(argument: Any) -> Kind:
    """Return what an argument of a stage is."""
    if isinstance(argument, np.ndarray):
        packed = argument.flags.c_contiguous and argument.flags.aligned
        name = "packed" if packed else "array"
        return Kind(name, argument.dtype.str, argument.ndim, read_only=not argument.flags.writeable)
    if isinstance(argument, Given):
        return Kind(argument.name)
    if isinstance(argument, Now):
        return Kind("now", argument.array.dtype.str)
    if isinstance(argument, bool | np.bool_):
        return Kind("bool")
    if isinstance(argument, int | np.integer):
        return Kind("int")
    if isinstance(argument, float | np.floating):
        return Kind("float")
    if argument is None:
        return Kind("none")
    if isinstance(argument, tuple):
        named = type(argument) if hasattr(argument, "_fields") else None
        return Kind("tuple", parts=tuple(kind_of(part) for part in argument), tuple_class=named)
    raise TypeError(f"a stage takes arrays, numbers and tuples of them, and no {type(argument).__name__}: {argument!r}")


def words_of(argument: Any) -> Iterator[int]:
    """Yield the words of an argument."""
    if isinstance(argument, np.ndarray):
        yield argument.ctypes.data
        yield from argument.shape
        if not (argument.flags.c_contiguous and argument.flags.aligned):
            yield from argument.strides
    elif isinstance(argument, Now):
        yield argument.array.ctypes.data
    elif isinstance(argument, float | np.floating):
        yield int(np.float64(argument).view(np.int64))
    elif isinstance(argument, int | np.integer | np.bool_):
        yield int(argument)
    elif isinstance(argument, tuple):
        for part in argument:
            yield from words_of(part)
