"""One body's semi-discrete equations: M u'' + sum_X J_X s_X = f with a channel per modulus (spec 1, 2.2)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_diag, csr_matrix, diags, kron
from skfem import Basis

from rheotwin.fem.elements import Order
from rheotwin.fem.fast.assembly import block_pattern, stiffness, tet_geometry
from rheotwin.fem.forms import lame_matrix, mass_matrix, product_matrix, shear_matrix
from rheotwin.fem.incompressible import Formulation, locking_check
from rheotwin.fem.incompressible.locking import INCOMPRESSIBLE, REFUSE_ABOVE
from rheotwin.fem.mixed_terms import body_form, mixed_terms, require_volume, shear_term, soft_term
from rheotwin.fem.space import Space, body_space, mixed_space
from rheotwin.fem.term import History, NodalTerm, QuadratureTerm, Term
from rheotwin.materials import Channel, Law, equal_poisson, is_incompressible
from rheotwin.problem import BodyPart, Cells, Problem, ProblemBody
from rheotwin.tensors import TRACE, TWICE

Array = NDArray[np.float64]
Split = Literal["bulk-shear", "lame"]

_IN_PLANE = np.diag([1.0, 1.0, 0.0, 1.0, 1.0, 1.0])


@dataclass(frozen=True)
class Discretisation:
    """How a body is discretised in space."""

    order: Order = 1
    split: Split = "bulk-shear"
    history: History = "nodal"
    consistent_mass: bool = False
    formulation: Formulation | None = None
    """Pair of displacement and pressure spaces; None: displacements alone."""
    incompressible: bool = False
    """Whether volumes are rigid, whatever the law's bulk modulus."""
    constrained: bool = False
    """Whether the stepper holds the volumes of the formulation's patches by constraints: terms carry shear alone."""
    soft_volume: float = 0.0
    """K_s of single cells in a patch as a share of the shear modulus."""


@dataclass(frozen=True)
class BodySystem:
    """Space, mass and terms of one body; thickness (2D) or section (1D) is folded into the matrices."""

    space: Space
    mass: csr_matrix
    terms: tuple[Term, ...]
    out_of_plane: Array | float = 0.0
    """Strain ZZ per (XX + YY) where it has been eliminated (points,): -nu/(1 - nu) in plane stress."""

    def vertex_stress(self, states: list[Array]) -> Array:
        """Return the stresses (vertices, 6) [Pa] of one state per term, averaged to the vertices."""
        stress = np.zeros((self.space.weights.size, 6))
        for term, state in zip(self.terms, states, strict=True):
            stress[self.space.places_in(term.cells)] += term.strain_of(state) @ term.stress_map.T
        return np.asarray(self.space.averaging @ stress)

    def vertex_strain(self, u: Array) -> Array:
        """Return the strains (vertices, 6) of a displacement vector, averaged to the vertices."""
        strain = (self.space.strain @ u).reshape(-1, 6)
        strain[:, 2] += self.out_of_plane * (strain[:, 0] + strain[:, 1])
        return np.asarray(self.space.averaging @ strain)


@dataclass(frozen=True)
class Part:
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


def out_of_plane_ratio(law: Law) -> float:
    """Return the strain ZZ per (XX + YY) of a law of one Poisson ratio where nothing presses out of the plane."""
    poisson = equal_poisson(law) or 0.0
    return -poisson / (1.0 - poisson)


def parts_of(law: Law, *, dimension: int, flat: bool, split: Split) -> tuple[Part, ...]:
    """Return the parts of a law: one where a single Poisson ratio makes every response r_E(t) times an elastic one.

    `flat` with one ratio eliminates the out-of-plane strain: lambda* = 2 lambda mu/(lambda + 2 mu).
    """
    if dimension == 1:
        uniaxial = np.zeros((6, 6))
        uniaxial[0, 0] = 1.0
        return (Part(1.0, 0.0, law.channel("young"), uniaxial),)
    poisson = equal_poisson(law)
    if poisson is not None:
        lame, shear = poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson)), 0.5 / (1.0 + poisson)
        if flat:
            lame = poisson / (1.0 - poisson**2)
        stress_map = lame * TRACE + shear * TWICE
        return (Part(lame, shear, law.channel("young"), _IN_PLANE @ stress_map @ _IN_PLANE if flat else stress_map),)
    if split == "lame":
        return Part(1.0, 0.0, law.channel("lame"), TRACE), Part(0.0, 1.0, law.channel("shear"), TWICE)
    deviatoric = TWICE - (2.0 / 3.0) * TRACE
    return Part(1.0, 0.0, law.channel("bulk"), TRACE), Part(-2.0 / 3.0, 1.0, law.channel("shear"), deviatoric)


def _combined(part: Part, lame: csr_matrix, shear: csr_matrix | None) -> csr_matrix:
    if shear is None or not part.shear:
        return (part.lame * lame).tocsr()
    return (part.lame * lame + part.shear * shear).tocsr()


def _point_matrix(strain: csr_matrix, weights: Array, stress_map: Array) -> csr_matrix:
    """Return J = B' W C B from the strains at the quadrature points; shears count twice."""
    point = stress_map.copy()
    point[3:] *= 2.0
    return (strain.T @ kron(diags(weights), point) @ strain).tocsr()


def _terms(body: ProblemBody, problem: Problem, space: Space, choice: Discretisation) -> tuple[Term, ...]:
    return tuple(term for law in body.laws for term in _law_terms(law, body, problem, space, choice))


def _law_terms(
    own: BodyPart, body: ProblemBody, problem: Problem, space: Space, choice: Discretisation
) -> Iterator[Term]:
    """Yield the terms of one law on its cells."""
    ring, thickness, cells = is_ring(problem), problem.thickness, own.cells
    flat = is_flat(problem) and not space.inner  # with ZZ unknown every law takes its whole tensor
    parts = parts_of(own.law, dimension=problem.dimension, flat=flat, split=choice.split)
    if space.inner:
        weights = thickness * space.weights[space.places_in(cells)]
        matrices = [_point_matrix(space.strain_in(cells), weights, part.stress_map) for part in parts]
    elif body.cell == "tet" and space.order == 1:
        matrices = tet_matrices(body.mesh, parts, cells)
    else:
        basis = space.basis_in(cells)
        lame = thickness * lame_matrix(basis, axisymmetric=ring)
        shear = thickness * shear_matrix(basis, axisymmetric=ring) if problem.dimension > 1 else None
        matrices = [_combined(part, lame, shear) for part in parts]
    for part, matrix in zip(parts, matrices, strict=True):
        if part.channel.is_zero:
            continue
        if choice.history == "quadrature":
            weights = thickness * space.weights[space.places_in(cells)]
            yield QuadratureTerm(matrix, part.channel, part.stress_map, space.strain_in(cells), weights, cells)
        else:
            yield NodalTerm(matrix, part.channel, part.stress_map, partial(_strains, space, cells), cells)


def _strains(space: Space, cells: Cells, state: Array) -> Array:
    """Return the strains (points, 6) of a displacement-like vector in some cells."""
    return np.asarray((space.strain @ state).reshape(-1, 6)[space.places_in(cells)])


def tet_matrices(mesh: Any, parts: tuple[Part, ...], cells: Cells = ...) -> list[csr_matrix]:
    """Return lambda J_lambda + mu J_mu of linear tetrahedra, whose gradients are constant, without a basis."""
    tets = tet_geometry(mesh.p.T, mesh.t.T[cells])
    pattern = block_pattern(tets.corners, mesh.p.shape[1])
    ones = np.ones(len(tets.corners))
    return [stiffness(pattern, tets, part.lame * ones, part.shear * ones).to_sparse().tocsr() for part in parts]


def _space(body: ProblemBody, problem: Problem, choice: Discretisation) -> Space:
    unequal = is_flat(problem) and any(equal_poisson(law) is None for _, law, _ in body.laws)
    return body_space(body.mesh, body.cell, choice.order, axisymmetric=is_ring(problem), out_of_plane=unequal)


def _mass(body: ProblemBody, problem: Problem, space: Space, consistent: bool) -> csr_matrix:
    """Return the mass of all rows [kg]; the papers' shares on linear lumped bodies, scaled diagonals elsewhere.

    Lumped bubbles and inner unknowns have no mass: a body that moves as a whole does so with its nodes alone.
    """
    if not consistent and space.order == 1:
        shares = problem.masses[body.nodes]
    else:
        if problem.scene.bodies[body.name].mass_sharing == "equal":
            warnings.warn(
                f"bodies.{body.name}.mass_sharing: equal shares are for lumped linear elements; here the mass "
                "follows the volume",
                stacklevel=2,
            )
        if space.bubbles:
            basis = Basis(space.mesh, space.basis.elem, intorder=2 * space.basis.elem.maxdeg)
            full = product_matrix(basis, axisymmetric=space.axisymmetric)
        else:
            full = mass_matrix(body.mesh, body.cell, space.order, axisymmetric=space.axisymmetric)
        full = body.density * problem.thickness * full
        if consistent:
            padding = csr_matrix((space.size - full.shape[0],) * 2)
            return block_diag([full, padding], format="csr") if padding.shape[0] else full.tocsr()
        diagonal = full.diagonal()[:: space.dimension]
        shares = diagonal * (problem.masses[body.nodes].sum() / diagonal.sum())
    behind = np.zeros(space.size - space.nodes * space.dimension)
    return diags(np.concatenate([np.repeat(shares, space.dimension), behind])).tocsr()


def _poisson(bulk: float, shear: float) -> float:
    """Return the Poisson ratio (3 K - 2 mu)/(2 (3 K + mu)); 0 where there is neither."""
    return (3.0 * bulk - 2.0 * shear) / (2.0 * (3.0 * bulk + shear)) if bulk or shear else 0.0


def warn_of_locking(body: ProblemBody, problem: Problem, choice: Discretisation) -> None:
    """Refuse a Poisson ratio that the elements cannot follow at once, warn of one near it, now or in the long run."""
    if problem.dimension == 1 or is_flat(problem):
        return  # neither has a volume to keep
    formulation = choice.formulation or "displacement"
    for place, law, _ in body.laws:
        at_once = settled = INCOMPRESSIBLE
        if not is_incompressible(law):
            bulk, shear = law.channel("bulk"), law.channel("shear")
            at_once = _poisson(bulk.instantaneous, shear.instantaneous)
            settled = _poisson(bulk.equilibrium, shear.equilibrium)
        warning = locking_check(body.cell, choice.order, formulation, at_once, place=place)
        if warning is None:
            late = min(settled, REFUSE_ABOVE)  # shear that relaxes makes a body incompressible only little by little
            warning = locking_check(body.cell, choice.order, formulation, late, place=f"{place} in the long run")
        if warning is not None:
            warnings.warn(warning, stacklevel=2)


def _soft_terms(body: ProblemBody, problem: Problem, space: Space, choice: Discretisation) -> tuple[Term, ...]:
    if choice.soft_volume == 0.0 or choice.formulation not in ("node", "cell"):
        return ()
    return (soft_term(body, problem, space, choice.formulation, choice.soft_volume),)


def body_system(body: ProblemBody, problem: Problem, choice: Discretisation) -> BodySystem:
    """Assemble one body."""
    warn_of_locking(body, problem, choice)
    if choice.constrained and choice.formulation is not None:
        require_volume(problem, choice.formulation)
        space = _space(body, problem, choice)
        terms = (shear_term(body, problem, space), *_soft_terms(body, problem, space, choice))
        return BodySystem(space, _mass(body, problem, space, choice.consistent_mass), terms)
    if choice.formulation is not None:
        form = body_form(body, problem, choice.formulation, incompressible=choice.incompressible)
        space = mixed_space(body.mesh, body.cell, form.basis, axisymmetric=is_ring(problem))
        volume = mixed_terms(body, problem, space, form, incompressible=choice.incompressible)
        terms = (*volume, *_soft_terms(body, problem, space, choice))
        return BodySystem(space, _mass(body, problem, space, choice.consistent_mass), terms)
    space = _space(body, problem, choice)
    return BodySystem(
        space,
        _mass(body, problem, space, choice.consistent_mass),
        _terms(body, problem, space, choice),
        _out_of_plane(body, space) if is_flat(problem) and not space.inner else 0.0,
    )


def _out_of_plane(body: ProblemBody, space: Space) -> Array:
    """Return the strain ZZ per (XX + YY) (points,) where it has been eliminated."""
    ratios = np.empty(space.weights.size)
    for _, law, cells in body.laws:
        ratios[space.places_in(cells)] = out_of_plane_ratio(law)
    return ratios
