"""Square root and reciprocal, one digit to a stage: the parts of circuit 3 that are not products."""

from __future__ import annotations

from functools import reduce
from operator import add

from amaranth.hdl import Cat, Const, Mux, Value, signed

from rheotwin.particles.fixed_point.arithmetic import Root, inverse_gain, shifts
from rheotwin.particles.fixed_point.rtl.pipeline import Pipeline, Staged


def floor_root(pipe: Pipeline, square: Staged, digits: int) -> Staged:
    """Return floor(sqrt(S)) of an unsigned S of 2 x digits bits: two bits of S and one of the root per stage."""

    def digit(remainder: Value, root: Value, left: Value) -> tuple[Value, ...]:
        larger = Cat(left[-2:], remainder)
        trial = Cat(Const(1, 2), root)
        fits = larger >= trial
        # The remainder is at most twice the root, one bit longer than it.
        return Mux(fits, larger - trial, larger)[: len(root) + 2], Cat(fits, root), left[:-2]

    def first(left: Value) -> tuple[Value, ...]:
        return digit(Const(0, 1), Const(0, 1), left)

    remainder, root, left = pipe.registers(first, square)
    for _ in range(digits - 2):
        remainder, root, left = pipe.registers(digit, remainder, root, left)
    return pipe.register(lambda *state: digit(*state)[1][:digits], remainder, root, left)


def reciprocal(pipe: Pipeline, length: Staged, point: int) -> Staged:
    """Return min(floor(2^point / l), highest) by restoring division; l = 0 gives ones, so the highest."""
    highest = pipe.form.highest

    def digit(remainder: Value, quotient: Value, divisor: Value, bit: int = 0) -> tuple[Value, ...]:
        larger = Cat(Const(bit, 1), remainder)
        fits = larger >= divisor
        return Mux(fits, larger - divisor, larger)[: len(divisor)], Cat(fits, quotient)

    def first(divisor: Value) -> tuple[Value, ...]:
        remainder, quotient = digit(Const(0, 0), Const(0, 0), divisor, 1)
        return remainder, quotient

    remainder, quotient = pipe.registers(first, length)
    for _ in range(point):
        remainder, quotient = pipe.registers(digit, remainder, quotient, length)
    word = pipe.form.word - 1
    return pipe.register(lambda q: Mux(q > highest, Const(highest, word), q[:word]), quotient)


def cordic_root(pipe: Pipeline, square: Staged, size: Root = Root()) -> Staged:  # noqa: B008
    """Return the root of S as `fixed_point.arithmetic` has it: no multiplier, one shift per stage."""
    bits, iterations, square_bits = size
    half, m = pipe.registers(lambda square: _normalised(square, size), square)
    quarter = 1 << (bits - 2)
    # x stays below 2 and |y| below x, at one sign and one whole bit.
    width = bits + 2
    x, y = pipe.registers(lambda m: (_signed(m + quarter, width), _signed(m - quarter, width)), m)
    for k in shifts(iterations):
        x, y = pipe.registers(lambda x, y, k=k: _rotated(x, y, k, width), x, y)
    gain = inverse_gain(bits, iterations)
    terms = [
        pipe.register(lambda x, digit=digit: x << digit, x) for digit in range(gain.bit_length()) if gain >> digit & 1
    ]
    while len(terms) > 1:
        terms = [pipe.register(lambda *pair: reduce(add, pair), *terms[i : i + 2]) for i in range(0, len(terms), 2)]
    shift = bits - square_bits // 2

    def denormalised(product: Value, half: Value, square: Value) -> Value:
        root = (product >> (bits + shift))[: square_bits // 2 + 1]
        return Mux(square.any(), (root >> half)[: square_bits // 2], 0)

    return pipe.register(denormalised, terms[0], half, square)


def _normalised(square: Value, size: Root) -> tuple[Value, ...]:
    """Return half the even shift that brings S to the upper quarters of its bits, and the upper bits of S after it."""
    bits, _, square_bits = size
    full = Cat(square, Const(0, square_bits - len(square)))
    pairs = square_bits // 2
    half, shifted = Value.cast(Const(pairs - 1, (pairs - 1).bit_length())), full << 2 * (pairs - 1)
    for n in reversed(range(pairs - 1)):
        found = full[square_bits - 2 * n - 2 : square_bits - 2 * n].any()
        half, shifted = Mux(found, n, half), Mux(found, full << 2 * n, shifted)
    return half, shifted[square_bits - bits : square_bits]


def _signed(value: Value, width: int) -> Value:
    # Adding a wide zero extends an unsigned value by its sign bit first.
    return (value + Const(0, signed(width)))[:width].as_signed()


def _rotated(x: Value, y: Value, k: int, width: int) -> tuple[Value, ...]:
    step_x, step_y, up = y >> k, x >> k, y[-1]
    return (
        _signed(Mux(up, x + step_x, x - step_x), width),
        _signed(Mux(up, y + step_y, y - step_y), width),
    )
