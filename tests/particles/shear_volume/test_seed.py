"""The papers' shear elements: what is right about them and what is not (spec sections 3.2 and 3.4, A5, R16, E1-E6)."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from rheotwin.arrays import Array
from rheotwin.particles.network import Constants
from rheotwin.particles.shear_volume.elements import corner_rows
from rheotwin.particles.shear_volume.seed import Strains, shear_elements, shear_strains, tetrahedron_corners

RIGHT = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
EQUILATERAL = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, np.sqrt(0.75), 0.0]])
SQUARE = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
REGULAR = np.array([[1.0, 1.0, 1.0], [-1.0, 1.0, -1.0], [1.0, -1.0, -1.0], [-1.0, -1.0, 1.0]])
CORNER = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
KUHN = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 1.0, 1.0]])
PLANE = ((0, 0), (1, 1), (0, 1))
SPACE = ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1))
"""Components of a symmetric tensor."""


def in_plane(points: Array) -> Array:
    return np.array([1.0, 1.0, float(np.ptp(points[:, 2]) > 0.0)])


def corners_of(points: Array, cells: Any = None) -> Any:
    cells = np.arange(len(points))[None] if cells is None else np.asarray(cells, np.int64)
    return tetrahedron_corners(cells) if in_plane(points)[2] else corner_rows(cells)


def springs(
    points: Array, cells: Any = None, modulus: float = 1.0, viscosity: float = 0.0, tau: float = 0.0
) -> Strains:
    """Return elastic or Voigt elements of one modulus [Pa, Pa m], or Maxwell ones that relax in tau [s]."""
    corners = corners_of(points, cells)
    count, arms = len(shear_strains(points, corners)), int(tau > 0.0)
    spring, dashpot = np.full(count, 0.0 if arms else modulus), np.full(count, viscosity)
    arm, rates = np.full((arms, count), modulus), np.full((arms, count), 1.0 / tau if arms else 1.0)
    return shear_elements(corners, points, Constants(spring, dashpot, arm, rates), 0.25)


def forces(elements: Strains, x: Array, v: Array | None = None) -> Array:
    found = np.zeros_like(x)
    elements.add_forces(elements.nothing(), x, np.zeros_like(x) if v is None else v, found)
    return found


def strained(points: Array, gradient: Array) -> Array:
    moved = points.copy()
    moved[:, : len(gradient)] += points[:, : len(gradient)] @ gradient.T
    return moved


def tangent(points: Array, order: list[int] | None = None) -> Array:
    """Return stress per unit strain of one cell of unit modulus from its nodal forces, by differences."""
    points = points if order is None else points[order]
    elements, small, columns = springs(points), 1e-6, []
    pairs, dimension = (SPACE, 3) if in_plane(points)[2] else (PLANE, 2)
    x, y, _ = points.T
    area = 0.5 * np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y)
    size = np.linalg.det(points[1:] - points[0]) / 6.0 if dimension == 3 else area
    for a, b in pairs:
        strain = np.zeros((dimension, dimension))
        strain[a, b] += 0.5
        strain[b, a] += 0.5
        more, less = (forces(elements, strained(points, way * strain)) for way in (small, -small))
        stress = -((more - less).T @ points) / (2.0 * small * size)
        columns.append([stress[c] for c in pairs])
    return np.array(columns).T


def draws() -> Callable[..., Array]:
    generator = np.random.default_rng(3)
    return lambda *shape: generator.uniform(-1.0, 1.0, shape)


def test_matrices_of_triangles_tetrahedra_and_squares() -> None:
    """Two triangles on the other diagonal cancel what alternates; spec 3.2: 1.5 G, to differences over 1e-6."""
    isotropic = 1.5 * np.array([[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert tangent(RIGHT)[:2, 2] == pytest.approx([-2.0, -2.0], abs=1e-9)
    assert tangent(RIGHT * [-1.0, 1.0, 1.0], [0, 2, 1])[:2, 2] == pytest.approx([2.0, 2.0], abs=1e-9)
    assert tangent(EQUILATERAL) == pytest.approx(isotropic, abs=1e-9)
    # Spec 3.4: one modulus for normal strains, one for shear, nothing for a change of volume.
    found = tangent(REGULAR)
    normal, shear = found[0, 0] * (1.5 * np.eye(3) - 0.5), found[3, 3] * np.eye(3)
    assert found == pytest.approx(np.block([[normal, np.zeros((3, 3))], [np.zeros((3, 3)), shear]]), abs=1e-8)
    # Section 4.5.2 of the papers: quadrilaterals resist gamma_xy only, so their equilibrium is not unique.
    assert tangent(SQUARE) == pytest.approx(np.diag([0.0, 0.0, 1.0]), abs=1e-9)
    assert forces(springs(SQUARE), SQUARE * [2.0, 0.5, 1.0]) == pytest.approx(0.0, abs=1e-15)
    # E1: the sign that is not the printed one. A square sheared to the right pulls its top back.
    found = forces(springs(SQUARE, modulus=3.0), strained(SQUARE, 0.2 * np.array([[0.0, 1.0], [0.0, 0.0]])))
    assert found[2:, 0].sum() == pytest.approx(-3.0 * 0.2, rel=1e-12)


@pytest.mark.parametrize("points", [CORNER, KUHN])
def test_other_tetrahedra_are_not_symmetric_and_indefinite(points: Array) -> None:
    """Spec 3.4: a negative eigenvalue of the size of G."""
    found = tangent(points)
    assert np.linalg.norm(found - found.T) > 0.9 * np.linalg.norm(found)
    assert np.linalg.eigvalsh(0.5 * (found + found.T)).min() < -4.0


@pytest.mark.parametrize(
    ("points", "size", "share"),
    [(RIGHT, 0.3, 1e-14), (SQUARE, 0.3, 1e-14), (REGULAR, 0.15, 1e-12), (CORNER, 0.15, 1e-12), (KUHN, 0.15, 1e-12)],
)
def test_forces_and_moments_vanish_under_any_motion(points: Array, size: float, share: float) -> None:
    """E23: the halves are exact for every shape; E6: reactions are ill-conditioned where a force is along the face."""
    elements, free, random = springs(points, viscosity=0.7), in_plane(points), draws()
    for _ in range(20):
        x = points + size * random(*points.shape) * free
        found = forces(elements, x, random(*points.shape) * free)
        scale = np.abs(found).max()
        assert np.abs(found.sum(axis=0)).max() <= share * scale
        assert np.abs(np.cross(x, found).sum(axis=0)).max() <= share * scale


@pytest.mark.parametrize(("points", "way"), [(RIGHT, [0.0, 0.0, 2.0]), (KUHN, [0.3, -0.8, 2.0])])
def test_rotation_leaves_the_forces_to_the_body(points: Array, way: Any) -> None:
    """Forces of a strained, then turned and moved body are those of the strained one, turned."""
    elements, free, random = springs(points, viscosity=0.3), in_plane(points), draws()
    x, v, turn = points + 0.1 * random(*points.shape) * free, random(*points.shape) * free, Rotation.from_rotvec(way)
    spun = turn.apply(v + np.cross([1.0, -2.0, 5.0] * free if free[2] else [0.0, 0.0, 5.0], x))
    expected = turn.apply(forces(elements, x, v))
    assert forces(elements, turn.apply(x) + 3.0, spun) == pytest.approx(expected, rel=1e-10, abs=1e-10)


def test_small_strains_add_up_and_every_corner_counts_alike() -> None:
    """Term by term the answer is linear, which one reaction for all six rows is not."""
    elements, random = springs(CORNER), draws()
    one, other = 1e-7 * random(4, 3), 1e-7 * random(4, 3)
    both, *apart = (forces(elements, CORNER + way) for way in (one + other, one, other))
    assert both == pytest.approx(sum(apart), abs=1e-5 * np.abs(both).max())
    # A regular tetrahedron with its corners renamed (its orientation kept) has the same forces.
    points = strained(REGULAR, np.array([[0.1, 0.05, 0.0], [0.0, -0.02, 0.07], [0.03, 0.0, 0.04]]).T)
    expected = forces(springs(REGULAR), points)
    for order in ([1, 0, 3, 2], [2, 0, 1, 3], [0, 2, 3, 1]):
        assert forces(springs(REGULAR[order]), points[order]) == pytest.approx(expected[order], abs=1e-14)


@pytest.mark.parametrize(("points", "node", "strain", "still"), [(RIGHT, 2, 0, None), (CORNER, 3, 4, 5)])
def test_arms_follow_a_constant_rate_exactly(points: Array, node: int, strain: int, still: int | None) -> None:
    """An edge that slides along the first one at constant rate r: z = tau r (1 - exp(-t/tau)), whatever the step."""
    elements = springs(points, modulus=4.0, tau=0.7)
    memory, x, v = elements.nothing(), points.copy(), np.zeros_like(points)
    v[node, 0] = 0.3
    for _ in range(8):
        elements.add_forces(memory, x, v, np.zeros_like(x))
        x += 0.25 * v
    assert memory.arms[0, strain] == pytest.approx(0.7 * 0.3 * (1.0 - np.exp(-2.0 / 0.7)), rel=1e-13)
    assert still is None or memory.arms[0, still] == 0.0, "third edge along the second"


@pytest.mark.parametrize("points", [RIGHT, KUHN])
def test_dashpots_resist_the_rate_of_the_strain(points: Array) -> None:
    """eta gamma' is what a spring answers to the change of strain along the motion."""
    free, small, corners, random = in_plane(points), 1e-6, corners_of(points), draws()
    x, v = points + 0.1 * random(*points.shape) * free, random(*points.shape) * free
    before, now, after = (shear_strains(x + way * v, corners) for way in (-small, 0.0, small))
    like = replace(springs(points, modulus=2.0), numbers=(now - (after - before) / (2.0 * small))[None])
    assert forces(springs(points, modulus=0.0, viscosity=2.0), x, v) == pytest.approx(forces(like, x), rel=1e-7)
