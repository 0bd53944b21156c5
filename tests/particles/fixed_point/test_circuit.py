"""Circuits 1 to 9 and the mass module word for word, readable and fast; the papers' experiments with them.

Spec fpga-fixed-point.md sections 4 and 6.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

from rheotwin.__main__ import main
from rheotwin.arrays import Array, Indices
from rheotwin.constraints.motion import pack_tables
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.vectors import load, slots, store
from rheotwin.particles.fixed_point.arithmetic import Q16, Format, isqrt, recip
from rheotwin.particles.fixed_point.body import CircuitBody, circuit_body, class_order, grid_edges, grid_points
from rheotwin.particles.fixed_point.circuit import OPERATORS, add_edge_forces, move_points, mpm, no_overflows, step, tem
from rheotwin.particles.fixed_point.experiments import OBJECT_STEPS, OBJECT_WIDTH, STEP, Object, pulled_object
from rheotwin.particles.fixed_point.kernels import FastCircuit, advance, runs_fast, scalar_table
from rheotwin.particles.fixed_point.model import SIGNALS, FloatBody, FloatParts, run_reference
from rheotwin.particles.fixed_point.parameters import (
    ChainLaw,
    CircuitConstants,
    EdgeLaw,
    Points,
    Units,
    circuit_constants,
)
from rheotwin.particles.fixed_point.partition import hazards
from rheotwin.particles.fixed_point.words import COUNT, reciprocal, root
from rheotwin.particles.steps import Held, Loads

SHAPE = (5, 4, 6)
_slot = slots(COUNT)
SECONDS = Units(time=1.0)

OBJECT = circuit_constants(EdgeLaw(250.0, 20.0, 100.0), 1.0, 0.01, SECONDS, h_const="printed")


REFERENCES = ["F1", "F2", "F3", "F4", "F6", "F7", "S1.points", "S4.band", "S4.cordic"]


def test_reference_numbers_hold(capsys: pytest.CaptureFixture[str]) -> None:
    """The printed vector, constants, pulled edge and object, cycles, memories and roots: `validation/references`."""
    assert main(["validate", "--select", ",".join(f"circuit.{name}" for name in REFERENCES), "--json", "--quiet"]) == 0
    found = json.loads(capsys.readouterr().out)["checks"]
    assert {check["status"] for check in found} == {"holds", "finding"} and len(found) == len(REFERENCES)


def test_mass_module_rounds_half_up_and_moves_with_the_old_velocity() -> None:
    x, v, total = np.array([100, -100, 0]), np.array([256, -256, 51]), np.array([5000, -5000, 50])
    moved = mpm(x, v, total, np.array([7, 7, 7]), np.array([7, 7, 7]), OBJECT)
    assert np.array_equal(moved.total, total)
    assert np.array_equal(moved.velocity, v + ((327 * total + 2**14) >> 15))
    assert np.array_equal(moved.position, x + ((327 * v + 2**14) >> 15))
    # 50 raw is inside the dead band, 51 is not.
    assert (moved.velocity[2], moved.position[2]) == (51, 1)


@pytest.mark.parametrize(
    ("operator", "changed"),
    [
        ("xr", {"x_j": [32767, 0, 0], "x_i": [-1, 0, 0]}),
        ("ld", {"x_j": [300, 300, 300], "v_j": [32767, 32767, 32767]}),
        ("lvd", {"lam": -32768}),
        ("f", {"x_j": [1000, 0, 0], "v_j": [30000, 0, 0]}),
        ("lambda", {"lam": 32767, "x_j": [1000, 0, 0], "v_j": [5000, 0, 0]}),
    ],
)
def test_overflows_of_edges_are_counted_by_operator(operator: str, changed: dict[str, list[int] | int]) -> None:
    words = {"x_i": [0, 0, 0], "v_i": [0, 0, 0], "x_j": [1000, 0, 0], "v_j": [0, 0, 0], "lam": 0}
    # Slow creep: lambda grows faster than it relaxes.
    slow = replace(OBJECT, A=replace(OBJECT.A, raw=-1)) if operator == "lambda" else OBJECT
    counters = no_overflows()
    tem(*(np.array((words | changed)[name]) for name in ("x_i", "v_i", "x_j", "v_j", "lam")), slow, counters)
    assert counters[OPERATORS.index(operator)] > 0
    quiet = no_overflows()
    tem(*(np.array(word) for word in words.values()), slow, quiet)
    assert not quiet.any()


@pytest.mark.parametrize(
    ("operator", "x", "v", "sums"), [("F_sum", 0, 0, 40000), ("x", 32767, 1000, 0), ("v", 0, 32767, 32767)]
)
def test_overflows_of_points_are_counted_by_operator(operator: str, x: int, v: int, sums: int) -> None:
    for scale in (1, 0):
        counters = no_overflows()
        mpm(*(np.array([scale * value]) for value in (x, v, 0, 0, sums)), OBJECT, counters)
        assert (counters[OPERATORS.index(operator)] > 0) == bool(scale)


def test_sums_that_leave_the_range_on_the_way_are_exact_and_saturation_is_an_option() -> None:
    zero, counters = np.zeros(1, dtype=np.int64), no_overflows()
    assert mpm(zero, zero, np.array([30000]), np.array([50000]), np.array([25000]), OBJECT, counters).total == 5000
    assert not counters.any()
    for kind, total in (("saturate", 32767), ("wrap", 40000 - 65536)):
        assert mpm(zero, zero, zero, zero, np.array([40000]), replace(OBJECT, overflow=kind)).total == total


def agree(one: CircuitBody, other: CircuitBody) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def rough() -> CircuitBody:
    """A box with noise in all its states."""
    rng, shape = np.random.default_rng(3), (4, 5, 3)
    points = grid_points(shape, 10.0)
    noise = {name: rng.normal(0.0, size, points.shape) for name, size in (("velocities", 3.0), ("forces", 20.0))}
    return circuit_body(points + rng.normal(0.0, 1.0, points.shape), *grid_edges(shape), units=SECONDS, **noise)


def test_order_of_edges_does_not_matter() -> None:
    body = rough()
    count = len(body.start)
    order = np.random.default_rng(0).permutation(count)
    own = circuit_constants(EdgeLaw(250.0, 20.0, np.linspace(60.0, 120.0, count)), 1.0, 0.01, SECONDS)
    mixed = body.copy()._replace(start=body.start[order], end=body.end[order], rest=body.rest[order])
    for _ in range(20):
        step(body, own)
        step(mixed, own.of_edges(order))
    assert np.array_equal(body.position, mixed.position) and np.array_equal(body.velocity, mixed.velocity)
    assert np.array_equal(body.lam[order], mixed.lam)
    assert np.abs(body.velocity).max() > 100


@pytest.mark.parametrize("groups", [2, 4])
def test_modules_that_share_the_edges_leave_the_same_words(groups: int) -> None:
    whole, parts = rough(), rough()
    module = np.random.default_rng(groups).integers(0, groups, len(whole.start))
    for _ in range(20):
        add_edge_forces(whole, OBJECT)
        for group in range(groups):
            add_edge_forces(parts, OBJECT, edges=module == group)
        assert agree(whole, parts)
        for body in (whole, parts):
            move_points(body, OBJECT)
    assert agree(whole, parts)


@pytest.mark.parametrize(
    ("shape", "count"),
    [((9, 9, 9), 3672), ((15, 15, 16), 19531), ((11, 11, 11), 6930), ((6, 5, 5), 661), ((3, 3, 3), 90)],
)
def test_grids_of_the_papers_have_no_hazards_and_raster_order_has(shape: tuple[int, int, int], count: int) -> None:
    start, end = grid_edges(shape)
    points, edges = grid_points(shape, 1.0, origin=(0.0, 0.0, 0.0)), np.stack([start, end], axis=1)
    assert len(start) == count
    assert np.array_equal(points @ [1, shape[0], shape[0] * shape[1]], np.arange(len(points)))
    diagonal = np.abs(points[end] - points[start]).sum(axis=1) == 2
    assert not (points[start][diagonal].sum(axis=1) % 2).any()
    assert np.array_equal(class_order(points, start, end), np.arange(count))
    mixed = np.random.default_rng(0).permutation(count)
    assert np.array_equal(mixed[class_order(points, start[mixed], end[mixed])], np.arange(count))
    assert hazards(edges, 3) == 0
    assert hazards(edges[np.argsort(start, kind="stable")], 1) > count // 4


def test_raster_order_of_nine_cubed_has_the_hazards_counted_in_the_specification() -> None:
    start, end = grid_edges((9, 9, 9))
    points = grid_points((9, 9, 9), 1.0, origin=(0.0, 0.0, 0.0))
    base = np.minimum(points[start], points[end]) @ [1, 9, 81]
    diagonal = np.abs(points[end] - points[start]).sum(axis=1) == 2
    # All axis edges point by point, then all squares: 2,040 edges start where the one before them does.
    raster = start[np.lexsort((base, diagonal))]
    assert np.count_nonzero(raster[1:] == raster[:-1]) == 2040


def test_edges_of_a_resting_body_do_nothing() -> None:
    case = pulled_object()
    body = case.body.copy()
    body.force[:] = 0
    step(body, case.constants)
    assert agree(body, case.body._replace(force=body.force))


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


def constants_of(edges: int, count: int, own: bool, **options: Any) -> CircuitConstants:
    spread, masses = np.linspace(0.4, 1.0, edges), np.linspace(1.0, 3.0, 3 * count).reshape(count, 3)
    masses[::5] = np.inf
    law = EdgeLaw(15.0 * spread, 2.0, 7.0 * spread) if own else EdgeLaw(15.0, 2.0, 7.0)
    return circuit_constants(law, masses if own else 1.5, 0.01, SECONDS, **options)


def chain_of(parts: int, edges: int, own: bool, **options: Any) -> CircuitConstants:
    """Constants of Voigt parts in a row, the last one a spring where there are three."""
    spread = np.linspace(0.4, 1.0, edges) if own else np.ones(edges)
    k, c = np.array([[3.0, 8.0, 5.0, 1.0], [2.0, 4.0, 9.0, 5.0]])[:, :parts, None] * spread
    c[-1] *= parts != 3
    return circuit_constants(ChainLaw(k, c), 1.5, 0.01, SECONDS, **options)


FORMS = [Format(), Format(16, 11), Format(12, 6), Format(9, 0)]
LONG_FORMS = [Format(16, 14), Format(17, 8), Format(24, 12), Format(31, 20), Format(32, 30)]
CIRCUITS: dict[str, Callable[[Format], dict[str, Any]]] = {
    "floor": lambda form: {},
    "cordic": lambda form: {"sqrt": "cordic"},
    "own points": lambda form: {"points": Points(form.word - 2, form.word + form.fraction, 3, -2, 1)},
}


def box(seed: int, own: bool = False, turned: bool = False, **options: Any) -> tuple[Array, CircuitBody, Any]:
    """Return points, a noisy body and constants of a box; `turned` edges go against the numbering, half of them."""
    points, (start, end) = grid_points(SHAPE, 1.0), grid_edges(SHAPE)
    if turned:
        against = np.random.default_rng(1).random(len(start)) < 0.5
        start, end = np.where(against, end, start), np.where(against, start, end)
    constants = constants_of(len(start), len(points), own, **options)
    return points, noisy(points, start, end, constants.form, seed), constants


def compare(body: CircuitBody, constants: CircuitConstants, steps: int, points: Array | None = None) -> Indices:
    """Step both forms, compare every word and counter, and return the counters."""
    found, counters, fast_counters = body.copy(), no_overflows(), no_overflows()
    for _ in range(steps):
        step(body, constants, counters)
    advance(found, constants, steps, fast_counters, points)
    assert agree(found, body)
    assert np.array_equal(counters, fast_counters)
    return counters


GRIDS = {"floor": FORMS + LONG_FORMS, "cordic": LONG_FORMS, "own points": FORMS[:1] + LONG_FORMS[1:]}
NONE, ALL = (False, False, False), (True, True, True)
TELLING: dict[tuple[str, Format], Any] = {
    ("floor", FORMS[0]): (NONE, ALL),
    ("floor", FORMS[1]): ((False, True, True), (True, False, False)),
    ("floor", LONG_FORMS[2]): ((False, True, False), (True, False, True)),
    ("floor", LONG_FORMS[3]): ((False, False, True), (True, True, False)),
    ("cordic", LONG_FORMS[3]): (NONE, ALL),
    ("own points", LONG_FORMS[2]): ((False, False, True), (True, True, False)),
}
"""What `make test` takes of the grid: structured or not, rounding or not, own constants or not."""


@pytest.mark.parametrize(
    ("circuit", "form", "structured", "rounding", "own"),
    [
        pytest.param(name, form, *how, marks=() if how in TELLING.get((name, form), ()) else pytest.mark.exhaustive)
        for name, forms in GRIDS.items()
        for form in forms
        for how in product((False, True), repeat=3)
    ],
)
def test_every_word_and_counter_agrees(circuit: str, form: Format, structured: bool, rounding: bool, own: bool) -> None:
    options = {"form": form, "tem_wmod": True, "tem_round": rounding, "euler_round": not rounding or own}
    options |= CIRCUITS[circuit](form)
    points, body, constants = box(form.word + 2 * rounding + own, own, **options)
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


@pytest.mark.parametrize("structured", [False, True])
@pytest.mark.parametrize(
    ("parts", "form", "circuit"),
    [
        (2, Format(), "floor"),
        (3, Format(24, 12), "own points"),
        *(
            pytest.param(parts, form, name, marks=pytest.mark.exhaustive)
            for parts in (2, 3, 4)
            for form in (Format(), Format(16, 11), Format(17, 8), Format(32, 16))
            for name in CIRCUITS
        ),
    ],
)
def test_every_word_of_chains_agrees(parts: int, form: Format, circuit: str, structured: bool) -> None:
    own = parts != 2
    points, (start, end) = grid_points(SHAPE, 1.0), grid_edges(SHAPE)
    options = {"form": form, "tem_wmod": True, "tem_round": own} | CIRCUITS[circuit](form)
    constants = chain_of(parts, len(start), own, **options)
    body = circuit_body(0.0 * points, start, end, units=SECONDS, lengths=0.5, parts=parts, form=form)
    drawn = noisy(points, start, end, form, seed=parts)
    body.position[:], body.velocity[:], body.force[:] = drawn.position, drawn.velocity, drawn.force
    body.lam[:] = np.random.default_rng(parts).permuted(np.tile(drawn.lam, (parts - 1, 1)), axis=1)
    counters = compare(body, constants, 5, points if structured else None)
    assert np.count_nonzero(counters) >= 6


def test_a_chain_of_a_voigt_part_and_a_dashpot_is_the_edge_of_the_papers_with_direct_forces() -> None:
    """Units of n = 2, k_2 = 0: K = -k1 B, C = -c1 B, and (2.9) is A lambda + B ld, all to a unit of the last place."""
    options: dict[str, Any] = {"form": Format(24, 12), "tem_wmod": True, "tem_round": True}
    k, c = np.array([[250.0], [0.0]]), np.array([[20.0], [100.0]])
    chain = circuit_constants(ChainLaw(k, c), 1.0, 0.01, SECONDS, **options)
    edge = circuit_constants(EdgeLaw(250.0, 20.0, 100.0), 1.0, 0.01, SECONDS, points=Points(12, 24), **options)
    x, v, lam = (
        np.array([[0, 0, 0], [40000, 9000, 0]]),
        np.array([[300, -900, 50], [2000, 700, -80]]),
        np.array([-3000]),
    )
    one, other = (tem(x[:1], v[:1], x[1:], v[1:], words, which) for words, which in ((lam[None], chain), (lam, edge)))
    assert np.abs(one.force - other.force).max() <= 2 and np.abs(one.forces - other.forces).max() <= 2
    assert np.abs(one.voigt_rate[0] - other.voigt_rate).max() <= 2
    assert np.abs(other.voigt_rate).max() > 500


@pytest.mark.parametrize("apart", [32767, 32768, -32768, -32769])
def test_the_first_word_out_of_range_is_noticed(apart: int) -> None:
    """One edge at rest whose ends are `apart`: nothing else could show that it wraps."""
    body = circuit_body(np.zeros((2, 3)), [0], [1], units=SECONDS)
    body.position[:, 0] = apart // 2 - apart, apart // 2
    assert body.position[1, 0] - body.position[0, 0] == apart
    assert compare(body, constants_of(1, 2, own=False), 1).sum() == (apart not in (32767, -32768))


def test_the_one_force_that_is_out_of_range() -> None:
    # f = -128 along e = -1 is the only product f e that overflows: A = -2, lambda = 64, C2 = 1.
    constants = circuit_constants(EdgeLaw(4.0, 1.0, 1.0), 1.0, 0.01, SECONDS)
    body = circuit_body([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]], [0], [1], units=SECONDS, voigt_lengths=65.0)
    out = tem(*(array[n] for n in (0, 1) for array in (body.position, body.velocity)), body.lam[0], constants)
    assert (out.direction[0], out.force, out.forces[0]) == (-256, -32768, -32768)
    # The start takes the opposite of -128, which is out of range too.
    counters = compare(body, constants, 1)
    assert {name: count for name, count in zip(OPERATORS, counters, strict=True) if count} == {"f": 1, "F_sum": 1}


@pytest.mark.parametrize(("points", "edges"), [(2, 1), (7, 15), (40, 16), (40, 17), (333, 1001)])
def test_any_mesh_and_any_number_of_edges(points: int, edges: int) -> None:
    rng = np.random.default_rng(5)
    start = rng.integers(0, points, edges)
    end = (start + rng.integers(1, points, edges)) % points
    body = circuit_body(rng.normal(0.0, 20.0, (points, 3)), start, end, units=SECONDS, lengths=10.0)
    compare(body, constants_of(edges, points, own=True, tem_wmod=True), 10, rng.normal(0.0, 1.0, (points, 3)))


def test_edges_against_the_numbering_keep_their_direction() -> None:
    points, body, constants = box(1, turned=True)
    assert FastCircuit(body, constants, points).lodging.structured
    compare(body, constants, 3, points)


def test_saturation_goes_through_the_readable_form() -> None:
    _, body, constants = box(2, tem_wmod=True, overflow="saturate")
    assert not runs_fast(constants)
    with pytest.raises(ValueError, match="sums that wrap"):
        FastCircuit(body, constants)
    compare(body, constants, 4)


def test_steps_in_parts_are_steps_at_once() -> None:
    points, body, constants = box(4)
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


@cache
def exact(parity: int = 0) -> list[Array]:
    """Positions of the object in double precision after every tenth of the run."""
    case = pulled_object(parity=parity)
    body, points, count = case.body, case.points, len(case.body.start)
    edges, nothing = np.stack([body.start, body.end], axis=1).astype(np.int64), np.zeros(0, dtype=np.int64)
    constants = (np.full(count, value) for value in (-250.0 / 120.0, 100.0 / 120.0, 100.0))
    held = Held(nothing, nothing, nothing, pack_tables([], 3))
    loads = Loads(nothing, np.zeros((0, 3)), nothing, pack_tables([], 1))
    parts = FloatParts(edges, *constants, np.ones_like(points), points, Q16.value(body.force), held, loads)
    state, found = FloatBody(points.copy(), np.zeros_like(points), np.zeros(count), np.zeros(len(SIGNALS))), []
    for tenth in range(10):
        run_reference(parts, state, tenth * OBJECT_STEPS // 10, OBJECT_STEPS // 10, STEP)
        found.append(state.position.copy())
    return found


def error(case: Object, exact: Array) -> float:
    """Mean distance from the positions in double precision in percent of the object's width."""
    return 100.0 * float(np.linalg.norm(Q16.value(case.body.position) - exact, axis=1).mean()) / OBJECT_WIDTH


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"parity": 1}, 4.23),
        ({"h_const": "eq218"}, 4.26),
        ({"h_const": "eq218", "parity": 1}, 4.20),
        ({"h_const": "eq218", "tem_wmod": True}, 4.32),
        ({"h_const": "eq218", "tem_wmod": True, "parity": 1}, 4.22),
        ({"h_const": "eq218", "tem_wmod": True, "tem_round": True}, 4.43),
        ({"h_const": "plain8"}, 15.6),
    ],
)
def test_other_readings_of_the_object(options: dict[str, Any], expected: float) -> None:
    case = pulled_object(**options)
    fast = FastCircuit(case.body, case.constants, case.points)
    fast.advance(OBJECT_STEPS)
    fast.store(case.body)
    # As many digits as the specification gives.
    tolerance = 0.051 if expected > 10.0 else 0.0051
    assert error(case, exact(options.get("parity", 0))[-1]) == pytest.approx(expected, abs=tolerance)
