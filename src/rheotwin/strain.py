"""Small strain of a mesh from the displacements of its nodes: at quadrature points, and averaged to vertices.

Every solver reports the strain of the cells by the same average, so that strains of one mesh can be compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from skfem import Basis, ElementVector

from rheotwin.arrays import Array, Indices
from rheotwin.meshing.cells import MESH_TYPES, Mesh
from rheotwin.tensors import INDEX_PAIRS

CENTRE_RULES: dict[str, tuple[Array, Array]] = {
    "line": (np.array([[0.5]]), np.array([1.0])),
    "triangle": (np.array([[1 / 3], [1 / 3]]), np.array([0.5])),
    "tet": (np.array([[0.25], [0.25], [0.25]]), np.array([1 / 6])),
}
"""One point at the centre of a linear simplex, where its strain is constant (scikit-fem's own rules have up to 3)."""


def point_weights(basis: Basis, *, axisymmetric: bool = False) -> Array:
    """Return the volume (elements, points) of every quadrature point [m^d]; of its ring [m3] if axisymmetric."""
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

    def enter(slot: int, dof: Indices, value: Any) -> None:
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
            enter(2, dof, np.asarray(shape[0])[0] / radius)
    triplets = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    return csr_matrix(triplets, shape=(6 * elements * points, basis.N))


def averaging_operator(basis: Basis, cell: str, *, axisymmetric: bool = False) -> csr_matrix:
    """Return the map from values at the quadrature points to the vertices: int N_i f / int N_i.

    N_i are the linear functions of the vertices; on linear simplices this is the average over the elements
    around a vertex, weighted with their volumes.
    """
    weights = point_weights(basis, axisymmetric=axisymmetric)
    return corner_average(basis.mesh.t, weights, corner_shares(basis, cell))


def corner_shares(basis: Basis, cell: str) -> Array:
    """Return the linear functions (c, points) of the corners of a cell at the quadrature points."""
    linear, points = MESH_TYPES[cell].elem(), basis.X.shape[-1]
    shares = [np.broadcast_to(linear.lbasis(basis.X, local)[0], points) for local in range(len(basis.mesh.t))]
    return np.array(shares, dtype=np.float64)


def corner_average(corners: Indices, weights: Array, shares: Array) -> csr_matrix:
    """Return the map above from volumes (M, points) and the functions (c, points) of the corners (c, M)."""
    where = np.broadcast_to(np.arange(weights.size).reshape(weights.shape), (len(corners), *weights.shape))
    values, rows = shares[:, None, :] * weights, np.repeat(corners.ravel(), weights.shape[1])
    matrix = csr_matrix((values.ravel(), (rows, where.ravel())), shape=(int(corners.max()) + 1, weights.size))
    matrix.data /= np.repeat(np.asarray(matrix.sum(axis=1)).ravel(), np.diff(matrix.indptr))
    return matrix


@dataclass(frozen=True)
class VertexStrain:
    """The strain of linear cells, averaged to their vertices.

    `out_of_plane` is the strain ZZ per (XX + YY): -nu/(1 - nu) where nothing presses out of the plane.
    """

    strain: csr_matrix
    averaging: csr_matrix
    out_of_plane: float = 0.0

    def of(self, displacement: Array) -> Array:
        """Return the strains (vertices, 6) of displacements (vertices, d) [m]."""
        found = np.asarray(self.averaging @ (self.strain @ displacement.ravel()).reshape(-1, 6))
        found[:, 2] += self.out_of_plane * (found[:, 0] + found[:, 1])
        return found


def vertex_strain(mesh: Mesh, cell: str, *, out_of_plane: float = 0.0) -> VertexStrain:
    """Return the strain of a mesh of linear cells."""
    element = ElementVector(MESH_TYPES[cell].elem())
    rule = CENTRE_RULES.get(cell)
    basis = Basis(mesh, element, intorder=3) if rule is None else Basis(mesh, element, quadrature=rule)
    return VertexStrain(strain_operator(basis), averaging_operator(basis, cell), out_of_plane)
