"""Programs: a time step as a list of stages, and the one driver that runs every list.

For each step n from time n h, for each stage k of the list:

    answer = stage(block, t, h),     k <- k + 1 + answer

so that 0 goes on, a small number jumps (iterations, sub-steps), `LAST` makes this step the last, and anything beyond
ends the run at this stage and says why. Stages may change the clock: t and h are read anew before every call.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from rheotwin.kernels.blocks import Now
from rheotwin.kernels.cache import stamp, tell
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.linked import Emitter, compiled_for
from rheotwin.kernels.stage import FAILED, LAST, Code, Stage

_types: Any = types
STRAYED = FAILED - 1
"""Noted where a stage jumps to before or behind the program."""


@dataclass(frozen=True)
class Clock:
    """What the driver counts: time t [s], step h [s], the end of the step (n + 1) h [s], and n."""

    values: NDArray[np.float64] = field(default_factory=lambda: np.zeros(4))

    @property
    def end(self) -> Now:
        """The end of the step [s], as an argument of a stage."""
        return Now(self.values[2:])

    @property
    def number(self) -> Now:
        """The number of the step, as an argument of a stage."""
        return Now(self.values[3:])


class Program:
    """A list of stages with the arrays they work on, which live as long as it does."""

    def __init__(self, stages: Sequence[Stage], step: float, clock: Clock) -> None:
        self.stages, self.step, self.clock = tuple(stages), step, clock
        self._where = np.zeros(3, np.int64)

    @cached_property
    def _table(self) -> NDArray[np.int64]:
        """Address and block of every stage: they are compiled when the program first runs."""
        codes = list(dict.fromkeys(stage.code for stage in self.stages))
        missing = [code for code in codes if not code.is_there]
        for number, code in enumerate(missing, start=1):
            tell(f"{number} of {len(missing)} kernels")
            _ = code.address
        return np.array([(s.code.address, s.block.ctypes.data) for s in self.stages], np.int64).reshape(-1, 2)

    def run(self, first: int, count: int) -> int:
        """Take `count` steps from step number `first`; return how many were taken to their end."""
        self._where[:] = first, 0, 0
        _driver()(
            self._table.ctypes.data,
            len(self._table),
            self.clock.values.ctypes.data,
            self._where.ctypes.data,
            first + count,
            self.step,
        )
        number, stage, answer = (int(value) for value in self._where)
        if answer == FAILED:
            raise ArithmeticError(
                f"{self.stages[stage].name} in step {number}: an exception was raised, as by a division by zero"
            )
        if answer == STRAYED:
            raise IndexError(f"{self.stages[stage].name} in step {number}: it jumps out of the program")
        return number - first

    def __reduce__(self) -> Any:
        raise TypeError("a program holds addresses of its arrays and cannot be copied; make one of the copied arrays")

    @property
    def ended_by(self) -> tuple[str, int] | None:
        """Stage that ended the last run early, and its answer."""
        _, stage, answer = self._where
        return (self.stages[stage].name, int(answer)) if answer else None


def _call(typing: Any, address: Any, block: Any, t: Any, h: Any) -> Any:
    """Call the stage at an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word, real = ir.IntType(64), ir.DoubleType()
        kind = ir.FunctionType(word, [word.as_pointer(), real, real])
        stage = builder.inttoptr(arguments[0], kind.as_pointer())
        return builder.call(stage, [builder.inttoptr(arguments[1], word.as_pointer()), *arguments[2:]])

    return _types.int64(address, block, t, h), generate


_call_stage: Any = intrinsic(_call)


@compiled(inside=True, vectors=True)
def _drive(table: Any, stages: int, clock: Any, where: Any, last: int, step: float) -> int:
    """Take steps from where[0] to `last`; `where` ends as (step, stage, answer), the last two of what ended it."""
    while where[0] < last:
        clock[0], clock[1], clock[2], clock[3] = where[0] * step, step, (where[0] + 1) * step, where[0]
        k, final = 0, False
        while k < stages:
            answer = _call_stage(table[2 * k], table[2 * k + 1], clock[0], clock[1])
            if answer >= LAST or answer <= -LAST:
                where[1], where[2] = k, answer
                if answer != LAST:
                    return 1
                final, answer = True, 0
            if k + 1 + answer < 0 or k + 1 + answer > stages:
                where[1], where[2] = k, STRAYED
                return 1
            k += 1 + answer
        where[0] += 1
        if final:
            return 1
    return 0


def _driving() -> tuple[Any, Emitter]:
    word, words, reals = _types.int64, _types.CPointer(_types.int64), _types.CPointer(_types.float64)
    code = compiled_for(_drive, (words, word, reals, words, word, _types.float64))

    def emit(context: Any, builder: Any, given: Sequence[Any]) -> Any:
        return context.call_internal_no_propagate(builder, code.fndesc, code.signature, given)[1]

    return code.library, emit


@cache
def _driver() -> Any:
    word, real = ir.IntType(64), ir.DoubleType()
    words, reals = word.as_pointer(), real.as_pointer()
    signature = ir.FunctionType(word, [words, word, reals, words, word, real])
    address = Code("drive", stamp(__name__), _driving, signature).address
    pointer, number = ctypes.c_void_p, ctypes.c_int64
    return ctypes.CFUNCTYPE(number, pointer, number, pointer, pointer, number, ctypes.c_double)(address)
