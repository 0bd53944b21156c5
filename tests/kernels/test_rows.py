"""Orders of particles and edges."""

from __future__ import annotations

import numpy as np

from rheotwin.kernels.rows import APART, edge_order, inverse_order, particle_order
from rheotwin.meshing import tet_grid


def _edges() -> np.ndarray:
    line = np.linspace(0.0, 1.0, 9)
    facets = tet_grid(line, line, np.linspace(0.0, 1.0, 20)).edges.T.astype(np.int64)
    return np.random.default_rng(0).permutation(1620)[facets]


def test_particles_in_order_are_close_to_their_neighbours() -> None:
    edges = _edges()
    order = particle_order(edges, 1620)
    np.testing.assert_array_equal(np.sort(order), np.arange(1620))
    places = inverse_order(order)
    np.testing.assert_array_equal(order[places], np.arange(1620))
    reach = np.abs(np.diff(places[edges], axis=1)).max()
    # Two layers of 81 particles at most lie between neighbours along the short faces; unsorted it is the whole body.
    assert reach <= 3 * 81
    assert np.abs(np.diff(edges, axis=1)).max() > 1000


def test_particles_without_edges_keep_a_place() -> None:
    order = particle_order(np.array([[4, 1]]), 6)
    np.testing.assert_array_equal(np.sort(order), np.arange(6))


def test_edges_go_by_first_particle_in_turns() -> None:
    edges = np.sort(inverse_order(particle_order(_edges(), 1620))[_edges()], axis=1)
    order = edge_order(edges)
    np.testing.assert_array_equal(np.sort(order), np.arange(len(edges)))
    start = edges[order, 0]
    assert np.all(np.diff(start // APART) >= 0)
    repeated = np.mean(start[1:] == start[:-1])
    assert repeated < 0.2  # sorted by start alone five of six edges repeat it
    assert np.mean(np.diff(np.sort(start)) == 0) > 0.8
