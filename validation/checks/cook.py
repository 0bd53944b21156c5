"""Cook's membrane: the tip displacement of a tapered panel in bending, by formulation and mesh (R21, A8, T6).

Plane strain, shear modulus 80.1938, corners (0, 0), (48, 44), (48, 60), (0, 44), left edge held, a shear force of
100 spread over the right edge, n x n squares; u_y of the corner (48, 60). Small strain, incompressible.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import block_array, csc_matrix, csr_matrix
from scipy.sparse.linalg import splu
from skfem import Basis, FacetBasis, LinearForm, condense, solve

from rheotwin.arrays import Array, Indices
from rheotwin.fem.incompressible import Formulation, MixedForm, mixed_form
from rheotwin.fem.space import lame_matrix, shear_matrix, vector_basis
from rheotwin.meshing.box import quad_grid, triangle_grid
from rheotwin.meshing.cells import build_mesh
from rheotwin.validation.checks.check import Curve, Measurement, Values, check
from rheotwin.validation.checks.running import named
from rheotwin.validation.references import catalogue

SHEAR = 80.1938
"""Shear modulus [Pa]."""
RIGID_BULK = 1e12
"""Bulk over shear modulus that stands for K = infinity (E10): the volume errs by 1e-12 of the shear strain, and
dependent constraints share their pressure instead of making the system singular."""
LOAD = 100.0
"""Total force on the right edge [N/m]."""
WIDTH, LEFT, LOW, HIGH = 48.0, 44.0, 44.0, 60.0
"""Width, height of the left edge, and both ends of the right edge [m]."""
SIZES = (4, 8, 16, 32)
LIMIT = 8.07
"""Tip displacement of the incompressible panel on an infinitely fine mesh [m]."""

CELLS: dict[str, tuple[str, Formulation]] = {
    "CSM per triangle, split squares": ("triangle", "element"),
    "CSM per triangle, crossed squares": ("crossed", "element"),
    "CSM per node": ("triangle", "node"),
    "CSM per pair": ("triangle", "cell"),
    "MINI": ("triangle", "mini"),
    "P1/P1 stabilized": ("triangle", "stabilized"),
    "Q1/P0 (B-bar)": ("quad", "b-bar"),
    "P2/P0": ("triangle", "p2-p0"),
    "Taylor-Hood P2/P1": ("triangle", "taylor-hood"),
}
"""Mesh and formulation of each row but the first."""
ROWS = ("P1, nu = .4999", *CELLS)


def slug(row: str) -> str:
    """Return a row's name in an id: "P2/P0" is "p2-p0"."""
    return re.sub("[^a-z0-9]+", "-", row.lower()).strip("-")


def identity(row: str) -> str:
    """Return the id of a row in the catalogue of references."""
    return f"fem.R21/{slug(row)}"


def _printed(row: str) -> tuple[float | None, ...]:
    known = {quantity.name: quantity.reference for quantity in catalogue()[identity(row)].quantities}
    return tuple(known.get(f"n = {n}") for n in SIZES)


COOK_REFERENCE: dict[str, tuple[float | None, ...]] = {row: _printed(row) for row in ROWS}
"""R21: tip displacement [m] on 4, 8, 16, 32 squares a side, as printed."""
TOLERANCE = catalogue()[identity("MINI")].quantities[0].tolerance


def cook_points(unit: Array) -> Array:
    """Return places [m] in the panel of places (N, 2) in the unit square."""
    x, y = unit.T
    return np.stack([WIDTH * x, LEFT * x + y * (LEFT + (HIGH - LOW - LEFT) * x)], axis=1)


def cook_mesh(squares: int, cell: str = "triangle") -> Any:
    """Return the panel of `squares` x `squares` cells [m]: "quad", "triangle" (SE-NW diagonals) or "crossed"."""
    ticks = np.linspace(0.0, 1.0, squares + 1)
    unit = triangle_grid(ticks, ticks) if cell == "triangle" else quad_grid(ticks, ticks)
    points = cook_points(unit.p.T).T
    if cell != "crossed":
        return build_mesh(cell, points, unit.t)
    middle = points.shape[1] + np.arange(unit.t.shape[1])
    sides = [np.array([unit.t[k], unit.t[(k + 1) % 4], middle]) for k in range(4)]
    return build_mesh("triangle", np.hstack([points, points[:, unit.t].mean(axis=1)]), np.hstack(sides))


def cook_form(squares: int, mesh: str, formulation: Formulation, *, ratio: float = 1e12) -> MixedForm:
    """Return a formulation on the panel."""
    cell = "quad" if mesh == "quad" else "triangle"
    return mixed_form(cook_mesh(squares, mesh), cell, formulation, ratio=ratio)


def tip(basis: Basis, displacement: Array) -> float:
    """Return u_y [m] at the corner (48, 60)."""
    distance = np.linalg.norm(basis.mesh.p - np.array([[WIDTH], [HIGH]]), axis=0)
    return float(displacement[basis.nodal_dofs[1, np.argmin(distance)]])


def clamped(basis: Basis) -> Indices:
    """Return the unknowns on the left edge."""
    mesh = basis.mesh
    return np.asarray(basis.get_dofs(mesh.facets_satisfying(lambda x: np.isclose(x[0], 0.0))).all())


@LinearForm
def _traction(v: Any, w: Any) -> Any:
    return LOAD / (HIGH - LOW) * v[1]


def load(basis: Basis) -> Array:
    """Return the nodal forces [N/m] of the shear force on the right edge."""
    mesh = basis.mesh
    edge = mesh.facets_satisfying(lambda x: np.isclose(x[0], WIDTH), boundaries_only=True)
    return np.asarray(_traction.assemble(FacetBasis(mesh, basis.elem, facets=edge, intorder=4)))


def cook_displacement(squares: int, order: int, poisson: float) -> float:
    """Return the tip displacement [m] of plain displacement triangles of an order at a Poisson ratio."""
    basis = vector_basis(cook_mesh(squares), "triangle", 1 if order == 1 else 2)
    lame = 2.0 * SHEAR * poisson / (1.0 - 2.0 * poisson)
    stiffness = SHEAR * shear_matrix(basis) + lame * lame_matrix(basis)
    return tip(basis, solve(*condense(stiffness, load(basis), D=clamped(basis))))


def incompressible_statics(
    form: MixedForm,
    shear: float,
    force: Array,
    held: Indices,
    *,
    bulk: float | None = None,
    extra: csr_matrix | None = None,
) -> tuple[Array, Array]:
    """Return displacements [m] and pressures [Pa] (tension positive) of an elastic body under nodal forces [N].

    Solves (2 mu eps + lambda theta I) with lambda = K - 2 mu/3 and the components `held` at rest; `bulk` None stands
    for K = infinity. `extra` is a stiffness to add, such as the soft area elements of patch constraints.
    """
    stiffness = shear * shear_matrix(form.basis)
    if extra is not None:
        stiffness = stiffness + extra
    modulus = RIGID_BULK * shear if bulk is None else bulk - 2.0 * shear / 3.0
    size, pressures = stiffness.shape[0], form.mass.shape[0]
    free = np.setdiff1d(np.arange(size + pressures), held)
    rows = [[stiffness, form.gradient.T], [form.gradient, -form.mass / modulus]]
    system = csc_matrix(block_array(rows, format="csr")[free][:, free])
    solution = np.zeros(size + pressures)
    # partial pivoting: the matrix is indefinite, so the symmetric mode without pivoting would divide by small numbers
    solution[free] = splu(system).solve(np.concatenate([force, np.zeros(pressures)])[free])
    return solution[:size], solution[size:]


def cook_mixed(squares: int, mesh: str, formulation: Formulation, *, poisson: float | None = None) -> float:
    """Return the tip displacement [m] of a formulation; Poisson ratio None is the incompressible limit."""
    if poisson is None:
        form, bulk = cook_form(squares, mesh, formulation), None
    else:
        bulk = 2.0 * SHEAR * (1.0 + poisson) / (3.0 * (1.0 - 2.0 * poisson))
        form = cook_form(squares, mesh, formulation, ratio=bulk / SHEAR)
    displacement, _ = incompressible_statics(form, SHEAR, load(form.basis), clamped(form.basis), bulk=bulk)
    return tip(form.basis, displacement)


def cook_tip(row: str, squares: int) -> float:
    """Return the tip displacement [m] of a row of R21 on a mesh."""
    return cook_mixed(squares, *CELLS[row]) if row in CELLS else cook_displacement(squares, 1, 0.4999)


def membrane(row: str) -> Measurement:
    """Compute one row of the table."""
    sizes = [n for n, reference in zip(SIZES, COOK_REFERENCE[row], strict=True) if reference is not None]
    tips = [cook_tip(row, n) for n in sizes]
    curve = Curve("membrane", row, tuple(1.0 / n for n in sizes), tuple(abs(tip / LIMIT - 1.0) for tip in tips), None)
    return Measurement(named("n = {}", sizes, tips), curves=(curve,))


def locking() -> Values:
    """Return how far [%] linear triangles are from quadratic ones on 32 squares a side, nearly incompressible."""
    found: dict[str, float] = {}
    for poisson in (0.45, 0.49):
        exact, sizes = cook_displacement(SIZES[-1], 2, poisson), SIZES[1:]
        errors = [100.0 * (cook_displacement(n, 1, poisson) / exact - 1.0) for n in sizes]
        found |= named(f"nu = {poisson:.2g}, n = {{}}".replace("0.", "."), sizes, errors)
    return found


def limit() -> Values:
    """Return the tip [m] by Taylor-Hood elements on a finer mesh than the table's."""
    return {"n = 64": cook_tip("Taylor-Hood P2/P1", 64)}


def false_limits() -> Values:
    """Return how far [%] one constraint per triangle is from the limit on the finest meshes of the table."""
    finest = {"split squares": 32, "crossed squares": 16}
    rows = {name: f"CSM per triangle, {name}" for name in finest}
    return {name: 100.0 * (cook_tip(rows[name], n) / LIMIT - 1.0) for name, n in finest.items()}


CHECKS = {
    "membrane": (
        *(
            check(identity(row), partial(membrane, row), name=f"membrane-{slug(row)}", covers=("T6", "A8"))
            for row in COOK_REFERENCE
        ),
        check("fem.S5.locking", locking, name="membrane-locking", quick=True),
        check("fem.S5.limit", limit, name="membrane-limit"),
        check("fem.S5.false-limits", false_limits, name="membrane-false-limits", quick=True),
    )
}
