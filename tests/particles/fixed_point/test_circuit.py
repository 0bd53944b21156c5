"""Circuits 1 to 9 and the mass module, word for word (spec fpga-fixed-point.md sections 4 and 6.1)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rheotwin.arrays import Indices
from rheotwin.particles.fixed_point.arithmetic import Q16
from rheotwin.particles.fixed_point.body import CircuitBody, circuit_body, class_order, grid_edges, grid_points
from rheotwin.particles.fixed_point.circuit import (
    OPERATORS,
    Tem,
    add_edge_forces,
    move_points,
    mpm,
    no_overflows,
    step,
    tem,
)
from rheotwin.particles.fixed_point.experiments import pulled_object
from rheotwin.particles.fixed_point.parameters import EdgeLaw, Units, circuit_constants
from rheotwin.particles.fixed_point.partition import hazards

SECONDS = Units(time=1.0)
VECTOR = circuit_constants(EdgeLaw(0.5, 0.5, 2.3), 1.0, 0.01, SECONDS)
OBJECT = circuit_constants(EdgeLaw(250.0, 20.0, 100.0), 1.0, 0.01, SECONDS, h_const="printed")


def published_vector(overflow_free: Indices | None = None) -> Tem:
    x_i, v_i, x_j, v_j = (Q16.raw(values) for values in ([1, 2, 3], [4, 5, 6], [6, 5, 4], [3, 2, 1]))
    return tem(x_i, v_i, x_j, v_j, Q16.raw(7.0) - 10, VECTOR, overflow_free)


def test_published_vector_and_every_intermediate() -> None:
    found = published_vector()
    assert (VECTOR.A.raw, VECTOR.B.raw, VECTOR.C2.raw) == (-46, 210, 588)
    assert found.xr.tolist() == [1280, 768, 256]
    assert found.vr.tolist() == [-256, -768, -1280]
    assert (found.square, found.length, found.inverse) == (2293760, 1514, 43)
    assert found.direction.tolist() == [215, 129, 43]
    assert (found.rate, found.voigt_rate, found.force) == (-817, -992, -402)
    assert found.forces.tolist() == [-338, -203, -68]
    assert found.lam == 1782 + ((655 * -992 + 2**15) >> 16)


def test_published_errors() -> None:
    k1, c1, c2, rest = 0.5, 0.5, 2.3, 10 / 256
    xr, vr = np.array([5.0, 3.0, 1.0]), np.array([-1.0, -3.0, -5.0])
    e = xr / np.linalg.norm(xr)
    voigt_rate = -k1 / (c1 + c2) * (7.0 - rest) + c2 / (c1 + c2) * (e @ vr)
    forces = c2 * (voigt_rate - e @ vr) * e
    found = published_vector()
    result = np.append(Q16.value(found.forces), Q16.value(found.voigt_rate))
    errors = 100.0 * np.abs((result - np.append(forces, voigt_rate)) / result)
    assert errors == pytest.approx([1.4276, 1.5247, 2.0075, 0.1578], abs=1e-4)


def test_mass_module_rounds_half_up_and_moves_with_the_old_velocity() -> None:
    x, v, total = np.array([100, -100, 0]), np.array([256, -256, 51]), np.array([5000, -5000, 50])
    moved = mpm(x, v, total, np.array([7, 7, 7]), np.array([7, 7, 7]), OBJECT)
    assert moved.total.tolist() == total.tolist()
    for lane in range(3):
        assert moved.velocity[lane] == v[lane] + ((327 * int(total[lane]) + 2**14) >> 15)
        assert moved.position[lane] == x[lane] + ((327 * int(v[lane]) + 2**14) >> 15)
    # 50 raw is inside the dead band, 51 is not.
    assert (moved.velocity[2], moved.position[2]) == (51, 1)


def test_dead_band_of_the_printed_step() -> None:
    speeds = np.arange(-60, 61)
    zero = np.zeros_like(speeds)
    moved = mpm(zero, speeds, zero, zero, zero, OBJECT)
    assert np.array_equal(moved.position == 0, np.abs(speeds) <= 50)


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
    ("operator", "x", "v", "sums"),
    [("F_sum", 0, 0, 40000), ("x", 32767, 1000, 0), ("v", 0, 32767, 32767)],
)
def test_overflows_of_points_are_counted_by_operator(operator: str, x: int, v: int, sums: int) -> None:
    for number, expected in ((0, True), (1, False)):
        counters = no_overflows()
        scale = 1 - number
        mpm(*(np.array([scale * value]) for value in (x, v, 0, 0, sums)), OBJECT, counters)
        assert (counters[OPERATORS.index(operator)] > 0) == expected


def test_sums_that_leave_the_range_on_the_way_are_exact() -> None:
    zero = np.zeros(1, dtype=np.int64)
    counters = no_overflows()
    moved = mpm(zero, zero, np.array([30000]), np.array([50000]), np.array([25000]), OBJECT, counters)
    assert moved.total == 5000
    assert not counters.any()


def test_saturation_is_an_option() -> None:
    zero = np.zeros(1, dtype=np.int64)
    held = replace(OBJECT, overflow="saturate")
    assert mpm(zero, zero, zero, zero, np.array([40000]), held).total == 32767
    assert mpm(zero, zero, zero, zero, np.array([40000]), OBJECT).total == 40000 - 65536


def agree(one: CircuitBody, other: CircuitBody) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.fixture
def rough() -> CircuitBody:
    """A box with noise in all its states."""
    rng, shape = np.random.default_rng(3), (4, 5, 3)
    points = grid_points(shape, 10.0)
    return circuit_body(
        points + rng.normal(0.0, 1.0, points.shape),
        *grid_edges(shape),
        units=SECONDS,
        velocities=rng.normal(0.0, 3.0, points.shape),
        forces=rng.normal(0.0, 20.0, points.shape),
    )


def test_order_of_edges_does_not_matter(rough: CircuitBody) -> None:
    count = len(rough.start)
    order = np.random.default_rng(0).permutation(count)
    own = circuit_constants(EdgeLaw(250.0, 20.0, np.linspace(60.0, 120.0, count)), 1.0, 0.01, SECONDS)
    mixed = rough.copy()._replace(start=rough.start[order], end=rough.end[order], rest=rough.rest[order])
    for _ in range(20):
        step(rough, own)
        step(mixed, own.of_edges(order))
    assert np.array_equal(rough.position, mixed.position) and np.array_equal(rough.velocity, mixed.velocity)
    assert np.array_equal(rough.lam[order], mixed.lam)
    assert np.abs(rough.velocity).max() > 100


@pytest.mark.parametrize("groups", [2, 4])
def test_modules_that_share_the_edges_leave_the_same_words(rough: CircuitBody, groups: int) -> None:
    whole, parts = rough.copy(), rough.copy()
    module = np.random.default_rng(groups).integers(0, groups, len(rough.start))
    for _ in range(20):
        add_edge_forces(whole, OBJECT)
        for group in range(groups):
            add_edge_forces(parts, OBJECT, edges=module == group)
        assert agree(whole, parts)
        move_points(whole, OBJECT)
        move_points(parts, OBJECT)
    assert agree(whole, parts)


@pytest.mark.parametrize(
    ("shape", "count"),
    [((9, 9, 9), 3672), ((15, 15, 16), 19531), ((11, 11, 11), 6930), ((6, 5, 5), 661), ((3, 3, 3), 90)],
)
def test_grids_of_the_papers(shape: tuple[int, int, int], count: int) -> None:
    start, end = grid_edges(shape)
    points = grid_points(shape, 1.0, origin=(0.0, 0.0, 0.0))
    assert len(start) == count
    assert np.array_equal(points @ [1, shape[0], shape[0] * shape[1]], np.arange(len(points)))
    diagonal = np.abs(points[end] - points[start]).sum(axis=1) == 2
    assert not (points[start][diagonal].sum(axis=1) % 2).any()
    assert np.array_equal(class_order(points, start, end), np.arange(count))
    mixed = np.random.default_rng(0).permutation(count)
    assert np.array_equal(mixed[class_order(points, start[mixed], end[mixed])], np.arange(count))


@pytest.mark.parametrize("shape", [(3, 3, 3), (4, 4, 4), (5, 5, 5), (9, 9, 9), (15, 15, 16)])
def test_class_order_has_no_hazards_and_raster_order_has(shape: tuple[int, int, int]) -> None:
    edges = np.stack(grid_edges(shape), axis=1)
    assert hazards(edges, 3) == 0
    raster = edges[np.argsort(edges[:, 0], kind="stable")]
    assert hazards(raster, 1) > len(raster) // 4


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
