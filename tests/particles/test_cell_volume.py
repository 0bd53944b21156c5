"""Signed volumes of simplices, their gradients and the stiffness of volume springs."""

from __future__ import annotations

import numpy as np
import pytest

from rheotwin.particles.cell_volume import cell_volumes, volume_matrix


def corners(dimension: int, seed: int) -> np.ndarray:
    points = np.zeros((dimension + 1, 3))
    points[:, :dimension] = np.random.default_rng(seed).standard_normal((dimension + 1, dimension))
    return points


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_volume_is_the_determinant_with_its_sign(dimension: int, seed: int) -> None:
    x = corners(dimension, seed)
    cell = np.arange(dimension + 1)[None, :]
    expected = np.linalg.det((x[1:] - x[0])[:, :dimension]) / (2.0 if dimension == 2 else 6.0)
    volume, _ = cell_volumes(x, cell)
    assert volume[0] == pytest.approx(expected, rel=1e-12, abs=1e-14)
    swapped = cell[:, [1, 0, *range(2, dimension + 1)]].copy()
    assert cell_volumes(x, swapped)[0][0] == pytest.approx(-expected, rel=1e-12, abs=1e-14)


def test_seeds_include_inverted_cells() -> None:
    for dimension in (2, 3):
        signs = {np.sign(cell_volumes(corners(dimension, s), np.arange(dimension + 1)[None])[0][0]) for s in range(6)}
        assert signs == {-1.0, 1.0}


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_gradient_against_differences(dimension: int, seed: int) -> None:
    """V is at most linear in each coordinate, so a central difference of any step is exact but for rounding."""
    x = corners(dimension, seed)
    cell = np.arange(dimension + 1)[None, :]
    _, gradient = cell_volumes(x, cell)
    for node in range(dimension + 1):
        for axis in range(dimension):
            up, down = x.copy(), x.copy()
            up[node, axis] += 0.5
            down[node, axis] -= 0.5
            slope = cell_volumes(up, cell)[0][0] - cell_volumes(down, cell)[0][0]
            assert gradient[0, node, axis] == pytest.approx(slope, abs=1e-12)
    np.testing.assert_allclose(gradient.sum(axis=1), 0.0, atol=1e-14)
    np.testing.assert_allclose(np.cross(x, gradient[0]).sum(axis=0), 0.0, atol=1e-13)


@pytest.mark.parametrize("dimension", [2, 3])
def test_volume_matrix_is_the_hessian_at_rest(dimension: int) -> None:
    """Of W = 1/2 sum c (V - V0)^2, whose gradient sum c (V - V0) dV/dx is differenced."""
    rng = np.random.default_rng(3)
    x = np.zeros((5, 3))
    x[:, :dimension] = rng.standard_normal((5, dimension))
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
