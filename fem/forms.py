"""Geometric matrices of the continuum: J_lambda, J_mu and the mass, assembled by scikit-fem (spec 2.1).

The elastic force of an isotropic body is (lambda J_lambda + mu J_mu) u with

    J_lambda = int div(u) div(v),      J_mu = int 2 eps(u) : eps(v).

An axisymmetric body (x: radius r, y: axis) has the hoop strain u_r/r besides, and dV = 2 pi r dr dz. Degrees of
freedom are node-major: component c of node i is number i d + c.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from skfem import Basis, BilinearForm, ElementVector
from skfem.helpers import ddot, div, dot, sym_grad

from rheotwin.fem.elements import ELEMENTS, RING_EXTRA, Order
from rheotwin.tensors import INDEX_PAIRS

Array = NDArray[np.float64]


def vector_basis(mesh: Any, cell: str, order: Order = 1, *, axisymmetric: bool = False, mass: bool = False) -> Basis:
    """Return the displacement basis of a mesh, with the quadrature of its stiffness or of its `mass`."""
    choice = ELEMENTS[cell, order]
    points = choice.mass_order if mass else choice.stiffness_order
    return Basis(mesh, ElementVector(choice.element), intorder=points + (RING_EXTRA if axisymmetric else 0))


@BilinearForm
def _lame(u: Any, v: Any, w: Any) -> Any:
    return div(u) * div(v)


@BilinearForm
def _shear(u: Any, v: Any, w: Any) -> Any:
    return 2.0 * ddot(sym_grad(u), sym_grad(v))


@BilinearForm
def _product(u: Any, v: Any, w: Any) -> Any:
    return dot(u, v)


@BilinearForm
def _ring_lame(u: Any, v: Any, w: Any) -> Any:
    r = w.x[0]
    return 2.0 * np.pi * r * (div(u) + u[0] / r) * (div(v) + v[0] / r)


@BilinearForm
def _ring_shear(u: Any, v: Any, w: Any) -> Any:
    r = w.x[0]
    return 4.0 * np.pi * r * (ddot(sym_grad(u), sym_grad(v)) + u[0] * v[0] / r**2)


@BilinearForm
def _ring_product(u: Any, v: Any, w: Any) -> Any:
    return 2.0 * np.pi * w.x[0] * dot(u, v)


def lame_matrix(basis: Basis, *, axisymmetric: bool = False) -> csr_matrix:
    """Return J_lambda [m^(d-2)]; of the whole ring [m] for an axisymmetric body."""
    return (_ring_lame if axisymmetric else _lame).assemble(basis).tocsr()


def shear_matrix(basis: Basis, *, axisymmetric: bool = False) -> csr_matrix:
    """Return J_mu [m^(d-2)]; of the whole ring [m] for an axisymmetric body."""
    return (_ring_shear if axisymmetric else _shear).assemble(basis).tocsr()


def mass_matrix(mesh: Any, cell: str, order: Order = 1, *, axisymmetric: bool = False) -> csr_matrix:
    """Return the consistent mass for unit density [m^d]; of the whole ring [m3] for an axisymmetric body."""
    basis = vector_basis(mesh, cell, order, axisymmetric=axisymmetric, mass=True)
    return product_matrix(basis, axisymmetric=axisymmetric)


def product_matrix(basis: Basis, *, axisymmetric: bool = False) -> csr_matrix:
    """Return the integrals of products of the basis functions."""
    return (_ring_product if axisymmetric else _product).assemble(basis).tocsr()


def point_weights(basis: Basis, *, axisymmetric: bool = False) -> Array:
    """Return the volume (elements, points) of every quadrature point."""
    if not axisymmetric:
        return np.asarray(basis.dx)
    return np.asarray(2.0 * np.pi * np.asarray(basis.global_coordinates())[0] * basis.dx)


def strain_operator(basis: Basis, *, axisymmetric: bool = False) -> csr_matrix:
    """Return the sparse map from displacements to strains at the quadrature points.

    Six rows per point, points element by element, in the order (XX, YY, ZZ, XY, YZ, XZ) with tensor shear; ZZ is
    the hoop strain u_r/r of an axisymmetric body.
    """
    d, (elements, points) = basis.mesh.p.shape[0], basis.dx.shape
    first = 6 * np.arange(elements * points).reshape(elements, points)
    radius = np.asarray(basis.global_coordinates())[0] if axisymmetric else None
    rows, columns, values = [], [], []

    def enter(slot: int, dof: NDArray[np.int64], value: Any) -> None:
        rows.append((first + slot).ravel())
        columns.append(np.repeat(dof, points))
        values.append(np.broadcast_to(value, (elements, points)).ravel())

    for local, shape in enumerate(basis.basis):
        component, dof = local % d, basis.element_dofs[local]
        gradient = shape[0].grad[component]
        for slot, (a, b) in enumerate(INDEX_PAIRS):
            if max(a, b) >= d or component not in (a, b):
                continue
            enter(slot, dof, gradient[a] if a == b else 0.5 * gradient[b if component == a else a])
        if radius is not None and component == 0:
            enter(2, dof, shape[0].value[0] / radius)
    triplets = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    return csr_matrix(triplets, shape=(6 * elements * points, basis.N))


def averaging_operator(basis: Basis, cell: str, *, axisymmetric: bool = False) -> csr_matrix:
    """Return the map from values at the quadrature points to the vertices: int N_i f / int N_i.

    N_i are the linear functions of the vertices; on linear simplices this is the average over the elements
    around a vertex, weighted with their volumes.
    """
    weights = point_weights(basis, axisymmetric=axisymmetric)
    linear = Basis(basis.mesh, ELEMENTS[cell, 1].element, quadrature=basis.quadrature)
    elements, points = weights.shape
    where = np.arange(elements * points).reshape(elements, points)
    rows, columns, values = [], [], []
    for local, shape in enumerate(linear.basis):
        rows.append(np.repeat(linear.element_dofs[local], points))
        columns.append(where.ravel())
        values.append((weights * np.broadcast_to(shape[0].value, weights.shape)).ravel())
    triplets = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    matrix = csr_matrix(triplets, shape=(linear.N, elements * points))
    return csr_matrix(matrix.multiply(1.0 / np.asarray(matrix.sum(axis=1))))
