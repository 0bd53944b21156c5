"""Signed numbers of a fixed word, raw integers X standing for X/2^fraction, and the operators of the circuit.

Normative table of spec fpga-fixed-point.md section 3: floor products, sums that wrap, constants with a point of their
own (2.16-2.18). All work on integer arrays of any shape and return int64; nothing here knows units.

The papers' square root is CORDIC, shifts and additions only (section 4): S is brought to m in [1/4, 1) by an even
shift, then, hyperbolic vectoring,

    (x, y) <- (x - d y 2^-k, y - d x 2^-k),  d = sign y,  k = 1, 2, 3, 4, 4, 5, .., 13, 13, ..

from (m + 1/4, m - 1/4) ends at x = K sqrt(m); 1/K is applied by shifts and additions of its binary digits. The floor of
the root is the contract of the circuit; with 4 bits more than the word or more this is at most one unit in the last
place from it. Words of up to 16 bits share one root; longer ones take 8 bits and a turn for every bit more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from math import floor, frexp, prod, sqrt
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rheotwin.arrays import Array, Flags, Indices

Integers = NDArray[np.integer[Any]]
Overflow = Literal["wrap", "saturate"]
WIDEST = 32
"""Longest word whose squares of vectors are exact in 64 bits, without a sign."""
Q = TypeVar("Q", float, Array)


@dataclass(frozen=True)
class Format:
    """Two's complement words of `word` bits, `fraction` of them after the point."""

    word: int = 16
    fraction: int = 8

    def __post_init__(self) -> None:
        if not (2 <= self.word <= WIDEST and 0 <= self.fraction < self.word):
            raise ValueError(f"no format has {self.word} bits with {self.fraction} after the point (at most {WIDEST})")

    def __str__(self) -> str:
        return f"{self.word} bits, {self.fraction} after the point"

    @property
    def highest(self) -> int:
        """Largest raw number; the lowest is -highest - 1."""
        return (1 << (self.word - 1)) - 1

    @property
    def one(self) -> int:
        """Raw form of 1."""
        return 1 << self.fraction

    def raw(self, value: ArrayLike) -> Indices:
        """Return floor(2^fraction x + 1/2), the raw form of states, lengths and forces; it may be out of range."""
        return round_half_up(np.asarray(value, dtype=np.float64) * self.one)

    def value(self, raw: ArrayLike) -> Array:
        """Return the numbers that raw ones stand for."""
        return np.asarray(raw, dtype=np.float64) / self.one

    def holds(self, raw: ArrayLike) -> Flags:
        """Tell which raw numbers are in range."""
        whole = np.asarray(raw)
        return np.asarray((whole >= -self.highest - 1) & (whole <= self.highest))


Q16 = Format()
"""The papers' format: 7 bits before the point, 8 after it; range [-128, 128 - 2^-8]."""


def round_half_up(value: ArrayLike) -> Indices:
    """Return floor(x + 1/2): ties go up, those of negative numbers too."""
    real = np.asarray(value, dtype=np.float64)
    below = np.floor(real)
    # x + 1/2 may round up to the next whole number when x is just below a tie.
    return np.asarray(below + (real - below >= 0.5), dtype=np.int64)


def wrap(x: ArrayLike, form: Format = Q16) -> Indices:
    """Return ((x + 2^(word-1)) mod 2^word) - 2^(word-1)."""
    half = 1 << (form.word - 1)
    return np.asarray(((np.asarray(x, dtype=np.int64) + half) & (2 * half - 1)) - half)


def saturate(x: ArrayLike, form: Format = Q16) -> Indices:
    """Return the nearest number in range."""
    return np.clip(np.asarray(x, dtype=np.int64), -form.highest - 1, form.highest)


def product(a: ArrayLike, b: ArrayLike, form: Format = Q16, rounding: bool = False) -> Indices:
    """Return floor(a b / 2^fraction), with 1/2 added before when rounding, in full length."""
    exact = np.asarray(a, dtype=np.int64) * np.asarray(b, dtype=np.int64)
    return np.asarray((exact + half_unit(form.fraction, rounding)) >> form.fraction)


def floor_mul(a: ArrayLike, b: ArrayLike, form: Format = Q16) -> Indices:
    """Return wrap(floor(a b / 2^fraction))."""
    return wrap(product(a, b, form), form)


def half_unit(w: int, rounding: bool) -> int:
    """Return what is added before a shift by w: 2^(w-1) to round half up, 0 to cut off."""
    return (1 << w) >> 1 if rounding else 0


def cmul(constant: ArrayLike, w: int, b: ArrayLike, rounding: bool) -> Indices:
    """Return the product with a constant whose point is at w: (C b) >> w, or (C b + 2^(w-1)) >> w when rounding.

    The result is in full length: sums of products are wrapped once.
    """
    exact = np.asarray(constant, dtype=np.int64) * np.asarray(b, dtype=np.int64)
    return np.asarray((exact + half_unit(w, rounding)) >> w)


def full_dot3(a: ArrayLike, b: ArrayLike, form: Format = Q16, rounding: bool = False) -> Indices:
    """Return floor(sum_3 a b / 2^fraction) over the last axis in full length: one shift of the exact sum."""
    exact = (np.asarray(a, dtype=np.int64) * np.asarray(b, dtype=np.int64)).sum(axis=-1)
    return np.asarray((exact + half_unit(form.fraction, rounding)) >> form.fraction)


def dot3(a: ArrayLike, b: ArrayLike, form: Format = Q16) -> Indices:
    """Return the wrapped dot product over the last axis."""
    return wrap(full_dot3(a, b, form), form)


def isqrt(square: ArrayLike) -> Indices:
    """Return floor(sqrt(S)) for 0 <= S < 2^64, S from 2^63 on as the negative number of the same bits.

    The double root is off by one at most, which its square tells.
    """
    whole = np.asarray(square, dtype=np.int64)
    root = np.floor(np.sqrt(whole.view(np.uint64).astype(np.float64))).astype(np.int64)
    with np.errstate(over="ignore"):
        root = root - (root * root - whole > 0)
        return np.asarray(root + ((root + 1) * (root + 1) - whole <= 0))


def recip(length: ArrayLike, form: Format = Q16, point: int | None = None) -> Indices:
    """Return floor(2^point/l), at most the highest number, which is also that of l = 0; by default 2 fraction."""
    whole = np.asarray(length, dtype=np.int64)
    quotient = np.minimum((1 << (2 * form.fraction if point is None else point)) // np.maximum(whole, 1), form.highest)
    return np.asarray(np.where(whole > 0, quotient, form.highest))


def quantise_constant(c: float, w: int) -> int:
    """Return floor(c 2^w): nearest could overflow just below a power of two."""
    return floor(c * 2.0**w)


def point_position(c: float, form: Format = Q16, most: int | None = None) -> int:
    """Return w_mod = min(word, word - 2 - floor(log2|c|)) of (2.16)-(2.18): most digits that leave no overflow.

    A result of `word` bits is cut from a product of twice that, hence w <= word, or `most` where its upper digits are
    signs; negative: |c| is beyond any point.
    """
    most = form.word if most is None else most
    return most if c == 0.0 else min(most, form.word - 1 - frexp(abs(c))[1])


BITS = 24
"""Bits after the point inside, for words of 16; below 20 the root is off by several units."""
ITERATIONS = 16
SQUARE_BITS = 32
"""Width of S: sums of three squares of 16 bits."""
LOW = 20
"""Digits of x that are multiplied with 1/K by themselves: all of them would not fit into 64 bits."""


class Root(NamedTuple):
    """Size of a CORDIC root: bits after the point, turns, bits of S."""

    bits: int = BITS
    iterations: int = ITERATIONS
    square_bits: int = SQUARE_BITS


def root_of(form: Format) -> Root:
    """Return the root for words of a format."""
    more = max(0, form.word - SQUARE_BITS // 2)
    return Root(BITS + more, ITERATIONS + more, SQUARE_BITS + 2 * more)


def shifts(count: int) -> tuple[int, ...]:
    """Return the first `count` shifts; those of 4, 13, 40, .. are taken twice, without which it would not converge."""

    def endless() -> Iterator[int]:
        repeated = 4
        for k in range(1, SQUARE_BITS):
            yield k
            if k == repeated:
                yield k
                repeated = 3 * k + 1

    return tuple(islice(endless(), count))


def inverse_gain(bits: int, iterations: int) -> int:
    """Return 1/K in units of 2^-bits, K the product of sqrt(1 - 4^-k): what shifts and additions multiply with."""
    gain: float = prod(sqrt(1.0 - 4.0**-k) for k in shifts(iterations))
    return round(2.0**bits / gain)


def cordic_root(
    square: ArrayLike, bits: int = BITS, iterations: int = ITERATIONS, square_bits: int = SQUARE_BITS
) -> Indices:
    """Return the root of 0 <= S < 2^square_bits, within one unit of its floor for 4 bits more than half of that."""
    whole = np.asarray(square, dtype=np.int64).view(np.uint64)
    # Half the shift: S 4^n is in [2^(square - 2), 2^square), so that m = S 4^n / 2^square is in [1/4, 1).
    half = (square_bits - _bit_lengths(whole)) >> 1
    m = (whole << (2 * half).astype(np.uint64) >> np.uint64(square_bits - bits)).astype(np.int64)
    quarter = 1 << (bits - 2)
    x, y = m + quarter, m - quarter
    for k in shifts(iterations):
        step_x, step_y = y >> k, x >> k
        down = y >= 0
        x, y = np.where(down, x - step_x, x + step_x), np.where(down, y - step_y, y + step_y)
    gain, low = inverse_gain(bits, iterations), min(LOW, bits)
    upper = x >> low
    root = (upper * gain + ((x - (upper << low)) * gain >> low)) >> (bits - low)
    # sqrt(S) = sqrt(m) 2^(square/2 - n)
    return np.asarray(np.where(whole > 0, root >> (bits - square_bits // 2) >> half, 0))


def _bit_lengths(whole: NDArray[np.uint64]) -> Indices:
    """Return the number of bits of numbers below 2^64, 1 for 0: frexp of halves, which doubles hold."""
    upper, lower = whole >> np.uint64(32), whole & np.uint64(0xFFFFFFFF)
    found = np.where(upper > 0, 32 + np.frexp(upper.astype(np.float64))[1], np.frexp(lower.astype(np.float64))[1])
    return np.maximum(found, 1).astype(np.int64)
