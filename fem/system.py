"""A body at small strain: M u'' + sum_X J_X s_X = f with a channel per modulus (spec 1, 2.2).

Where the volume strain comes from a pressure space (spec 5),

    sigma = 2 mu eps + (K - 2 mu/3) theta I,      theta = C^-1 B u

so J_mu carries the shear channel and J_vol = B' C^-1 B the bulk channel less 2/3 of the shear channel.
`incompressible` replaces the bulk modulus by a rigid one; the shear modulus stays the law's (E/3 at nu = 1/2, E10).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import block_diag, csr_matrix, diags, kron
from skfem import Basis

from rheotwin.arrays import Array
from rheotwin.constraints.feasible import rank_report
from rheotwin.constraints.measure import measure_constraints, soft_measure
from rheotwin.constraints.patches import PatchKind, patches
from rheotwin.errors import RheotwinError
from rheotwin.fem.body import Augmentation, LinearBody, Term, quadrature_term
from rheotwin.fem.fast.solids import SolidStiffness
from rheotwin.fem.incompressible import Formulation, mixed_basis, mixed_form, warn_of_locking
from rheotwin.fem.options import FemOptions, Split
from rheotwin.fem.point_laws import is_yielding, small_strain_law
from rheotwin.fem.points import point_term
from rheotwin.fem.space import Space, body_space, lame_matrix, mass_matrix, mixed_space, product_matrix, shear_matrix
from rheotwin.materials import Channel, Law, equal_poisson
from rheotwin.problem import BodyPart, Cells, Problem, ProblemBody
from rheotwin.tensors import TRACE, TWICE

CONDENSED_BELOW = 1e4
"""Ratio of bulk to shear modulus up to which pressures of single cells are eliminated: beyond, digits would be lost."""

RIGID_STEPS = 1e8
"""Bulk over shear stiffness of a rigid volume in steps of time: each subtracts the pressure K theta of the last one,
which costs K/mu roundings; at 1/sqrt(1e-16) these and the volume that K still lets go are both 1e-8."""
USUAL_STEPS = 1000
"""Steps of a run at which a dashpot's stiffness eta/h is looked at."""


def require_volume(problem: Problem, formulation: Formulation) -> None:
    """Refuse bars and plane stress."""
    if problem.dimension < 2 or problem.plane == "stress":
        raise RheotwinError(
            f"solvers.fem.formulation: {formulation} holds the volume, which a bar or plane stress leaves free; "
            'use formulation = "displacement"'
        )


def stiffness_ratio(law: Law) -> float:
    """Return bulk over shear modulus of a law's springs, or of its dashpots where it has no springs."""
    bulk, shear = law.channel("bulk"), law.channel("shear")
    if shear.instantaneous:
        return bulk.instantaneous / shear.instantaneous
    return bulk.viscosity / shear.viscosity


def shear_term(part: BodyPart, problem: Problem, space: Space) -> Term:
    """Return J_mu of a law on its cells with the shear channel: 2 mu eps."""
    matrix = problem.thickness * shear_matrix(space.basis_in(part.cells), axisymmetric=space.axisymmetric)
    strain = space.strains_in(part.cells)
    return Term(part.law.channel("shear"), TWICE, matrix.tocsr(), strain, part.cells)


def soft_term(part: BodyPart, problem: Problem, space: Space, kind: PatchKind, share: float) -> Term:
    """Return what holds the volume ratio of single cells at the mean of their patches, K_s = `share` mu (spec 5)."""
    if space.axisymmetric:
        raise RheotwinError(
            "solvers.fem.soft_volume: it knows areas and volumes of simplices but not rings; leave it out for plane = "
            '"axisymmetric"'
        )
    points_per_cell = space.basis.dx.shape[1]
    cells, points = space.mesh.t.T[part.cells], space.mesh.p.T
    soft = soft_measure(patches(kind, cells, points), points, 1.0)
    gradient = measure_constraints(patches("element", cells, points), points).gradient(points)
    drift = (soft.difference @ gradient).tocsr()

    def tensors(state: Array) -> Array:
        found = np.zeros((len(cells) * points_per_cell, 6))
        found[:, :3] = np.repeat(drift @ state, points_per_cell)[:, None] / 3.0
        return found

    matrix = (problem.thickness * soft.stiffness(gradient)).tocsr()
    return Term(part.law.channel("shear").scaled(share), TRACE, matrix, tensors, part.cells)


def mixed_terms(
    body: ProblemBody, problem: Problem, space: Space, formulation: Formulation, *, incompressible: bool
) -> Iterator[Term]:
    """Yield J_mu and J_vol of every law of a body; the papers' constraint per element says how badly it locks."""
    for part in body.laws:
        yield shear_term(part, problem, space)
        yield _volume_term(part, body, problem, space.basis, formulation, incompressible=incompressible)


def _volume_term(
    part: BodyPart, body: ProblemBody, problem: Problem, basis: Basis, formulation: Formulation, *, incompressible: bool
) -> Term:
    """Return J_vol with what the shear channel leaves of the bulk channel."""
    thickness, shear, ring = problem.thickness, part.law.channel("shear"), problem.plane == "axisymmetric"
    if incompressible:  # the law may have no bulk modulus
        step = problem.scene.duration / USUAL_STEPS
        ratio, channel = RIGID_STEPS, Channel.elastic(RIGID_STEPS * max(shear.instantaneous, shear.viscosity / step))
    else:
        ratio, channel = stiffness_ratio(part.law), part.law.channel("bulk") + shear.scaled(-2.0 / 3.0)
    form = mixed_form(body.mesh, body.cell, formulation, basis=basis, cells=part.cells, ratio=ratio, axisymmetric=ring)
    if formulation == "element":
        report = rank_report("element", form.gradient, problem.owners[body.nodes] >= 0)
        warnings.warn(f"bodies.{body.name}: {report.sentence()}", stacklevel=2)
    if form.is_condensable and ratio < CONDENSED_BELOW:
        return Term(channel, TRACE, (thickness * form.condensed()).tocsr(), form.tensors, part.cells)
    rows = Augmentation(csr_matrix(thickness * form.gradient), csr_matrix(thickness * form.mass))

    def condensed(state: Array) -> Array:
        return thickness * form.force(state)

    return Term(
        channel, TRACE, None, form.tensors, part.cells, conjugate=condensed, augmentation=rows, rigid=incompressible
    )


ROUNDS = ("midpoint", "cayley", "quasi-static")
"""Steppers that solve laws which are no channels."""
_IN_PLANE = np.diag([1.0, 1.0, 0.0, 1.0, 1.0, 1.0])


@dataclass(frozen=True)
class Unit:
    """One modulus of a law: lambda and mu of a unit of it, its channel, and its strain-to-stress map."""

    lame: float
    shear: float
    channel: Channel
    stress_map: Array


def is_flat(problem: Problem) -> bool:
    """Tell whether nothing presses out of the plane."""
    return problem.dimension == 2 and problem.plane == "stress"


def is_ring(problem: Problem) -> bool:
    """Tell whether the plane is turned about its y axis."""
    return problem.dimension == 2 and problem.plane == "axisymmetric"


def units_of(law: Law, *, dimension: int, flat: bool, split: Split) -> tuple[Unit, ...]:
    """Return what a law is made of: one unit where one Poisson ratio makes every response r_E(t) times an elastic one.

    `flat` with one ratio eliminates the out-of-plane strain: lambda* = 2 lambda mu/(lambda + 2 mu).
    """
    if dimension == 1:
        uniaxial = np.zeros((6, 6))
        uniaxial[0, 0] = 1.0
        return (Unit(1.0, 0.0, law.channel("young"), uniaxial),)
    poisson = equal_poisson(law)
    if poisson is not None:
        lame, shear = poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson)), 0.5 / (1.0 + poisson)
        if flat:
            lame = poisson / (1.0 - poisson**2)
        stress_map = lame * TRACE + shear * TWICE
        return (Unit(lame, shear, law.channel("young"), _IN_PLANE @ stress_map @ _IN_PLANE if flat else stress_map),)
    if split == "lame":
        return Unit(1.0, 0.0, law.channel("lame"), TRACE), Unit(0.0, 1.0, law.channel("shear"), TWICE)
    deviatoric = TWICE - (2.0 / 3.0) * TRACE
    return Unit(1.0, 0.0, law.channel("bulk"), TRACE), Unit(-2.0 / 3.0, 1.0, law.channel("shear"), deviatoric)


def _combined(unit: Unit, lame: csr_matrix, shear: csr_matrix | None) -> csr_matrix:
    if shear is None or not unit.shear:
        return (unit.lame * lame).tocsr()
    return (unit.lame * lame + unit.shear * shear).tocsr()


def _point_matrix(strain: csr_matrix, weights: Array, stress_map: Array) -> csr_matrix:
    """Return J = B' W C B from the strains at the quadrature points; shears count twice."""
    point = stress_map.copy()
    point[3:] *= 2.0
    return (strain.T @ kron(diags(weights), point) @ strain).tocsr()


def _terms(body: ProblemBody, problem: Problem, space: Space, options: FemOptions) -> Iterator[Term]:
    """Yield the terms of every law of a body on its cells."""
    formulation = options.pressures
    for part in body.laws:
        if is_yielding(part.law):
            continue
        if formulation is None:
            yield from _law_terms(part, body, problem, space, options)
        elif options.constrained:
            yield shear_term(part, problem, space)
    if formulation is not None and not options.constrained:
        yield from mixed_terms(body, problem, space, formulation, incompressible=options.incompressible)
    if options.soft_volume and formulation in ("node", "cell"):
        for part in body.laws:
            yield soft_term(part, problem, space, formulation, options.soft_volume)


def _law_terms(
    part: BodyPart, body: ProblemBody, problem: Problem, space: Space, options: FemOptions
) -> Iterator[Term]:
    """Yield the terms of one law on its cells, with displacements alone."""
    ring, thickness, cells = is_ring(problem), problem.thickness, part.cells
    flat = is_flat(problem) and not space.inner  # with ZZ unknown every law takes its whole tensor
    units = units_of(part.law, dimension=problem.dimension, flat=flat, split=options.split)
    if space.inner:
        weights = thickness * space.weights[space.places_in(cells)]
        matrices = [_point_matrix(space.strain_in(cells), weights, unit.stress_map) for unit in units]
    elif space.solids is not None:
        matrices = solid_matrices(space, units, cells)
    else:
        basis = space.basis_in(cells)
        lame = thickness * lame_matrix(basis, axisymmetric=ring)
        shear = thickness * shear_matrix(basis, axisymmetric=ring) if problem.dimension > 1 else None
        matrices = [space.on_nodes(_combined(unit, lame, shear)) for unit in units]
    for unit, matrix in zip(units, matrices, strict=True):
        if options.history == "quadrature":
            weights = thickness * space.weights[space.places_in(cells)]
            yield quadrature_term(matrix, unit.channel, unit.stress_map, space.strain_in(cells), weights, cells)
        else:
            yield Term(unit.channel, unit.stress_map, matrix, space.strains_in(cells), cells)


def solid_matrices(space: Space, units: tuple[Unit, ...], cells: Cells = ...) -> list[SolidStiffness]:
    """Return lambda J_lambda + mu J_mu of straight tetrahedra or hexahedra, without a basis."""
    assert space.solids is not None
    solids = space.solids if cells is ... else space.solids.of(cells)
    ones = np.ones(len(solids.nodes))
    return [SolidStiffness(solids, space.nodes, unit.lame * ones, unit.shear * ones) for unit in units]


def _space(body: ProblemBody, problem: Problem, options: FemOptions) -> Space:
    ring = is_ring(problem)
    if options.pressures is not None and not options.constrained:
        basis = mixed_basis(body.mesh, body.cell, options.pressures, axisymmetric=ring)
        return mixed_space(body.mesh, body.cell, basis, axisymmetric=ring)
    unequal = is_flat(problem) and any(is_yielding(law) or equal_poisson(law) is None for _, law, _ in body.laws)
    where = body.mesh, body.cell, options.order
    return body_space(*where, axisymmetric=ring, out_of_plane=unequal, hanging=body.hanging)


def body_mass(body: ProblemBody, problem: Problem, space: Space, *, consistent: bool) -> csr_matrix:
    """Return the mass of all rows [kg]; the papers' shares on linear lumped bodies, scaled diagonals elsewhere.

    Lumped bubbles and inner unknowns have no mass: a body that moves as a whole does so with its nodes alone.
    """
    if not consistent and space.order == 1:
        shares = space.follows.T @ problem.masses[body.nodes]
    elif not consistent and space.solids is not None:
        _warn_of_equal_shares(body, problem)
        shares = space.mass_shares()
        shares *= problem.masses[body.nodes].sum() / shares.sum()
    else:
        _warn_of_equal_shares(body, problem)
        if space.bubbles:
            basis = Basis(space.mesh, space.basis.elem, intorder=2 * space.basis.elem.maxdeg)
            full = product_matrix(basis, axisymmetric=space.axisymmetric)
        else:
            full = mass_matrix(body.mesh, body.cell, space.order, axisymmetric=space.axisymmetric)
        full = space.on_nodes(body.density * problem.thickness * full)
        if consistent:
            padding = csr_matrix((space.size - full.shape[0],) * 2)
            return block_diag([full, padding], format="csr") if padding.shape[0] else full.tocsr()
        diagonal = full.diagonal()[:: space.dimension]
        shares = diagonal * (problem.masses[body.nodes].sum() / diagonal.sum())
    behind = np.zeros(space.size - space.nodes * space.dimension)
    return diags(np.concatenate([np.repeat(shares, space.dimension), behind])).tocsr()


def _require_rounds(options: FemOptions) -> None:
    """Refuse options that laws at points do not know."""
    if options.stepper not in ROUNDS:
        raise RheotwinError(
            f'solvers.fem.stepper: "{options.stepper}" knows laws with a relaxation function only; choose '
            f"{', '.join(ROUNDS)} for laws that yield, soften or slide"
        )
    for name, value in (("formulation", "displacement"), ("split", "bulk-shear")):
        if getattr(options, name) != value:
            raise RheotwinError(
                f'solvers.fem.{name}: laws that yield, soften or slide know "{value}" only; leave {name} out'
            )


def _warn_of_equal_shares(body: ProblemBody, problem: Problem) -> None:
    if problem.scene.bodies[body.name].mass_sharing == "equal":
        warnings.warn(
            f"bodies.{body.name}.mass_sharing: equal shares are for lumped linear elements; here the mass follows the "
            "volume",
            stacklevel=3,
        )


def linear_body(body: ProblemBody, problem: Problem, options: FemOptions) -> LinearBody:
    """Assemble one body."""
    if any(is_yielding(law) for _, law, _ in body.laws):
        _require_rounds(options)
    warn_of_locking(body, problem, options.order, options.formulation)
    if options.pressures is not None:
        require_volume(problem, options.pressures)
    space = _space(body, problem, options)
    mass = body_mass(body, problem, space, consistent=options.mass == "consistent")
    terms = tuple(term for term in _terms(body, problem, space, options) if not term.channel.is_zero)
    laws = ((small_strain_law(law, problem.dimension), cells) for _, law, cells in body.laws)
    points = tuple(point_term(law, space, problem.thickness, cells) for law, cells in laws if law is not None)
    across = _out_of_plane(body, space) if is_flat(problem) and not space.inner else 0.0
    return LinearBody(space, mass, terms, points, across)


def _out_of_plane(body: ProblemBody, space: Space) -> Array:
    """Return the strain ZZ per (XX + YY) (points,) where it has been eliminated: -nu/(1 - nu) of a law of one ratio."""
    ratios = np.empty(space.weights.size)
    for _, law, cells in body.laws:
        poisson = equal_poisson(law) or 0.0
        ratios[space.places_in(cells)] = -poisson / (1.0 - poisson)
    return ratios
