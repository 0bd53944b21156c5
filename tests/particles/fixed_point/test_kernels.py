"""The fast circuit gives the words of the readable one, overflows included, and its roots are floors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.vectors import load, slots, store
from rheotwin.particles.fixed_point.arithmetic import Format, isqrt, recip
from rheotwin.particles.fixed_point.body import CircuitBody, circuit_body, grid_edges, grid_points
from rheotwin.particles.fixed_point.circuit import OPERATORS, no_overflows, step, tem
from rheotwin.particles.fixed_point.kernels import FastCircuit, advance, runs_fast, scalar_table
from rheotwin.particles.fixed_point.parameters import CircuitConstants, EdgeLaw, Points, Units, circuit_constants
from rheotwin.particles.fixed_point.words import COUNT, reciprocal, root

SECONDS = Units(time=1.0)
SHAPE = (5, 4, 6)
FORMS = [Format(), Format(16, 11), Format(12, 6), Format(9, 0)]
LONG_FORMS = [Format(16, 14), Format(17, 8), Format(24, 12), Format(31, 20), Format(32, 30)]
CIRCUITS: dict[str, Callable[[Format], dict[str, Any]]] = {
    "floor": lambda form: {},
    "cordic": lambda form: {"sqrt": "cordic"},
    "own points": lambda form: {"points": Points(form.word - 2, form.word + form.fraction, 3, -2, 1)},
}
_slot = slots(COUNT)


def noisy(points: np.ndarray, start: np.ndarray, end: np.ndarray, form: Format, seed: int) -> CircuitBody:
    """A body whose words are anything the format holds: differences and sums overflow everywhere."""
    rng, least, most = np.random.default_rng(seed), -form.highest - 1, form.highest
    body = circuit_body(np.zeros_like(points), start, end, units=SECONDS, form=form)
    for array in (body.lam, body.position, body.velocity, body.force):
        array[...] = rng.integers(least, most + 1, array.shape)
        array[rng.random(array.shape) < 0.1] = least
        array[rng.random(array.shape) < 0.1] = most
    # Some edges without length, some shorter than the reciprocal resolves.
    body.position[end[::7]] = body.position[start[::7]]
    body.position[end[::11]] = np.clip(
        body.position[start[::11]] + rng.integers(-1, 2, (len(end[::11]), 3)), least, most
    )
    return body


def agree(one: CircuitBody, other: CircuitBody) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def constants_of(edges: int, count: int, own: bool, **options: Any) -> CircuitConstants:
    spread, masses = np.linspace(0.4, 1.0, edges), np.linspace(1.0, 3.0, 3 * count).reshape(count, 3)
    masses[::5] = np.inf
    law = EdgeLaw(15.0 * spread, 2.0, 7.0 * spread) if own else EdgeLaw(15.0, 2.0, 7.0)
    return circuit_constants(law, masses if own else 1.5, 0.01, SECONDS, **options)


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("rounding", [False, True])
@pytest.mark.parametrize("structured", [False, True])
@pytest.mark.parametrize(
    ("circuit", "form"),
    [
        *(("floor", form) for form in FORMS + LONG_FORMS),
        *(("cordic", form) for form in (FORMS[2], *LONG_FORMS[1:])),
        *(("own points", form) for form in (FORMS[0], *LONG_FORMS[1:])),
    ],
)
def test_every_word_and_counter_agrees(circuit: str, form: Format, structured: bool, rounding: bool, own: bool) -> None:
    points, (start, end) = grid_points(SHAPE, 1.0), grid_edges(SHAPE)
    body = noisy(points, start, end, form, seed=form.word + 2 * rounding + own)
    options = {"tem_wmod": rounding, "euler_round": not rounding or own}
    options |= {"tem_wmod": True} | CIRCUITS[circuit](form)
    constants = constants_of(len(start), len(points), own, form=form, tem_round=rounding, **options)
    fast, counters = FastCircuit(body, constants, points if structured else None), no_overflows()
    assert fast.lodging.structured == structured
    found = body.copy()
    for _ in range(5):
        step(body, constants, counters)
        fast.advance(1)
        fast.store(found)
        assert agree(found, body)
        assert np.array_equal(fast.counters, counters)
    assert np.count_nonzero(counters) >= 6


@pytest.mark.parametrize("apart", [32767, 32768, -32768, -32769])
def test_the_first_word_out_of_range_is_noticed(apart: int) -> None:
    """One edge at rest whose ends are `apart`: nothing else could show that it wraps."""
    body = circuit_body(np.zeros((2, 3)), [0], [1], units=SECONDS)
    body.position[:, 0] = apart // 2 - apart, apart // 2
    assert body.position[1, 0] - body.position[0, 0] == apart
    constants, found = constants_of(1, 2, own=False), body.copy()
    counters, fast_counters = no_overflows(), no_overflows()
    step(body, constants, counters)
    advance(found, constants, 1, fast_counters)
    assert counters.sum() == (apart not in (32767, -32768))
    assert np.array_equal(counters, fast_counters)
    assert agree(found, body)


def test_the_one_force_that_is_out_of_range() -> None:
    # f = -128 along e = -1 is the only product f e that overflows: A = -2, lambda = 64, C2 = 1.
    constants = circuit_constants(EdgeLaw(4.0, 1.0, 1.0), 1.0, 0.01, SECONDS)
    body = circuit_body([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]], [0], [1], units=SECONDS, voigt_lengths=65.0)
    found, counters, fast_counters = body.copy(), no_overflows(), no_overflows()
    out = tem(*(array[n] for n in (0, 1) for array in (body.position, body.velocity)), body.lam[0], constants)
    assert (out.direction[0], out.force, out.forces[0]) == (-256, -32768, -32768)
    step(body, constants, counters)
    advance(found, constants, 1, fast_counters)
    # The start takes the opposite of -128, which is out of range too.
    assert {name: count for name, count in zip(OPERATORS, counters, strict=True) if count} == {"f": 1, "F_sum": 1}
    assert np.array_equal(counters, fast_counters)
    assert agree(found, body)


def test_any_mesh_and_any_number_of_edges() -> None:
    rng = np.random.default_rng(5)
    for points, edges in ((2, 1), (7, 15), (40, 16), (40, 17), (333, 1001)):
        start = rng.integers(0, points, edges)
        end = (start + rng.integers(1, points, edges)) % points
        body = circuit_body(rng.normal(0.0, 20.0, (points, 3)), start, end, units=SECONDS, lengths=10.0)
        constants = constants_of(edges, points, own=True, tem_wmod=True)
        found, counters, fast_counters = body.copy(), no_overflows(), no_overflows()
        for _ in range(10):
            step(body, constants, counters)
        advance(found, constants, 10, fast_counters, rng.normal(0.0, 1.0, (points, 3)))
        assert agree(found, body)
        assert np.array_equal(counters, fast_counters)


def test_edges_against_the_numbering_keep_their_direction() -> None:
    points, (start, end) = grid_points(SHAPE, 1.0), grid_edges(SHAPE)
    turned = np.random.default_rng(1).random(len(start)) < 0.5
    start, end = np.where(turned, end, start), np.where(turned, start, end)
    constants = constants_of(len(start), len(points), own=False)
    body = noisy(points, start, end, Format(), seed=1)
    fast, found = FastCircuit(body, constants, points), body.copy()
    fast.advance(3)
    fast.store(found)
    for _ in range(3):
        step(body, constants)
    assert agree(found, body)


def test_saturation_goes_through_the_readable_form() -> None:
    points, (start, end) = grid_points(SHAPE, 1.0), grid_edges(SHAPE)
    constants = constants_of(len(start), len(points), own=False, tem_wmod=True, overflow="saturate")
    body = noisy(points, start, end, constants.form, seed=2)
    assert not runs_fast(constants)
    with pytest.raises(ValueError, match="sums that wrap"):
        FastCircuit(body, constants)
    found, counters, other = body.copy(), no_overflows(), no_overflows()
    advance(found, constants, 4, counters)
    for _ in range(4):
        step(body, constants, other)
    assert agree(found, body)
    assert np.array_equal(counters, other)


def test_steps_in_parts_are_steps_at_once() -> None:
    points, (start, end) = grid_points(SHAPE, 1.0), grid_edges(SHAPE)
    constants = constants_of(len(start), len(points), own=False)
    body = noisy(points, start, end, Format(), seed=4)
    parts, counters, counted = body.copy(), no_overflows(), no_overflows()
    advance(body, constants, 12, counters, points)
    for count in (1, 4, 7):
        advance(parts, constants, count, counted, points)
    assert agree(parts, body)
    assert np.array_equal(counters, counted)


@compiled(vectors=True)
def _roots(squares: Any, lengths: Any, inverses: Any, table: Any) -> None:
    for k in range(0, squares.shape[1], COUNT):
        length = root(load(squares, 0, _slot(k)))
        store(lengths, 0, _slot(k), length)
        store(inverses, 0, _slot(k), reciprocal(table, length))


def roots_and_reciprocals(squares: np.ndarray, form: Format) -> tuple[np.ndarray, np.ndarray]:
    """What the vectors make of squares, each below 2^32."""
    padded = np.zeros((1, -(-len(squares) // COUNT) * COUNT), dtype=np.uint32)
    padded[0, : len(squares)] = squares
    length, inverse = np.zeros((2, *padded.shape), dtype=np.int32)
    constants = circuit_constants(EdgeLaw(1.0, 1.0, 1.0), 1.0, 0.5, SECONDS, form=form)
    _roots(padded.view(np.int32), length, inverse, scalar_table(constants))
    return length[0, : len(squares)], inverse[0, : len(squares)]


def test_root_is_the_floor_at_every_square_and_just_below() -> None:
    # The rounded root is monotone, so these decide all sums of three squares of 16 bits.
    n = np.arange(1, isqrt(3 * 2**30) + 2)
    squares = np.concatenate([[0], n * n - 1, n * n])
    length, _ = roots_and_reciprocals(squares, Format())
    assert np.array_equal(length, isqrt(squares))


@pytest.mark.parametrize("fraction", range(12))
def test_reciprocal_of_every_length(fraction: int) -> None:
    form, n = Format(16, fraction), np.arange(2**16)
    _, inverse = roots_and_reciprocals(n * n, form)
    assert np.array_equal(inverse, recip(n, form))
