"""Formulas of vectors give what they give for numbers, lane by lane, in either precision; layouts agree."""

import math
import operator
from typing import Any

import numpy as np
import pytest

from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.layouts import add, apart, exchange, in_batches, in_runs, one_by_one
from rheotwin.kernels.vectors import (
    add_rows,
    any_of,
    count_of,
    formula,
    inverse_cube_root,
    load,
    numbers_of,
    put_rows,
    select,
    single_of,
    slots,
    spread,
    store,
    words_of,
)
from rheotwin.particles.rows import batches_of

LANES, COUNT = 8, 32
_slot = slots(LANES)


@formula
def _folded(a: Any, b: Any, c: Any) -> Any:
    nearest = min(max(a, -0.5), b)
    chosen = select((a > b) & (c >= 0.0) | (a < -1.0), a, select(b >= 0.25, math.exp(b), 3.0 - b))
    return math.sqrt(abs(a * b + 2.0)) / (1.0 + abs(c)) - nearest + math.copysign(chosen, -c)


def _loop(width: int) -> Any:
    slot = slots(width)

    @compiled(vectors=True)
    def vectors(values: Any, shared: Any, found: Any) -> int:
        large = 0
        for k in range(0, values.shape[1], width):
            a, b = load(values, 0, slot(k)), load(values, 1, slot(k))
            if any_of(a > 2.0):
                large += 1
            store(found, 0, slot(k), _folded(a, b, load(shared, 0, slot(k))))
        return large

    return vectors


@compiled(vectors=True)
def _one_by_one(values: Any, shared: Any, found: Any) -> int:
    for k in range(values.shape[1]):
        store(found, 0, k, _folded(load(values, 0, k), load(values, 1, k), load(shared, 0, k)))
    return 0


@pytest.mark.parametrize(("dtype", "rounding"), [(np.float64, 4e-15), (np.float32, 2e-6)])
@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("width", [4, 8, 16])
def test_a_formula_of_vectors_is_that_of_numbers(width: int, own: bool, dtype: Any, rounding: float) -> None:
    values = np.random.default_rng(4).normal(size=(2, COUNT)).astype(dtype)
    shared = np.random.default_rng(5).normal(size=(1, COUNT) if own else 1).astype(dtype)
    ours, theirs = np.zeros((1, COUNT), dtype), np.zeros((1, COUNT), dtype)
    _loop(width)(values, shared, ours)
    _one_by_one(values, shared, theirs)
    plain = [
        _folded(a, b, c) for a, b, c in zip(*values.tolist(), (shared.ravel() * np.ones(COUNT)).tolist(), strict=True)
    ]
    np.testing.assert_allclose(ours, theirs, rtol=rounding, atol=rounding)
    np.testing.assert_allclose(theirs[0], plain, rtol=rounding, atol=rounding)


@compiled(vectors=True)
def _exponentials(x: Any, found: Any) -> None:
    for k in range(0, x.shape[1], LANES):
        store(found, 0, _slot(k), math.exp(load(x, 0, _slot(k))))


@pytest.mark.parametrize(("dtype", "rounding"), [(np.float64, 5e-15), (np.float32, 4e-7)])
def test_the_exponential_is_exact_to_rounding(dtype: Any, rounding: float) -> None:
    x = np.linspace(-80.0, 80.0, 8000, dtype=dtype)[None]
    found, exact = np.zeros_like(x), np.exp(x.astype(float))
    _exponentials(x, found)
    np.testing.assert_allclose(found, exact, rtol=rounding * 20.0)
    assert np.abs(found / exact - 1.0)[np.abs(x) < 1.0].max() < rounding


@compiled(vectors=True)
def _compared(x: Any, found: Any) -> None:
    a, b, one = load(x, 0, _slot(0)), load(x, 1, _slot(0)), load(x, 2, _slot(0))
    store(found, 0, _slot(0), select(a < b, one, 0.0))
    store(found, 1, _slot(0), select(a > b, one, 0.0))
    store(found, 2, _slot(0), select(a <= b, one, 0.0))
    store(found, 3, _slot(0), select(a >= b, one, 0.0))
    store(found, 4, _slot(0), select(a != b, one, 0.0))


def test_comparisons_of_what_is_no_number_and_conditions_in_any_lane() -> None:
    pairs = np.array([(a, b, 1.0) for a in (0.0, 1.0, np.nan, np.inf) for b in (0.0, 1.0)]).T.copy()
    found = np.zeros((5, 8))
    _compared(pairs, found)
    compare = (operator.lt, operator.gt, operator.le, operator.ge, operator.ne)
    np.testing.assert_array_equal(found, [how(pairs[0], pairs[1]) for how in compare])
    for lane in (None, 0, 7, 8, COUNT - 1):
        values = np.zeros((2, COUNT))
        values[0, lane] = 0.0 if lane is None else 3.0
        assert _loop(LANES)(values, np.ones(1), np.zeros((1, COUNT))) == (lane is not None)


@formula
def _pull(x: Any, v: Any, force: Any, ends: Any, at: Any, numbers: Any, constants: Any, states: Any, h: Any) -> None:
    d, u, k = apart(x, ends[0], ends[1]), apart(v, ends[0], ends[1]), load(numbers, 0, at)
    z = load(states, 0, at) + h * (u[0] + u[1] + u[2])
    store(states, 0, at, z)
    f = k * load(constants, 0, at) * d[0] + k * z, k * d[1], k * d[2]
    exchange(force, ends[0], ends[1], f)
    add(force, ends[0], (k, k, k))


@pytest.mark.parametrize(("dtype", "rounding"), [(np.float64, 1e-14), (np.float32, 1e-5)])
def test_an_element_gives_the_same_forces_in_every_layout(dtype: Any, rounding: float) -> None:
    """Edges (i, i + 5) of a row of particles: one by one, as one run, and in batches of another order."""
    random, nodes, count = np.random.default_rng(1), 45, 40
    x, v, start, numbers = (random.normal(size=size) for size in ((nodes, 3), (nodes, 3), (1, count), (1, count)))
    pairs, constants = np.stack([np.arange(count), np.arange(count) + 5], axis=1), np.array([0.7])
    wanted, states = np.zeros((nodes, 3)), start.copy()
    one_by_one(_pull, 2)(pairs, x, v, wanted, numbers, constants, states, 0.1)
    assert np.abs(states - start).max() > 0.01

    width = 64 // np.dtype(dtype).itemsize
    lanes = -(-count // width) * width
    motion, table = np.zeros((9, nodes + width), dtype), np.array([[0, 5, 0, lanes]])
    motion[:3, :nodes], motion[3:6, :nodes] = x.T, v.T
    filled = [spread(values, np.arange(count), lanes, dtype) for values in (numbers, start)]
    loop = in_runs(_pull, 2, width, 1)
    loop(table, motion[:3], motion[3:6], motion[6:], filled[0], constants.astype(dtype), filled[1], 0.1)
    np.testing.assert_allclose(motion[6:, :nodes].T, wanted, atol=rounding)
    np.testing.assert_allclose(filled[1][:, :count], states, atol=rounding)

    corners, lane = batches_of(pairs, nodes)
    rows, force = np.zeros((nodes + 2, 8), dtype), np.zeros((nodes + 2, 4), dtype)
    rows[:nodes, :3], rows[:nodes, 4:7] = x, v
    filled = [spread(values, lane, len(corners), dtype) for values in (numbers, start)]
    loop = in_batches(_pull, 2, 1)
    loop(corners, rows[:, :4], rows[:, 4:], force, filled[0], constants.astype(dtype), filled[1], 0.1)
    np.testing.assert_allclose(force[:nodes, :3], wanted, atol=rounding)
    np.testing.assert_allclose(filled[1][:, lane], states, atol=rounding)


_pair = numbers_of(2)


@compiled(vectors=True)
def _rows(values: Any, found: Any) -> float:
    total = 0.0
    for k in range(0, values.shape[1], LANES):
        a, b = _pair(values, _slot(k))
        put_rows(found, _slot(k), (b, 2.0))
        add_rows(found, _slot(k), (a, b))
    for k in range(values.shape[1]):
        a, b = _pair(values, k)
        total += a * b
    return total


def test_tuples_are_put_into_rows_and_added_to_them() -> None:
    values = np.random.default_rng(7).normal(size=(2, COUNT))
    found = np.zeros((2, COUNT))
    assert _rows(values, found) == pytest.approx(np.sum(values[0] * values[1]), rel=1e-13)
    assert np.array_equal(found, [values[1] + values[0], 2.0 + values[1]])


@compiled(vectors=True)
def _roots(values: Any, found: Any, one: Any) -> None:
    for k in range(0, values.shape[1], LANES):
        store(found, 0, _slot(k), inverse_cube_root(load(values, 0, _slot(k))))
    for k in range(values.shape[1]):
        store(one, 0, k, inverse_cube_root(load(values, 0, k)))


def test_inverse_cube_roots_are_those_of_numpy() -> None:
    values = np.geomspace(1e-300, 1e300, 64 * LANES)[None]
    found, one = np.zeros_like(values), np.zeros_like(values)
    _roots(values, found, one)
    np.testing.assert_allclose(found, 1.0 / np.cbrt(values), rtol=2e-15)
    assert np.array_equal(found, one)


@compiled(vectors=True)
def _words(a: Any, b: Any, found: Any) -> int:
    beyond = 0
    for k in range(0, a.shape[1], LANES):
        one, other = load(a, 0, _slot(k)), load(b, 0, _slot(k))
        beyond += count_of(one > other)
        store(found, 0, _slot(k), (one * other + 3 - one) | min(one, other))
        store(found, 1, _slot(k), select(one != other, (one << 7) >> 5, -other))
        store(found, 2, _slot(k), words_of(math.sqrt(single_of(one))))
    return beyond


def test_whole_numbers_wrap_in_their_lanes() -> None:
    """Products and shifts beyond 32 bits; single precision takes what is unsigned."""
    a, b = np.random.default_rng(8).integers(-(2**31), 2**31, (2, 1, COUNT)).astype(np.int32)
    b[0, ::4] = a[0, ::4]
    found = np.zeros((3, COUNT), np.int32)
    assert _words(a, b, found) == np.count_nonzero(a > b)
    with np.errstate(over="ignore"):
        assert np.array_equal(found[:1], (a * b + np.int32(3) - a) | np.minimum(a, b))
        assert np.array_equal(found[1:2], np.where(a != b, (a << np.int32(7)) >> np.int32(5), -b))
    assert np.array_equal(found[2:], np.sqrt(a.view(np.uint32).astype(np.float32)).astype(np.int32))
