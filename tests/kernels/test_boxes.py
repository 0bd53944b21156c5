"""Boxes are found however they lie and are numbered, their edges lie in runs; other orders of particles and edges."""

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from rheotwin.meshing import hex_grid, tet_grid, triangle_grid
from rheotwin.particles.boxes import LANES, Runs, element_runs, find_layout
from rheotwin.particles.rows import APART, edge_order, inverse_order, particle_order

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Body = tuple[Array, Indices]


def edges_of(cells: Indices) -> Indices:
    pairs = np.concatenate([cells[list(pair)].T for pair in combinations(range(len(cells)), 2)])
    return np.unique(np.sort(pairs, axis=1), axis=0)


def truss(nx: int, ny: int, nz: int) -> Body:
    mesh = tet_grid(*(np.linspace(0.0, 0.1 * (n - 1), n) for n in (nx, ny, nz)))
    return np.ascontiguousarray(mesh.p.T), edges_of(mesh.t)


def lattice() -> Body:
    mesh = hex_grid(np.array([0.0, 1.0, 3.0, 4.0, 4.5, 7.0]), np.linspace(0.0, 1.0, 5), np.linspace(0.0, 1.0, 6))
    return mesh.p.T, edges_of(mesh.t)


def plane() -> Body:
    mesh = triangle_grid(np.linspace(0.0, 1.0, 30), np.linspace(0.0, 1.0, 20))
    return np.column_stack([mesh.p.T, np.zeros(600)]), edges_of(mesh.t)


def turned() -> Body:
    points, edges = truss(9, 7, 8)
    turn, _ = np.linalg.qr(np.random.default_rng(3).standard_normal((3, 3)))
    order = np.random.default_rng(4).permutation(len(points))
    return (points @ turn + np.array([5.0, -3.0, 11.0]))[order], np.argsort(order)[edges]


def apart() -> Body:
    (first, ours), (second, theirs) = truss(8, 6, 7), truss(5, 9, 6)
    return np.concatenate([first, second + 10.0]), np.concatenate([theirs + len(first), ours])


BODIES = {"reference": truss(15, 15, 16), "graded": lattice(), "plane": plane(), "turned": turned(), "two": apart()}


def check_runs(runs: Runs, corners: Indices, size: int) -> None:
    """Every element has a lane of its own in a run through its corners, and no lane leaves the arrays."""
    starts, lane, length = runs.table[:, :-2], runs.table[:, -2], runs.table[:, -1]
    assert len(np.unique(runs.of_element)) == len(corners)
    assert np.all(length % LANES == 0) and np.all(starts[:, 0] % LANES == 0)
    assert starts.min() >= 0 and (starts + length[:, None]).max() <= size
    assert lane[-1] + length[-1] == runs.lanes
    run = np.searchsorted(lane, runs.of_element, side="right") - 1
    np.testing.assert_array_equal(starts[run] + (runs.of_element - lane[run])[:, None], corners)


@pytest.mark.parametrize("name", BODIES)
def test_every_particle_of_a_box_has_a_place_and_every_edge_a_lane(name: str) -> None:
    points, edges = BODIES[name]
    layout = find_layout(points, edges)
    assert layout is not None and len(np.unique(layout.places)) == len(points)
    check_runs(layout.edges, np.sort(layout.places[edges], axis=1), layout.size)
    if name == "reference":
        assert len(edges) == 19531 > 0.9 * layout.edges.lanes and layout.size < 1.05 * len(points)


@pytest.mark.parametrize("missing", [0, 200])
def test_a_body_with_a_hole_is_no_box(missing: int) -> None:
    points, edges = truss(9, 7, 8)
    kept = np.delete(np.arange(len(points)), missing)
    number = np.full(len(points), -1)
    number[kept] = np.arange(len(kept))
    assert find_layout(points[kept], number[edges[(edges != missing).all(axis=1)]]) is None


def test_tetrahedra_lie_in_runs_but_a_few_particles_do_not() -> None:
    mesh = tet_grid(*(np.linspace(0.0, 1.0, n) for n in (9, 7, 8)))
    points, tets = mesh.p.T, mesh.t.T.astype(np.int64)
    layout = find_layout(points, edges_of(mesh.t))
    assert layout is not None
    runs = element_runs(layout, tets)
    run = np.searchsorted(runs.table[:, -2], runs.of_element, side="right") - 1
    corners = runs.table[run, :4] + (runs.of_element - runs.table[run, -2])[:, None]
    check_runs(runs, corners, layout.size)
    at = np.zeros((layout.size, 3))
    at[layout.places] = points
    np.testing.assert_array_equal(np.sort(corners, axis=1), np.sort(layout.places[tets], axis=1))
    found, expected = (np.linalg.det(x[:, 1:] - x[:, :1]) for x in (at[corners], points[tets]))
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert find_layout(*truss(2, 2, 2)) is None


def _renumbered() -> Indices:
    line = np.linspace(0.0, 1.0, 9)
    facets = tet_grid(line, line, np.linspace(0.0, 1.0, 20)).edges.T.astype(np.int64)
    return np.random.default_rng(0).permutation(1620)[facets]


def test_particles_and_edges_in_order_are_close_to_their_neighbours() -> None:
    edges = _renumbered()
    order = particle_order(edges, 1620)
    np.testing.assert_array_equal(np.sort(order), np.arange(1620))
    places = inverse_order(order)
    np.testing.assert_array_equal(order[places], np.arange(1620))
    # Two layers of 81 particles at most lie between neighbours along the short faces; unsorted it is the whole body.
    assert np.abs(np.diff(places[edges], axis=1)).max() <= 3 * 81
    assert np.abs(np.diff(edges, axis=1)).max() > 1000
    np.testing.assert_array_equal(np.sort(particle_order(np.array([[4, 1]]), 6)), np.arange(6))
    edges = np.sort(inverse_order(particle_order(_renumbered(), 1620))[_renumbered()], axis=1)
    order = edge_order(edges)
    np.testing.assert_array_equal(np.sort(order), np.arange(len(edges)))
    start = edges[order, 0]
    assert np.all(np.diff(start // APART) >= 0)
    assert np.mean(start[1:] == start[:-1]) < 0.2  # sorted by start alone five of six edges repeat it
    assert np.mean(np.diff(np.sort(start)) == 0) > 0.8
