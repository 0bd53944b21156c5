"""Vectors as a type of compiled code: a formula is written once and called with a number, or with many at a time.

`load(array, row, at)` gives a number where `at` is a whole number, and a `Vector` where it is a `Slot`, some places one
after the other; `store` puts it back. A row of a flat array, a constant that all elements share, is a number for both.
What compiled functions do with vectors is written as for numbers: + - * /, comparisons, `min`, `max`, `abs`,
`math.sqrt`, `math.exp`, `math.copysign`; numbers beside vectors are the same in every lane. Instead of a branch,
`select(condition, yes, no)` chooses lane by lane, and `any_of(condition)` tells whether it holds in some lane.
Products and sums may be fused, nothing else. Vectors of 32-bit and 64-bit whole numbers have + - *, comparisons, `min`,
`max`, `<<`, `>>`, `|` and `&` too; they wrap.

    slot = slots(8)

    @compiled(vectors=True)
    def stretch(springs, states, n):  # rows of n numbers, n a multiple of 8
        for k in range(0, n, 8):
            store(states, 0, slot(k), load(springs, 0, slot(k)) * load(states, 0, slot(k)))
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, lower_builtin, models, register_jitable, register_model, type_callable

from rheotwin.kernels.lanes import Lanes
from rheotwin.same_bits import CONTRACT

_types: Any = types
_typed: Any = type_callable  # numba gives them no types
_lowered: Any = lower_builtin
_tools: Any = cgutils
_models: Any = models
_Type: Any = types.Type
_Primitive: Any = models.PrimitiveModel
formula: Any = register_jitable(error_model="numpy", fastmath=set(CONTRACT), _nrt=False, forceinline=True)
"""Decorator of functions of numbers or vectors, merged into compiled code that calls them; Python calls them, too,
with numbers or, where they have no `min` and `max`, with NumPy arrays."""
CUBE_ROOT_START = 6.14261e18
_BIT = ir.IntType(1)


class Vector(_Type):  # type: ignore[misc]
    """`count` numbers of one precision."""

    def __init__(self, scalar: Any, count: int) -> None:
        self.scalar, self.count = scalar, count
        super().__init__(name=f"Vector({scalar} x {count})")


class Mask(_Type):  # type: ignore[misc]
    """`count` conditions."""

    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__(name=f"Mask({count})")


class Slot(_Type):  # type: ignore[misc]
    """`count` places one after the other, known by the first."""

    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__(name=f"Slot({count})")


@register_model(Vector)
class _VectorModel(_Primitive):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, ir.VectorType(manager[kind.scalar].get_value_type(), kind.count))


@register_model(Mask)
class _MaskModel(_Primitive):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, ir.VectorType(_BIT, kind.count))


@register_model(Slot)
class _SlotModel(_Primitive):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, ir.IntType(64))


@cache
def slots(count: int) -> Any:
    """Return the function `slot(first)` of compiled code: `count` places from `first` on."""

    def slot(typing: Any, first: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return context.cast(builder, arguments[0], signature.args[0], _types.int64)

        return Slot(count)(first), generate

    made: Any = intrinsic(slot)
    return made


def lanes_of(context: Any, builder: Any, kind: Any) -> Lanes:
    """Return the emitter for vectors of a type."""
    return Lanes(builder, context.get_data_type(kind.scalar), kind.count)


def _in_lanes(context: Any, builder: Any, kind: Vector, value: Any, given: Any) -> Any:
    """Return a value of type `given` as a vector of type `kind`."""
    if isinstance(given, Vector):
        return value
    return lanes_of(context, builder, kind).splat(context.cast(builder, value, given, kind.scalar))


def _common(*kinds: Any) -> Any:
    """Return the vector type of some types of which the others are numbers; None if there is none."""
    found = {kind for kind in kinds if isinstance(kind, Vector)}
    numbers = all(isinstance(kind, Vector | _types.Float | _types.Integer) for kind in kinds)
    return found.pop() if len(found) == 1 and numbers else None


def _define(function: Any, count: int, emit: Callable[..., Any], result: Callable[[Vector], Any] | None = None) -> None:
    """Let compiled code call `function` with `count` vectors, or numbers among vectors; `emit(lanes, *values)`."""

    def typing(context: Any) -> Any:
        def kind_of_one(a: Any) -> Any:
            return result(a) if isinstance(a, Vector) and result else a if isinstance(a, Vector) else None

        def kind_of_two(a: Any, b: Any) -> Any:
            kind = _common(a, b)
            return result(kind) if kind is not None and result else kind

        return kind_of_one if count == 1 else kind_of_two

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = _common(*signature.args)
        values = [_in_lanes(context, builder, kind, *pair) for pair in zip(arguments, signature.args, strict=True)]
        return emit(lanes_of(context, builder, kind), *values)

    _typed(function)(typing)
    numbers = (_types.Float, _types.Integer)
    pairs = [(Vector, Vector), *((Vector, n) for n in numbers), *((n, Vector) for n in numbers)]
    for kinds in [(Vector,)] if count == 1 else pairs:
        _lowered(function, *kinds)(generate)


def _are_whole(lanes: Lanes) -> bool:
    return isinstance(lanes.scalar, ir.IntType)


def _arithmetic(real: str, whole: str) -> Callable[..., Any]:
    def emit(lanes: Lanes, *values: Any) -> Any:
        if _are_whole(lanes):
            return getattr(lanes.builder, whole)(*values)
        return getattr(lanes.builder, real)(*values, flags=CONTRACT)

    return emit


def _comparison(sign: str) -> Callable[..., Any]:
    ordered = "fcmp_unordered" if sign == "!=" else "fcmp_ordered"

    def emit(lanes: Lanes, a: Any, b: Any) -> Any:
        return getattr(lanes.builder, "icmp_signed" if _are_whole(lanes) else ordered)(sign, a, b)

    return emit


def _nearest(sign: str) -> Callable[..., Any]:
    return lambda lanes, a, b: lanes.builder.select(_comparison(sign)(lanes, b, a), b, a)


for _operator, _name in ((operator.add, "add"), (operator.sub, "sub"), (operator.mul, "mul")):
    _define(_operator, 2, _arithmetic(f"f{_name}", _name))
_define(operator.truediv, 2, _arithmetic("fdiv", "none"))
_define(operator.neg, 1, _arithmetic("fneg", "neg"))
for _operator, _name in (
    (operator.lshift, "shl"),
    (operator.rshift, "ashr"),
    (operator.or_, "or_"),
    (operator.and_, "and_"),
):
    _define(_operator, 2, _arithmetic("none", _name))
for _operator, _name in (
    (operator.lt, "<"),
    (operator.gt, ">"),
    (operator.le, "<="),
    (operator.ge, ">="),
    (operator.ne, "!="),
):
    _define(_operator, 2, _comparison(_name), lambda kind: Mask(kind.count))
_define(min, 2, _nearest("<"))
_define(max, 2, _nearest(">"))
_define(abs, 1, lambda lanes, a: lanes.absolute(a))
_define(math.sqrt, 1, lambda lanes, a: lanes.square_root(a))
_define(math.copysign, 2, lambda lanes, a, b: lanes.with_sign(a, b))
_define(math.exp, 1, lambda lanes, a: lanes.exponential(a))


def _define_of_masks(function: Any, emit: Callable[[Any, Any, Any], Any]) -> None:
    """Let compiled code combine conditions; one of numbers is the same in every lane."""

    def typing(context: Any) -> Any:
        def typer(a: Any, b: Any) -> Any:
            masks = {kind for kind in (a, b) if isinstance(kind, Mask)}
            known = all(isinstance(kind, Mask | _types.Boolean) for kind in (a, b))
            return masks.pop() if len(masks) == 1 and known else None

        return typer

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lanes = Lanes(builder, _BIT, signature.return_type.count)
        pairs = zip(arguments, signature.args, strict=True)
        values = [value if isinstance(kind, Mask) else lanes.splat(value) for value, kind in pairs]
        return emit(builder, *values)

    _typed(function)(typing)
    for kinds in ((Mask, Mask), (Mask, _types.Boolean), (_types.Boolean, Mask)):
        _lowered(function, *kinds)(generate)


_define_of_masks(operator.and_, lambda builder, a, b: builder.and_(a, b))
_define_of_masks(operator.or_, lambda builder, a, b: builder.or_(a, b))


def select(condition: Any, yes: Any, no: Any) -> Any:
    """Return `yes` where the condition holds and `no` elsewhere, without a branch.

    >>> select(1.0 > 2.0, "larger", "smaller")
    'smaller'
    """
    return np.where(condition, yes, no) if isinstance(condition, np.ndarray) else yes if condition else no


def any_of(condition: Any) -> bool:
    """Tell whether a condition holds in some lane."""
    return bool(np.any(condition))


def _typed_select(context: Any) -> Any:
    def typer(condition: Any, yes: Any, no: Any) -> Any:
        if isinstance(condition, Mask):
            return _common(yes, no)
        return yes if yes == no and isinstance(yes, _types.Float) else _types.float64

    return typer


def _selected(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    kind = signature.return_type
    condition, *values = arguments
    if isinstance(kind, Vector):
        chosen = [_in_lanes(context, builder, kind, *pair) for pair in zip(values, signature.args[1:], strict=True)]
    else:
        chosen = [
            context.cast(builder, value, given, kind) for value, given in zip(values, signature.args[1:], strict=True)
        ]
    return builder.select(condition, *chosen)


_typed(select)(_typed_select)
_lowered(select, Mask, _types.Any, _types.Any)(_selected)
_lowered(select, _types.Boolean, _types.Any, _types.Any)(_selected)


def _typed_any(context: Any) -> Any:
    return lambda condition: _types.boolean if isinstance(condition, Mask | _types.Boolean) else None


def _any_lane(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    if isinstance(signature.args[0], _types.Boolean):
        return arguments[0]
    bits = ir.IntType(signature.args[0].count)
    return builder.icmp_unsigned("!=", builder.bitcast(arguments[0], bits), ir.Constant(bits, 0))


_typed(any_of)(_typed_any)
_lowered(any_of, Mask)(_any_lane)
_lowered(any_of, _types.Boolean)(_any_lane)


def _count(typing: Any, condition: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        bits = builder.bitcast(arguments[0], ir.IntType(condition.count))
        return builder.zext(builder.ctpop(bits), ir.IntType(64))

    return _types.int64(condition), generate


def _converted(scalar: Any, convert: str) -> Any:
    def conversion(typing: Any, value: Any) -> Any:
        found = Vector(scalar, value.count)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return getattr(builder, convert)(arguments[0], lanes_of(context, builder, found).vector)

        return found(value), generate

    return intrinsic(conversion)


count_of: Any = intrinsic(_count)
"""`count_of(condition)`: in how many lanes a condition holds."""
single_of: Any = _converted(_types.float32, "uitofp")
"""`single_of(words)`: unsigned whole numbers rounded to single precision."""
double_of: Any = _converted(_types.float64, "uitofp")
"""`double_of(words)`: unsigned whole numbers rounded to double precision."""
words_of: Any = _converted(_types.int32, "fptosi")
"""`words_of(numbers)`: the whole numbers of 32 bits towards zero."""
long_words_of: Any = _converted(_types.int64, "fptosi")
"""`long_words_of(numbers)`: the whole numbers of 64 bits towards zero."""


def _zeros(typing: Any, words: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        bits, kind = words.scalar.bitwidth, lanes_of(context, builder, words).vector
        function = _tools.get_or_insert_function(
            builder.module, ir.FunctionType(kind, [kind, _BIT]), f"llvm.ctlz.v{words.count}i{bits}"
        )
        return builder.call(function, [arguments[0], ir.Constant(_BIT, 0)])

    return words(words), generate


leading_zeros: Any = intrinsic(_zeros)
"""`leading_zeros(words)`: zero bits above the highest one."""


def _place(context: Any, builder: Any, kind: Any, array: Any, row: Any, at: Any) -> Any:
    """Return a pointer to a number in a row; `at` and `row` are whole numbers of 64 bits, `at` None for flat arrays."""
    opened = context.make_array(kind)(context, builder, array)
    if kind.ndim == 1:
        return builder.gep(opened.data, [row])
    if kind.layout == "C":
        columns = _tools.unpack_tuple(builder, opened.shape, 2)[1]
        return builder.gep(opened.data, [builder.add(builder.mul(row, columns), at)])
    rows, columns = _tools.unpack_tuple(builder, opened.strides, 2)
    return _tools.pointer_add(builder, opened.data, builder.add(builder.mul(row, rows), builder.mul(at, columns)))


def _index(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    return value if isinstance(kind, Slot) else context.cast(builder, value, kind, _types.int64)


def _load(typing: Any, array: Any, row: Any, at: Any) -> Any:
    kind = array.dtype
    if array.ndim == 2 and isinstance(at, Slot):
        kind = Vector(array.dtype, at.count)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        which, where = (
            _index(context, builder, kind, v) for kind, v in zip(signature.args[1:], arguments[1:], strict=True)
        )
        place = _place(context, builder, signature.args[0], arguments[0], which, where)
        found = signature.return_type
        return lanes_of(context, builder, found).load(place) if isinstance(found, Vector) else builder.load(place)

    return kind(array, row, at), generate


def _store(typing: Any, array: Any, row: Any, at: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        which, where = (
            _index(context, builder, kind, v) for kind, v in zip(signature.args[1:3], arguments[1:3], strict=True)
        )
        place, given = _place(context, builder, signature.args[0], arguments[0], which, where), signature.args[3]
        if isinstance(signature.args[2], Slot):
            kind = Vector(array.dtype, signature.args[2].count)
            lanes_of(context, builder, kind).store(_in_lanes(context, builder, kind, arguments[3], given), place)
        else:
            builder.store(context.cast(builder, arguments[3], given, array.dtype), place)
        return context.get_dummy_value()

    return _types.void(array, row, at, value), generate


load: Any = intrinsic(_load)
"""`load(array, row, at)`: numbers of a row of an array (rows, n), or the number `row` of an array (rows,)."""
store: Any = intrinsic(_store)
"""`store(array, row, at, value)`: put numbers into a row of an array (rows, n)."""


@cache
def numbers_of(count: int) -> Any:
    """Return the function `numbers(array, at)` of compiled code: `count` rows of an array (count, n) at once."""

    def numbers(typing: Any, array: Any, at: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            where = _index(context, builder, at, arguments[1])
            places = [_place(context, builder, array, arguments[0], _row(row), where) for row in range(count)]
            read = lanes_of(context, builder, kind).load if isinstance(at, Slot) else builder.load
            return context.make_tuple(builder, signature.return_type, [read(place) for place in places])

        kind = Vector(array.dtype, at.count) if isinstance(at, Slot) else array.dtype
        return _types.UniTuple(kind, count)(array, at), generate

    made: Any = intrinsic(numbers)
    return made


def _row(row: int) -> Any:
    return ir.Constant(ir.IntType(64), row)


def _put(added: bool) -> Any:
    def put(typing: Any, array: Any, at: Any, values: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = Vector(array.dtype, at.count)
            lanes = lanes_of(context, builder, kind)
            given = _tools.unpack_tuple(builder, arguments[2], len(values))
            for row, (value, typed) in enumerate(zip(given, values.types, strict=True)):
                place = _place(context, builder, array, arguments[0], _row(row), arguments[1])
                found = _in_lanes(context, builder, kind, value, typed)
                lanes.store(builder.fadd(lanes.load(place), found, flags=CONTRACT) if added else found, place)
            return context.get_dummy_value()

        return _types.void(array, at, values), generate

    return intrinsic(put)


put_rows: Any = _put(added=False)
"""`put_rows(array, slot, values)`: put a tuple of vectors into the rows of an array (rows, n)."""
add_rows: Any = _put(added=True)
"""`add_rows(array, slot, values)`: add a tuple of vectors to the rows of an array (rows, n)."""


def _guess(typing: Any, x: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        many = isinstance(x, Vector)
        real, whole = ir.DoubleType(), ir.IntType(64)
        if many:
            real, whole = ir.VectorType(real, x.count), ir.VectorType(whole, x.count)

        def constant(value: float) -> Any:
            return ir.Constant(real, [value] * x.count if many else value)

        third = builder.fmul(builder.sitofp(builder.bitcast(arguments[0], whole), real), constant(1.0 / 3.0))
        return builder.bitcast(builder.fptosi(builder.fsub(constant(CUBE_ROOT_START), third), whole), real)

    return x(x), generate


_cube_root_guess: Any = intrinsic(_guess)


@formula
def inverse_cube_root(x: Any) -> Any:
    """Return x^(-1/3) to a few units of the last place for normal doubles x > 0; some number or NaN otherwise.

    The bits of a double, read as an integer, grow like log2 x: CUBE_ROOT_START minus a third of them are the bits of a
    guess within 3.5 %. With r = 1 - x y^3 the step  y <- y (1 + r/3 + 2 r^2/9 + 14 r^3/81)  of
    x^(-1/3) = y (1 - r)^(-1/3) leaves a relative error of (35/243) r^4: 3.5e-2 -> 2e-5 -> below rounding.
    """
    y = _cube_root_guess(x)
    for _ in range(2):
        r = 1.0 - x * y * y * y
        y = y * (1.0 + r * (1.0 / 3.0 + r * (2.0 / 9.0 + r * (14.0 / 81.0))))
    return y


def _fetch(typing: Any, array: Any, row: Any, at: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        row = context.cast(builder, arguments[1], signature.args[1], _types.int64)
        place = _place(context, builder, signature.args[0], arguments[0], row, arguments[2])
        Lanes(builder, context.get_data_type(array.dtype), at.count).fetch_ahead(place)
        return context.get_dummy_value()

    return _types.void(array, row, at), generate


fetch: Any = intrinsic(_fetch)
"""`fetch(array, row, slot)`: ask memory for what is read some hundred vectors later in a row of an array (rows, n)."""


def aligned(shape: int | tuple[int, ...], dtype: Any) -> Any:
    """Return zeros that begin where a vector of the machine may begin."""
    count, size = int(np.prod(shape)), np.dtype(dtype).itemsize
    raw = np.zeros(count * size + 64, dtype=np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + count * size].view(dtype).reshape(shape)


def aligned_copy(values: Any, dtype: Any) -> Any:
    """Return a copy that begins where a vector may begin."""
    found = aligned(np.shape(values), dtype)
    found[...] = values
    return found


def spread(values: Any, of_element: Any, lanes: int, dtype: Any) -> Any:
    """Return values (rows, n) in the columns `of_element` (n,) of an array (rows, lanes), zero elsewhere."""
    found = aligned((len(values), lanes), dtype)
    found[:, of_element] = values
    return found
