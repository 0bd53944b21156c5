"""Edges of triangles against numpy, and forces added corner by corner, whatever corners they share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from rheotwin.particles.shear_volume.corners import CHUNK, EDGES, gather_triangles, scatter_triangles
from rheotwin.particles.shear_volume.simplices import FLAT, inverse_ratio, slope_of

NODES = 40


@njit
def _gathered(corners: Any, first: int, x: Any, edges: Any) -> None:
    gather_triangles(corners, first, x, edges)


@njit
def _scattered(corners: Any, first: int, pulls: Any, force: Any) -> None:
    scatter_triangles(corners, first, pulls, force)


def _triangles() -> tuple[Any, Any]:
    """Return corners of two chunks among few nodes, so that neighbours share them, and values (N, 3)."""
    generator = np.random.default_rng(11)
    corners = np.array([generator.choice(NODES, 3, replace=False) for _ in range(2 * CHUNK)], dtype=np.int32)
    return corners, generator.normal(size=(NODES, 3))


def test_edges_are_those_of_numpy() -> None:
    corners, x = _triangles()
    edges = np.empty((EDGES, CHUNK))
    _gathered(corners, CHUNK, x, edges)
    points = x[corners[CHUNK:], :2]
    assert np.array_equal(edges, (points[:, 1:] - points[:, :1]).transpose(1, 2, 0).reshape(EDGES, CHUNK))


def test_forces_are_added_at_every_corner() -> None:
    corners, force = _triangles()
    force[:, 2] = 7.0
    pulls = np.random.default_rng(2).normal(size=(EDGES, CHUNK))
    expected = force.copy()
    for triangle, pull in zip(corners[CHUNK:], pulls.T, strict=True):
        expected[triangle[1], :2] += pull[:2]
        expected[triangle[2], :2] += pull[2:]
        expected[triangle[0], :2] -= pull[:2] + pull[2:]
    _scattered(corners, CHUNK, pulls, force)
    assert np.array_equal(force, expected)


def test_the_slope_of_psi_needs_no_division() -> None:
    for ratio in (-3.0, -0.1, 0.0, 0.5 * FLAT, FLAT, 1.0, 4.0):
        psi, slope = inverse_ratio(ratio)
        assert abs(slope_of(ratio, psi) - slope) <= 1e-14 * abs(slope) / min(1.0, abs(slope) * FLAT**2)
