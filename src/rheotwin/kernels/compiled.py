"""The decorator of compiled functions. What is written is what is compiled, whoever calls first.

By default numba compiles a function like its first caller: whether it counts references to arrays, may fuse a product
with a sum, checks divisions or is merged into its callers. Here each function says that itself, and its kernel is kept
by what it is made of (`rheotwin.kernels.cache`).

Counting references takes hundreds of atomic operations for nested tuples of arrays, more than a step of contact. So
functions do not count unless they ask for memory: they read and write arrays of their caller, who keeps them alive.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, overload

import llvmlite
import numba
import numpy as np
from numba import types
from numba.core import compiler, config, ir, serialize
from numba.core.dispatcher import Dispatcher
from numba.core.extending import _Intrinsic

from rheotwin.kernels import cache
from rheotwin.kernels.linked import Pipeline, rebuilt
from rheotwin.same_bits import CONTRACT

Function = TypeVar("Function", bound=Callable[..., Any])

_njit: Any = numba.njit  # its types leave out some options
_compiler: Any = compiler
_config: Any = config
_serialize: Any = serialize
_types: Any = types
_CONTRACT = set(CONTRACT)
_ANY_ORDER = {*CONTRACT, "reassoc", "nsz"} if CONTRACT else set[str]()


@overload
def compiled(function: Function, /) -> Function: ...
@overload
def compiled(
    *,
    inside: bool = False,
    allocates: bool = False,
    contract: bool = False,
    vectors: bool = False,
    any_order: bool = False,
    merged: bool = False,
    spliced: bool = False,
    nogil: bool = False,
) -> Callable[[Function], Function]: ...
def compiled(
    function: Any = None,
    /,
    *,
    inside: bool = False,
    allocates: bool = False,
    contract: bool = False,
    vectors: bool = False,
    any_order: bool = False,
    merged: bool = False,
    spliced: bool = False,
    nogil: bool = False,
) -> Any:
    """Compile a function when it is first called with arguments of new types.

    - `inside`: only compiled functions call it; Python crashes if it does. To unpack some hundred arrays for Python
      takes ten times as long to compile as a small function.
    - `allocates`: it, or Python code it calls, makes arrays, or returns one. All others must not.
    - `contract`: a product may go into a sum unrounded (fused multiply-add).
    - `vectors`: for loops that become vectors: `contract`, and a division by zero is infinity, not an exception.
    - `any_order`: for sums that become vectors: `vectors`, and terms are added in any order.
    - `merged`: the compiler always merges it into its callers; for few callers, and many arguments.
    - `spliced`: compiled as if it stood in its caller's source. A chain of such functions is optimised once and not
      once a level. It cannot choose a branch by the type of an argument (`is None`).
    - `nogil`: other threads of Python go on meanwhile.
    """
    options: dict[str, Any] = {
        "_nrt": allocates,
        "error_model": "numpy" if vectors or any_order else "python",
        "fastmath": _ANY_ORDER if any_order else _CONTRACT if contract or vectors else False,
        "forceinline": merged,
        "inline": "always" if spliced else "never",
        "nogil": nogil,
        "no_cpython_wrapper": inside,
        "no_cfunc_wrapper": True,
    }

    def decorate(function: Callable[..., Any]) -> Any:
        made: Any = _njit(pipeline_class=Pipeline if inside else None, **options)(function)
        if made is not function:  # as it is where numba is switched off
            made._cache = _Kernels(function, options)
            made._compiler.fold_argument_types = _numbers_alike(made._compiler.fold_argument_types)
        return made

    return decorate if function is None else decorate(function)


def _numbers_alike(fold: Any) -> Any:
    """Let a function see 0 as any other whole number: it would be compiled again for each that stands in a call.

    Also for those that a variable begins with, as long as numba has not seen what else it will be.
    """

    def folded(arguments: Any, named: Any) -> Any:
        signature, kinds = fold(arguments, named)
        return signature, tuple(_types.unliteral(kind) for kind in kinds)

    return folded


class _Kernels:
    """What numba asks of the cache of one function: to load and to save the code for one signature."""

    cache_path = property(lambda self: str(cache.folder()))

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self.function, self.options = function, options

    def enable(self) -> None:
        """Leave the cache on: it is never stale."""

    def disable(self) -> None:
        """Leave the cache on."""

    def flush(self) -> None:
        """Keep all files: they belong to other processes, too."""

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return the code for a signature, if it was compiled before."""
        context.refresh()
        name = self._name(signature, context.codegen())
        data = None if name is None else cache.load(name)
        if data is None:
            cache.tell(self.function.__name__)
        if data is None:
            return None
        linked = self.options["no_cpython_wrapper"]
        return (rebuilt if linked else _compiler.CompileResult._rebuild)(context, *pickle.loads(data))

    def save_overload(self, signature: Any, code: Any) -> None:
        """Keep the code for a signature."""
        if not self.options["_nrt"]:
            self._require_no_arrays_made(code)
        if not self.options["no_cpython_wrapper"] and code.library.has_dynamic_globals:
            raise RuntimeError(
                f"{self.function.__qualname__}: its code holds addresses of this process and cannot be kept"
            )
        name = self._name(signature, code.library.codegen)
        if name is not None:
            cache.save(name, _serialize.dumps(code._reduce()))

    def _name(self, signature: Any, codegen: Any) -> str | None:
        """Return a name of everything the code is made of; None if its sources are not known."""
        made_of = identity(self.function, self.options)
        if made_of is None:
            return None
        named = sorted({_fields_of(kind) for kind in _named_tuples(signature)})
        key = f"{made_of}|{codegen.magic_tuple()}|{signature}|{named}"
        return f"{self.function.__name__}-{hashlib.sha256(key.encode()).hexdigest()[:40]}"

    def _require_no_arrays_made(self, code: Any) -> None:
        """Refuse code that would lose arrays: nobody counts the references to what it returns or is given."""
        where = f"{self.function.__module__}.{self.function.__qualname__}"
        if _holds_array(code.signature.return_type):
            raise TypeError(f"{where} returns an array: write @compiled(allocates=True)")
        if _given_array(code):
            raise TypeError(f"{where} calls what returns an array: write @compiled(allocates=True)")


def _named_tuples(kind: Any) -> Iterator[type]:
    """Yield the classes of all named tuples in a signature, a tuple of types or a type."""
    if (found := getattr(kind, "instance_class", None)) is not None and hasattr(found, "_fields"):
        yield found
    inside = kind if isinstance(kind, tuple) else getattr(kind, "args", None) or getattr(kind, "types", None) or ()
    for inner in inside:
        yield from _named_tuples(inner)


def _fields_of(kind: type) -> str:
    """Return where a named tuple stands and what it holds: code reads fields by their place."""
    return f"{kind.__module__}.{kind.__qualname__}{kind._fields}"  # type: ignore[attr-defined]


def identity(function: Callable[..., Any], options: dict[str, Any]) -> str | None:
    """Return all that the code of a function is made of but for the processor; None if its sources are not known."""
    made_of = _made_of(function, ())
    if made_of is None:
        return None
    versions = (numba.__version__, llvmlite.__version__, np.__version__, sys.version_info[:3], sys.platform)
    switches = (
        _config.OPT,
        _config.BOUNDSCHECK,
        _config.LOOP_VECTORIZE,
        _config.SLP_VECTORIZE,
        getattr(_config, "USING_SVML", None),
        CONTRACT,
    )
    return repr((versions, switches, made_of, _chosen(options)))


def _chosen(options: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return options in an order of their own."""
    return [(key, sorted(options[key]) if isinstance(options[key], set) else options[key]) for key in sorted(options)]


def _holds_array(kind: Any) -> bool:
    """Tell whether values of a numba type own memory."""
    return isinstance(kind, types.Array) or any(_holds_array(item) for item in getattr(kind, "types", ()))


def _given_array(code: Any) -> bool:
    """Tell whether code calls a compiled function that returns an array."""
    kinds, calls = code.type_annotation.typemap, code.type_annotation.calltypes
    return any(
        isinstance(expression, ir.Expr)
        and expression.op == "call"
        and isinstance(kinds.get(expression.func.name), types.Dispatcher)
        and _holds_array(signature.return_type)
        for expression, signature in calls.items()
    )


def _made_of(function: Any, above: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Return where a function stands, its code, the stamp of its sources and what it closes over; None without a stamp.

    Numbers, words and arrays among its globals count by their values: somebody may have changed them. Functions among
    them are in the stamp, but for those of another package than its own and this one.
    """
    if function in above:  # it calls itself
        return (function.__qualname__,)
    mark, code = cache.stamp(function.__module__), function.__code__
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    defaults = (*(function.__defaults__ or ()), *sorted((function.__kwdefaults__ or {}).items()))
    seen = {name: function.__globals__.get(name) for name in code.co_names}
    foreign = [value for value in seen.values() if _is_foreign(value, function.__module__)]
    arrays = [value for value in seen.values() if isinstance(value, np.ndarray | np.generic)]
    held = [_value(item, (*above, function)) for item in (*cells, *defaults, *foreign, *arrays)]
    if mark is None or None in held:
        return None
    constants = {name: repr(value) for name, value in seen.items() if isinstance(value, int | float | str | tuple)}
    text = hashlib.sha256(code.co_code + repr((code.co_names, _constants(code), constants)).encode()).hexdigest()
    return (function.__module__, function.__qualname__, text, mark, *held)


def _is_foreign(value: Any, module: str) -> bool:
    """Tell whether a global is a function of another package than the module's own, this one and the libraries."""
    known = {module.partition(".")[0], cache.PACKAGE, "numba", "numpy", "llvmlite", "math", "functools", "typing"}
    plain = getattr(value, "py_func", value)
    return hasattr(plain, "__code__") and plain.__module__.partition(".")[0] not in known


def _constants(code: Any) -> list[str]:
    """Return what code has written in it; functions inside by their own code."""
    return [str(one.co_code) if hasattr(one, "co_code") else repr(one) for one in code.co_consts]


def _value(value: Any, above: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Return a description of what a function closes over that is equal in every process; None without a stamp."""
    if isinstance(value, Dispatcher):
        made_of = _made_of(value.py_func, above)
        return None if made_of is None else (*made_of, repr(_chosen(value.targetoptions)))
    if isinstance(value, _Intrinsic):
        return _made_of(value._defn, above)
    if callable(value) and hasattr(value, "__code__"):
        return _made_of(value, above)
    if isinstance(value, type):
        mark = cache.stamp(value.__module__) if value.__module__.partition(".")[0] == cache.PACKAGE else "library"
        return None if mark is None else ("class", value.__module__, value.__qualname__, mark)
    if isinstance(value, np.ndarray):
        return ("array", str(value.dtype), value.shape, hashlib.sha256(value.tobytes()).hexdigest())
    if isinstance(value, bool | int | float | complex | str | bytes | None | np.generic | np.dtype | types.Type):
        return (type(value).__name__, repr(value))
    parts: list[Any]
    if isinstance(value, tuple | list):
        parts = list(value)
    elif isinstance(value, dict):
        parts = [item for pair in sorted(value.items(), key=lambda pair: repr(pair[0])) for item in pair]
    elif is_dataclass(value):
        parts = [getattr(value, field.name) for field in fields(value)]
    else:
        raise TypeError(f"a compiled function closes over {value!r}, which has no lasting name: close over constants")
    held = [_value(part, above) for part in parts]
    return None if None in held else (type(value).__name__, *held)
