"""The papers' shear of a tetrahedron with reactions: linear, keeps both momenta, no continuum (spec section 3.4)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from rheotwin.particles.forces.elements import Elements
from rheotwin.particles.network import Constants
from rheotwin.particles.packing import kernel_elements
from rheotwin.particles.shear_volume.seed_tetrahedron import (
    add_tetrahedron_shear_forces,
    shear_strains,
    tetrahedron_corners,
)

Array = NDArray[np.float64]

REGULAR = np.array([[1.0, 1.0, 1.0], [-1.0, 1.0, -1.0], [1.0, -1.0, -1.0], [-1.0, -1.0, 1.0]])
CORNER = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
KUHN = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 1.0, 1.0]])
CELL = np.array([[0, 1, 2, 3]])
COMPONENTS = ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1))


def springs(points: Array, modulus: float = 1.0, viscosity: float = 0.0) -> Elements:
    """Return one tetrahedron of one modulus [Pa]."""
    corners = tetrahedron_corners(CELL)
    rest = shear_strains(points, corners)
    none = np.zeros((0, len(rest)))
    constants = Constants(np.full(len(rest), modulus), np.full(len(rest), viscosity), none, none)
    return kernel_elements(corners, rest, constants, 0.1)


def forces(elements: Elements, x: Array, v: Array | None = None) -> Array:
    """Return the forces on the nodes."""
    found = np.zeros_like(x)
    add_tetrahedron_shear_forces(
        elements, np.zeros_like(elements.arm_stiffness), x, np.zeros_like(x) if v is None else v, found
    )
    return found


def tangent(points: Array) -> Array:
    """Return stress per unit strain (xx, yy, zz, yz, xz, xy) of unit modulus, by differences."""
    elements, small, columns = springs(points), 1e-6, []
    volume = np.linalg.det(points[1:] - points[0]) / 6.0
    for a, b in COMPONENTS:
        strain = np.zeros((3, 3))
        strain[a, b] += 0.5
        strain[b, a] += 0.5
        move = small * points @ strain
        stress = -((forces(elements, points + move) - forces(elements, points - move)).T @ points)
        columns.append([stress[c] / (2.0 * small * volume) for c in COMPONENTS])
    return np.array(columns).T


@pytest.fixture
def random() -> Callable[..., Array]:
    generator = np.random.default_rng(4)
    return lambda *shape: generator.uniform(-1.0, 1.0, shape)


def test_regular_tetrahedron_is_cubic_with_the_known_moduli() -> None:
    """Spec 3.4: 4.31 G for normal strains, 2.34 G for shear, nothing for a change of volume."""
    found = tangent(REGULAR)
    assert 0.5 * (found[0, 0] - found[0, 1]) == pytest.approx(4.31, abs=5e-3)
    assert found[3, 3] == pytest.approx(2.34, abs=5e-3)
    cubic = np.kron(np.diag([1.0, 0.0]), found[0, 0] * (1.5 * np.eye(3) - 0.5)) + np.kron(
        np.diag([0.0, 1.0]), found[3, 3] * np.eye(3)
    )
    assert found == pytest.approx(cubic, abs=1e-8)


@pytest.mark.parametrize("points", [CORNER, KUHN])
def test_other_tetrahedra_are_not_symmetric_and_indefinite(points: Array) -> None:
    """Spec 3.4: a negative eigenvalue of the size of G."""
    found = tangent(points)
    assert np.linalg.norm(found - found.T) > 0.9 * np.linalg.norm(found)
    assert np.linalg.eigvalsh(0.5 * (found + found.T)).min() < -4.0


@pytest.mark.parametrize("points", [REGULAR, CORNER, KUHN])
def test_forces_and_moments_vanish_under_large_motion(points: Array, random: Callable[..., Array]) -> None:
    """The reactions that E6 misses; shares are ill-conditioned where a force is along the face, hence the tolerance."""
    elements = springs(points, viscosity=0.4)
    for _ in range(20):
        x, v = points + 0.15 * random(4, 3), random(4, 3)
        found = forces(elements, x, v)
        assert np.abs(found.sum(axis=0)).max() <= 1e-12 * np.abs(found).max()
        assert np.abs(np.cross(x, found).sum(axis=0)).max() <= 1e-12 * np.abs(found).max()


def test_small_strains_add_up(random: Callable[..., Array]) -> None:
    """Term by term the answer is linear, which one reaction for all six rows is not."""
    elements, small = springs(CORNER), 1e-7
    one, other = small * random(4, 3), small * random(4, 3)
    both = forces(elements, CORNER + one + other)
    apart = forces(elements, CORNER + one) + forces(elements, CORNER + other)
    assert both == pytest.approx(apart, abs=1e-5 * np.abs(both).max())


def test_every_corner_counts_alike() -> None:
    """A regular tetrahedron with its corners renamed (its orientation kept) has the same forces."""
    strain = np.array([[0.1, 0.05, 0.0], [0.0, -0.02, 0.07], [0.03, 0.0, 0.04]])
    points = REGULAR + REGULAR @ strain
    expected = forces(springs(REGULAR), points)
    for order in ([1, 0, 3, 2], [2, 0, 1, 3], [0, 2, 3, 1]):
        assert forces(springs(REGULAR[order]), points[order]) == pytest.approx(expected[order], abs=1e-14)


def test_rotation_leaves_the_forces_to_the_body(random: Callable[..., Array]) -> None:
    """Forces of a strained, then turned and moved body are those of the strained one, turned."""
    elements, x, v = springs(KUHN, viscosity=0.3), KUHN + 0.1 * random(4, 3), random(4, 3)
    turn = Rotation.from_rotvec([0.3, -0.8, 2.0])
    expected = turn.apply(forces(elements, x, v))
    spun = turn.apply(v + np.cross([1.0, -2.0, 5.0], x))
    assert forces(elements, turn.apply(x) + 3.0, spun) == pytest.approx(expected, rel=1e-10, abs=1e-10)


def test_dashpots_resist_the_rate_of_the_strain(random: Callable[..., Array]) -> None:
    """eta gamma' is what a spring answers to the change of strain along the motion."""
    x, v, small = KUHN + 0.1 * random(4, 3), random(4, 3), 1e-6
    corners = tetrahedron_corners(CELL)
    before, now, after = (shear_strains(x + way * v, corners) for way in (-small, 0.0, small))
    like_springs = springs(x, modulus=2.0)._replace(rest=now - (after - before) / (2.0 * small))
    assert forces(springs(x, modulus=0.0, viscosity=2.0), x, v) == pytest.approx(forces(like_springs, x), rel=1e-7)


def test_arms_follow_a_constant_rate_exactly() -> None:
    """A face sliding along an edge at constant rate r: z = tau r (1 - exp(-t/tau)) in the strain of that slide."""
    corners = tetrahedron_corners(CELL)
    rest = shear_strains(CORNER, corners)
    constants = Constants(*np.zeros((2, 24)), np.full((1, 24), 4.0), np.full((1, 24), 1.0 / 0.7))
    elements, arms = kernel_elements(corners, rest, constants, 0.25), np.zeros((1, 24))
    x, v = CORNER.copy(), np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.3, 0.0, 0.0]])
    for _ in range(8):
        add_tetrahedron_shear_forces(elements, arms, x, v, np.zeros_like(x))
        x += 0.25 * v
    slid = 0.7 * 0.3 * (1.0 - np.exp(-2.0 / 0.7))
    assert arms[0, 4] == pytest.approx(slid, rel=1e-13), "third edge along the first"
    assert arms[0, 5] == 0.0, "third edge along the second"
