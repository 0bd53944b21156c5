"""Every linear solver finds the same answer, says what it is, and refuses what it cannot do."""

import shutil
import subprocess
import sys
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from scipy.sparse import block_array, csr_matrix, diags, random_array
from skfem import Basis, BilinearForm, ElementTriP1, ElementTriP2, ElementVector, MeshTri
from skfem.helpers import ddot, div, sym_grad

from rheotwin.errors import InputFaults, RheotwinError
from rheotwin.fem.linear import PARDISO_PAYS, SingularMatrix, Unknowns, choose, factorise, selection
from rheotwin.validation.checks.running import ELASTIC, box_scene, path, run_to, side, start
from rheotwin.validation.checks.scenes import press_scene

HAS = {
    "splu": True,
    "pardiso": selection.pardiso_installed(),
    "amg": True,
    "cholmod": bool(find_spec("sksparse") or find_spec("cvxopt")),
}
BACKENDS = [pytest.param(name, marks=pytest.mark.skipif(not there, reason="absent")) for name, there in HAS.items()]
PIVOTING = [backend for backend in BACKENDS if backend.values[0] in ("splu", "pardiso")]


@pytest.mark.parametrize("rollers", [False, True])
@pytest.mark.parametrize("name", BACKENDS)
def test_definite_systems(name: Any, rollers: bool, block: Any) -> None:
    """Rollers leave nodes with some components held, whose blocks multigrid has to fill up."""
    body = block(5, rollers=rollers)
    factor = factorise(body.matrix, name, nodes=Unknowns(body.points, body.free), tolerance=1e-13)
    expected = np.random.default_rng(2).normal(size=(body.matrix.shape[0], 3))
    loads = body.matrix @ expected
    # The error is the condition number (below 1e4 here) times the residual: 1e-13 for amg, rounding for the others.
    for answer, wanted in (
        (factor.solve(loads), expected),
        (factor.solve(loads[:, 0]), expected[:, 0]),
        (factor.solve(np.asfortranarray(loads)[:, 1:]), expected[:, 1:]),
    ):
        assert answer.shape == wanted.shape
        np.testing.assert_allclose(answer, wanted, atol=1e-9)
    assert factor.solver == name
    assert factor.stored > 0 or name == "cholmod"
    assert factor.setup_seconds > 0.0 and (factor.iterations > 0) == (name == "amg")
    assert factor.describe()["linear_solver"] == name


@pytest.fixture
def saddle() -> csr_matrix:
    """Taylor-Hood elements for an incompressible square held at its edge but for the top: zero diagonal block."""
    mesh = MeshTri().refined(3)
    u = Basis(mesh, ElementVector(ElementTriP2()))
    p = u.with_element(ElementTriP1())
    stiffness = BilinearForm(lambda a, b, w: 2.0 * ddot(sym_grad(a), sym_grad(b))).assemble(u)
    gradient = BilinearForm(lambda a, q, w: div(a) * q).assemble(u, p)
    held = u.get_dofs(lambda x: np.isclose(x[1], 0.0)).all()
    free = np.setdiff1d(np.arange(u.N), held)
    coupling = gradient.tocsr()[:, free]
    return block_array([[stiffness.tocsr()[free][:, free], coupling.T], [coupling, None]], format="csr")


@pytest.mark.parametrize("name", PIVOTING)
def test_indefinite_systems_and_pivots_of_zero(name: Any, saddle: csr_matrix) -> None:
    factor = factorise(saddle, name, kind="indefinite")
    expected = np.random.default_rng(3).normal(size=(saddle.shape[0], 2))
    np.testing.assert_allclose(factor.solve(saddle @ expected), expected, atol=1e-9)
    np.testing.assert_allclose(factor.solve(saddle @ expected[:, 1]), expected[:, 1], atol=1e-9)
    # Without pivoting the first row divides by next to nothing and takes all digits along.
    matrix = csr_matrix(np.array([[1e-17, 2.0, 1.0], [2.0, 1e-17, 0.0], [1.0, 0.0, 4.0]]))
    expected = np.array([1.0, -2.0, 3.0])
    factor = factorise(matrix, name, kind="indefinite")
    np.testing.assert_allclose(factor.solve(matrix @ expected), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "words"),
    [("amg", "amg needs to know where unknowns live.* choose"), ("cholmod", "definite matrices only")],
)
def test_solvers_of_definite_systems_refuse_others(name: Any, words: str, saddle: csr_matrix) -> None:
    with pytest.raises(RheotwinError, match=words):
        factorise(saddle, name, kind="indefinite")


def test_unsymmetric_and_turned_tangents_by_multigrid_and_what_takes_over(block: Any) -> None:
    """A skew part of a dashpot, and a symmetric matrix with a few negative eigenvalues; noise is left to a factor."""
    body, random = block(6), np.random.default_rng(0)
    nodes, expected = Unknowns(body.points, body.free), np.random.default_rng(1).normal(size=len(body.free))
    skew = csr_matrix(0.1 * (np.triu(body.matrix.toarray()) - np.tril(body.matrix.toarray())))
    dip = np.zeros(len(body.free))
    dip[:3] = -1.2 * body.matrix.diagonal()[:3]
    for matrix, kind in ((body.matrix + skew, "unsymmetric"), (body.matrix + diags(dip), "indefinite")):
        factor = factorise(csr_matrix(matrix), "amg", kind=kind, nodes=nodes)  # type: ignore[arg-type]
        np.testing.assert_allclose(factor.solve(matrix @ expected), expected, atol=1e-6)
        assert 5 < factor.iterations < 120
        direct = factorise(csr_matrix(matrix), "splu", kind=kind)  # type: ignore[arg-type]
        np.testing.assert_allclose(direct.solve(matrix @ expected), expected, atol=1e-9)
    noise = csr_matrix(body.matrix + 20.0 * random_array(body.matrix.shape, density=0.02, random_state=random))
    with pytest.warns(UserWarning, match="multigrid does not converge .* takes over"):
        answer = factorise(noise, "amg", kind="unsymmetric", nodes=nodes).solve(noise @ expected)
    np.testing.assert_allclose(answer, expected, atol=1e-8)


@pytest.mark.parametrize("formulation", ["taylor-hood", "stabilized", "mini"])
def test_minimal_residuals_near_constant_volume_find_the_forces_of_a_factor(formulation: str) -> None:
    """The count hardly knows the bulk modulus (K over mu is 50 and 5,000); at 5e6 a factor is taken, and said."""
    press = {"low": side("bottom"), "top": side("top", motion=path([0.0, 1.0], [[0.0] * 3, [0.0, 0.0, -0.05]]))}
    counts = []
    for poisson in (0.49, 0.4999, 0.4999999):
        data = box_scene(ELASTIC | {"poisson": poisson}, cells=[3, 3, 2], cell="tet", supports=press)
        forces = {}
        for name in ("splu", "amg"):
            options = {"formulation": formulation, "stepper": "static", "step": 1.0, "linear_solver": name}
            simulation = run_to(start(data, **options), 1.0)
            forces[name] = simulation.reactions()["support.top"]
        digits = 1e-7 if poisson < 0.49999 else 1e-4  # pardiso perturbs pivots
        np.testing.assert_allclose(forces["amg"], forces["splu"], atol=digits * np.abs(forces["splu"]).max())
        counts.append(simulation.statistics()["linear_solver_iterations"])
    assert 0 < counts[1] < 2.5 * counts[0] and counts[2] == 0
    assert "so stiff" in simulation.statistics()["linear_solver_reason"]


def diagonal(size: int) -> csr_matrix:
    return diags(np.arange(1.0, size + 1.0)).tocsr()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("cholmod", r"cholmod is not installed.* or choose splu"),
        ("petsc", r"petsc4py is not installed.*choose amg"),
        ("pardiso", r'pardiso is not installed; pip install "rheotwin\[pardiso\]" or .*splu'),
    ],
)
def test_missing_packages_are_said_in_words(name: Any, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("cvxopt", "sksparse", "pypardiso", "petsc4py"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(RheotwinError, match=words):
        factorise(diagonal(3), name)
    assert factorise(diagonal(PARDISO_PAYS + 1), "auto").solver == "splu"


def test_two_factors_live_side_by_side_and_the_choice_is_reported(block: Any) -> None:
    body, first = block(2), diagonal(200)
    factors = factorise(first), factorise(body.matrix)
    for factor, matrix in zip(factors, (first, body.matrix), strict=True):
        ones = np.ones(matrix.shape[0])
        np.testing.assert_allclose(factor.solve(matrix @ ones), ones, atol=1e-12)
    factor = factorise(block(2).matrix)
    assert factor.solver == "splu" and "are few" in factor.describe()["linear_solver_reason"]
    assert factorise(block(2).matrix, "splu").reason == "asked for"
    with pytest.raises(SingularMatrix, match="add supports"):
        factorise(diags(np.array([1.0, 0.0, 2.0])).tocsr(), "splu")
    with pytest.raises(RheotwinError, match="no solver 'umfpack'; choose auto, splu, pardiso, cholmod, amg, petsc"):
        factorise(diagonal(3), "umfpack")  # type: ignore[arg-type]
    with pytest.raises(InputFaults, match=r"solvers\.fem\.linear_solver: .*auto, splu, pardiso, cholmod, amg or petsc"):
        start(press_scene(ELASTIC), linear_solver="umfpack")


def test_auto_takes_pardiso_for_large_systems_only() -> None:
    """On 238 unknowns a pardiso solve takes 20 to 40 times as long as SuperLU's, on 15,000 they are even."""
    pytest.importorskip("pypardiso")
    assert factorise(diagonal(200)).solver == "splu"
    large = factorise(diagonal(PARDISO_PAYS + 1))
    assert large.solver == "pardiso"
    np.testing.assert_allclose(large.solve(np.ones(PARDISO_PAYS + 1))[:2], [1.0, 0.5], rtol=1e-14)


@pytest.mark.parametrize("name", BACKENDS)
def test_a_floating_body_is_singular(name: Any, block: Any) -> None:
    """Without supports the matrix has six zero eigenvalues up to rounding."""
    body = block(3, held=False)
    with pytest.raises(RheotwinError, match="support"):
        factor = factorise(body.matrix, name, nodes=Unknowns(body.points, body.free))
        factor.solve(np.random.default_rng(0).normal(size=len(body.free)))


@pytest.mark.parametrize(
    ("unknowns", "dimension", "kind", "alone", "with_pardiso"),
    [
        (500, 3, "spd", "splu", "splu"),
        (20_000, 2, "spd", "splu", "splu"),
        (40_000, 2, "spd", "splu", "pardiso"),
        (10**6, 1, "spd", "splu", "splu"),
        (20_000, 3, "spd", "amg", "pardiso"),
        (59_000, 3, "spd", "amg", "amg"),
        (200_000, 3, "indefinite", "amg", "amg"),
        (200_000, 3, "unsymmetric", "amg", "amg"),
        (200_000, None, "spd", "splu", "pardiso"),
        (200_000, 2, "spd", "splu", "pardiso"),
    ],
)
def test_choice_by_size(
    unknowns: int, dimension: Any, kind: Any, alone: str, with_pardiso: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for there, expected in ((False, alone), (True, with_pardiso)):
        monkeypatch.setattr(selection, "pardiso_installed", lambda there=there: there)
        name, reason = choose(unknowns, dimension, kind)
        assert name == expected and str(unknowns) in reason


SHARED = """
import numpy as np
from skfem import MeshTet
from rheotwin.fem.fast.solids import SolidStiffness
from rheotwin.fem.linear import Unknowns, factorise
from rheotwin.fem.space import body_space

space = body_space(MeshTet.init_tensor(*[np.linspace(0.0, 1.0, 7)] * 3), "tet", 1)
ones, free = np.ones(space.mesh.nelements), np.flatnonzero(np.repeat(space.points[:, 2] > 0.0, 3))
matrix, nodes = SolidStiffness(space.solids, space.nodes, ones, ones), Unknowns(space.points, free)
load = np.sin(np.arange(len(free)))
answer, expected = (factorise(matrix, name, nodes=nodes).solve(load) for name in ("petsc", "splu"))
np.testing.assert_allclose(answer, expected, atol=1e-6 * np.abs(expected).max())
"""


@pytest.mark.parametrize("ranks", [1, 2])
def test_petsc_finds_the_same_on_one_and_two_ranks(ranks: int) -> None:
    pytest.importorskip("petsc4py")
    launcher = shutil.which("mpiexec")
    if ranks > 1 and launcher is None:
        pytest.skip("mpiexec is not installed")
    words = [sys.executable, "-c", SHARED]
    subprocess.run(words if ranks == 1 else [str(launcher), "-n", str(ranks), *words], check=True, timeout=120)
