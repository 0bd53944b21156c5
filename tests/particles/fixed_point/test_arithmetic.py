"""Operators on words against whole numbers of Python (spec section 3), the shift-and-add root against its floor (4)."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from math import floor, isqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheotwin.particles.fixed_point import arithmetic as fx
from rheotwin.particles.fixed_point.arithmetic import Format

FORMATS = st.builds(
    lambda word, share: Format(word, min(word - 1, share * word // 8)), st.integers(2, 24), st.integers(0, 8)
)
CORNERS = st.sampled_from([-32768, -32767, -257, -256, -255, -129, -128, -1, 0, 1, 127, 128, 255, 256, 32766, 32767])
WORDS = st.one_of(CORNERS, st.integers(-32768, 32767))
TRIPLES = st.tuples(WORDS, WORDS, WORDS)


def wrapped(x: int, bits: int = 16) -> int:
    return (x + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)


@given(FORMATS, st.integers(-(2**62), 2**62))
def test_wrap_is_the_remainder_and_saturation_the_nearest_word(form: Format, x: int) -> None:
    assert fx.wrap(x, form) == wrapped(x, form.word)
    assert fx.saturate(x, form) == min(max(x, -(2 ** (form.word - 1))), 2 ** (form.word - 1) - 1)
    assert fx.saturate(fx.wrap(x, form), form) == fx.wrap(x, form)
    assert form.holds(x) == (wrapped(x, form.word) == x)


@given(WORDS, WORDS)
def test_products_are_floors_of_exact_ones(a: int, b: int) -> None:
    assert fx.floor_mul(a, b) == wrapped(floor(Fraction(a * b, 256)))
    assert fx.product(a, b) == floor(Fraction(a * b, 256))
    assert fx.product(a, b, rounding=True) == floor(Fraction(a * b, 256) + Fraction(1, 2))


@given(TRIPLES, TRIPLES)
def test_a_dot_product_is_shifted_once(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    exact = sum(one * other for one, other in zip(a, b, strict=True))
    assert fx.full_dot3(np.array(a), np.array(b)) == floor(Fraction(exact, 256))
    assert fx.dot3(np.array(a), np.array(b)) == wrapped(exact >> 8)


@given(FORMATS, st.data())
def test_products_of_every_format_are_exact(form: Format, data: st.DataObject) -> None:
    number = st.integers(-form.highest - 1, form.highest)
    a, b = ([data.draw(number) for _ in range(3)] for _ in range(2))
    exact = sum(one * other for one, other in zip(a, b, strict=True))
    assert fx.dot3(np.array(a), np.array(b), form) == wrapped(exact >> form.fraction, form.word)
    assert fx.floor_mul(a[0], b[0], form) == wrapped((a[0] * b[0]) >> form.fraction, form.word)


@given(WORDS, st.integers(0, 16), WORDS)
def test_constant_products(constant: int, w: int, b: int) -> None:
    exact = Fraction(constant * b, 2**w)
    assert fx.cmul(constant, w, b, False) == floor(exact)
    assert fx.cmul(constant, w, b, True) == (floor(exact + Fraction(1, 2)) if w else constant * b)


@given(st.fractions(-130, 130, max_denominator=2**12).map(float))
def test_states_round_half_up_to_words(x: float) -> None:
    assert fx.Q16.raw(x) == floor(Fraction(x) * 256 + Fraction(1, 2))


def test_ties_go_up_for_both_signs_and_numbers_just_below_stay() -> None:
    below = np.nextafter(0.5, 0.0)
    assert fx.round_half_up([-1.5, -0.5, 0.5, 1.5, below, -below]).tolist() == [-1, 0, 1, 2, 0, 0]


@given(st.one_of(st.integers(0, 2**52 - 1), st.integers(1, 2**26 - 1).map(lambda n: n * n - 1)))
@settings(max_examples=500)
def test_root_is_the_floor(square: int) -> None:
    assert fx.isqrt(square) == isqrt(square)


def test_root_at_all_squares_of_sixteen_bits_and_just_below() -> None:
    n = np.arange(1, 2**16)
    assert np.array_equal(fx.isqrt(n * n), n) and np.array_equal(fx.isqrt(n * n - 1), n - 1)


def test_reciprocals_of_all_lengths() -> None:
    inverse = fx.recip(np.arange(2**16))
    assert inverse[:3].tolist() == [32767] * 3
    assert inverse[3:].tolist() == [65536 // length for length in range(3, 2**16)]


@given(FORMATS, st.integers(0, 2**24))
def test_reciprocals_of_every_format(form: Format, length: int) -> None:
    exact = 2 ** (2 * form.fraction) // length if length else form.highest
    assert fx.recip(length, form) == min(exact, form.highest)


@given(st.floats(2.0**-40, 2.0**14, exclude_max=True), st.integers(4, 24))
def test_point_position_is_the_longest_that_fits(c: float, word: int) -> None:
    form = Format(word, word // 2)
    w = fx.point_position(c, form)
    assert form.holds(fx.quantise_constant(c, w)) and form.holds(fx.quantise_constant(-c, w))
    # One more digit: beyond the digits a product has, or out of range for one sign or the other.
    assert w == word or c * 2.0 ** (w + 1) >= 2.0 ** (word - 1)


def test_constants_are_quantised_downwards() -> None:
    given = (-250 / 120, 100 / 120, 100.0, -0.5 / 2.8, 2.3)
    assert [fx.quantise_constant(c, 8) for c in given] == [-534, 213, 25600, -46, 588]
    assert [fx.quantise_constant(0.01, w) for w in (8, 15, 16)] == [2, 327, 655]


@pytest.mark.parametrize(("word", "fraction"), [(1, 0), (16, 16), (33, 8), (16, -1)])
def test_formats_that_do_not_exist(word: int, fraction: int) -> None:
    with pytest.raises(ValueError, match=f"{word} bits with {fraction}"):
        Format(word, fraction)


LARGEST = 3 * 2**30


@cache
def squares() -> np.ndarray:
    """Random S of every size, all squares of whole lengths and the numbers just below."""
    rng = np.random.default_rng(0)
    n = np.arange(1, fx.isqrt(LARGEST) + 1)
    anywhere = rng.integers(0, LARGEST + 1, 200_000)
    sizes = np.exp(rng.uniform(0.0, np.log(LARGEST), 100_000)).astype(np.int64)
    return np.concatenate([np.arange(10_000), n * n, n * n - 1, anywhere, sizes, [LARGEST]])


@pytest.mark.parametrize(("bits", "iterations"), [(20, 12), (20, 16), (22, 16), (24, 12), (24, 16), (24, 24)])
def test_never_more_than_one_unit_from_the_floor(bits: int, iterations: int) -> None:
    assert np.abs(fx.cordic_root(squares(), bits, iterations) - fx.isqrt(squares())).max() == 1


def test_fewer_bits_are_several_units_off() -> None:
    assert np.abs(fx.cordic_root(squares(), 16, 16) - fx.isqrt(squares())).max() > 4


def test_shifts_repeat_so_that_vectoring_converges() -> None:
    assert fx.shifts(16) == (1, 2, 3, 4, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 13, 14)
    # All remaining rotations together reach as far as any single one; without repetitions angles are left over.
    for number, converges in ((fx.shifts(24), True), (tuple(range(1, 25)), False)):
        angles = np.arctanh(2.0 ** -np.array(number, dtype=float))
        reach = [angles[k + 1 :].sum() + angles[-1] + 2.0**-40 for k in range(len(angles) - 1)]
        assert bool(np.all(angles[:-1] <= reach)) == converges


def test_gain_of_all_iterations() -> None:
    # K of shifts 1, 2, 3, 4, 4, 5, .. is 0.8281593609602.
    assert fx.inverse_gain(24, 30) / 2**24 == pytest.approx(1.0 / 0.8281593609602, abs=2.0**-24)


@pytest.mark.parametrize("word", [17, 20, 24, 28, 32])
def test_roots_of_longer_words(word: int) -> None:
    """The floor is exact up to three squares of the longest word, and the CORDIC root is a unit from it at most."""
    rng = np.random.default_rng(word)
    largest = 3 << (2 * word - 2)
    roots = [n for n in rng.integers(1, 1 << word, 2000).tolist() if n * n <= largest] + [math.isqrt(largest)]
    wanted = [n * n + change for n in roots for change in (-1, 0, 1)] + [0, 1, 2, 3, largest]
    squares = np.array(wanted, dtype=np.uint64).view(np.int64)
    found = fx.isqrt(squares)
    assert found.tolist() == [math.isqrt(square) for square in wanted]
    size = fx.root_of(Format(word, 8))
    assert np.abs(fx.cordic_root(squares, *size) - found).max() == 1
    anywhere = rng.integers(0, min(largest, 1 << 62), 20_000)
    assert np.mean(fx.cordic_root(anywhere, *size) == fx.isqrt(anywhere)) > 0.98
