"""Where the displacements of one body live: nodes of its element, and unknowns that belong to no node.

A vector of a body has rows of d components: first its nodes (the vertices of the mesh before all others), then
packed *inner* unknowns such as the out-of-plane strain of a plane-stress cell. Row i holds the components from i d on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, hstack
from skfem import Basis

from rheotwin.arrays import Array, Flags, Indices
from rheotwin.fem.forms import Order, vector_basis
from rheotwin.problem import Cells
from rheotwin.strain import averaging_operator, point_weights, strain_operator


@dataclass(frozen=True)
class Space:
    """Displacement space of one body; `inner` counts the scalar unknowns behind the nodes."""

    mesh: Any
    cell: str
    order: Order
    axisymmetric: bool
    given: Basis | None = None
    """Basis of a mixed formulation; default: that of the cell and order."""
    inner: int = 0
    bubbles: int = 0
    """Rows of the basis behind the nodes that are amplitudes inside cells, not displacements of a place."""

    @property
    def dimension(self) -> int:
        """Components of a displacement."""
        return int(self.mesh.p.shape[0])

    @cached_property
    def basis(self) -> Basis:
        """Shape functions at the quadrature points; made when first needed, because a large body's take much memory."""
        if self.given is not None:
            return self.given
        return vector_basis(self.mesh, self.cell, self.order, axisymmetric=self.axisymmetric)

    @cached_property
    def vertices(self) -> int:
        """Number of mesh vertices, which are the first nodes."""
        return int(self.mesh.t.max()) + 1

    @property
    def nodes(self) -> int:
        """Number of displacement nodes."""
        return self.vertices if self.order == 1 else int(self.basis.N) // self.dimension - self.bubbles

    @property
    def rows(self) -> int:
        """Number of rows of a vector: nodes, then bubbles, then inner unknowns packed d to a row."""
        return self.nodes + self.bubbles + -(-self.inner // self.dimension)

    @property
    def used(self) -> int:
        """Number of components that stand for something: all but the padding of the last row."""
        return (self.nodes + self.bubbles) * self.dimension + self.inner

    @property
    def size(self) -> int:
        """Number of components of a vector, padding of the last row included."""
        return self.rows * self.dimension

    @cached_property
    def points(self) -> Array:
        """Rest positions (nodes, d) [m]."""
        if self.order == 1:
            return np.ascontiguousarray(self.mesh.p.T)
        return np.ascontiguousarray(self.basis.doflocs[:, :: self.dimension].T[: self.nodes])

    @cached_property
    def parents(self) -> list[Indices]:
        """Vertices (n, k) of the edges, faces or cells that the nodes behind the vertices stand on, group by group."""
        if self.nodes == self.vertices:
            return []
        scalar, mesh = self.basis.elem.elem, self.mesh
        groups = []
        if scalar.edge_dofs:
            groups.append(mesh.edges.T)
        if scalar.facet_dofs:
            groups.append(mesh.facets.T)
        if scalar.interior_dofs:
            groups.append(mesh.t.T)
        return [group.astype(np.int64) for group in groups]

    @cached_property
    def boundary(self) -> Flags:
        """Mark the nodes on the boundary."""
        marked = np.zeros(self.nodes, dtype=bool)
        if self.order == 1:
            marked[self.mesh.boundary_nodes()] = True
            return marked
        on_facets = self.basis.get_dofs(self.mesh.boundary_facets()).flatten() // self.dimension
        marked[on_facets] = True
        return marked

    @cached_property
    def chords(self) -> Flags:
        """Mark the nodes inside whose parents are all on the boundary: they cut across a corner or a thin part."""
        return ~self.boundary & self.with_inherited(self.boundary[: self.vertices])

    def with_inherited(self, chosen: Flags) -> Flags:
        """Extend a choice of vertices (vertices, ...) to all nodes: one counts when all its parents do."""
        inherited = [chosen, *(chosen[group].all(axis=1) for group in self.parents)]
        return np.concatenate(inherited)

    @cached_property
    def strain(self) -> csr_matrix:
        """Sparse map (6 points, size) from a vector to strains at the quadrature points, see `rheotwin.strain`.

        Inner unknowns, if there are any, are the ZZ strains of the points, one each.
        """
        nodal = strain_operator(self.basis, axisymmetric=self.axisymmetric)
        behind = self.size - nodal.shape[1]
        if not behind:
            return nodal
        points = np.arange(self.inner)
        out_of_plane = csr_matrix((np.ones(self.inner), (6 * points + 2, points)), shape=(nodal.shape[0], behind))
        return hstack([nodal, out_of_plane], format="csr")

    def places_in(self, cells: Cells) -> Cells:
        """Return the numbers of the quadrature points of some cells."""
        if cells is ...:
            return cells
        count = self.basis.dx.shape[1]
        return np.asarray(cells[:, None] * count + np.arange(count)).ravel()

    def strain_in(self, cells: Cells) -> csr_matrix:
        """Return the rows of `strain` of some cells."""
        places = self.places_in(cells)
        return self.strain if places is ... else self.strain[(6 * places[:, None] + np.arange(6)).ravel()]

    def strains_in(self, cells: Cells) -> Callable[[Array], Array]:
        """Return the map from a vector to the strains (points, 6) in some cells."""
        return lambda vector: np.asarray((self.strain @ vector).reshape(-1, 6)[self.places_in(cells)])

    def basis_in(self, cells: Cells) -> Basis:
        """Return the basis on some cells; its matrices have the size of the whole."""
        return self.basis if cells is ... else self.basis.with_elements(cells)

    @cached_property
    def weights(self) -> Array:
        """Volume of every quadrature point [m^d], element by element; of its ring for an axisymmetric body."""
        return point_weights(self.basis, axisymmetric=self.axisymmetric).ravel()

    @cached_property
    def averaging(self) -> csr_matrix:
        """Sparse map from quadrature points to vertices."""
        return averaging_operator(self.basis, self.cell, axisymmetric=self.axisymmetric)

    def vertex_strain(self, u: Array, out_of_plane: Array | float = 0.0) -> Array:
        """Return the strain (vertices, 6) of u (size,); ZZ is `out_of_plane` (XX + YY) more, point by point."""
        strain = (self.strain @ u).reshape(-1, 6)
        strain[:, 2] += out_of_plane * (strain[:, 0] + strain[:, 1])
        return np.asarray(self.averaging @ strain)


def mixed_space(mesh: Any, cell: str, basis: Basis, *, axisymmetric: bool = False) -> Space:
    """Return the displacement space of a mixed formulation with its own basis (quadratic, or linear with bubbles)."""
    vertices, scalar = int(mesh.t.max()) + 1, basis.elem.elem
    order: Order = 2 if scalar.edge_dofs or scalar.facet_dofs else 1
    bubbles = int(basis.N) // int(mesh.p.shape[0]) - vertices if order == 1 else 0
    return Space(mesh, cell, order, axisymmetric, given=basis, bubbles=bubbles)


def body_space(mesh: Any, cell: str, order: Order, *, axisymmetric: bool = False, out_of_plane: bool = False) -> Space:
    """Return the displacement space of a mesh; `out_of_plane` adds an unknown ZZ strain per quadrature point."""
    space = Space(mesh, cell, order, axisymmetric)
    return replace(space, given=space.basis, inner=space.basis.dx.size) if out_of_plane else space
