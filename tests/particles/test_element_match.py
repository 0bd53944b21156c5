"""Edge constants from continuum moduli: closed forms, and an independent look at the energy of the springs."""

from __future__ import annotations

from itertools import combinations, product
from math import factorial
from typing import Any

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from rheotwin.meshing import element_measures, hex_grid, triangle_grid
from rheotwin.particles.element_match import ElementMatch, match_elements
from rheotwin.particles.network import build_network
from rheotwin.validation.checks.running import block

EXACT = 1e-8
"""The ridge that singles out one of equally good fits may soften a fit by 1e-10; the rest is rounding."""

TRIANGLE = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
TET = np.array([[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]])
CUBE = np.array(list(product((0.0, 1.0), repeat=3)))


def simplex(points: np.ndarray, poisson: float, *, plane: str = "strain", volume_term: bool = True) -> ElementMatch:
    measure = abs(np.linalg.det(points[1:] - points[0])) / factorial(points.shape[1])
    cell = np.arange(len(points))[None, :]
    return match_elements(points, cell, np.array([measure]), poisson, plane, volume_term=volume_term)


def isotropic(poisson: float, dimension: int) -> np.ndarray:
    """C_ijkl/E = lambda d_ij d_kl + mu (d_ik d_jl + d_il d_jk), from scratch."""
    lame, shear = poisson / ((1 + poisson) * (1 - 2 * poisson)), 0.5 / (1 + poisson)
    unit = np.eye(dimension)
    dilation = np.einsum("ij,kl->ijkl", unit, unit)
    return lame * dilation + shear * (np.einsum("ik,jl->ijkl", unit, unit) + np.einsum("il,jk->ijkl", unit, unit))


def energy(match: ElementMatch, points: np.ndarray, strain: np.ndarray) -> float:
    """Energy of springs and volume spring under x -> (1 + strain) x, measured with the true lengths and volume."""
    moved = points + points @ strain
    ends = match.edges
    stretch = np.linalg.norm(moved[ends[:, 1]] - moved[ends[:, 0]], axis=1)
    stretch -= np.linalg.norm(points[ends[:, 1]] - points[ends[:, 0]], axis=1)
    dimension = points.shape[1]
    volume = np.linalg.det(points[1 : dimension + 1] - points[0]) / factorial(dimension)
    ratio = np.linalg.det(np.eye(dimension) + strain) - 1.0
    return 0.5 * match.stiffness @ stretch**2 + 0.5 * match.volume_modulus[0] * abs(volume) * ratio**2


def stiffness_by_differences(match: ElementMatch, points: np.ndarray, measure: float) -> np.ndarray:
    """C_ijkl = (1/V) d2W/de_ij de_kl by central differences of the energy, symmetric strains."""
    dimension, step = points.shape[1], 1e-4
    bases = []
    for a, b in product(range(dimension), repeat=2):
        basis = np.zeros((dimension, dimension))
        basis[a, b] += 0.5
        basis[b, a] += 0.5
        bases.append(basis)
    tensor = np.empty((len(bases), len(bases)))
    for (p, e), (q, f) in product(enumerate(bases), repeat=2):
        values = [s * t * energy(match, points, step * (s * e + t * f)) for s, t in product((1, -1), repeat=2)]
        tensor[p, q] = sum(values) / (4 * step**2 * measure)
    return tensor.reshape((dimension,) * 4)


def test_bar_element_has_the_stiffness_of_its_length() -> None:
    points = np.array([[0.0], [2.0], [2.5]])
    match = match_elements(points, np.array([[0, 1], [1, 2]]), np.array([2.0, 0.5]), 0.3, "strain", volume_term=False)
    np.testing.assert_allclose(match.stiffness, [0.5, 2.0], rtol=EXACT)
    assert match.misfit < EXACT
    assert match.element_misfit < EXACT


@pytest.mark.parametrize("poisson", [0.25, 0.3, 0.35, 0.45, 0.49])
def test_equilateral_triangle_in_plane_strain(poisson: float) -> None:
    """Three springs give lambda = mu = 3 k l^2/(8 V), so k = (2/sqrt 3) mu; the volume spring K = lambda - mu."""
    match = simplex(TRIANGLE, poisson)
    lame, shear = poisson / ((1 + poisson) * (1 - 2 * poisson)), 0.5 / (1 + poisson)
    np.testing.assert_allclose(match.stiffness, 2.0 / np.sqrt(3.0) * shear, rtol=EXACT)
    np.testing.assert_allclose(match.volume_modulus, lame - shear, rtol=EXACT, atol=EXACT)
    assert match.misfit < EXACT


def test_equilateral_triangle_in_plane_stress_is_exact_at_one_third() -> None:
    """lambda* = E nu/(1 - nu^2) = mu = E/(2 (1 + nu)) needs nu = 1/3."""
    match = simplex(TRIANGLE, 1.0 / 3.0, plane="stress", volume_term=False)
    np.testing.assert_allclose(match.stiffness, 2.0 / np.sqrt(3.0) * 0.375, rtol=EXACT)
    assert match.misfit < EXACT
    assert simplex(TRIANGLE, 0.25, plane="stress", volume_term=False).misfit > 0.01


def test_no_volume_spring_can_lower_poissons_ratio() -> None:
    match = simplex(TRIANGLE, 0.1)
    assert match.volume_modulus[0] == 0.0
    assert match.misfit > 0.05


def test_springs_of_a_regular_tet_are_cubic_not_isotropic() -> None:
    """Six equal w = k l^2/V along face diagonals of a cube: C_1111 = w, C_1122 = C_1212 = w/2.

    C at nu = 1/4 is 0.4 (3, 1, 1), so |C_springs - C|^2 = 3 (w - 1.2)^2 + (6 + 12)(w/2 - 0.4)^2: least at w = 0.96,
    where it is 0.2^2 of |C|^2 = 3 1.2^2 + 18 0.4^2 = 7.2.
    """
    match = simplex(TET, 0.25, volume_term=False)
    np.testing.assert_allclose(match.stiffness, 0.96 * (8.0 / 3.0) / 8.0, rtol=1e-7)
    assert match.misfit == pytest.approx(0.2, abs=1e-8)


@pytest.mark.parametrize("poisson", [0.25, 0.35])
def test_regular_tet_against_bounded_least_squares(poisson: float) -> None:
    match = simplex(TET, poisson)
    pairs = list(combinations(range(4), 2))
    directions = np.array([(TET[b] - TET[a]) / np.linalg.norm(TET[b] - TET[a]) for a, b in pairs])
    columns = [np.einsum("i,j,k,l->ijkl", n, n, n, n).ravel() for n in directions]
    columns.append(np.einsum("ij,kl->ijkl", np.eye(3), np.eye(3)).ravel())
    target = isotropic(poisson, 3)
    found = lsq_linear(np.stack(columns, axis=1), target.ravel(), bounds=(0.0, np.inf), tol=1e-14)
    assert np.sqrt(2 * found.cost) / np.linalg.norm(target) == pytest.approx(match.misfit, abs=1e-6)
    np.testing.assert_allclose(match.stiffness, match.stiffness[0], rtol=1e-7)
    np.testing.assert_allclose(match.volume_modulus[0], found.x[-1], atol=1e-5)


@pytest.mark.parametrize("poisson", [0.1, 0.25, 0.4])
@pytest.mark.parametrize("shape", [TRIANGLE, TET, "triangle", "tet"], ids=["equilateral", "regular", "tri", "tet"])
def test_misfit_is_what_the_energy_of_the_springs_says(shape: Any, poisson: float) -> None:
    """The tensor measured from the energy has the reported distance from C, and no better fit exists (KKT)."""
    rng = np.random.default_rng(5)
    if isinstance(shape, str):
        dimension = 2 if shape == "triangle" else 3
        points = (
            np.vstack([np.zeros(dimension), np.eye(dimension)])
            + 0.2 * rng.standard_normal((dimension + 1,) * 2)[:, :dimension]
        )
    else:
        points = shape
    dimension = points.shape[1]
    measure = abs(np.linalg.det(points[1:] - points[0])) / factorial(dimension)
    match = simplex(points, poisson)
    target = isotropic(poisson, dimension)
    gap = stiffness_by_differences(match, points, measure) - target
    assert np.linalg.norm(gap) / np.linalg.norm(target) == pytest.approx(match.misfit, abs=1e-6)
    vectors = points[match.edges[:, 1]] - points[match.edges[:, 0]]
    units = vectors / np.linalg.norm(vectors, axis=1)[:, None]
    slopes = [np.einsum("ijkl,i,j,k,l", gap, n, n, n, n) for n in units]
    slopes.append(np.einsum("iikk", gap))
    weights = np.append(match.stiffness, match.volume_modulus[0])
    for slope, weight in zip(slopes, weights, strict=True):
        assert slope > -1e-5
        assert abs(slope) < 1e-5 or weight == pytest.approx(0.0, abs=1e-9)


def test_hex_lattice_treats_equal_directions_equally_and_is_exact_at_one_quarter() -> None:
    match = match_elements(CUBE, np.arange(8)[None, :], np.ones(1), 0.25, "strain", volume_term=False)
    lengths = np.linalg.norm(CUBE[match.edges[:, 1]] - CUBE[match.edges[:, 0]], axis=1)
    for length, count in ((1.0, 12), (np.sqrt(2.0), 12), (np.sqrt(3.0), 4)):
        chosen = match.stiffness[np.isclose(lengths, length)]
        assert len(chosen) == count
        assert chosen[0] > 0.01
        np.testing.assert_allclose(chosen, chosen[0], rtol=1e-6)
    assert match.misfit < EXACT


def test_square_lattice_closed_form() -> None:
    """w = k l^2/V: two diagonals give C_1212 = w_d/2 = mu, two bars C_1111 = 2 w + w_d/2 = 3 mu; mu = 0.4."""
    points = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    match = match_elements(points, np.arange(4)[None, :], np.ones(1), 0.25, "strain", volume_term=False)
    np.testing.assert_allclose(match.stiffness, 0.4, rtol=EXACT)


def test_congruent_elements_get_equal_constants_wherever_they_are() -> None:
    """Far from the origin the edge vectors differ in their last digits; the constants must not."""
    axis = 1000.0 + 0.1 * np.arange(6)
    mesh = triangle_grid(axis, axis)
    match = match_elements(mesh.p.T, mesh.t.T, element_measures(mesh), 0.35, "strain", volume_term=True)
    vectors = np.round(mesh.p.T[match.edges[:, 1]] - mesh.p.T[match.edges[:, 0]], 6)
    on_border = np.array([np.sum(np.isin(mesh.t.T, pair).sum(axis=1) == 2) == 1 for pair in match.edges])
    for vector in np.unique(vectors, axis=0):
        for where in (on_border, ~on_border):
            chosen = match.stiffness[np.all(vectors == vector, axis=1) & where]
            np.testing.assert_allclose(chosen, chosen[:1].repeat(len(chosen)), rtol=1e-9)
    np.testing.assert_allclose(match.volume_modulus, match.volume_modulus[0], rtol=1e-9)


def test_order_of_corners_does_not_matter() -> None:
    rng = np.random.default_rng(1)
    points = TET + 0.3 * rng.standard_normal(TET.shape)
    match = simplex(points, 0.3)
    for order in ([1, 0, 3, 2], [2, 3, 1, 0], [3, 1, 2, 0]):
        other = match_elements(
            points,
            np.array([order]),
            np.array([abs(np.linalg.det(points[1:] - points[0])) / 6]),
            0.3,
            "strain",
            volume_term=True,
        )
        np.testing.assert_array_equal(other.edges, match.edges)
        np.testing.assert_allclose(other.stiffness, match.stiffness, rtol=1e-6, atol=1e-9)


def test_shares_of_nodes_make_every_edge_whole() -> None:
    mesh = hex_grid([0.0, 1.0, 3.0], [0.0, 1.0], [0.0, 0.5, 1.0])
    match = match_elements(mesh.p.T, mesh.t.T, element_measures(mesh), 0.3, "strain", volume_term=False)
    np.testing.assert_allclose(np.asarray(match.node_share.sum(axis=0)).ravel(), match.stiffness > 0.0, atol=1e-12)


def test_constants_scale_with_young_and_thickness() -> None:
    unit = build_network(block(2, {"model": "elastic", "young": 1.0, "poisson": 0.35}), volume_term=True)
    law = {"model": "elastic", "young": 7.0, "poisson": 0.35}
    thick = build_network(block(2, law, thickness=0.3), volume_term=True)
    np.testing.assert_allclose(thick.edge_constants.stiffness, 2.1 * unit.edge_constants.stiffness, rtol=1e-14)
    np.testing.assert_allclose(thick.cell_constants.stiffness, 2.1 * unit.cell_constants.stiffness, rtol=1e-14)


@pytest.mark.parametrize("poisson", [0.3, 0.45, 0.49])
def test_springs_alone_do_not_stiffen_as_the_body_becomes_incompressible(poisson: float) -> None:
    """Beyond Cauchy's ratio the springs stay those of nu = 1/4, however large lambda."""
    mesh = hex_grid(*[np.linspace(0.0, 1.0, 3)] * 3)
    arguments = mesh.p.T, mesh.t.T.astype(np.int64), element_measures(mesh)
    plain = match_elements(*arguments, 0.25, "strain", volume_term=False)
    beyond = match_elements(*arguments, poisson, "strain", volume_term=False)
    np.testing.assert_allclose(beyond.stiffness, plain.stiffness, rtol=1e-12)
    assert beyond.misfit > plain.misfit
