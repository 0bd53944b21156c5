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

from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.sparse import csr_matrix
from skfem import Basis

from rheotwin.arrays import Array, Indices
from rheotwin.fem.finite.loops import element_forces, element_tangents, gradients, green
from rheotwin.tensors import INDEX_PAIRS

ROW, COLUMN = (np.array(indices) for indices in zip(*INDEX_PAIRS, strict=True))
ENGINEERING = np.array([1.0, 1.0, 1.0, 2.0, 2.0, 2.0])
"""Engineering over tensor shear."""
IDENTITY = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
"""The unit tensor."""
DEVIATOR = np.diag(2.0 / ENGINEERING) - 2.0 / 3.0 * np.outer(IDENTITY, IDENTITY)
"""Strain -> 2 dev(strain), the stress of a unit shear modulus."""
NONE = np.zeros(0, dtype=np.int64)
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
    """Elements e with nodes a, quadrature points q and m components each.

    `dofs` (e, m) number the components of the body, node-major, unknown strains ZZ behind; `gradients` (e, q, n, 3) are
    dN_a/dX [1/m], with zeros behind in a plane; `weights` (e, q) are the volumes of the points [m^3].
    """

    dimension: int
    dofs: Indices
    gradients: Array
    weights: Array
    across: Array
    """dF_zz per component (e, q, m) [1/m] of rings and of plane stress, else (e, q, 0)."""
    own: Indices
    """Places among the m components of those that one element alone has: its strains ZZ in plane stress."""
    last: list[tuple[Array, Array]] = field(default_factory=list, compare=False, repr=False)
    """The displacement asked for last and its gradient: strain, forces and tangents of one trial ask in turn."""

    @cached_property
    def columns(self) -> Array:
        """Shape gradients (e, q, d, n) [1/m], as the compiled loops read them."""
        return np.ascontiguousarray(np.swapaxes(self.gradients, -1, -2)[:, :, : self.dimension])

    @cached_property
    def mean_gradients(self) -> Array:
        """Volume-averaged shape gradients (e, n, 3) [1/m]."""
        volumes = self.weights.sum(axis=1)
        return np.asarray(np.einsum("eq,eqnk->enk", self.weights, self.gradients) / volumes[:, None, None])

    def displacement_gradient(self, u: Array) -> Array:
        """Return du/dX (e, q, 3, 3) of displacements u (size,) [m], not to be changed."""
        if self.last and np.array_equal(self.last[0][0], u):
            return self.last[0][1]
        slope = np.empty((*self.weights.shape, 3, 3))
        gradients(self.columns, self.across, self.dofs, np.ascontiguousarray(u), slope)
        self.last[:] = [(np.array(u), slope)]
        return slope

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


def _followed(corners: Indices, follows: csr_matrix) -> tuple[Indices, Array]:
    """Return the nodes (e, n) that move the corners (e, c) of elements, and their shares in them (e, c, n)."""
    every = follows[corners.ravel()].tocoo()
    element, corner = np.divmod(every.row, corners.shape[1])
    keys, place = np.unique(element * follows.shape[1] + every.col, return_inverse=True)
    owner, node = np.divmod(keys, follows.shape[1])
    local = np.arange(len(keys)) - np.searchsorted(owner, owner)
    nodes = np.repeat(node[local == 0][:, None], local.max() + 1, axis=1)
    nodes[owner, local] = node
    shares = np.zeros((*corners.shape, nodes.shape[1]))
    shares[element, corner, local[place]] = every.data
    return nodes, shares


def element_geometry(
    basis: Basis,
    *,
    thickness: float = 1.0,
    axisymmetric: bool = False,
    flat: int | None = None,
    follows: csr_matrix | None = None,
) -> ElementGeometry:
    """Return the elements of a basis of displacements; `thickness` [m] in 2D.

    `follows` are the shares of nodes in the motion of vertices, where some hang on edges of coarser cells.
    In plane stress `flat` is the first component behind the nodes: F_zz - 1 of point q of element e is component
    flat + e q_max + q over the size of the element, so that it is a displacement [m] as the others are.
    """
    dimension, dofs = basis.mesh.p.shape[0], basis.element_dofs.astype(np.int64).T
    (elements, points), components = basis.dx.shape, dofs.shape[1]
    slopes = np.zeros((elements, points, components // dimension, 3))
    for corner in range(components // dimension):
        slopes[:, :, corner, :dimension] = np.moveaxis(basis.basis[dimension * corner][0].grad[0], 0, -1)
    weights, across, own = thickness * basis.dx, np.zeros((elements, points, 0)), NONE
    if axisymmetric:
        radius = np.asarray(basis.global_coordinates())[0]
        weights, across = 2.0 * np.pi * radius * weights, np.zeros((elements, points, components))
        for local in range(0, components, dimension):
            across[:, :, local] = np.asarray(basis.basis[local][0])[0] / radius
    if follows is not None:
        nodes, shares = _followed(dofs[:, ::dimension] // dimension, follows)
        slopes = np.einsum("ecn,eqck->eqnk", shares, slopes)
        dofs = (dimension * nodes[:, :, None] + np.arange(dimension)).reshape(elements, -1)
        components = dofs.shape[1]
        if axisymmetric:
            radial = np.einsum("ecn,eqc->eqn", shares, across[:, :, ::dimension])
            across = np.zeros((elements, points, components))
            across[:, :, ::dimension] = radial
    if flat is not None:
        own = components + np.arange(points)
        cells = np.arange(elements) if basis.tind is None else basis.tind
        dofs = np.concatenate([dofs, flat + cells[:, None] * points + np.arange(points)], axis=1)
        across = np.zeros((elements, points, components + points))
        across[:, np.arange(points), own] = basis.dx.sum(axis=1)[:, None] ** -0.5
    return ElementGeometry(dimension, dofs, slopes, np.ascontiguousarray(weights), across, own)


class Kinematics(Protocol):
    """Strains (e, q, 6) carry engineering shear; vectors u (size,) are displacements of the body [m]."""

    @property
    def geometry(self) -> ElementGeometry:
        """The elements at rest."""

    def strain(self, u: Array) -> Array:
        """Return the strain at the quadrature points."""

    def forces(self, u: Array, stress: Array) -> Array:
        """Return sum_q w B's (e, m) [N], B = de/du."""

    def add_tangents(self, u: Array, end: Array, stress: Array, modulus: Array, share: float, blocks: Array) -> None:
        """Add sum_q w (B(u)' D B(end) + share s : d2e/du2) [N/m] to `blocks` (e, m.., m..)."""

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
    """Green's strain at every quadrature point, by the compiled loops of `loops`."""

    geometry: ElementGeometry

    def strain(self, u: Array) -> Array:
        """Return E (e, q, 6), from H so that small strains keep all their digits."""
        slope = self.geometry.displacement_gradient(u)
        strain = np.empty((*slope.shape[:2], 6))
        green(slope.reshape(-1, 3, 3), strain.reshape(-1, 6))
        return strain

    def forces(self, u: Array, stress: Array) -> Array:
        """Return sum_q w F S dN/dX (e, m) [N]."""
        geometry = self.geometry
        slope, forces = geometry.displacement_gradient(u), np.zeros(geometry.dofs.shape)
        stress = np.ascontiguousarray(stress)
        element_forces(geometry.columns, geometry.across, geometry.weights, slope, stress, forces)
        return forces

    def add_tangents(self, u: Array, end: Array, stress: Array, modulus: Array, share: float, blocks: Array) -> None:
        """Add the tangents of `loops`."""
        geometry = self.geometry
        at = geometry.displacement_gradient(u)
        final = at if end is u else geometry.displacement_gradient(end)
        parts = geometry.columns, geometry.across, geometry.weights
        element_tangents(*parts, at, final, stress, modulus, share, blocks)

    def cauchy(self, u: Array, stress: Array) -> Array:
        """Return sigma = F S F'/J (e, q, 6) [Pa]."""
        deformation = self.geometry.deformation_gradient(u)
        pushed = deformation @ stress_tensor(stress) @ np.swapaxes(deformation, -1, -2)
        return np.asarray(stress_vector(pushed) / np.linalg.det(deformation)[..., None])
