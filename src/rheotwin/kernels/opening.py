"""The compiled way from a block to the arguments of a stage, and from its result to where others read it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.np import arrayobj
from numba.np.numpy_support import from_dtype

from rheotwin.kernels.blocks import Kind
from rheotwin.kernels.linked import Emitter, compiled_for

_types: Any = types
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


def calling(function: Any, kinds: Sequence[Kind], into: Kind | None, failed: int) -> tuple[Any, Emitter]:
    """Return the library and the code of (block, t, h) -> answer, which opens a block and calls a function with it.

    Its answer is what the function returns, a whole number, or 0 where it returns nothing. With `into` it is 0, and
    what the function returns goes where the block's first word points to. An exception in it answers `failed`.
    """
    code = compiled_for(function, tuple(numba_type(kind) for kind in kinds))
    returned = code.signature.return_type
    if into is None and not isinstance(returned, _types.NoneType | _types.Integer):
        raise TypeError(
            f"{function.__name__} returns {returned}: a stage returns nothing or a whole number, or says `into`"
        )
    if into is not None and not isinstance(returned, _types.Number | _types.Boolean):
        raise TypeError(f"{function.__name__} returns {returned}, which is no number that an array could take")

    def emit(context: Any, builder: Any, given: Sequence[Any]) -> Any:
        first = 0 if into is None else 1

        def read() -> Iterator[Any]:
            for k in range(first, first + sum(kind.words for kind in kinds)):
                yield builder.load(builder.gep(given[0], [ir.Constant(_WORD, k)]))

        words, clock = read(), {"TIME": given[1], "STEP": given[2]}
        values = [_value(context, builder, kind, words, clock) for kind in kinds]
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

    return code.library, emit
