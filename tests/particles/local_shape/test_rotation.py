"""Rotations of elements against the polar factor, pass by pass, and what has none."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from rheotwin.particles.local_shape.rotation import best_turn, matrix_of, paper_turn, plane_turn, sym_atan_turn
from rheotwin.validation.checks.shape import angle_errors

Array = NDArray[np.float64]
IDENTITY = (1.0, 0.0, 0.0, 0.0)


def exact(a: Array, q: tuple[float, ...] = IDENTITY) -> Array:
    """Return the polar factor that the solver finds."""
    return np.reshape(matrix_of(best_turn(tuple(a.ravel()), q, np.zeros((8, 4)))), (3, 3))


def test_the_exact_turn_is_the_polar_factor_of_positive_determinant() -> None:
    generator = np.random.default_rng(1)
    for _ in range(200):
        a = generator.standard_normal((3, 3))
        u, _, vt = np.linalg.svd(a)
        expected = u @ np.diag([1.0, 1.0, np.sign(np.linalg.det(u @ vt))]) @ vt
        np.testing.assert_allclose(exact(a), expected, atol=1e-11)


@pytest.mark.parametrize("singular", [(1.0, 0.0, 0.0), (1.0, 1.0, -1.0), (0.0, 0.0, 0.0)])
def test_without_a_best_turn_the_last_one_stays(singular: tuple[float, float, float]) -> None:
    last = tuple(Rotation.from_rotvec([0.1, 0.2, 0.3]).as_quat(scalar_first=True))
    turned = Rotation.random(rng=2).as_matrix()
    a = turned @ np.diag(singular) @ turned.T
    np.testing.assert_allclose(exact(a, last), np.reshape(matrix_of(last), (3, 3)), atol=1e-14)


def test_a_plane_has_one_best_turn_and_a_mirrored_box_too() -> None:
    for singular in ((2.0, 1.0, 0.0), (3.0, 2.0, -1.0)):
        turned = Rotation.random(rng=3).as_matrix()
        np.testing.assert_allclose(exact(turned @ np.diag(singular)), turned, atol=1e-12)


def test_in_the_plane_the_turn_is_that_of_the_polar_factor() -> None:
    """atan2 agrees with the polar factor at any angle, a half turn and what lies beside it too."""
    generator = np.random.default_rng(4)
    angles = [*generator.uniform(-np.pi, np.pi, 200), np.pi, -np.pi, np.pi - 1e-9, 0.0, 0.5 * np.pi]
    for angle in angles:
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        stretch = np.eye(2) + 0.3 * (w := generator.uniform(-1.0, 1.0, (2, 2))) @ w.T
        a = np.zeros((3, 3))
        a[:2, :2] = turn @ stretch
        found = np.reshape(matrix_of(plane_turn(tuple(a.ravel()), IDENTITY, 1.0)), (3, 3))
        np.testing.assert_allclose(found[:2, :2], turn, atol=5e-15)
    kept = plane_turn((1.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0), (0.6, 0.0, 0.0, 0.8), 1.0)
    assert kept == (0.6, 0.0, 0.0, 0.8)  # a mirror image has no best turn


def test_passes_bring_the_turn_as_close_as_tabled() -> None:
    """Table 8c within a factor of three, at starts of 5, 30 and 60 degrees."""
    for start, paper, sym_atan in (
        (5.0, (3.8e-4, 5e-9), (1.4e-5,)),
        (30.0, (5.5e-2, 1e-4, 5e-10), (2.9e-3, 6e-10)),
        (60.0, (0.68, 0.13, 1e-3), (2.7e-2, 6e-7)),
    ):
        for name, expected in (("paper", paper), ("sym-atan", sym_atan)):
            found = angle_errors(name, start)[: len(expected)]
            ratio = np.array(found) / np.array(expected)
            assert np.all((ratio < 3.0) & (ratio > 1.0 / 3.0)), (start, name, found)
    assert angle_errors("sym-atan", 60.0)[2] < 1e-14


def test_a_rigid_turn_is_exact_in_one_pass_of_sym_atan() -> None:
    assert angle_errors("sym-atan", 60.0, strain=0.0)[0] < 1e-14
    assert angle_errors("paper", 60.0, strain=0.0)[0] > 0.1


@pytest.mark.parametrize("singular", [(1.0, 1.0, -1.0), (1.0, 0.0, 0.0)])
def test_passes_leave_mirrored_and_collinear_shapes_alone(singular: tuple[float, float, float]) -> None:
    """What rounding makes of a singular G would be a turn by any angle."""
    noise = 1e-13 * np.random.default_rng(6).standard_normal((3, 3))
    for turn in (sym_atan_turn, paper_turn):
        assert turn(tuple((np.diag(singular) + noise).ravel())) == pytest.approx(IDENTITY, abs=1e-11)
