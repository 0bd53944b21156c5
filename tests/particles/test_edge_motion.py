"""Motion of edges and cells between steps: lengths, their rates, and rates of volumes."""

from __future__ import annotations

import numpy as np
import pytest

from rheotwin.particles.cell_volume import cell_volumes, volume_rates
from rheotwin.particles.virial import edge_motion

ROUNDING = 1e-14
"""A dozen roundings of numbers of order one."""


def test_vectors_lengths_and_rates_are_those_of_the_ends() -> None:
    random = np.random.default_rng(1)
    x, v = random.standard_normal((2, 9, 3))
    edges = np.array([[0, 5], [8, 2], [3, 4]])
    vectors, lengths, rates = edge_motion(x, v, edges)
    apart = x[edges[:, 1]] - x[edges[:, 0]]
    np.testing.assert_array_equal(vectors, apart)
    np.testing.assert_allclose(lengths, np.linalg.norm(apart, axis=1), rtol=ROUNDING)
    expected = np.sum(apart * (v[edges[:, 1]] - v[edges[:, 0]]), axis=1) / lengths
    np.testing.assert_allclose(rates, expected, rtol=0.0, atol=ROUNDING * 10.0)


def test_a_turning_edge_does_not_lengthen() -> None:
    x = np.array([[0.0, 0.0, 0.0], [2.0, 1.0, 0.0]])
    v = np.cross([0.0, 0.0, 3.0], x)
    assert edge_motion(x, v, np.array([[0, 1]]))[2] == pytest.approx(0.0, abs=ROUNDING)


@pytest.mark.parametrize("corners", [3, 4])
def test_volumes_grow_by_the_trace_of_the_velocity_gradient(corners: int) -> None:
    x = np.random.default_rng(2).standard_normal((corners, 3))
    if corners == 3:
        x[:, 2] = 0.0
    gradient = np.array([[0.3, 1.0, 0.0], [-0.4, 0.2, 0.0], [0.0, 0.0, 0.7]])
    cells = np.arange(corners)[None]
    volumes, gradients = cell_volumes(x, cells)
    grown = volumes * np.trace(gradient[: corners - 1, : corners - 1])
    np.testing.assert_allclose(volume_rates(gradients, x @ gradient.T, cells), grown, rtol=1e-13)
