"""What a description of large motion offers: a strain, its first variation and its second (spec 6).

With strain e(u), conjugate stress s and weights w the internal force is sum_q w B's, B = de/du, and its
tangent sum_q w (B' (ds/de) B + s d2e/du2).

Symmetric tensors as six numbers (XX, YY, ZZ, XY, YZ, XZ).

Stresses carry tensor shear, strains engineering shear. With that pair the product of stress and strain
is the plain dot product, and moduli are (6, 6) matrices.

Total-Lagrangian kinematics: Green's strain and the second Piola-Kirchhoff stress (spec 6).

    E = (F'F - I)/2 = sym(H) + H'H/2,   H = du/dX,      sigma = F S F'/J

E does not change when the body turns, so neither does S nor anything a law remembers of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from skfem import Basis

from rheotwin.arrays import Array, Indices
from rheotwin.meshing.cells import MESH_TYPES, SIMPLICES
from rheotwin.problem import Cells
from rheotwin.tensors import INDEX_PAIRS

ROW, COLUMN = (np.array(indices) for indices in zip(*INDEX_PAIRS, strict=True))
ENGINEERING = np.array([1.0, 1.0, 1.0, 2.0, 2.0, 2.0])
"""Engineering over tensor shear."""
IDENTITY = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
"""The unit tensor."""
DEVIATOR = np.diag(2.0 / ENGINEERING) - 2.0 / 3.0 * np.outer(IDENTITY, IDENTITY)
"""Strain -> 2 dev(strain), the stress of a unit shear modulus."""
_PLACE = np.array([[0, 3, 5], [3, 1, 4], [5, 4, 2]])


def stress_vector(tensor: Array) -> Array:
    """Return the six components (..., 6) of a symmetric tensor (..., 3, 3)."""
    return np.asarray(tensor[..., ROW, COLUMN])


def stress_tensor(vector: Array) -> Array:
    """Return the tensor (..., 3, 3) of six stress components."""
    return np.asarray(vector[..., _PLACE])


def strain_vector(tensor: Array) -> Array:
    """Return the six components (..., 6) of the symmetric part of a strain (..., 3, 3), engineering shear."""
    return np.asarray(0.5 * ENGINEERING * (tensor[..., ROW, COLUMN] + tensor[..., COLUMN, ROW]))


def strain_tensor(vector: Array) -> Array:
    """Return the tensor (..., 3, 3) of six strain components."""
    return stress_tensor(vector / ENGINEERING)


def dyad(a: Array, b: Array) -> Array:
    """Return a (x) b (..., 6, 6): strain -> a (b : strain)."""
    return np.asarray(a[..., :, None] * b[..., None, :])


def sandwich(a: Array, b: Array) -> Array:
    """Return the modulus (..., 6, 6) of e -> (a e b + b e a)/2 for symmetric tensors a, b (..., 3, 3)."""
    i, j, k, l = ROW[:, None], COLUMN[:, None], ROW, COLUMN  # noqa: E741
    first = a[..., i, k] * b[..., j, l] + a[..., i, l] * b[..., j, k]
    return np.asarray(0.25 * (first + b[..., i, k] * a[..., j, l] + b[..., i, l] * a[..., j, k]))


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


@dataclass(frozen=True)
class TotalLagrangian:
    """Green's strain at every quadrature point."""

    geometry: ElementGeometry

    def strain(self, u: Array) -> Array:
        """Return E (e, q, 6), from H so that small strains keep all their digits."""
        slope = self.geometry.displacement_gradient(u)
        return strain_vector(slope + 0.5 * np.swapaxes(slope, -1, -2) @ slope)

    def operator(self, u: Array) -> Array:
        """Return B (e, q, m, 6) of dE = sym(F' dF)."""
        geometry = self.geometry
        return symmetric_products(geometry.deformation_gradient(u), geometry.gradients, geometry.dimension)

    def geometric(self, u: Array, stress: Array) -> Array:
        """Return sum_q w S : sym(dF' dF): per pair of nodes w dN_a . S dN_b, the same for each component."""
        geometry = self.geometry
        weighted = geometry.gradients @ (geometry.weights[..., None, None] * stress_tensor(stress))
        pairs = np.sum(weighted @ np.swapaxes(geometry.gradients, -1, -2), axis=1)
        elements, size = geometry.dofs.shape
        blocks = pairs[:, :, None, :, None] * np.eye(geometry.dimension)[:, None, :]
        return np.asarray(blocks.reshape(elements, size, size))

    def cauchy(self, u: Array, stress: Array) -> Array:
        """Return sigma = F S F'/J (e, q, 6) [Pa]."""
        deformation = self.geometry.deformation_gradient(u)
        pushed = deformation @ stress_tensor(stress) @ np.swapaxes(deformation, -1, -2)
        return np.asarray(stress_vector(pushed) / np.linalg.det(deformation)[..., None])
