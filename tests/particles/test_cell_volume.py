"""Signed volumes of simplices, their gradients, the stiffness of volume springs; motion of edges and cells."""

import numpy as np
import pytest

from rheotwin.particles.element_match import volume_gradient
from rheotwin.particles.forces.cells import cell_volumes, volume_matrix, volume_rates
from rheotwin.particles.virial import edge_motion

ROUNDING = 1e-14
"""A dozen roundings of numbers of order one."""


def corners(dimension: int, seed: int) -> np.ndarray:
    points = np.zeros((dimension + 1, 3))
    points[:, :dimension] = np.random.default_rng(seed).standard_normal((dimension + 1, dimension))
    return points


@pytest.mark.parametrize("dimension", [2, 3])
def test_volume_is_the_determinant_with_its_sign_and_gradient_its_slope(dimension: int) -> None:
    """V is at most linear in each coordinate, so a central difference of any step is exact but for rounding."""
    cell, signs = np.arange(dimension + 1)[None, :], set()
    swapped = cell[:, [1, 0, *range(2, dimension + 1)]].copy()
    for seed in range(6):
        x = corners(dimension, seed)
        expected = np.linalg.det((x[1:] - x[0])[:, :dimension]) / (2.0 if dimension == 2 else 6.0)
        volume, gradient = cell_volumes(x, cell)
        assert volume[0] == pytest.approx(expected, rel=1e-12, abs=1e-14)
        assert cell_volumes(x, swapped)[0][0] == pytest.approx(-expected, rel=1e-12, abs=1e-14)
        signs.add(np.sign(expected))
        for node, axis in np.ndindex(dimension + 1, dimension):
            up, down = x.copy(), x.copy()
            up[node, axis] += 0.5
            down[node, axis] -= 0.5
            slope = cell_volumes(up, cell)[0][0] - cell_volumes(down, cell)[0][0]
            assert gradient[0, node, axis] == pytest.approx(slope, abs=1e-12)
        if dimension == 3:
            np.testing.assert_allclose(volume_gradient(x), gradient[0], atol=1e-13)
        np.testing.assert_allclose(gradient.sum(axis=1), 0.0, atol=1e-14)
        np.testing.assert_allclose(np.cross(x, gradient[0]).sum(axis=0), 0.0, atol=1e-13)
    assert signs == {-1.0, 1.0}, "the seeds include inverted cells"


@pytest.mark.parametrize("dimension", [2, 3])
def test_the_hessian_at_rest_and_growth_by_the_trace(dimension: int) -> None:
    """Of W = 1/2 sum c (V - V0)^2, whose gradient sum c (V - V0) dV/dx is differenced."""
    x = np.zeros((5, 3))
    x[:, :dimension] = np.random.default_rng(3).standard_normal((5, dimension))
    cells = np.array([[0, 1, 2, 3], [1, 2, 3, 4]])[:, : dimension + 1]
    constants = np.array([2.0, 0.7])
    rest, _ = cell_volumes(x, cells)

    def slope(y: np.ndarray) -> np.ndarray:
        volumes, gradients = cell_volumes(y, cells)
        out = np.zeros_like(y)
        np.add.at(out, cells, (constants * (volumes - rest))[:, None, None] * gradients)
        return out[:, :dimension].ravel()

    step, count = 1e-6, 5 * dimension
    hessian = np.empty((count, count))
    for k in range(count):
        shift = np.zeros(x.shape)
        shift[k // dimension, k % dimension] = step
        hessian[:, k] = (slope(x + shift) - slope(x - shift)) / (2 * step)
    matrix = volume_matrix(x, cells, constants, dimension).toarray()
    np.testing.assert_allclose(matrix, hessian, atol=1e-8 * np.abs(hessian).max())
    x, cells = corners(dimension, 2), np.arange(dimension + 1)[None]
    gradient = np.array([[0.3, 1.0, 0.0], [-0.4, 0.2, 0.0], [0.0, 0.0, 0.7]])
    volumes, gradients = cell_volumes(x, cells)
    grown = volumes * np.trace(gradient[:dimension, :dimension])
    np.testing.assert_allclose(volume_rates(gradients, x @ gradient.T, cells), grown, rtol=1e-13)


def test_vectors_lengths_and_rates_are_those_of_the_ends() -> None:
    """A turning edge does not lengthen."""
    x, v = np.random.default_rng(1).standard_normal((2, 9, 3))
    edges = np.array([[0, 5], [8, 2], [3, 4]])
    vectors, lengths, rates = edge_motion(x, v, edges)
    apart = x[edges[:, 1]] - x[edges[:, 0]]
    np.testing.assert_array_equal(vectors, apart)
    np.testing.assert_allclose(lengths, np.linalg.norm(apart, axis=1), rtol=ROUNDING)
    expected = np.sum(apart * (v[edges[:, 1]] - v[edges[:, 0]]), axis=1) / lengths
    np.testing.assert_allclose(rates, expected, rtol=0.0, atol=ROUNDING * 10.0)
    np.testing.assert_allclose(edge_motion(x, np.cross([0.0, 0.0, 3.0], x), edges)[2], 0.0, atol=ROUNDING * 10.0)
