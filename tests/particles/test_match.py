"""Springs from continuum moduli: closed forms, an independent look at their energy, what the report says of them."""

import json
from itertools import combinations, product
from math import factorial
from typing import Any

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from rheotwin.meshing import build_mesh, element_measures, hex_grid, quad_grid, tet_grid, triangle_grid
from rheotwin.particles.element_match import (
    ElementMatch,
    isotropic_stiffness,
    mandel,
    match_elements,
    reference_matrices,
    volume_gradient,
)
from rheotwin.particles.match_report import (
    axial_poisson,
    closest_poisson,
    continuum_of,
    directions,
    match_report,
    young_moduli,
)
from rheotwin.particles.network import build_network
from rheotwin.validation.checks.running import block
from rheotwin.validation.report.page import match_sentence

EXACT = 1e-8
"""The ridge that singles out one of equally good fits may soften a fit by 1e-10; the rest is rounding."""

TRIANGLE = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
TET = np.array([[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]])
CUBE = hex_grid(*[[0.0, 1.0]] * 3)
AXES = [0.0, 1.0, 2.5], [0.0, 0.8, 1.9], [0.0, 1.2]
MESHES = {
    "triangle": triangle_grid(*AXES[:2]),
    "quad": quad_grid(*AXES[:2]),
    "tet": tet_grid(*AXES),
    "hex": hex_grid(*AXES),
}


def matched(mesh: Any, poisson: float, *, plane: str = "strain", **options: Any) -> ElementMatch:
    """Match the springs of a mesh, or of the one simplex with such corners; without volume springs."""
    if isinstance(mesh, np.ndarray):
        points, cells = mesh, np.arange(len(mesh))[None, :]
        measures = np.array([abs(np.linalg.det(mesh[1:] - mesh[0])) / factorial(mesh.shape[1])])
    else:
        points, cells, measures = mesh.p.T, mesh.t.T.astype(np.int64), element_measures(mesh)
    return match_elements(points, cells, measures, poisson, plane, **{"volume_term": False} | options)


def lame(poisson: float) -> tuple[float, float]:
    return poisson / ((1 + poisson) * (1 - 2 * poisson)), 0.5 / (1 + poisson)


def isotropic(poisson: float, dimension: int) -> np.ndarray:
    """C_ijkl/E = lambda d_ij d_kl + mu (d_ik d_jl + d_il d_jk), from scratch."""
    dilation, shear = lame(poisson)
    unit = np.eye(dimension)
    both = np.einsum("ik,jl->ijkl", unit, unit) + np.einsum("il,jk->ijkl", unit, unit)
    return dilation * np.einsum("ij,kl->ijkl", unit, unit) + shear * both


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


@pytest.mark.parametrize("method", ["element", "length"])
def test_bar_element_has_the_stiffness_of_its_length(method: str) -> None:
    points, cells = np.array([[0.0], [2.0], [2.5]]), np.array([[0, 1], [1, 2]])
    match = match_elements(points, cells, np.array([2.0, 0.5]), 0.3, "strain", volume_term=False, method=method)
    np.testing.assert_allclose(match.stiffness, [0.5, 2.0], rtol=EXACT)
    assert match.misfit < EXACT and match.element_misfit < EXACT


@pytest.mark.parametrize("poisson", [0.25, 0.35, 0.49])
def test_equilateral_triangle_in_plane_strain(poisson: float) -> None:
    """Three springs give lambda = mu = 3 k l^2/(8 V), so k = (2/sqrt 3) mu; the volume spring K = lambda - mu."""
    match = matched(TRIANGLE, poisson, volume_term=True)
    dilation, shear = lame(poisson)
    np.testing.assert_allclose(match.stiffness, 2.0 / np.sqrt(3.0) * shear, rtol=EXACT)
    np.testing.assert_allclose(match.volume_modulus, dilation - shear, rtol=EXACT, atol=EXACT)
    assert match.misfit < EXACT


def test_triangles_in_plane_stress_and_below_cauchys_ratio() -> None:
    """lambda* = E nu/(1 - nu^2) = mu = E/(2 (1 + nu)) needs nu = 1/3."""
    match = matched(TRIANGLE, 1.0 / 3.0, plane="stress")
    np.testing.assert_allclose(match.stiffness, 2.0 / np.sqrt(3.0) * 0.375, rtol=EXACT)
    assert match.misfit < EXACT and matched(TRIANGLE, 0.25, plane="stress").misfit > 0.01
    match = matched(TRIANGLE, 0.1, volume_term=True)
    assert match.volume_modulus[0] == 0.0 and match.misfit > 0.05
    # Six equal w = k l^2/V along face diagonals of a cube: C_1111 = w, C_1122 = C_1212 = w/2.
    # C at nu = 1/4 is 0.4 (3, 1, 1), so |C_springs - C|^2 = 3 (w - 1.2)^2 + (6 + 12)(w/2 - 0.4)^2: least at w = 0.96,
    # where it is 0.2^2 of |C|^2 = 3 1.2^2 + 18 0.4^2 = 7.2.
    match = matched(TET, 0.25)
    np.testing.assert_allclose(match.stiffness, 0.96 * (8.0 / 3.0) / 8.0, rtol=1e-7)
    assert match.misfit == pytest.approx(0.2, abs=1e-8)


@pytest.mark.parametrize("poisson", [0.1, 0.25, 0.4])
@pytest.mark.parametrize("shape", [TRIANGLE, TET, "triangle", "tet"], ids=["equilateral", "regular", "tri", "tet"])
def test_misfit_is_what_the_energy_of_the_springs_says(shape: Any, poisson: float) -> None:
    """The tensor measured from the energy has the reported distance from C, and no better fit exists (KKT)."""
    points = shape
    if isinstance(shape, str):
        dimension = 2 if shape == "triangle" else 3
        points = 0.2 * np.random.default_rng(5).standard_normal((dimension + 1,) * 2)[:, :dimension]
        points += np.vstack([np.zeros(dimension), np.eye(dimension)])
    dimension = points.shape[1]
    measure = abs(np.linalg.det(points[1:] - points[0])) / factorial(dimension)
    match = matched(points, poisson, volume_term=True)
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


def test_lattices_treat_equal_directions_equally_and_are_exact_at_one_quarter() -> None:
    match, points = matched(CUBE, 0.25), CUBE.p.T
    lengths = np.linalg.norm(points[match.edges[:, 1]] - points[match.edges[:, 0]], axis=1)
    for length, count in ((1.0, 12), (np.sqrt(2.0), 12), (np.sqrt(3.0), 4)):
        chosen = match.stiffness[np.isclose(lengths, length)]
        assert len(chosen) == count and chosen[0] > 0.01
        np.testing.assert_allclose(chosen, chosen[0], rtol=1e-6)
    assert match.misfit < EXACT
    # w = k l^2/V: two diagonals give C_1212 = w_d/2 = mu, two bars C_1111 = 2 w + w_d/2 = 3 mu; mu = 0.4.
    np.testing.assert_allclose(matched(quad_grid([0.0, 1.0], [0.0, 1.0]), 0.25).stiffness, 0.4, rtol=EXACT)
    mesh = hex_grid([0.0, 1.0, 3.0], [0.0, 1.0], [0.0, 0.5, 1.0])
    match = matched(mesh, 0.3)
    np.testing.assert_allclose(np.asarray(match.node_share.sum(axis=0)).ravel(), match.stiffness > 0.0, atol=1e-12)


def test_congruent_elements_are_equal_and_the_order_of_corners_does_not_matter() -> None:
    """Far from the origin the edge vectors differ in their last digits; the constants must not."""
    axis = 1000.0 + 0.1 * np.arange(6)
    mesh = triangle_grid(axis, axis)
    match = matched(mesh, 0.35, volume_term=True)
    vectors = np.round(mesh.p.T[match.edges[:, 1]] - mesh.p.T[match.edges[:, 0]], 6)
    on_border = np.array([np.sum(np.isin(mesh.t.T, pair).sum(axis=1) == 2) == 1 for pair in match.edges])
    for vector in np.unique(vectors, axis=0):
        for where in (on_border, ~on_border):
            chosen = match.stiffness[np.all(vectors == vector, axis=1) & where]
            np.testing.assert_allclose(chosen, chosen[:1].repeat(len(chosen)), rtol=1e-9)
    np.testing.assert_allclose(match.volume_modulus, match.volume_modulus[0], rtol=1e-9)
    points = TET + 0.3 * np.random.default_rng(1).standard_normal(TET.shape)
    match = matched(points, 0.3, volume_term=True)
    for order in ([1, 0, 3, 2], [2, 3, 1, 0], [3, 1, 2, 0]):
        measure = np.array([abs(np.linalg.det(points[1:] - points[0])) / 6])
        other = match_elements(points, np.array([order]), measure, 0.3, "strain", volume_term=True)
        np.testing.assert_array_equal(other.edges, match.edges)
        np.testing.assert_allclose(other.stiffness, match.stiffness, rtol=1e-6, atol=1e-9)


def test_constants_scale_or_are_those_of_the_law() -> None:
    unit = build_network(block(2, {"model": "elastic", "young": 1.0, "poisson": 0.35}), volume_term=True)
    law = {"model": "elastic", "young": 7.0, "poisson": 0.35}
    thick = build_network(block(2, law, thickness=0.3), volume_term=True)
    np.testing.assert_allclose(thick.edge_constants.stiffness, 2.1 * unit.edge_constants.stiffness, rtol=1e-14)
    np.testing.assert_allclose(thick.cell_constants.stiffness, 2.1 * unit.cell_constants.stiffness, rtol=1e-14)
    law = {"model": "three-element", "young": 1.2, "voigt_viscosity": 1.5, "series_viscosity": 15.0, "poisson": 0.3}
    network = build_network(block(2, law, thickness=0.25), volume_term=True, method="edge")
    share = 15.0 / 16.5
    np.testing.assert_allclose(network.edge_constants.arm_stiffness, 1.2 * share**2, rtol=1e-14)
    np.testing.assert_allclose(network.edge_constants.viscosity, 1.5 * share, rtol=1e-14)
    np.testing.assert_allclose(network.edge_constants.arm_rate, 1.2 / 16.5, rtol=1e-14)
    assert len(network.cells) == 0
    np.testing.assert_allclose(np.asarray(network.node_share.sum(axis=0)).ravel(), 1.0, rtol=1e-12)


@pytest.mark.parametrize("poisson", [0.3, 0.45, 0.49])
def test_springs_alone_do_not_stiffen_as_the_body_becomes_incompressible(poisson: float) -> None:
    """Beyond Cauchy's ratio the springs stay those of nu = 1/4, however large lambda."""
    mesh = hex_grid(*[np.linspace(0.0, 1.0, 3)] * 3)
    plain, beyond = matched(mesh, 0.25), matched(mesh, poisson)
    np.testing.assert_allclose(beyond.stiffness, plain.stiffness, rtol=1e-12)
    assert beyond.misfit > plain.misfit


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


@pytest.mark.parametrize("poisson", [0.25, 0.4])
def test_equilateral_springs_have_the_matrix_of_the_finite_element(poisson: float) -> None:
    match = matched(TRIANGLE, poisson, volume_term=True, method="stiffness")
    gradient = volume_gradient(TRIANGLE).ravel()
    found = spring_matrix(TRIANGLE, match.stiffness)
    found += match.volume_modulus[0] / (np.sqrt(0.75) / 2) * np.outer(gradient, gradient)
    expected = reference_matrices(TRIANGLE, np.array([[0, 1, 2]]), poisson, "strain")[0]
    np.testing.assert_allclose(found, expected, atol=EXACT * np.abs(expected).max())


@pytest.mark.parametrize("kind", ["quad", "hex", "tet"])
def test_stiffness_fit_against_bounded_least_squares(kind: str) -> None:
    mesh = {
        "quad": quad_grid([0.0, 2.0], [0.0, 1.0]),
        "hex": hex_grid([0.0, 1.0], [0.0, 1.5], [0.0, 0.7]),
        "tet": build_mesh("tet", np.vstack([np.zeros(3), np.eye(3) + 0.2]).T, np.arange(4)[:, None]),
    }[kind]
    corners, cell = mesh.p.T[mesh.t.T[0]], np.arange(mesh.t.shape[0])[None, :]
    measure = element_measures(mesh)
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
    scaled = build_mesh("tet", size * mesh.p, mesh.t)
    found, plain = (matched(each, 0.35, volume_term=True, method=method) for each in (scaled, mesh))
    np.testing.assert_allclose(found.stiffness, size * plain.stiffness, rtol=1e-9, atol=1e-12 * size)
    np.testing.assert_allclose(found.volume_modulus, plain.volume_modulus, rtol=1e-9)
    np.testing.assert_allclose(found.average, plain.average, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", MESHES)
def test_by_length_every_edge_has_the_same_cross_section(kind: str) -> None:
    mesh = MESHES[kind]
    match = matched(mesh, 0.25, method="length")
    sections = match.stiffness * np.linalg.norm(mesh.p.T[match.edges[:, 1]] - mesh.p.T[match.edges[:, 0]], axis=1)
    np.testing.assert_allclose(sections, sections[0], rtol=1e-12)
    target = isotropic_stiffness(0.25, mesh.p.shape[0], "strain")
    # The best multiple leaves a rest at right angles to what it multiplies.
    assert np.sum((match.average - target) * match.average) == pytest.approx(0.0, abs=1e-8)


@pytest.mark.parametrize(("dimension", "plane"), [(2, "strain"), (2, "stress"), (3, "strain")])
@pytest.mark.parametrize("poisson", [0.0, 0.25, 0.45])
def test_an_isotropic_body_has_one_modulus_and_its_own_ratio(dimension: int, plane: str, poisson: float) -> None:
    """E(n) is E in space and plane stress, E/(1 - nu^2) in plane strain, whatever n."""
    stiffness = isotropic_stiffness(poisson, dimension, plane)
    flat = dimension == 2 and plane == "strain"
    np.testing.assert_allclose(
        young_moduli(stiffness, directions(dimension)), 1.0 / (1.0 - poisson**2) if flat else 1.0, rtol=1e-10
    )
    assert closest_poisson(stiffness, dimension, plane) == pytest.approx(poisson, abs=1e-12)
    assert axial_poisson(stiffness, dimension, plane) == pytest.approx(poisson, abs=1e-12)


def test_moduli_of_cubic_bodies_and_of_bars_without_diagonals() -> None:
    """1/E(n) = S11 - 2 (S11 - S12 - S44/2)(n1^2 n2^2 + n2^2 n3^2 + n3^2 n1^2)."""
    c11, c12, c44 = 3.0, 1.0, 0.4
    stiffness = np.zeros((6, 6))
    stiffness[:3, :3] = c12
    stiffness[[0, 1, 2], [0, 1, 2]] = c11
    stiffness[[3, 4, 5], [3, 4, 5]] = 2.0 * c44
    s11 = (c11 + c12) / ((c11 - c12) * (c11 + 2.0 * c12))
    s12 = -c12 / ((c11 - c12) * (c11 + 2.0 * c12))
    along = directions(3)
    products = sum(along[:, a] ** 2 * along[:, b] ** 2 for a, b in ((0, 1), (1, 2), (2, 0)))
    expected = 1.0 / (s11 - 2.0 * (s11 - s12 - 0.5 / c44) * products)
    np.testing.assert_allclose(young_moduli(stiffness, along), expected, rtol=1e-10)
    assert axial_poisson(stiffness, 3, "strain") == pytest.approx(-s12 / s11, rel=1e-12)
    # C = diag(1, 1, 0): stiff along the bars, nothing in between.
    angles = np.array([0.0, 0.3, np.pi / 4.0, np.pi / 2.0])
    along = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    np.testing.assert_allclose(young_moduli(np.diag([1.0, 1.0, 0.0]), along), [1.0, 0.0, 0.0, 1.0], atol=1e-12)
    assert axial_poisson(np.diag([1.0, 1.0, 0.0]), 2, "strain") == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("dimension", "plane", "tied"), [(2, "strain", 0.25), (2, "stress", 1 / 3), (3, "strain", 0.25)]
)
def test_springs_of_any_kind_are_tied_to_one_ratio(dimension: int, plane: str, tied: float) -> None:
    """sum w m m^T with any w >= 0 is fully symmetric, and so is its isotropic part."""
    rng = np.random.default_rng(2)
    units = rng.standard_normal((9, dimension))
    modes = mandel(units / np.linalg.norm(units, axis=1)[:, None])
    stiffness = np.einsum("p,pa,pb->ab", rng.random(9), modes, modes)
    assert closest_poisson(stiffness, dimension, plane) == pytest.approx(tied, abs=1e-12)


@pytest.mark.parametrize(
    ("poisson", "volume_term", "words"),
    [
        (0.25, False, "tied to Poisson's ratio 1/4 in 3D, which is the law's"),
        (0.4, False, "tied to Poisson's ratio 1/4 in 3D in place of the law's 0.4; `volume_term`"),
        (0.4, True, "with the volume term the body has"),
        (0.1, True, "nothing here lowers it to the law's 0.1"),
    ],
)
def test_the_note_says_what_springs_cannot_have(poisson: float, volume_term: bool, words: str) -> None:
    mesh = tet_grid(*[np.linspace(0.0, 1.0, 3)] * 3)
    found = match_report(matched(mesh, poisson, volume_term=volume_term), "element", poisson, "strain")
    assert words in found["note"] and words in match_sentence(found)
    json.dumps(found, allow_nan=False)


def test_volume_term_recovers_the_ratio_where_springs_are_isotropic(equilateral: dict[str, Any]) -> None:
    problem = block(2, {"model": "elastic", "young": 3.0, "poisson": 0.4}, body=equilateral)
    found = build_network(problem, volume_term=True).matches["block"]
    assert found["note"].endswith("the volume term recovers the law's 0.4")
    assert (found["young_least"], found["young_most"]) == pytest.approx((1.0, 1.0), abs=1e-7)


@pytest.mark.parametrize("plane", ["strain", "stress"])
@pytest.mark.parametrize("poisson", [0.25, 0.35, 0.45])
def test_squares_of_two_triangles_have_the_laws_ratio_along_their_sides(poisson: float, plane: str) -> None:
    """So volume springs stay on where the average over directions overshoots: without them it is 1/8 or 1/7."""
    axis = np.arange(9.0)
    mesh = triangle_grid(axis, axis, pattern="alternating")
    found = match_report(matched(mesh, poisson, volume_term=True, plane=plane), "element", poisson, plane)
    assert found["poisson_along_axes"] == pytest.approx(poisson, abs=1e-6)
    assert found["poisson_of_body"] > poisson + 0.01
    without = match_report(matched(mesh, poisson, plane=plane), "element", poisson, plane)
    assert without["poisson_along_axes"] == pytest.approx(1.0 / 8.0 if plane == "strain" else 1.0 / 7.0, abs=1e-6)


def test_stiff_directions_of_lattices_of_equal_edges() -> None:
    """Equal springs k: inner sides count twice k/2 a cell, diagonals k, so C11 = 2k, C12 = C1212 = k for unit cells.
    C11 = (k + k) from two half sides and two diagonals (2 k (sqrt 2)^2/4 = k); along x E = C11 - C12^2/C11 = 1.5 k,
    along a diagonal E = 4/(1/(C1212) + 2/(C11 + C12)) = 12/5 k."""
    # Only cells whose four sides are all shared have this tensor: look at the middle one of 3 x 3.
    mesh = quad_grid(*[np.linspace(0.0, 3.0, 4)] * 2)
    found = matched(mesh, 0.25, method="edge")
    inner = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 2.0]])
    # Sides on the border are not shared: the six of 3 border cells a side add half a spring each to their direction.
    extra = 6 * 0.5 / 9.0
    np.testing.assert_allclose(found.average, inner + np.diag([extra, extra, 0.0]), rtol=1e-12, atol=1e-14)
    along = np.array([[1.0, 0.0], [np.sqrt(0.5), np.sqrt(0.5)]])
    np.testing.assert_allclose(young_moduli(inner, along), [1.5, 12.0 / 5.0], rtol=1e-12)
    assert continuum_of(found, 0.25, "strain").anisotropy > 1.2
    found = match_report(matched(quad_grid(*[np.linspace(0.0, 1.0, 3)] * 2), 0.3, method="edge"), "edge", 0.3, "strain")
    assert "stiffness_misfit" not in found and found["anisotropy"] > 1.0
    assert found["poisson_of_body"] == pytest.approx(0.25, abs=1e-12)
