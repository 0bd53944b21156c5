"""Elements of displacements and their geometric matrices: J_lambda, J_mu and the mass, by scikit-fem (spec 2.1).

The elastic force of an isotropic body is (lambda J_lambda + mu J_mu) u with

    J_lambda = int div(u) div(v),      J_mu = int 2 eps(u) : eps(v).

An axisymmetric body (x: radius r, y: axis) has the hoop strain u_r/r besides, and dV = 2 pi r dr dz. Degrees of
freedom are node-major: component c of node i is number i d + c.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_matrix
from skfem import (
    Basis,
    BilinearForm,
    ElementHex1,
    ElementHex2,
    ElementLineP1,
    ElementLineP2,
    ElementQuad1,
    ElementQuad2,
    ElementTetP1,
    ElementTetP2,
    ElementTriP1,
    ElementTriP2,
    ElementVector,
)
from skfem.helpers import ddot, div, dot, sym_grad

from rheotwin.strain import CENTRE_RULES

Order = Literal[1, 2]

RING_EXTRA = 2
"""Quadrature orders to add where strains are divided by the radius (axisymmetric bodies)."""


@dataclass(frozen=True)
class ElementChoice:
    """A scalar element with the quadrature orders of its stiffness and of its mass."""

    element: Any
    stiffness_order: int
    mass_order: int


ELEMENTS: dict[tuple[str, int], ElementChoice] = {
    ("line", 1): ElementChoice(ElementLineP1(), 0, 2),
    ("triangle", 1): ElementChoice(ElementTriP1(), 0, 2),
    ("tet", 1): ElementChoice(ElementTetP1(), 0, 2),
    ("quad", 1): ElementChoice(ElementQuad1(), 3, 5),
    ("hex", 1): ElementChoice(ElementHex1(), 3, 5),
    ("line", 2): ElementChoice(ElementLineP2(), 2, 4),
    ("triangle", 2): ElementChoice(ElementTriP2(), 2, 4),
    ("tet", 2): ElementChoice(ElementTetP2(), 2, 4),
    ("quad", 2): ElementChoice(ElementQuad2(), 5, 7),
    ("hex", 2): ElementChoice(ElementHex2(), 5, 7),
}
"""Per cell kind and order; linear simplices need one point (order 0), squares and cubes full Gauss integration."""


def vector_basis(mesh: Any, cell: str, order: Order = 1, *, axisymmetric: bool = False, mass: bool = False) -> Basis:
    """Return the displacement basis of a mesh, with the quadrature of its stiffness or of its `mass`."""
    choice = ELEMENTS[cell, order]
    points = choice.mass_order if mass else choice.stiffness_order
    if points == 0 and not axisymmetric:
        return Basis(mesh, ElementVector(choice.element), quadrature=CENTRE_RULES[cell])
    return Basis(mesh, ElementVector(choice.element), intorder=points + (RING_EXTRA if axisymmetric else 0))


@BilinearForm
def _lame(u: Any, v: Any, w: Any) -> Any:
    r = w.x[0]
    return 2.0 * np.pi * r * (div(u) + u[0] / r) * (div(v) + v[0] / r) if w["ring"] else div(u) * div(v)


@BilinearForm
def _shear(u: Any, v: Any, w: Any) -> Any:
    r, plane = w.x[0], ddot(sym_grad(u), sym_grad(v))
    return 4.0 * np.pi * r * (plane + u[0] * v[0] / r**2) if w["ring"] else 2.0 * plane


@BilinearForm
def _product(u: Any, v: Any, w: Any) -> Any:
    return 2.0 * np.pi * w.x[0] * dot(u, v) if w["ring"] else dot(u, v)


def lame_matrix(basis: Basis, *, axisymmetric: bool = False) -> csr_matrix:
    """Return J_lambda [m^(d-2)]; of the whole ring [m] for an axisymmetric body."""
    return _lame.assemble(basis, ring=axisymmetric).tocsr()


def shear_matrix(basis: Basis, *, axisymmetric: bool = False) -> csr_matrix:
    """Return J_mu [m^(d-2)]; of the whole ring [m] for an axisymmetric body."""
    return _shear.assemble(basis, ring=axisymmetric).tocsr()


def mass_matrix(mesh: Any, cell: str, order: Order = 1, *, axisymmetric: bool = False) -> csr_matrix:
    """Return the consistent mass for unit density [m^d]; of the whole ring [m3] for an axisymmetric body."""
    basis = vector_basis(mesh, cell, order, axisymmetric=axisymmetric, mass=True)
    return product_matrix(basis, axisymmetric=axisymmetric)


def product_matrix(basis: Basis, *, axisymmetric: bool = False) -> csr_matrix:
    """Return the integrals of products of the basis functions."""
    return _product.assemble(basis, ring=axisymmetric).tocsr()
