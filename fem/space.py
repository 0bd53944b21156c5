"""Where the displacements of one body live: nodes of its element, and unknowns that belong to no node.

A vector of a body has rows of d components: first its nodes (the vertices of the mesh before all others), then
packed *inner* unknowns such as the out-of-plane strain of a plane-stress cell. Row i holds the components from i d on.

Elements of displacements and their geometric matrices: J_lambda, J_mu and the mass, by scikit-fem (spec 2.1).

The elastic force of an isotropic body is (lambda J_lambda + mu J_mu) u with

    J_lambda = int div(u) div(v),      J_mu = int 2 eps(u) : eps(v).

An axisymmetric body (x: radius r, y: axis) has the hoop strain u_r/r besides, and dV = 2 pi r dr dz. Degrees of
freedom are node-major: component c of node i is number i d + c.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_matrix, eye_array, hstack, kron
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
from skfem.quadrature import get_quadrature

from rheotwin.arrays import Array, Flags, Indices
from rheotwin.fem.fast.solids import Rule, Solids, shapes
from rheotwin.meshing import NO_HANGING_NODES, HangingNodes
from rheotwin.meshing.cells import MESH_TYPES
from rheotwin.problem import Cells
from rheotwin.strain import CENTRE_RULES, corner_average, corner_shares, point_weights, strain_operator

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
    hanging: HangingNodes = NO_HANGING_NODES
    """Vertices of linear elements that are no nodes: they follow others, u = T u_nodes."""

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
    def solids(self) -> Solids | None:
        """The cells where they are straight tetrahedra or hexahedra of one of the two orders, which need no basis."""
        apart = self.given is not None or len(self.hanging)
        if self.cell not in ("tet", "hex") or apart or self.mesh.p.shape[1] != self.vertices:
            return None
        mesh, nodes = self.mesh, [self.mesh.t]
        if self.order == 2:
            edges, facets = (self.vertices + mesh.edges.shape[1]), mesh.facets.shape[1] if self.cell == "hex" else 0
            nodes.append(self.vertices + mesh.t2e)
            if self.cell == "hex":
                nodes += [edges + mesh.t2f, (edges + facets + np.arange(mesh.nelements))[None]]
        order, linear = ELEMENTS[self.cell, self.order].stiffness_order, MESH_TYPES[self.cell].elem()
        places, weights = CENTRE_RULES[self.cell] if order == 0 else get_quadrature(linear.refdom, order)
        shares, corner_slopes = shapes(linear, places)
        rule = Rule(np.ascontiguousarray(weights), corner_slopes, shapes(self.element, places)[1])
        numbers = np.ascontiguousarray(np.concatenate(nodes).T, dtype=np.int32)
        corners = np.ascontiguousarray(mesh.t.T, dtype=np.int32)
        return Solids(np.ascontiguousarray(mesh.p.T), corners, numbers, rule, shares)

    def mass_shares(self) -> Array:
        """Return int N_a^2 (nodes,) [m3] of solids, from which a lumped mass is shared."""
        assert self.solids is not None
        order, linear = ELEMENTS[self.cell, self.order].mass_order, MESH_TYPES[self.cell].elem()
        places, weights = get_quadrature(linear.refdom, order)
        values, slopes = shapes(self.element, places)
        exact = replace(self.solids, rule=Rule(weights, shapes(linear, places)[1], slopes))
        parts = exact.weights.reshape(-1, len(weights)) @ (values**2).T
        return np.asarray(np.bincount(exact.nodes.ravel(), weights=parts.ravel(), minlength=self.nodes), np.float64)

    @property
    def element(self) -> Any:
        """The scalar element."""
        return ELEMENTS[self.cell, self.order].element if self.given is None else self.given.elem.elem

    @cached_property
    def vertices(self) -> int:
        """Number of mesh vertices, which are the first nodes unless they hang."""
        return int(self.mesh.t.max()) + 1

    @cached_property
    def _followed(self) -> tuple[csr_matrix, Indices]:
        return self.hanging.followed(self.vertices)

    @property
    def kept(self) -> Indices:
        """Vertices that are nodes, in the order of these."""
        return self._followed[1] if len(self.hanging) else np.arange(self.vertices)

    @property
    def follows(self) -> csr_matrix:
        """Shares (vertices, nodes) of linear elements' nodes in the motion of each vertex."""
        return self._followed[0] if len(self.hanging) else eye_array(self.vertices, format="csr")

    def on_nodes(self, matrix: csr_matrix) -> csr_matrix:
        """Return T' A T of a matrix on the components of the basis."""
        if not len(self.hanging):
            return matrix
        ties = kron(self.follows, np.eye(self.dimension))
        return (ties.T @ matrix @ ties).tocsr()

    @property
    def nodes(self) -> int:
        """Number of displacement nodes."""
        if self.order == 1:
            return len(self.kept)
        if self.solids is not None:
            return int(self.solids.nodes.max()) + 1
        return int(self.basis.N) // self.dimension - self.bubbles

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
            return np.ascontiguousarray(self.mesh.p.T[self.kept])
        if self.solids is not None:
            return np.concatenate([self.mesh.p.T, *(self.mesh.p.T[group].mean(axis=1) for group in self.parents)])
        return np.ascontiguousarray(self.basis.doflocs[:, :: self.dimension].T[: self.nodes])

    @cached_property
    def parents(self) -> list[Indices]:
        """Vertices (n, k) of the edges, faces or cells that the nodes behind the vertices stand on, group by group."""
        if self.order == 1:
            return []
        scalar, mesh = self.element, self.mesh
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
        if self.order == 1:
            return np.isin(self.kept, self.mesh.boundary_nodes())
        marked = np.zeros(self.nodes, dtype=bool)
        if self.solids is not None:
            marked[self.mesh.boundary_nodes()] = True
            marked[self.vertices + self.mesh.boundary_edges()] = True
            if self.cell == "hex":
                marked[self.vertices + self.mesh.edges.shape[1] + self.mesh.boundary_facets()] = True
            return marked
        on_facets = self.basis.get_dofs(self.mesh.boundary_facets()).flatten() // self.dimension
        marked[on_facets] = True
        return marked

    @cached_property
    def chords(self) -> Flags:
        """Mark the nodes inside whose parents are all on the boundary: they cut across a corner or a thin part."""
        if self.order == 1:
            return np.zeros(self.nodes, dtype=bool)
        return ~self.boundary & self.with_inherited(self.boundary[: self.vertices])

    def with_inherited(self, chosen: Flags) -> Flags:
        """Extend a choice of vertices (vertices, ...) to all nodes: one counts when all its parents do."""
        inherited = [chosen[self.kept], *(chosen[group].all(axis=1) for group in self.parents)]
        return np.concatenate(inherited)

    @cached_property
    def strain(self) -> csr_matrix:
        """Sparse map (6 points, size) from a vector to strains at the quadrature points, see `rheotwin.strain`.

        Inner unknowns, if there are any, are the ZZ strains of the points, one each.
        """
        nodal = strain_operator(self.basis, axisymmetric=self.axisymmetric)
        if len(self.hanging):
            nodal = (nodal @ kron(self.follows, np.eye(self.dimension))).tocsr()
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
        count = self.solids.points if self.solids is not None else self.basis.dx.shape[1]
        return np.asarray(cells[:, None] * count + np.arange(count)).ravel()

    def strain_in(self, cells: Cells) -> csr_matrix:
        """Return the rows of `strain` of some cells."""
        places = self.places_in(cells)
        return self.strain if places is ... else self.strain[(6 * places[:, None] + np.arange(6)).ravel()]

    def strains_in(self, cells: Cells) -> Callable[[Array], Array]:
        """Return the map from a vector to the strains (points, 6) in some cells."""
        if self.solids is not None:
            solids, some = self.solids, np.arange(len(self.solids.nodes))[cells]
            return lambda vector: solids.strains(vector, some)
        return lambda vector: np.asarray((self.strain @ vector).reshape(-1, 6)[self.places_in(cells)])

    def basis_in(self, cells: Cells) -> Basis:
        """Return the basis on some cells; its matrices have the size of the whole."""
        return self.basis if cells is ... else self.basis.with_elements(cells)

    @cached_property
    def weights(self) -> Array:
        """Volume of every quadrature point [m^d], element by element; of its ring for an axisymmetric body."""
        if self.solids is not None:
            return self.solids.weights
        return point_weights(self.basis, axisymmetric=self.axisymmetric).ravel()

    @property
    def corner_shares(self) -> Array:
        """Linear functions (c, points) of the corners of a cell at its quadrature points."""
        return corner_shares(self.basis, self.cell) if self.solids is None else self.solids.corner_shares

    @cached_property
    def averaging(self) -> csr_matrix:
        """Sparse map from quadrature points to vertices."""
        return corner_average(self.mesh.t, self.weights.reshape(self.mesh.nelements, -1), self.corner_shares)

    def vertex_strain(self, u: Array, out_of_plane: Array | float = 0.0) -> Array:
        """Return the strain (vertices, 6) of u (size,); ZZ is `out_of_plane` (XX + YY) more, point by point."""
        strain = self.strains_in(...)(u)
        strain[:, 2] += out_of_plane * (strain[:, 0] + strain[:, 1])
        return np.asarray(self.averaging @ strain)


def mixed_space(mesh: Any, cell: str, basis: Basis, *, axisymmetric: bool = False) -> Space:
    """Return the displacement space of a mixed formulation with its own basis (quadratic, or linear with bubbles)."""
    vertices, scalar = int(mesh.t.max()) + 1, basis.elem.elem
    order: Order = 2 if scalar.edge_dofs or scalar.facet_dofs else 1
    bubbles = int(basis.N) // int(mesh.p.shape[0]) - vertices if order == 1 else 0
    return Space(mesh, cell, order, axisymmetric, given=basis, bubbles=bubbles)


def body_space(
    mesh: Any,
    cell: str,
    order: Order,
    *,
    axisymmetric: bool = False,
    out_of_plane: bool = False,
    hanging: HangingNodes = NO_HANGING_NODES,
) -> Space:
    """Return the displacement space of a mesh; `out_of_plane` adds an unknown ZZ strain per quadrature point."""
    space = Space(mesh, cell, order, axisymmetric, hanging=hanging)
    return replace(space, given=space.basis, inner=space.basis.dx.size) if out_of_plane else space
