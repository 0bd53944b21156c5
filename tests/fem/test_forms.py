"""Geometric matrices against the hand formula J = sum |T| B' I_X B (spec 2.1), and the strain operator."""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from skfem import MeshTri, MeshTri2

from rheotwin.fem.space import body_space, lame_matrix, mass_matrix, shear_matrix, vector_basis
from rheotwin.meshing import BoxShape, build_mesh, make_shape

Array = np.ndarray

BOXES = {
    "triangle": BoxShape((2.0, 1.0), (5, 3)),
    "quad": BoxShape((2.0, 1.0), (5, 3), cell="quad"),
    "tet": BoxShape((2.0, 1.0, 0.8), (3, 3, 3)),
    "hex": BoxShape((2.0, 1.0, 0.8), (3, 3, 3), cell="hex"),
}


def shaken(spec: BoxShape, share: float = 0.2) -> Any:
    """Mesh of a box whose inner nodes are moved at random."""
    mesh = make_shape(spec)
    points = mesh.p.copy()
    inner = np.setdiff1d(np.arange(points.shape[1]), mesh.boundary_nodes())
    spacing = min(size / cells for size, cells in zip(spec.size, spec.cells, strict=True))
    points[:, inner] += share * spacing * np.random.default_rng(3).uniform(-1, 1, (len(points), len(inner)))
    return type(mesh)(points, mesh.t, validate=False)


def rigid_motions(points: Array) -> Array:
    unit = np.eye(points.shape[1])
    moves = [np.tile(axis, (len(points), 1)) for axis in unit]
    moves += [points @ (np.outer(a, b) - np.outer(b, a)) for a, b in combinations(unit, 2)]
    return np.stack([move.ravel() for move in moves], axis=1)


@pytest.mark.parametrize("cell", BOXES)
@pytest.mark.parametrize("matrix", [lame_matrix, shear_matrix])
def test_symmetric_and_blind_to_rigid_motions(cell: str, matrix: Callable[[Any], Any]) -> None:
    mesh = shaken(BOXES[cell])
    assembled = matrix(vector_basis(mesh, cell)).toarray()
    scale = np.abs(assembled).max()
    np.testing.assert_allclose(assembled, assembled.T, atol=1e-14 * scale)
    np.testing.assert_allclose(assembled @ rigid_motions(mesh.p.T), 0, atol=1e-13 * scale)


@pytest.mark.parametrize("cell", BOXES)
def test_matrices_are_symmetric_exact_and_blind_to_rigid_motions_alone(cell: str) -> None:
    """3 zero eigenvalues in 2D and 6 in 3D: no hourglass modes from too few quadrature points."""
    size = BOXES[cell].size
    basis = vector_basis(make_shape(BoxShape(size, (1,) * len(size), cell=cell)), cell)
    values = np.linalg.eigvalsh((lame_matrix(basis) + shear_matrix(basis)).toarray())
    assert np.count_nonzero(values < 1e-9 * values[-1]) == (3 if cell in ("triangle", "quad") else 6)
    # u = H x gives u' J_lambda u = V (tr H)^2 and u' J_mu u = V 2 sym(H):sym(H).
    mesh = shaken(BOXES[cell])
    basis, d = vector_basis(mesh, cell), mesh.dim()
    gradient = np.random.default_rng(1).normal(size=(d, d))
    strain, volume = 0.5 * (gradient + gradient.T), np.prod(BOXES[cell].size)
    u = (mesh.p.T @ gradient.T).ravel()
    assert u @ lame_matrix(basis) @ u == pytest.approx(volume * np.trace(gradient) ** 2, rel=1e-12)
    assert u @ shear_matrix(basis) @ u == pytest.approx(2 * volume * np.sum(strain**2), rel=1e-12)


def unit_triangle() -> Any:
    return build_mesh("triangle", np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), np.array([[0], [1], [2]]))


def test_unit_right_triangle() -> None:
    """Spec 2.1: Jl = 1/2 d d', Jm = 1/2 (2 p p' + 2 q q' + s s')."""
    basis, p, q = vector_basis(unit_triangle(), "triangle"), [-1, 0, 1, 0, 0, 0], [0, -1, 0, 0, 0, 1]
    d, s = np.add(p, q), [-1, -1, 0, 1, 1, 0]
    shear = np.outer(p, p) + np.outer(q, q) + 0.5 * np.outer(s, s)
    np.testing.assert_allclose(lame_matrix(basis).toarray(), 0.5 * np.outer(d, d), atol=1e-15)
    np.testing.assert_allclose(shear_matrix(basis).toarray(), shear, atol=1e-15)
    # |T|/12 times (2 on the diagonal, 1 beside it), for each component.
    expected = np.kron((np.ones((3, 3)) + np.eye(3)) / 24, np.eye(2))
    np.testing.assert_allclose(mass_matrix(unit_triangle(), "triangle").toarray(), expected, atol=1e-16)


@pytest.mark.parametrize("cell", ["line", *BOXES])
def test_mass_and_nodal_strain_of_linear_fields(cell: str) -> None:
    """u' M u is the integral of u.u; for u = (x, ...) checked by refined quadrature of the shape itself."""
    mesh = make_shape(BoxShape((2.0,), (5,))) if cell == "line" else shaken(BOXES[cell])
    d = mesh.dim()
    mass = mass_matrix(mesh, cell)
    sizes = np.array([2.0, 1.0, 0.8][:d])
    ones = np.tile(np.eye(d)[0], mesh.p.shape[1])
    along = (mesh.p.T * np.eye(d)[0]).ravel()
    assert ones @ mass @ ones == pytest.approx(sizes.prod(), rel=1e-13)
    assert along @ mass @ along == pytest.approx(sizes.prod() * sizes[0] ** 2 / 3, rel=1e-12)
    np.testing.assert_allclose(mass.toarray(), mass.toarray().T, atol=1e-15)
    d, nodes = mesh.p.shape
    gradient = np.random.default_rng(2).normal(size=(d, d))
    strain = np.zeros((3, 3))
    strain[:d, :d] = 0.5 * (gradient + gradient.T)
    space = body_space(mesh, cell, 1)
    found = space.averaging @ (space.strain @ (mesh.p.T @ gradient.T).ravel()).reshape(-1, 6)
    expected = [strain[pair] for pair in ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))]
    np.testing.assert_allclose(found, np.tile(expected, (nodes, 1)), atol=1e-12)


def quarter_ring(radial: int, around: int) -> MeshTri2:
    straight = MeshTri.init_tensor(np.linspace(1.0, 2.0, radial + 1), np.linspace(0.0, np.pi / 2, around + 1))
    mesh = MeshTri2.from_mesh(straight)
    r, angle = mesh.doflocs
    return MeshTri2(np.stack([r * np.cos(angle), r * np.sin(angle)]), mesh.t)


def test_curved_triangles_keep_rigid_motions_and_nodal_strain_weighs_by_volume() -> None:
    """Isoparametric maps carry linear fields: no force from rigid motions, rational integrands or not."""
    mesh = quarter_ring(2, 3)
    basis = vector_basis(mesh, "triangle", 2)
    points = basis.doflocs[:, ::2].T
    for matrix in (lame_matrix, shear_matrix):
        assembled = matrix(basis)
        np.testing.assert_allclose(assembled @ rigid_motions(points), 0, atol=1e-12 * np.abs(assembled.data).max())
    # Two bar elements of length 1 and 3 with strains 1 and 0: the middle node has 1/4.
    mesh = build_mesh("line", np.array([[0.0, 1.0, 4.0]]), np.array([[0, 1], [1, 2]]))
    space = body_space(mesh, "line", 1)
    found = space.averaging @ (space.strain @ np.array([0.0, 1.0, 1.0])).reshape(-1, 6)
    np.testing.assert_allclose(found[:, 0], [1.0, 0.25, 0.0], atol=1e-15)


@pytest.mark.parametrize("cell", ["triangle", "quad", "tet", "hex"])
def test_quadratic_matrices_are_blind_to_nothing_but_rigid_motions(cell: str) -> None:
    """3 or 6 zero eigenvalues, exact energy of quadratic fields: the quadrature is full."""
    size = BOXES[cell].size
    mesh = make_shape(BoxShape(size, (1,) * len(size), cell=cell))
    basis, d = vector_basis(mesh, cell, 2), len(size)
    lame, shear = lame_matrix(basis), shear_matrix(basis)
    values = np.linalg.eigvalsh((lame + shear).toarray())
    assert np.count_nonzero(values < 1e-9 * values[-1]) == (3 if d == 2 else 6)
    points = basis.doflocs[:, ::d].T
    u = np.zeros_like(points)
    u[:, 0] = points[:, 0] * points[:, 1]
    volume, (a, b) = np.prod(size), size[:2]
    # e_xx = y, g_xy = x: int y^2 and int (2 y^2 + x^2)
    assert u.ravel() @ lame @ u.ravel() == pytest.approx(volume * b**2 / 3, rel=1e-12)
    assert u.ravel() @ shear @ u.ravel() == pytest.approx(volume * (2 * b**2 + a**2) / 3, rel=1e-12)
