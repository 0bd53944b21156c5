"""Geometric matrices against the hand formula J = sum |T| B' I_X B (spec 2.1), and the strain operator."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from skfem import FacetBasis, LinearForm, MeshTri, MeshTri2, condense, solve
from skfem.helpers import dot

from rheotwin.fem.forms import lame_matrix, mass_matrix, shear_matrix, vector_basis
from rheotwin.fem.space import body_space
from rheotwin.meshing import BoxShape, build_mesh, element_measures, make_shape

Array = np.ndarray

FIGURE = BoxShape((80.0, 30.0), (16, 6))
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


def hand_matrices(mesh: Any) -> tuple[Array, Array]:
    """J_lambda and J_mu of linear simplices, element by element: |T| B' I B with engineering shear."""
    d, nodes = mesh.p.shape
    pairs = [(0, 1)] if d == 2 else [(0, 1), (1, 2), (0, 2)]
    lame, shear = np.zeros((2, d * nodes, d * nodes))
    ones = np.zeros((d + len(pairs), d + len(pairs)))
    ones[:d, :d] = 1.0
    twos = np.diag([2.0] * d + [1.0] * len(pairs))
    for cell in mesh.t.T:
        corners = np.vstack([np.ones(d + 1), mesh.p[:, cell]])
        gradients = np.linalg.inv(corners)[:, 1:]
        volume = abs(np.linalg.det(corners)) / (2 if d == 2 else 6)
        b = np.zeros((d + len(pairs), d * (d + 1)))
        for corner, gradient in enumerate(gradients):
            for axis in range(d):
                b[axis, corner * d + axis] = gradient[axis]
            for row, (i, j) in enumerate(pairs, start=d):
                b[row, corner * d + i], b[row, corner * d + j] = gradient[j], gradient[i]
        dofs = np.add.outer(cell * d, np.arange(d)).ravel()
        lame[np.ix_(dofs, dofs)] += volume * b.T @ ones @ b
        shear[np.ix_(dofs, dofs)] += volume * b.T @ twos @ b
    return lame, shear


def rigid_motions(points: Array) -> Array:
    """Columns: translations and infinitesimal rotations, node-major."""
    d = points.shape[1]
    moves = [np.tile(axis, (len(points), 1)) for axis in np.eye(d)]
    for i in range(d):
        for j in range(i):
            turn = np.zeros((d, d))
            turn[i, j], turn[j, i] = 1.0, -1.0
            moves.append(points @ turn.T)
    return np.stack([move.ravel() for move in moves], axis=1)


@pytest.mark.parametrize(
    "mesh",
    [make_shape(FIGURE), shaken(BOXES["triangle"]), shaken(BOXES["tet"])],
    ids=["the papers' mesh", "random triangles", "random tets"],
)
def test_simplices_equal_the_hand_formula(mesh: Any) -> None:
    """R1: the difference is rounding (the spec finds exactly 0 on squares of 5)."""
    basis = vector_basis(mesh, "triangle" if mesh.dim() == 2 else "tet")
    for assembled, by_hand in zip((lame_matrix(basis), shear_matrix(basis)), hand_matrices(mesh), strict=True):
        np.testing.assert_allclose(assembled.toarray(), by_hand, atol=2e-14 * np.abs(by_hand).max(), rtol=0)


@pytest.mark.parametrize("cell", BOXES)
@pytest.mark.parametrize("matrix", [lame_matrix, shear_matrix])
def test_symmetric_and_blind_to_rigid_motions(cell: str, matrix: Callable[[Any], Any]) -> None:
    mesh = shaken(BOXES[cell])
    assembled = matrix(vector_basis(mesh, cell)).toarray()
    scale = np.abs(assembled).max()
    np.testing.assert_allclose(assembled, assembled.T, atol=1e-14 * scale)
    np.testing.assert_allclose(assembled @ rigid_motions(mesh.p.T), 0, atol=1e-13 * scale)


@pytest.mark.parametrize("cell", BOXES)
def test_nothing_but_rigid_motions_is_free(cell: str) -> None:
    """3 zero eigenvalues in 2D and 6 in 3D: no hourglass modes from too few quadrature points."""
    size = BOXES[cell].size
    basis = vector_basis(make_shape(BoxShape(size, (1,) * len(size), cell=cell)), cell)
    values = np.linalg.eigvalsh((lame_matrix(basis) + shear_matrix(basis)).toarray())
    assert np.count_nonzero(values < 1e-9 * values[-1]) == (3 if cell in ("triangle", "quad") else 6)


@pytest.mark.parametrize("cell", ["quad", "hex"])
def test_energy_of_linear_fields_is_exact_on_distorted_cells(cell: str) -> None:
    """u = H x gives u' J_lambda u = V (tr H)^2 and u' J_mu u = V 2 sym(H):sym(H)."""
    mesh = shaken(BOXES[cell])
    basis, d = vector_basis(mesh, cell), mesh.dim()
    gradient = np.random.default_rng(1).normal(size=(d, d))
    strain, volume = 0.5 * (gradient + gradient.T), element_measures(mesh).sum()
    u = (mesh.p.T @ gradient.T).ravel()
    assert u @ lame_matrix(basis) @ u == pytest.approx(volume * np.trace(gradient) ** 2, rel=1e-12)
    assert u @ shear_matrix(basis) @ u == pytest.approx(2 * volume * np.sum(strain**2), rel=1e-12)


DIVERGENCE = np.array([-1.0, -1.0, 1.0, 0.0, 0.0, 1.0])
EXTENSION_X = np.array([-1.0, 0.0, 1.0, 0.0, 0.0, 0.0])
EXTENSION_Y = np.array([0.0, -1.0, 0.0, 0.0, 0.0, 1.0])
SHEAR = np.array([-1.0, -1.0, 0.0, 1.0, 1.0, 0.0])
UNIT_LAME = 0.5 * np.outer(DIVERGENCE, DIVERGENCE)
UNIT_SHEAR = 0.5 * (
    2 * np.outer(EXTENSION_X, EXTENSION_X) + 2 * np.outer(EXTENSION_Y, EXTENSION_Y) + np.outer(SHEAR, SHEAR)
)


def unit_triangle() -> Any:
    return build_mesh("triangle", np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), np.array([[0], [1], [2]]))


def test_unit_right_triangle() -> None:
    """Spec 2.1: Jl = 1/2 d d', Jm = 1/2 (2 p p' + 2 q q' + s s')."""
    basis = vector_basis(unit_triangle(), "triangle")
    np.testing.assert_allclose(lame_matrix(basis).toarray(), UNIT_LAME, atol=1e-15)
    np.testing.assert_allclose(shear_matrix(basis).toarray(), UNIT_SHEAR, atol=1e-15)


def test_the_misprinted_matrix_is_not_symmetric() -> None:
    """E17: four printed entries (times 1/2) of J_lambda for the nodes 0, 1, 3 are wrong; symmetry tells."""
    printed = UNIT_LAME.copy()
    for place, value in {(2, 1): 0.0, (3, 0): -1.0, (3, 5): 1.0, (5, 3): 1.0}.items():
        assert printed[place] != 0.5 * value
        printed[place] = 0.5 * value
    assert not np.allclose(printed, printed.T)


@pytest.mark.parametrize("n", [1, 4])
def test_bar_is_tridiagonal(n: int) -> None:
    """E12: J = (1/h) tridiag(-1, 2, -1) with corners 1, as many rows as nodes."""
    mesh = make_shape(BoxShape((2.0,), (n,)))
    expected = 2 * np.eye(n + 1) - np.eye(n + 1, k=1) - np.eye(n + 1, k=-1)
    expected[0, 0] = expected[-1, -1] = 1.0
    np.testing.assert_allclose(lame_matrix(vector_basis(mesh, "line")).toarray(), expected * n / 2.0, atol=1e-13)


@pytest.mark.parametrize("cell", ["line", *BOXES])
def test_mass_integrates_products_of_linear_fields(cell: str) -> None:
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


def test_consistent_mass_of_one_triangle() -> None:
    """|T|/12 times (2 on the diagonal, 1 beside it), for each component."""
    expected = np.kron((np.ones((3, 3)) + np.eye(3)) / 24, np.eye(2))
    np.testing.assert_allclose(mass_matrix(unit_triangle(), "triangle").toarray(), expected, atol=1e-16)


@pytest.mark.parametrize("cell", ["line", *BOXES])
def test_nodal_strain_is_exact_on_linear_fields(cell: str) -> None:
    mesh = make_shape(BoxShape((2.0,), (5,))) if cell == "line" else shaken(BOXES[cell])
    d, nodes = mesh.p.shape
    gradient = np.random.default_rng(2).normal(size=(d, d))
    strain = np.zeros((3, 3))
    strain[:d, :d] = 0.5 * (gradient + gradient.T)
    space = body_space(mesh, cell, 1)
    found = space.averaging @ (space.strain @ (mesh.p.T @ gradient.T).ravel()).reshape(-1, 6)
    expected = [strain[pair] for pair in ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))]
    np.testing.assert_allclose(found, np.tile(expected, (nodes, 1)), atol=1e-12)


def test_nodal_strain_weighs_elements_by_volume() -> None:
    """Two bar elements of length 1 and 3 with strains 1 and 0: the middle node has 1/4."""
    mesh = build_mesh("line", np.array([[0.0, 1.0, 4.0]]), np.array([[0, 1], [1, 2]]))
    space = body_space(mesh, "line", 1)
    found = space.averaging @ (space.strain @ np.array([0.0, 1.0, 1.0])).reshape(-1, 6)
    np.testing.assert_allclose(found[:, 0], [1.0, 0.25, 0.0], atol=1e-15)


def quarter_ring(radial: int, around: int) -> MeshTri2:
    """Quadratic triangles between the radii 1 and 2, first quadrant, with midpoints on the circles."""
    straight = MeshTri.init_tensor(np.linspace(1.0, 2.0, radial + 1), np.linspace(0.0, np.pi / 2, around + 1))
    mesh = MeshTri2.from_mesh(straight)
    r, angle = mesh.doflocs
    return MeshTri2(np.stack([r * np.cos(angle), r * np.sin(angle)]), mesh.t)


def ring_error(radial: int, around: int) -> float:
    """Largest error of |u| relative to u(a) for inner pressure 1 at the instant of loading (T5, K = 1000, mu = 100)."""
    bulk, shear, inner, outer = 1000.0, 100.0, 1.0, 2.0
    mesh = quarter_ring(radial, around)
    basis = vector_basis(mesh, "triangle", 2)
    stiffness = (bulk - 2 / 3 * shear) * lame_matrix(basis) + shear * shear_matrix(basis)
    bore = mesh.facets_satisfying(lambda x: np.hypot(*x) < 1.0 + 1e-2, boundaries_only=True)
    surface = FacetBasis(mesh, basis.elem, facets=bore, intorder=4)
    force = LinearForm(lambda v, w: -dot(w.n, v)).assemble(surface)
    x, y = basis.doflocs
    fixed = np.flatnonzero(
        ((np.abs(y) < 1e-12) & (np.arange(basis.N) % 2 == 1)) | ((np.abs(x) < 1e-12) & (np.arange(basis.N) % 2 == 0))
    )
    u = solve(*condense(stiffness, force, D=fixed)).reshape(-1, 2)
    r = np.hypot(x, y)[::2]
    share = inner**2 / (outer**2 - inner**2)
    exact = share * (0.5 * r / (bulk + shear / 3) + outer**2 / (2 * shear * r))
    return float(np.abs(np.linalg.norm(u, axis=1) - exact).max() / exact.max())


def test_curved_quadratic_triangles() -> None:
    """A2: the thick cylinder within 6e-4 on 8 x 16 isoparametric cells, with order 2.7 or more in the largest error."""
    errors = [ring_error(4, 8), ring_error(8, 16)]
    assert errors[1] < 6e-4
    assert np.log2(errors[0] / errors[1]) >= 2.7


@pytest.mark.parametrize("mesh", [quarter_ring(2, 3)], ids=["curved"])
def test_curved_triangles_keep_rigid_motions(mesh: MeshTri2) -> None:
    """Isoparametric maps carry linear fields: no force from rigid motions, rational integrands or not."""
    basis = vector_basis(mesh, "triangle", 2)
    points = basis.doflocs[:, ::2].T
    for matrix in (lame_matrix, shear_matrix):
        assembled = matrix(basis)
        np.testing.assert_allclose(assembled @ rigid_motions(points), 0, atol=1e-12 * np.abs(assembled.data).max())


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
