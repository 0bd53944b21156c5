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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import count
from threading import RLock
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import cfunc, types
from numba.core import runtime
from numba.core.registry import cpu_target
from numba.extending import intrinsic
from numba.np import arrayobj
from numba.np.numpy_support import from_dtype
from numpy.typing import NDArray

from rheotwin.kernels.blocks import Kind, kind_of, words_of
from rheotwin.kernels.cache import is_kept, load, save, stamp
from rheotwin.kernels.compiled import identity

_types: Any = types
_runtime: Any = runtime
_cfunc: Any = cfunc
SIGNATURE = _types.int64(_types.CPointer(_types.int64), _types.float64, _types.float64)
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
    """A function that C may call, made by `body()`; `about` tells all it is made of, without it is not kept."""

    name: str
    about: str | None
    body: Callable[[], Callable[..., Any]]
    signature: Any

    @cached_property
    def symbol(self) -> str:
        """Name of its file, and of the function in it."""
        made_of = next(_numbers) if self.about is None else self.about
        key = f"{stamp(__name__)}|{made_of}|{llvm.get_host_cpu_name()}|{llvm.get_host_cpu_features().flatten()}"
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
                code = _object_code(self.body(), self.signature, self.symbol)
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

    def body() -> Callable[..., int]:
        call = called(function, kinds, into, FAILED)

        def stage(block: Any, t: float, h: float) -> int:
            return int(call(block, t, h))

        return stage

    made_of = identity(function.py_func, function.targetoptions)
    about = None if made_of is None else f"{made_of}|{', '.join(map(str, kinds))}|{into}"
    return Code(function.__name__, about, body, SIGNATURE)


def _object_code(body: Callable[..., Any], signature: Any, symbol: str) -> bytes:
    """Compile a function, whose only public symbol is `symbol`: the symbols it wants, a new line, its object code."""
    made = _cfunc(signature, nopython=True, _nrt=False, error_model="numpy", fastmath=False, forceinline=False)(body)
    module = llvm.parse_assembly(made.inspect_llvm())
    wanted = []
    for item in (*module.functions, *module.global_variables):
        if item.name == made.native_name:
            item.name = symbol
        elif not item.is_declaration:
            item.linkage = "internal"
        elif not item.name.startswith("llvm."):
            wanted.append(item.name)
    module.verify()
    return " ".join(wanted).encode() + b"\n" + bytes(_machine().emit_object(module))


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


def _machine() -> Any:
    """Return the code generator of this processor."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features, processor = llvm.get_host_cpu_features().flatten(), llvm.get_host_cpu_name()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=processor, features=features, opt=3, codemodel="jitdefault")


@cache
def _engine() -> Any:
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())


_arrays: Any = arrayobj
_WORD, _REAL = ir.IntType(64), ir.DoubleType()


def numba_type(kind: Kind) -> Any:
    """Return the type that compiled code sees."""
    if kind.name in ("array", "packed"):
        layout, dtype = "C" if kind.name == "packed" else "A", from_dtype(np.dtype(kind.dtype))
        return _types.Array(dtype, kind.dimensions, layout, readonly=kind.read_only)
    if kind.name == "tuple":
        parts = [numba_type(part) for part in kind.parts]
        if kind.tuple_class is None:
            return _types.Tuple(parts)
        uniform = bool(parts) and all(part == parts[0] for part in parts)
        if uniform:
            return _types.NamedUniTuple(parts[0], len(parts), kind.tuple_class)
        return _types.NamedTuple(parts, kind.tuple_class)
    if kind.name == "now":
        return from_dtype(np.dtype(kind.dtype))
    simple = {"int": _types.int64, "bool": _types.boolean, "none": _types.none}
    return simple.get(kind.name, _types.float64)


def _array(context: Any, builder: Any, kind: Kind, words: Iterator[Any]) -> Any:
    typed = numba_type(kind)
    array = context.make_array(typed)(context, builder)
    size = context.get_abi_sizeof(context.get_data_type(typed.dtype))
    place = builder.inttoptr(next(words), array.data.type)
    shape = [next(words) for _ in range(kind.dimensions)]
    if kind.name == "array":
        strides = [next(words) for _ in range(kind.dimensions)]
    else:
        strides = [ir.Constant(_WORD, size)]
        for extent in reversed(shape[1:]):
            strides.append(builder.mul(strides[-1], extent))
        strides = strides[::-1][: kind.dimensions]
    _arrays.populate_array(
        array, data=place, shape=shape, strides=strides, itemsize=ir.Constant(_WORD, size), meminfo=None, parent=None
    )
    return array._getvalue()


def _value(context: Any, builder: Any, kind: Kind, words: Iterator[Any], given: dict[str, Any]) -> Any:
    """Emit the value of an argument from its words."""
    if kind.name in ("array", "packed"):
        return _array(context, builder, kind, words)
    if kind.name == "tuple":
        values = [_value(context, builder, part, words, given) for part in kind.parts]
        return context.make_tuple(builder, numba_type(kind), values)
    if kind.name in given:
        return given[kind.name]
    if kind.name == "now":
        typed = numba_type(kind)
        place = builder.inttoptr(next(words), context.get_data_type(typed).as_pointer())
        return context.unpack_value(builder, typed, place)
    if kind.name == "none":
        return context.get_dummy_value()
    word = next(words)
    if kind.name == "float":
        return builder.bitcast(word, _REAL)
    return builder.trunc(word, ir.IntType(1)) if kind.name == "bool" else word


def called(function: Any, kinds: Sequence[Kind], into: Kind | None, failed: int) -> Any:
    """Return the compiled function (block, t, h) -> answer that opens a block and calls a function with what is in it.

    Its answer is what the function returns, a whole number, or 0 where it returns nothing. With `into` it is 0, and
    what the function returns goes where the block's first word points to. An exception in it answers `failed`.
    """

    def typed(typing: Any, block: Any, t: Any, h: Any) -> Any:
        arguments = tuple(numba_type(kind) for kind in kinds)
        function.compile(arguments)
        code = function.overloads[arguments]
        returned = code.signature.return_type
        if into is None and not isinstance(returned, _types.NoneType | _types.Integer):
            raise TypeError(
                f"{function.__name__} returns {returned}: a stage returns nothing or a whole number, or says `into`"
            )
        if into is not None and not isinstance(returned, _types.Number | _types.Boolean):
            raise TypeError(f"{function.__name__} returns {returned}, which is no number that an array could take")

        def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            first = 0 if into is None else 1

            def read() -> Iterator[Any]:
                for k in range(first, first + sum(kind.words for kind in kinds)):
                    yield builder.load(builder.gep(given[0], [ir.Constant(_WORD, k)]))

            words, clock = read(), {"TIME": given[1], "STEP": given[2]}
            values = [_value(context, builder, kind, words, clock) for kind in kinds]
            context.active_code_library.add_linking_library(code.library)
            status, result = context.call_internal_no_propagate(builder, code.fndesc, code.signature, values)
            answer = ir.Constant(_WORD, 0)
            if into is not None:
                wanted = from_dtype(np.dtype(into.dtype))
                with builder.if_then(builder.not_(status.is_error)):
                    place = builder.inttoptr(builder.load(given[0]), context.get_data_type(wanted).as_pointer())
                    context.pack_value(builder, wanted, context.cast(builder, result, returned, wanted), place)
            elif isinstance(returned, _types.Integer):
                answer = context.cast(builder, result, returned, _types.int64)
            return builder.select(status.is_error, ir.Constant(_WORD, failed), answer)

        return _types.int64(block, t, h), generate

    return intrinsic(typed)
