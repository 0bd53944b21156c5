"""Every pair of displacement and pressure spaces: numbering, patch test, and the two ways to use it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import block_array
from scipy.sparse.linalg import splu
from skfem import Basis

from rheotwin.errors import RheotwinError
from rheotwin.fem.incompressible import FORMULATIONS, MixedForm, mixed_form
from rheotwin.fem.space import lame_matrix, shear_matrix
from rheotwin.meshing.box import hex_grid, quad_grid, tet_grid, triangle_grid
from rheotwin.meshing.cells import build_mesh
from rheotwin.validation.checks.running import ELASTIC, box_scene, path, run_to, side, start

Array = np.ndarray
ALL = [(name, cell) for name, cells in FORMULATIONS.items() for cell in cells]
PAIRS = pytest.mark.parametrize(("name", "cell"), ALL)
GRIDS: dict[str, Callable[[], Any]] = {
    "triangle": lambda: triangle_grid(*[np.linspace(1.0, 2.0, 5)] * 2),
    "quad": lambda: quad_grid(*[np.linspace(1.0, 2.0, 5)] * 2),
    "tet": lambda: tet_grid(*[np.linspace(1.0, 2.0, 4)] * 3, split="six"),
    "hex": lambda: hex_grid(*[np.linspace(1.0, 2.0, 4)] * 3),
}


def distorted(cell: str) -> Any:
    """Return a mesh of the unit box at (1, ...) whose inner nodes are moved; hexahedra keep flat faces."""
    mesh = GRIDS[cell]()
    points = mesh.p.copy()
    if cell == "hex":
        return build_mesh(cell, points + 0.2 * points[[1, 2, 0]], mesh.t)
    inner = np.setdiff1d(np.arange(points.shape[1]), mesh.boundary_nodes())
    points[:, inner] += 0.05 * np.random.default_rng(0).uniform(-1, 1, (len(points), len(inner)))
    return build_mesh(cell, points, mesh.t)


def linear(basis: Basis, matrix: Array) -> Array:
    """The displacement u = H x: nodal values, no bubbles."""
    values = (matrix @ basis.doflocs[:, :: len(matrix)]).T.copy()
    if "Mini" in type(basis.elem.elem).__name__ or "P1B" in type(basis.elem.elem).__name__:
        values[basis.mesh.p.shape[1] :] = 0.0
    return values.ravel()


def slope(d: int) -> Array:
    return np.random.default_rng(3).standard_normal((d, d))


def inner_components(basis: Basis) -> Array:
    return np.setdiff1d(np.arange(basis.N), basis.get_dofs().all())


@PAIRS
def test_unknowns_are_node_major_and_uniform_strains_uniform(name: str, cell: str) -> None:
    mesh = distorted(cell)
    basis = mixed_form(mesh, cell, name).basis
    d, vertices = mesh.p.shape
    assert basis.N % d == 0
    np.testing.assert_array_equal(basis.nodal_dofs, np.arange(d * vertices).reshape(vertices, d).T)
    rows = basis.doflocs.reshape(d, -1, d)
    np.testing.assert_array_equal(rows, np.repeat(rows[:, :, :1], d, axis=2))
    np.testing.assert_allclose(rows[:, :vertices, 0], mesh.p)
    mesh = distorted(cell)
    form = mixed_form(mesh, cell, name, ratio=50.0)
    matrix = slope(len(mesh.p))
    tensors = form.tensors(linear(form.basis, matrix))
    assert tensors.shape == (form.basis.dx.size, 6)
    np.testing.assert_allclose(tensors[:, :3].sum(axis=1), np.trace(matrix), rtol=1e-11)
    assert not tensors[:, 3:].any()


@pytest.mark.parametrize(("name", "cell"), [pair for pair in ALL if pair[1] in ("triangle", "quad")])
def test_the_hoop_strain_belongs_to_the_volume_strain_of_a_ring(name: str, cell: str) -> None:
    form = mixed_form(distorted(cell), cell, name, ratio=50.0, axisymmetric=True)
    theta = form.volume_strain(linear(form.basis, np.diag([0.3, -0.1])))
    np.testing.assert_allclose(form.values @ theta, 0.5, rtol=1e-11)


@PAIRS
def test_patch_test(name: str, cell: str) -> None:
    form = mixed_form(distorted(cell), cell, name, ratio=50.0)
    u = linear(form.basis, slope(form.basis.mesh.dim()))
    force = 2.0 * (shear_matrix(form.basis) @ u) + 100.0 * form.force(u)
    inner = inner_components(form.basis)
    assert np.abs(force[inner]).max() < 1e-11 * np.abs(force).max()


@PAIRS
def test_pressure_rows_stand_for_the_volume_matrix(name: str, cell: str) -> None:
    form = mixed_form(distorted(cell), cell, name, ratio=7.0)
    inner = inner_components(form.basis)
    stiffness = shear_matrix(form.basis)
    rows = np.concatenate([inner, form.basis.N + np.arange(form.mass.shape[0])])
    right = np.zeros(form.basis.N)
    right[inner] = np.random.default_rng(0).standard_normal(len(inner))
    blocks = [[stiffness, form.gradient.T], [form.gradient, -form.mass / 7.0]]
    system = block_array(blocks, format="csr")[rows][:, rows].tocsc()
    solution = splu(system).solve(np.concatenate([right[inner], np.zeros(form.mass.shape[0])]))
    u = np.zeros(form.basis.N)
    u[inner] = solution[: len(inner)]
    np.testing.assert_allclose((stiffness @ u + 7.0 * form.force(u) - right)[inner], 0.0, atol=1e-11)
    np.testing.assert_allclose(solution[len(inner) :], 7.0 * form.volume_strain(u), atol=1e-11)


@PAIRS
def test_condensed_matrix_or_the_reason_why_not(name: str, cell: str) -> None:
    form = mixed_form(distorted(cell), cell, name)
    if name in ("taylor-hood", "mini", "stabilized"):
        with pytest.raises(RheotwinError, match=f"'{name}'.*dense"):
            form.condensed()
        return
    u = np.random.default_rng(0).standard_normal(form.basis.N)
    np.testing.assert_allclose(form.condensed() @ u, form.force(u), atol=1e-12)


@PAIRS
def test_the_deviator_stores_no_negative_energy(name: str, cell: str) -> None:
    # int theta^2 <= int div(u)^2, hence J_mu - (2/3) J_vol >= J_mu - (2/3) J_lambda >= 0
    form = mixed_form(distorted(cell), cell, name, ratio=50.0)
    u = np.random.default_rng(0).standard_normal(form.basis.N)
    assert 0.0 < float(u @ form.force(u)) <= float(u @ (lame_matrix(form.basis) @ u)) * (1.0 + 1e-12)


def volume_matrix(form: MixedForm) -> Array:
    return np.column_stack([form.force(column) for column in np.eye(form.basis.N)])


def test_one_pressure_per_triangle_and_the_stabilized_pair() -> None:
    form = mixed_form(distorted("triangle"), "triangle", "element")
    np.testing.assert_allclose(form.condensed().toarray(), lame_matrix(form.basis).toarray(), atol=1e-13)
    mesh = distorted("triangle")
    plain = volume_matrix(mixed_form(mesh, "triangle", "stabilized"))
    penalised = volume_matrix(mixed_form(mesh, "triangle", "stabilized", ratio=10.0))
    gap = np.linalg.eigvalsh(plain - penalised)
    # the penalty only softens
    assert gap.min() > -1e-13 and gap.max() > 1e-2


@pytest.mark.parametrize(
    ("name", "cell", "remedy"),
    [("mini", "quad", "taylor-hood, b-bar"), ("b-bar", "tet", "taylor-hood, mini"), ("node", "line", "two or three")],
)
def test_a_formulation_on_the_wrong_cells_is_refused(name: str, cell: str, remedy: str) -> None:
    with pytest.raises(RheotwinError, match=f"'{name}' does not exist on {cell} cells.*{remedy}"):
        mixed_form(None, cell, name)


@pytest.mark.parametrize("formulation", ["taylor-hood", "mini", "stabilized", "node", "cell"])
def test_a_confined_block_has_hookes_stress(formulation: str) -> None:
    """A lid pushed in by e, nothing else gives way: s_yy = (lambda + 2 mu) e, s_xx = lambda e."""
    supports = {name: side(name, fix=[axis]) for name, axis in (("left", "x"), ("right", "x"), ("bottom", "y"))}
    supports["top"] = side("top", fix=["y"], motion=path([0.0, 1.0], [[0.0, 0.0], [0.0, -0.01]]))
    data = box_scene(ELASTIC, size=[1.0, 1.0], cells=[2, 2], duration=1.0, supports=supports)
    stress = run_to(start(data, step=1.0, formulation=formulation), 1.0).fields()["stress"][:, :2]
    lame, shear = 259.25925926, 111.11111111
    np.testing.assert_allclose(stress, np.tile([-0.01 * lame, -0.01 * (lame + 2.0 * shear)], (9, 1)), rtol=1e-7)
