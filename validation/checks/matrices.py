"""What one mesh makes of a law: its matrices, and the patch test.

Geometric matrices against the formula J = sum |T| B' I B, on the mesh of the papers' figure 4.6 (R1, A1, E17). A
distorted mesh whose boundary follows u = H x f(t) deforms and is stressed uniformly (T3).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from rheotwin.arrays import Array
from rheotwin.constraints import Motion
from rheotwin.fem.space import lame_matrix, shear_matrix, vector_basis
from rheotwin.meshing import BoxShape, build_mesh, make_shape
from rheotwin.problem import Prescribed, Problem
from rheotwin.validation.checks.check import Values, check
from rheotwin.validation.checks.running import RHEOLOGICAL, Data, box_scene, problem_of, run_to, start

FIGURE = BoxShape((80.0, 30.0), (16, 6))
"""16 x 6 squares of 5, each split by its SE-NW diagonal."""


def formula(mesh: Any) -> tuple[Array, Array]:
    """Return J_lambda and J_mu of linear triangles by the formula, node-major: |T| B' I B with engineering shear."""
    corners = mesh.p[:, mesh.t]  # (2, 3, elements)
    opposite = np.roll(corners, -2, axis=1) - np.roll(corners, -1, axis=1)
    double_area = opposite[0, 0] * opposite[1, 1] - opposite[0, 1] * opposite[1, 0]
    gradients = np.stack([-opposite[1], opposite[0]]) / double_area
    b = np.zeros((mesh.t.shape[1], 3, 6))
    b[:, 0, 0::2] = b[:, 2, 1::2] = gradients[0].T
    b[:, 1, 1::2] = b[:, 2, 0::2] = gradients[1].T
    dofs = (2 * mesh.t.T[:, :, None] + np.arange(2)).reshape(-1, 6)
    rows, columns = np.broadcast_arrays(dofs[:, :, None], dofs[:, None, :])
    found = []
    for isotropic in (np.pad(np.ones((2, 2)), (0, 1)), np.diag([2.0, 2.0, 1.0])):
        matrix = np.zeros((mesh.p.size, mesh.p.size))
        element = 0.5 * np.abs(double_area)[:, None, None] * np.einsum("eki,kl,elj->eij", b, isotropic, b)
        np.add.at(matrix, (rows, columns), element)
        found.append(matrix)
    return found[0], found[1]


def asymmetry(matrix: Array) -> float:
    """Return max |J - J'| relative to the largest entry."""
    return float(np.abs(matrix - matrix.T).max() / np.abs(matrix).max())


def rigid_motions(points: Array) -> Array:
    """Return the two translations and the rotation of points (n, 2) as columns."""
    turned = np.stack([-points[:, 1], points[:, 0]], axis=1)
    moves = (np.broadcast_to([1.0, 0.0], points.shape), np.broadcast_to([0.0, 1.0], points.shape), turned)
    return np.stack([move.ravel() / np.abs(move).max() for move in moves], axis=1)


def assembled(mesh: Any) -> tuple[Array, Array]:
    """Return J_lambda and J_mu as the solver assembles them."""
    basis = vector_basis(mesh, "triangle")
    return lame_matrix(basis).toarray(), shear_matrix(basis).toarray()


def against_formula() -> Values:
    """Compare entry by entry, and let the matrices act on rigid motions."""
    mesh, values = make_shape(FIGURE), {}
    for name, matrix, wanted in zip(("J_lambda", "J_mu"), assembled(mesh), formula(mesh), strict=True):
        scale = np.abs(wanted).max()
        values[f"{name} - formula"] = float(np.abs(matrix - wanted).max() / scale)
        values[f"{name} asymmetry"] = asymmetry(matrix)
        values[f"{name} on rigid motions"] = float(np.abs(matrix @ rigid_motions(mesh.p.T)).max() / scale)
    return values


def printed_lame_matrix() -> Array:
    """Return J_lambda of the triangle 0, 1, 3 as printed: four of its entries are wrong (E17)."""
    divergence = np.array([-1.0, -1.0, 1.0, 0.0, 0.0, 1.0])
    printed = 0.5 * np.outer(divergence, divergence)
    for place, value in {(2, 1): 0.0, (3, 0): -1.0, (3, 5): 1.0, (5, 3): 1.0}.items():
        printed[place] = 0.5 * value
    return printed


def misprint() -> Values:
    """Compare the assembled matrix of the unit right triangle with the printed one."""
    triangle = build_mesh("triangle", np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), np.array([[0], [1], [2]]))
    matrix, printed = assembled(triangle)[0], printed_lame_matrix()
    return {
        "asymmetry as assembled": asymmetry(matrix),
        "asymmetry as printed": asymmetry(printed),
        "entries that differ": float(np.count_nonzero(np.abs(matrix - printed) > 1e-12)),
    }


def bar_matrix() -> Values:
    """Compare J of a bar of five nodes and unit cells with tridiag(-1, 2, -1), corners 1 (E12)."""
    matrix = lame_matrix(vector_basis(make_shape(BoxShape((4.0,), (4,))), "line")).toarray()
    expected = 2.0 * np.eye(5) - np.eye(5, k=1) - np.eye(5, k=-1)
    expected[0, 0] = expected[-1, -1] = 1.0
    return {"rows": float(len(matrix)), "J - formula": float(np.abs(matrix - expected).max())}


GRADIENT = np.array([[0.02, 0.013, -0.007], [-0.005, 0.011, 0.017], [0.009, -0.004, -0.015]])
"""H at the end of the run."""
CELLS, SHAKEN, END = 3, 0.2, 1.0
"""Cells a side; share of the spacing by which inner nodes are moved; end of the run [s]."""


def distorted_problem(
    cell: str, law: Data = RHEOLOGICAL, *, gradient: Array = GRADIENT, shaken: float = SHAKEN, seed: int = 5
) -> Problem:
    """Return the unit square or cube with inner nodes moved at random and every boundary node driven by H."""
    dimension = 3 if cell in ("tet", "hex") else 2
    regular = problem_of(box_scene(law, size=[1.0] * dimension, cells=[CELLS] * dimension, cell=cell))
    body, points = regular.bodies[0], regular.points.copy()
    boundary = body.mesh.boundary_nodes()
    inner = np.setdiff1d(np.arange(len(points)), boundary)
    points[inner] += shaken / CELLS * np.random.default_rng(seed).uniform(-1.0, 1.0, (len(inner), dimension))
    mesh = replace(body.mesh, doflocs=np.ascontiguousarray(points.T))
    gradient = gradient[:dimension, :dimension]
    driven = tuple(
        Prescribed(
            f"node-{node}",
            np.array([node]),
            tuple(range(dimension)),
            Motion(np.array([0.0, END]), np.stack([np.zeros(dimension), gradient @ points[node]])),
        )
        for node in boundary
    )
    return replace(regular, points=points, bodies=(replace(body, mesh=mesh),), prescribed=driven)


def patch(cell: str) -> Values:
    """Return how far displacements and stresses are from uniform, relative to their size."""
    problem = distorted_problem(cell)
    simulation, dimension = start(problem, step=0.25 * END), problem.dimension
    run_to(simulation, END)
    exact = problem.points @ GRADIENT[:dimension, :dimension].T
    stress, forces = simulation.fields()["stress"], simulation.reactions()
    total = np.abs(sum(forces.values())).max() / max(np.abs(force).max() for force in forces.values())
    return {
        "displacement": float(np.abs(simulation.positions - problem.points - exact).max() / np.abs(exact).max()),
        "stress": float(np.ptp(stress, axis=0).max() / np.abs(stress).max()),
        "sum of the boundary forces": float(total),
    }


CHECKS = {
    "matrices": (
        check("fem.R1", against_formula, name="geometric-matrices", covers=("A1",), quick=True),
        check("fem.A1", misprint, name="misprinted-matrix", covers=("E17",), quick=True),
        check("fem.E12", bar_matrix, name="bar-matrix", quick=True),
    ),
    "patch": tuple(
        check(f"fem.T3/{cell}", partial(patch, cell), name=f"patch-{cell}", quick=True)
        for cell in ("triangle", "quad", "tet", "hex")
    ),
}
