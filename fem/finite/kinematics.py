"""What a description of large motion offers: a strain, its first variation and its second (spec 6).

With strain e(u), conjugate stress s and weights w the internal force is sum_q w B's, B = de/du, and its
tangent sum_q w (B' (ds/de) B + s d2e/du2).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from skfem import Basis

from rheotwin.arrays import Array, Indices
from rheotwin.fem.finite.voigt import COLUMN, ENGINEERING, ROW
from rheotwin.meshing.cells import MESH_TYPES, SIMPLICES
from rheotwin.problem import Cells


@dataclass(frozen=True)
class ElementGeometry:
    """Elements e with nodes a, quadrature points q and m = n d components each.

    `dofs` (e, m) number the components of the body, node-major; `gradients` (e, q, n, 3) are dN_a/dX
    [1/m], with zeros behind in plane strain; `weights` (e, q) are the volumes of the points [m^3].
    """

    dimension: int
    dofs: Indices
    gradients: Array
    weights: Array

    @cached_property
    def mean_gradients(self) -> Array:
        """Volume-averaged shape gradients (e, n, 3) [1/m]."""
        volumes = self.weights.sum(axis=1)
        return np.asarray(np.einsum("eq,eqnk->enk", self.weights, self.gradients) / volumes[:, None, None])

    def displacement_gradient(self, u: Array) -> Array:
        """Return du/dX (e, q, 3, 3) of displacements u (size,) [m]."""
        return np.asarray(np.einsum("enc,eqnk->eqck", self._nodal(u), self.gradients))

    def mean_displacement_gradient(self, u: Array) -> Array:
        """Return the element means of du/dX (e, 3, 3)."""
        return np.asarray(np.einsum("enc,enk->eck", self._nodal(u), self.mean_gradients))

    def deformation_gradient(self, u: Array) -> Array:
        """Return F = I + du/dX (e, q, 3, 3); F_zz = 1 in plane strain."""
        return self.displacement_gradient(u) + np.eye(3)

    def nodal_sum(self, forces: Array, size: int) -> Array:
        """Return element forces (e, m) added up at the components (size,) [N]."""
        return np.asarray(np.bincount(self.dofs.ravel(), weights=forces.ravel(), minlength=size), dtype=float)

    def _nodal(self, u: Array) -> Array:
        """Return the displacements of each element's nodes (e, n, 3), zero-padded."""
        nodes = self.gradients.shape[2]
        out = np.zeros((len(self.dofs), nodes, 3))
        out[:, :, : self.dimension] = u[self.dofs].reshape(-1, nodes, self.dimension)
        return out


def element_geometry(mesh: Any, cell: str, *, thickness: float = 1.0, cells: Cells = ...) -> ElementGeometry:
    """Return the elements of a mesh, or some of its `cells`; `thickness` [m] in 2D.

    One quadrature point in simplices, where gradients are constant; two per direction in quads and hexes.
    """
    elements = None if cells is ... else cells
    basis = Basis(mesh, MESH_TYPES[cell].elem(), intorder=0 if cell in SIMPLICES else 3, elements=elements)
    dimension, nodes = mesh.p.shape[0], basis.element_dofs.astype(np.int64).T
    gradients = np.zeros((*basis.dx.shape, nodes.shape[1], 3))
    for corner in range(nodes.shape[1]):
        gradients[:, :, corner, :dimension] = np.moveaxis(basis.basis[corner][0].grad, 0, -1)
    dofs = nodes[:, :, None] * dimension + np.arange(dimension)
    return ElementGeometry(dimension, dofs.reshape(len(nodes), -1), gradients, thickness * basis.dx)


class Kinematics(Protocol):
    """Strains (e, q, 6) carry engineering shear; vectors u (size,) are displacements of the body [m]."""

    @property
    def geometry(self) -> ElementGeometry:
        """The elements at rest."""

    def strain(self, u: Array) -> Array:
        """Return the strain at the quadrature points."""

    def operator(self, u: Array) -> Array:
        """Return B (e, q, m, 6): the strain for a unit change of each component [1/m]."""

    def geometric(self, u: Array, stress: Array) -> Array:
        """Return sum_q w s : d2e/du2 (e, m, m) [N/m] for a stress (e, q, 6) [Pa]."""

    def cauchy(self, u: Array, stress: Array) -> Array:
        """Return the Cauchy stress (e, q, 6) [Pa] of a conjugate stress."""


def products(frame: Array, gradients: Array, dimension: int) -> Array:
    """Return A' dF (..., m, 3, 3) for a unit change of each component: (A' dF)_JK = A_cJ dN_a/dX_K."""
    pairs = frame[..., None, :dimension, :, None] * gradients[..., :, None, None, :]
    return np.asarray(pairs.reshape(*pairs.shape[:-4], -1, 3, 3))


def symmetric_products(frame: Array, gradients: Array, dimension: int) -> Array:
    """Return the strain components (..., m, 6) of sym(A' dF) without forming the tensors."""
    rows, columns = frame[..., :dimension, ROW], frame[..., :dimension, COLUMN]
    pairs = rows[..., None, :, :] * gradients[..., :, None, COLUMN]
    pairs += columns[..., None, :, :] * gradients[..., :, None, ROW]
    return np.asarray((0.5 * ENGINEERING * pairs).reshape(*pairs.shape[:-3], -1, 6))
