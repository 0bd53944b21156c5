"""The terms of a body whose volume strain comes from a pressure space, law by law on its cells (spec 5).

    sigma = 2 mu eps + (K - 2 mu/3) theta I,      theta = C^-1 B u

so J_mu carries the shear channel and J_vol = B' C^-1 B the bulk channel less 2/3 of the shear channel.
`incompressible` replaces the bulk modulus by a rigid one; the shear modulus stays the law's (E/3 at nu = 1/2, E10).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_matrix
from skfem import Basis

from rheotwin.arrays import Array
from rheotwin.constraints.feasible import rank_report
from rheotwin.constraints.measure import measure_constraints, soft_measure
from rheotwin.constraints.patches import PatchKind, patches
from rheotwin.errors import RheotwinError
from rheotwin.fem.body import Augmentation, Term
from rheotwin.fem.forms import shear_matrix
from rheotwin.fem.incompressible.forms import Formulation, mixed_form
from rheotwin.fem.space import Space
from rheotwin.materials import Channel, Law
from rheotwin.problem import BodyPart, Problem, ProblemBody
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
