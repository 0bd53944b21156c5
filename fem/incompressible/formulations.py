"""The pairs of displacement and pressure spaces on offer, built with scikit-fem (spec 5).

    taylor-hood    quadratic displacement, continuous linear pressure          stable on every mesh
    mini           linear + bubble displacement, continuous linear pressure    stable on every mesh
    stabilized     linear displacement and pressure, C = M + r (M - P^T M0 P)  Bochev, Dohrmann, Gunzburger 2006
    b-bar          (bi-, tri-)linear displacement, one pressure per cell       Hughes 1980, Q1/P0
    p2-p0          quadratic displacement, one pressure per cell               stable, first order only
    node, cell, element   linear displacement, one pressure per patch of `rheotwin.constraints.patches`

In `stabilized`, P averages a pressure over each element and r = bulk/shear makes r (M - ..)/K = (M - ..)/mu, the
published penalty, for a fixed ratio of the two moduli.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags
from skfem import (
    Basis,
    BilinearForm,
    ElementHex0,
    ElementHex1,
    ElementHex2,
    ElementQuad0,
    ElementQuad1,
    ElementQuad2,
    ElementTetMini,
    ElementTetP0,
    ElementTetP1,
    ElementTetP2,
    ElementTriMini,
    ElementTriP0,
    ElementTriP1,
    ElementTriP2,
    ElementVector,
)
from skfem.helpers import div

from rheotwin.constraints.patches import PatchKind, patches
from rheotwin.errors import RheotwinError
from rheotwin.fem.incompressible.form import MixedForm

Indices = NDArray[np.int64]
Formulation = Literal["taylor-hood", "mini", "stabilized", "b-bar", "p2-p0", "node", "cell", "element"]
PATCHES: dict[Formulation, PatchKind] = {"node": "node", "cell": "cell", "element": "element"}
"""Formulations that are a constraint space of `rheotwin.constraints.patches`."""


@dataclass(frozen=True)
class Pair:
    """Scalar displacement and pressure elements with the quadrature order that integrates their products."""

    displacement: Any
    pressure: Any
    order: int


_FLAT = Pair(ElementTriP1(), ElementTriP0(), 0)
_SOLID = Pair(ElementTetP1(), ElementTetP0(), 0)
FORMULATIONS: dict[Formulation, dict[str, Pair]] = {
    "taylor-hood": {
        "triangle": Pair(ElementTriP2(), ElementTriP1(), 2),
        "tet": Pair(ElementTetP2(), ElementTetP1(), 2),
        "quad": Pair(ElementQuad2(), ElementQuad1(), 5),
        "hex": Pair(ElementHex2(), ElementHex1(), 5),
    },
    "mini": {
        "triangle": Pair(ElementTriMini(), ElementTriP1(), 4),
        "tet": Pair(ElementTetMini(), ElementTetP1(), 6),
    },
    "stabilized": {
        "triangle": Pair(ElementTriP1(), ElementTriP1(), 2),
        "tet": Pair(ElementTetP1(), ElementTetP1(), 2),
    },
    "b-bar": {
        "quad": Pair(ElementQuad1(), ElementQuad0(), 3),
        "hex": Pair(ElementHex1(), ElementHex0(), 3),
    },
    "p2-p0": {"triangle": Pair(ElementTriP2(), ElementTriP0(), 2)},
    "node": {"triangle": _FLAT, "tet": _SOLID},
    "cell": {"triangle": _FLAT, "tet": _SOLID},
    "element": {"triangle": _FLAT, "tet": _SOLID},
}
"""Cells each formulation exists on."""

CONSTANT = {
    "triangle": ElementTriP0(),
    "tet": ElementTetP0(),
}


@BilinearForm
def _divergence(u: Any, q: Any, w: Any) -> Any:
    return div(u) * q


@BilinearForm
def _ring_divergence(u: Any, q: Any, w: Any) -> Any:
    return 2.0 * np.pi * (w.x[0] * div(u) + u[0]) * q


@BilinearForm
def _product(p: Any, q: Any, w: Any) -> Any:
    return p * q


@BilinearForm
def _ring_product(p: Any, q: Any, w: Any) -> Any:
    return 2.0 * np.pi * w.x[0] * p * q


def mixed_form(
    mesh: Any,
    cell: str,
    formulation: Formulation,
    *,
    ratio: float = 0.0,
    groups: Indices | None = None,
    axisymmetric: bool = False,
) -> MixedForm:
    """Return a formulation on a mesh.

    `ratio` (bulk modulus over shear modulus) scales the penalty of "stabilized"; `groups` (elements,) numbers the
    cells of "cell" (default: found by `constraints.patches.cell_groups`). An axisymmetric body (x: radius, y: axis)
    has dV = 2 pi r dr dz and the hoop strain in its volume strain.
    """
    pair = _pair(formulation, cell)
    extra = 2 if axisymmetric else 0
    basis = Basis(mesh, ElementVector(pair.displacement), intorder=pair.order + extra)
    _require_node_major(basis)
    pressure = Basis(mesh, pair.pressure, quadrature=basis.quadrature)
    divergence, product = (_ring_divergence, _ring_product) if axisymmetric else (_divergence, _product)
    gradient = divergence.assemble(basis, pressure).tocsr()
    mass = product.assemble(pressure).tocsr()
    values = _values(pressure)
    if formulation == "stabilized":
        mass = (mass + ratio * _fluctuation(mass, pressure, cell, product)).tocsr()
    if formulation in PATCHES:
        shares = patches(PATCHES[formulation], mesh.t.T, mesh.p.T, groups).shares
        # the patches' pressure functions q_m = sum_e w_me chi_e overlap around nodes; lumping their mass makes theta
        # the volume change of the patch over its volume
        gradient = (shares @ gradient).tocsr()
        mass = diags(shares @ mass.diagonal()).tocsr()
        values = (values @ shares.T).tocsr()
    return MixedForm(formulation, basis, gradient, mass, values)


def _pair(formulation: Formulation, cell: str) -> Pair:
    cells = FORMULATIONS[formulation]
    if cell not in cells:
        others = [name for name, known in FORMULATIONS.items() if cell in known and name != "element"]
        remedy = f"use one of {', '.join(others)}" if others else "choose cells of two or three dimensions"
        raise RheotwinError(f"solvers.fem.formulation: '{formulation}' does not exist on {cell} cells: {remedy}")
    return cells[cell]


def _require_node_major(basis: Basis) -> None:
    """Component c of node i is unknown i d + c, vertices first: the numbering the whole program shares."""
    d, vertices = basis.mesh.p.shape
    if not np.array_equal(basis.nodal_dofs.T.ravel(), np.arange(d * vertices)):
        raise RheotwinError("scikit-fem numbers the unknowns in an order this program does not know; use version 12")


def _values(pressure: Basis) -> csr_matrix:
    """Return the pressure functions at the quadrature points (elements * points, pressures)."""
    elements, points = pressure.dx.shape
    where = np.arange(elements * points)
    rows, columns, data = [], [], []
    for local, shape in enumerate(pressure.basis):
        rows.append(where)
        columns.append(np.repeat(pressure.element_dofs[local], points))
        data.append(np.broadcast_to(np.asarray(shape[0]), (elements, points)).ravel())
    triplets = np.concatenate(data), (np.concatenate(rows), np.concatenate(columns))
    return csr_matrix(triplets, shape=(elements * points, pressure.N))


def _fluctuation(mass: csr_matrix, pressure: Basis, cell: str, product: Any) -> csr_matrix:
    """Return int (p - mean p)(q - mean q) over the elements [m^d]: zero for pressures constant per element."""
    constant = Basis(pressure.mesh, CONSTANT[cell], quadrature=pressure.quadrature)
    volumes = product.assemble(constant).diagonal()
    moments = product.assemble(pressure, constant).tocsr()
    return (mass - moments.T @ diags(1.0 / volumes) @ moments).tocsr()
