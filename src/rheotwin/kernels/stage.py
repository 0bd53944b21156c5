"""Stages: compiled functions bound to their arguments, all called alike: status = stage(block, t, h).

A stage is made of any compiled function and the arrays, numbers and named tuples it is to work on. Code is generated
for these kinds of arguments alone, once, and kept as object code by `rheotwin.kernels.cache`: to load it takes a
millisecond. What the function returns is the stage's answer to the driver (`rheotwin.kernels.program`), unless it is
put `into` an array for other stages to read.
"""

from __future__ import annotations

import ctypes
import hashlib
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import count
from threading import RLock
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba.core import runtime
from numba.core.registry import cpu_target
from numpy.typing import NDArray

from rheotwin.kernels.blocks import Kind, kind_of, words_of
from rheotwin.kernels.cache import is_kept, load, save, stamp
from rheotwin.kernels.compiled import identity
from rheotwin.kernels.linked import Emitter, machine, object_code
from rheotwin.kernels.opening import calling

_runtime: Any = runtime
SIGNATURE = ir.FunctionType(ir.IntType(64), [ir.IntType(64).as_pointer(), ir.DoubleType(), ir.DoubleType()])
"""Of every stage: (block, time [s], step [s]) -> answer."""
LAST = 1 << 20
"""Answer that makes this step the last; a larger one, or one below -LAST, ends the run at once."""
FAILED = -2 * LAST
"""Answer of a stage in which an exception was raised, a division by zero say."""
_LOADING = RLock()
_numbers = count()


@dataclass(frozen=True)
class Stage:
    """A compiled function with its arguments; `into` (1,) takes what it returns, otherwise that is the answer."""

    function: Any
    arguments: tuple[Any, ...]
    into: NDArray[Any] | None = field(default=None, kw_only=True)

    @cached_property
    def block(self) -> NDArray[np.int64]:
        """Addresses and numbers of the arguments, behind the address of the result if there is one."""
        result = () if self.into is None else words_of(self.into)
        return np.array([*list(result)[:1], *words_of(self.arguments)], np.int64)

    @property
    def name(self) -> str:
        """Where the function stands."""
        return f"{self.function.__module__}.{self.function.__qualname__}"

    @property
    def code(self) -> Code:
        """What the function is compiled to for arguments of these kinds."""
        kinds = tuple(kind_of(argument) for argument in self.arguments)
        return _code(self.function, kinds, None if self.into is None else kind_of(self.into))


@dataclass(frozen=True)
class Code:
    """A function that C may call, `body()` gives what it is made of; `about` tells that, without it is not kept."""

    name: str
    about: str | None
    body: Callable[[], tuple[Any, Emitter]]
    signature: Any

    @cached_property
    def symbol(self) -> str:
        """Name of its file, and of the function in it."""
        made_of = next(_numbers) if self.about is None else self.about
        key = f"{stamp(__name__)}|{made_of}|{cpu_target.target_context.codegen().magic_tuple()}"
        name = re.sub(r"\W", "_", self.name, flags=re.ASCII)[:60]
        return f"{name}-{hashlib.sha256(key.encode()).hexdigest()[:40]}"

    @property
    def is_there(self) -> bool:
        """Tell whether it need not be compiled."""
        return "address" in self.__dict__ or (self.about is not None and is_kept(self.symbol))

    @cached_property
    def address(self) -> int:
        """Its address; it is loaded from disk, or compiled."""
        with _LOADING:
            code = None if self.about is None else load(self.symbol)
            if code is not None and _missing(code):  # kept where other libraries are installed
                code = None
            if code is None:
                code = object_code(self.body, self.signature, self.symbol)
                if missing := _missing(code):
                    raise RuntimeError(f"stage {self.name}: this process has no {', '.join(missing)}")
                if self.about is not None:
                    save(self.symbol, code)
            engine = _engine()
            engine.add_object_file(llvm.ObjectFileRef.from_data(code.partition(b"\n")[2]))
            engine.finalize_object()
            return int(engine.get_function_address(self.symbol))


@cache
def _code(function: Any, kinds: tuple[Kind, ...], into: Kind | None) -> Code:
    """Return the code of a function for these kinds of arguments."""

    made_of = identity(function.py_func, function.targetoptions)
    about = None if made_of is None else f"{made_of}|{', '.join(map(str, kinds))}|{into}"
    return Code(function.__name__, about, lambda: calling(function, kinds, into, FAILED), SIGNATURE)


def _missing(code: bytes) -> list[str]:
    """Return the symbols that code wants and this process has not: the linker would end the process."""
    wanted = code.partition(b"\n")[0].decode().split()
    missing = [symbol for symbol in wanted if not _has(symbol)]
    if missing:
        _runtime.rtsys.initialize(cpu_target.target_context)  # allocation of arrays, if nothing has been compiled yet
    return [symbol for symbol in missing if not _has(symbol)]


def _has(symbol: str) -> bool:
    """Tell whether LLVM, or the linker of the system, finds a symbol in this process."""
    if llvm.address_of_symbol(symbol) is not None or sys.platform == "win32":
        return True
    return hasattr(ctypes.CDLL(None), symbol)


@cache
def _engine() -> Any:
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine())
