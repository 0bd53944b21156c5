"""Elements of one body at rest: shape gradients and weights at the quadrature points, from scikit-fem bases."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from skfem import Basis

from rheotwin.meshing.cells import MESH_TYPES, SIMPLICES

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class ElementGeometry:
    """Elements e with nodes a, quadrature points q and m = n d components each.

    `dofs` (e, m) number the components in the global vectors, node-major; `gradients` (e, q, n, 3) are dN_a/dX
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


def element_geometry(mesh: Any, cell: str, *, thickness: float = 1.0, first_node: int = 0) -> ElementGeometry:
    """Return the elements of a mesh whose nodes start at `first_node` of the global vectors; `thickness` [m] in 2D.

    One quadrature point in simplices, where gradients are constant; two per direction in quads and hexes.
    """
    basis = Basis(mesh, MESH_TYPES[cell].elem(), intorder=0 if cell in SIMPLICES else 3)
    dimension, nodes = mesh.p.shape[0], basis.element_dofs.astype(np.int64).T
    gradients = np.zeros((*basis.dx.shape, nodes.shape[1], 3))
    for corner in range(nodes.shape[1]):
        gradients[:, :, corner, :dimension] = np.moveaxis(basis.basis[corner][0].grad, 0, -1)
    dofs = (nodes + first_node)[:, :, None] * dimension + np.arange(dimension)
    return ElementGeometry(dimension, dofs.reshape(len(nodes), -1), gradients, thickness * basis.dx)
