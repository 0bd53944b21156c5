"""Geometric matrices against the formula J = sum |T| B' I B, on the mesh of the papers' figure 4.6 (R1, A1, E17)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rheotwin.fem.forms import lame_matrix, shear_matrix, vector_basis
from rheotwin.meshing import BoxShape, build_mesh, make_shape
from rheotwin.validation.checks.check import Measurement, check

Array = NDArray[np.float64]

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


def against_formula() -> Measurement:
    """Compare entry by entry, and let the matrices act on rigid motions."""
    mesh = make_shape(FIGURE)
    matrices, expected = assembled(mesh), formula(mesh)
    values = {}
    for name, matrix, wanted in zip(("J_lambda", "J_mu"), matrices, expected, strict=True):
        scale = np.abs(wanted).max()
        values[f"{name} - formula"] = float(np.abs(matrix - wanted).max() / scale)
        values[f"{name} asymmetry"] = asymmetry(matrix)
        values[f"{name} on rigid motions"] = float(np.abs(matrix @ rigid_motions(mesh.p.T)).max() / scale)
    return Measurement(values)


def printed_lame_matrix() -> Array:
    """Return J_lambda of the triangle 0, 1, 3 as printed: four of its entries are wrong (E17)."""
    divergence = np.array([-1.0, -1.0, 1.0, 0.0, 0.0, 1.0])
    printed = 0.5 * np.outer(divergence, divergence)
    for place, value in {(2, 1): 0.0, (3, 0): -1.0, (3, 5): 1.0, (5, 3): 1.0}.items():
        printed[place] = 0.5 * value
    return printed


def misprint() -> Measurement:
    """Compare the assembled matrix of the unit right triangle with the printed one."""
    triangle = build_mesh("triangle", np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), np.array([[0], [1], [2]]))
    matrix, printed = assembled(triangle)[0], printed_lame_matrix()
    values = {
        "asymmetry as assembled": asymmetry(matrix),
        "asymmetry as printed": asymmetry(printed),
        "entries that differ": float(np.count_nonzero(np.abs(matrix - printed) > 1e-12)),
    }
    return Measurement(values)


def bar_matrix() -> Measurement:
    """Compare J of a bar of five nodes and unit cells with tridiag(-1, 2, -1), corners 1 (E12)."""
    matrix = lame_matrix(vector_basis(make_shape(BoxShape((4.0,), (4,))), "line")).toarray()
    expected = 2.0 * np.eye(5) - np.eye(5, k=1) - np.eye(5, k=-1)
    expected[0, 0] = expected[-1, -1] = 1.0
    return Measurement({"rows": float(len(matrix)), "J - formula": float(np.abs(matrix - expected).max())})


CHECKS = (
    check("fem.R1", against_formula, name="geometric-matrices", covers=("A1",), quick=True),
    check("fem.A1", misprint, name="misprinted-matrix", covers=("E17",), quick=True),
    check("fem.E12", bar_matrix, name="bar-matrix", quick=True),
)
