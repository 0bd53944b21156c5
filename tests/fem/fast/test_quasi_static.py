"""Quasi-static steps of several laws in block rows: the same numbers as sparse matrices and one direct solve a step."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.sparse.linalg import spsolve
from skfem import Basis, BilinearForm, ElementTetP1, ElementVector, MeshTet
from skfem.helpers import ddot, div, sym_grad

from rheotwin.errors import RheotwinError
from rheotwin.fem.fast.quasi_static import QuasiStaticTets
from rheotwin.fem.linear import multigrid
from rheotwin.materials import Elastic, GeneralizedMaxwell, Moduli, ThreeElement, Voigt

H, STEPS = 0.3, 7


@dataclass(frozen=True)
class Case:
    """A cube of four laws on a floor, with rollers on one side and a driven top."""

    mesh: MeshTet
    regions: list[Any]
    held: Any

    def model(self, **options: Any) -> QuasiStaticTets:
        return QuasiStaticTets(self.mesh.p.T, self.mesh.t.T, self.regions, self.held, H, **options)

    def prescribed(self, step: int) -> Any:
        """The top moves down and sideways, faster at first; free components hold what must be ignored."""
        target = np.full(self.held.shape, 7.0)
        target[self.held] = 0.0
        top = self.mesh.p[2] == 1.0
        target[top] = [0.02 * step, 0.0, -0.05 * min(step, 3)]
        return target

    def load(self, step: int) -> Any:
        """A force on the side x = 1."""
        force = np.zeros(self.held.shape)
        force[self.mesh.p[0] == 1.0, 1] = 0.01 * step
        return force


@pytest.fixture(scope="module")
def case() -> Case:
    mesh = MeshTet.init_tensor(*[np.linspace(0.0, 1.0, 8)] * 3)
    x = mesh.p[0][mesh.t].mean(axis=0)
    solid = [Moduli.from_young(young, nu) for young, nu in ((2.0, 0.3), (1.0, 0.2), (0.5, 0.4), (3.0, 0.1))]
    fluid = [Moduli.from_young(young, nu) for young, nu in ((0.7, 0.25), (4.0, 0.45), (0.1, 0.3))]
    laws = (
        (x < 0.3, Elastic(solid[0])),
        ((x >= 0.3) & (x < 0.6), GeneralizedMaxwell((solid[1], solid[2]), (fluid[0], fluid[1]), solid[3], fluid[2])),
        (np.flatnonzero((x >= 0.6) & (x < 0.8)), ThreeElement(solid[3], fluid[0], fluid[1])),
        (x >= 0.8, Voigt(solid[1], fluid[1])),
    )
    held = np.repeat(((mesh.p[2] == 0.0) | (mesh.p[2] == 1.0))[:, None], 3, axis=1)
    held[mesh.p[1] == 0.0, 1] = True
    return Case(mesh, list(laws), held)


def by_matrices(case: Case) -> tuple[list[Any], list[Any]]:
    """Displacements and reactions after every step, by scikit-fem's matrices and nodal histories of all nodes.

    sum J (g_inf u + sum w + eta (u - u_old)/h) = f with w = exp(-x) w_old + g (1 - exp(-x))/x (u - u_old).
    """
    basis = Basis(case.mesh, ElementVector(ElementTetP1()), intorder=0)
    bulk = BilinearForm(lambda u, v, w: w.chosen * div(u) * div(v))
    deviator = BilinearForm(lambda u, v, w: w.chosen * (2 * ddot(sym_grad(u), sym_grad(v)) - 2 / 3 * div(u) * div(v)))
    terms = []
    for elements, law in case.regions:
        chosen = np.zeros(case.mesh.t.shape[1])
        chosen[elements] = 1.0
        for form, modulus in ((bulk, "bulk"), (deviator, "shear")):
            terms.append((form.assemble(basis, chosen=chosen[:, None]).tocsr(), law.channel(modulus)))
    held = case.held.ravel()
    u, found, forces = np.zeros(basis.N), [], []
    memories = [np.zeros((len(channel.times), basis.N)) for _, channel in terms]
    for step in range(1, STEPS + 1):
        matrix, known = 0.0, case.load(step).ravel().copy()
        factors = []
        for (geometric, channel), memory in zip(terms, memories, strict=True):
            x = H / np.array(channel.times)
            gain = np.array(channel.strengths) * (1.0 - np.exp(-x)) / x
            kappa = channel.equilibrium + gain.sum() + channel.viscosity / H
            matrix = matrix + kappa * geometric
            known -= geometric @ (np.exp(-x) @ memory - (gain.sum() + channel.viscosity / H) * u)
            factors.append((np.exp(-x)[:, None], gain[:, None]))
        after = np.where(held, case.prescribed(step).ravel(), 0.0)
        free = ~held
        after[free] = spsolve(matrix[free][:, free].tocsc(), (known - matrix @ after)[free])
        forces.append(np.where(held, matrix @ after - known, 0.0).reshape(-1, 3))
        for k, (decay, gain) in enumerate(factors):
            memories[k] = decay * memories[k] + gain * (after - u)
        u = after
        found.append(u.reshape(-1, 3))
    return found, forces


@pytest.mark.parametrize("with_amg", [True, False])
def test_equals_sparse_matrices_with_nodal_histories(
    case: Case, with_amg: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if with_amg and not multigrid.installed():
        pytest.skip("needs pyamg")
    if not with_amg:
        monkeypatch.setattr(multigrid, "installed", lambda: False)
    model = case.model(tolerance=1e-13)
    assert model.unknowns == np.count_nonzero(~case.held)
    # Condition below 1e4 times a residual of 1e-13 bounds the error of u; forces are as exact as the residual.
    for step, (u, forces) in enumerate(zip(*by_matrices(case), strict=True), start=1):
        model.step(case.prescribed(step), case.load(step))
        np.testing.assert_allclose(model.displacement, u, atol=1e-9 * np.abs(u).max())
        loaded = np.where(case.held, case.load(step), 0.0)
        np.testing.assert_allclose(model.reactions() - loaded, forces, atol=1e-9 * np.abs(forces).max())
    assert (model.statistics()["linear_solver"] == "amg") == with_amg


def test_a_continued_run_is_bitwise_the_uninterrupted_one(case: Case) -> None:
    first, second = case.model(), case.model()
    for step in range(1, 4):
        first.step(case.prescribed(step))
    state = first.save()
    second.restore(state)
    for step in range(4, 7):
        for model in (first, second):
            model.step(case.prescribed(step))
    np.testing.assert_array_equal(first.displacement, second.displacement)
    np.testing.assert_array_equal(first.reactions(), second.reactions())
    assert not np.array_equal(state["displacement"], first.displacement)


def test_equals_the_simulation(
    scene: Callable[..., Any], start: Callable[..., Any], problem_of: Callable[..., Any], laws: dict[str, Any]
) -> None:
    """The quasi-static stepper of a run, on a body that stands on the floor while its top is pulled."""
    pull = {"body": "block", "where": {"side": "top"}, "total": [0.3, 0.1, 2.0]}
    support = {"body": "block", "where": {"side": "bottom"}}
    data = scene(
        laws["generalized-maxwell"],
        size=[1.0, 1.0, 1.0],
        cells=[3, 3, 3],
        duration=2.0,
        supports={"floor": support},
        forces={"pull": pull},
    )
    problem = problem_of(data)
    simulation = start(problem, step=0.25, stepper="quasi-static")
    body = problem.bodies[0]
    held = problem.owners >= 0
    model = QuasiStaticTets(
        problem.points, body.mesh.t.T, [(np.arange(body.mesh.t.shape[1]), body.law)], held, 0.25, tolerance=1e-13
    )
    load = np.zeros_like(problem.points)
    for item in problem.loads:
        np.add.at(load, item.nodes, item.factor.at(1.0)[0] * item.shares)
    for _ in range(8):
        model.step(np.zeros_like(load), load)
    simulation.advance(2.0, 10**9)
    moved = simulation.positions - problem.points
    assert np.abs(moved).max() > 1e-3
    np.testing.assert_allclose(model.displacement, moved, atol=1e-9 * np.abs(moved).max())
    total = simulation.reactions()["support.floor"]
    np.testing.assert_allclose(-model.reactions().sum(axis=0), total, atol=1e-9 * np.abs(total).max())


def test_faults_are_named(case: Case) -> None:
    points, corners = case.mesh.p.T, case.mesh.t.T
    with pytest.raises(RheotwinError, match="every tetrahedron exactly once"):
        QuasiStaticTets(points, corners, case.regions[:2], case.held, H)
    with pytest.raises(RheotwinError, match="every node is held"):
        QuasiStaticTets(points, corners, case.regions, np.ones_like(case.held), H)
