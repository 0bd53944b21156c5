"""Formulas of numbers, compiled for vectors of elements as they stand.

Where many results hang on one division, the compiler's own vectors are too narrow to keep a processor busy while it
waits. A formula in plain Python is called once with `Number`s instead of numbers, which write down what is done to
them for `WIDTH` elements at a time. The same formula may be called from compiled scalar code: see `formula`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload, register_jitable

from rheotwin.particles.lanes import INDEX, Lanes, whole

_tools: Any = cgutils
_types: Any = types

Real = Any
"""A number, or a `Number` of every lane."""
WIDTH = 8
"""Elements at once."""
NOTHING = None
"""What is not there and may be added to a number."""
_CONTRACT = ("contract",)
"""Products and sums may be fused, nothing else."""
_overloaded: Any = overload
formula: Any = register_jitable(error_model="numpy", fastmath={"contract"}, _nrt=False, forceinline=False)
"""Decorator of functions that compiled code and formulas both may call."""


def select(condition: Any, yes: Any, no: Any) -> Any:
    """Return `yes` where the condition holds and `no` elsewhere, without a branch.

    >>> select(1.0 > 2.0, "larger", "smaller")
    'smaller'
    """
    if isinstance(condition, Condition):
        return condition.choose(yes, no)
    return yes if condition else no


@_overloaded(select)
def _select_of_numbers(condition: Any, yes: Any, no: Any) -> Any:
    def chosen(condition: Any, yes: Any, no: Any) -> Any:
        return yes if condition else no

    return chosen


class Condition:
    """A comparison of numbers, lane by lane."""

    def __init__(self, lanes: Lanes, value: Any) -> None:
        self.lanes, self.value = lanes, value

    def __or__(self, other: Condition) -> Condition:
        return Condition(self.lanes, self.lanes.builder.or_(self.value, other.value))

    def choose(self, yes: Any, no: Any) -> Number:
        """Return `yes` or `no`."""
        one, other = (Number.of(self.lanes, choice).value for choice in (yes, no))
        return Number(self.lanes, self.lanes.builder.select(self.value, one, other))


class Number:
    """A number of every lane; plain numbers beside it are the same in all of them."""

    def __init__(self, lanes: Lanes, value: Any) -> None:
        self.lanes, self.value = lanes, value

    @staticmethod
    def of(lanes: Lanes, value: Any) -> Number:
        """Return a number as it is, or a plain one in every lane."""
        return value if isinstance(value, Number) else Number(lanes, lanes.constant(float(value)))

    def _with(self, name: str, left: Any, right: Any) -> Number:
        one, other = (Number.of(self.lanes, side).value for side in (left, right))
        return Number(self.lanes, getattr(self.lanes.builder, name)(one, other, flags=_CONTRACT))

    def __add__(self, other: Any) -> Number:
        return self if other is NOTHING else self._with("fadd", self, other)

    def __radd__(self, other: Any) -> Number:
        return self._with("fadd", other, self)

    def __sub__(self, other: Any) -> Number:
        return self if other is NOTHING else self._with("fsub", self, other)

    def __rsub__(self, other: Any) -> Number:
        return self._with("fsub", other, self)

    def __mul__(self, other: Any) -> Number:
        return self._with("fmul", self, other)

    def __rmul__(self, other: Any) -> Number:
        return self._with("fmul", other, self)

    def __rtruediv__(self, other: Any) -> Number:
        return self._with("fdiv", other, self)

    def __neg__(self) -> Number:
        return Number(self.lanes, self.lanes.builder.fneg(self.value))

    def __abs__(self) -> Number:
        return Number(self.lanes, self.lanes.absolute(self.value))

    def _compared(self, sign: str, other: Any) -> Condition:
        right = Number.of(self.lanes, other).value
        return Condition(self.lanes, self.lanes.builder.fcmp_ordered(sign, self.value, right))

    def __lt__(self, other: Any) -> Condition:
        return self._compared("<", other)

    def __gt__(self, other: Any) -> Condition:
        return self._compared(">", other)

    def __ge__(self, other: Any) -> Condition:
        return self._compared(">=", other)


Rows = Sequence[Any]
Formula = Callable[..., tuple[Rows, Condition]]


def in_vectors(formula: Formula, rows: tuple[int, ...], count: int) -> Any:
    """Compile a formula for `count` elements, a multiple of WIDTH; to be called in compiled code only.

    `formula(*inputs, limit)` is handed one tuple of numbers for each of `rows`, its length, and a plain number. It
    returns its results and a condition. What is compiled is called with a tuple of arrays that hold those numbers row
    after row, the limit, and the array of results. It tells whether the condition holds for some element.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        b, kinds = builder, signature.args[0].types
        lanes = Lanes(b, context.get_data_type(signature.args[2].dtype), WIDTH)
        given = [
            context.make_array(kind)(context, b, array).data
            for kind, array in zip(kinds, _tools.unpack_tuple(b, arguments[0]), strict=True)
        ]
        results = context.make_array(signature.args[2])(context, b, arguments[2]).data
        limit = Number(lanes, lanes.splat(arguments[1]))
        bits = ir.VectorType(ir.IntType(1), WIDTH)
        found = _tools.alloca_once_value(b, ir.Constant(bits, [0] * WIDTH))
        with _tools.for_range_slice(b, whole(0), whole(count), whole(WIDTH), intp=INDEX) as (k, _):

            def row(place: Any, number: int) -> Any:
                return b.gep(place, [b.add(k, whole(number * count))])

            inputs = [
                tuple(Number(lanes, lanes.load(row(place, n))) for n in range(length))
                for place, length in zip(given, rows, strict=True)
            ]
            values, condition = formula(*inputs, limit)
            for n, value in enumerate(values):
                lanes.store(value.value, row(results, n))
            b.store(b.or_(b.load(found), condition.value), found)
        return lanes.any(b.load(found))

    def typed(typing: Any, arrays: Any, limit: Any, results: Any) -> Any:
        return _types.boolean(arrays, _types.float64, results), generate

    return intrinsic(typed)
