"""Multigrid: iterations independent of the mesh, warm starts, what happens when it does not converge."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.polynomial import Chebyshev
from scipy.sparse import csr_matrix
from skfem import MeshHex, MeshTet, MeshTri

from rheotwin.errors import RheotwinError
from rheotwin.fem import linear
from rheotwin.fem.fast.block_rows import BlockRows
from rheotwin.fem.fast.solids import joined
from rheotwin.fem.space import body_space, lame_matrix, shear_matrix, vector_basis


def solver(body: Any, tolerance: float = 1e-10, columns: slice = slice(None)) -> linear.Multigrid:
    modes = linear.rigid_body_modes(body.points[np.unique(body.free // 3)])[:, columns]
    return linear.Multigrid.of(BlockRows.from_sparse(body.matrix, 3), modes, tolerance)


def test_iterations_hardly_grow_with_the_mesh_where_rotations_are_known(block: Any) -> None:
    """On a mesh three times as fine conjugate gradients alone need three times as many (condition ~ 1/h^2).
    Aggregates of 24 nodes coarsen so fast that a little growth stays; less than the root of three means that the
    preconditioned condition grows slower than 1/h. From 12 to 36 cells the count goes from 20 to 29."""
    coarse, fine = (solver(block(cells)).solve(np.ones(len(block(cells).free))).iterations for cells in (5, 15))
    assert coarse < fine < np.sqrt(3.0) * coarse and fine <= 30
    body = block(12)
    load = np.ones(len(body.free))
    with_all, moves_only = (solver(body, columns=slice(count)).solve(load).iterations for count in (6, 3))
    assert moves_only > 1.25 * with_all


def test_residual_is_as_small_as_asked_or_it_says_what_to_do(block: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Single precision is in the preconditioner only; the answer is as exact as a direct one."""
    body = block(6)
    expected = np.random.default_rng(0).normal(size=len(body.free))
    load = body.matrix @ expected
    for tolerance in (1e-4, 1e-8, 1e-13):
        outcome = solver(body, tolerance).solve(load)
        assert np.linalg.norm(load - body.matrix @ outcome.solution) <= 1.5 * tolerance * np.linalg.norm(load)
    monkeypatch.setattr(linear.multigrid, "MOST_ITERATIONS", 2)
    body = block(6)
    with pytest.raises(RheotwinError, match=r"amg stopped after 2 iterations .* choose pardiso or splu"):
        solver(body).solve(np.ones(len(body.free)))


def test_a_warm_start_saves_iterations(block: Any) -> None:
    """Loads that decay at two rates: smooth in time, four directions at most."""
    body = block(6)
    shapes = np.random.default_rng(5).normal(size=(3, len(body.free)))
    amg, cold, warm = solver(body), [], []
    start = linear.WarmStart(amg.matrix)
    for step in range(8):
        load = shapes[0] + np.exp(-0.1 * step) * shapes[1] + np.exp(-0.3 * step) * shapes[2]
        cold.append(amg.solve(load).iterations)
        outcome = amg.solve(load, start.guess(load))
        start.remember(outcome.solution)
        warm.append(outcome.iterations)
    assert warm[0] == cold[0]
    # Three earlier solutions span these loads: what is left is what their own tolerance left, a step or two.
    assert max(warm[3:]) <= 3 < min(cold)


def test_the_guess_is_the_best_combination_and_repetitions_do_no_harm(block: Any) -> None:
    body = block(4)
    start = linear.WarmStart(BlockRows.from_sparse(body.matrix, 3), depth=3)
    rng = np.random.default_rng(1)
    assert start.guess(np.ones(len(body.free))) is None
    solutions = rng.normal(size=(5, len(body.free)))
    for solution in solutions:
        start.remember(solution)
    load = rng.normal(size=len(body.free))
    shares = np.linalg.lstsq((body.matrix @ solutions[-3:].T).T.T, load, rcond=None)[0]
    np.testing.assert_allclose(start.guess(load), shares @ solutions[-3:], rtol=1e-10, atol=1e-12)
    again = linear.WarmStart(start.matrix, depth=3)
    again.restore(start.save())
    np.testing.assert_array_equal(again.guess(load), start.guess(load))
    body = block(3)
    start = linear.WarmStart(BlockRows.from_sparse(body.matrix, 3))
    solution = np.random.default_rng(1).normal(size=len(body.free))
    for _ in range(3):
        start.remember(solution)
    start.remember(np.zeros_like(solution))
    np.testing.assert_allclose(start.guess(2.0 * (body.matrix @ solution)), 2.0 * solution, rtol=1e-10)


def test_a_guess_through_the_common_interface_and_held_components(block: Any) -> None:
    body = block(5, rollers=True)
    factor = linear.factorise(body.matrix, "amg", nodes=linear.Unknowns(body.points, body.free))
    load = np.random.default_rng(0).normal(size=(len(body.free), 2))
    answer = factor.solve(load)
    many = factor.iterations
    factor.solve(load, answer)
    assert factor.iterations <= 1 < many and factor.describe()["linear_solver_iterations"] > many
    # Unknowns on rollers have a component that is coupled to nothing, which must not disturb the rigid body modes.
    counts = []
    for rollers in (False, True):
        body = block(8, rollers=rollers)
        factor = linear.factorise(body.matrix, "amg", nodes=linear.Unknowns(body.points, body.free))
        factor.solve(np.ones(len(body.free)))
        counts.append(factor.iterations)
    assert counts[1] <= counts[0] + 2


@pytest.mark.parametrize("count", [1, 5])
def test_many_columns(block: Any, count: int) -> None:
    """Columns of other sizes, and one without a load."""
    body = block(5, rollers=True)
    factor = linear.factorise(body.matrix, "amg", nodes=linear.Unknowns(body.points, body.free))
    rng = np.random.default_rng(4)
    expected = rng.normal(size=(len(body.free), count)) * 10.0 ** rng.uniform(-8, 8, count)
    expected[:, count // 2] *= count == 1
    loads = body.matrix @ expected
    size = np.abs(expected).max(axis=0) + (np.arange(count) == count // 2)
    # Condition below 1e4 times residuals of 1e-10.
    np.testing.assert_allclose(factor.solve(loads) / size, expected / size, atol=1e-6)
    most = factor.iterations
    near = factor.solve(loads, expected * (1.0 + 1e-8) + (size == 1.0))
    np.testing.assert_allclose(near / size, expected / size, atol=1e-6)
    assert factor.iterations < 0.5 * most


@pytest.mark.parametrize("degree", [1, 2, 4])
def test_smoothing_is_the_chebyshev_polynomial(degree: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error shrinks by T_k((t - l)/s)/T_k(t/s) for an eigenvalue l: least where it is largest on [b/r, b]."""
    monkeypatch.setattr(linear.conjugate_gradient, "DEGREE", degree)
    top = 2.5
    ratio = linear.conjugate_gradient.SPECTRUM_RATIO
    middle, half = 0.5 * top * (1 + 1 / ratio), 0.5 * top * (1 - 1 / ratio)
    values = np.linspace(0.0, top, 11)
    error, change = np.ones(11), np.zeros(11)
    for keep, gain in linear.conjugate_gradient.chebyshev_factors(top):
        change = keep * change + gain * values * error
        error = error - change
    polynomial = Chebyshev.basis(degree)
    np.testing.assert_allclose(error, polynomial((middle - values) / half) / polynomial(middle / half), atol=1e-13)


def test_plane_and_scalar_problems() -> None:
    """Two components make 2 x 2 blocks with three modes; without nodes unknowns count as one field."""
    mesh = MeshTri.init_tensor(*[np.linspace(0.0, 1.0, 31)] * 2)
    points, basis = np.ascontiguousarray(mesh.p.T), vector_basis(mesh, "triangle")
    free = np.flatnonzero(np.repeat(points[:, 1] > 0.0, 2))
    matrix = csr_matrix((1.5 * lame_matrix(basis) + shear_matrix(basis)).tocsr()[free][:, free])
    load, block_factor = np.ones(len(free)), linear.factorise(matrix, "amg", nodes=linear.Unknowns(points, free))
    expected = linear.factorise(matrix, "splu").solve(load)
    for factor in (block_factor, linear.factorise(matrix, "amg")):
        np.testing.assert_allclose(factor.solve(load), expected, rtol=1e-6)
    assert block_factor.iterations < 30


@pytest.mark.parametrize("cell", ["tet", "hex"])
@pytest.mark.parametrize("held", ["all", "rollers"])
def test_order_one_corrects_order_two(cell: str, held: str) -> None:
    """With a mass, other moduli in every cell, and two bodies; the answer is that of a factor, the count is small."""
    grid = [np.linspace(0.0, 1.0, 4)] * 3
    mesh = (MeshTet if cell == "tet" else MeshHex).init_tensor(*grid)
    space, random = body_space(mesh, cell, 2), np.random.default_rng(0)
    assert space.solids is not None
    lame, shear = random.uniform(0.5, 2.0, (2, 2, mesh.nelements))
    parts = [(space.solids, first, lame[k], shear[k]) for k, first in enumerate((0, space.nodes))]
    matrix = replace(joined(parts, 2 * space.nodes), diagonal=random.uniform(0.0, 0.01, 6 * space.nodes))
    points = np.concatenate([space.points, space.points + 2.0 * np.eye(3)[0]])
    fixed = np.repeat((points[:, 2] == 0.0)[:, None], 3, axis=1)
    if held == "rollers":
        fixed[:, 1] = points[:, 1] == 0.0
    free = np.flatnonzero(~fixed)
    load, nodes = random.normal(size=len(free)), linear.Unknowns(points, free)
    factor, direct = (linear.factorise(matrix, name, nodes=nodes) for name in ("amg", "splu"))
    np.testing.assert_allclose(factor.solve(load), direct.solve(load), rtol=0.0, atol=1e-7 * np.abs(load).max())
    assert factor.iterations <= 25 and "order 1 corrects order 2" in factor.reason
    again = factor.solve(load, factor.solve(load))
    assert factor.iterations <= 1 and np.abs(factor.matrix @ again - load).max() <= 1e-8
