"""The shift-and-add root against the floor it stands for (spec fpga-fixed-point.md section 4)."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rheotwin.particles.fixed_point.arithmetic import Format, cordic_root, inverse_gain, isqrt, root_of, shifts

LARGEST = 3 * 2**30


@pytest.fixture(scope="module")
def squares() -> np.ndarray:
    """Random S of every size, all squares of whole lengths and the numbers just below."""
    rng = np.random.default_rng(0)
    n = np.arange(1, isqrt(LARGEST) + 1)
    anywhere = rng.integers(0, LARGEST + 1, 200_000)
    sizes = np.exp(rng.uniform(0.0, np.log(LARGEST), 100_000)).astype(np.int64)
    return np.concatenate([np.arange(10_000), n * n, n * n - 1, anywhere, sizes, [LARGEST]])


@pytest.mark.parametrize(("bits", "iterations"), [(20, 12), (20, 16), (22, 16), (24, 12), (24, 16), (24, 24)])
def test_never_more_than_one_unit_from_the_floor(squares: np.ndarray, bits: int, iterations: int) -> None:
    assert np.abs(cordic_root(squares, bits, iterations) - isqrt(squares)).max() == 1


@pytest.mark.parametrize("word", [17, 20, 24, 28, 32])
def test_roots_of_longer_words(word: int) -> None:
    """The floor is exact up to three squares of the longest word, and the CORDIC root is a unit from it at most."""
    rng = np.random.default_rng(word)
    largest = 3 << (2 * word - 2)
    roots = [n for n in rng.integers(1, 1 << word, 2000).tolist() if n * n <= largest] + [math.isqrt(largest)]
    wanted = [n * n + change for n in roots for change in (-1, 0, 1)] + [0, 1, 2, 3, largest]
    squares = np.array(wanted, dtype=np.uint64).view(np.int64)
    found = isqrt(squares)
    assert found.tolist() == [math.isqrt(square) for square in wanted]
    size = root_of(Format(word, 8))
    assert np.abs(cordic_root(squares, *size) - found).max() == 1
    anywhere = rng.integers(0, min(largest, 1 << 62), 20_000)
    assert np.mean(cordic_root(anywhere, *size) == isqrt(anywhere)) > 0.98


def test_fewer_bits_are_several_units_off(squares: np.ndarray) -> None:
    assert np.abs(cordic_root(squares, 16, 16) - isqrt(squares)).max() > 4
    assert np.abs(cordic_root(squares, 18, 16) - isqrt(squares)).max() > 1


def test_more_bits_agree_more_often() -> None:
    random = np.random.default_rng(1).integers(0, LARGEST + 1, 50_000)
    exact = [np.mean(cordic_root(random, bits) == isqrt(random)) for bits in (20, 22, 24)]
    assert exact[0] < exact[1] < exact[2]
    assert exact[2] > 0.99


def test_shifts_repeat_so_that_vectoring_converges() -> None:
    assert shifts(16) == (1, 2, 3, 4, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 13, 14)
    # All remaining rotations together reach as far as any single one; without repetitions angles are left over.
    for number, converges in ((shifts(24), True), (tuple(range(1, 25)), False)):
        angles = np.arctanh(2.0 ** -np.array(number, dtype=float))
        reach = [angles[k + 1 :].sum() + angles[-1] + 2.0**-40 for k in range(len(angles) - 1)]
        assert bool(np.all(angles[:-1] <= reach)) == converges


def test_gain_of_all_iterations() -> None:
    # K of shifts 1, 2, 3, 4, 4, 5, .. is 0.8281593609602.
    assert inverse_gain(24, 30) / 2**24 == pytest.approx(1.0 / 0.8281593609602, abs=2.0**-24)
