"""Arithmetic on LLVM vectors for code generators: what `rheotwin.kernels.vectors` is made of.

A value is `count` numbers; loads and stores need no alignment. Only contraction of products and sums is allowed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils
from numpy.polynomial import Chebyshev, Polynomial

from rheotwin.same_bits import CONTRACT

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

LOG_2 = float(np.log(2.0))


def _interpolant(degree: int) -> list[float]:
    """Return the coefficients of a polynomial that is exp between -ln(2)/2 and ln(2)/2."""
    half = 0.5 * LOG_2
    found = Chebyshev.interpolate(np.exp, degree, domain=[-half, half]).convert(kind=Polynomial)
    return [float(c) for c in np.asarray(found.coef, dtype=float)]


EXPONENTIAL = {
    64: (_interpolant(11), float(np.float32(LOG_2)), 1.5 * 2.0**52, 52),
    32: (_interpolant(6), float(np.float16(LOG_2)), 1.5 * 2.0**23, 23),
}
"""By bits of a number: polynomial, exact to 3e-15 or 1e-8; the part of ln(2) whose products with whole numbers up to
2^10 are exact; what leaves the nearest whole number in the last bits when added; bits of the fraction."""


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
        return ir.Constant(self.vector, [int(value) if isinstance(self.scalar, ir.IntType) else value] * self.count)

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
        """Return factor * other + added, fused where the machine can and may."""
        if not CONTRACT:
            return self.builder.fadd(self.builder.fmul(factor, other), added)
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

    def exponential(self, value: Value) -> Value:
        """Return exp(value) = 2^n exp(rest) where that is neither zero nor infinite."""
        b, (coefficients, high, whole_number, fraction) = self.builder, EXPONENTIAL[self.bits]
        shifted = self.multiply_add(value, self.constant(1.0 / LOG_2), self.constant(whole_number))
        power = b.fsub(shifted, self.constant(whole_number))
        rest = self.multiply_add(power, self.constant(-high), value)
        rest = self.multiply_add(power, self.constant(high - LOG_2), rest)
        exponent = b.shl(b.bitcast(shifted, self.integers), ir.Constant(self.integers, [fraction] * self.count))
        found = self.polynomial(coefficients, rest)
        return b.bitcast(b.add(b.bitcast(found, self.integers), exponent), self.vector)

    def columns(self, rows: Sequence[Value]) -> list[Value]:
        """Turn eight rows x y z 0 into three vectors of eight x, y and z."""
        pick = self.shuffle
        pairs = [pick(rows[k], rows[k + 1], range(8)) for k in range(0, 8, 2)]
        left, right = (pick(pairs[k], pairs[k + 1], [0, 4, 8, 12, 1, 5, 9, 13]) for k in (0, 2))
        low, high = (pick(pairs[k], pairs[k + 1], [2, 6, 10, 14, 2, 6, 10, 14]) for k in (0, 2))
        halves = (0, 1, 2, 3, 8, 9, 10, 11), (4, 5, 6, 7, 12, 13, 14, 15)
        return [pick(left, right, halves[0]), pick(left, right, halves[1]), pick(low, high, halves[0])]

    def rows_of(self, x: Value, y: Value, z: Value) -> list[Value]:
        """Turn vectors of eight x, y and z into eight rows x y z 0."""
        pick, nothing, rows = self.shuffle, self.constant(0.0), []
        for half in (0, 4):
            woven = [half, half + 8, half + 1, half + 9, half + 2, half + 10, half + 3, half + 11]
            xy, z0 = pick(x, y, woven), pick(z, nothing, woven)
            rows += [pick(xy, z0, [2 * k, 2 * k + 1, 2 * k + 8, 2 * k + 9]) for k in range(4)]
        return rows
