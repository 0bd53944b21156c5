"""Edges and shapes of triangles against numpy, and forces added corner by corner, whatever corners they share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from rheotwin.particles.shear_volume.inversion import FLAT, inverse_ratio, slope_of
from rheotwin.particles.shear_volume.lanes import CHUNK
from rheotwin.particles.shear_volume.triangle_corners import (
    EDGES,
    SHAPE,
    gather_edges,
    gather_shapes,
    scatter_pulls,
)

NODES = 40


@njit
def _gathered(corners: Any, first: int, x: Any, edges: Any, shape: Any, constants: Any) -> None:
    gather_edges(corners, first, x, edges)
    gather_shapes(corners, first, x, shape, constants)


@njit
def _scattered(corners: Any, first: int, pulls: Any, force: Any) -> None:
    scatter_pulls(corners, first, pulls, force)


def _triangles() -> tuple[Any, Any]:
    """Return corners of two chunks among few nodes, so that neighbours share them, and values (N, 3)."""
    generator = np.random.default_rng(11)
    corners = np.array([generator.choice(NODES, 3, replace=False) for _ in range(2 * CHUNK)], dtype=np.int32)
    return corners, generator.normal(size=(NODES, 3))


def test_edges_and_shapes_are_those_of_numpy() -> None:
    corners, x = _triangles()
    edges, shape = np.empty(EDGES * CHUNK), np.empty(SHAPE * CHUNK)
    scale = np.linspace(0.5, 2.0, CHUNK)
    _gathered(corners, CHUNK, x, edges, shape, scale)
    points = x[corners[CHUNK:], :2]
    expected = (points[:, 1:] - points[:, :1]).transpose(1, 2, 0).reshape(EDGES, CHUNK)
    assert np.array_equal(edges.reshape(EDGES, CHUNK), expected)
    assert np.array_equal(shape.reshape(SHAPE, CHUNK)[:EDGES], expected)
    ratio = scale * (expected[0] * expected[3] - expected[1] * expected[2])
    psi = [inverse_ratio(value)[0] for value in ratio]
    np.testing.assert_allclose(shape.reshape(SHAPE, CHUNK)[EDGES:], [ratio, psi], rtol=1e-14, atol=1e-14)
    assert (ratio < FLAT).any() and (ratio > FLAT).any()


def test_forces_are_added_at_every_corner() -> None:
    corners, force = _triangles()
    force[:, 2] = 7.0
    pulls = np.random.default_rng(2).normal(size=(EDGES, CHUNK))
    expected = force.copy()
    for triangle, pull in zip(corners[CHUNK:], pulls.T, strict=True):
        expected[triangle[1], :2] += pull[:2]
        expected[triangle[2], :2] += pull[2:]
        expected[triangle[0], :2] -= pull[:2] + pull[2:]
    _scattered(corners, CHUNK, pulls.ravel(), force)
    assert np.array_equal(force, expected)


def test_the_slope_of_psi_needs_no_division() -> None:
    for ratio in (-3.0, -0.1, 0.0, 0.5 * FLAT, FLAT, 1.0, 4.0):
        psi, slope = inverse_ratio(ratio)
        assert abs(slope_of(ratio, psi) - slope) <= 1e-14 * abs(slope) / min(1.0, abs(slope) * FLAT**2)
