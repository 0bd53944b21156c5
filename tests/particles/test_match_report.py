"""What continuum springs are: closed forms of directional moduli, and the Poisson ratio they are tied to."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from rheotwin.meshing import element_measures, quad_grid, tet_grid, triangle_grid
from rheotwin.particles.element_match import isotropic_stiffness, mandel, match_elements
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


def lattice(*lengths: float) -> Any:
    return quad_grid(*[np.linspace(0.0, length, 3) for length in lengths])


def match(
    mesh: Any, poisson: float, *, volume_term: bool = False, plane: str = "strain", method: Any = "element"
) -> Any:
    cells = mesh.t.T.astype(np.int64)
    return match_elements(
        mesh.p.T, cells, element_measures(mesh), poisson, plane, volume_term=volume_term, method=method
    )


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


def test_cubic_body_in_closed_form() -> None:
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


def test_bars_without_diagonals_give_way_to_shear() -> None:
    """C = diag(1, 1, 0): stiff along the bars, nothing in between."""
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


def test_report_of_a_truss_of_equal_diagonals() -> None:
    """All diagonals one way: the body is stiffest along them and soft across, alternating ones even it out."""
    axis = np.linspace(0.0, 1.0, 5)
    one_way, both = (triangle_grid(axis, axis, pattern=pattern) for pattern in ("se-nw", "alternating"))
    tilted, even = (match_report(match(mesh, 0.25), "element", 0.25, "strain") for mesh in (one_way, both))
    assert tilted["young_least"] < even["young_least"]
    assert tilted["anisotropy"] > even["anisotropy"] > 1.0
    stiffness = match(one_way, 0.25).average
    found = young_moduli(stiffness, np.array([[1.0, -1.0], [1.0, 1.0]]) / np.sqrt(2.0))
    assert found[0] > found[1]


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
    found = match_report(match(mesh, poisson, volume_term=volume_term), "element", poisson, "strain")
    assert words in found["note"]
    assert words in match_sentence(found)
    json.dumps(found, allow_nan=False)


def test_volume_term_recovers_the_ratio_where_springs_are_isotropic(equilateral: dict[str, Any]) -> None:
    law = {"model": "elastic", "young": 3.0, "poisson": 0.4}
    problem = block(2, law, body=equilateral)
    found = build_network(problem, volume_term=True).matches["block"]
    assert found["note"].endswith("the volume term recovers the law's 0.4")
    assert (found["young_least"], found["young_most"]) == pytest.approx((1.0, 1.0), abs=1e-7)


@pytest.mark.parametrize("plane", ["strain", "stress"])
@pytest.mark.parametrize("poisson", [0.25, 0.35, 0.45])
def test_squares_of_two_triangles_have_the_laws_ratio_along_their_sides(poisson: float, plane: str) -> None:
    """So volume springs stay on where the average over directions overshoots: without them it is 1/8 or 1/7."""
    axis = np.arange(9.0)
    mesh = triangle_grid(axis, axis, pattern="alternating")
    found = match_report(match(mesh, poisson, volume_term=True, plane=plane), "element", poisson, plane)
    assert found["poisson_along_axes"] == pytest.approx(poisson, abs=1e-6)
    assert found["poisson_of_body"] > poisson + 0.01
    without = match_report(match(mesh, poisson, plane=plane), "element", poisson, plane)
    assert without["poisson_along_axes"] == pytest.approx(1.0 / 8.0 if plane == "strain" else 1.0 / 7.0, abs=1e-6)


def test_edges_of_the_papers_have_no_misfit_but_a_direction() -> None:
    found = match_report(match(lattice(1.0, 1.0), 0.3, method="edge"), "edge", 0.3, "strain")
    assert "stiffness_misfit" not in found
    assert found["anisotropy"] > 1.0
    assert found["poisson_of_body"] == pytest.approx(0.25, abs=1e-12)


def test_stiff_directions_of_a_square_lattice_in_closed_form() -> None:
    """Equal springs k: inner sides count twice k/2 a cell, diagonals k, so C11 = 2k, C12 = C1212 = k for unit cells.

    C11 = (k + k) from two half sides and two diagonals (2 k (sqrt 2)^2/4 = k); along x E = C11 - C12^2/C11 = 1.5 k,
    along a diagonal E = 4/(1/(C1212) + 2/(C11 + C12)) = 12/5 k.
    """
    # Only cells whose four sides are all shared have this tensor: look at the middle one of 3 x 3.
    mesh = quad_grid(*[np.linspace(0.0, 3.0, 4)] * 2)
    found = match(mesh, 0.25, method="edge")
    inner = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 2.0]])
    # Sides on the border are not shared: the six of 3 border cells a side add half a spring each to their direction.
    extra = 6 * 0.5 / 9.0
    np.testing.assert_allclose(found.average, inner + np.diag([extra, extra, 0.0]), rtol=1e-12, atol=1e-14)
    along = np.array([[1.0, 0.0], [np.sqrt(0.5), np.sqrt(0.5)]])
    np.testing.assert_allclose(young_moduli(inner, along), [1.5, 12.0 / 5.0], rtol=1e-12)
    assert continuum_of(found, 0.25, "strain").anisotropy > 1.2
