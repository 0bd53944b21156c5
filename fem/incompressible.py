"""Nearly and fully incompressible bodies: volume strain from a pressure space, J_vol = B^T C^-1 B (spec 5).

    B_mj = int q_m div(phi_j) dV,     C_mn = int q_m q_n dV (+ what stabilises the pair),     theta = C^-1 B u

theta is the projected volume strain. The isotropic stress becomes sigma = 2 mu eps + (K - 2 mu/3) theta I: the
deviator too uses the projected volume strain, J_dev = J_mu - (2/3) J_vol, so that an incompressible body (theta = 0)
keeps the whole of mu J_mu. J_dev stays positive semi-definite because a projection never enlarges int theta^2.

    taylor-hood    quadratic displacement, continuous linear pressure          stable on every mesh
    mini           linear + bubble displacement, continuous linear pressure    stable on every mesh
    stabilized     linear displacement and pressure, C = M + r (M - P^T M0 P)  Bochev, Dohrmann, Gunzburger 2006
    b-bar          (bi-, tri-)linear displacement, one pressure per cell       Hughes 1980, Q1/P0
    p2-p0          quadratic displacement, one pressure per cell               stable, first order only
    node, cell, element   linear displacement, one pressure per patch of `rheotwin.constraints.patches`

In `stabilized`, P averages a pressure over each element and r = bulk/shear makes r (M - ..)/K = (M - ..)/mu, the
published penalty, for a fixed ratio of the two moduli. Cells of one law have a pressure space of their own: where
moduli jump, the pressure does.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from scipy.sparse import csc_matrix, csr_matrix, diags
from scipy.sparse.linalg import splu
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

from rheotwin.arrays import Array, Indices
from rheotwin.constraints.patches import PatchKind, patches
from rheotwin.errors import RheotwinError
from rheotwin.fem.point_laws import is_yielding
from rheotwin.materials import is_incompressible
from rheotwin.problem import Cells, Problem, ProblemBody

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
    "mini": {"triangle": Pair(ElementTriMini(), ElementTriP1(), 4), "tet": Pair(ElementTetMini(), ElementTetP1(), 6)},
    "stabilized": {"triangle": Pair(ElementTriP1(), ElementTriP1(), 2), "tet": Pair(ElementTetP1(), ElementTetP1(), 2)},
    "b-bar": {"quad": Pair(ElementQuad1(), ElementQuad0(), 3), "hex": Pair(ElementHex1(), ElementHex0(), 3)},
    "p2-p0": {"triangle": Pair(ElementTriP2(), ElementTriP0(), 2)},
    "node": {"triangle": _FLAT, "tet": _SOLID},
    "cell": {"triangle": _FLAT, "tet": _SOLID},
    "element": {"triangle": _FLAT, "tet": _SOLID},
}
"""Cells each formulation exists on."""

CONSTANT = {"triangle": ElementTriP0(), "tet": ElementTetP0()}


@dataclass(frozen=True)
class MixedForm:
    """Displacement and pressure spaces of a body, or of some of its cells, with the two matrices between them.

    Displacement unknowns are node-major, mesh vertices first, then edges, faces and bubbles, as `basis` has them.
    """

    name: str
    basis: Basis
    gradient: csr_matrix
    """B (pressures, displacements) [m^(d-1)]."""
    mass: csr_matrix
    """C (pressures, pressures) [m^d]; diagonal where pressures live on disjoint or lumped supports."""
    values: csr_matrix
    """Pressure functions at the quadrature points of `basis` (elements * points, pressures), element by element."""

    @property
    def is_condensable(self) -> bool:
        """Tell whether C is diagonal, so that J_vol is sparse and no pressure unknowns are needed."""
        return bool(self.mass.nnz == np.count_nonzero(self.mass.diagonal()) == self.mass.shape[0])

    @cached_property
    def solve_mass(self) -> Callable[[Array], Array]:
        """Return the map b -> C^-1 b; C is factorised at the first call."""
        if self.is_condensable:
            inverse = 1.0 / self.mass.diagonal()
            return lambda right: inverse * right
        factor = splu(csc_matrix(self.mass))
        return lambda right: np.asarray(factor.solve(right))

    def volume_strain(self, displacement: Array) -> Array:
        """Return theta = C^-1 B u (pressures,), the coefficients of the projected volume strain."""
        return self.solve_mass(np.asarray(self.gradient @ displacement))

    def force(self, state: Array) -> Array:
        """Return J_vol s = B^T C^-1 B s [m^(d-2) times the unit of s] without forming J_vol."""
        return np.asarray(self.gradient.T @ self.volume_strain(state))

    def tensors(self, state: Array) -> Array:
        """Return tensors theta/3 I (points, 6) at the quadrature points: their trace is the projected volume strain."""
        found = np.zeros((self.values.shape[0], 6))
        found[:, :3] = (self.values @ self.volume_strain(state))[:, None] / 3.0
        return found

    def condensed(self) -> csr_matrix:
        """Return the sparse J_vol = B^T C^-1 B of a form with diagonal C."""
        if not self.is_condensable:
            raise RheotwinError(
                f"formulation '{self.name}': its pressures are coupled, so the volume matrix is dense; "
                "use its gradient and mass as rows of the step matrix"
            )
        return (self.gradient.T @ diags(1.0 / self.mass.diagonal()) @ self.gradient).tocsr()


@BilinearForm
def _divergence(u: Any, q: Any, w: Any) -> Any:
    return 2.0 * np.pi * (w.x[0] * div(u) + u[0]) * q if w["ring"] else div(u) * q


@BilinearForm
def _product(p: Any, q: Any, w: Any) -> Any:
    return 2.0 * np.pi * w.x[0] * p * q if w["ring"] else p * q


def mixed_basis(mesh: Any, cell: str, formulation: Formulation, *, axisymmetric: bool = False) -> Basis:
    """Return the displacement basis of a formulation on a mesh."""
    pair = _pair(formulation, cell)
    basis = Basis(mesh, ElementVector(pair.displacement), intorder=pair.order + (2 if axisymmetric else 0))
    _require_node_major(basis)
    return basis


def mixed_form(
    mesh: Any,
    cell: str,
    formulation: Formulation,
    *,
    basis: Basis | None = None,
    cells: Cells = ...,
    ratio: float = 0.0,
    axisymmetric: bool = False,
) -> MixedForm:
    """Return a formulation on a mesh, whose `mixed_basis` may be given, with the pressures of some `cells`.

    `ratio` (bulk modulus over shear modulus) scales the penalty of "stabilized". An axisymmetric body (x: radius,
    y: axis) has dV = 2 pi r dr dz and the hoop strain in its volume strain.
    """
    basis = basis or mixed_basis(mesh, cell, formulation, axisymmetric=axisymmetric)
    pressure, some = Basis(mesh, _pair(formulation, cell).pressure, quadrature=basis.quadrature), cells is not ...
    if some:
        basis, pressure = basis.with_elements(cells), pressure.with_elements(cells)
    gradient = _divergence.assemble(basis, pressure, ring=axisymmetric).tocsr()
    mass = _product.assemble(pressure, ring=axisymmetric).tocsr()
    values = _values(pressure)
    if formulation == "stabilized":
        mass = (mass + ratio * _fluctuation(mass, pressure, cell, cells, ring=axisymmetric)).tocsr()
    if some:
        used = np.unique(pressure.element_dofs)
        gradient, mass, values = gradient[used], mass[used][:, used], values[:, used]
    if formulation in PATCHES:
        shares = patches(PATCHES[formulation], mesh.t.T[cells], mesh.p.T).shares
        # the patches' pressure functions q_m = sum_e w_me chi_e overlap around nodes; lumping their mass makes theta
        # the volume change of the patch over its volume
        gradient = (shares @ gradient).tocsr()
        mass = diags(shares @ mass.diagonal()).tocsr()
        values = (values @ shares.T).tocsr()
    return MixedForm(formulation, basis, gradient, mass, values)


def pressure_functions(basis: Basis, cell: str, formulation: Formulation, cells: Cells = ...) -> tuple[Indices, Array]:
    """Return the pressures (elements, k), numbered from zero, and their functions (points, k) at the quadrature points.

    `basis` is the `mixed_basis` of the formulation; of some `cells` alone if given.
    """
    pressure = Basis(basis.mesh, _pair(formulation, cell).pressure, quadrature=basis.quadrature)
    dofs = pressure.element_dofs.T[cells].astype(np.int64)
    functions = [np.broadcast_to(np.asarray(shape[0]), pressure.dx.shape)[0] for shape in pressure.basis]
    numbers = np.unique(dofs, return_inverse=True)[1].astype(np.int64)
    return numbers.reshape(dofs.shape), np.stack(functions, axis=1)


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


def _fluctuation(mass: csr_matrix, pressure: Basis, cell: str, cells: Cells, *, ring: bool) -> csr_matrix:
    """Return int (p - mean p)(q - mean q) over the elements [m^d]: zero for pressures constant per element."""
    constant = Basis(pressure.mesh, CONSTANT[cell], quadrature=pressure.quadrature)
    if cells is not ...:
        constant = constant.with_elements(cells)
    present = np.unique(constant.element_dofs)
    volumes = _product.assemble(constant, ring=ring).diagonal()[present]
    moments = _product.assemble(pressure, constant, ring=ring).tocsr()[present]
    return (mass - moments.T @ diags(1.0 / volumes) @ moments).tocsr()


WARN_ABOVE = 0.45
"""Cook's membrane with linear triangles at nu = .45: -13 %, -5 %, -2 % on 8, 16, 32 squares a side."""
REFUSE_ABOVE = 0.499
"""The same at nu = .499: -40 %, -29 %, -17 %; refinement no longer helps."""
INCOMPRESSIBLE = 0.5
"""No displacement element can hold its volume exactly."""

REMEDY = {
    "triangle": "taylor-hood or stabilized",
    "tet": "taylor-hood or stabilized",
    "quad": "b-bar or taylor-hood",
    "hex": "b-bar or taylor-hood",
}

LARGE_REMEDY = REMEDY | {"triangle": "taylor-hood or mini", "tet": "taylor-hood or mini"}
"""What does not lock at large strain."""


def locking_check(
    cell: str, order: int, formulation: str, poisson: float, *, place: str = "poisson", large: bool = False
) -> str | None:
    """Return a warning for a Poisson ratio near the limit of the element, or None; refuse beyond the limit.

    `formulation` is "displacement" or one of `FORMULATIONS`; `place` says where the ratio was given. Bars (line
    cells) and plane stress have no volume constraint: do not ask for them.
    """
    if cell not in REMEDY:
        return None
    if formulation == "element":
        return (
            f"{place}: one volume constraint per {cell} (the papers' mode) locks: displacements stay far too small "
            "on any mesh; use the constraints per node or per cell"
        )
    if formulation != "displacement":
        return None
    words = (LARGE_REMEDY if large else REMEDY)[cell].split()
    remedy = f'use formulation = "{words[0]}" (or {words[-1]})'
    if poisson >= INCOMPRESSIBLE:
        raise RheotwinError(f"{place}: {poisson:g} is incompressible, which needs a pressure space: {remedy}")
    if order > 1:
        return None
    if poisson > REFUSE_ABOVE:
        raise RheotwinError(f"{place}: {poisson:g} locks linear {cell} cells, their answer would be wrong: {remedy}")
    if poisson > WARN_ABOVE:
        return f"{place}: linear {cell} cells are too stiff at {poisson:g} (above {WARN_ABOVE:g}): {remedy}"
    return None


def warn_of_locking(body: ProblemBody, problem: Problem, order: int, formulation: str, *, large: bool = False) -> None:
    """Refuse a Poisson ratio that the elements cannot follow at once, warn of one near it, now or in the long run."""
    if problem.dimension == 1 or problem.plane == "stress":
        return  # neither has a volume to keep
    for place, law, _ in body.laws:
        at_once = settled = INCOMPRESSIBLE
        if is_yielding(law):
            at_once = settled = law.parts[0].poisson
        elif not is_incompressible(law):
            bulk, shear = law.channel("bulk"), law.channel("shear")
            at_once = _poisson(bulk.instantaneous, shear.instantaneous)
            settled = _poisson(bulk.equilibrium, shear.equilibrium)
        warning = locking_check(body.cell, order, formulation, at_once, place=place, large=large)
        if warning is None:
            late = min(settled, REFUSE_ABOVE)  # shear that relaxes makes a body incompressible only little by little
            place = f"{place} in the long run"
            warning = locking_check(body.cell, order, formulation, late, place=place, large=large)
        if warning is not None:
            warnings.warn(warning, stacklevel=2)


def _poisson(bulk: float, shear: float) -> float:
    """Return the Poisson ratio (3 K - 2 mu)/(2 (3 K + mu)); 0 where there is neither."""
    return (3.0 * bulk - 2.0 * shear) / (2.0 * (3.0 * bulk + shear)) if bulk or shear else 0.0
