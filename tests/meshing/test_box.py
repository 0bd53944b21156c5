"""Tensor grids: exact measures, numbering, matching diagonals, symmetry, speed."""

from __future__ import annotations

import time

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.meshing import (
    BoxShape,
    Mesh,
    element_measures,
    hex_grid,
    line,
    make_shape,
    quad_grid,
    tet_grid,
    triangle_grid,
    truss_edges,
)

X, Y, Z = [0.0, 0.3, 1.0, 1.1], [0.0, 0.5, 0.6], [0.0, 0.2, 1.0]


def elements_as_sets(mesh: Mesh, points: np.ndarray) -> set[frozenset[tuple[float, ...]]]:
    """Elements as sets of their vertices' coordinates: what a picture of the mesh shows."""
    rounded = np.round(points.T, 9)
    return {frozenset(map(tuple, rounded[cell].tolist())) for cell in mesh.t.T}


def test_graded_grids_fill_their_box_exactly() -> None:
    assert element_measures(line(X)).sum() == pytest.approx(1.1, rel=1e-14)
    for pattern in ("se-nw", "sw-ne", "alternating"):
        assert element_measures(triangle_grid(X, Y, pattern=pattern)).sum() == pytest.approx(0.66, rel=1e-14)
    assert element_measures(quad_grid(X, Y)).sum() == pytest.approx(0.66, rel=1e-14)
    for split in ("five", "six"):
        assert element_measures(tet_grid(X, Y, Z, split=split)).sum() == pytest.approx(0.66, rel=1e-14)
    assert element_measures(hex_grid(X, Y, Z)).sum() == pytest.approx(0.66, rel=1e-14)


def test_vertices_are_numbered_x_fastest() -> None:
    mesh = hex_grid(X, Y, Z)
    i, j, k = 2, 1, 2
    assert mesh.p[:, i + 4 * (j + 3 * k)] == pytest.approx([X[i], Y[j], Z[k]])


def test_se_nw_pattern_is_the_papers_mesh() -> None:
    # 2 x 1 squares, nodes 0 1 2 / 3 4 5: SW, SE, NW and SE, NE, NW
    mesh = triangle_grid([0, 1, 2], [0, 1], pattern="se-nw")
    assert mesh.t.T.tolist() == [[0, 1, 3], [1, 4, 3], [1, 2, 4], [2, 5, 4]]


def test_sw_ne_pattern_is_the_other_diagonal() -> None:
    mesh = triangle_grid([0, 1], [0, 1], pattern="sw-ne")
    assert mesh.t.T.tolist() == [[0, 1, 3], [0, 3, 2]]


def test_alternating_pattern_starts_se_nw_and_mirrors_the_neighbour() -> None:
    mesh = triangle_grid([0, 1, 2], [0, 1], pattern="alternating")
    assert mesh.t.T.tolist() == [[0, 1, 3], [1, 4, 3], [1, 2, 5], [1, 5, 4]]


def test_five_split_is_one_third_and_four_sixths_of_each_cell() -> None:
    volumes = element_measures(tet_grid([0, 1, 2], [0, 1, 2], [0, 1, 2])).reshape(8, 5)
    assert volumes == pytest.approx(np.tile([1 / 3, 1 / 6, 1 / 6, 1 / 6, 1 / 6], (8, 1)), rel=1e-13)


@pytest.mark.parametrize("split", ["five", "six"])
def test_face_diagonals_of_neighbours_match(split: str) -> None:
    """Conforming: every face belongs to two tets, or to one and then lies in a side of the box."""
    mesh = tet_grid(X, Y, Z, split=split)
    counts = np.bincount(mesh.t2f.ravel())
    assert set(counts.tolist()) == {1, 2}
    boundary = mesh.p[:, mesh.facets[:, counts == 1]]
    low, high = np.zeros(3), np.array([1.1, 0.6, 1.0])
    flat = [(boundary[a] == bound).all(axis=0) for a in range(3) for bound in (low[a], high[a])]
    assert np.any(flat, axis=0).all()


def test_interior_degree_of_the_five_split_alternates_between_6_and_18() -> None:
    mesh = tet_grid(*[np.arange(5.0)] * 3)
    degree = np.bincount(truss_edges(mesh).ravel())
    inside = ((mesh.p > 0) & (mesh.p < 4)).all(axis=0)
    even = mesh.p.sum(axis=0) % 2 == 0
    assert set(degree[inside & even]) == {18}
    assert set(degree[inside & ~even]) == {6}


@pytest.mark.parametrize(
    ("spec", "mirrored"),
    [
        (BoxShape((4.0, 2.0), (4, 2), pattern="alternating"), True),
        (BoxShape((4.0, 2.0), (4, 2), pattern="se-nw"), False),
        (BoxShape((3.0, 2.0), (3, 2), pattern="alternating"), False),
        (BoxShape((4.0, 2.0, 2.0), (4, 2, 2), pattern="five"), True),
        (BoxShape((3.0, 2.0, 2.0), (3, 2, 2), pattern="five"), False),
        (BoxShape((4.0, 2.0, 2.0), (4, 2, 2), pattern="six"), False),
    ],
)
def test_odd_particle_counts_keep_mirror_symmetry(spec: BoxShape, mirrored: bool) -> None:
    mesh = make_shape(spec)
    flipped = mesh.p.copy()
    flipped[0] = spec.size[0] - flipped[0]
    assert (elements_as_sets(mesh, flipped) == elements_as_sets(mesh, mesh.p)) is mirrored


def test_a_million_tets_take_less_than_two_seconds() -> None:
    axis = np.linspace(0.0, 1.0, 61)
    start = time.perf_counter()
    mesh = tet_grid(axis, axis, axis)
    assert time.perf_counter() - start < 2.0
    assert mesh.t.shape == (4, 5 * 60**3)


@pytest.mark.parametrize("axis", [[0.0], [0.0, 0.0], [1.0, 0.5], [0.0, np.nan], [[0.0, 1.0]]])
def test_axes_that_do_not_increase_are_refused(axis: list[float]) -> None:
    with pytest.raises(RheotwinError, match="along y must be at least two finite numbers, strictly increasing"):
        quad_grid([0.0, 1.0], axis)
