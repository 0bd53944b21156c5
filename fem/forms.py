"""Elements of displacements and their geometric matrices: J_lambda, J_mu and the mass, by scikit-fem (spec 2.1).

The elastic force of an isotropic body is (lambda J_lambda + mu J_mu) u with

    J_lambda = int div(u) div(v),      J_mu = int 2 eps(u) : eps(v).

An axisymmetric body (x: radius r, y: axis) has the hoop strain u_r/r besides, and dV = 2 pi r dr dz. Degrees of
freedom are node-major: component c of node i is number i d + c.
"""

from __future__ import annotations

from collections.abc import Callable
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


def integral(integrand: Callable[[Any, Any, Any], Any], *, axisymmetric: bool = False) -> BilinearForm:
    """Return the integral of a function of trial, test and radius; the radius is None but in an axisymmetric body."""

    def density(u: Any, v: Any, w: Any) -> Any:
        if not axisymmetric:
            return integrand(u, v, None)
        return 2.0 * np.pi * w.x[0] * integrand(u, v, w.x[0])

    return BilinearForm(density)


def volume_strain(u: Any, radius: Any) -> Any:
    """Return div(u), with the hoop strain u_r/r."""
    return div(u) if radius is None else div(u) + u[0] / radius


def _lame(u: Any, v: Any, radius: Any) -> Any:
    return volume_strain(u, radius) * volume_strain(v, radius)


def _shear(u: Any, v: Any, radius: Any) -> Any:
    plane = ddot(sym_grad(u), sym_grad(v))
    return 2.0 * (plane if radius is None else plane + u[0] * v[0] / radius**2)


def _product(u: Any, v: Any, radius: Any) -> Any:
    return dot(u, v)


def lame_matrix(basis: Basis, *, axisymmetric: bool = False) -> csr_matrix:
    """Return J_lambda [m^(d-2)]; of the whole ring [m] for an axisymmetric body."""
    return integral(_lame, axisymmetric=axisymmetric).assemble(basis).tocsr()


def shear_matrix(basis: Basis, *, axisymmetric: bool = False) -> csr_matrix:
    """Return J_mu [m^(d-2)]; of the whole ring [m] for an axisymmetric body."""
    return integral(_shear, axisymmetric=axisymmetric).assemble(basis).tocsr()


def mass_matrix(mesh: Any, cell: str, order: Order = 1, *, axisymmetric: bool = False) -> csr_matrix:
    """Return the consistent mass for unit density [m^d]; of the whole ring [m3] for an axisymmetric body."""
    basis = vector_basis(mesh, cell, order, axisymmetric=axisymmetric, mass=True)
    return product_matrix(basis, axisymmetric=axisymmetric)


def product_matrix(basis: Basis, *, axisymmetric: bool = False) -> csr_matrix:
    """Return the integrals of products of the basis functions."""
    return integral(_product, axisymmetric=axisymmetric).assemble(basis).tocsr()
