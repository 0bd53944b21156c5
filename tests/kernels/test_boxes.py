"""Boxes are found however they lie and however their particles are numbered, and their edges lie in runs."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from rheotwin.kernels.boxes import LANES, Layout, Runs, element_runs, find_layout
from rheotwin.meshing import hex_grid, tet_grid, triangle_grid

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


def edges_of(cells: Indices) -> Indices:
    """All pairs of corners of cells (corners, nC)."""
    pairs = np.concatenate([cells[list(pair)].T for pair in combinations(range(len(cells)), 2)])
    return np.unique(np.sort(pairs, axis=1), axis=0)


def truss(nx: int, ny: int, nz: int) -> tuple[Array, Indices]:
    mesh = tet_grid(*(np.linspace(0.0, 0.1 * (n - 1), n) for n in (nx, ny, nz)))
    return np.ascontiguousarray(mesh.p.T), edges_of(mesh.t)


def check(layout: Layout | None, edges: Indices, count: int) -> None:
    """Every particle has a place, and every edge a lane of its own in a run that joins its ends."""
    assert layout is not None
    assert len(np.unique(layout.places)) == count
    check_runs(layout.edges, np.sort(layout.places[edges], axis=1), layout.size)


def check_runs(runs: Runs, corners: Indices, size: int) -> None:
    """Every element has a lane of its own in a run through its corners, and no lane leaves the arrays."""
    starts, lane, length = runs.table[:, :-2], runs.table[:, -2], runs.table[:, -1]
    assert len(np.unique(runs.of_element)) == len(corners)
    assert np.all(length % LANES == 0)
    assert np.all(starts[:, 0] % LANES == 0)
    assert starts.min() >= 0
    assert (starts + length[:, None]).max() <= size
    assert lane[-1] + length[-1] == runs.lanes
    run = np.searchsorted(lane, runs.of_element, side="right") - 1
    offset = runs.of_element - lane[run]
    np.testing.assert_array_equal(starts[run] + offset[:, None], corners)


def test_the_reference_body_fills_its_lanes() -> None:
    points, edges = truss(15, 15, 16)
    assert len(edges) == 19531
    layout = find_layout(points, edges)
    check(layout, edges, len(points))
    assert layout is not None
    assert len(edges) > 0.9 * layout.edges.lanes
    assert layout.size < 1.05 * len(points)


def test_lattices_and_graded_axes_are_boxes_too() -> None:
    mesh = hex_grid(np.array([0.0, 1.0, 3.0, 4.0, 4.5, 7.0]), np.linspace(0.0, 1.0, 5), np.linspace(0.0, 1.0, 6))
    points, edges = mesh.p.T, edges_of(mesh.t)
    check(find_layout(points, edges), edges, len(points))


def test_plane_boxes() -> None:
    mesh = triangle_grid(np.linspace(0.0, 1.0, 30), np.linspace(0.0, 1.0, 20))
    points, edges = np.column_stack([mesh.p.T, np.zeros(600)]), edges_of(mesh.t)
    check(find_layout(points, edges), edges, len(points))


def test_turned_shifted_and_renumbered() -> None:
    points, edges = truss(9, 7, 8)
    turn, _ = np.linalg.qr(np.random.default_rng(3).standard_normal((3, 3)))
    order = np.random.default_rng(4).permutation(len(points))
    moved = (points @ turn + np.array([5.0, -3.0, 11.0]))[order]
    renumbered = np.argsort(order)[edges]
    check(find_layout(moved, renumbered), renumbered, len(points))


def test_two_boxes_apart_from_each_other() -> None:
    (first, ours), (second, theirs) = truss(8, 6, 7), truss(5, 9, 6)
    points = np.concatenate([first, second + 10.0])
    edges = np.concatenate([theirs + len(first), ours])
    check(find_layout(points, edges), edges, len(points))


@pytest.mark.parametrize("missing", [0, 200])
def test_a_body_with_a_hole_is_no_box(missing: int) -> None:
    points, edges = truss(9, 7, 8)
    kept = np.delete(np.arange(len(points)), missing)
    number = np.full(len(points), -1)
    number[kept] = np.arange(len(kept))
    left = number[edges[(edges != missing).all(axis=1)]]
    assert find_layout(points[kept], left) is None


def test_a_few_particles_are_not_worth_runs() -> None:
    points, edges = truss(2, 2, 2)
    assert find_layout(points, edges) is None


def test_tetrahedra_lie_in_runs_and_keep_their_orientation() -> None:
    mesh = tet_grid(*(np.linspace(0.0, 1.0, n) for n in (9, 7, 8)))
    points, edges = mesh.p.T, edges_of(mesh.t)
    layout = find_layout(points, edges)
    assert layout is not None
    tets = mesh.t.T.astype(np.int64)
    runs = element_runs(layout, tets)
    run = np.searchsorted(runs.table[:, -2], runs.of_element, side="right") - 1
    corners = runs.table[run, :4] + (runs.of_element - runs.table[run, -2])[:, None]
    check_runs(runs, corners, layout.size)
    at = np.zeros((layout.size, 3))
    at[layout.places] = points

    def volumes(found: Array) -> Array:
        return np.linalg.det(found[:, 1:] - found[:, :1])

    np.testing.assert_array_equal(np.sort(corners, axis=1), np.sort(layout.places[tets], axis=1))
    np.testing.assert_allclose(volumes(at[corners]), volumes(points[tets]), rtol=1e-12)
