"""Rigid motions that supports leave free, by name."""

from typing import Any

import numpy as np
import pytest
from skfem import MeshTet, MeshTri

from rheotwin.errors import RheotwinError
from rheotwin.fem.linear import free_rigid_modes, require_no_free_modes, rigid_body_modes
from rheotwin.fem.space import lame_matrix, shear_matrix, vector_basis

BOX = np.array([[x, y, z] for z in (0.0, 2.0) for y in (0.0, 1.0) for x in (0.0, 3.0)])
SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])


def mask(points: Any, *held: tuple[int, str]) -> Any:
    found = np.zeros(points.shape, dtype=bool)
    for node, components in held:
        found[node, ["xyz".index(c) for c in components]] = True
    return found


def test_on_a_line_around_an_axis_and_the_sentence() -> None:
    points = np.linspace(0.0, 1.0, 4)[:, None]
    assert free_rigid_modes(points, mask(points)) == ["move along x"]
    assert free_rigid_modes(points, mask(points, (3, "x"))) == []
    assert free_rigid_modes(SQUARE, mask(SQUARE, (0, "x")), axisymmetric=True) == ["move along y"]
    assert free_rigid_modes(SQUARE, mask(SQUARE, (0, "y")), axisymmetric=True) == []
    held = mask(SQUARE, (0, "y"))
    words = r"bodies\.block: .*'block' can still move along x and rotate about z; add a support"
    with pytest.raises(RheotwinError, match=words):
        require_no_free_modes("block", SQUARE, held)
    require_no_free_modes("block", SQUARE, mask(SQUARE, (0, "xy"), (1, "y")))


@pytest.mark.parametrize(
    ("held", "expected"),
    [
        ((), ["move along x", "move along y", "rotate about z"]),
        (((0, "xy"),), ["rotate about z"]),
        (((0, "xy"), (1, "y")), []),
        (((0, "y"), (1, "y")), ["move along x"]),
        (((0, "y"),), ["move along x", "rotate about z"]),
        # Both rollers stand on the line x = 0: turning about a point of it moves them along x only.
        (((0, "y"), (3, "y")), ["move along x", "rotate about z"]),
        (((0, "x"), (0, "y"), (2, "x")), []),
    ],
)
def test_in_the_plane(held: Any, expected: list[str]) -> None:
    assert free_rigid_modes(SQUARE, mask(SQUARE, *held)) == expected


@pytest.mark.parametrize(
    ("held", "expected"),
    [
        ((), ["move along x", "move along y", "move along z", *(f"rotate about {a}" for a in "xyz")]),
        (((0, "xyz"),), ["rotate about x", "rotate about y", "rotate about z"]),
        (((0, "xyz"), (1, "xyz")), ["rotate about x"]),
        (((0, "xyz"), (3, "xyz")), ["rotate about (0.95, 0.32, 0)"]),
        (((0, "xyz"), (1, "xyz"), (2, "xyz")), []),
        (tuple((k, "z") for k in range(4)), ["move along x", "move along y", "rotate about z"]),
        (tuple((k, "z") for k in (0, 1)), ["move along x", "move along y", "rotate about x", "rotate about z"]),
    ],
)
def test_in_space(held: Any, expected: list[str]) -> None:
    """Node 3 is at (3, 1, 0): two pinned nodes leave the rotation about the line between them."""
    for shift, scale in ((0.0, 1.0), (1e3, 1.0), (0.0, 1e-6)):
        points = scale * (BOX + shift)
        assert free_rigid_modes(points, mask(points, *held)) == expected


@pytest.mark.parametrize("cell", ["triangle", "tet"])
def test_rigid_modes_strain_nothing(cell: str) -> None:
    """The modes are the null space of the stiffness: right number, independent, no force."""
    mesh = (MeshTri() if cell == "triangle" else MeshTet()).refined(1)
    basis = vector_basis(mesh, cell)
    matrix = (lame_matrix(basis) + shear_matrix(basis)).toarray()
    modes = rigid_body_modes(np.ascontiguousarray(mesh.p.T))
    assert np.abs(matrix @ modes).max() < 1e-13 * np.abs(matrix).max() * len(matrix)
    values = np.linalg.eigvalsh(matrix)
    assert np.count_nonzero(values < 1e-10 * values[-1]) == modes.shape[1] == np.linalg.matrix_rank(modes)
