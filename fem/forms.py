"""Geometric matrices of the continuum: J_lambda, J_mu and the mass, assembled by scikit-fem (spec 2.1).

The elastic force of an isotropic body is (lambda J_lambda + mu J_mu) u with

    J_lambda = int div(u) div(v),      J_mu = int 2 eps(u) : eps(v).

An axisymmetric body (x: radius r, y: axis) has the hoop strain u_r/r besides, and dV = 2 pi r dr dz. Degrees of
freedom are node-major: component c of node i is number i d + c.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from skfem import Basis, BilinearForm, ElementVector
from skfem.helpers import ddot, div, dot, sym_grad

from rheotwin.fem.elements import ELEMENTS, RING_EXTRA, Order
from rheotwin.strain import CENTRE_RULES


def vector_basis(mesh: Any, cell: str, order: Order = 1, *, axisymmetric: bool = False, mass: bool = False) -> Basis:
    """Return the displacement basis of a mesh, with the quadrature of its stiffness or of its `mass`."""
    choice = ELEMENTS[cell, order]
    points = choice.mass_order if mass else choice.stiffness_order
    if points == 0 and not axisymmetric:
        return Basis(mesh, ElementVector(choice.element), quadrature=CENTRE_RULES[cell])
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
