"""Vector arithmetic for compiled loops, emitted as LLVM vectors, and the tension of a vector of edges.

Compilers see no vectors in loops that scatter to two ends, and few in loops whose arrays may overlap. Here a value is
`lanes` numbers, one per edge; loads and stores need no alignment. Only contraction of products and sums is allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir
from numba.core import cgutils

Value = Any
"""An LLVM value under construction."""

_tools: Any = cgutils
INDEX, LANE = ir.IntType(64), ir.IntType(32)
VECTOR_BYTES = 64
"""Width of a vector: the widest there is; narrower machines take two or four steps for one."""
AHEAD = 8192
"""Bytes between what is loaded and what is asked for: memory answers while some hundred vectors are worked on."""
FETCHED_TO_READ_ONCE = 0, 0, 1
"""Arguments of LLVM's prefetch: to read, not to be kept after use, data."""
SHORTEST = 1e-30
"""Least squared length [m^2]: keeps lanes that are no edges finite where two particles meet."""

FIXED_ROWS, ARM_ROWS = 2, 3
"""Rows of constants: stiffness and viscosity, then stiffness, decay and gain of every arm."""


def whole(number: int) -> Value:
    """Return an index constant."""
    return ir.Constant(INDEX, number)


class Lanes:
    """Emits arithmetic on vectors of `count` numbers of one LLVM scalar type."""

    def __init__(self, builder: Any, scalar: Any, count: int) -> None:
        self.builder, self.scalar, self.count = builder, scalar, count
        self.vector = ir.VectorType(scalar, count)
        self.bits = 64 if isinstance(scalar, ir.DoubleType) else 32
        self.integers = ir.VectorType(ir.IntType(self.bits), count)

    def constant(self, value: float) -> Value:
        """Return `value` in every lane."""
        return ir.Constant(self.vector, [value] * self.count)

    def splat(self, value: Value) -> Value:
        """Return a scalar in every lane."""
        empty = ir.Constant(self.vector, ir.Undefined)
        single = self.builder.insert_element(empty, value, ir.Constant(LANE, 0))
        return self.shuffle(single, empty, [0] * self.count)

    def shuffle(self, first: Value, second: Value, picks: Sequence[int]) -> Value:
        """Pick lanes of two vectors placed one after the other."""
        return self.builder.shuffle_vector(first, second, ir.Constant(ir.VectorType(LANE, len(picks)), list(picks)))

    def load(self, place: Value) -> Value:
        """Load consecutive numbers."""
        loaded = self.builder.load(self.builder.bitcast(place, self.vector.as_pointer()))
        loaded.align = self.bits // 8
        return loaded

    def fetch_ahead(self, place: Value) -> None:
        """Ask memory for what follows `AHEAD` bytes later, in arrays that are read once a step from end to end.

        Nothing is read there, so it may be beyond the array. At the beginning of a loop: between its loads it costs.
        """
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        fetch = _tools.get_or_insert_function(self.builder.module, kind, "llvm.prefetch.p0")
        ahead = self.builder.gep(self.builder.bitcast(place, byte), [whole(AHEAD)])
        self.builder.call(fetch, [ahead, *(ir.Constant(number, choice) for choice in FETCHED_TO_READ_ONCE)])

    def store(self, value: Value, place: Value) -> None:
        """Store consecutive numbers."""
        self.builder.store(value, self.builder.bitcast(place, self.vector.as_pointer())).align = self.bits // 8

    def multiply_add(self, factor: Value, other: Value, added: Value) -> Value:
        """Return factor * other + added, fused where the machine can."""
        return self._apply("fmuladd", [factor, other, added])

    def _apply(self, name: str, values: Sequence[Value]) -> Value:
        """Apply a function LLVM knows for vectors."""
        kind = ir.FunctionType(self.vector, [self.vector] * len(values))
        function = _tools.get_or_insert_function(self.builder.module, kind, f"llvm.{name}.v{self.count}f{self.bits}")
        return self.builder.call(function, values)

    def square_root(self, value: Value) -> Value:
        """Return the square root."""
        return self._apply("sqrt", [value])

    def absolute(self, value: Value) -> Value:
        """Return |value|."""
        return self._apply("fabs", [value])

    def with_sign(self, value: Value, signed: Value) -> Value:
        """Return |value| with the sign of another."""
        return self._apply("copysign", [value, signed])

    def polynomial(self, coefficients: Sequence[float], value: Value) -> Value:
        """Return the sum of c_n value^n, halves at a time so that few products wait for each other."""
        terms, power = [self.constant(float(c)) for c in coefficients], value
        while len(terms) > 1:
            pairs = [self.multiply_add(power, high, low) for low, high in zip(terms[::2], terms[1::2], strict=False)]
            terms, power = pairs + terms[len(terms) - len(terms) % 2 :], self.builder.fmul(power, power)
        return terms[0]

    def times_power_of_two(self, value: Value, shifted: Value) -> Value:
        """Return value * 2^n for doubles, n being the whole number in the last bits of `shifted`."""
        b = self.builder
        exponent = b.shl(b.bitcast(shifted, self.integers), ir.Constant(self.integers, [52] * self.count))
        return b.bitcast(b.add(b.bitcast(value, self.integers), exponent), self.vector)

    def any(self, mask: Value) -> Value:
        """Tell whether a comparison holds in some lane."""
        bits = ir.IntType(self.count)
        return self.builder.icmp_unsigned("!=", self.builder.bitcast(mask, bits), ir.Constant(bits, 0))

    def dot(self, a: Sequence[Value], b: Sequence[Value]) -> Value:
        """Return a_0 b_0 + a_1 b_1 + a_2 b_2."""
        last = self.multiply_add(a[1], b[1], self.builder.fmul(a[0], b[0]))
        return self.multiply_add(a[2], b[2], last)

    def at_least(self, value: Value, least: float) -> Value:
        """Return max(value, least); what is not a number stays that."""
        bound = self.constant(least)
        return self.builder.select(self.builder.fcmp_ordered("<", value, bound), bound, value)


@dataclass(frozen=True)
class Response:
    """Where the constants of edges are, and which of them there are: one compiled form of the edge response.

    `shared`: one column of constants serves all edges, each times its weight; otherwise every edge has its column.
    `spring`: there is a spring without relaxation. `arms`: 0, 1, or None for a number known only when it runs.
    """

    shared: bool
    spring: bool
    arms: int | None


@dataclass(frozen=True)
class Pointers:
    """Pointers to weight, rest measure, first constant and first arm state; rows are `stride` numbers apart.

    Of constants the rows are as `FIXED_ROWS` and `ARM_ROWS` say; shared ones are scalars, next to each other.
    """

    weight: Value
    rest: Value
    constants: Value
    states: Value
    stride: Value
    arms: Value


Emitter = Callable[[Value, Callable[[], Value], Value], Value]


def emit_response(lanes: Lanes, form: Response, place: Pointers) -> Emitter:
    """Emit what can stand before the loop over vectors; return the emitter of the response f at offset k.

    The returned emitter takes k, what emits the strain s, and the rate r of strain; it advances the arm states

        z <- decay z + gain r,       f = k s + eta r + sum_a kappa_a z_a
    """
    b = lanes.builder

    def scalar(row: Value) -> Value:
        return lanes.splat(b.load(b.gep(place.constants, [row])))

    known = FIXED_ROWS + ARM_ROWS * (form.arms or 0)
    hoisted = [scalar(whole(row)) for row in range(known)] if form.shared else []

    def constant(row: int, k: Value) -> Value:
        return hoisted[row] if form.shared else column(whole(row), k)

    def column(row: Value, k: Value) -> Value:
        return lanes.load(b.gep(place.constants, [b.add(b.mul(row, place.stride), k)]))

    def with_arm(states: Value, k: Value, values: Sequence[Value], rate: Value, force: Value) -> Value:
        """Advance one arm and return the force with its share."""
        kappa, decay, gain = values
        where = b.gep(states, [k])
        state = lanes.multiply_add(decay, lanes.load(where), b.fmul(gain, rate))
        lanes.store(state, where)
        return lanes.multiply_add(kappa, state, force)

    def with_all_arms(k: Value, rate: Value, force: Value) -> Value:
        total = _tools.alloca_once(b, lanes.vector)
        b.store(force, total)
        with _tools.for_range_slice(b, whole(0), place.arms, whole(1), intp=INDEX) as (arm, _):
            first = b.add(whole(FIXED_ROWS), b.mul(arm, whole(ARM_ROWS)))
            rows = [b.add(first, whole(n)) for n in range(ARM_ROWS)]
            values = [scalar(row) if form.shared else column(row, k) for row in rows]
            states = b.gep(place.states, [b.mul(arm, place.stride)])
            b.store(with_arm(states, k, values, rate, b.load(total)), total)
        return b.load(total)

    def emit(k: Value, strain: Callable[[], Value], rate: Value) -> Value:
        force = b.fmul(constant(1, k), rate)
        if form.spring:
            force = lanes.multiply_add(constant(0, k), strain(), force)
        if form.arms == 1:
            values = [constant(FIXED_ROWS + n, k) for n in range(ARM_ROWS)]
            force = with_arm(place.states, k, values, rate, force)
        elif form.arms is None:
            force = with_all_arms(k, rate, force)
        return b.fmul(force, lanes.load(b.gep(place.weight, [k]))) if form.shared else force

    return emit


def emit_force_factor(lanes: Lanes, form: Response, place: Pointers) -> Callable[[Value, Value, Value], Value]:
    """Return the emitter of f/l [N/m] of edges from k, d . d [m^2] and d . ddot [m^2/s], d from start to end.

    The strain is l - l0, its rate ldot = d . ddot/l.
    """
    b = lanes.builder
    response = emit_response(lanes, form, place)

    def emit(k: Value, square: Value, product: Value) -> Value:
        square = lanes.at_least(square, SHORTEST)
        inverse = b.fdiv(lanes.constant(1.0), lanes.square_root(square))

        def extension() -> Value:
            return lanes.multiply_add(square, inverse, b.fneg(lanes.load(b.gep(place.rest, [k]))))

        return b.fmul(response(k, extension, b.fmul(product, inverse)), inverse)

    return emit


def fetch_elements(lanes: Lanes, form: Response, place: Pointers, k: Value) -> None:
    """Emit requests for the weights or constants, rest measures and arm states that follow those at offset k.

    Only for doubles: vectors of single precision take twice the work each, and memory keeps up without.
    """
    if lanes.bits < 64:
        return
    b = lanes.builder
    rows = FIXED_ROWS + ARM_ROWS * (form.arms or 0)
    constants = [b.gep(place.constants, [b.mul(whole(row), place.stride)]) for row in range(rows)]
    columns = [place.weight] if form.shared else constants
    columns += [place.rest] * form.spring + [place.states] * (form.arms != 0)
    for column in columns:
        lanes.fetch_ahead(b.gep(column, [k]))


FORMS = tuple(
    Response(shared, spring, arms) for shared in (True, False) for spring, arms in ((True, 0), (False, 1), (True, None))
)
"""The compiled forms; what fits none of the first two of a kind takes the third."""


def form_number(*, shared: bool, spring: bool, arms: int) -> int:
    """Return the index in FORMS of the cheapest form for edges with or without springs and with `arms` arms."""
    wanted = Response(shared, spring, arms)
    return FORMS.index(wanted) if wanted in FORMS else FORMS.index(Response(shared, True, None))
