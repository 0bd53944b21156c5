"""Flush surfaces with rims in one place: even normals, over the rims, without couples; what is beside them is not."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheotwin.meshing import tet_grid

Make = Callable[..., Any]


def block(low: float) -> Any:
    return tet_grid(np.linspace(0, 1, 3), np.linspace(0, 1, 3), np.linspace(low, low + 1, 3))


@pytest.fixture
def pair(detector: Make) -> Any:
    """Two cubes of equal footprint on each other."""
    return detector(block(0.0), block(1.0), even=True)


def test_a_vertex_that_misses_a_rim_keeps_the_normal_of_the_face(pair: Any) -> None:
    """Shifted by 1e-6 and turned by as much: all vertices of both sides, and no edges, which would say the same."""
    x = pair.rest.copy()
    x[27:, :2] += 1e-6 + 2e-6 * (x[27:, [1, 0]] - 0.5) * [1.0, -1.0]
    x[27:, 2] += 1e-9
    found = pair.find(x, x, 1e-3)
    touching = [contact for contact in found if abs(abs(contact.normal[2]) - 1.0) < 1e-9]
    assert len(touching) == len(found) == 18
    for contact in found:
        assert contact.gap == pytest.approx(1e-9, abs=1e-15)
        assert contact.weight.sum() == pytest.approx(0.0, abs=1e-15)
        np.testing.assert_allclose(contact.weight @ x[contact.node], contact.gap * contact.normal, atol=1e-15)


def test_normals_go_on_evenly_over_a_kink(pair: Any) -> None:
    """The middle of the lower top is a dent: a vertex that moves over it by little turns its normal by little."""
    x = pair.rest.copy()
    middle = np.flatnonzero(np.all(np.isclose(x[:27], [0.5, 0.5, 1.0]), axis=1))[0]
    above = 27 + np.flatnonzero(np.all(np.isclose(x[27:], [0.5, 0.5, 1.0]), axis=1))[0]
    x[[middle, above], 2] -= 0.05
    normals = []
    for angle in np.linspace(0.0, 2.0 * np.pi, 12, endpoint=False):
        moved = x.copy()
        moved[above, :2] += 1e-6 * np.array([np.cos(angle), np.sin(angle)])
        found = pair.find(moved, moved, 1e-3)
        normals += [contact.normal for contact in found if contact.node[0] == above]
    assert len(normals) == 12
    assert np.ptp(normals, axis=0).max() < 1e-4


def test_what_is_beside_the_body_and_below_its_top_keeps_its_distance(pair: Any) -> None:
    """A vertex beside the rim by 1e-6 and deeper than the surface is at the side; beside by 1 % it is off."""
    for shift, depth in ((1e-6 + 1.0, 0.05), (0.01 + 1.0, 0.0)):
        x = pair.rest.copy()
        x[27:] += [shift, 0.0, -depth]
        found = pair.find(x, x, 1e-3)
        assert bool(found) == (shift < 1.001)
        for contact in found:
            assert abs(contact.normal[0]) == pytest.approx(1.0, abs=1e-6)
            assert contact.gap > 0.0
