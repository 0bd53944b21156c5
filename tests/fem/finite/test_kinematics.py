"""Rotations, strains and their variations, without any law."""

from typing import Any

import numpy as np
import pytest

from rheotwin.fem.finite.corotational import axial, cross_matrix, polar_rotation, spread

Array = np.ndarray


def far(mesh: Any, rotation: Array, seed: int, strain: float = 0.05) -> Array:
    rng, points = np.random.default_rng(seed), mesh.p.T
    return np.asarray(((points @ rotation.T + 0.7 + strain * rng.normal(size=points.shape)) - points).ravel())


@pytest.mark.parametrize("dimension", [2, 3])
def test_polar_rotation_of_a_deformation(dimension: int) -> None:
    """R is proper and R'F symmetric, with positive eigenvalues unless F itself is turned inside out."""
    rng = np.random.default_rng(0)
    deformation = np.tile(np.eye(3), (50, 1, 1))
    deformation[:, :dimension, :dimension] = rng.normal(size=(50, dimension, dimension))
    rotation = polar_rotation(deformation, dimension)
    np.testing.assert_allclose(rotation @ np.swapaxes(rotation, 1, 2), np.tile(np.eye(3), (50, 1, 1)), atol=1e-14)
    np.testing.assert_allclose(np.linalg.det(rotation), 1.0, atol=1e-14)
    stretch = np.swapaxes(rotation, 1, 2) @ deformation
    np.testing.assert_allclose(stretch, np.swapaxes(stretch, 1, 2), atol=1e-13)
    upright = np.linalg.det(deformation) > 0.0
    assert upright.any() and not upright.all()
    np.testing.assert_array_equal((np.linalg.eigvalsh(stretch) > 0.0).all(axis=1), upright)


def test_identities_of_axial_vectors() -> None:
    rng = np.random.default_rng(1)
    matrix, vector = rng.normal(size=(3, 3)), rng.normal(size=3)
    np.testing.assert_allclose(cross_matrix(vector) @ matrix[0], np.cross(vector, matrix[0]), atol=1e-15)
    np.testing.assert_allclose(cross_matrix(axial(matrix)), matrix - matrix.T, atol=1e-15)
    left = cross_matrix(vector) @ matrix + matrix.T @ cross_matrix(vector)
    np.testing.assert_allclose(cross_matrix(spread(matrix) @ vector), left, atol=1e-14)


def test_strains_of_rigid_motion_their_derivative_and_forces_without_resultant(body: Any, mesh: Any, turn: Any) -> None:
    rotation = turn(mesh.p.shape[0], 2.0)
    np.testing.assert_allclose(body.kinematics.strain(far(mesh, rotation, 0, strain=0.0)), 0.0, atol=1e-14)
    # Central differences with a step of 1e-6 of the unit size: an error of about 1e-10.
    u, change = far(mesh, turn(mesh.p.shape[0], 1.3), 1), np.random.default_rng(2).normal(size=mesh.p.size)
    kinematics, h = body.kinematics, 1e-6
    expected = (kinematics.strain(u + h * change) - kinematics.strain(u - h * change)) / (2.0 * h)
    unit = np.random.default_rng(3).normal(size=expected.shape)
    found = np.sum(kinematics.forces(u, unit) * change[kinematics.geometry.dofs], axis=1)
    expected = np.einsum("eq,eqi,eqi->e", kinematics.geometry.weights, unit, expected)
    np.testing.assert_allclose(found, expected, atol=1e-8 * np.abs(expected).max())
    # Each element for itself, about the deformed nodes: also for stresses that are not coaxial with the strain.
    d = mesh.p.shape[0]
    u = far(mesh, turn(d, 1.3), 4)
    stress = np.random.default_rng(5).normal(size=body.kinematics.strain(u).shape)
    forces = kinematics.forces(u, stress)
    elements = len(forces)
    places = (mesh.p.T.ravel() + u)[body.geometry.dofs].reshape(elements, -1, d)
    vectors = forces.reshape(elements, -1, d)
    size = np.abs(forces).max()
    np.testing.assert_allclose(vectors.sum(axis=1), 0.0, atol=1e-13 * size)
    outer = np.einsum("eni,enj->eij", places, vectors)
    np.testing.assert_allclose(outer, np.swapaxes(outer, 1, 2), atol=1e-12 * size)


@pytest.mark.parametrize("cell", ["quad"])
def test_plane_elements_stay_in_their_plane(body: Any, mesh: Any) -> None:
    strain = body.kinematics.strain(far(mesh, np.eye(2), 6))
    np.testing.assert_array_equal(strain[..., [2, 4, 5]], 0.0)
    assert np.abs(strain[..., [0, 1, 3]]).min() > 0.0
