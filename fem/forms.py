"""Geometric matrices of the continuum: J_lambda, J_mu and the mass, assembled by scikit-fem (spec 2.1).

The elastic force of an isotropic body is (lambda J_lambda + mu J_mu) u with

    J_lambda = int div(u) div(v),      J_mu = int 2 eps(u) : eps(v).

Degrees of freedom are node-major: component c of node i is number i d + c.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from skfem import (
    Basis,
    BilinearForm,
    ElementHex1,
    ElementLineP1,
    ElementQuad1,
    ElementTetP1,
    ElementTriP1,
    ElementVector,
)
from skfem.helpers import ddot, div, dot, sym_grad

Array = NDArray[np.float64]

ELEMENTS: dict[str, tuple[Any, int]] = {
    "line": (ElementLineP1(), 0),
    "triangle": (ElementTriP1(), 0),
    "tet": (ElementTetP1(), 0),
    "quad": (ElementQuad1(), 3),
    "hex": (ElementHex1(), 3),
}
"""Scalar element per cell kind and the quadrature order that integrates its stiffness (one point on simplices)."""


def vector_basis(mesh: Any, cell: str, *, extra_order: int = 0) -> Basis:
    """Return the displacement basis of a mesh."""
    element, order = ELEMENTS[cell]
    return Basis(mesh, ElementVector(element), intorder=order + extra_order)


@BilinearForm
def _lame(u: Any, v: Any, w: Any) -> Any:
    return div(u) * div(v)


@BilinearForm
def _shear(u: Any, v: Any, w: Any) -> Any:
    return 2.0 * ddot(sym_grad(u), sym_grad(v))


@BilinearForm
def _product(u: Any, v: Any, w: Any) -> Any:
    return dot(u, v)


def lame_matrix(basis: Basis) -> csr_matrix:
    """Return J_lambda [m^(d-2)]."""
    return _lame.assemble(basis).tocsr()


def shear_matrix(basis: Basis) -> csr_matrix:
    """Return J_mu [m^(d-2)]."""
    return _shear.assemble(basis).tocsr()


def mass_matrix(mesh: Any, cell: str) -> csr_matrix:
    """Return the consistent mass for unit density [m^d]."""
    return _product.assemble(vector_basis(mesh, cell, extra_order=2)).tocsr()


def nodal_strain_operator(basis: Basis, nodes: int) -> csr_matrix:
    """Return the sparse operator from displacements to volume-averaged nodal strains.

    Rows are six per node in the order (XX, YY, ZZ, XY, YZ, XZ), tensor shear; strain at a node is the average of
    the strains in the elements around it, weighted with each element's volume.
    """
    dimension = basis.mesh.p.shape[0]
    weights = basis.dx.sum(axis=1)
    cells = basis.mesh.t
    volume = np.bincount(cells.ravel(), weights=np.tile(weights, cells.shape[0]), minlength=nodes)
    gradients = _mean_gradients(basis, weights)
    rows, columns, values = [], [], []
    pairs = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))
    for slot, (a, b) in enumerate(pairs):
        if max(a, b) >= dimension:
            continue
        for corner in range(cells.shape[0]):
            for component, direction in ((a, b), (b, a)):
                value = 0.5 * weights * gradients[corner, direction]
                for node in cells:
                    rows.append(6 * node + slot)
                    columns.append(dimension * cells[corner] + component)
                    values.append(value / volume[node])
    shape = (6 * nodes, dimension * nodes)
    triplets = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    return csr_matrix(triplets, shape=shape)


def _mean_gradients(basis: Basis, weights: Array) -> Array:
    """Return the volume-averaged shape gradients (corners, d, elements)."""
    dimension = basis.mesh.p.shape[0]
    corners = basis.mesh.t.shape[0]
    gradients = np.empty((corners, dimension, basis.mesh.t.shape[1]))
    for corner in range(corners):
        gradient = basis.basis[corner * dimension][0].grad[0]
        gradients[corner] = np.sum(gradient * basis.dx, axis=-1) / weights
    return gradients
