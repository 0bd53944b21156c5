"""Digital pushing by hand: which vertices get what of a punch, and what the sums are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheotwin.constraints.contact.digital_pushing import Clip, punch_shares
from rheotwin.errors import RheotwinError

L = 0.02
CLIPS: tuple[Clip, ...] = ("none", "renormalised", "paper")


def lattice(*counts: int) -> np.ndarray:
    """Points of a square lattice of spacing L, the last axis fastest."""
    grid = np.meshgrid(*(L * np.arange(count) for count in counts), indexing="ij")
    return np.stack([axis.ravel() for axis in grid], axis=1)


FACE = lattice(6, 5)


def on_grid(shares: np.ndarray) -> np.ndarray:
    return shares.reshape(6, 5)


def pushed(center: tuple[float, float], size: tuple[float, float], clip: Clip, cell: float | None = None) -> np.ndarray:
    return on_grid(punch_shares(FACE, L * np.array(center), L * np.array(size), cell, clip))


@pytest.mark.parametrize("clip", ["none", "renormalised"])
@pytest.mark.parametrize(("s", "t"), [(0.5, 0.5), (0.3, 0.6), (0.7, 0.25)])
def test_one_cell_is_shared_by_opposite_areas(s: float, t: float, clip: Clip) -> None:
    # a punch of one cell l x l whose centre hits the cell (1, 2) of the body at (s l, t l); nothing is clipped
    found = pushed((1 + s, 2 + t), (1.0, 1.0), clip)
    expected = np.zeros((6, 5))
    expected[1:3, 2:4] = [[(1 - s) * (1 - t), (1 - s) * t], [s * (1 - t), s * t]]
    np.testing.assert_allclose(found, expected, atol=1e-15)


def test_the_printed_shares_lose_what_is_clipped() -> None:
    # s = 0.1 l, t = 0.6 l: f_a and f_d need l/4 <= s and get nothing; f_b = 0.9 * 0.6, f_c = 0.9 * 0.4
    found = pushed((1.1, 2.6), (1.0, 1.0), "paper")
    expected = np.zeros((6, 5))
    expected[1, 2:4] = [0.9 * 0.4, 0.9 * 0.6]
    np.testing.assert_allclose(found, expected, atol=1e-14)
    renormalised = pushed((1.1, 2.6), (1.0, 1.0), "renormalised")
    np.testing.assert_allclose(renormalised, expected / 0.9, atol=1e-14)


def test_near_a_vertex_only_that_vertex_is_pushed() -> None:
    found = pushed((2.05, 1.9), (1.0, 1.0), "renormalised")
    assert found[2, 2] == pytest.approx(1.0, abs=1e-14)
    assert np.count_nonzero(found) == 1


def test_ends_are_minor_cells() -> None:
    # a punch of 1.5 l x 1.4 l: cells 1 x 1, m = 0.5 and n = 0.4 wide; f* = 1/(1.5 * 1.4) of the total.
    # Centres along x: from the lower end 0.5 and 1.25 of 1.5; along y: 0.5 and 1.2 of 1.4. With the punch's lower
    # corner in (1.5, 1.5) they hit at x = 2, 2.75 and y = 2, 2.7.
    star = 1.0 / (1.5 * 1.4)
    whole, m_end, n_end = star, 0.5 * star, 0.4 * star
    for clip, corner in (("renormalised", 0.5 * 0.4 * star), ("paper", (0.5**2 + 0.4**2) * star)):
        found = pushed((1.5 + 0.75, 1.5 + 0.7), (1.5, 1.4), clip)  # type: ignore[arg-type]
        expected = np.zeros((6, 5))
        expected[2, 2] = whole + 0.25 * m_end + 0.3 * n_end + 0.25 * 0.3 * corner
        expected[3, 2] = 0.75 * m_end + 0.75 * 0.3 * corner
        expected[2, 3] = 0.7 * n_end + 0.25 * 0.7 * corner
        expected[3, 3] = 0.75 * 0.7 * corner
        np.testing.assert_allclose(found, expected, atol=1e-13, err_msg=clip)


def test_printed_ends_of_less_than_a_quarter_push_nothing() -> None:
    # 1.2 l x 1 l: the end m = 0.2 l is left out, so the sum is 1/1.2 (its other clipped parts are none)
    found = pushed((2.0 + 0.1, 1.5), (1.2, 1.0), "paper")
    assert found.sum() == pytest.approx(1.0 / 1.2, rel=1e-12)


@pytest.mark.parametrize("clip", CLIPS)
def test_a_flush_punch_of_whole_cells_weighs_vertices_by_their_cells(clip: Clip) -> None:
    # two by two cells from vertex (1, 1) to (3, 3): corners 1/16, edges 2/16, the middle 4/16
    found = pushed((2.0, 2.0), (2.0, 2.0), clip)
    expected = np.zeros((6, 5))
    expected[1:4, 1:4] = np.outer([1, 2, 1], [1, 2, 1]) / 16.0
    np.testing.assert_allclose(found, expected, atol=1e-14)


@given(
    corner=st.tuples(st.floats(0.0, 2.0), st.floats(0.0, 2.0)),
    size=st.tuples(st.floats(0.3, 2.0), st.floats(0.3, 2.0)),
    cell=st.floats(0.3, 1.0),
)
def test_force_and_moment_of_the_pressure_are_kept(
    corner: tuple[float, float], size: tuple[float, float], cell: float
) -> None:
    center, extent = np.array(corner) + 0.5 * np.array(size), np.array(size)
    even = punch_shares(FACE, L * center, L * extent, L * cell, "none")
    assert even.sum() == pytest.approx(1.0, abs=1e-12)
    # the resultant of an even pressure goes through the centre of the punch
    np.testing.assert_allclose(even @ FACE, L * center, atol=1e-12 * L * 10)
    assert punch_shares(FACE, L * center, L * extent, L * cell).sum() == pytest.approx(1.0, abs=1e-12)
    assert punch_shares(FACE, L * center, L * extent, L * cell).min() >= 0.0


def test_in_two_dimensions_two_vertices_share() -> None:
    line = lattice(6)
    found = punch_shares(line, np.array([1.6 * L]), np.array([L]))
    np.testing.assert_allclose(found, [0, 0.4, 0.6, 0, 0, 0], atol=1e-14)


def test_the_order_of_the_nodes_does_not_matter() -> None:
    order = np.random.default_rng(3).permutation(len(FACE))
    place = (np.array([1.7, 2.2]) * L, np.array([1.5, 1.1]) * L)
    np.testing.assert_array_equal(punch_shares(FACE[order], *place), punch_shares(FACE, *place)[order])


def test_a_punch_beyond_the_face_is_refused() -> None:
    with pytest.raises(RheotwinError, match="beyond the lattice"):
        pushed((-0.2, 2.0), (1.0, 1.0), "renormalised")
    hole = np.delete(FACE, 12, axis=0)
    with pytest.raises(RheotwinError, match="beyond the lattice"):
        punch_shares(hole, L * np.array([2.0, 2.0]), L * np.array([2.0, 2.0]))


def test_nodes_that_are_no_lattice_are_refused() -> None:
    with pytest.raises(RheotwinError, match="no square lattice"):
        punch_shares(FACE * [1.0, 1.1], np.array([L, L]), np.array([L, L]))
