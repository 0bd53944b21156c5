"""The other ways to springs: from the stiffness matrix, by length, edge by edge."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from rheotwin.meshing import element_measures, hex_grid, quad_grid, tet_grid, triangle_grid
from rheotwin.particles.element_match import ElementMatch, isotropic_stiffness, match_elements
from rheotwin.particles.network import build_network
from rheotwin.particles.stiffness_match import reference_matrices, volume_gradient
from rheotwin.validation.checks.running import block, truss

EXACT = 1e-8
"""The ridge that singles out one of equally good fits may soften a fit by 1e-10; the rest is rounding."""

AXES = [0.0, 1.0, 2.5], [0.0, 0.8, 1.9], [0.0, 1.2]
MESHES = {
    "triangle": triangle_grid(*AXES[:2]),
    "quad": quad_grid(*AXES[:2]),
    "tet": tet_grid(*AXES),
    "hex": hex_grid(*AXES),
}
TRIANGLE = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])


def matched(mesh: Any, poisson: float, method: Any, *, volume_term: bool = False) -> ElementMatch:
    cells = mesh.t.T.astype(np.int64)
    measures = element_measures(mesh)
    return match_elements(mesh.p.T, cells, measures, poisson, "strain", volume_term=volume_term, method=method)


def spring_matrix(corners: np.ndarray, stiffness: np.ndarray) -> np.ndarray:
    """Assemble k n n^T of all vertex pairs, entry by entry."""
    count, dimension = corners.shape
    total = np.zeros((count, dimension, count, dimension))
    for (i, j), k in zip(combinations(range(count), 2), stiffness, strict=True):
        n = (corners[j] - corners[i]) / np.linalg.norm(corners[j] - corners[i])
        block = k * np.outer(n, n)
        total[i, :, i] += block
        total[j, :, j] += block
        total[i, :, j] -= block
        total[j, :, i] -= block
    return total.reshape(count * dimension, -1)


@pytest.mark.parametrize("plane", ["strain", "stress"])
@pytest.mark.parametrize("kind", MESHES)
def test_reference_matrix_stores_the_energy_of_the_continuum(kind: str, plane: str) -> None:
    """u = F x stores V eps : C : eps for any F; so its turning part costs nothing."""
    mesh, rng = MESHES[kind], np.random.default_rng(3)
    points, cells, dimension = mesh.p.T, mesh.t.T.astype(np.int64), mesh.p.shape[0]
    matrices = reference_matrices(points, cells, 0.3, plane)
    gradient = rng.standard_normal((dimension, dimension))
    moved = (points[cells] @ gradient.T).reshape(len(cells), -1)
    strain = 0.5 * (gradient + gradient.T)
    pairs = list(combinations(range(dimension), 2))
    packed = np.array([*np.diag(strain), *(np.sqrt(2.0) * strain[a, b] for a, b in pairs)])
    expected = element_measures(mesh) * (packed @ isotropic_stiffness(0.3, dimension, plane) @ packed)
    np.testing.assert_allclose(np.einsum("ca,cab,cb->c", moved, matrices, moved), expected, rtol=1e-12)


def test_volume_gradient_is_the_slope_of_the_volume() -> None:
    rng = np.random.default_rng(8)
    corners = np.vstack([np.zeros(3), np.eye(3)]) + 0.1 * rng.standard_normal((4, 3))
    gradient, step = volume_gradient(corners), 1e-5

    def volume(points: np.ndarray) -> float:
        return float(np.linalg.det(points[1:] - points[0])) / 6.0

    for corner, axis in product(range(4), range(3)):
        shift = np.zeros((4, 3))
        shift[corner, axis] = step
        slope = (volume(corners + shift) - volume(corners - shift)) / (2 * step)  # V is a cubic: error step^2/6
        assert gradient[corner, axis] == pytest.approx(slope, abs=1e-9)


@pytest.mark.parametrize("poisson", [0.25, 0.4])
def test_equilateral_springs_have_the_matrix_of_the_finite_element(poisson: float) -> None:
    cell, area = np.array([[0, 1, 2]]), np.array([np.sqrt(0.75) / 2])
    match = match_elements(TRIANGLE, cell, area, poisson, "strain", volume_term=True, method="stiffness")
    gradient = volume_gradient(TRIANGLE).ravel()
    found = spring_matrix(TRIANGLE, match.stiffness)
    found += match.volume_modulus[0] / area[0] * np.outer(gradient, gradient)
    expected = reference_matrices(TRIANGLE, cell, poisson, "strain")[0]
    np.testing.assert_allclose(found, expected, atol=EXACT * np.abs(expected).max())


@pytest.mark.parametrize("kind", ["quad", "hex", "tet"])
def test_stiffness_fit_against_bounded_least_squares(kind: str) -> None:
    mesh = {"quad": quad_grid([0.0, 2.0], [0.0, 1.0]), "hex": hex_grid([0.0, 1.0], [0.0, 1.5], [0.0, 0.7])}.get(kind)
    corners = np.vstack([np.zeros(3), np.eye(3) + 0.2]) if mesh is None else mesh.p.T[mesh.t.T[0]]
    cell = np.arange(len(corners))[None, :]
    measure = np.array([np.linalg.det(corners[1:] - corners[0]) / 6.0]) if mesh is None else element_measures(mesh)
    match = match_elements(corners, cell, measure, 0.25, "strain", volume_term=False, method="stiffness")
    target = reference_matrices(corners, cell, 0.25, "strain")[0]
    columns = [spring_matrix(corners, row).ravel() for row in np.eye(len(match.edges))]
    best = lsq_linear(np.stack(columns, axis=1), target.ravel(), bounds=(0.0, np.inf), tol=1e-14)
    reached = np.linalg.norm(spring_matrix(corners, match.stiffness) - target)
    assert reached == pytest.approx(np.sqrt(2 * best.cost), rel=1e-8)


@pytest.mark.parametrize("size", [1e-4, 1.0, 1e3])
@pytest.mark.parametrize("method", ["element", "stiffness", "length"])
def test_fits_do_not_depend_on_the_unit_of_length(method: Any, size: float) -> None:
    """k [m^(d-2)] of a body scaled by s is s^(d-2) k; the volume moduli are the same."""
    mesh = MESHES["tet"]
    cells, measures = mesh.t.T.astype(np.int64), element_measures(mesh)
    found = match_elements(size * mesh.p.T, cells, size**3 * measures, 0.35, "strain", volume_term=True, method=method)
    plain = match_elements(mesh.p.T, cells, measures, 0.35, "strain", volume_term=True, method=method)
    np.testing.assert_allclose(found.stiffness, size * plain.stiffness, rtol=1e-9, atol=1e-12 * size)
    np.testing.assert_allclose(found.volume_modulus, plain.volume_modulus, rtol=1e-9)
    np.testing.assert_allclose(found.average, plain.average, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", MESHES)
def test_by_length_every_edge_has_the_same_cross_section(kind: str) -> None:
    mesh = MESHES[kind]
    match = matched(mesh, 0.25, "length")
    lengths = np.linalg.norm(mesh.p.T[match.edges[:, 1]] - mesh.p.T[match.edges[:, 0]], axis=1)
    sections = match.stiffness * lengths
    np.testing.assert_allclose(sections, sections[0], rtol=1e-12)
    target = isotropic_stiffness(0.25, mesh.p.shape[0], "strain")
    # The best multiple leaves a rest at right angles to what it multiplies.
    assert np.sum((match.average - target) * match.average) == pytest.approx(0.0, abs=1e-8)


def test_a_bar_by_length_is_exact() -> None:
    points = np.array([[0.0], [2.0], [2.5]])
    cells, lengths = np.array([[0, 1], [1, 2]]), np.array([2.0, 0.5])
    match = match_elements(points, cells, lengths, 0.3, "strain", volume_term=False, method="length")
    np.testing.assert_allclose(match.stiffness, [0.5, 2.0], rtol=EXACT)


def test_edge_by_edge_takes_the_numbers_of_the_law() -> None:
    law = {"model": "three-element", "young": 1.2, "voigt_viscosity": 1.5, "series_viscosity": 15.0, "poisson": 0.3}
    network = build_network(block(2, law, thickness=0.25), volume_term=True, method="edge")
    share = 15.0 / 16.5
    np.testing.assert_allclose(network.edge_constants.arm_stiffness, 1.2 * share**2, rtol=1e-14)
    np.testing.assert_allclose(network.edge_constants.viscosity, 1.5 * share, rtol=1e-14)
    np.testing.assert_allclose(network.edge_constants.arm_rate, 1.2 / 16.5, rtol=1e-14)
    assert len(network.cells) == 0
    weights = np.asarray(network.node_share.sum(axis=0)).ravel()
    np.testing.assert_allclose(weights, 1.0, rtol=1e-12)


@pytest.mark.parametrize("method", ["element", "stiffness", "length", "edge"])
def test_every_way_runs_and_reports(method: str, law: dict[str, Any]) -> None:
    simulation = truss(block(3, law, body={"cells": [1, 1, 1]}), match=method)
    simulation.advance(10 * simulation.step_size, 10)
    found = simulation.statistics()["material_match"]["block"]
    assert found["match"] == method
    # At rest it stays: a rest length rounds by 1e-16 of the size 3, and ten steps can add that up.
    assert np.abs(simulation.fields()["displacement"]).max() < 10 * 3 * np.finfo(float).eps
