"""The papers' plane shear element: what is right about it and what is not (spec section 3.2, A5, R16, E1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from rheotwin.particles.forces.elements import Elements
from rheotwin.particles.network import Constants
from rheotwin.particles.packing import kernel_elements
from rheotwin.particles.shear_volume.seed_corners import (
    add_corner_forces,
    corner_cotangents,
    quadrilateral_corners,
    triangle_corners,
)

Array = NDArray[np.float64]

RIGHT = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
EQUILATERAL = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, np.sqrt(0.75), 0.0]])
SQUARE = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
STRAINS = np.array([[[1.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]], [[0.0, 0.5], [0.5, 0.0]]])
"""e_xx, e_yy, gamma_xy = 1."""


def springs(points: Array, cells: Any, modulus: float = 1.0, viscosity: float = 0.0) -> Elements:
    """Return elastic or Voigt elements of one modulus [Pa m] on triangles or quadrilaterals."""
    cells = np.asarray(cells, np.int64)
    corners = triangle_corners(cells) if cells.shape[1] == 3 else quadrilateral_corners(cells)
    count = len(corners)
    constants = Constants(np.full(count, modulus), np.full(count, viscosity), np.zeros((0, count)), np.ones((0, count)))
    return kernel_elements(corners, corner_cotangents(points, corners), constants, 0.1)


def forces(elements: Elements, x: Array, v: Array | None = None) -> Array:
    """Return the forces on the nodes."""
    found = np.zeros_like(x)
    add_corner_forces(elements, np.zeros_like(elements.arm_stiffness), x, np.zeros_like(x) if v is None else v, found)
    return found


def strained(points: Array, gradient: Array) -> Array:
    """Return points moved by a displacement gradient."""
    moved = points.copy()
    moved[:, :2] += points[:, :2] @ gradient.T
    return moved


def tangent(points: Array, cell: list[int]) -> Array:
    """Return stress (xx, yy, xy) per unit strain of one cell of unit modulus from its nodal forces, by differences."""
    elements, small = springs(points, [cell]), 1e-6
    x, y = points[cell, 0], points[cell, 1]
    area = 0.5 * np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y)
    columns = []
    for strain in STRAINS:
        more, less = (forces(elements, strained(points, way * strain)) for way in (small, -small))
        stress = -((more - less).T @ points) / (2.0 * small * area)
        columns.append([stress[0, 0], stress[1, 1], stress[0, 1]])
    return np.array(columns).T


@pytest.fixture
def random() -> Callable[..., Array]:
    generator = np.random.default_rng(3)
    return lambda *shape: generator.uniform(-1.0, 1.0, shape)


def test_right_isosceles_triangle_has_the_known_matrix() -> None:
    """A5; differences of cotangents over 1e-6 carry 1e-10."""
    found = tangent(RIGHT, [0, 1, 2])
    turned = np.array([[1.5, -1.5, -2.0], [-1.5, 1.5, -2.0], [0.0, 0.0, 2.5]])
    assert found == pytest.approx(turned, abs=1e-9)


def test_its_stiffness_is_neither_symmetric_nor_definite() -> None:
    """A5: of the 6 x 6 stiffness of the right isosceles triangle, |K - K'|/|K| and the least eigenvalue over G."""
    elements, small, columns = springs(RIGHT, [[0, 1, 2]]), 1e-6, []
    for node, axis in np.ndindex(3, 2):
        step = np.zeros((3, 3))
        step[node, axis] = small
        columns.append((forces(elements, RIGHT - step) - forces(elements, RIGHT + step))[:, :2].ravel() / (2.0 * small))
    stiffness = np.array(columns).T
    assert np.linalg.norm(stiffness - stiffness.T) / np.linalg.norm(stiffness) == pytest.approx(0.894, abs=5e-4)
    assert np.linalg.eigvalsh(0.5 * (stiffness + stiffness.T)).min() == pytest.approx(-0.791, abs=5e-4)


def test_the_coupling_flips_with_the_diagonal() -> None:
    """Two triangles on the other diagonal cancel what alternates."""
    other = tangent(RIGHT * [-1.0, 1.0, 1.0], [0, 2, 1])
    assert other[:2, 2] == pytest.approx([2.0, 2.0], abs=1e-9)


def test_equilateral_triangle_is_isotropic_with_one_and_a_half_times_the_modulus() -> None:
    """Spec 3.2."""
    assert tangent(EQUILATERAL, [0, 1, 2]) == pytest.approx(
        1.5 * np.array([[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), abs=1e-9
    )


@pytest.mark.parametrize(("points", "work"), [(RIGHT, 8.0 * np.pi), (EQUILATERAL, 0.0)])
def test_a_cycle_of_strain_yields_work(points: Array, work: float) -> None:
    """R16: over G S a^2, for tr(eps) = 2 a cos, gamma_xy = 2 a sin; its error is of order a^2."""
    elements, a, turn = springs(points, [[0, 1, 2]]), 1e-4, 2.0 * np.pi * np.arange(64) / 64
    area, found = 0.5 * np.linalg.det(points[1:, :2] - points[0, :2]), 0.0
    for angle in turn:
        x = strained(points, a * np.array([[np.cos(angle), np.sin(angle)], [np.sin(angle), np.cos(angle)]]))
        velocity = strained(points, a * np.array([[-np.sin(angle), np.cos(angle)], [np.cos(angle), -np.sin(angle)]]))
        found -= np.sum(forces(elements, x) * (velocity - points)) * turn[1]
    assert found / (area * a**2) == pytest.approx(work, abs=1e-6)


def test_a_sheared_corner_is_pushed_back() -> None:
    """E1: the sign that is not the printed one. A square sheared to the right pulls its top back."""
    found = forces(springs(SQUARE, [[0, 1, 2, 3]], modulus=3.0), strained(SQUARE, 0.2 * np.array([[0.0, 1.0], [0, 0]])))
    assert found[2:, 0].sum() == pytest.approx(-3.0 * 0.2, rel=1e-12)


@pytest.mark.parametrize(("rest", "cells"), [(RIGHT, [[0, 1, 2]]), (SQUARE, [[0, 1, 2, 3]])])
def test_forces_and_moments_vanish_under_any_motion(rest: Array, cells: Any, random: Callable[..., Array]) -> None:
    """E23: the halves are exact for every shape."""
    elements = springs(rest, cells, viscosity=0.7)
    for _ in range(20):
        x, v = rest + 0.3 * random(*rest.shape) * [1, 1, 0], random(*rest.shape) * [1, 1, 0]
        found = forces(elements, x, v)
        scale = np.abs(found).max()
        assert np.abs(found.sum(axis=0)).max() <= 1e-14 * scale
        assert np.abs(np.cross(x, found).sum(axis=0)).max() <= 1e-14 * scale


def test_rotation_leaves_the_forces_to_the_body(random: Callable[..., Array]) -> None:
    """Forces of a strained, then turned and moved body are those of the strained one, turned."""
    elements, x = springs(RIGHT, [[0, 1, 2]], viscosity=0.3), RIGHT + 0.2 * random(3, 3) * [1, 1, 0]
    v, turn = random(3, 3) * [1, 1, 0], Rotation.from_rotvec([0.0, 0.0, 2.0])
    spun = turn.apply(v + np.cross([0.0, 0.0, 5.0], x))
    expected = turn.apply(forces(elements, x, v))
    assert forces(elements, turn.apply(x) + 3.0, spun) == pytest.approx(expected, abs=1e-13)


def test_a_square_made_a_rectangle_of_its_area_has_no_force() -> None:
    """Section 4.5.2 of the papers: quadrilaterals resist gamma_xy only, so their equilibrium is not unique."""
    assert tangent(SQUARE, [0, 1, 2, 3]) == pytest.approx(np.diag([0.0, 0.0, 1.0]), abs=1e-9)
    assert forces(springs(SQUARE, [[0, 1, 2, 3]]), SQUARE * [2.0, 0.5, 1.0]) == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize(("shaken", "least", "most"), [(0.0, 0.0, 1e-11), (0.2, 0.3, 1.0)])
def test_patch_fails_on_a_shaken_mesh(shaken: float, least: float, most: float) -> None:
    """T3: a uniform strain leaves forces inside, as large as outside (the 61 % known lie in the range of meshes)."""
    across, up = 16, 6
    points = np.stack([*np.meshgrid(np.arange(across + 1.0), np.arange(up + 1.0)), np.zeros((up + 1, across + 1))], -1)
    inner = np.zeros((up + 1, across + 1), bool)
    inner[1:-1, 1:-1] = True
    points[inner, :2] += shaken * np.random.default_rng(1).uniform(-1.0, 1.0, (inner.sum(), 2))
    number = np.arange(points[..., 0].size).reshape(inner.shape)
    sw, se, nw, ne = number[:-1, :-1], number[:-1, 1:], number[1:, :-1], number[1:, 1:]
    cells = np.concatenate([np.stack(t, -1).reshape(-1, 3) for t in ((sw, se, nw), (se, ne, nw))])
    x = points.reshape(-1, 3)
    elements = springs(x, cells)
    found = np.linalg.norm(forces(elements, strained(x, 1e-3 * np.array([[1.0, 0.5], [0.3, -0.4]]))), axis=1)
    assert least <= found[inner.ravel()].max() / found.max() <= most


def test_arms_follow_a_constant_rate_exactly() -> None:
    """A Maxwell arm on a corner sheared at constant rate r: z = tau r (1 - exp(-t/tau)), whatever the step."""
    corners = triangle_corners(np.array([[0, 1, 2]]))
    constants = Constants(np.zeros(3), np.zeros(3), np.full((1, 3), 4.0), np.full((1, 3), 1.0 / 0.7))
    elements, arms = kernel_elements(corners, corner_cotangents(RIGHT, corners), constants, 0.25), np.zeros((1, 3))
    x, v = RIGHT.copy(), np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.3, 0.0, 0.0]])
    for _ in range(8):
        add_corner_forces(elements, arms, x, v, np.zeros_like(x))
        x += 0.25 * v
    assert arms[0, 0] == pytest.approx(0.7 * 0.3 * (1.0 - np.exp(-2.0 / 0.7)), rel=1e-13)


def test_dashpots_resist_the_rate_of_the_strain(random: Callable[..., Array]) -> None:
    """eta gamma' is what a spring answers to the change of strain along the motion."""
    x, v, small = RIGHT + 0.2 * random(3, 3) * [1, 1, 0], random(3, 3) * [1, 1, 0], 1e-6
    corners = triangle_corners(np.array([[0, 1, 2]]))
    before, after = (corner_cotangents(x + way * v, corners) for way in (-small, small))
    elements = springs(x, [[0, 1, 2]], modulus=0.0, viscosity=2.0)
    like_springs = springs(x, [[0, 1, 2]], modulus=2.0)._replace(
        rest=corner_cotangents(x, corners) - (after - before) / (2.0 * small)
    )
    assert forces(elements, x, v) == pytest.approx(forces(like_springs, x), rel=1e-8)
